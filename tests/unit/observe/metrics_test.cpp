// What is counted is counted in its row, and rows are bounded.

#include <observe/metrics.hpp>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace shunt::observe {
namespace {

constexpr std::array<std::int64_t, 3> bounds{10, 20, 40};

TEST(Histogram, PutsAValueInTheBucketThatEndsWithIt)
{
    histogram<bounds> h;
    for (const std::int64_t ns : {-1, 0, 10, 11, 20, 21, 40, 41, 1000})
        h.add(ns);
    EXPECT_EQ(h.counts().buckets, (std::vector<std::uint64_t>{3, 2, 2, 2}));
    EXPECT_EQ(h.counts().count(), 9u);
    EXPECT_EQ(h.counts().sum_ns, 0u + 10 + 11 + 20 + 21 + 40 + 41 + 1000);
}

TEST(Histogram, ReckonsQuantilesWithinABucketAsPromQlDoes)
{
    histogram_counts c;
    EXPECT_EQ(c.quantile(bounds, 0.5), 0);
    c.buckets = {0, 100, 0, 0};
    EXPECT_EQ(c.quantile(bounds, 0.5), 15);
    EXPECT_EQ(c.quantile(bounds, 1), 20);
    c.buckets = {50, 0, 50, 0};
    EXPECT_EQ(c.quantile(bounds, 0.5), 10);
    EXPECT_EQ(c.quantile(bounds, 0.75), 30);
    c.buckets = {0, 0, 0, 7};
    EXPECT_EQ(c.quantile(bounds, 0.5), 40) << "all that is known is that it is more";
}

TEST(Histogram, TellsWhatCameSince)
{
    histogram<bounds> h;
    h.add(5);
    const histogram_counts before = h.counts();
    h.add(15);
    h.add(15);
    EXPECT_EQ(h.counts().since(before).buckets, (std::vector<std::uint64_t>{0, 2, 0, 0}));
    EXPECT_EQ(h.counts().since(before).sum_ns, 30u);
}

TEST(SharedHistogram, LosesNothingToOtherWriters)
{
    shared_histogram<bounds> h;
    std::vector<std::thread> writers;
    for (int t = 0; t < 4; ++t)
        writers.emplace_back([&] {
            for (int i = 0; i < 10'000; ++i)
                h.add(15);
        });
    for (std::thread& t : writers)
        t.join();
    EXPECT_EQ(h.counts().buckets[1], 40'000u);
}

std::map<std::string, std::uint64_t> queues(const metrics& m)
{
    std::map<std::string, std::uint64_t> all;
    m.each_queue([&](const queue_metrics& q) { all[q.topic + " " + q.broker + "/" + std::to_string(q.queue)] = q.decisions.get(); });
    return all;
}

TEST(Metrics, CountTogetherWhatIsOneQueueForTwoTargets)
{
    metrics m;
    const int one = 0, two = 0;
    m.decided(&one, "T", 0, "a", 1);
    m.decided(&two, "T", 0, "a", 1);
    m.decided(&two, "T", 1, "b", 1);
    EXPECT_EQ(queues(m), (std::map<std::string, std::uint64_t>{{"T a/1", 2}, {"T b/1", 1}}));
}

TEST(Metrics, CountWhatIsBeyondTheirBoundsTogether)
{
    metrics m;
    const int topic = 0;
    const auto many = static_cast<std::int32_t>(5 * metrics::max_queues);
    for (int round = 0; round < 2; ++round)
        for (std::int32_t q = 0; q < many; ++q)
            m.decided(&topic, "T", 0, "a", q);
    const auto all = queues(m);
    EXPECT_EQ(all.size(), metrics::max_queues + 1);
    EXPECT_EQ(all.at("T a/0"), 2u);
    EXPECT_EQ(all.at("_other _other/-1"), 2 * (static_cast<std::uint64_t>(many) - metrics::max_queues));
    for (std::uint32_t b = 0; b < 1000; ++b)
        m.broker(b, "b" + std::to_string(b)).attempts(outcome::stored).add();
    std::size_t brokers = 0;
    std::uint64_t attempts = 0;
    m.each_broker([&](const broker_metrics& b) {
        ++brokers;
        attempts += b.attempts(outcome::stored).get();
    });
    EXPECT_EQ(brokers, metrics::max_brokers);
    EXPECT_EQ(attempts, 1000u);
    for (int p = 0; p < 1000; ++p)
        m.policy("p" + std::to_string(p)).whys[0].add();
    std::size_t policies = 0;
    m.each_policy([&](const policy_metrics&) { ++policies; });
    EXPECT_EQ(policies, metrics::max_policies + 1);
    EXPECT_EQ(m.policy("p999").name, "_other");
    EXPECT_EQ(m.policy("p0").whys[0].get(), 1u);
}

TEST(Metrics, CountAnIsolationWhenItBegins)
{
    metrics m;
    policy_metrics& p = m.policy("default");
    const auto now = [&]() -> const verdict_metrics& {
        const verdict_metrics* found = nullptr;
        m.each_verdict([&](const policy_metrics&, const verdict_metrics& v) { found = &v; });
        return *found;
    };
    m.verdict(p, 0, "a", true, true, 100);
    EXPECT_EQ(now().isolations.get(), 0u);
    m.verdict(p, 0, "a", false, true, 200);
    m.verdict(p, 0, "a", false, false, 300);
    EXPECT_EQ(now().isolations.get(), 1u);
    EXPECT_EQ(now().since_ms, 200);
    EXPECT_FALSE(now().reachable);
    m.verdict(p, 0, "a", true, true, 400);
    m.verdict(p, 0, "a", false, true, 500);
    EXPECT_EQ(now().isolations.get(), 2u);
    EXPECT_EQ(now().broker->name, "a");
}

TEST(Metrics, KeepTheLastFailureOfABroker)
{
    metrics m;
    broker_metrics& b = m.broker(0, "a");
    EXPECT_FALSE(b.last_failure());
    failure f;
    f.text = "one";
    b.failed(f);
    f.text = "two";
    b.failed(f);
    EXPECT_EQ(b.last_failure()->text, "two");
}

}  // namespace
}  // namespace shunt::observe
