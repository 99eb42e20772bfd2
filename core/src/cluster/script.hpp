// Scripts of faults: lines such as `+2s broker-b hang`, read from a file and carried out in time.

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shunt::cluster {

struct script_step {
    std::chrono::microseconds at{};  ///< since the start
    std::string command;             ///< what follows the time: a fault, `ledger [FILE]` or `quit`
    int line = 0;
};

struct script {
    std::vector<script_step> steps;    ///< by time; lines of the same time in the order of the file
    std::vector<std::string> errors;   ///< one a bad line, with file and line; nothing should be run then
};

/// Empty lines and lines that begin with # are skipped. `file` is only named in errors. Commands are checked, but not
/// whether their brokers exist.
[[nodiscard]] script parse_script(std::string_view text, std::string_view file);

/// Carries out steps on a thread of its own. Steps that are not due when it is destroyed are not carried out.
class script_runner {
public:
    /// Times count from now. `carry_out` is called on the runner's thread, one step after another.
    script_runner(std::vector<script_step> steps, std::function<void(const script_step&)> carry_out);
    ~script_runner();
    script_runner(const script_runner&) = delete;
    script_runner& operator=(const script_runner&) = delete;

private:
    std::mutex mutex_;
    std::condition_variable stopped_;
    bool stop_ = false;
    std::thread thread_;
};

}  // namespace shunt::cluster
