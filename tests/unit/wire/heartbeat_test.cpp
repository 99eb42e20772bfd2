#include <wire/heartbeat.hpp>

#include <gtest/gtest.h>

#include <array>

namespace shunt::wire {
namespace {

using namespace std::string_view_literals;

TEST(Heartbeat, ComesBackAsItWent)
{
    buffer body;
    put_heartbeat(body, "10.0.0.5@1\"\\\n", std::array{"g1"sv, "g\x01é"sv});
    heartbeat got;
    std::string what;
    ASSERT_TRUE(read_heartbeat(body.view(), got, what)) << what;
    EXPECT_EQ(got.client_id, "10.0.0.5@1\"\\\n");
    EXPECT_EQ(got.producer_groups, (std::vector<std::string>{"g1", "g\x01é"}));
}

TEST(Heartbeat, OfAConsumerHasNoProducerGroups)
{
    heartbeat got;
    std::string what;
    ASSERT_TRUE(read_heartbeat(R"({"clientID":"c","consumerDataSet":[{"groupName":"cg","subscriptionDataSet":[{"topic":"T",
        "codeSet":[],"tagsSet":["a"],"subVersion":1}],"unitMode":false}],"producerDataSet":null,"withoutSub":false})",
                               got, what))
        << what;
    EXPECT_EQ(got.client_id, "c");
    EXPECT_TRUE(got.producer_groups.empty());
}

TEST(Heartbeat, IsRefusedWithWhereItIsWrong)
{
    heartbeat got;
    std::string what;
    for (const auto body : {""sv, "[]"sv, "{"sv, "{\"clientID\":\"c\"}x"sv, "{\"clientID\":\"c\",\"producerDataSet\":{}}"sv,
                            "{\"clientID\":\"c\",\"producerDataSet\":[1]}"sv, "{\"clientID\":\"c\",\"producerDataSet\":[{}"sv}) {
        EXPECT_FALSE(read_heartbeat(body, got, what)) << body;
        EXPECT_TRUE(what.starts_with("heartbeat, byte ")) << what;
    }
    EXPECT_FALSE(read_heartbeat("{\"clientID\":7}", got, what));
    EXPECT_EQ(what, "heartbeat: it has no clientID; brokers know a client by it");
}

}  // namespace
}  // namespace shunt::wire
