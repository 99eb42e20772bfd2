#include <swap/key_maps.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>

namespace shunt::swap {
namespace {

constexpr std::int64_t s = 1'000'000'000;
constexpr std::uint64_t old_map = 1, new_map = 2;

/// One message of the key on its way at `at`, over a moment later.
std::uint64_t send(key_maps& m, std::uint64_t key, std::uint64_t wanted, std::int64_t at)
{
    const std::uint64_t map = m.enter(key, wanted, at);
    m.leave(key, at + 1);
    return map;
}

TEST(KeyMaps, AKeyMovesWhenItWasQuiet)
{
    key_maps m(60 * s);
    EXPECT_EQ(send(m, 7, old_map, 0), old_map);
    EXPECT_EQ(send(m, 7, new_map, 59 * s), old_map);
    EXPECT_EQ(send(m, 7, new_map, 118 * s), old_map) << "quiet counts from its last message";
    EXPECT_EQ(send(m, 7, new_map, 179 * s), new_map);
    EXPECT_EQ(m.on(old_map), 0u);
    EXPECT_EQ(m.on(new_map), 1u);
}

TEST(KeyMaps, AKeyUnderWayStaysHoweverLong)
{
    key_maps m(s);
    EXPECT_EQ(m.enter(7, old_map, 0), old_map);
    EXPECT_EQ(m.enter(7, new_map, 100 * s), old_map);
    m.leave(7, 200 * s);
    m.sweep(300 * s);
    EXPECT_EQ(m.on(old_map), 1u) << "one is still under way";
    m.leave(7, 300 * s);
    EXPECT_EQ(m.find(7, new_map, 300 * s + s / 2), old_map);
    EXPECT_EQ(m.find(7, new_map, 301 * s), new_map);
    EXPECT_EQ(send(m, 7, new_map, 301 * s), new_map);
}

TEST(KeyMaps, ANewKeyGoesByTheNewMap)
{
    key_maps m(60 * s);
    send(m, 1, old_map, 0);
    EXPECT_EQ(send(m, 2, new_map, 1), new_map);
    EXPECT_EQ(m.on(old_map), 1u);
    EXPECT_EQ(m.on(new_map), 1u);
}

TEST(KeyMaps, AKeyGoesBackOnlyWhenQuietToo)
{
    key_maps m(10 * s);
    send(m, 1, old_map, 0);
    EXPECT_EQ(send(m, 1, new_map, 20 * s), new_map);
    EXPECT_EQ(send(m, 1, old_map, 25 * s), new_map) << "rolled back meanwhile";
    EXPECT_EQ(send(m, 1, old_map, 40 * s), old_map);
}

TEST(KeyMaps, ABarrierLetsKeysMoveOnceNothingOfThemIsUnderWay)
{
    key_maps m(60 * s);
    send(m, 1, old_map, 0);
    (void)m.enter(2, old_map, 0);
    (void)m.enter(2, old_map, 0);
    m.barrier();
    EXPECT_EQ(m.find(1, new_map, 1), new_map);
    EXPECT_EQ(m.find(2, new_map, 1), old_map);
    m.leave(2, 2);
    EXPECT_EQ(m.find(2, new_map, 2), old_map) << "one is still under way";
    m.leave(2, 3);
    EXPECT_EQ(send(m, 2, new_map, 3), new_map);
    EXPECT_EQ(m.on(old_map), 0u);
}

TEST(KeyMaps, SweepForgetsWhatIsQuietAndTellsWhenNext)
{
    key_maps m(10 * s);
    EXPECT_EQ(m.next_ns(), INT64_MAX);
    send(m, 1, old_map, 0);
    send(m, 2, old_map, 5 * s);
    EXPECT_EQ(m.next_ns(), 10 * s + 1);
    m.sweep(10 * s + 1);
    EXPECT_EQ(m.size(), 1u);
    EXPECT_EQ(m.next_ns(), 15 * s + 1);
    m.sweep(100 * s);
    EXPECT_EQ(m.size(), 0u);
    EXPECT_FALSE(m.holds(old_map));
}

TEST(KeyMaps, WithoutQuietAKeyMovesAtOnceButNotUnderWay)
{
    key_maps m(0);
    (void)m.enter(1, old_map, 0);
    EXPECT_EQ(m.enter(1, new_map, 0), old_map);
    m.leave(1, 5);
    m.leave(1, 5);
    EXPECT_EQ(m.enter(1, new_map, 5), new_map);
}

TEST(KeyMaps, WhatFindsNoPlaceCountsAsOnTheOldMap)
{
    key_maps m(60 * s, 10);
    for (std::uint64_t key = 0; key < 20; ++key)
        send(m, key, old_map, static_cast<std::int64_t>(key));
    EXPECT_EQ(m.size(), 10u);
    EXPECT_TRUE(m.holds(old_map));
    EXPECT_EQ(send(m, 3, new_map, s), old_map) << "let go, but it was used a moment ago";
    EXPECT_EQ(send(m, 1000, new_map, s), old_map) << "never seen: it could be one of those";
    EXPECT_EQ(m.find(5, new_map, 200 * s), new_map);
    m.sweep(200 * s);
    EXPECT_FALSE(m.holds(old_map));
    EXPECT_EQ(send(m, 5, new_map, 201 * s), new_map);
}

TEST(KeyMaps, HashesTellTopicsApart)
{
    EXPECT_NE(key_maps::hash("A", "k"), key_maps::hash("B", "k"));
    EXPECT_NE(key_maps::hash("A", "k"), key_maps::hash("A", "l"));
    EXPECT_NE(key_maps::hash("A", "B"), key_maps::hash("B", "A"));
}

// Whatever happens: between two maps of one key lies a quiet time with nothing under way, or a barrier.
TEST(KeyMaps, NeverMovesAKeyEarly)
{
    std::mt19937_64 random(42);
    struct seen {
        std::uint64_t map = 0;
        std::int64_t ended = 0;
        int busy = 0;
        bool barrier = false;
    };
    key_maps m(100, 50);
    std::map<std::uint64_t, seen> keys;
    std::uint64_t wanted = 1;
    std::int64_t now = 0;
    int moves = 0;
    for (int i = 0; i < 200'000; ++i) {
        now += static_cast<std::int64_t>(random() % 3);
        const std::uint64_t key = random() % 40;
        seen& k = keys[key];
        const auto dice = random() % 1000;
        if (dice == 0) {
            ++wanted;
        } else if (dice == 1) {
            m.barrier();
            for (auto& [name, one] : keys)
                one.barrier = true;
        } else if (dice < 20) {
            now += 60;
        } else if (k.busy != 0 && random() % 2 == 0) {
            m.leave(key, now);
            --k.busy;
            k.ended = now;
        } else {
            const std::uint64_t map = m.enter(key, wanted, now);
            if (k.map != 0 && map != k.map) {
                ++moves;
                ASSERT_EQ(k.busy, 0) << "step " << i;
                ASSERT_TRUE(k.barrier || now - k.ended >= 100) << "step " << i << ": " << now - k.ended;
            }
            k.map = map;
            k.barrier = k.busy != 0 && k.barrier;
            ++k.busy;
        }
    }
    EXPECT_GT(moves, 100);
}

}  // namespace
}  // namespace shunt::swap
