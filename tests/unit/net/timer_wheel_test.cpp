// The wheel: never early, at most a millisecond late, whatever is set and cleared meanwhile.

#include <net/timer_wheel.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace shunt::net {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// A hook that remembers when it was told, and does what a test asks of it then.
struct alarm : timer_hook {
    alarm()
    {
        expired = [](timer_hook& hook) {
            auto& self = static_cast<alarm&>(hook);
            ++self.rang;
            if (self.then)
                self.then();
        };
    }
    int rang = 0;
    std::function<void()> then;
};

TEST(TimerWheel, RingsOnceWhenTheTimeHasCome)
{
    timer_wheel w(0);
    alarm a;
    w.set(a, 5 * ms);
    w.advance(5 * ms - 1);
    EXPECT_EQ(a.rang, 0);
    w.advance(5 * ms);
    EXPECT_EQ(a.rang, 1);
    EXPECT_FALSE(a.armed());
    w.advance(100 * ms);
    EXPECT_EQ(a.rang, 1);
    EXPECT_EQ(w.size(), 0u);
    EXPECT_EQ(w.next_ns(), never);
}

TEST(TimerWheel, SaysWhenToLookNext)
{
    timer_wheel w(0);
    alarm soon, later;
    w.set(later, 700 * ms);
    EXPECT_EQ(w.next_ns(), 700 * ms);
    w.set(soon, 3 * ms + 1);
    EXPECT_EQ(w.next_ns(), 4 * ms) << "at the end of the millisecond: never early";
    w.advance(4 * ms);
    EXPECT_EQ(soon.rang, 1);
    EXPECT_EQ(w.next_ns(), 700 * ms);
}

TEST(TimerWheel, RingsAtTheNextMillisecondWhatWasDueBefore)
{
    timer_wheel w(1000 * ms);
    alarm a;
    w.set(a, 3);
    EXPECT_EQ(w.next_ns(), 1001 * ms);
    w.advance(1001 * ms);
    EXPECT_EQ(a.rang, 1);
}

TEST(TimerWheel, ForgetsWhatIsCleared)
{
    timer_wheel w(0);
    alarm a, b;
    w.set(a, 5 * ms);
    w.set(b, 5 * ms);
    w.clear(a);
    w.clear(a);
    EXPECT_EQ(w.size(), 1u);
    w.advance(10 * ms);
    EXPECT_EQ(a.rang, 0);
    EXPECT_EQ(b.rang, 1);
}

TEST(TimerWheel, MovesWhatIsSetAgain)
{
    timer_wheel w(0);
    alarm a;
    w.set(a, 5 * ms);
    w.set(a, 50 * ms);
    EXPECT_EQ(w.size(), 1u);
    w.advance(49 * ms);
    EXPECT_EQ(a.rang, 0);
    w.advance(50 * ms);
    EXPECT_EQ(a.rang, 1);
}

TEST(TimerWheel, KeepsDeadlinesOfLaterTurnsApart)
{
    constexpr std::int64_t turn = 4096 * ms;
    timer_wheel w(0);
    alarm now, one, three;
    w.set(now, 10 * ms);
    w.set(one, 10 * ms + turn);
    w.set(three, 10 * ms + 3 * turn);
    w.advance(10 * ms);
    EXPECT_EQ(now.rang + one.rang + three.rang, 1);
    w.advance(10 * ms + turn);
    EXPECT_EQ(one.rang, 1);
    EXPECT_EQ(three.rang, 0);
    w.advance(10 * ms + 3 * turn - 1);
    EXPECT_EQ(three.rang, 0);
    w.advance(10 * ms + 3 * turn);
    EXPECT_EQ(three.rang, 1);
}

TEST(TimerWheel, RingsEverythingAfterTimeJumpedFarAhead)
{
    timer_wheel w(0);
    std::vector<std::unique_ptr<alarm>> all;
    for (int i = 1; i < 20'000; ++i)
        w.set(*all.emplace_back(std::make_unique<alarm>()), i * ms);
    w.advance(std::int64_t{20} * 365 * 24 * 3600 * 1000 * ms);
    for (const auto& a : all)
        EXPECT_EQ(a->rang, 1);
    EXPECT_EQ(w.size(), 0u);
}

TEST(TimerWheel, BearsTheEndOfTime)
{
    timer_wheel w(0);
    alarm a;
    w.set(a, never);
    EXPECT_GT(w.next_ns(), 0);
    w.advance(100 * ms);
    EXPECT_EQ(a.rang, 0);
}

TEST(TimerWheel, LetsAnAlarmSetItselfAnew)
{
    timer_wheel w(0);
    alarm a;
    a.then = [&] { w.set(a, a.deadline_ns() + ms); };
    w.set(a, ms);
    for (int t = 1; t <= 100; ++t)
        w.advance(t * ms);
    EXPECT_EQ(a.rang, 100);
    EXPECT_EQ(w.size(), 1u);
}

TEST(TimerWheel, LetsAnAlarmClearOthersOfItsMoment)
{
    timer_wheel w(0);
    alarm first, second, third;
    first.then = [&] { w.clear(second); };
    w.set(first, ms);
    w.set(second, ms);
    w.set(third, ms);
    w.advance(ms);
    EXPECT_EQ(first.rang, 1);
    EXPECT_EQ(second.rang, 0);
    EXPECT_EQ(third.rang, 1);
    EXPECT_EQ(w.size(), 0u);
}

// A hook that was destroyed while it was set stayed in the count, and the wheel then multiplied the largest number.
TEST(TimerWheel, LosesNothingWhenAnArmedHookIsDestroyed)
{
    timer_wheel w(0);
    {
        alarm gone;
        w.set(gone, 5 * ms);
    }
    EXPECT_EQ(w.size(), 0u);
    w.advance(10 * ms);
    EXPECT_EQ(w.next_ns(), never);
    alarm a;
    w.set(a, 20 * ms);
    EXPECT_EQ(w.next_ns(), 20 * ms);
}

TEST(TimerWheel, MayEndBeforeItsHooks)
{
    alarm a;
    {
        timer_wheel w(0);
        w.set(a, ms);
    }
    EXPECT_FALSE(a.armed());
}

// Against a plain map, over many random steps with small and large jumps of time.
TEST(TimerWheel, RingsAsASortedListWould)
{
    std::mt19937_64 random(11);
    std::int64_t now = 123'456'789;
    timer_wheel w(now);
    std::vector<std::unique_ptr<alarm>> alarms;
    std::map<alarm*, std::int64_t> expected;
    for (int i = 0; i < 200; ++i)
        alarms.push_back(std::make_unique<alarm>());
    for (int step = 0; step < 100'000; ++step) {
        alarm& a = *alarms[random() % alarms.size()];
        switch (random() % 4) {
        case 0:
        case 1: {
            const auto ahead = static_cast<std::int64_t>(random() % (random() % 2 == 0 ? 20'000'000u : 9'000'000'000u));
            w.set(a, now + ahead);
            expected[&a] = now + ahead;
            break;
        }
        case 2:
            w.clear(a);
            expected.erase(&a);
            break;
        default: {
            now += static_cast<std::int64_t>(random() % (random() % 50 == 0 ? 10'000'000'000u : 3'000'000u));
            const std::int64_t told = w.next_ns();
            w.advance(now);
            for (auto it = expected.begin(); it != expected.end();) {
                const bool due = it->second <= now / ms * ms;
                const bool rang = !it->first->armed();
                ASSERT_LE(rang, it->second <= now) << "never early";
                ASSERT_GE(rang, due) << "at most a millisecond late";
                ASSERT_TRUE(!rang || told <= now) << "next_ns() did not promise it so soon";
                it = rang ? expected.erase(it) : std::next(it);
            }
            break;
        }
        }
        ASSERT_EQ(w.size(), expected.size());
    }
}

}  // namespace
}  // namespace shunt::net
