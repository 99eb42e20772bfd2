// Each fault once, seen from the other end of a socket.

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;
using namespace std::chrono_literals;
namespace code = wire::code;

/// Two brokers with topic T; the faults are broker-a's.
class EmbeddedFault : public testing::Test {
protected:
    EmbeddedFault() : cluster({.brokers = 2}) { EXPECT_FALSE(cluster.create_topic("T")); }

    void fault(const std::string& what, const std::string& subject = "broker-a")
    {
        const auto wrong = cluster.command(subject + ' ' + what);
        EXPECT_FALSE(wrong) << *wrong;
    }
    [[nodiscard]] std::string broker() const { return cluster.broker_address("broker-a"); }
    [[nodiscard]] std::string route(const std::string& topic = "T") const
    {
        const auto found =
            raw_client(cluster.name_server()).ask(request(code::get_route_by_topic, {{"topic", topic}}, 1));
        return found ? std::to_string(found->code) + ' ' + found->body : "no answer";
    }
    [[nodiscard]] bool in_route(const std::string& text) const { return route().find(text) != std::string::npos; }
    /// A fresh connection can send.
    [[nodiscard]] bool well() const
    {
        raw_client client(broker());
        const auto stored = client.connected() ? client.ask(encoded({})) : std::nullopt;
        return stored && stored->code == 0;
    }

    embedded_cluster cluster;
};

TEST_F(EmbeddedFault, LatencyDelaysTheAnswerNotTheStoring)
{
    fault("latency 300ms");
    raw_client client(broker());
    const auto start = std::chrono::steady_clock::now();

    client.send(encoded({}));
    ASSERT_TRUE(cluster.wait_stored(1, patience));
    const auto stored_after = std::chrono::steady_clock::now() - start;
    const auto answered = client.receive();
    const auto answered_after = std::chrono::steady_clock::now() - start;

    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->code, 0);
    EXPECT_LT(stored_after, answered_after);
    EXPECT_GE(answered_after, 300ms);
}

TEST_F(EmbeddedFault, LatencyHoldsForAnswersUnderWayWhenItEnds)
{
    fault("latency 200ms");
    raw_client client(broker());
    client.send(encoded({.opaque = 1}));
    ASSERT_TRUE(cluster.wait_sends("broker-a", 1, patience));
    fault("ok");

    client.send(encoded({.opaque = 2}));
    const auto first = client.receive();
    const auto second = client.receive();

    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->opaque, 2) << "answered at once, before the late one";
    EXPECT_EQ(second->opaque, 1);
}

TEST_F(EmbeddedFault, CodeRefusesSendsOnly)
{
    fault("code 2");
    raw_client client(broker());

    const auto refused = client.ask(encoded({}));
    const auto beat = client.ask(request(code::heart_beat, {}, 2, R"({"clientID":"c"})"));

    ASSERT_TRUE(refused && beat);
    EXPECT_EQ(refused->code, 2);
    EXPECT_EQ(refused->remark.substr(0, 21), "[TIMEOUT_CLEAN_QUEUE]");
    EXPECT_EQ(beat->code, 0);
    EXPECT_EQ(cluster.stored(), 0U);
}

TEST_F(EmbeddedFault, CodeTakesTheRemarkGiven)
{
    fault("code 16  no right to do that");

    const auto refused = raw_client(broker()).ask(encoded({}));

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, 16);
    EXPECT_EQ(refused->remark, "no right to do that");
}

TEST_F(EmbeddedFault, CodesThatMeanStoredStore)
{
    raw_client client(broker());
    for (const int stored : {0, 10, 11, 12}) {
        fault("code " + std::to_string(stored));

        const auto answered = client.ask(encoded({}));

        ASSERT_TRUE(answered);
        EXPECT_EQ(answered->code, stored);
        EXPECT_NE(answered->field("msgId"), "");
    }
    EXPECT_EQ(cluster.stored(), 4U);
}

TEST_F(EmbeddedFault, EveryOtherCodeIsAnsweredAndStoresNothing)
{
    raw_client client(broker());
    for (const int other : {1, 2, 13, 14, 16, 17, 29, 204, 205, 215, 501, 1500, 32767}) {
        fault("code " + std::to_string(other));

        const auto refused = client.ask(encoded({}));

        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->code, other);
        EXPECT_NE(refused->remark, "");
    }
    EXPECT_EQ(cluster.stored(), 0U);
}

TEST_F(EmbeddedFault, RefuseClosesConnectionsAndRefusesNewOnesUntilOk)
{
    raw_client before(broker());
    ASSERT_TRUE(before.ask(encoded({})));
    const std::string address = broker();

    fault("refuse");

    EXPECT_EQ(before.rest(), "");
    EXPECT_TRUE(before.closed() || before.was_reset());
    EXPECT_TRUE(raw_client(address).refused());
    EXPECT_TRUE(in_route("broker-a")) << "the name server does not know";

    fault("ok");
    EXPECT_EQ(broker(), address);
    EXPECT_TRUE(well());
}

TEST_F(EmbeddedFault, HangReadsAndNeitherStoresNorAnswers)
{
    fault("hang");
    raw_client client(broker());
    client.send(encoded({}) + request(code::heart_beat, {}, 2, R"({"clientID":"c"})"));

    ASSERT_TRUE(cluster.wait_requests("broker-a", code::heart_beat, 1, patience));

    EXPECT_FALSE(client.receive(a_moment));
    EXPECT_FALSE(client.closed() || client.was_reset());
    EXPECT_EQ(cluster.stored(), 0U);
}

TEST_F(EmbeddedFault, HangStoredStoresAndDoesNotAnswer)
{
    fault("hang stored");
    raw_client client(broker());
    client.send(encoded({}));

    ASSERT_TRUE(cluster.wait_stored(1, patience));

    EXPECT_FALSE(client.receive(a_moment));
}

TEST_F(EmbeddedFault, DropReadsThenCloses)
{
    fault("drop");
    raw_client client(broker());

    EXPECT_FALSE(client.ask(encoded({})));

    EXPECT_TRUE(client.closed());
    EXPECT_EQ(cluster.stored(), 0U);
    EXPECT_EQ(cluster.counts("broker-a").sends, 1U);
}

TEST_F(EmbeddedFault, DropStoredStoresThenCloses)
{
    fault("drop stored");
    raw_client client(broker());

    EXPECT_FALSE(client.ask(encoded({})));

    EXPECT_TRUE(client.closed());
    EXPECT_EQ(cluster.stored(), 1U);
}

TEST_F(EmbeddedFault, DropComesAfterTheLatency)
{
    fault("latency 200ms");
    fault("drop");
    raw_client client(broker());
    const auto start = std::chrono::steady_clock::now();

    EXPECT_FALSE(client.ask(encoded({})));

    EXPECT_TRUE(client.closed());
    EXPECT_GE(std::chrono::steady_clock::now() - start, 200ms);
}

TEST_F(EmbeddedFault, HalfStoresAndSendsTheFirstHalfOfTheAnswer)
{
    const std::string request_bytes = encoded({});
    raw_client whole_client(broker());
    whole_client.send(request_bytes);
    ASSERT_TRUE(cluster.wait_stored(1, patience));
    fault("half");
    raw_client client(broker());
    client.send(request_bytes);

    const std::string half = client.rest();

    EXPECT_TRUE(client.closed());
    EXPECT_EQ(cluster.stored(), 2U);
    const wire::scan_result found = wire::scan(half);
    EXPECT_EQ(found.status, wire::scan_status::need_more);
    EXPECT_EQ(half.size(), found.size / 2) << "as much as half of what its length says";
}

TEST_F(EmbeddedFault, CloseResetsTheConnectionAtTheNextSend)
{
    raw_client client(broker());
    ASSERT_TRUE(client.ask(encoded({})));
    fault("close");
    ASSERT_TRUE(client.ask(request(code::heart_beat, {}, 2, R"({"clientID":"c"})"))) << "not a send";

    EXPECT_FALSE(client.ask(encoded({})));

    EXPECT_TRUE(client.was_reset());
    EXPECT_EQ(cluster.stored(), 1U);
}

TEST_F(EmbeddedFault, GarbageIsNotAFrame)
{
    fault("garbage");
    raw_client client(broker());
    client.send(encoded({}));
    ASSERT_TRUE(cluster.wait_stored(1, patience));
    fault("refuse");  // ends what can be read

    EXPECT_EQ(wire::scan(client.rest()).status, wire::scan_status::bad);
}

TEST_F(EmbeddedFault, StallReadsWhatCameMeanwhileOnceItIsOver)
{
    raw_client early(broker());
    ASSERT_TRUE(early.ask(encoded({})));
    fault("stall");
    early.send(encoded({.opaque = 7}));
    raw_client late(broker());
    late.send(encoded({.opaque = 8}));
    ASSERT_TRUE(cluster.wait_until([&] { return cluster.counts("broker-a").open == 2; }, patience)) << "it accepts";
    EXPECT_EQ(cluster.stored(), 1U);

    fault("ok");

    const auto first = early.receive(), second = late.receive();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->opaque, 7);
    EXPECT_EQ(second->opaque, 8);
    EXPECT_EQ(cluster.stored(), 3U);
}

TEST_F(EmbeddedFault, StaleAnswersTheRoutesThatWere)
{
    ASSERT_FALSE(cluster.create_topic("T"));
    const std::string before = route();
    ASSERT_FALSE(cluster.command("name-server stale"));
    fault("perm 4");
    fault("gone");
    EXPECT_EQ(route(), before);

    ASSERT_FALSE(cluster.command("name-server ok"));
    EXPECT_NE(route(), before);
}

TEST_F(EmbeddedFault, TwiceAnswersTwiceAndStoresOnce)
{
    fault("twice");
    raw_client client(broker());

    const auto first = client.ask(encoded({.opaque = 4}));
    const auto second = client.receive();

    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->opaque, 4);
    EXPECT_EQ(second->opaque, 4);
    EXPECT_EQ(second->field("msgId"), first->field("msgId"));
    EXPECT_EQ(cluster.stored(), 1U);
}

TEST_F(EmbeddedFault, PermissionOfTheBrokerNarrowsEveryTopic)
{
    fault("perm 4");

    EXPECT_TRUE(in_route(R"({"brokerName":"broker-a","perm":4,)")) << route();
    EXPECT_TRUE(in_route(R"({"brokerName":"broker-b","perm":6,)")) << route();
    EXPECT_NE(route("TBW102").find(R"({"brokerName":"broker-a","perm":4,)"), std::string::npos);
    EXPECT_TRUE(well()) << "a broker stores what comes all the same";

    fault("ok");
    EXPECT_TRUE(in_route(R"({"brokerName":"broker-a","perm":6,)")) << route();
}

TEST_F(EmbeddedFault, PermissionOfTheBrokerRefusesSendsToOrderTopics)
{
    ASSERT_FALSE(cluster.create_topic("O", {.order = true}));
    fault("perm 4");

    const auto refused = raw_client(broker()).ask(encoded({.topic = "O"}));

    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, 16);
    EXPECT_EQ(refused->remark, "the broker[127.0.0.1] sending message is forbidden");
}

TEST_F(EmbeddedFault, PermissionOfATopicIsThatTopicsOnly)
{
    ASSERT_FALSE(cluster.create_topic("U"));
    fault("perm 2 T");

    EXPECT_TRUE(in_route(R"({"brokerName":"broker-a","perm":2,)")) << route();
    EXPECT_NE(route("U").find(R"({"brokerName":"broker-a","perm":6,)"), std::string::npos);
}

TEST_F(EmbeddedFault, QueueCountChangesInTheRouteAndForSends)
{
    fault("queues 2 T");

    EXPECT_TRUE(in_route(R"({"brokerName":"broker-a","perm":6,"readQueueNums":2,"topicSysFlag":0,"writeQueueNums":2})"));
    const auto refused = raw_client(broker()).ask(encoded({.queue = 2}));
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, 29);

    fault("ok");
    EXPECT_TRUE(well());
    EXPECT_TRUE(in_route(R"({"brokerName":"broker-a","perm":6,"readQueueNums":4,)"));
}

TEST_F(EmbeddedFault, GoneLeavesTheRouteAndComesBack)
{
    const std::string address = broker();
    fault("gone");

    EXPECT_TRUE(raw_client(address).refused());
    EXPECT_FALSE(in_route("broker-a")) << route();
    EXPECT_TRUE(in_route("broker-b"));

    fault("ok");
    EXPECT_TRUE(in_route(address));
    EXPECT_TRUE(well());
}

TEST_F(EmbeddedFault, GoneEverywhereLeavesNoRoute)
{
    fault("gone");
    fault("gone", "broker-b");

    EXPECT_EQ(route().substr(0, 3), "17 ");
}

TEST_F(EmbeddedFault, MoveListensElsewhereAndTellsTheNameServer)
{
    const std::string old = broker();
    raw_client before(old);
    ASSERT_TRUE(before.ask(encoded({})));

    fault("move 0");

    EXPECT_NE(broker(), old);
    EXPECT_TRUE(in_route(broker())) << route();
    EXPECT_TRUE(raw_client(old).refused());
    EXPECT_EQ(before.rest(), "");
    EXPECT_TRUE(before.closed() || before.was_reset());
    EXPECT_TRUE(well());

    fault("ok");
    EXPECT_EQ(broker(), old);
    EXPECT_TRUE(well());
    EXPECT_EQ(cluster.counts("broker-a").stored, 3U) << "it is the same broker with the same messages";
}

TEST_F(EmbeddedFault, MoveToATakenPortSaysSoAndStays)
{
    const std::string old = broker();
    const std::string other = cluster.broker_address("broker-b");
    const std::string port = other.substr(other.find(':') + 1);

    const auto wrong = cluster.command("broker-a move " + port);

    ASSERT_TRUE(wrong);
    EXPECT_EQ(*wrong, "broker-a cannot listen at port " + port + ": Address already in use");
    EXPECT_EQ(broker(), old);
    EXPECT_TRUE(well());
}

TEST_F(EmbeddedFault, FaultsOfOneBrokerDoNotTouchAnother)
{
    fault("hang");

    const auto stored = raw_client(cluster.broker_address("broker-b")).ask(encoded({}));

    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->code, 0);
}

TEST_F(EmbeddedFault, OneWaySendsMeetFaultsTooAndStayUnanswered)
{
    fault("twice");
    raw_client client(broker());
    client.send(encoded({.oneway = true}));
    ASSERT_TRUE(cluster.wait_stored(1, patience));
    fault("ok");

    const auto next = client.ask(encoded({.opaque = 9}));

    ASSERT_TRUE(next);
    EXPECT_EQ(next->opaque, 9);
}

TEST_F(EmbeddedFault, NameServerHangsAndRecovers)
{
    fault("hang", "name-server");
    raw_client client(cluster.name_server());
    client.send(request(code::get_route_by_topic, {{"topic", "T"}}, 1));

    ASSERT_TRUE(cluster.wait_requests("name-server", code::get_route_by_topic, 1, patience));
    EXPECT_FALSE(client.receive(a_moment));

    fault("ok", "name-server");
    EXPECT_TRUE(in_route("broker-a"));
}

TEST_F(EmbeddedFault, NameServerRefusesAndListensAgainWhereItWas)
{
    const std::string address = cluster.name_server();
    fault("refuse", "name-server");
    EXPECT_TRUE(raw_client(address).refused());

    fault("ok", "name-server");
    EXPECT_EQ(cluster.name_server(), address);
    EXPECT_TRUE(in_route("broker-a"));
}

TEST_F(EmbeddedFault, NameServerForgetsUntilOk)
{
    fault("forget", "name-server");
    EXPECT_EQ(route().substr(0, 3), "17 ");
    EXPECT_TRUE(well()) << "brokers serve on";

    fault("ok", "name-server");
    EXPECT_TRUE(in_route("broker-a"));
}

TEST_F(EmbeddedFault, CommandsForNobodySayWhoIsThere)
{
    const auto wrong = cluster.command("broker-c hang");

    ASSERT_TRUE(wrong);
    EXPECT_EQ(*wrong, "no broker 'broker-c'; there are broker-a, broker-b, and name-server");
}

}  // namespace
}  // namespace shunt::test
