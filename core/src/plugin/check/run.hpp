// A whole run over one file: which checks apply to what, each in a process of its own, and what came of them.

#pragma once

#include <plugin/check/child.hpp>
#include <plugin/check/rule.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shunt::plugin::check {

struct run_options {
    std::string file;
    std::optional<strategy::strategy_kind> kind;  ///< only strategies of this kind
    std::vector<std::string> only;                ///< names of rules; empty: all
    std::vector<std::string> settings;            ///< NAME=VALUE, for every strategy that declares the name
    std::uint64_t seed = 1;
    bool in_process = false;                      ///< for debuggers: a crash then ends this process
    bounds limits;                                ///< of one check
    std::string helper;                           ///< empty: looked for
    std::int64_t (*clock_ns)() = nullptr;
};

struct result {
    const rule* of = nullptr;
    std::string strategy;  ///< empty: the file
    outcome what;
    double seconds = 0;
};

struct run_result {
    std::string trouble;   ///< nothing was run: the file cannot be read, there is no helper, or no place to load from
    bool stopped = false;  ///< by limits.stop_fd; the checks that were not told were not run
    std::vector<known_strategy> strategies;
    std::vector<result> results;
    [[nodiscard]] std::size_t count(verdict v) const noexcept;
    [[nodiscard]] bool ok() const noexcept { return count(verdict::failed) + count(verdict::crashed) == 0; }
};

/// `told` gets each result as it comes.
[[nodiscard]] run_result run(const run_options& o, const std::function<void(const result&)>& told);

}  // namespace shunt::plugin::check
