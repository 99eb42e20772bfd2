// Half messages, their end, checks; replies that are pushed to who asked.

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>
#include <wire/properties.hpp>
#include <wire/stored_message.hpp>

#include <gtest/gtest.h>

#include <string>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;
namespace code = wire::code;

class EmbeddedTransaction : public testing::Test {
protected:
    EmbeddedTransaction() : cluster({.brokers = 1}), client(cluster.broker_address("broker-a"))
    {
        EXPECT_FALSE(cluster.create_topic("T"));
        EXPECT_TRUE(client.ask(
            request(code::heart_beat, {}, 1, R"({"clientID":"c1","producerDataSet":[{"groupName":"PG_tx"}]})")));
        half = client
                   .ask(encoded({.queue = 3,
                                 .sys_flag = 4,
                                 .properties = "KEYS\x01" "k\x02" "TRAN_MSG\x01" "true\x02" "UNIQ_KEY\x01" "U\x02" "PGROUP\x01" "PG_tx\x02",
                                 .body = "in two steps"}))
                   .value_or(answer{});
    }

    [[nodiscard]] std::optional<answer> end(const std::string& decision, const std::string& group = "PG_tx")
    {
        return client.ask(request(code::end_transaction,
                                  {{"producerGroup", group},
                                   {"commitLogOffset", offset()},
                                   {"tranStateTableOffset", half.field("queueOffset")},
                                   {"commitOrRollback", decision},
                                   {"msgId", "U"},
                                   {"topic", "T"}},
                                  8));
    }
    [[nodiscard]] std::string offset() const { return std::to_string(std::stoll(half.field("msgId").substr(16), nullptr, 16)); }

    embedded_cluster cluster;
    raw_client client;
    answer half;
};

TEST_F(EmbeddedTransaction, HidesTheHalfMessageUntilItIsCommitted)
{
    EXPECT_EQ(half.code, 0);
    EXPECT_EQ(half.field("queueId"), "3") << "the queue that was asked for";
    EXPECT_TRUE(cluster.snapshot("T").empty());

    const auto committed = end("8");

    ASSERT_TRUE(committed);
    EXPECT_EQ(committed->code, 0);
    const auto ledger = cluster.snapshot("T");
    ASSERT_EQ(ledger.size(), 1U);
    EXPECT_EQ(ledger[0].queue, 3);
    EXPECT_EQ(ledger[0].body, "in two steps");
    EXPECT_EQ(ledger[0].key, "k");
    EXPECT_EQ(ledger[0].sys_flag, 8);
    EXPECT_EQ(ledger[0].property("REAL_TOPIC"), "");
}

TEST_F(EmbeddedTransaction, DropsTheMessageOnRollback)
{
    ASSERT_TRUE(end("12"));

    EXPECT_TRUE(cluster.snapshot("T").empty());
    const auto again = end("8");
    ASSERT_TRUE(again);
    EXPECT_EQ(again->code, 1);
    EXPECT_EQ(again->remark, "Find prepared transaction message failed");
}

TEST_F(EmbeddedTransaction, BelongsToItsGroup)
{
    const auto other = end("8", "PG_other");

    ASSERT_TRUE(other);
    EXPECT_EQ(other->code, 1);
    EXPECT_TRUE(cluster.snapshot("T").empty());
}

TEST_F(EmbeddedTransaction, IsCheckedAtAConnectionOfItsGroup)
{
    ASSERT_FALSE(cluster.command("broker-a check"));

    const auto check = client.receive();

    ASSERT_TRUE(check);
    EXPECT_EQ(check->code, code::check_transaction_state);
    EXPECT_EQ(check->flag, 2);
    EXPECT_EQ(check->field("commitLogOffset"), offset());
    EXPECT_EQ(check->field("tranStateTableOffset"), "0");
    EXPECT_EQ(check->field("msgId"), "U");
    std::string_view bytes = check->body;
    wire::stored_message m;
    std::string what;
    ASSERT_EQ(wire::read_stored(bytes, m, what), wire::stored_status::message) << what;
    EXPECT_EQ(m.topic, "T");
    EXPECT_EQ(m.queue_id, 3);
    EXPECT_EQ(m.body, "in two steps");
    EXPECT_EQ(wire::find_property(m.properties, "PGROUP"), "PG_tx");
}

TEST_F(EmbeddedTransaction, IsNotCheckedOnceItIsDecided)
{
    ASSERT_TRUE(end("8"));
    ASSERT_FALSE(cluster.command("broker-a check"));

    const auto next = client.ask(request(9999, {}, 77));

    ASSERT_TRUE(next);
    EXPECT_EQ(next->opaque, 77) << "no check came before";
}

TEST(EmbeddedReply, IsPushedToTheClientItNames)
{
    embedded_cluster cluster({.brokers = 1});
    raw_client asker(cluster.broker_address("broker-a")), replier(cluster.broker_address("broker-a"));
    ASSERT_TRUE(asker.ask(request(code::heart_beat, {}, 1, R"({"clientID":"me@1"})")));
    const std::string properties = "CORRELATION_ID\x01" "c-1\x02" "REPLY_TO_CLIENT\x01" "me@1\x02" "MSG_TYPE\x01" "reply\x02";
    const send_request reply{.code = code::send_reply_message_v2,
                             .topic = "DefaultCluster_REPLY_TOPIC",
                             .properties = properties,
                             .body = "the answer"};

    const auto sent = replier.ask(encoded(reply));
    const auto pushed = asker.receive();

    ASSERT_TRUE(sent && pushed);
    EXPECT_EQ(sent->code, 0);
    EXPECT_EQ(pushed->code, code::push_reply_message);
    EXPECT_EQ(pushed->flag, 0) << "it wants an answer";
    EXPECT_EQ(pushed->body, "the answer");
    EXPECT_EQ(wire::find_property(pushed->field("properties"), "CORRELATION_ID"), "c-1");
}

TEST(EmbeddedReply, FailsWhenNobodyOfThatNameIsConnected)
{
    embedded_cluster cluster({.brokers = 1});

    const auto sent = raw_client(cluster.broker_address("broker-a"))
                          .ask(encoded({.code = code::send_reply_message_v2,
                                        .topic = "DefaultCluster_REPLY_TOPIC",
                                        .properties = "REPLY_TO_CLIENT\x01" "nobody\x02"}));

    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->code, 1);
}

}  // namespace
}  // namespace shunt::test
