// Time: the deadline of a send, its shares, pauses, isolation, and that nothing lasts longer than it may.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace shunt::test {
namespace {

struct call_row {
    const char* claim;
    std::function<receipt(producer&, send_options)> call;
};

receipt of(result<receipt> r)
{
    if (r)
        return *r;
    receipt failed;
    failed.error = r.error();
    failed.outcome = outcome_of(r.error());
    return failed;
}

const call_row calls[] = {
    {"send", [](producer& p, send_options o) { return of(p.send(message("T", "x"), std::move(o))); }},
    {"deliver", [](producer& p, send_options o) { return p.deliver(message("T", "x"), std::move(o)); }},
    {"async with a future", [](producer& p, send_options o) {
         collector sent;
         p.async_send(message("T", "x"), std::move(o), sent.handler(0));
         EXPECT_TRUE(sent.wait(1));
         return sent.receipts()[0];
     }},
    {"to a queue", [](producer& p, send_options o) {
         o.queue = {"broker-a", 1};
         return p.deliver(message("T", "x"), std::move(o));
     }},
    {"with a selector function", [](producer& p, send_options o) {
         o.select = [](std::span<const queue_ref>, const message&, std::uint32_t) { return std::size_t{2}; };
         return p.deliver(message("T", "x"), std::move(o));
     }},
    {"ordered", [](producer& p, send_options o) {
         o.policy = "ordered";
         return p.deliver(message("T", "x").set_order_key("k"), std::move(o));
     }},
    {"to a topic not heard of", [](producer& p, send_options o) { return p.deliver(message("NEW", "x"), std::move(o)); }},
};

// One of several overloads forgot the argument and used the default.
TEST(Timeout, OfTheCallHoldsInEveryWayOfSending)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    policy_options ordered;
    ordered.selector.use = "hash";
    ordered.fault.use = "none";
    ordered.ordered = true;
    o.policies["ordered"] = ordered;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " hang");
    for (const call_row& row : calls) {
        SCOPED_TRACE(row.claim);
        send_options how;
        how.timeout = 100ms;
        const auto begin = clock::now();
        const receipt r = row.call(p, how);
        EXPECT_GE(clock::now() - begin, 95ms);
        EXPECT_LT(clock::now() - begin, 100ms + grace());
        EXPECT_EQ(r.outcome, outcome::unknown) << shown(r);
    }
    command(cluster, "name-server hang");
    send_options how;
    how.timeout = 100ms;
    const auto begin = clock::now();
    EXPECT_EQ(p.deliver(message("NEWER", "x"), how).outcome, outcome::not_sent);
    EXPECT_LT(clock::now() - begin, 100ms + grace());
    (void)p.close(0ms);
}

// The name server that hung had a third of three seconds, whatever the send's own timeout: the next one was asked too late.
TEST(Timeout, IsEnoughThoughTheFirstOfTwoNameServersHangs)
{
    fake_peer broker(well_behaved()), silent([](fake_peer::session&, const heard&) {});
    fake_name_server names({{"T", route_json({{"a", broker.address(), 4, 6}})}});
    constexpr int n = 12;
    int stored = 0;
    std::string failures;
    for (int i = 0; i < n; ++i) {  // which one is asked first is drawn
        auto o = with_policy(options_for(names.address()), "best-queue");
        o.name_servers = {silent.address(), names.address()};
        o.send_timeout = 900ms;
        auto p = started(o);
        const receipt r = p.deliver(message("T", "x"));
        if (r.outcome == outcome::stored)
            ++stored;
        else
            failures += shown(r) + "\n";
    }
    EXPECT_GE(stored, n - 2) << "two may have met a machine that stood still\n" << failures;
}

TEST(Timeout, IsEnoughForATopicThatIsToBeCreatedThoughTheFirstOfTwoNameServersHangs)
{
    fake_peer broker(well_behaved()), silent([](fake_peer::session&, const heard&) {});
    fake_name_server names({{"TBW102", route_json({{"a", broker.address(), 4, 7}})}});
    constexpr int n = 12;
    int stored = 0;
    std::string failures;
    for (int i = 0; i < n; ++i) {
        auto o = with_policy(options_for(names.address()), "best-queue");
        o.name_servers = {silent.address(), names.address()};
        o.send_timeout = 900ms;
        auto p = started(o);
        const receipt r = p.deliver(message("NEW", "x"));
        if (r.outcome == outcome::stored)
            ++stored;
        else
            failures += shown(r) + "\n";
    }
    EXPECT_GE(stored, n - 2) << failures;
}

TEST(Timeout, MayBeAsLongAsOneLikes)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    for (const auto timeout : {std::chrono::milliseconds::max(), std::chrono::milliseconds(std::chrono::hours(24 * 365 * 300))}) {
        send_options how;
        how.timeout = timeout;
        how.attempts = 1'000'000;
        EXPECT_TRUE(p.send(message("T", "x"), how));
        EXPECT_TRUE(p.route("T", timeout));
        collector sent;
        p.async_send(message("T", "x"), how, sent.handler(0));
        ASSERT_TRUE(sent.wait(1));
        EXPECT_EQ(sent.receipts()[0].outcome, outcome::stored);
    }
}

// Time spent before the write was not taken off the wait for the answer.
TEST(Timeout, CoversRouteConnectAndAnswerTogether)
{
    fake_peer silent(hanging());
    fake_name_server names({{"T", route_json({{"a", silent.address(), 4, 6}})}});
    names.set_latency(200ms);
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.send_timeout = 400ms;
    o.attempts = 1;
    auto p = started(o);
    const auto begin = clock::now();
    EXPECT_EQ(p.deliver(message("T", "x")).error, errc::response_timeout);
    EXPECT_GE(clock::now() - begin, 395ms);
    EXPECT_LT(clock::now() - begin, 400ms + grace());
}

TEST(Shares, LetABrokerThatHangsLeaveTimeForTheNext)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.send_timeout = 600ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, "broker-a hang");
    command(cluster, "broker-b hang");
    for (int i = 0; i < 6; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.broker, "broker-c");
        std::chrono::nanoseconds spent{0};
        for (std::size_t a = 0; a + 1 < r.attempts.size(); ++a) {
            const auto share = (600ms - spent) / static_cast<int>(3 - a);
            EXPECT_GE(r.attempts[a].latency, share / 2) << "what passes between attempts is not in their latencies";
            EXPECT_LT(r.attempts[a].latency, share + grace());
            spent += r.attempts[a].latency;
        }
    }
}

TEST(Shares, OfWhatABrokerThatFailsAtOnceLeavesGoToTheOthers)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.send_timeout = 600ms;
    o.attempts = 2;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, "broker-a code 2");
    command(cluster, "broker-b latency 400ms");
    command(cluster, "broker-c latency 400ms");
    send_options how;
    how.select = [](std::span<const queue_ref> queues, const message&, std::uint32_t attempt) { return attempt == 1 ? 0 : queues.size() - 1; };
    const receipt r = p.deliver(message("T", "x"), how);  // 400 ms is more than half of 600
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
}

TEST(Isolation, KeepsSendsFromABrokerThatHangsAndLetsItBack)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue", "latency-fault");
    auto& fault = o.policies["default"].fault.settings;
    fault["latency_max"] = setting_array{"50ms", "200ms"};
    fault["not_available"] = setting_array{"0ms", "700ms"};
    fault["failure_latency"] = "300ms";
    auto p = started(o);
    for (int i = 0; i < 12; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    command(cluster, "broker-b hang");
    std::vector<std::chrono::nanoseconds> latencies;
    std::size_t met_it = 0;
    auto isolated = clock::now();
    while (met_it == 0) {
        const receipt r = p.deliver(message("T", "x"));
        ASSERT_EQ(r.outcome, outcome::stored) << "with 3 s, 3 attempts and one of three hanging no send fails: " << shown(r);
        EXPECT_LT(r.latency, 1s + grace()) << "the first share and a little";
        if (r.attempts.size() > 1) {
            ++met_it;
            isolated = clock::now();
        }
    }
    command(cluster, "broker-b ok");
    while (clock::now() - isolated < 550ms) {
        const receipt r = p.deliver(message("T", "x"));
        ASSERT_EQ(r.attempts.size(), 1u) << shown(r);
        ASSERT_NE(r.broker, "broker-b") << "isolated for 700 ms";
    }
    auto back = clock::now();
    EXPECT_TRUE(eventually([&] {
        back = clock::now();
        return p.deliver(message("T", "x")).broker == "broker-b";
    }));
    EXPECT_LT(back - isolated, 700ms + grace()) << "back in its stated time, with no other sign needed";
}

TEST(Isolation, DoesNotComeFromACallersOwnSmallDeadline)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue", "latency-fault"));
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, "broker-b latency 60ms");
    for (int i = 0; i < 12; ++i) {
        send_options how;
        how.timeout = 20ms;
        how.attempts = 1;
        (void)p.deliver(message("T", "x"), how);
    }
    std::set<std::string> used;
    for (int i = 0; i < 12; ++i)
        used.insert(std::string(p.deliver(message("T", "x")).broker));
    EXPECT_TRUE(used.contains("broker-b"));
}

// Three seconds, three attempts, one of three brokers hangs, many sends at once.
TEST(HangingBroker, FailsNoSendAndDelaysNoneBeyondItsShare)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue", "latency-fault"));
    for (int i = 0; i < 12; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    command(cluster, "broker-b hang");
    collector sent;
    std::vector<receipt> all;
    const int n = 3000;
    for (int i = 0; i < n; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(n));
    for (int i = 0; i < 1000; ++i)
        p.async_send(message("T", "x"), sent.handler(n + i));
    ASSERT_TRUE(sent.wait(n + 1000));
    std::vector<std::chrono::nanoseconds> latency;
    int later = 0;
    for (const auto& [i, r] : sent.receipts()) {
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        latency.push_back(r.latency);
        later += i >= n && r.attempts.size() > 1 ? 1 : 0;
    }
    EXPECT_EQ(later, 0) << "after the verdict hardly any send goes there";
    std::sort(latency.begin(), latency.end());
    EXPECT_LT(latency[latency.size() * 999 / 1000], 1s + grace());
    expect_quiet(p);
}

TEST(Backoff, IsMadeBeforeATriedBrokerAndGrows)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.retry_backoff = 40ms;
    o.retry_backoff_max = 160ms;
    o.attempts = 6;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, "broker-a code 2 [REJECTREQUEST]system busy");
    std::chrono::nanoseconds total{0}, most{0};
    for (int i = 0; i < 6; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::rejected);
        EXPECT_EQ(r.error, errc::broker_error);
        EXPECT_EQ(r.attempts.size(), 6u) << "never more than configured";
        EXPECT_EQ(r.attempts.back().text, "[REJECTREQUEST]system busy");
        EXPECT_EQ(r.attempts.back().code, 2);
        total += r.latency;
        most = std::max(most, r.latency);
    }
    // Full jitter: the means are 20, 40, 80, 80, 80 ms.
    EXPECT_GT(total, 6 * 100ms);
    EXPECT_LT(most, 40ms + 80ms + 3 * 160ms + grace());
}

TEST(Backoff, IsNotMadeBeforeABrokerNotYetTried)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.retry_backoff = 1s;
    o.retry_backoff_max = 1s;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " code 2");
    for (int i = 0; i < 4; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.attempts.size(), 3u);
        EXPECT_LT(r.latency, grace());
    }
}

// The end of a pause beyond the deadline put "timed out before the first attempt" in place of what the attempts had said.
TEST(Backoff, ThatEndsWithTheDeadlineKeepsTheCause)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.retry_backoff = 60s;
    o.retry_backoff_max = 60s;
    o.send_timeout = 150ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, "broker-a code 2 busy");
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_LT(clock::now() - begin, 150ms + grace());
    EXPECT_EQ(r.outcome, outcome::rejected);
    EXPECT_EQ(r.error, errc::broker_error) << shown(r);
    EXPECT_EQ(r.attempts.size(), 1u);
    EXPECT_FALSE(r.reason.empty());
}

TEST(Async, RetriesAreReckonedFromTheCall)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.send_timeout = 900ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    for (const std::string& b : cluster.broker_names()) {
        command(cluster, b + " code 1");
        command(cluster, b + " latency 200ms");
    }
    collector sent;
    p.async_send(message("T", "x"), sent.handler(0));
    ASSERT_TRUE(sent.wait(1));
    const receipt r = sent.receipts()[0];
    EXPECT_EQ(r.attempts.size(), 3u) << "at 0, 200 and 400 ms: " << shown(r);
    EXPECT_EQ(r.outcome, outcome::rejected);
    EXPECT_GE(r.latency, 600ms);
    EXPECT_LT(r.latency, 600ms + grace());
}

}  // namespace
}  // namespace shunt::test
