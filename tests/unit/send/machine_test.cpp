// What a send does next: shares of the deadline, brokers tried, pauses, and what is known in the end.

#include "printing.hpp"

#include <send/machine.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace shunt::send {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t t0 = 5'000'000'000;
constexpr std::uint64_t largest_random = std::numeric_limits<std::uint64_t>::max();

constexpr meaning stored{.outcome = outcome::stored};
constexpr meaning rejected{.outcome = outcome::rejected, .retry = true};
constexpr meaning refused_for_good{.outcome = outcome::rejected, .retry = false};
constexpr meaning unanswered{.outcome = outcome::unknown, .retry = true};
constexpr meaning unreachable{.outcome = outcome::not_sent, .retry = true};

limits in_whole_ms(std::int64_t timeout_ms, std::uint32_t attempts)
{
    return {.timeout_ns = timeout_ms * ms, .attempts = attempts, .resolution_ns = ms};
}

/// A machine that has made `n` attempts, each on another broker.
machine after_attempts(const limits& lim, std::uint32_t n)
{
    machine m(lim, t0);
    for (std::uint32_t i = 0; i < n; ++i) {
        m.begin(i);
        EXPECT_TRUE(m.ended(rejected, t0));
    }
    return m;
}

// ---- shares ----

struct share_row {
    std::int64_t timeout_ms;
    std::uint32_t attempts, made;
    std::int64_t at_ms, share_ms;
};

class Share : public testing::TestWithParam<share_row> {};

TEST_P(Share, IsWhatIsLeftDividedByTheAttemptsStillPromised)
{
    const share_row& row = GetParam();
    const machine m = after_attempts(in_whole_ms(row.timeout_ms, row.attempts), row.made);
    EXPECT_EQ(m.share_at(t0 + row.at_ms * ms), row.share_ms * ms);
}

INSTANTIATE_TEST_SUITE_P(Machine, Share, testing::Values(
    share_row{3000, 3, 0, 0, 1000},     // the usual case
    share_row{3000, 3, 1, 1000, 1000},  // the first hung: the others lose nothing
    share_row{3000, 3, 2, 2000, 1000},
    share_row{3000, 3, 1, 1, 1499},     // the first failed at once: 2999 div 2
    share_row{3000, 3, 2, 2, 2998},     // the last may use all that is left
    share_row{3000, 1, 0, 0, 3000},
    share_row{3000, 16, 0, 0, 187},     // 187.5, rounded down
    share_row{3000, 3, 0, 2999, 1},     // 1 div 3 = 0, but never less than 1 ms
    share_row{3000, 3, 0, 3000, 0},     // no time: no attempt
    share_row{3000, 3, 0, 4000, 0},
    share_row{10, 7, 0, 0, 1},
    share_row{1, 16, 0, 0, 1}));

TEST(Machine, GivesNoAttemptMoreThanItsOwnLimit)
{
    limits lim = in_whole_ms(3000, 3);
    lim.attempt_ns = 400 * ms;
    machine m(lim, t0);
    EXPECT_EQ(m.share_at(t0), 400 * ms);
    EXPECT_EQ(m.share_at(t0 + 2990 * ms), 3 * ms) << "what is left, divided";
}

TEST(Machine, GoesOnAfterAStoreThatIsWorthAnother)
{
    constexpr meaning flush_late{.outcome = outcome::stored, .retry = true};
    machine m(in_whole_ms(3000, 3), t0);
    m.begin(0);
    EXPECT_TRUE(m.ended(flush_late, t0));
    EXPECT_TRUE(m.stored());
    m.begin(1);
    EXPECT_FALSE(m.ended(rejected, t0)) << "it is stored: a failure needs no third";
    EXPECT_EQ(m.verdict(), outcome::stored);
}

TEST(Machine, GivesNoShareBeyondThePromisedAttempts)
{
    machine m = after_attempts({.attempts = 2}, 1);
    m.begin(7);
    EXPECT_FALSE(m.ended(rejected, t0 + 1));
    EXPECT_EQ(m.share_at(t0 + 1), 0);
}

TEST(Machine, SharesOfAHangingClusterNeverSumUpToMoreThanTheTimeout)
{
    for (std::uint32_t attempts = 1; attempts <= max_attempts; ++attempts) {
        for (const std::int64_t timeout : {1 * ms, 7 * ms, 100 * ms, 3000 * ms, 3001 * ms + 17}) {
            machine m({.timeout_ns = timeout, .attempts = attempts}, t0);
            std::int64_t now = t0;
            std::uint32_t made = 0;
            for (std::int64_t share = m.share_at(now); share > 0; share = m.share_at(now)) {
                m.begin(made++);
                now += share;
                if (!m.ended(unanswered, now))
                    break;
            }
            EXPECT_EQ(made, attempts) << "each promised attempt has its share of " << timeout << " ns";
            EXPECT_LE(now, t0 + timeout);
        }
    }
}

TEST(Machine, LivesWithTimeoutsAndStartsAtTheEndOfTime)
{
    constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
    machine m({.timeout_ns = end, .attempts = 3}, t0);
    EXPECT_EQ(m.deadline_ns(), end);
    EXPECT_EQ(m.share_at(t0), (end - t0) / 3);

    machine late({.timeout_ns = 10, .attempts = 3}, end - 5);
    EXPECT_EQ(late.deadline_ns(), end);
    EXPECT_EQ(late.share_at(end), 0);

    const machine whole_ms({.timeout_ns = end, .attempts = 16, .resolution_ns = ms}, 0);
    EXPECT_EQ(whole_ms.share_at(0) % ms, 0);
    EXPECT_GT(whole_ms.share_at(0), 0);
}

// ---- tried brokers ----

TEST(Machine, RemembersEveryBrokerTriedOnce)
{
    machine m({.attempts = 5}, t0);
    for (const std::uint32_t broker : {4u, 2u, 4u, 0u, 2u})
        m.begin(broker);
    EXPECT_EQ(std::vector<std::uint32_t>(m.tried().begin(), m.tried().end()), (std::vector<std::uint32_t>{4, 2, 0}));
    EXPECT_TRUE(m.was_tried(0));
    EXPECT_FALSE(m.was_tried(3));
    EXPECT_EQ(m.attempts(), 5u);
    EXPECT_EQ(m.next_attempt(), 6u);
}

TEST(Machine, KeepsTrackOfSixteenBrokersInSixteenAttempts)
{
    machine m({.attempts = max_attempts}, t0);
    for (std::uint32_t i = 0; i < max_attempts; ++i) {
        EXPECT_GT(m.share_at(t0 + i), 0);
        m.begin(100 + i);
        EXPECT_EQ(m.ended(rejected, t0 + i), i + 1 < max_attempts);
    }
    EXPECT_EQ(m.tried().size(), 16u);
    EXPECT_TRUE(m.was_tried(115));
}

// ---- pauses ----

TEST(Machine, DoesNotPauseBeforeABrokerNotYetTried)
{
    machine m({.attempts = 3, .backoff_ns = 10 * ms, .backoff_max_ns = 500 * ms}, t0);
    EXPECT_EQ(m.pause_before(1, largest_random), 0);
    m.begin(1);
    EXPECT_EQ(m.pause_before(2, largest_random), 0);
    EXPECT_EQ(m.pause_before(1, largest_random), 10 * ms);
}

TEST(Machine, DoublesThePauseUpToItsMost)
{
    machine m({.attempts = 16, .backoff_ns = 10 * ms, .backoff_max_ns = 500 * ms}, t0);
    m.begin(1);
    std::vector<std::int64_t> pauses;
    for (int i = 0; i < 9; ++i) {
        pauses.push_back(m.pause_before(1, largest_random) / ms);
        m.begin(1);
    }
    EXPECT_EQ(pauses, (std::vector<std::int64_t>{10, 20, 40, 80, 160, 320, 500, 500, 500}));
}

TEST(Machine, SpreadsAPauseOverAllOfItsRange)
{
    const auto pause_with = [](std::uint64_t random) {
        machine m({.attempts = 3, .backoff_ns = 100 * ms, .backoff_max_ns = 100 * ms}, t0);
        m.begin(1);
        return m.pause_before(1, random);
    };
    EXPECT_EQ(pause_with(0), 0) << "full jitter begins at nothing";
    EXPECT_NEAR(static_cast<double>(pause_with(largest_random / 2)), 50.0 * ms, 1);
    EXPECT_EQ(pause_with(largest_random), 100 * ms);
}

TEST(Machine, PausesOnceAnAttempt)
{
    machine m({.attempts = 3, .backoff_ns = 10 * ms, .backoff_max_ns = 500 * ms}, t0);
    m.begin(1);
    EXPECT_EQ(m.pause_before(1, largest_random), 10 * ms);
    EXPECT_EQ(m.pause_before(1, largest_random), 0) << "the pause is over, the attempt begins";
    m.begin(1);
    EXPECT_EQ(m.pause_before(1, largest_random), 20 * ms);
}

TEST(Machine, DoesNotPauseWhereThePolicyHasNone)
{
    machine m({.attempts = 3, .backoff_ns = 0, .backoff_max_ns = 500 * ms}, t0);
    m.begin(1);
    EXPECT_EQ(m.pause_before(1, largest_random), 0);
}

TEST(Machine, TakesAPauseLongerThanItsMostAsTheMost)
{
    constexpr std::int64_t hour = 3'600'000 * ms;
    machine m({.attempts = 16, .backoff_ns = hour, .backoff_max_ns = hour}, t0);
    m.begin(1);
    for (int i = 0; i < 15; ++i) {
        EXPECT_EQ(m.pause_before(1, largest_random), hour);
        m.begin(1);
    }
}

// ---- ends ----

TEST(Machine, GoesOnAfterWhatIsWorthAnotherAttemptOnly)
{
    const limits lim{.timeout_ns = 100, .attempts = 3};
    const auto ends = [&](const meaning& what, std::int64_t now) {
        machine m(lim, t0);
        m.begin(1);
        return !m.ended(what, now);
    };
    EXPECT_TRUE(ends(stored, t0));
    EXPECT_TRUE(ends(refused_for_good, t0));
    EXPECT_FALSE(ends(rejected, t0));
    EXPECT_FALSE(ends(unanswered, t0 + 99));
    EXPECT_FALSE(ends(unreachable, t0));
    EXPECT_TRUE(ends(unanswered, t0 + 100)) << "the deadline has come";
}

struct verdict_row {
    std::vector<meaning> attempts;
    outcome verdict;
};

TEST(Machine, KnowsOfAMessageWhatItsAttemptsTell)
{
    const verdict_row rows[] = {
        {{}, outcome::not_sent},
        {{unreachable}, outcome::not_sent},
        {{unreachable, rejected}, outcome::rejected},
        {{rejected, unreachable}, outcome::rejected},
        {{unanswered, rejected}, outcome::unknown},
        {{rejected, unanswered, refused_for_good}, outcome::unknown},
        {{unanswered, unreachable}, outcome::unknown},
        {{unanswered, stored}, outcome::stored},
        {{rejected, unreachable, stored}, outcome::stored},
    };
    for (const verdict_row& row : rows) {
        machine m({.attempts = 16}, t0);
        for (const meaning& a : row.attempts) {
            m.begin(1);
            (void)m.ended(a, t0);
        }
        EXPECT_EQ(m.verdict(), row.verdict) << "row " << (&row - rows);
    }
}

}  // namespace
}  // namespace shunt::send
