// The sample of decisions: bounded in rate and number, and what fails is in it however much goes well.

#include <observe/decisions.hpp>

#include <gtest/gtest.h>

#include <string>

namespace shunt::observe {
namespace {

constexpr std::int64_t ms = 1'000'000;

TEST(DecisionSample, TakesSoManyASecondOfEachKind)
{
    decision_sample s;
    int stored = 0, failed = 0;
    for (std::int64_t us = 0; us < 2'000'000; us += 10) {
        stored += s.wants(true, us * 1000) ? 1 : 0;
        if (us % 1000 == 0)
            failed += s.wants(false, us * 1000) ? 1 : 0;
    }
    EXPECT_EQ(stored, 200);
    EXPECT_EQ(failed, 200);
}

TEST(DecisionSample, TakesAllThatAreFew)
{
    decision_sample s;
    for (std::int64_t t = 0; t < 5000 * ms; t += 50 * ms)
        EXPECT_TRUE(s.wants(true, t));
}

TEST(DecisionSample, KeepsTheNewestAndTellsThemFirst)
{
    decision_sample s;
    for (int i = 0; i < 3000; ++i) {
        seen_decision d;
        d.queue = i;
        s.put(d);
    }
    EXPECT_EQ(s.kept(), decision_sample::max_kept);
    const auto newest = s.newest(2);
    ASSERT_EQ(newest.size(), 2u);
    EXPECT_EQ(newest[0].queue, 2999);
    EXPECT_EQ(newest[1].queue, 2998);
    EXPECT_EQ(s.newest(5000).size(), decision_sample::max_kept);
    EXPECT_EQ(s.newest(5000).back().queue, 3000 - static_cast<int>(decision_sample::max_kept));
}

}  // namespace
}  // namespace shunt::observe
