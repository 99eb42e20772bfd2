#include <route/order_conf.hpp>
#include <route/route.hpp>

#include <gtest/gtest.h>

namespace shunt::route {
namespace {

// "a:4 b:8", and after a bar the warning.
std::string shown(std::string_view text)
{
    const order_conf conf = read_order_conf(text);
    std::string out;
    for (const auto& part : conf.parts)
        out.append(out.empty() ? "" : " ").append(part.broker).append(":").append(std::to_string(part.queues));
    return conf.warning.empty() ? out : out + " | " + conf.warning;
}

TEST(OrderConf, NamesBrokersAndCounts)
{
    EXPECT_EQ(shown("a:4"), "a:4");
    EXPECT_EQ(shown("broker-b:8;broker-a:4"), "broker-a:4 broker-b:8");
    EXPECT_EQ(shown(" a : 4 ; b:1 ;"), "a:4 b:1");
    EXPECT_EQ(shown(""), "");
}

TEST(OrderConf, SkipsBadPartsWithOneWarningAndKeepsTheGoodOnes)
{
    constexpr auto rule = "; each part must be NAME:COUNT, COUNT at least 1";
    EXPECT_EQ(shown("a:8;b"), std::string{"a:8 | order configuration: skipped \"b\""} + rule);
    EXPECT_EQ(shown("a:x;c:2;:3;a:3:4;d:-1;e:0"),
              std::string{"c:2 | order configuration: skipped \"a:x\", \":3\", \"a:3:4\", \"d:-1\" and 1 more"} + rule);
    EXPECT_EQ(shown("a:"), std::string{" | order configuration: skipped \"a:\""} + rule);
    EXPECT_EQ(shown("a:0x8"), std::string{" | order configuration: skipped \"a:0x8\""} + rule);
}

TEST(OrderConf, CutsCountsThatAreTooLarge)
{
    EXPECT_EQ(shown("a:65535"), "a:65535");
    EXPECT_EQ(shown("a:65536"), "a:65535 | order configuration: cut \"a:65536\" to 65535 queues");
    EXPECT_EQ(shown("a:99999999999999999999999"),
              "a:65535 | order configuration: cut \"a:99999999999999999999999\" to 65535 queues");
}

TEST(OrderConf, TakesTheLargerCountOfABrokerThatIsNamedTwice)
{
    EXPECT_EQ(shown("a:4;a:8"), "a:8");
    EXPECT_EQ(shown("a:8;a:4"), "a:8");
}

TEST(OrderConf, BoundsPartsAndWhatItQuotes)
{
    std::string many;
    for (int i = 0; i < 100000; ++i)
        many += "b" + std::to_string(i) + ":1;";
    EXPECT_EQ(read_order_conf(many).parts.size(), 65536u);
    EXPECT_LT(read_order_conf(many).warning.size(), 300u);
    EXPECT_LT(read_order_conf(std::string(1000000, 'x')).warning.size(), 300u);
}

}  // namespace
}  // namespace shunt::route
