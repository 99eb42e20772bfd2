#include <swap/compare.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <random>

namespace shunt::swap {

inline void PrintTo(finding f, std::ostream* out)
{
    *out << (f == finding::worse ? "worse" : f == finding::no_worse ? "no worse" : "undecided");
}

namespace {

constexpr std::int64_t ms = 1'000'000;

/// So many attempts at three brokers in turn, some of them failed.
tally sends(int n, int failed = 0, std::int64_t latency = ms, outcome how = outcome::rejected)
{
    tally t;
    for (int i = 0; i < n; ++i)
        t.add(i < failed ? how : outcome::stored, latency, static_cast<std::uint32_t>(i % 3));
    return t;
}

finding found(const tally& before, const tally& after, std::uint64_t errors = 0) { return compare({before}, {after, errors}).found; }

TEST(Compare, SaysNothingOfFewAttempts)
{
    EXPECT_EQ(found(sends(10'000), sends(99, 99)), finding::undecided);
    EXPECT_EQ(found(sends(99), sends(10'000, 9'000)), finding::undecided) << "nothing to compare with";
}

TEST(Compare, FindsNoWorseOnlyWithEnough)
{
    EXPECT_EQ(found(sends(5'000), sends(999)), finding::undecided);
    EXPECT_EQ(found(sends(5'000), sends(1'000)), finding::no_worse);
    EXPECT_EQ(found(sends(5'000, 50), sends(1'000, 10)), finding::no_worse) << "equal shares";
}

TEST(Compare, FindsMoreFailuresWorse)
{
    EXPECT_EQ(found(sends(5'000, 5), sends(1'000, 50)), finding::worse);
    EXPECT_EQ(found(sends(5'000, 0), sends(200, 40)), finding::worse) << "much worse shows early";
    EXPECT_EQ(found(sends(100'000, 0), sends(100'000, 400)), finding::no_worse) << "0.4 points do not matter";
    EXPECT_EQ(found(sends(100'000, 0), sends(100'000, 600)), finding::worse) << "0.6 points do";
    EXPECT_EQ(found(sends(1'000, 100), sends(1'000, 120)), finding::no_worse) << "2 points, but chance does that";
    EXPECT_EQ(found(sends(1'000, 500), sends(1'000, 10)), finding::no_worse) << "better";
}

TEST(Compare, FindsMoreUnknownWorseThoughAsManyFailed)
{
    EXPECT_EQ(found(sends(5'000, 500), sends(5'000, 500, ms, outcome::unknown)), finding::worse);
}

TEST(Compare, FindsASlowTailWorse)
{
    tally slow = sends(950), same = sends(1'000);
    for (int i = 0; i < 50; ++i)
        slow.add(outcome::stored, 20 * ms, 0);
    EXPECT_EQ(found(sends(5'000), slow), finding::worse);
    EXPECT_EQ(found(sends(5'000), same), finding::no_worse);
    EXPECT_EQ(found(sends(5'000), sends(1'000, 0, ms + ms / 2)), finding::no_worse) << "half a millisecond more does not matter";
    EXPECT_EQ(found(sends(5'000, 0, 100 * ms), sends(1'000, 0, 200 * ms)), finding::worse);
}

TEST(Compare, FindsFailingStrategiesWorseWhateverCameBefore)
{
    EXPECT_EQ(found(tally{}, sends(500), 9), finding::undecided);
    EXPECT_EQ(found(tally{}, sends(500), 10), finding::worse);
    EXPECT_EQ(found(sends(5'000), sends(5'000), 40), finding::no_worse) << "0.8 %";
    EXPECT_EQ(found(sends(5'000), tally{}, 10), finding::worse) << "it fails before an attempt can be made";
}

TEST(Compare, FindsOneOverloadedBrokerWorse)
{
    tally one;
    for (int i = 0; i < 2'000; ++i)
        one.add(outcome::stored, ms, 1);
    EXPECT_EQ(found(sends(5'000), one), finding::worse);
    EXPECT_EQ(found(one, one), finding::no_worse) << "there it always was so";
}

TEST(Compare, SaysWhyInWords)
{
    EXPECT_EQ(compare({sends(1'000, 10)}, {sends(1'000, 100)}).why, "worse: 10.00 % of 1000 attempts not stored, 1.00 % of 1000 otherwise");
    EXPECT_EQ(compare({sends(1'000)}, {sends(50)}).why, "undecided: 50 attempts against 1000; 100 on each side are the least");
}

// Looks as often as a probation of 5 minutes does, at two equal sides.
TEST(Compare, SeldomErrsByChance)
{
    std::mt19937_64 random(1);
    std::bernoulli_distribution fails(0.02);
    std::exponential_distribution<double> latency(1e-6);  // 1 ms
    int errors = 0;
    for (int run = 0; run < 20; ++run) {
        tally before, after;
        for (int i = 0; i < 10'000; ++i)
            before.add(fails(random) ? outcome::rejected : outcome::stored, static_cast<std::int64_t>(latency(random)), 0);
        bool worse = false;
        for (int look = 0; look < 300; ++look) {
            for (int i = 0; i < 100; ++i)
                after.add(fails(random) ? outcome::rejected : outcome::stored, static_cast<std::int64_t>(latency(random)), 0);
            worse = worse || found(before, after) == finding::worse;
        }
        errors += worse ? 1 : 0;
    }
    EXPECT_EQ(errors, 0);
}

}  // namespace
}  // namespace shunt::swap
