// A plugin file, tried out in a process of its own before it may run in this one: what its bytes say, whether it loads, what
// its entry and tables are like, whether its strategies can be made, asked and taken down. A file that crashes or hangs there
// would have done so here.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace shunt::plugin {

struct preflight_limits {
    std::chrono::milliseconds time{5'000};          ///< for the whole file; it is killed after
    std::uint64_t memory = std::uint64_t{1} << 30;  ///< bytes of addresses the process may have; 0: no limit
    std::string helper;                             ///< the program shunt-preflight; empty: looked for beside the bundled plugins' folder
};

struct preflight_problem {
    std::string check;     ///< the name `plugin check --explain` takes; empty: the preflight itself could not be done
    std::string strategy;  ///< empty: it concerns the file
    std::string text;      ///< whole: file, strategy, what was found
};

struct preflight_result {
    std::vector<preflight_problem> problems;
    bool ran = false;                 ///< false: there is no helper, or it could not be started; problems says why
    std::vector<std::string> passed;  ///< names of checks, for the log
    [[nodiscard]] bool ok() const noexcept { return ran && problems.empty(); }
};

/// Blocks until the child has ended. Thread-safe; needs no event loop, installs no handler, starts no thread.
[[nodiscard]] preflight_result preflight(const std::string& file, const preflight_limits& limits = {});

}  // namespace shunt::plugin
