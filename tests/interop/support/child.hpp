// A process of our own: started with its output in a file, watched, ended by its id, and never left behind.

#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace shunt::interop {

class child {
public:
    /// Starts argv[0], looked up in PATH. Standard input is empty; `out` and `err` are appended to and may be one file.
    /// The process is killed with this one, however this one ends. Throws std::runtime_error when it cannot be started.
    child(const std::vector<std::string>& argv, const std::filesystem::path& out, const std::filesystem::path& err);
    child(child&&) = delete;
    ~child();  ///< kills what still runs

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int number) const;
    /// SIGKILL, and back when the process is gone.
    void kill();
    /// Waits for the end. The exit status (128 + signal when killed), or nothing when it still runs after `limit`.
    [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds limit);

private:
    pid_t pid_ = -1;
    int pidfd_ = -1;
    std::optional<int> status_;
};

/// The last lines of a log, indented: for error messages.
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t lines = 15);

/// The text of a file; empty when there is none.
[[nodiscard]] std::string text_of(const std::filesystem::path& file);

}  // namespace shunt::interop
