// Policies exchanged under load against two real masters: each message is stored once, and keys stay in order.

#include <cluster/swap/swap_situation.hpp>
#include <interop/support/real_cluster.hpp>
#include <support/swap_load.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shunt::test {
namespace {

class RealSwap : public testing::Test {
protected:
    static void SetUpTestSuite() { cluster_ = std::make_unique<interop::real_cluster>(interop::real_cluster_options{.brokers = 2}); }
    static void TearDownTestSuite() { cluster_.reset(); }

    [[nodiscard]] static producer_options options(const std::string& selector, const std::string& fault)
    {
        auto o = plainly(with_policy(options_for(cluster_->name_server()), selector, fault));
        o.send_timeout = 60s;
        return o;
    }
    [[nodiscard]] static producer_options keyed(const std::string& function, std::chrono::milliseconds quiet)
    {
        auto o = plainly(hashing(options_for(cluster_->name_server()), function, true));
        o.swap.quiet = quiet;
        o.send_timeout = 60s;
        return o;
    }

    static std::unique_ptr<interop::real_cluster> cluster_;
};
std::unique_ptr<interop::real_cluster> RealSwap::cluster_;

/// By queue as a consumer reads it, then by time: the order of one broker's queue is that of its offsets.
key_ledger as_read(std::vector<interop::stored> all)
{
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.stored_ms < b.stored_ms; });
    key_ledger found;
    for (const interop::stored& m : all) {
        const auto colon = m.body.find(':');
        found[m.body.substr(0, colon)].push_back({std::stoi(m.body.substr(colon + 1)), {m.broker, m.queue}, m.stored_ms});
    }
    return found;
}

TEST_F(RealSwap, MovesTenThousandKeysInOrder)
{
    constexpr int many = 10'000;
    constexpr auto quiet = 1500ms;
    cluster_->create_topic("keys", {.queues = 8});
    auto p = started(keyed("java", quiet));
    keys k(p, many, "keys");
    k.round();
    k.round();
    ASSERT_TRUE(k.wait());
    k.round();  // and while these are under way
    in_force(p, keyed("xxh3", quiet));
    k.round();
    for (int i = 0; i < 30; ++i) {
        k.round(100);  // these are never quiet
        ASSERT_TRUE(k.wait());
    }
    ASSERT_TRUE(eventually([&] { return p.swaps().back().keys_on_old_map == 0; }, 60s)) << p.swaps().back().keys_on_old_map;
    k.round();
    ASSERT_TRUE(k.wait());
    const auto ledger = as_read(cluster_->messages("keys"));
    EXPECT_EQ(ledger.size(), static_cast<std::size_t>(many));
    expect_order(ledger, k, quiet, 1);
    const auto moved = std::count_if(ledger.begin(), ledger.end(), [](const auto& key) {
        return key.second.front().where != key.second.back().where;
    });
    EXPECT_GT(moved, many / 2) << "two functions, sixteen queues";
}

TEST_F(RealSwap, AnExchangeEachMillisecondLosesAndDoublesNothing)
{
    cluster_->create_topic("storm", {.queues = 8});
    auto p = started(options("best-queue", "latency-fault"));
    in_force(p, options("hash", "circuit-breaker"));
    load senders(p, 4, "storm");
    const int n = each_millisecond(storm_time(), [&](int) { EXPECT_EQ(p.rollback("storm"), ""); });
    ASSERT_TRUE(senders.stop());
    EXPECT_EQ(senders.bad(), std::vector<std::string>{});
    EXPECT_GT(n, 100);
    EXPECT_GT(senders.generations(), 50u) << "sends went by the generations between";
    std::set<std::string> ids;
    for (const interop::stored& m : cluster_->messages("storm"))
        EXPECT_TRUE(ids.insert(m.msg_id()).second) << m.msg_id() << " is stored twice";
    EXPECT_EQ(ids.size(), senders.ended());
    expect_quiet(p);
}

}  // namespace
}  // namespace shunt::test
