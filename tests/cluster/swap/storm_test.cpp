// Policies are exchanged all the time under full load: each message is stored exactly once, and nothing grows.
//
// SHUNT_STORM_SECONDS: how long each storm lasts; 2 unless said.

#include "swap_situation.hpp"

#include <support/swap_load.hpp>

#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

/// What a thread has spent so far: processor time, and how often it gave the processor away because it had to wait.
struct spent {
    std::int64_t processor_ns = 0, waits = 0;
    static spent so_far()
    {
        timespec t{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        rusage used{};
        ::getrusage(RUSAGE_THREAD, &used);
        return {t.tv_sec * 1'000'000'000LL + t.tv_nsec, used.ru_nvcsw};
    }
};

/// A thread that sends without a pause; what each call of async_send costs it, while policies are exchanged and while not.
class measured_sender {
public:
    struct costs {
        std::vector<std::int64_t> processor_ns;  // of each call, sorted once it has ended
        std::int64_t waits = 0;                  // in all of them
        [[nodiscard]] std::int64_t quantile(double q) const
        {
            return processor_ns[static_cast<std::size_t>(q * static_cast<double>(processor_ns.size() - 1))];
        }
    };
    explicit measured_sender(producer& p) : thread_([this, &p] { run(p); }) {}
    ~measured_sender() { stop(); }
    measured_sender(const measured_sender&) = delete;
    measured_sender& operator=(const measured_sender&) = delete;

    void exchanging(bool now) { exchanging_ = now; }
    void stop()
    {
        if (!thread_.joinable())
            return;
        over_ = true;
        thread_.join();
        for (int i = 0; i < under_way; ++i)
            room_.acquire();
        for (costs* c : {&with, &without})
            std::sort(c->processor_ns.begin(), c->processor_ns.end());
    }
    costs with, without;

private:
    static constexpr int under_way = 1000;
    void run(producer& p)
    {
        for (int i = 0; !over_; ++i) {
            room_.acquire();  // so that no call waits for room
            const auto m = message("T", "x").set_order_key("k" + std::to_string(i % 512));
            costs& c = exchanging_ ? with : without;
            const spent before = spent::so_far();
            p.async_send(m, [this](const error_code&, const receipt&) { room_.release(); });
            const spent after = spent::so_far();
            c.processor_ns.push_back(after.processor_ns - before.processor_ns);
            c.waits += after.waits - before.waits;
        }
    }
    std::counting_semaphore<> room_{under_way};
    std::atomic<bool> over_{false}, exchanging_{false};
    std::thread thread_;
};

// Told by what a call costs its thread, not by how long it takes: that is the machine's business too. A send that waited for
// an exchange would give the processor away; one that spun would spend it.
TEST(Storm, NoSendWaitsForAnExchange)
{
    for (const bool ordered : {false, true}) {
        situation s;
        auto a = s.options("hash", "latency-fault"), b = s.options("best-queue", "circuit-breaker");
        if (ordered) {
            a = plainly(hashing(options_for(s.cluster), "java", true));
            b = plainly(hashing(options_for(s.cluster), "xxh3", true));
        }
        a.max_in_flight_messages = b.max_in_flight_messages = 100'000;
        auto p = started(a);
        ASSERT_TRUE(p.send(message("T", "x")));
        in_force(p, b);
        measured_sender sender(p);
        constexpr int pairs = 10;
        int exchanges = 0;
        for (int i = 0; i < pairs; ++i) {
            for (const bool now : {i % 2 == 0, i % 2 != 0}) {
                sender.exchanging(now);
                const int n = each_millisecond(storm_time() / (2 * pairs), [&](int) {
                    if (now) {
                        EXPECT_EQ(p.rollback("storm"), "");
                    }
                });
                exchanges += now ? n : 0;
            }
        }
        sender.stop();
        const auto &with = sender.with, &without = sender.without;
        ASSERT_GT(exchanges, 100);
        ASSERT_GT(std::min(with.processor_ns.size(), without.processor_ns.size()), 1000u);
        const std::string kind = ordered ? "ordered_" : "";
        RecordProperty(kind + "calls", std::to_string(with.processor_ns.size()) + " " + std::to_string(without.processor_ns.size()));
        RecordProperty(kind + "waits", std::to_string(with.waits) + " " + std::to_string(without.waits));
        RecordProperty(kind + "p999_ns", std::to_string(with.quantile(0.999)) + " " + std::to_string(without.quantile(0.999)));
        RecordProperty(kind + "longest_ns", std::to_string(with.quantile(1)) + " " + std::to_string(without.quantile(1)));
        EXPECT_LE(with.waits, 2 * without.waits + exchanges / 10) << exchanges << " exchanges";
        EXPECT_LE(with.quantile(0.999), 2 * without.quantile(0.999) + 20'000) << "ns of processor time";
    }
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
