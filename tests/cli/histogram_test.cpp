// The latency histogram: percentiles to less than one percent, whatever the durations.

#include "../../core/cli/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using shunt::cli::histogram;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;

double off_by(nanoseconds told, nanoseconds right)
{
    return std::abs(static_cast<double>(told.count() - right.count())) / static_cast<double>(right.count());
}

TEST(Histogram, TellsZeroOfNothing)
{
    const histogram h;
    EXPECT_EQ(h.percentile(0.5), 0ns);
    EXPECT_EQ(h.max(), 0ns);
    EXPECT_EQ(h.count(), 0u);
}

TEST(Histogram, IsRightToLessThanOnePercentFromNanosecondsToHours)
{
    for (double ns = 1; ns < 1.5e13; ns *= 1.01) {
        histogram h;
        const nanoseconds value(static_cast<std::int64_t>(ns));
        h.add(value);
        h.add(10h);  // so that the largest value does not help
        EXPECT_LT(off_by(h.percentile(0.5), value), 0.005) << value.count();
    }
}

TEST(Histogram, PercentilesAreThoseOfTheSortedValues)
{
    std::vector<nanoseconds> values;
    std::uint64_t seed = 1;
    histogram h;
    for (int i = 0; i < 10'000; ++i) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        values.emplace_back(1000 + static_cast<std::int64_t>(std::exp(static_cast<double>(seed >> 33) / 1e8)));
        h.add(values.back());
    }
    std::sort(values.begin(), values.end());
    for (const double part : {0.5, 0.95, 0.99, 0.999}) {
        const nanoseconds right = values[static_cast<std::size_t>(std::ceil(part * 10'000)) - 1];
        EXPECT_LT(off_by(h.percentile(part), right), 0.01) << part;
    }
    EXPECT_EQ(h.max(), values.back());
    EXPECT_EQ(h.percentile(1), h.percentile(0.99999));
}

TEST(Histogram, NoPercentileExceedsTheLargestValue)
{
    histogram h;
    for (int i = 0; i < 100; ++i)
        h.add(1'000'001ns);
    EXPECT_EQ(h.percentile(0.999), 1'000'001ns);
}

TEST(Histogram, TakesNegativeAndEndlessDurations)
{
    histogram h;
    h.add(-5ns);
    h.add(nanoseconds::max());
    EXPECT_EQ(h.percentile(0.5), 0ns);
    EXPECT_EQ(h.max(), nanoseconds::max());
    EXPECT_EQ(h.count(), 2u);
}

TEST(Histogram, TwoTogetherAreAsOne)
{
    histogram a, b;
    a.add(1ms);
    b.add(3ms);
    b.add(4ms);
    a.add(b);
    EXPECT_EQ(a.count(), 3u);
    EXPECT_LT(off_by(a.percentile(0.5), 3ms), 0.005);
    EXPECT_EQ(a.max(), 4ms);
}

}  // namespace
