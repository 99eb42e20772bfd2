// Routes: name servers that fail, topics that come, go and change, brokers that move; and never a send that pays for it.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <future>
#include <set>
#include <thread>

namespace shunt::test {
namespace {

/// A broker and a name server that knows topic T on it.
struct small {
    fake_peer broker{well_behaved()};
    fake_name_server names{{{"T", route_json({{"a", broker.address(), 4, 6}})}}};
    [[nodiscard]] producer_options options() const { return with_policy(options_for(names.address()), "best-queue"); }
};

// ---- several name servers ----

struct bad_server_row {
    const char* claim;
    std::function<std::string()> address;
};

class OneBadNameServer : public testing::TestWithParam<int> {};

TEST_P(OneBadNameServer, CostsNoSend)
{
    small s;
    black_hole hole;
    fake_peer silent([](fake_peer::session&, const heard&) {});
    fake_peer denying([](fake_peer::session& c, const heard& h) { c.write(answer_to(h, 17, {}, "No topic route info")); });
    fake_peer failing([](fake_peer::session& c, const heard& h) { c.write(answer_to(h, 1, {}, "NullPointerException")); });
    fake_peer babbling([](fake_peer::session& c, const heard&) { c.write("HTTP/1.1 400 Bad Request\r\n\r\n"); });
    fake_peer no_json([](fake_peer::session& c, const heard& h) { c.write(answer_to(h, 0, {}, {}, "this is no JSON")); });
    fake_peer closing(nullptr);
    closing.on_connect([](fake_peer::session& c) { c.close(); });
    const std::string bad[] = {dead_address(), hole.address(),    silent.address(),  denying.address(),
                               failing.address(), babbling.address(), closing.address(), "name.does.not.exist.invalid:9876"};
    for (int round = 0; round < 4; ++round) {  // begins with the one or the other, at random
        auto o = s.options();
        o.auto_create_topics = false;
        o.name_servers = {bad[GetParam()], s.names.address()};
        auto p = started(o);
        const auto begin = clock::now();
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << bad[GetParam()] << shown(r);
        EXPECT_LT(clock::now() - begin, 3s + 100ms);
        EXPECT_TRUE(p.send(message("T", "x")));
    }
}

INSTANTIATE_TEST_SUITE_P(Route, OneBadNameServer, testing::Range(0, 8));

TEST(NameServers, AnUnreadableAnswerOfOneIsNotTheLastWord)
{
    small s;
    fake_peer no_json([](fake_peer::session& c, const heard& h) { c.write(answer_to(h, 0, {}, {}, "this is no JSON")); });
    auto o = s.options();
    o.name_servers = {no_json.address()};
    o.send_timeout = 300ms;
    auto p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent);
    EXPECT_EQ(r.error, errc::route_timeout);
    EXPECT_NE(r.reason.find("cannot be read"), std::string::npos) << r.reason;
}

TEST(NameServers, ThatHangBoundASendByItsTimeout)
{
    fake_peer silent([](fake_peer::session&, const heard&) {});
    auto o = options_for(silent.address());
    o.send_timeout = 500ms;
    auto p = started(o);
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_LT(clock::now() - begin, 500ms + grace());
    EXPECT_EQ(r.error, errc::route_timeout) << shown(r);
    EXPECT_NE(r.error.message().find("looking up the route"), std::string::npos);
    collector sent;
    const auto again = clock::now();
    p.async_send(message("T", "x"), sent.handler(0));
    ASSERT_TRUE(sent.wait(1));
    EXPECT_LT(clock::now() - again, 500ms + grace());
    EXPECT_EQ(sent.receipts()[0].error, errc::route_timeout);
    const auto asked = clock::now();
    EXPECT_EQ(p.route("U", 100ms).error(), errc::route_timeout);
    EXPECT_LT(clock::now() - asked, 100ms + grace());
}

TEST(NameServers, ThatAreSlowShareTheSendsBudget)
{
    small s;
    s.names.set_latency(200ms);
    auto o = s.options();
    o.send_timeout = 2s;
    auto p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_GE(r.latency, 200ms);
    EXPECT_LT(r.latency, 200ms + grace());
    // A slow question about one topic holds up no other.
    s.names.set_latency(1500ms);
    auto slow = p.async_send(message("NEW", "x"), boost::asio::use_future);
    for (int i = 0; i < 20; ++i) {
        const receipt fast = p.deliver(message("T", "x"));
        EXPECT_LT(fast.latency, grace());
    }
    slow.wait();
}

TEST(NameServers, AreAskedOnceForATopicThatManySendsWaitFor)
{
    small s;
    s.names.set_latency(100ms);
    auto p = started(s.options());
    collector sent;
    for (int i = 0; i < 200; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(200));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored);
    EXPECT_EQ(s.names.count(105), 1u);
}

TEST(NameServers, ThatVanishAndComeBackCostNoSend)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.route_refresh = 20ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    for (const char* what : {"refuse", "hang", "forget"}) {
        command(cluster, std::string("name-server ") + what);
        const auto asked = p.counters().route_queries;
        EXPECT_TRUE(eventually([&] {
            EXPECT_TRUE(p.send(message("T", "x"))) << what;
            return p.counters().route_queries > asked + 2 || std::string(what) == "hang";
        }));
        command(cluster, "name-server ok");
        EXPECT_TRUE(p.send(message("T", "x")));
    }
}

// A name server that has just started knows a topic before its brokers, or knows only some of them.
TEST(Route, OfARestartedNameServerReplacesNothingGood)
{
    small s;
    auto o = s.options();
    o.route_refresh = 20ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    for (const std::string& json : {std::string("{\"brokerDatas\":[],\"queueDatas\":[]}"), std::string("no JSON")}) {
        s.names.set_route("T", json);
        const auto asked = s.names.count(105);
        ASSERT_TRUE(s.names.wait_until([&] { return s.names.count(105) > asked + 3; }, patience));
        EXPECT_TRUE(p.send(message("T", "x"))) << json;
    }
}

// ---- topics that are not there ----

TEST(UnknownTopic, FailsFastAndIsAskedForOnceASecond)
{
    fake_name_server names;
    auto o = options_for(names.address());
    auto p = started(o);
    const auto begin = clock::now();
    for (int i = 0; i < 300; ++i) {
        const receipt r = p.deliver(message("NONE", "x"));
        ASSERT_EQ(r.error, errc::no_route) << shown(r);
        ASSERT_NE(r.reason.find("NONE"), std::string::npos);
    }
    const auto took = clock::now() - begin;
    EXPECT_LT(took, 2s);
    const auto seconds = static_cast<std::size_t>(std::chrono::duration_cast<std::chrono::seconds>(took).count());
    EXPECT_LE(names.count(105), 2 * (seconds + 1)) << "the topic and the default topic, once a second";
}

TEST(UnknownTopic, IsNotCreatedWhereThatIsForbidden)
{
    cluster::embedded_cluster cluster;
    auto o = options_for(cluster);
    o.auto_create_topics = false;
    auto p = started(o);
    EXPECT_EQ(p.deliver(message("NEW", "x")).error, errc::no_route);
    EXPECT_EQ(cluster.stored(), 0u);
}

TEST(UnknownTopic, IsCreatedOnEveryBroker)
{
    cluster::embedded_cluster cluster;
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    for (int i = 0; i < 12; ++i)
        EXPECT_TRUE(p.send(message("NEW", "x")));
    const auto by_queue = cluster.stored_by_queue("NEW");
    std::set<std::string> brokers;
    for (const auto& [queue, n] : by_queue)
        brokers.insert(queue.first);
    EXPECT_EQ(brokers.size(), 3u);
    EXPECT_EQ(by_queue.size(), 12u) << "four queues each";
}

// More topics than are remembered, and sends that wait for room: each end let the next one begin on the same stack,
// and an entry went while it was in use.
TEST(UnknownTopic, ThousandsOfThemInARowAreRefusedWithBoundedMeans)
{
    fake_name_server names;
    auto o = options_for(names.address());
    o.auto_create_topics = false;
    o.max_in_flight_messages = 1;
    o.send_timeout = 15s;
    auto p = started(o);
    for (int i = 0; i < 1200; ++i)
        ASSERT_EQ(p.deliver(message("N" + std::to_string(i), "x")).error, errc::no_route);
    collector sent;
    const int n = 20'000;
    for (int i = 0; i < n; ++i)
        p.async_send(message("LAST", "x"), boost::asio::bind_executor(p.get_executor(), sent.handler(i)));
    ASSERT_TRUE(sent.wait(n)) << sent.size();
    for (const auto& [i, r] : sent.receipts())
        ASSERT_EQ(r.error, errc::no_route) << shown(r);
    expect_quiet(p);
}

TEST(DeletedTopic, IsPutAsideOnTheBrokerThatDoesNotKnowItAndTriedAgainLater)
{
    std::atomic<bool> knows{false};
    fake_peer forgetful([&](fake_peer::session& c, const heard& h) {
        if (!h.oneway)
            c.write(!h.is_send() ? answer_to(h, 0) : h.field("b") == "T" && !knows ? answer_to(h, 17, {}, "topic[T] not exist") : stored_answer(h));
    });
    fake_peer well(well_behaved());
    const std::string json = route_json({{"a", well.address(), 4, 6}, {"b", forgetful.address(), 4, 6}});
    fake_name_server names({{"T", json}, {"U", json}});
    auto o = with_policy(options_for(names.address()), "best-queue", "latency-fault");
    o.route_refresh = 400ms;
    auto p = started(o);
    const auto begin = clock::now();
    int attempts = 0;
    for (int i = 0; i < 200; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        attempts += static_cast<int>(r.attempts.size());
    }
    if (clock::now() - begin < 400ms) {
        EXPECT_EQ(attempts, 201) << "one message met it";
    }
    std::set<std::string> used;
    for (int i = 0; i < 8; ++i)
        used.insert(std::string(p.deliver(message("U", "x")).broker));
    EXPECT_EQ(used.size(), 2u) << "other topics are not concerned";
    // The route never changed: it was never looked at again.
    knows = true;
    EXPECT_TRUE(eventually([&] { return p.deliver(message("T", "x")).broker == "b"; })) << "back once its time is over";
}

// ---- changes ----

TEST(Route, ThatIsReadOnlyForAWhileMakesSendsWait)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.route_refresh = 30s;
    o.send_timeout = 10s;
    auto p = started(o);
    command(cluster, "broker-a perm 4 T");
    auto waiting = p.async_send(message("T", "x"), boost::asio::use_future);
    ASSERT_TRUE(eventually([&] { return p.counters().route_queries >= 1; }));
    command(cluster, "broker-a ok");
    ASSERT_EQ(waiting.wait_for(5s), std::future_status::ready) << "the name server is asked again while a send waits";
    EXPECT_EQ(waiting.get().outcome, outcome::stored);
}

struct no_queue_row {
    when_no_queue what;
    std::chrono::milliseconds at_least, at_most;
};

TEST(Route, WithoutAWritableQueueEndsASendAsItsPolicySays)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    topic(cluster, "T");
    command(cluster, "broker-a perm 4 T");
    for (const no_queue_row& row : {no_queue_row{when_no_queue::fail, 0ms, 0ms}, no_queue_row{when_no_queue::any, 0ms, 0ms},
                                    no_queue_row{when_no_queue::wait, 200ms, 200ms}}) {
        auto o = with_policy(options_for(cluster), "best-queue");
        o.policies["default"].when_no_queue = row.what;
        o.send_timeout = 200ms;
        auto p = started(o);
        const auto begin = clock::now();
        collector sent;
        p.async_send(message("T", "x"), sent.handler(0));
        ASSERT_TRUE(sent.wait(1));
        const receipt r = sent.receipts()[0];
        EXPECT_EQ(r.error, errc::no_queue) << shown(r);
        EXPECT_EQ(r.outcome, outcome::not_sent);
        EXPECT_GE(clock::now() - begin, row.at_least);
        EXPECT_LT(clock::now() - begin, row.at_most + grace());
    }
    EXPECT_EQ(cluster.stored(), 0u);
}

TEST(Route, IsAskedForAtOnceWhenABrokerFails)
{
    fake_peer one(well_behaved()), two(well_behaved()), other(well_behaved());
    black_hole hole;
    fake_name_server names({{"T", route_json({{"a", other.address(), 4, 6}, {"b", one.address(), 4, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue", "latency-fault");
    o.route_refresh = 30s;
    auto p = started(o);
    for (int i = 0; i < 8; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    names.set_route("T", route_json({{"a", other.address(), 4, 6}, {"b", two.address(), 4, 6}}));
    one.refuse();
    EXPECT_TRUE(eventually([&] {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        return p.counters().route_changes == 1;
    }, 3s)) << "not at the next poll";
}

// The connection to the old address stayed open, known to nobody, and close() waited for it.
TEST(Route, ThatMovesABrokerClosesTheConnectionToItsOldAddress)
{
    fake_peer one(well_behaved()), two(well_behaved());
    fake_name_server names({{"T", route_json({{"a", one.address(), 4, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.route_refresh = 20ms;
    auto p = started(o);
    fake_peer* at = &one;
    fake_peer* before = &two;
    for (int flip = 0; flip < 6; ++flip) {
        ASSERT_TRUE(p.send(message("T", "x")));
        std::swap(at, before);
        names.set_route("T", route_json({{"a", at->address(), 4, 6}}));
        EXPECT_TRUE(before->wait_until([&] { return before->open() == 0; }, patience)) << "flip " << flip;
    }
    ASSERT_TRUE(p.send(message("T", "x")));
    EXPECT_EQ(one.open() + two.open(), 1);
    const auto begin = clock::now();
    EXPECT_TRUE(p.close());
    EXPECT_LT(clock::now() - begin, grace());
}

TEST(Route, OfABrokerThatLeftIsNotUsedAndItComesBack)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue", "latency-fault");
    o.route_refresh = 20ms;
    auto p = started(o);
    for (int i = 0; i < 12; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    command(cluster, "broker-b gone");
    ASSERT_TRUE(eventually([&] { return p.route("T")->brokers.size() == 2; }));
    for (int i = 0; i < 12; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.attempts.size(), 1u);
        EXPECT_NE(r.broker, "broker-b");
    }
    command(cluster, "broker-b ok");
    EXPECT_TRUE(eventually([&] { return p.deliver(message("T", "x")).broker == "broker-b"; })) << "nothing is held against it";
}

TEST(Route, TwoNamesOfOneAddressAreTwoBrokersAndOneConnection)
{
    fake_peer one(well_behaved());
    fake_name_server names({{"T", route_json({{"a", one.address(), 2, 6}, {"a-old", one.address(), 2, 6}})}});
    auto p = started(with_policy(options_for(names.address()), "best-queue"));
    std::set<std::string> used;
    for (int i = 0; i < 8; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        used.insert(std::string(r.broker));
    }
    EXPECT_EQ(used, (std::set<std::string>{"a", "a-old"}));
    EXPECT_EQ(one.accepted(), 1);
    for (const heard& h : one.sends())
        EXPECT_TRUE(used.contains(h.field("n")));
}

TEST(Route, ListedInAnotherOrderGivesAKeyTheSameQueue)
{
    fake_peer b(well_behaved());
    const std::string at = b.address();
    fake_name_server one({{"T", route_json({{"a", at, 4, 6}, {"B", at, 4, 6}, {"b10", at, 4, 6}, {"b2", at, 4, 6}})}});
    fake_name_server two({{"T", route_json({{"b2", at, 4, 6}, {"b10", at, 4, 6}, {"a", at, 4, 6}, {"B", at, 4, 6}})}});
    auto p1 = started(with_policy(options_for(one.address()), "hash"));
    auto p2 = started(with_policy(options_for(two.address()), "hash"));
    for (int i = 0; i < 50; ++i) {
        const std::string key = "order-" + std::to_string(i);
        const receipt r1 = p1.deliver(message("T", "x").set_order_key(key)), r2 = p2.deliver(message("T", "x").set_order_key(key));
        EXPECT_EQ(std::pair(r1.broker, r1.queue), std::pair(r2.broker, r2.queue)) << key;
    }
    const auto route = p2.route("T");
    ASSERT_TRUE(route);
    EXPECT_EQ(route->publish.front().first, "B") << "by bytes";
    EXPECT_EQ(route->publish[4].first, "a");
    EXPECT_EQ(route->publish[8].first, "b10");
}

TEST(Route, WithAnOrderConfigurationKeepsItsQueues)
{
    fake_peer b(well_behaved());
    fake_name_server names({{"T", route_json({{"a", b.address(), 4, 6}, {"b", b.address(), 4, 6}}, "a:2;b:1")}});
    auto p = started(with_policy(options_for(names.address()), "best-queue"));
    std::set<std::pair<std::string, int>> used;
    for (int i = 0; i < 12; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        used.emplace(r.broker, r.queue);
    }
    EXPECT_EQ(used, (std::set<std::pair<std::string, int>>{{"a", 0}, {"a", 1}, {"b", 0}}));
    EXPECT_TRUE(p.route("T")->ordered);
}

TEST(Route, OfOneTopicThatIsSpoiltHoldsUpNoOther)
{
    small s;
    s.names.set_route("T2", route_json({{"a", s.broker.address(), 4, 6}}, "a:x"));
    s.names.set_route("T3", route_json({{"a", s.broker.address(), 1, 6}}));
    auto o = s.options();
    o.route_refresh = 20ms;
    o.send_timeout = 300ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    ASSERT_TRUE(p.send(message("T3", "x")));
    EXPECT_EQ(p.deliver(message("T2", "x")).outcome, outcome::not_sent);
    s.names.set_route("T3", route_json({{"a", s.broker.address(), 2, 6}}));
    EXPECT_TRUE(eventually([&] { return p.route("T3")->publish.size() == 2; }));
}

// A queue that is gone: 29, the new route is awaited, and the message goes to one that is there.
TEST(Route, ThatIsOldIsRenewedInTheMiddleOfASend)
{
    fake_peer b([](fake_peer::session& c, const heard& h) {
        if (h.oneway)
            return;
        const bool gone = h.is_send() && h.field("e") != "0";
        c.write(gone ? answer_to(h, 29, {}, "request queueId[" + h.field("e") + "] is illegal, TopicConfig [...]")
                : h.is_send() ? stored_answer(h) : answer_to(h, 0));
    });
    fake_name_server names({{"T", route_json({{"a", b.address(), 4, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.retry_backoff = 0ms;
    o.attempts = 16;
    auto p = started(o);
    ASSERT_TRUE(p.route("T"));
    names.set_route("T", route_json({{"a", b.address(), 1, 6}}));
    EXPECT_TRUE(eventually([&] { (void)p.deliver(message("T", "x")); return p.counters().route_changes == 1; }, 5s));
    for (int i = 0; i < 8; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.attempts.size(), 1u);
    }
}

TEST(Route, NamesTheAddressThatCannotBeReached)
{
    black_hole hole;
    fake_name_server names({{"T", route_json({{"far", hole.address(), 4, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.send_timeout = 300ms;
    o.attempts = 1;
    auto p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent) << shown(r);
    EXPECT_EQ(r.error, errc::connect_timeout);
    ASSERT_EQ(r.attempts.size(), 1u);
    EXPECT_NE(r.attempts[0].text.find(hole.address()), std::string::npos) << r.attempts[0].text;
    const receipt dead = [&] {
        names.set_route("D", route_json({{"dead", dead_address(), 4, 6}}));
        return p.deliver(message("D", "x"));
    }();
    EXPECT_EQ(dead.error, errc::connect_failed) << shown(dead);
}

TEST(Route, OfAThousandTopicsIsAskedForSideBySide)
{
    cluster::embedded_cluster cluster;
    for (int i = 0; i < 1000; ++i)
        topic(cluster, "topic-" + std::to_string(i));
    auto p = started(options_for(cluster));
    collector sent;
    for (int i = 0; i < 1000; ++i)
        p.async_send(message("topic-" + std::to_string(i), "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(1000));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(cluster.stored(), 1000u);
}

TEST(Route, OfSixteenThousandQueuesIsUsable)
{
    fake_peer b(well_behaved());
    std::vector<routed> brokers;
    for (int i = 0; i < 1000; ++i)
        brokers.push_back({"broker-" + std::to_string(i), b.address(), 16, 6});
    fake_name_server names({{"T", route_json(brokers)}});
    auto p = started(with_policy(options_for(names.address()), "best-queue"));
    const auto route = p.route("T", 10s);
    ASSERT_TRUE(route);
    EXPECT_EQ(route->publish.size(), 16'000u);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    EXPECT_EQ(b.accepted(), 1);
}

}  // namespace
}  // namespace shunt::test
