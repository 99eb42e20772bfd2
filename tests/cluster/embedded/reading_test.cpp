// What was sent can be read back over the protocol.

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>
#include <wire/properties.hpp>
#include <wire/stored_message.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;
namespace code = wire::code;

/// A broker whose queue 0 of topic T holds m0 to m9; the odd ones have tag `odd`, the even ones `even`.
struct filled_broker {
    filled_broker() : cluster({.brokers = 1}), client(cluster.broker_address("broker-a"))
    {
        EXPECT_FALSE(cluster.create_topic("T"));
        for (int i = 0; i < 10; ++i) {
            const std::string n = std::to_string(i);
            ids.push_back(client
                              .ask(encoded({.flag = i,
                                            .properties = "UNIQ_KEY\x01" "U" + n + "\x02" "KEYS\x01" "k" + n + " all\x02" "TAGS\x01" +
                                                          (i % 2 == 0 ? "even" : "odd") + "\x02",
                                            .body = "m" + n}))
                              .value_or(answer{})
                              .field("msgId"));
        }
    }

    [[nodiscard]] std::optional<answer> pull(std::int64_t offset, int most = 32, const std::string& subscription = "*",
                                             const std::string& topic = "T", int queue = 0, int sys_flag = 4)
    {
        return client.ask(request(code::pull_message,
                                  {{"consumerGroup", "CG"},
                                   {"topic", topic},
                                   {"queueId", std::to_string(queue)},
                                   {"queueOffset", std::to_string(offset)},
                                   {"maxMsgNums", std::to_string(most)},
                                   {"sysFlag", std::to_string(sys_flag)},
                                   {"commitOffset", "0"},
                                   {"suspendTimeoutMillis", "20000"},
                                   {"subscription", subscription},
                                   {"subVersion", "0"},
                                   {"expressionType", "TAG"}},
                                  9));
    }

    embedded_cluster cluster;
    raw_client client;
    std::vector<std::string> ids;
};

std::vector<std::string> bodies(std::string_view bytes)
{
    std::vector<std::string> all;
    wire::stored_message m;
    std::string what;
    while (wire::read_stored(bytes, m, what) == wire::stored_status::message)
        all.emplace_back(m.body);
    EXPECT_EQ(what, "");
    return all;
}

TEST(EmbeddedPull, GivesMessagesInTheOrderOfTheQueueAndSaysWhereToGoOn)
{
    filled_broker b;

    const auto found = b.pull(2, 3);

    ASSERT_TRUE(found);
    EXPECT_EQ(found->code, 0);
    EXPECT_EQ(found->remark, "FOUND");
    EXPECT_EQ(bodies(found->body), (std::vector<std::string>{"m2", "m3", "m4"}));
    EXPECT_EQ(found->field("nextBeginOffset"), "5");
    EXPECT_EQ(found->field("minOffset"), "0");
    EXPECT_EQ(found->field("maxOffset"), "10");
    EXPECT_EQ(found->field("suggestWhichBrokerId"), "0");
}

TEST(EmbeddedPull, GivesMessagesAsABrokerStoresThem)
{
    filled_broker b;

    const auto found = b.pull(3, 1);

    ASSERT_TRUE(found);
    std::string_view bytes = found->body;
    wire::stored_message m;
    std::string what;
    ASSERT_EQ(wire::read_stored(bytes, m, what), wire::stored_status::message) << what;
    EXPECT_EQ(m.topic, "T");
    EXPECT_EQ(m.queue_offset, 3);
    EXPECT_EQ(m.flag, 3);
    EXPECT_EQ(m.born_ms, 1'700'000'000'000);
    EXPECT_EQ(m.body_crc, wire::body_crc("m3"));
    EXPECT_EQ(m.born_host.address[0], 127);
    EXPECT_NE(m.born_host.port, 0U);
    EXPECT_EQ("127.0.0.1:" + std::to_string(m.store_host.port), b.cluster.broker_address("broker-a"));
    EXPECT_EQ(wire::find_property(m.properties, "UNIQ_KEY"), "U3");
    EXPECT_EQ(wire::find_property(m.properties, "CLUSTER"), "DefaultCluster");
    EXPECT_EQ(bytes, "");
}

TEST(EmbeddedPull, TellsTheEndFromBeyondTheEndAndFromAnEmptyQueue)
{
    filled_broker b;

    const auto at_end = b.pull(10);
    const auto beyond = b.pull(50);
    const auto empty = b.pull(0, 32, "*", "T", 1);

    ASSERT_TRUE(at_end && beyond && empty);
    EXPECT_EQ(at_end->code, 19);
    EXPECT_EQ(at_end->remark, "OFFSET_OVERFLOW_ONE");
    EXPECT_EQ(beyond->code, 21);
    EXPECT_EQ(beyond->remark, "OFFSET_OVERFLOW_BADLY");
    EXPECT_EQ(beyond->field("nextBeginOffset"), "10");
    EXPECT_EQ(empty->code, 19);
}

TEST(EmbeddedPull, TakesOnlyTheTagsAskedFor)
{
    filled_broker b;

    const auto odd = b.pull(0, 32, "odd || other");
    const auto none = b.pull(0, 32, "other");

    ASSERT_TRUE(odd && none);
    EXPECT_EQ(bodies(odd->body), (std::vector<std::string>{"m1", "m3", "m5", "m7", "m9"}));
    EXPECT_EQ(odd->field("nextBeginOffset"), "10");
    EXPECT_EQ(none->code, 20);
    EXPECT_EQ(none->field("nextBeginOffset"), "10");
}

TEST(EmbeddedPull, RefusesUnknownTopicsQueuesAndTopicsThatMayNotBeRead)
{
    filled_broker b;
    const auto topic = b.pull(0, 32, "*", "NOPE");
    const auto queue = b.pull(0, 32, "*", "T", 4);
    ASSERT_FALSE(b.cluster.command("broker-a perm 2 T"));
    const auto hidden = b.pull(0);

    ASSERT_TRUE(topic && queue && hidden);
    EXPECT_EQ(topic->code, 17);
    EXPECT_EQ(queue->code, 29);
    EXPECT_EQ(hidden->code, 16);
}

TEST(EmbeddedPull, AnswersAConsumerThatWaitsEvenIfNothingComes)
{
    filled_broker b;

    const auto waited = b.pull(10, 32, "*", "T", 0, 6);

    ASSERT_TRUE(waited);
    EXPECT_EQ(waited->code, 19);
}

TEST(EmbeddedOffsets, TellWhereAQueueBeginsAndEnds)
{
    filled_broker b;
    const auto offset = [&](std::int32_t code, fields more) {
        more.insert({{"topic", "T"}, {"queueId", "0"}});
        return b.client.ask(request(code, more, 1)).value_or(answer{}).field("offset");
    };

    EXPECT_EQ(offset(code::get_max_offset, {}), "10");
    EXPECT_EQ(offset(code::get_max_offset, {{"queueId", "3"}}), "0");
    EXPECT_EQ(offset(code::get_max_offset, {{"topic", "NOPE"}}), "0");
    EXPECT_EQ(offset(code::get_min_offset, {}), "0");
    EXPECT_EQ(offset(code::search_offset_by_timestamp, {{"timestamp", "0"}}), "0");
    EXPECT_EQ(offset(code::search_offset_by_timestamp, {{"timestamp", "9000000000000"}}), "10");
}

TEST(EmbeddedOffsets, OfConsumersAreKept)
{
    filled_broker b;
    const fields who{{"consumerGroup", "CG"}, {"topic", "T"}, {"queueId", "0"}};
    fields with_offset = who;
    with_offset["commitOffset"] = "7";

    const auto before = b.client.ask(request(14, who, 1));
    const auto update = b.client.ask(request(15, with_offset, 2));
    const auto after = b.client.ask(request(14, who, 3));

    ASSERT_TRUE(before && update && after);
    EXPECT_EQ(before->code, 22);
    EXPECT_EQ(update->code, 0);
    EXPECT_EQ(after->field("offset"), "7");
}

TEST(EmbeddedQuery, FindsByKeyByUniqueKeyAndByOffsetId)
{
    filled_broker b;
    const auto query = [&](const std::string& key, const char* unique) {
        return b.client
            .ask(request(code::query_message,
                         {{"topic", "T"}, {"key", key}, {"maxNum", "32"}, {"beginTimestamp", "0"},
                          {"endTimestamp", "9000000000000"}, {"_UNIQUE_KEY_QUERY", unique}},
                         1))
            .value_or(answer{});
    };

    EXPECT_EQ(bodies(query("k4", "false").body), std::vector<std::string>{"m4"});
    EXPECT_EQ(bodies(query("all", "false").body).size(), 10U);
    EXPECT_EQ(bodies(query("U7", "true").body), std::vector<std::string>{"m7"});
    EXPECT_EQ(query("nothing", "false").code, 22);

    const auto at = std::to_string(std::stoll(b.ids[6].substr(16), nullptr, 16));
    const auto viewed = b.client.ask(request(code::view_message_by_id, {{"offset", at}}, 1));
    const auto wrong = b.client.ask(request(code::view_message_by_id, {{"offset", "1"}}, 1));
    ASSERT_TRUE(viewed && wrong);
    EXPECT_EQ(bodies(viewed->body), std::vector<std::string>{"m6"});
    EXPECT_EQ(wrong->code, 1);
}

TEST(EmbeddedPull, GivesBackABatchItemByItem)
{
    filled_broker b;
    ASSERT_TRUE(b.client.ask(encoded({.code = code::send_batch_message, .queue = 2,
                                      .body = batch_item("x", "UNIQ_KEY\x01" "X\x02") + batch_item("y", "UNIQ_KEY\x01" "Y\x02"),
                                      .batch = true})));

    const auto found = b.pull(0, 32, "*", "T", 2);

    ASSERT_TRUE(found);
    EXPECT_EQ(bodies(found->body), (std::vector<std::string>{"x", "y"}));
}

}  // namespace
}  // namespace shunt::test
