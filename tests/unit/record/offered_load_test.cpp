// Sends by when they began: what steps come of them, and that memory has a bound.

#include <record/offered_load.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace shunt::record {
namespace {

std::uint64_t total(const std::vector<send_step>& steps)
{
    std::uint64_t n = 0;
    for (const send_step& s : steps)
        n += s.count;
    return n;
}

/// Sends in each `width` milliseconds, as a scenario would start them.
std::map<std::int64_t, std::uint64_t> by_time(const std::vector<send_step>& steps, std::int64_t width)
{
    std::map<std::int64_t, std::uint64_t> out;
    for (const send_step& s : steps)
        for (std::uint64_t i = 0; i < s.count; ++i)
            ++out[(s.time_ms + static_cast<std::int64_t>(i) * s.every_ms) / width];
    return out;
}

TEST(OfferedLoad, ASteadyRateIsOneStep)
{
    offered_load load;
    for (int i = 0; i < 500; ++i)
        load.add(i * 10 + (i % 7 == 3 ? 1 : 0), std::nullopt, std::nullopt);  // the clock of a sender is not exact

    const auto steps = load.steps();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].time_ms, 0);
    EXPECT_EQ(steps[0].count, 500u);
    EXPECT_EQ(steps[0].every_ms, 10);
}

TEST(OfferedLoad, WhatBeganInOneMillisecondBeginsAtOnce)
{
    offered_load load;
    for (int i = 0; i < 7; ++i)
        load.add(5, std::nullopt, std::nullopt);

    const auto steps = load.steps();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].time_ms, 5);
    EXPECT_EQ(steps[0].count, 7u);
    EXPECT_EQ(steps[0].every_ms, 0);
}

TEST(OfferedLoad, APauseStaysOne)
{
    offered_load load;
    for (const int at : {0, 10, 20, 30, 1030, 1040, 1050})
        load.add(at, std::nullopt, std::nullopt);

    const auto there = by_time(load.steps(), 100);
    EXPECT_EQ(there, (std::map<std::int64_t, std::uint64_t>{{0, 4}, {10, 3}}));
}

TEST(OfferedLoad, KeysAreKeptAsTheyAre)
{
    offered_load load;
    for (int i = 0; i < 10; ++i) {
        load.add(i, "hot", std::nullopt);
        load.add(i, i % 2 == 0 ? "" : "\xc3\xa4", std::nullopt);  // the empty one is one, too
    }

    std::map<std::string, std::uint64_t> keys;
    for (const send_step& s : load.steps())
        keys[s.kind->key.value()] += s.count;
    EXPECT_EQ(keys, (std::map<std::string, std::uint64_t>{{"hot", 10}, {"", 5}, {"\xc3\xa4", 5}}));
    EXPECT_EQ(load.other_keys(), 0u);
}

TEST(OfferedLoad, KeysThatAScenarioCannotHoldAreOfTheOthers)
{
    offered_load load;
    for (const std::string_view key : {"with {i} in it", "\xff\xfe", "line\nbreak"})
        load.add(0, key, std::nullopt);
    load.add(0, std::string(offered_load::max_key + 1, 'k'), std::nullopt);
    load.add(0, std::string(offered_load::max_key, 'k'), std::nullopt);

    EXPECT_EQ(load.other_keys(), 4u);
    std::uint64_t others = 0;
    for (const send_step& s : load.steps())
        others += s.kind->other_key ? s.count : 0;
    EXPECT_EQ(others, 4u);
}

TEST(OfferedLoad, MoreThanSoManyKeysAreOfTheOthers)
{
    offered_load load;
    for (int i = 0; i < 5000; ++i)
        load.add(i, "key-" + std::to_string(i), std::nullopt);
    load.add(5000, "key-0", std::nullopt);

    EXPECT_EQ(load.other_keys(), 5000 - offered_load::max_kinds);
    EXPECT_EQ(total(load.steps()), 5001u);
}

TEST(OfferedLoad, QueuesThatCallersChoseAreKept)
{
    offered_load load;
    load.add(3, "key", queue_name{"broker-b", 2});

    const auto steps = load.steps();
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].kind->queue, (queue_name{"broker-b", 2}));
    EXPECT_FALSE(steps[0].kind->key) << "nobody asks for it: the caller chose";
}

TEST(OfferedLoad, StepsHaveABoundHoweverLongTheRun)
{
    constexpr std::size_t most = 100;
    offered_load load(most);
    constexpr int n = 200'000;
    for (int i = 0; i < n; ++i)
        load.add(std::int64_t{i} * 7 + i % 3, std::nullopt, std::nullopt);

    const auto steps = load.steps();
    EXPECT_LE(steps.size(), most);
    EXPECT_EQ(total(steps), static_cast<std::uint64_t>(n));
    // Still as even as it was.
    constexpr std::int64_t width = 140'000;
    for (const auto& [at, count] : by_time(steps, width))
        if ((at + 1) * width < std::int64_t{n} * 7) {
            EXPECT_NEAR(static_cast<double>(count), 20'000, 400) << "in piece " << at;
        }
}

TEST(OfferedLoad, ManyInAMillisecondStaySpreadOverTheMilliseconds)
{
    offered_load load(200);
    for (int ms = 0; ms < 4096; ++ms)
        for (int i = 0; i < 20; ++i)
            load.add(ms, std::nullopt, std::nullopt);

    const auto steps = load.steps();
    EXPECT_LE(steps.size(), 200u);
    EXPECT_GT(load.width_ms(), 1);
    for (const auto& [at, count] : by_time(steps, 1))
        EXPECT_EQ(count, 20u) << "at " << at << " ms";
}

TEST(OfferedLoad, NoStepHasMoreSendsThanAScenarioTakes)
{
    offered_load load;
    constexpr std::uint64_t n = 2'500'000;
    for (std::uint64_t i = 0; i < n; ++i)
        load.add(7, std::nullopt, std::nullopt);

    const auto steps = load.steps();
    EXPECT_EQ(total(steps), n);
    for (const send_step& s : steps)
        EXPECT_LE(s.count, offered_load::max_count);
}

TEST(OfferedLoad, CoarserPiecesLoseNoSend)
{
    offered_load load;
    for (int i = 0; i < 1000; ++i)
        load.add(i * 3, i % 5 == 0 ? std::optional<std::string_view>("k") : std::nullopt, std::nullopt);
    while (load.coarsen()) {
        EXPECT_EQ(total(load.steps()), 1000u) << load.width_ms();
    }
    EXPECT_GE(load.width_ms(), 2997);
}

}  // namespace
}  // namespace shunt::record
