// Policies are exchanged all the time under full load: each message is stored exactly once, and nothing grows.
//
// SHUNT_STORM_SECONDS: how long each storm lasts; 2 unless said.

#include "swap_situation.hpp"

#include <support/swap_load.hpp>

#include <malloc.h>

#include <array>
#include <set>
#include <string>

namespace shunt::test {
namespace {

struct situation {
    cluster::embedded_cluster cluster{{.keep_bodies = false}};
    situation() { topic(cluster, "T"); }
    [[nodiscard]] producer_options options(const std::string& selector, const std::string& fault) const
    {
        auto o = plainly(with_policy(options_for(cluster), selector, fault));
        o.send_timeout = 60s;
        return o;
    }
    void expect_each_once(std::uint64_t sent) const
    {
        std::set<std::string> ids;
        for (const auto& r : cluster.snapshot("T"))
            EXPECT_TRUE(ids.insert(r.msg_id).second) << r.msg_id << " is stored twice";
        EXPECT_EQ(ids.size(), sent);
    }
};

TEST(Storm, AnExchangeEachMillisecondLosesAndDoublesNothing)
{
    situation s;
    auto p = started(s.options("best-queue", "latency-fault"));
    in_force(p, s.options("hash", "circuit-breaker"));
    load senders(p, 4);
    const int n = each_millisecond(storm_time(), [&](int) { EXPECT_EQ(p.rollback("storm"), ""); });
    ASSERT_TRUE(senders.stop());
    EXPECT_EQ(senders.bad(), std::vector<std::string>{});
    EXPECT_GT(n, 100);
    EXPECT_GE(p.generation(), static_cast<std::uint64_t>(n));
    EXPECT_GT(senders.generations(), static_cast<std::size_t>(n) / 4) << "sends went by the generations between";
    s.expect_each_once(senders.ended());
    expect_quiet(p);
    EXPECT_EQ(p.counters().plugin_errors, 0u);
}

TEST(Storm, NewTablesAllTheTimeUnderLoad)
{
    situation s;
    auto p = started(s.options("best-queue", "latency-fault"));
    load senders(p, 4);
    const std::array<std::pair<const char*, const char*>, 5> policies{{{"hash", "none"},
                                                                       {"power-of-two", "circuit-breaker"},
                                                                       {"least-inflight", "latency-fault"},
                                                                       {"weighted-round-robin", "none"},
                                                                       {"best-queue", "latency-fault"}}};
    int n = 0;
    for (const auto end = clock::now() + storm_time(); clock::now() < end; ++n) {
        const auto& [selector, fault] = policies[static_cast<std::size_t>(n) % policies.size()];
        in_force(p, s.options(selector, fault));
    }
    ASSERT_TRUE(senders.stop());
    EXPECT_EQ(senders.bad(), std::vector<std::string>{});
    EXPECT_GT(n, 5);
    s.expect_each_once(senders.ended());
    expect_quiet(p);
    EXPECT_TRUE(eventually([&] {
        std::size_t alive = 0;
        for (const swap_status& one : p.swaps())
            alive += one.state == swap_state::retired ? 0 : 1;
        return alive == 2;
    })) << "the one in force and the one before it";
}

// With ordered keys that are never quiet no key moves, however often the map changes.
TEST(Storm, OrderedKeysStayWhereTheyAre)
{
    situation s;
    producer_options a = plainly(hashing(options_for(s.cluster), "java", true)), b = plainly(hashing(options_for(s.cluster), "xxh3", true));
    for (producer_options* o : {&a, &b}) {
        o->send_timeout = 60s;
        o->swap.quiet = 60s;
    }
    auto p = started(a);
    collector warm;
    for (int k = 0; k < 512; ++k)
        p.async_send(message("T", "x").set_order_key("k" + std::to_string(k)), warm.handler(k));
    ASSERT_TRUE(warm.wait(512));
    in_force(p, b);
    EXPECT_EQ(p.find_swap(1).status().keys_on_old_map, 512u);
    const auto before = s.cluster.stored_by_queue("T");
    load senders(p, 4);
    each_millisecond(storm_time() / 2, [&](int) { EXPECT_EQ(p.rollback("storm"), ""); });
    ASSERT_TRUE(senders.stop());
    EXPECT_EQ(senders.bad(), std::vector<std::string>{});
    s.expect_each_once(senders.ended() + 512);
    std::map<std::string, std::set<std::pair<std::string, std::int32_t>>> where;
    for (const auto& [i, r] : warm.receipts())
        where["k" + std::to_string(i)].emplace(r.broker, r.queue);
    collector again;
    for (int k = 0; k < 512; ++k)
        p.async_send(message("T", "x").set_order_key("k" + std::to_string(k)), again.handler(k));
    ASSERT_TRUE(again.wait(512));
    for (const auto& [i, r] : again.receipts())
        where["k" + std::to_string(i)].emplace(r.broker, r.queue);
    for (const auto& [key, queues] : where)
        EXPECT_EQ(queues.size(), 1u) << key;
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(Storm, MemoryStaysFlat)
{
    situation s;
    auto p = started(s.options("best-queue", "latency-fault"));
    in_force(p, s.options("hash", "circuit-breaker"));
    collector sent;
    for (int i = 0; i < 500; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(500));
    const auto exchanges = [&](int n) {
        for (int i = 0; i < n; ++i)
            EXPECT_EQ(p.rollback("storm"), "");
    };
    exchanges(1000);
    const std::size_t before = mallinfo2().uordblks;
    exchanges(5000);
    const std::size_t after = mallinfo2().uordblks;
    EXPECT_LT(after, before + 256 * 1024) << "5,000 exchanges";
    for (int i = 0; i < 20; ++i)
        in_force(p, s.options(i % 2 == 0 ? "hash" : "best-queue", "latency-fault"));
    const std::size_t with_tables = mallinfo2().uordblks;
    for (int i = 0; i < 200; ++i)
        in_force(p, s.options(i % 2 == 0 ? "hash" : "best-queue", "latency-fault"));
    EXPECT_LT(mallinfo2().uordblks, with_tables + 2 * 1024 * 1024) << "200 tables; the records of the latest 64 swaps are kept";
}
#endif

}  // namespace
}  // namespace shunt::test
