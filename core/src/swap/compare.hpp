// Is a candidate worse than what it is to replace? Decided by counts, with a stated rule. Pure.
//
// The rule looks again and again while a canary or probation runs, so a difference counts only when it is four standard
// errors large: by chance that happens about once in 30,000 looks. It must matter, too: see the limits.

#pragma once

#include <swap/measures.hpp>

#include <cstdint>
#include <string>

namespace shunt::swap {

struct limits {
    std::uint64_t few = 100;           ///< attempts on each side below which nothing is said
    std::uint64_t enough = 1000;       ///< attempts on each side from which "no worse" may be said
    double failure_points = 0.005;     ///< a larger share of attempts that are not stored (or unknown) matters from here on
    double slower = 1.5;               ///< times the other's p99 above which an attempt counts as slow
    std::int64_t slower_by_ns = 1'000'000;  ///< and by so much at least
    double plugin_errors = 0.01;       ///< share of decisions that fail (an error, or an index out of range), from 10 on
    double imbalance = 0.5;            ///< the busiest broker's share grows by so much
    double standard_errors = 4;
};

/// One side of the comparison.
struct side {
    const tally& sends;
    std::uint64_t plugin_errors = 0;
};

enum class finding : std::uint8_t { undecided, no_worse, worse };

struct judgement {
    finding found = finding::undecided;
    std::string why;  ///< "worse: 4.1 % of 1,024 attempts not stored, 0.2 % of 9,000 before"
};

/// `after` against `before`. With too few attempts before (a producer that just started), only the plugin's errors count.
[[nodiscard]] judgement compare(const side& before, const side& after, const limits& by = {});

}  // namespace shunt::swap
