// What came of several runs of one scenario, in one table: side by side, one below the other, or the best first.

#pragma once

#include <simulate/keys.hpp>
#include <simulate/run.hpp>

#include <string>
#include <utility>
#include <vector>

namespace shunt::cli {

struct compared_run {
    std::string name;    ///< the file, or the value that was changed
    std::string policy;  ///< "best-queue + latency-fault"
    bool of_the_file = false;
    simulate::summary sum;
    simulate::key_watch::counts keys;
};

/// What was not compared, and why: "machine-room", "it needs rooms".
using left_out = std::vector<std::pair<std::string, std::string>>;

/// Fewer sends not stored, then fewer messages out of order, then the lower p99, mean and number of attempts; the file's own
/// before its equals.
[[nodiscard]] bool is_better(const compared_run& a, const compared_run& b);

/// A column for each of two policies.
[[nodiscard]] std::string side_by_side(const std::vector<compared_run>& runs);
/// A row for each value of `key`.
[[nodiscard]] std::string one_below_another(const std::string& key, const std::vector<compared_run>& runs);
/// A row for each policy, as they stand; with the shares of these brokers.
[[nodiscard]] std::string ranking(const std::vector<compared_run>& runs, const std::vector<std::string>& brokers, const left_out& others);

[[nodiscard]] std::string as_json(const std::vector<compared_run>& runs, const left_out& others);

/// "12.3 %", or "-" of nothing.
[[nodiscard]] std::string part_of(std::uint64_t part, std::uint64_t whole);

}  // namespace shunt::cli
