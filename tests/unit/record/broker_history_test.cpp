// How brokers behaved, from what became of attempts.

#include <record/broker_history.hpp>

#include <gtest/gtest.h>

#include <ostream>

namespace shunt::record {

void PrintTo(behaviour b, std::ostream* out)
{
    constexpr const char* words[] = {"answer", "refuse", "hang", "drop"};
    *out << words[static_cast<int>(b)];
}

namespace {

void answers(broker_history& h, std::int64_t from_ms, int n, std::int64_t every_ms, std::int64_t latency_ms, std::int32_t code = 0)
{
    for (int i = 0; i < n; ++i)
        h.add("b", from_ms + i * every_ms, behaviour::answer, code, latency_ms);
}

TEST(BrokerHistory, ABrokerThatWasNotAskedHasNone)
{
    EXPECT_TRUE(broker_history().stretches("b").empty());
}

TEST(BrokerHistory, LatenciesThatHardlyDifferAreOneStretchWithTheirMedian)
{
    broker_history h;
    for (int i = 0; i < 99; ++i)
        h.add("b", i * 5, behaviour::answer, 0, 300 + i % 5);

    const auto all = h.stretches("b");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].latency_ms, 302);
    EXPECT_EQ(all[0].attempts, 99u);
}

TEST(BrokerHistory, AStretchBeginsWithTheFirstAttemptThatDiffers)
{
    broker_history h;
    answers(h, 0, 20, 10, 1);
    answers(h, 200, 20, 10, 300);
    answers(h, 400, 20, 10, 0);

    const auto all = h.stretches("b");
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[1].time_ms, 200);
    EXPECT_EQ(all[1].latency_ms, 300);
    EXPECT_EQ(all[2].time_ms, 400);
    EXPECT_EQ(all[2].latency_ms, 0);
}

TEST(BrokerHistory, OrderIsThatOfTheBeginningsNotOfTheEnds)
{
    broker_history h;
    answers(h, 100, 3, 10, 1);     // well again, and told first
    answers(h, 0, 3, 10, 800);

    const auto all = h.stretches("b");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].latency_ms, 800);
    EXPECT_EQ(all[1].time_ms, 100);
}

TEST(BrokerHistory, EachBehaviourIsAStretch)
{
    broker_history h;
    answers(h, 0, 3, 1, 1);
    h.add("b", 10, behaviour::refuse, 0, 0);
    h.add("b", 20, behaviour::hang, 0, 900);
    h.add("b", 30, behaviour::drop, 0, 1);
    answers(h, 40, 3, 1, 1, 14);
    answers(h, 50, 3, 1, 1);

    std::vector<std::pair<behaviour, std::int32_t>> seen;
    for (const stretch& s : h.stretches("b"))
        seen.emplace_back(s.how, s.code);
    EXPECT_EQ(seen, (std::vector<std::pair<behaviour, std::int32_t>>{{behaviour::answer, 0}, {behaviour::refuse, 0}, {behaviour::hang, 0},
                                                                      {behaviour::drop, 0}, {behaviour::answer, 14}, {behaviour::answer, 0}}));
}

TEST(BrokerHistory, ASingleShortDelayIsNoChange)
{
    broker_history h;
    answers(h, 0, 10, 10, 1);
    answers(h, 100, 1, 10, 20);
    answers(h, 110, 10, 10, 1);
    EXPECT_EQ(h.stretches("b").size(), 1u);
}

TEST(BrokerHistory, ASingleLongDelayIsOne)
{
    // It may be the one that made the fault strategy isolate the broker.
    broker_history h;
    answers(h, 0, 10, 10, 1);
    answers(h, 100, 1, 10, 700);
    answers(h, 2900, 10, 10, 1);

    const auto all = h.stretches("b");
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[1].latency_ms, 700);
}

TEST(BrokerHistory, WhatIsMostFrequentCountsWhereTimesAreNotToldApart)
{
    broker_history h;
    for (int i = 0; i < 10; ++i)
        h.add("b", 5, behaviour::answer, i < 3 ? 2 : 0, 1);
    const auto all = h.stretches("b");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].code, 0);
}

TEST(BrokerHistory, MemoryHasABoundAndTheTruthStays)
{
    broker_history h(64);
    for (int i = 0; i < 100'000; ++i)
        h.add(i % 2 == 0 ? "a" : "b", i, behaviour::answer, 0, i % 2 == 0 ? 1 : i < 50'000 ? 2 : 400);

    EXPECT_EQ(h.attempts(), (std::map<std::string, std::uint64_t>{{"a", 50'000}, {"b", 50'000}}));
    EXPECT_EQ(h.stretches("a").size(), 1u);
    const auto b = h.stretches("b");
    ASSERT_EQ(b.size(), 2u);
    EXPECT_EQ(b[0].latency_ms, 2);
    EXPECT_EQ(b[1].latency_ms, 400);
    EXPECT_NEAR(static_cast<double>(b[1].time_ms), 50'000, 100'000 / 32.0);
    int coarser = 0;
    while (h.coarsen())
        ++coarser;
    EXPECT_LE(coarser, 8) << "there were more bins than the bound allows";
    EXPECT_EQ(h.attempts().at("b"), 50'000u);
}

}  // namespace
}  // namespace shunt::record
