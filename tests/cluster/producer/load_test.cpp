// Many threads, many topics, many producers: nothing is lost, doubled, or left over.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

std::size_t threads_of_this_process()
{
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
        ++n;
    return n;
}

std::size_t descriptors_of_this_process()
{
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++n;
    return n;
}

TEST(Load, ThreadsDoNotGrowWithBrokersTopicsOrSenders)
{
    cluster::embedded_cluster cluster({.brokers = 8});
    for (int i = 0; i < 50; ++i)
        topic(cluster, "topic-" + std::to_string(i));
    const std::size_t before = threads_of_this_process();
    auto p = started(options_for(cluster));
    collector sent;
    for (int i = 0; i < 2000; ++i)
        p.async_send(message("topic-" + std::to_string(i % 50), "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(2000));
    EXPECT_EQ(threads_of_this_process(), before + 2) << "its network thread, and one for handlers";
    EXPECT_TRUE(p.close());
}

TEST(Load, LeavesNoThreadAndNoDescriptor)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    {
        auto p = started(options_for(cluster));  // whatever the process opens once
        ASSERT_TRUE(p.send(message("T", "x")));
    }
    ASSERT_TRUE(cluster.wait_until([&] { return cluster.counts("name-server").open == 0; }, patience));
    const std::size_t threads = threads_of_this_process();
    const std::size_t descriptors = descriptors_of_this_process();
    for (int i = 0; i < 20; ++i) {
        auto p = started(options_for(cluster));
        collector sent;
        for (int k = 0; k < 12; ++k)
            p.async_send(message("T", "x"), sent.handler(k));
        ASSERT_TRUE(sent.wait(12));
    }
    EXPECT_EQ(threads_of_this_process(), threads);
    EXPECT_TRUE(eventually([&] { return descriptors_of_this_process() <= descriptors; })) << descriptors_of_this_process() << " " << descriptors;
}

TEST(Load, ManyShortLivedThreadsGoOnWithTheRotation)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    const int n = slow_build ? 240 : 600;
    for (int i = 0; i < n; ++i)
        std::thread([&] { EXPECT_TRUE(p.send(message("T", "x"))); }).join();
    const auto by_queue = cluster.stored_by_queue("T");
    EXPECT_EQ(by_queue.size(), 12u);
    for (const auto& [queue, count] : by_queue)
        EXPECT_EQ(count, static_cast<std::uint64_t>(n) / 12) << "a slot outlives its thread";
}

TEST(Load, ManyThreadsOfSyncSendersLoseAndDoubleNothing)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(options_for(cluster));
    std::vector<std::thread> threads;
    std::vector<std::vector<receipt>> receipts(16);
    for (auto& mine : receipts)
        threads.emplace_back([&] {
            for (int i = 0; i < (slow_build ? 40 : 150); ++i)
                mine.push_back(p.deliver(message("T", "x")));
        });
    for (std::thread& t : threads)
        t.join();
    std::vector<receipt> all;
    std::set<std::string> ids;
    for (const auto& mine : receipts)
        for (const receipt& r : mine) {
            EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
            EXPECT_TRUE(ids.insert(r.msg_id.str()).second) << "an id twice";
            all.push_back(r);
        }
    EXPECT_EQ(cluster.stored(), all.size());
    expect_agreement(cluster, all);
    expect_quiet(p);
}

// A map from topic to cursor was read and written by many threads.
TEST(Load, EachThreadToNewTopicsAllTheTime)
{
    cluster::embedded_cluster cluster;
    const int topics = slow_build ? 150 : 500;
    for (int i = 0; i < topics; ++i)
        topic(cluster, "topic-" + std::to_string(i));
    auto p = started(with_policy(options_for(cluster), "round-robin"));
    std::atomic<int> next{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            for (int i = next++; i < 2 * topics; i = next++)
                EXPECT_TRUE(p.send(message("topic-" + std::to_string(i % topics), "x")));
        });
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(cluster.stored(), static_cast<std::uint64_t>(2 * topics));
}

TEST(Load, RouteChangesUnderManySendersHarmNobody)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue", "latency-fault");
    o.route_refresh = 10ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            while (!over) {
                const receipt r = p.deliver(message("T", "x"));
                EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
            }
        });
    for (int i = 0; i < 12; ++i) {
        const auto changes = p.counters().route_changes;
        command(cluster, "broker-b queues " + std::to_string(4 + i % 3) + " T");
        command(cluster, i % 2 == 0 ? "broker-c perm 4 T" : "broker-c perm 6 T");
        EXPECT_TRUE(eventually([&] { return p.counters().route_changes > changes; })) << i;
    }
    over = true;
    for (std::thread& t : threads)
        t.join();
    EXPECT_TRUE(p.close());
}

TEST(Load, TwoProducersOfOneProcessAreIndependent)
{
    cluster::embedded_cluster one, two;
    topic(one, "T");
    topic(two, "T");
    auto p1 = started(options_for(one));
    auto p2 = started(options_for(two));
    std::set<std::string> ids;
    for (int i = 0; i < 100; ++i) {
        const receipt r1 = p1.deliver(message("T", "one")), r2 = p2.deliver(message("T", "two"));
        EXPECT_TRUE(ids.insert(r1.msg_id.str()).second);
        EXPECT_TRUE(ids.insert(r2.msg_id.str()).second);
    }
    for (const auto& r : one.snapshot())
        EXPECT_EQ(r.body, "one");
    EXPECT_EQ(one.stored(), 100u);
    EXPECT_EQ(two.stored(), 100u);
    EXPECT_TRUE(p1.close());
    EXPECT_TRUE(p2.send(message("T", "two")));
}

TEST(Load, AMoreThanFullOpaqueSpaceIsOnlyAQueue)
{
    // One connection, tens of thousands under way, answered in a wild order.
    std::mutex lock;
    std::vector<std::pair<fake_peer::session*, heard>> held;
    const std::size_t n = slow_build ? 5'000 : 30'000;
    fake_peer broker([&](fake_peer::session& s, const heard& h) {
        if (!h.is_send()) {
            if (!h.oneway)
                s.write(answer_to(h, 0));
            return;
        }
        const std::lock_guard l(lock);
        held.emplace_back(&s, h);
        if (held.size() == n) {
            for (std::size_t i = 0; i < n; ++i) {
                auto& [to, what] = held[(i * 7919) % n];
                to->write(stored_answer(what, std::stoi(what.body)));
            }
        }
    });
    fake_name_server names({{"T", route_json({{"a", broker.address(), 1, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.send_timeout = 60s;
    auto p = started(o);
    collector sent;
    for (std::size_t i = 0; i < n; ++i)
        p.async_send(message("T", std::to_string(i)), sent.handler(static_cast<int>(i)));
    ASSERT_TRUE(sent.wait(n)) << sent.size();
    for (const auto& [i, r] : sent.receipts())
        ASSERT_EQ(r.offset, i) << "the answer to its own request";
    expect_quiet(p);
}

TEST(Load, HeartbeatsGoToEveryBrokerOfTheRoutes)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = options_for(cluster);
    o.heartbeat = 30ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    for (const std::string& b : cluster.broker_names())
        EXPECT_TRUE(cluster.wait_requests(b, 34, 3, patience)) << b;
}

// A machine that vanished answers nothing: two heartbeats show it, and the next send does not wait for it.
TEST(Load, ABrokerThatAnswersNoHeartbeatLosesItsConnection)
{
    std::atomic<bool> dead{false};
    fake_peer broker([&](fake_peer::session& s, const heard& h) {
        if (!dead && !h.oneway)
            s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0));
    });
    fake_name_server names({{"T", route_json({{"a", broker.address(), 4, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.heartbeat = 100ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    dead = true;
    EXPECT_TRUE(eventually([&] { return p.counters().connections_lost == 1; }, 8s));
    dead = false;
    EXPECT_TRUE(p.send(message("T", "x")));
}

}  // namespace
}  // namespace shunt::test
