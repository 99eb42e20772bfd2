// The limits of what may be under way: messages and bytes, taken together or not at all.

#include <send/in_flight.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

namespace shunt::send {
namespace {

TEST(InFlight, HoldsBothLimits)
{
    in_flight f(3, 1000);
    EXPECT_TRUE(f.take(400));
    EXPECT_TRUE(f.take(400));
    EXPECT_FALSE(f.take(201)) << "bytes";
    EXPECT_TRUE(f.take(200));
    EXPECT_FALSE(f.take(0)) << "messages";
    EXPECT_EQ(f.messages(), 3u);
    EXPECT_EQ(f.bytes(), 1000u);
}

// The message was counted before the bytes were looked at, and must be given back when they do not fit.
TEST(InFlight, TakesNothingWhenOneOfThemIsMet)
{
    in_flight f(10, 1000);
    ASSERT_TRUE(f.take(900));
    for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(f.take(101));
    EXPECT_EQ(f.messages(), 1u);
    EXPECT_EQ(f.bytes(), 900u);
    f.give_back(900);
    EXPECT_EQ(f.messages(), 0u);
    EXPECT_EQ(f.bytes(), 0u);
    for (int i = 0; i < 10; ++i)
        EXPECT_TRUE(f.take(100));
}

TEST(InFlight, KnowsWhatCanNeverFit)
{
    in_flight f(10, 1000);
    EXPECT_TRUE(f.fits_ever(1000));
    EXPECT_FALSE(f.fits_ever(1001));
    EXPECT_FALSE(f.take(1001));
    EXPECT_FALSE(f.take(std::numeric_limits<std::size_t>::max())) << "no wrap-around";
    EXPECT_EQ(f.messages(), 0u);
}

TEST(InFlight, IsNeverExceededByManyThreadsAndEndsAtNothing)
{
    constexpr std::size_t most = 5, bytes_each = 200, most_bytes = 700;  // bytes allow 3
    in_flight f(most, most_bytes);
    std::atomic<std::size_t> inside{0}, worst{0}, took{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20'000; ++i) {
                if (!f.take(bytes_each))
                    continue;
                const std::size_t now = ++inside;
                std::size_t seen = worst;
                while (now > seen && !worst.compare_exchange_weak(seen, now)) {
                }
                ++took;
                --inside;
                f.give_back(bytes_each);
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
    EXPECT_LE(worst, 3u);
    EXPECT_GT(took, 0u);
    EXPECT_EQ(f.messages(), 0u);
    EXPECT_EQ(f.bytes(), 0u);
}

}  // namespace
}  // namespace shunt::send
