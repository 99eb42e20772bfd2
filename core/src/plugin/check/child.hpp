// One process for one check: started, bounded in time and memory, watched, and its report read even when it died.
//
// The process is a helper of its own, shunt-preflight (core/helper), not a fork of this one: forking a program with threads
// is a trap, and a library does not know what its program does when it is started again.

#pragma once

#include <plugin/check/rule.hpp>
#include <plugin/check/subject.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::plugin::check {

/// What a process of its own is to do.
struct errand {
    std::string file;
    std::vector<std::string> rules;  ///< names; run one after the other, each for the strategy
    bool basics = false;             ///< instead: all basic rules, for each strategy of the file
    strategy::strategy_kind kind = strategy::strategy_kind::selector;
    std::string strategy;            ///< empty: none is meant
    std::uint64_t seed = 1;
    std::vector<std::string> settings;  ///< NAME=VALUE, in place of the defaults
};

struct bounds {
    std::chrono::milliseconds time{10'000};
    std::uint64_t memory = std::uint64_t{2} << 30;  ///< of addresses; 0: none
    int stop_fd = -1;                               ///< readable: no more is wanted; below 0: there is none
};

/// One check's end, as the process wrote it down.
struct report {
    std::string rule, strategy;
    outcome what;
};

struct child_end {
    std::vector<report> reports;  ///< those that were written; the process may have died after
    bool completed = false;       ///< it did all it was asked for; it may have died or hung when it ended
    bool timed_out = false;
    bool stopped = false;         ///< it was ended because no more was wanted
    std::chrono::milliseconds spent{0};  ///< the time it had, if it timed out; else the processor's that it took
    std::uint64_t refused_bytes = 0;    ///< the last allocation for which there was no memory; 0: none failed
    std::string death;            ///< "was killed by signal 11 (Segmentation fault)", "exited with 3", ...; empty: it completed
    std::string rule, strategy;   ///< what it was at when it died
    phase where = phase::host;
    std::string said;             ///< the end of what it wrote to stdout and stderr
    /// The report of what it was at last is not there, though it completed.
    [[nodiscard]] bool lost() const noexcept
    {
        return death.empty() && (reports.empty() || reports.back().rule != rule || reports.back().strategy != strategy);
    }
};
inline constexpr std::string_view lost_report = "the report of its process is lost: it closed or replaced a file that is not its own";

/// Where the helper lies: beside the folder of the bundled plugins. Empty: it is not there.
[[nodiscard]] std::string find_helper();

/// Starts `helper` for the errand and waits for its end. `trouble`: it could not be started.
[[nodiscard]] child_end run_child(const std::string& helper, const errand& e, const bounds& b, std::string& trouble);

/// What the helper's main does. `with`: its instruments, but for seed and phase. The process's exit status.
[[nodiscard]] int child_main(int argc, const char* const* argv, instruments with);

/// "NAME=VALUE", the value as TOML writes it, into `out`. Empty: done; else what is wrong.
[[nodiscard]] std::string read_setting(std::string_view text, setting_table& out);

}  // namespace shunt::plugin::check
