// What tests of swaps have in common: options that differ in one thing, and states in words.

#pragma once

#include <support/paths.hpp>
#include <support/producer_situation.hpp>

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace shunt {

inline void PrintTo(swap_state s, std::ostream* out) { *out << to_string(s); }

}  // namespace shunt

namespace shunt::test {

/// No probation, no pre-flight: what is staged is in force at once.
inline producer_options plainly(producer_options o)
{
    o.swap.probation = 0ms;
    o.swap.preflight = preflight_rule::off;
    return o;
}

/// The policy's selector with one setting more.
inline producer_options hashing(producer_options o, const std::string& function, bool ordered = false)
{
    o = with_policy(std::move(o), "hash", "none", ordered);
    o.policies["default"].selector.settings["function"] = function;
    return o;
}

inline std::string words(const swap_status& s)
{
    std::string text;
    for (const swap_step& step : s.steps)
        text += (text.empty() ? "" : " ") + std::string(to_string(step.state));
    return text;
}

inline std::string shown(const swap_status& s) { return words(s) + (s.reason.empty() ? "" : " because " + s.reason); }

/// Staged and in force, or the test fails.
inline swap_handle in_force(producer& p, producer_options o, stage_options how = {})
{
    swap_handle h = p.stage(std::move(o), std::move(how));
    EXPECT_TRUE(h.wait_for(swap_state::in_force, patience)) << shown(h.status());
    return h;
}

}  // namespace shunt::test
