// Every way a send of up to five attempts can go, walked through and judged by an independent account of it.

#include "printing.hpp"

#include <send/machine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <vector>

namespace shunt::send {
namespace {

// How an attempt ends: on one of three brokers, after no time, half of its share or all of it, with one of five meanings.
constexpr std::array<meaning, 5> meanings{{{.outcome = outcome::stored},
                                           {.outcome = outcome::not_sent, .retry = true},
                                           {.outcome = outcome::unknown, .retry = true},
                                           {.outcome = outcome::rejected, .retry = true},
                                           {.outcome = outcome::rejected, .retry = false}}};

struct walker {
    limits lim;
    std::uint64_t states = 0;

    struct account {
        std::int64_t now = 0;
        std::uint32_t made = 0;
        std::set<std::uint32_t> brokers;
        std::set<outcome> seen;
    };

    static outcome expected_verdict(const std::set<outcome>& seen)
    {
        for (const outcome o : {outcome::stored, outcome::unknown, outcome::rejected})
            if (seen.contains(o))
                return o;
        return outcome::not_sent;
    }

    void walk(const machine& at, const account& a)
    {
        ++states;
        ASSERT_EQ(at.attempts(), a.made);
        ASSERT_EQ(at.tried().size(), a.brokers.size());
        ASSERT_EQ(at.verdict(), expected_verdict(a.seen));
        const std::int64_t left = lim.timeout_ns - a.now;
        const std::int64_t share = at.share_at(a.now);
        if (left <= 0 || a.made == lim.attempts) {
            ASSERT_EQ(share, 0);
            return;
        }
        ASSERT_EQ(share, std::max<std::int64_t>(1, left / (lim.attempts - a.made)));
        for (std::uint32_t broker = 0; broker < 3; ++broker) {
            machine paused = at;
            const std::int64_t pause = paused.pause_before(broker, ~std::uint64_t{0});
            ASSERT_EQ(pause > 0, a.brokers.contains(broker)) << "a pause before a tried broker, and only there";
            for (const std::int64_t took : {std::int64_t{0}, share / 2, share}) {
                for (const meaning& m : meanings) {
                    machine next = paused;
                    account then = a;
                    next.begin(broker);
                    then.brokers.insert(broker);
                    ++then.made;
                    then.now += took;
                    then.seen.insert(m.outcome);
                    const bool goes_on = next.ended(m, then.now);
                    ASSERT_EQ(goes_on, m.retry && then.made < lim.attempts && then.now < lim.timeout_ns);
                    if (goes_on)
                        walk(next, then);
                    else
                        ASSERT_EQ(next.verdict(), expected_verdict(then.seen));
                    if (testing::Test::HasFatalFailure())
                        return;
                }
            }
        }
    }
};

TEST(Machine, IsRightInEveryStateOfSendsWithFourAttempts)
{
    walker w{{.timeout_ns = 1000, .attempts = 4, .backoff_ns = 10, .backoff_max_ns = 40}};
    w.walk(machine(w.lim, 0), {});
    EXPECT_GT(w.states, 10'000u) << "the walk was not cut short";
}

TEST(Machine, IsRightInEveryStateOfSendsWithHardlyAnyTime)
{
    walker w{{.timeout_ns = 3, .attempts = 4, .backoff_ns = 1, .backoff_max_ns = 1}};
    w.walk(machine(w.lim, 0), {});
    EXPECT_GT(w.states, 1'000u);
}

}  // namespace
}  // namespace shunt::send
