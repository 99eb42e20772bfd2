// Sends: what is stored, what is answered, and what a broker refuses with which code and words.

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>

#include <gtest/gtest.h>

#include <string>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;
namespace code = wire::code;

/// One broker with topic T of four queues.
struct one_broker : embedded_cluster {
    explicit one_broker(cluster::options o = {}) : embedded_cluster([&o] {
        o.brokers = 1;
        return o;
    }())
    {
        EXPECT_FALSE(create_topic("T"));
    }
    [[nodiscard]] std::string broker() const { return broker_address("broker-a"); }
};

TEST(EmbeddedSend, AnswersWithIdsQueueAndOffset)
{
    one_broker cluster;
    raw_client client(cluster.broker());

    const auto first = client.ask(encoded({.opaque = 5, .queue = 2}));
    const auto second = client.ask(encoded({.opaque = 6, .queue = 2}));

    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->code, 0);
    EXPECT_EQ(first->opaque, 5);
    EXPECT_EQ(first->field("queueId"), "2");
    EXPECT_EQ(first->field("queueOffset"), "0");
    EXPECT_EQ(first->field("transactionId"), "0A00000512670A0B0C0D000186A00001");
    EXPECT_EQ(first->field("MSG_REGION"), "DefaultRegion");
    EXPECT_EQ(first->field("TRACE_ON"), "true");
    EXPECT_EQ(first->field("msgId").substr(0, 8), "7F000001");
    EXPECT_EQ(first->field("msgId").size(), 32U);
    EXPECT_EQ(second->field("queueOffset"), "1");
    EXPECT_NE(second->field("msgId"), first->field("msgId"));
}

TEST(EmbeddedSend, KeepsAllThatWasSent)
{
    one_broker cluster;
    raw_client client(cluster.broker());

    const auto stored = client.ask(encoded(
        {.queue = 1, .sys_flag = 0x301, .flag = 7, .properties = "UNIQ_KEY\x01" "ID\x02" "KEYS\x01" "a b\x02" "TAGS\x01" "t\x02" "p\x01" "v",
         .body = std::string("\0\xFF", 2)}));

    ASSERT_TRUE(stored);
    const auto ledger = cluster.snapshot();
    ASSERT_EQ(ledger.size(), 1U);
    const auto& r = ledger[0];
    EXPECT_EQ(r.broker, "broker-a");
    EXPECT_EQ(r.topic, "T");
    EXPECT_EQ(r.queue, 1);
    EXPECT_EQ(r.offset, 0);
    EXPECT_EQ(r.msg_id, "ID");
    EXPECT_EQ(r.offset_msg_id, stored->field("msgId"));
    EXPECT_EQ(r.key, "a b");
    EXPECT_EQ(r.tag, "t");
    EXPECT_EQ(r.property("p"), "v") << "the last separator may be missing";
    EXPECT_EQ(r.property("MSG_REGION"), "DefaultRegion");
    EXPECT_EQ(r.property("CLUSTER"), "DefaultCluster");
    EXPECT_EQ(r.body, std::string("\0\xFF", 2));
    EXPECT_EQ(r.flag, 7);
    EXPECT_EQ(r.sys_flag, 0x301);
    EXPECT_EQ(r.born_ms, 1'700'000'000'000);
    EXPECT_GT(r.stored_ms, r.born_ms);
}

TEST(EmbeddedSend, UnderstandsLongFieldNames)
{
    one_broker cluster;
    raw_client client(cluster.broker());

    const auto stored = client.ask(encoded({.code = code::send_message, .queue = 3}));

    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->field("queueId"), "3");
    EXPECT_EQ(cluster.stored(), 1U);
}

TEST(EmbeddedSend, AnswersNothingToOneWay)
{
    one_broker cluster;
    raw_client client(cluster.broker());

    client.send(encoded({.opaque = 1, .oneway = true}));
    client.send(encoded({.opaque = 2, .oneway = true, .queue = 99}));
    const auto next = client.ask(encoded({.opaque = 3}));

    ASSERT_TRUE(next);
    EXPECT_EQ(next->opaque, 3);
    EXPECT_EQ(cluster.stored(), 2U);
}

TEST(EmbeddedSend, CreatesAnUnknownTopicOnEveryBroker)
{
    embedded_cluster cluster({.brokers = 3, .queues = 6});
    raw_client client(cluster.broker_address("broker-b"));

    const auto stored = client.ask(encoded({.topic = "fresh", .queue = 5}));
    const auto route = raw_client(cluster.name_server()).ask(request(code::get_route_by_topic, {{"topic", "fresh"}}, 1));

    ASSERT_TRUE(stored && route);
    EXPECT_EQ(stored->code, 0);
    for (const char* name : {"broker-a", "broker-b", "broker-c"})
        EXPECT_NE(route->body.find(R"({"brokerName":")" + std::string(name) +
                                   R"(","perm":6,"readQueueNums":6,"topicSysFlag":0,"writeQueueNums":6})"),
                  std::string::npos)
            << route->body;
}

TEST(EmbeddedSend, RefusesAnUnknownTopicWhereTopicsMayNotCreateThemselves)
{
    one_broker cluster({.auto_create = false});
    raw_client client(cluster.broker());

    const auto refused = client.ask(encoded({.topic = "NEWT"}));

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, 17);
    EXPECT_EQ(refused->remark, "topic[NEWT] not exist, apply first please!\nSee "
                               "https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.");
}

TEST(EmbeddedSend, LetsTheBrokerChooseTheQueueWhereNoneIsGiven)
{
    one_broker cluster;
    raw_client client(cluster.broker());

    for (int i = 0; i < 8; ++i)
        ASSERT_TRUE(client.ask(encoded({.queue = -1})));

    for (const auto& [queue, count] : cluster.stored_by_queue("T"))
        EXPECT_EQ(count, 2U) << queue.second;
}

struct refusal {
    const char* name;
    send_request what;
    std::int32_t code;
    std::string remark;
};
std::ostream& operator<<(std::ostream& out, const refusal& r)
{
    return out << r.name;
}

class EmbeddedRefusal : public testing::TestWithParam<refusal> {};

TEST_P(EmbeddedRefusal, HasTheCodeAndTheWordsOfARealBroker)
{
    one_broker cluster({.max_body = 100});
    raw_client client(cluster.broker());

    const auto refused = client.ask(encoded(GetParam().what));

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, GetParam().code);
    EXPECT_EQ(refused->remark.substr(0, GetParam().remark.size()), GetParam().remark);
    EXPECT_EQ(cluster.stored(), 0U);
}

const std::string illegal = "the message is illegal, maybe msg body or properties length not matched. msg body length limit "
                            "100B, msg properties length limit 32KB.";

INSTANTIATE_TEST_SUITE_P(
    All, EmbeddedRefusal,
    testing::Values(
        refusal{"BlankTopic", {.topic = " "}, 29, "The specified topic is blank."},
        refusal{"BadTopic", {.topic = "a b"}, 29, "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"},
        refusal{"LongTopic", {.topic = std::string(128, 'x')}, 29, "The specified topic is longer than topic max length."},
        refusal{"SystemTopic", {.topic = "SCHEDULE_TOPIC_XXXX"}, 16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."},
        refusal{"QueueTooHigh", {.queue = 4}, 29,
                "request queueId[4] is illegal, TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4, perm=RW-, "
                "topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false, attributes={}] Producer: 127.0.0.1:"},
        refusal{"EmptyBody", {.body = ""}, 1, "java.lang.NullPointerException: Cannot read the array length because "},
        refusal{"BodyTooLarge", {.body = std::string(101, 'x')}, 13, illegal},
        refusal{"PropertiesTooLarge", {.properties = "p\x01" + std::string(32'760, 'x') + '\x02'}, 13, illegal},
        refusal{"InnerNumber", {.properties = "INNER_NUM\x01" "2\x02"}, 13, illegal},
        refusal{"DelayNotANumber", {.properties = "DELAY\x01" "x\x02"}, 1, "java.lang.NumberFormatException: "},
        refusal{"TimerTooFar", {.properties = "TIMER_DELIVER_MS\x01" "9000000000000\x02"}, 13, "timer message illegal, "},
        refusal{"BatchTooLarge", {.code = code::send_batch_message, .body = batch_item(std::string(90, 'x'), ""), .batch = true}, 1,
                "java.lang.RuntimeException: message body size exceeded, "},
        refusal{"BatchOfGarbage", {.code = code::send_batch_message, .body = "nonsense", .batch = true}, 1,
                "java.nio.BufferUnderflowException"},
        refusal{"BatchWithDelay",
                {.code = code::send_batch_message, .properties = "DELAY\x01" "3\x02", .body = batch_item("x", ""), .batch = true},
                13, illegal},
        refusal{"BatchToRetryTopic",
                {.code = code::send_batch_message, .topic = "%RETRY%gg", .body = batch_item("x", ""), .batch = true}, 13,
                "batch request does not support retry group %RETRY%gg"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(EmbeddedSend, TakesABodyOfExactlyTheLimit)
{
    one_broker cluster({.max_body = 100});

    const auto stored = raw_client(cluster.broker()).ask(encoded({.body = std::string(100, 'x')}));

    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->code, 0);
}

TEST(EmbeddedSend, RefusesARequestWithoutItsFields)
{
    one_broker cluster;

    const auto refused = raw_client(cluster.broker()).ask(request(code::send_message_v2, {{"b", "T"}}, 1, "x"));

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, 1);
    EXPECT_TRUE(refused->fields.empty()) << "such an answer has no region";
}

TEST(EmbeddedSend, HoldsDelayedMessagesUntilTheirTime)
{
    one_broker cluster;

    const auto stored = raw_client(cluster.broker()).ask(encoded({.properties = "DELAY\x01" "1\x02"}));
    const auto later = raw_client(cluster.broker()).ask(encoded({.properties = "DELAY\x01" "18\x02"}));

    ASSERT_TRUE(stored && later);
    EXPECT_EQ(stored->code, 0);
    EXPECT_EQ(cluster.snapshot("SCHEDULE_TOPIC_XXXX").size(), 2U);
    ASSERT_TRUE(cluster.wait_until([&] { return !cluster.snapshot("T").empty(); }, std::chrono::seconds(30)));
    const auto delivered = cluster.snapshot("T");
    ASSERT_EQ(delivered.size(), 1U) << "the other one is due in two hours";
    EXPECT_EQ(delivered[0].property("DELAY"), "1");
    EXPECT_GE(delivered[0].stored_ms - cluster.snapshot("SCHEDULE_TOPIC_XXXX").at(0).stored_ms, 1000);
}

TEST(EmbeddedBatch, IsStoredItemByItemWithTheItemsOwnProperties)
{
    one_broker cluster;
    raw_client client(cluster.broker());
    const std::string items = batch_item("one", "UNIQ_KEY\x01" "A1\x02" "KEYS\x01" "k1\x02", 1) +
                              batch_item("two", "UNIQ_KEY\x01" "A2\x02", 2) + batch_item("three", "UNIQ_KEY\x01" "A3\x02", 3);

    const auto stored = client.ask(
        encoded({.code = code::send_batch_message, .queue = 1, .properties = "UNIQ_KEY\x01" "B\x02", .body = items, .batch = true}));

    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->code, 0);
    EXPECT_EQ(stored->field("queueOffset"), "0");
    EXPECT_EQ(stored->field("transactionId"), "B");
    const auto ledger = cluster.snapshot();
    ASSERT_EQ(ledger.size(), 3U);
    EXPECT_EQ(stored->field("msgId"),
              ledger[0].offset_msg_id + ',' + ledger[1].offset_msg_id + ',' + ledger[2].offset_msg_id);
    EXPECT_EQ(ledger[0].msg_id, "A1");
    EXPECT_EQ(ledger[0].key, "k1");
    EXPECT_EQ(ledger[1].properties.size(), 1U) << "what a broker adds to single messages it does not add here";
    EXPECT_EQ(ledger[2].body, "three");
    EXPECT_EQ(ledger[2].flag, 3);
    EXPECT_EQ(ledger[2].offset, 2);
}

TEST(EmbeddedBatch, IsWhatTheFlagSaysNotTheCode)
{
    one_broker cluster;
    raw_client client(cluster.broker());
    const std::string items = batch_item("one", "") + batch_item("two", "");

    const auto as_batch = client.ask(encoded({.code = code::send_message_v2, .body = items, .batch = true}));
    const auto as_one = client.ask(encoded({.code = code::send_batch_message, .queue = 1, .body = items, .batch = false}));

    ASSERT_TRUE(as_batch && as_one);
    EXPECT_EQ(cluster.stored_by_queue("T").at({"broker-a", 0}), 2U);
    EXPECT_EQ(cluster.stored_by_queue("T").at({"broker-a", 1}), 1U);
}

TEST(EmbeddedBatch, IsStoredWhollyOrNotAtAll)
{
    one_broker cluster;
    raw_client client(cluster.broker());
    const std::string items = batch_item("one", "") + batch_item("two", "");

    const auto refused = client.ask(
        encoded({.code = code::send_batch_message, .body = items.substr(0, items.size() - 1), .batch = true}));

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, 1);
    EXPECT_EQ(cluster.stored(), 0U);
}

TEST(EmbeddedCluster, CountsRequestsConnectionsAndMessages)
{
    one_broker cluster;
    {
        raw_client client(cluster.broker());
        ASSERT_TRUE(client.ask(encoded({})));
        ASSERT_TRUE(client.ask(request(code::heart_beat, {}, 1)));
        const cluster::counters now = cluster.counts("broker-a");
        EXPECT_EQ(now.accepted, 1U);
        EXPECT_EQ(now.open, 1U);
        EXPECT_EQ(now.requests, 2U);
        EXPECT_EQ(now.sends, 1U);
        EXPECT_EQ(now.stored, 1U);
        EXPECT_EQ(now.by_code.at(code::heart_beat), 1U);
    }
    EXPECT_TRUE(cluster.wait_until([&] { return cluster.counts("broker-a").open == 0; }, patience));
    EXPECT_EQ(cluster.counts("broker-z").accepted, 0U);
}

TEST(EmbeddedCluster, WaitsForWhatIsToComeAndGivesUpInTime)
{
    one_broker cluster;
    raw_client client(cluster.broker());
    client.send(encoded({.oneway = true}) + encoded({.oneway = true}) + request(code::heart_beat, {}, 1));

    EXPECT_TRUE(cluster.wait_stored(2, patience));
    EXPECT_TRUE(cluster.wait_sends("broker-a", 2, patience));
    EXPECT_TRUE(cluster.wait_requests("broker-a", code::heart_beat, 1, patience));
    EXPECT_FALSE(cluster.wait_stored(3, std::chrono::milliseconds(1)));
    EXPECT_FALSE(cluster.wait_sends("broker-z", 1, std::chrono::milliseconds(1)));
}

TEST(EmbeddedCluster, KeepsNoBodiesWhenToldSo)
{
    one_broker cluster({.keep_bodies = false});
    ASSERT_TRUE(raw_client(cluster.broker()).ask(encoded({})));

    EXPECT_EQ(cluster.snapshot().at(0).body, "");
    EXPECT_EQ(cluster.snapshot().at(0).msg_id, "0A00000512670A0B0C0D000186A00001");
}

}  // namespace
}  // namespace shunt::test
