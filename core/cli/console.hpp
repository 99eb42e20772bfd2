// What people see: complaints and a progress line on stderr, tables of numbers. Results go to stdout.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shunt::cli {

/// "shunt COMMAND: TEXT" on stderr, for each line of the text.
void complain(std::string_view command, std::string_view text);

/// Text to stdout. False from the first write that failed on (a full disk; a closed pipe ends the program).
class output {
public:
    void write(std::string_view text);
    void line(std::string_view text);
    void flush();
    /// Flushes; complains if anything could not be written. False: then.
    [[nodiscard]] bool finish(std::string_view command);

private:
    std::string waiting_;
    int error_ = 0;
};

/// One line on a terminal that is written over a few times a second; nothing at all elsewhere.
class progress {
public:
    explicit progress(std::function<std::string()> text);
    /// Wipes the line.
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

private:
    std::mutex lock_;
    std::condition_variable ended_;
    bool end_ = false;
    std::thread thread_;
};

/// 1234567 -> "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t n);
/// 1530 us -> "1.53 ms".
[[nodiscard]] std::string shown(std::chrono::nanoseconds d);
/// 1 -> "1 message", 2 -> "2 messages".
[[nodiscard]] std::string counted(std::uint64_t n, std::string_view what);

/// Columns as wide as their widest cell; numbers to the right.
class table {
public:
    enum class side : std::uint8_t { left, right };
    explicit table(std::vector<side> columns) : columns_(std::move(columns)) {}
    /// As many cells as there are columns.
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    [[nodiscard]] std::string text() const;

private:
    std::vector<side> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace shunt::cli
