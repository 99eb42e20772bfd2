// Receipts as lines of a file, in the order the messages were submitted, whatever order the sends end in.
//
// A line that came early waits in memory for those before it. How many may wait is bounded: who is about to submit a
// message too far ahead of the oldest one that has not ended waits for that one.

#pragma once

#include <shunt/receipt.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace shunt::cli {

/// One line of JSON, without a line end.
[[nodiscard]] std::string receipt_line(std::uint64_t i, const receipt& r);

/// Thread-safe.
class receipt_file {
public:
    /// Creates or empties the file. Throws std::system_error.
    explicit receipt_file(std::string path, std::size_t window = 65536);
    ~receipt_file();
    receipt_file(const receipt_file&) = delete;
    receipt_file& operator=(const receipt_file&) = delete;

    /// Before message `i` is submitted: waits until there is room for its line. False: writing failed, submit no more.
    [[nodiscard]] bool admit(std::uint64_t i);
    /// Message `i` has ended. Once for each number from 0 on that was submitted.
    void put(std::uint64_t i, std::string line);
    /// Writes what is left. Empty: all lines are in the file; else what went wrong.
    [[nodiscard]] std::string finish();

private:
    void flush();

    const std::string path_;
    const std::size_t window_;
    int fd_ = -1;
    std::mutex lock_;
    std::condition_variable moved_;
    std::vector<std::optional<std::string>> waiting_;  // a ring: message i in slot i % size
    std::uint64_t next_ = 0;                           // the oldest message whose line is not written
    std::string out_;
    std::chrono::steady_clock::time_point flushed_{};
    int error_ = 0;
};

}  // namespace shunt::cli
