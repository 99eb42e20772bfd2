// Routes, cluster info, topics, heartbeats, and clients that do not speak the protocol.

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>

#include <gtest/gtest.h>

#include <string>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;
namespace code = wire::code;

std::string route_request(const std::string& topic, std::int32_t version = 477, bool flag = false)
{
    fields ext{{"topic", topic}};
    if (flag)
        ext["acceptStandardJsonOnly"] = "true";
    return request(code::get_route_by_topic, ext, 7, {}, false, wire::header_format::json, version);
}

TEST(EmbeddedNameServer, GivesTheRouteAsARealOneWritesIt)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T", {.queues = 8}));
    raw_client client(cluster.name_server());

    const auto route = client.ask(route_request("T"));

    ASSERT_TRUE(route);
    EXPECT_EQ(route->code, 0);
    EXPECT_EQ(route->opaque, 7);
    EXPECT_EQ(route->flag, 1);
    EXPECT_EQ(route->language, "JAVA");
    EXPECT_EQ(route->body, R"({"brokerDatas":[{"brokerAddrs":{"0":")" + cluster.broker_address("broker-a") +
                               R"("},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":false}],)"
                               R"("filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,)"
                               R"("topicSysFlag":0,"writeQueueNums":8}]})");
}

TEST(EmbeddedNameServer, WritesBareIntegerKeysForOldClientsUnlessTheyAskForStrictJson)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client client(cluster.name_server());

    const auto old = client.ask(route_request("T", 333));
    const auto old_but_strict = client.ask(route_request("T", 333, true));

    ASSERT_TRUE(old && old_but_strict);
    EXPECT_NE(old->body.find(R"("brokerAddrs":{0:)"), std::string::npos) << old->body;
    EXPECT_NE(old_but_strict->body.find(R"("brokerAddrs":{"0":)"), std::string::npos) << old_but_strict->body;
}

TEST(EmbeddedNameServer, DoesNotKnowATopicNobodyCreated)
{
    embedded_cluster cluster;
    raw_client client(cluster.name_server());

    const auto route = client.ask(route_request("NOPE"));

    ASSERT_TRUE(route);
    EXPECT_EQ(route->code, 17);
    EXPECT_EQ(route->remark, "No topic route info in name server for the topic: NOPE\nSee "
                             "https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.");
}

TEST(EmbeddedNameServer, GivesTheTemplateRouteOnlyWhereTopicsMayCreateThemselves)
{
    embedded_cluster open({.brokers = 2});
    embedded_cluster shut({.brokers = 2, .auto_create = false});

    const auto found = raw_client(open.name_server()).ask(route_request("TBW102"));
    const auto missing = raw_client(shut.name_server()).ask(route_request("TBW102"));

    ASSERT_TRUE(found && missing);
    EXPECT_NE(found->body.find(R"({"brokerName":"broker-b","perm":7,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8})"),
              std::string::npos)
        << found->body;
    EXPECT_EQ(missing->code, 17);
}

TEST(EmbeddedNameServer, TellsTheOrderConfigurationOfAnOrderTopic)
{
    embedded_cluster cluster({.brokers = 2});
    ASSERT_FALSE(cluster.create_topic("ordered", {.queues = 3, .order = true}));
    raw_client client(cluster.name_server());

    const auto route = client.ask(route_request("ordered"));
    const auto kv = client.ask(request(101, {{"namespace", "ORDER_TOPIC_CONFIG"}, {"key", "ordered"}}, 1));

    ASSERT_TRUE(route && kv);
    EXPECT_NE(route->body.find(R"("orderTopicConf":"broker-a:3;broker-b:3")"), std::string::npos) << route->body;
    EXPECT_EQ(kv->field("value"), "broker-a:3;broker-b:3");
}

TEST(EmbeddedNameServer, KeepsAndForgetsKeyValueSettings)
{
    embedded_cluster cluster;
    raw_client client(cluster.name_server());
    const fields key{{"namespace", "N"}, {"key", "k"}};

    const auto before = client.ask(request(101, key, 1));
    const auto put = client.ask(request(100, {{"namespace", "N"}, {"key", "k"}, {"value", "v"}}, 2));
    const auto after = client.ask(request(101, key, 3));
    const auto removed = client.ask(request(102, key, 4));
    const auto gone = client.ask(request(101, key, 5));

    ASSERT_TRUE(before && put && after && removed && gone);
    EXPECT_EQ(before->code, 22);
    EXPECT_EQ(put->code, 0);
    EXPECT_EQ(after->field("value"), "v");
    EXPECT_EQ(gone->code, 22);
}

TEST(EmbeddedNameServer, ListsTheClusterWithBareIntegerKeys)
{
    embedded_cluster cluster({.brokers = 2, .cluster_name = "C"});
    raw_client client(cluster.name_server());

    const auto info = client.ask(request(code::get_cluster_info, {}, 1));

    ASSERT_TRUE(info);
    EXPECT_EQ(info->body.find(R"({"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"127.0.0.1:)"), 0U) << info->body;
    EXPECT_NE(info->body.find(R"("clusterAddrTable":{"C":["broker-a","broker-b"]})"), std::string::npos) << info->body;
}

TEST(EmbeddedNameServer, RefusesWhatOnlyBrokersServe)
{
    embedded_cluster cluster;
    raw_client client(cluster.name_server());

    const auto sent = client.ask(encoded({}));

    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->code, 3);
    EXPECT_EQ(sent->remark, " request type 310 not supported");
}

TEST(EmbeddedBroker, RefusesCodesItDoesNotKnow)
{
    embedded_cluster cluster;
    raw_client client(cluster.broker_address("broker-a"));

    const auto answer = client.ask(request(9999, {}, 17));

    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code, 3);
    EXPECT_EQ(answer->opaque, 17);
    EXPECT_EQ(answer->remark, " request type 9999 not supported");
}

TEST(EmbeddedBroker, AnswersHeartbeatsAndRefusesOnesWithoutAClient)
{
    embedded_cluster cluster;
    raw_client client(cluster.broker_address("broker-a"));

    const auto good = client.ask(request(code::heart_beat, {}, 1, R"({"clientID":"c","producerDataSet":[{"groupName":"PG"}]})"));
    const auto empty = client.ask(request(code::heart_beat, {}, 2));
    const auto bye = client.ask(request(code::unregister_client, {{"clientID", "c"}, {"producerGroup", "PG"}}, 3));

    ASSERT_TRUE(good && empty && bye);
    EXPECT_EQ(good->code, 0);
    EXPECT_EQ(good->field("IS_SUPPORT_HEART_BEAT_V2"), "true");
    EXPECT_EQ(empty->code, 1);
    EXPECT_EQ(bye->code, 0);
}

TEST(EmbeddedBroker, TellsTheConsumersOfAGroupUntilTheyLeave)
{
    embedded_cluster cluster;
    raw_client client(cluster.broker_address("broker-a"));
    const std::string who = request(38, {{"consumerGroup", "CG"}}, 1);

    const auto before = client.ask(who);
    (void)client.ask(request(code::heart_beat, {}, 2, R"({"clientID":"c1","consumerDataSet":[{"groupName":"CG"}]})"));
    const auto during = client.ask(who);
    (void)client.ask(request(code::unregister_client, {{"clientID", "c1"}, {"consumerGroup", "CG"}}, 3));
    const auto after = client.ask(who);

    ASSERT_TRUE(before && during && after);
    EXPECT_EQ(before->code, 1);
    EXPECT_EQ(during->body, R"({"consumerIdList":["c1"]})");
    EXPECT_EQ(after->code, 1);
}

TEST(EmbeddedBroker, CreatesAndDeletesTopicsOnItsOwnOnly)
{
    embedded_cluster cluster({.brokers = 2});
    raw_client names(cluster.name_server());
    raw_client client(cluster.broker_address("broker-b"));
    const fields settings{{"topic", "mine"}, {"readQueueNums", "5"}, {"writeQueueNums", "2"}, {"perm", "4"}, {"order", "false"}};

    const auto made = client.ask(request(code::update_and_create_topic, settings, 1));
    const auto route = names.ask(route_request("mine"));
    const auto deleted = client.ask(request(215, {{"topic", "mine"}}, 2));
    const auto gone = names.ask(route_request("mine"));

    ASSERT_TRUE(made && route && deleted && gone);
    EXPECT_EQ(made->code, 0);
    EXPECT_EQ(route->body.find("broker-a"), std::string::npos);
    EXPECT_NE(route->body.find(R"("perm":4,"readQueueNums":5,"topicSysFlag":0,"writeQueueNums":2)"), std::string::npos)
        << route->body;
    EXPECT_EQ(gone->code, 17);
}

TEST(EmbeddedBroker, RefusesBadAndSystemTopics)
{
    embedded_cluster cluster;
    raw_client client(cluster.broker_address("broker-a"));

    for (const char* topic : {"a b", "TBW102", "rmq_sys_x"}) {
        const auto made = client.ask(request(code::update_and_create_topic, {{"topic", topic}}, 1));
        ASSERT_TRUE(made);
        EXPECT_EQ(made->code, 29) << topic;
    }
}

TEST(EmbeddedCluster, ReadsBinaryHeadersAndAnswersInJson)
{
    embedded_cluster cluster;
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client client(cluster.broker_address("broker-a"));

    const auto stored = client.ask(encoded({.format = wire::header_format::binary}));

    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->code, 0);
    EXPECT_EQ(stored->format, wire::header_format::json);
}

TEST(EmbeddedCluster, AnswersInBinaryWhenToldTo)
{
    embedded_cluster cluster({.binary_answers = true});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client client(cluster.broker_address("broker-a"));

    const auto stored = client.ask(encoded({}));

    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->format, wire::header_format::binary);
    EXPECT_EQ(stored->field("queueOffset"), "0");
}

TEST(EmbeddedCluster, ClosesOnlyTheConnectionThatSentAMalformedFrame)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client good(cluster.broker_address("broker-a"));
    ASSERT_TRUE(good.ask(encoded({})));

    const std::string headless("\0\0\0\x0A\0\0\0\x06{\"co\"}", 14);
    const std::string header_too_long("\0\0\0\x08\0\0\x7F\0\0\0\0\0", 12);
    for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), header_too_long, headless}) {
        raw_client bad(cluster.broker_address("broker-a"));
        bad.send(bytes);
        EXPECT_EQ(bad.rest(), "");
        EXPECT_TRUE(bad.closed() || bad.was_reset()) << bytes;
    }

    const auto stored = good.ask(encoded({.opaque = 2}));
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->opaque, 2);
}

TEST(EmbeddedCluster, PutsAFrameTogetherThatComesByteByByte)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client client(cluster.broker_address("broker-a"));

    for (const char byte : encoded({}))
        client.send({&byte, 1});

    const auto stored = client.receive();
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->code, 0);
}

TEST(EmbeddedCluster, AnswersManyRequestsOfOneReadInOrder)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client client(cluster.broker_address("broker-a"));
    std::string many;
    for (std::int32_t i = 0; i < 1000; ++i)
        many += encoded({.opaque = i});

    client.send(many);

    for (std::int32_t i = 0; i < 1000; ++i) {
        const auto stored = client.receive();
        ASSERT_TRUE(stored) << i;
        ASSERT_EQ(stored->opaque, i);
        ASSERT_EQ(stored->field("queueOffset"), std::to_string(i));
    }
}

TEST(EmbeddedCluster, ServesOverIpv6WhereThereIsOneAndElseSaysWhyNot)
{
    try {
        embedded_cluster cluster({.brokers = 1, .host = "::1"});
        ASSERT_FALSE(cluster.create_topic("T"));
        EXPECT_EQ(cluster.name_server().rfind("[::1]:", 0), 0U);

        const auto route = raw_client(cluster.name_server()).ask(route_request("T"));
        const auto stored = raw_client(cluster.broker_address("broker-a")).ask(encoded({}));

        ASSERT_TRUE(route && stored);
        EXPECT_NE(route->body.find(R"("brokerAddrs":{"0":"[::1]:)"), std::string::npos) << route->body;
        EXPECT_EQ(stored->field("msgId").size(), 56U);
        EXPECT_EQ(cluster.snapshot().at(0).sys_flag, 0x30) << "both hosts are IPv6";
    }
    catch (const std::runtime_error& e) {
        EXPECT_EQ(std::string(e.what()).rfind("embedded cluster: name server cannot listen at ::1:0: ", 0), 0U) << e.what();
    }
}

TEST(EmbeddedCluster, SaysWhatIsWrongWithItsOptions)
{
    const auto what = [](cluster::options o) -> std::string {
        try {
            embedded_cluster cluster(std::move(o));
            return "works";
        }
        catch (const std::runtime_error& e) {
            return e.what();
        }
    };
    embedded_cluster first;
    const auto taken = static_cast<std::uint16_t>(std::stoi(first.name_server().substr(first.name_server().find(':') + 1)));

    EXPECT_EQ(what({.brokers = 27}), "embedded cluster: 27 brokers; it must be a number from 1 to 26");
    EXPECT_EQ(what({.queues = 0}), "embedded cluster: 0 queues; it must be a number from 1 to 65535");
    EXPECT_EQ(what({.host = "localhost"}), "embedded cluster: host 'localhost'; it must be an IPv4 or IPv6 address");
    EXPECT_NE(what({.port = taken}).find("name server cannot listen at 127.0.0.1:" + std::to_string(taken)), std::string::npos);
}

}  // namespace
}  // namespace shunt::test
