// Ordered topics: a key goes to its new queue only when nothing of it is under way and it was quiet, or at a barrier.

#include "swap_situation.hpp"

#include <support/swap_load.hpp>

#include <wire/command.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shunt::test {
namespace {

struct situation {
    cluster::embedded_cluster cluster;
    situation() { topic(cluster, "T"); }
    [[nodiscard]] producer_options options(const std::string& function, std::chrono::milliseconds quiet) const
    {
        auto o = plainly(hashing(options_for(cluster), function, true));
        o.swap.quiet = quiet;
        o.send_timeout = 60s;
        return o;
    }
    [[nodiscard]] key_ledger ledger() const
    {
        key_ledger found;
        for (const auto& r : cluster.snapshot("T")) {
            const auto colon = r.body.find(':');
            found[r.body.substr(0, colon)].push_back({std::stoi(r.body.substr(colon + 1)), {r.broker, r.queue}, r.stored_ms});
        }
        return found;
    }
};

constexpr int many = slow_build ? 2'000 : 10'000;

std::size_t on_old_map(const producer& p) { return p.swaps().back().keys_on_old_map; }

TEST(HandOver, MovesManyKeysEachWhenItIsQuiet)
{
    const auto quiet = slow_build ? 1000ms : 400ms;
    situation s;
    auto p = started(s.options("java", quiet));
    keys k(p, many);
    k.round();
    k.round();
    ASSERT_TRUE(k.wait());
    k.round();  // and while these are under way
    const swap_handle h = in_force(p, s.options("xxh3", quiet));
    k.round();
    for (int i = 0; i < 20; ++i) {
        k.round(100);  // these are never quiet
        ASSERT_TRUE(k.wait());
    }
    EXPECT_TRUE(eventually([&] { return on_old_map(p) == 0; })) << on_old_map(p);
    const std::uint64_t first = p.swaps().front().id;
    EXPECT_TRUE(eventually([&] { return p.find_swap(first).status().state != swap_state::in_force; }));
    k.round();
    ASSERT_TRUE(k.wait());
    std::size_t by_new = 0;
    const auto receipts = k.receipts();
    for (auto r = receipts.rbegin(); by_new < many && r != receipts.rend() && r->second.generation == 2; ++r)
        ++by_new;
    EXPECT_GE(by_new, static_cast<std::size_t>(many)) << "all of the last round";
    expect_order(s.ledger(), k, quiet, 1);
}

TEST(HandOver, CoversWhatTravelsInBatches)
{
    const auto quiet = slow_build ? 1000ms : 400ms;
    situation s;
    producer_options before = s.options("java", quiet), after = s.options("xxh3", quiet);
    before.auto_batch = after.auto_batch = true;
    auto p = started(before);
    keys k(p, 50);
    k.round();
    ASSERT_TRUE(k.wait());
    for (int i = 0; i < 40; ++i)
        k.round();
    in_force(p, after);
    EXPECT_EQ(on_old_map(p), 50u);
    for (int i = 0; i < 40; ++i)
        k.round();
    ASSERT_TRUE(k.wait());
    std::uint64_t batches = 0;
    for (const std::string& b : s.cluster.broker_names()) {
        const auto counts = s.cluster.counts(b).by_code;
        if (const auto it = counts.find(wire::code::send_batch_message); it != counts.end())
            batches += it->second;
    }
    EXPECT_GT(batches, 0u);
    EXPECT_TRUE(eventually([&] { return on_old_map(p) == 0; })) << on_old_map(p);
    k.round();
    ASSERT_TRUE(k.wait());
    after.attempts = 5;
    in_force(p, after);
    EXPECT_TRUE(eventually([&] { return p.swaps().front().state == swap_state::retired; })) << shown(p.swaps().front());
    expect_order(s.ledger(), k, quiet, 1);
}

// What rides behind the head of its lane ends by itself when the batch fails or expires: its key is free again then.
TEST(HandOver, IsNotHeldUpByBatchesThatFailOrExpire)
{
    for (const std::string fault : {"code 2", "hang"}) {
        situation s;
        producer_options before = s.options("java", 200ms), after = s.options("xxh3", 200ms);
        for (producer_options* o : {&before, &after}) {
            o->auto_batch = true;
            o->attempts = 1;
            o->send_timeout = slow_build ? 2000ms : 500ms;
        }
        auto p = started(before);
        keys k(p, 20);
        k.round();
        ASSERT_TRUE(k.wait());
        const auto every_broker = [&](const std::string& does) {
            for (const std::string& b : s.cluster.broker_names())
                command(s.cluster, b + " " + does);
        };
        every_broker(fault);
        for (int i = 0; i < 20; ++i)
            k.round();
        ASSERT_TRUE(k.wait());
        std::size_t failed = 0;
        for (const auto& [i, r] : k.receipts())
            failed += r.outcome == outcome::stored ? 0 : 1;
        EXPECT_EQ(failed, 400u) << fault;
        every_broker("ok");
        in_force(p, after);
        EXPECT_TRUE(eventually([&] { return on_old_map(p) == 0; })) << fault << ": " << on_old_map(p);
        after.attempts = 2;
        in_force(p, after);
        EXPECT_TRUE(eventually([&] { return p.swaps().front().state == swap_state::retired; })) << fault << ": " << shown(p.swaps().front());
        expect_quiet(p);
    }
}

TEST(HandOver, ShowsHowManyKeysAreOnTheOldMapAndABarrierLetsThemGo)
{
    situation s;
    auto p = started(s.options("java", 60s));
    keys k(p, many);
    k.round();
    ASSERT_TRUE(k.wait());
    const swap_handle h = in_force(p, s.options("xxh3", 60s));
    EXPECT_EQ(on_old_map(p), static_cast<std::size_t>(many));
    k.round(1000);
    ASSERT_TRUE(k.wait());
    const auto receipts = k.receipts();
    for (int i = 0; i < 1000; ++i) {
        const receipt &before = receipts.at(i), &after = receipts.at(many + i);
        ASSERT_EQ(place(before.broker, before.queue), place(after.broker, after.queue));
        ASSERT_EQ(after.generation, 1u) << "decided by the old policies";
    }
    EXPECT_EQ(on_old_map(p), static_cast<std::size_t>(many));
    EXPECT_EQ(p.barrier(), "");
    EXPECT_EQ(on_old_map(p), 0u);
    k.round();
    ASSERT_TRUE(k.wait());
    const auto all = k.receipts();
    for (int i = many + 1000; i < k.sends(); ++i)
        ASSERT_EQ(all.at(i).generation, 2u);
    expect_order(s.ledger(), k, 0ms, 1);
}

TEST(HandOver, IsNotNeededWhereTheMapStaysTheSame)
{
    situation s;
    producer_options o = s.options("java", 60s);
    auto p = started(o);
    keys k(p, 100);
    k.round();
    ASSERT_TRUE(k.wait());
    o.policies["default"].fault.use = "latency-fault";
    o.attempts = 5;
    in_force(p, o);
    EXPECT_EQ(on_old_map(p), 0u);
    k.round();
    ASSERT_TRUE(k.wait());
    for (const auto& [i, r] : k.receipts())
        EXPECT_EQ(r.generation, i < 100 ? 1u : 2u);
    expect_order(s.ledger(), k, 0ms, 0);
}

TEST(HandOver, AtOnceIsRefusedUnlessForced)
{
    situation s;
    auto p = started(s.options("java", 60s));
    keys k(p, 100);
    k.round();
    ASSERT_TRUE(k.wait());
    stage_options how;
    how.now = true;
    swap_handle h = p.stage(s.options("xxh3", 60s), how);
    ASSERT_TRUE(h.wait_for(swap_state::refused, patience)) << shown(h.status());
    EXPECT_NE(h.status().reason.find("ordered"), std::string::npos);
    EXPECT_EQ(p.generation(), 1u);
    how.force = true;
    in_force(p, s.options("xxh3", 60s), how);
    EXPECT_EQ(on_old_map(p), 0u);
    k.round();
    ASSERT_TRUE(k.wait());
    expect_order(s.ledger(), k, 0ms, 1);
    how.force = false;
    producer_options unordered = plainly(hashing(options_for(s.cluster), "xxh3", true));
    unordered.swap.quiet = 60s;
    unordered.attempts = 2;
    in_force(p, unordered, how);
}

TEST(HandOver, BackIsAHandOverToo)
{
    situation s;
    auto p = started(s.options("java", 60s));
    keys k(p, 200);
    k.round();
    ASSERT_TRUE(k.wait());
    in_force(p, s.options("xxh3", 60s));
    EXPECT_EQ(p.barrier(), "");
    k.round();
    ASSERT_TRUE(k.wait());
    EXPECT_EQ(p.rollback(), "");
    EXPECT_EQ(p.swaps().front().keys_on_old_map, 200u);
    k.round();
    ASSERT_TRUE(k.wait());
    const auto all = k.receipts();
    for (int i = 400; i < 600; ++i)
        ASSERT_EQ(all.at(i).generation, 2u) << "still by those that were taken back";
    expect_order(s.ledger(), k, 0ms, 1);
}

TEST(HandOver, ToACanaryWaitsForQuietKeysToo)
{
    situation s;
    auto p = started(s.options("java", 60s));
    keys k(p, 200);
    k.round();
    ASSERT_TRUE(k.wait());
    stage_options how;
    how.canary = 0.5;
    swap_handle h = p.stage(s.options("xxh3", 60s), how);
    ASSERT_TRUE(h.wait_for(swap_state::canary, patience));
    k.round();
    ASSERT_TRUE(k.wait());
    for (const auto& [i, r] : k.receipts())
        ASSERT_EQ(r.generation, 1u) << "no key was quiet";
    EXPECT_EQ(p.barrier(), "");
    k.round();
    ASSERT_TRUE(k.wait());
    std::size_t by_candidate = 0;
    const auto all = k.receipts();
    for (int i = 400; i < 600; ++i)
        by_candidate += all.at(i).generation == 2 ? 1 : 0;
    EXPECT_GT(by_candidate, 50u);
    EXPECT_LT(by_candidate, 150u);
    EXPECT_EQ(h.rollback(), "");
    k.round();
    ASSERT_TRUE(k.wait());
    expect_order(s.ledger(), k, 0ms, 1);
}

}  // namespace
}  // namespace shunt::test
