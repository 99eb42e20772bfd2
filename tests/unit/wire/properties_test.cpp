#include <wire/properties.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace shunt::wire {
namespace {

using namespace std::string_view_literals;
using entries = std::vector<std::pair<std::string, std::string>>;

entries decoded(std::string_view encoded)
{
    entries out;
    each_property(encoded, [&](std::string_view name, std::string_view value) { out.emplace_back(name, value); });
    return out;
}

std::string encoded(const entries& all)
{
    buffer out;
    for (const auto& [name, value] : all)
        put_property(out, name, value);
    return std::string{out.view()};
}

TEST(Properties, AreNameSeparatorValueSeparator)
{
    EXPECT_EQ(encoded({{"KEYS", "a b"}, {"X", "1"}}), "KEYS\x01"
                                                      "a b\x02X\x01"
                                                      "1\x02");
}

TEST(Properties, ComeBackAsTheyWent)
{
    entries all = {{"KEYS", "order-1 order-2"}, {"city", "北京"}, {"odd", "\"\\/\t<>&\x7f=:;,"}, {"bytes", "\xff\xfe\xc0"}};
    for (int i = 0; i < 100; ++i)
        all.emplace_back("name" + std::to_string(i), std::string(static_cast<std::size_t>(i + 1), 'v'));
    EXPECT_EQ(decoded(encoded(all)), all);
}

TEST(Properties, AreReadAsJavaReadsThem)
{
    EXPECT_EQ(decoded(""), entries{});
    EXPECT_EQ(decoded("a\x01" "1"sv), (entries{{"a", "1"}})) << "the last separator may be missing";
    EXPECT_EQ(decoded("a\x01\x02" "b\x01" "2\x02"sv), (entries{{"b", "2"}})) << "an empty value counts as absent";
    EXPECT_EQ(decoded("\x01v\x02" "b\x01" "2\x02"sv), (entries{{"b", "2"}})) << "no name";
    EXPECT_EQ(decoded("text\x02" "b\x01" "2\x02"sv), (entries{{"b", "2"}})) << "no separator inside";
    EXPECT_EQ(decoded("\x02\x02\x02"sv), entries{});
    EXPECT_EQ(decoded("a\x01" "1\x01" "2\x02"sv), (entries{{"a", "1\x01" "2"}}));
}

TEST(Properties, TheLastOfDoublesIsFound)
{
    const std::string text = encoded({{"KEYS", "1"}, {"X", "x"}, {"KEYS", "2"}});
    EXPECT_EQ(find_property(text, "KEYS"), "2");
    EXPECT_EQ(find_property(text, "X"), "x");
    EXPECT_EQ(find_property(text, "KEY"), "");
    EXPECT_EQ(find_property("", "X"), "");
}

TEST(Properties, AreUnsafeWithASeparatorInside)
{
    EXPECT_TRUE(property_safe(""));
    EXPECT_TRUE(property_safe("plain \x03\0 北京"sv));
    EXPECT_FALSE(property_safe("a\x01"));
    EXPECT_FALSE(property_safe("\x02"));
}

TEST(Properties, SomeNamesAreNotForApplications)
{
    for (const auto name : {"KEYS", "TAGS", "WAIT", "UNIQ_KEY", "DELAY", "TTL", "1ST_POP_TIME", "__CRC32#", "__BORNHOST",
                            "TIMER_DELAY_SEC", "TRAN_PREPARED_QUEUE_OFFSET", "BUYER_ID"})
        EXPECT_TRUE(is_reserved_property(name)) << name;
    for (const auto name : {"", "keys", "KEY", "KEYSX", "__SHARDINGKEY", "INNER_MULTI_DISPATCH", "TRACE_CONTEXT",
                            "CHECK_IMMUNITY_TIME_IN_SECONDS", "n"})
        EXPECT_FALSE(is_reserved_property(name)) << name;
}

}  // namespace
}  // namespace shunt::wire
