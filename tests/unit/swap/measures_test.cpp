#include <swap/measures.hpp>

#include <gtest/gtest.h>

#include <cstdint>

namespace shunt::swap {
namespace {

constexpr std::int64_t ms = 1'000'000, s = 1'000'000'000;

TEST(Latencies, TellAQuantileToAnEighth)
{
    latencies l;
    for (int i = 1; i <= 1000; ++i)
        l.add(i * ms);
    for (const auto& [q, expected] : {std::pair{0.5, 500 * ms}, {0.99, 990 * ms}, {1.0, 1000 * ms}}) {
        EXPECT_GE(l.quantile(q), expected) << q;
        EXPECT_LE(l.quantile(q), expected + expected / 8) << q;
    }
    EXPECT_EQ(l.count(), 1000u);
}

TEST(Latencies, OfNothingAreZero)
{
    const latencies l;
    EXPECT_EQ(l.quantile(0.99), 0);
    EXPECT_EQ(l.above(0), 0u);
}

TEST(Latencies, HoldAnyValue)
{
    latencies l;
    for (const std::int64_t ns : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, INT64_MAX})
        l.add(ns);
    EXPECT_EQ(l.count(), 5u);
    EXPECT_GT(l.quantile(1), 3600 * s);
    EXPECT_EQ(l.above(s), 1u);
}

TEST(Latencies, CountWhatLiesAbove)
{
    latencies l;
    for (int i = 0; i < 90; ++i)
        l.add(ms);
    for (int i = 0; i < 10; ++i)
        l.add(10 * ms);
    EXPECT_EQ(l.above(2 * ms), 10u);
    EXPECT_EQ(l.above(20 * ms), 0u);
}

TEST(Measures, OfTheLastMinuteForgetWhatIsOlder)
{
    measures m;
    m.add(0, outcome::stored, ms, 0);
    m.add(30 * s, outcome::unknown, ms, 1);
    EXPECT_EQ(m.last_minute(31 * s).attempts, 2u);
    EXPECT_EQ(m.last_minute(65 * s).attempts, 1u);
    EXPECT_EQ(m.last_minute(65 * s).unknown, 1u);
    EXPECT_EQ(m.last_minute(200 * s).attempts, 0u);
}

TEST(Measures, SinceTheBeginningAreCountedApart)
{
    measures m;
    m.add(0, outcome::stored, ms, 2);
    m.begin();
    EXPECT_EQ(m.since_begin().attempts, 0u);
    m.add(s, outcome::stored, ms, 2);
    m.add(s, outcome::rejected, ms, 0);
    m.add(s, outcome::not_sent, ms, 0);
    EXPECT_EQ(m.since_begin().attempts, 3u);
    EXPECT_EQ(m.since_begin().stored, 1u);
    EXPECT_EQ(m.since_begin().by_broker, (std::vector<std::uint64_t>{2, 0, 1}));
    m.end();
    m.add(s, outcome::stored, ms, 2);
    EXPECT_EQ(m.since_begin().attempts, 3u);
    EXPECT_EQ(m.last_minute(s).attempts, 5u);
}

}  // namespace
}  // namespace shunt::swap
