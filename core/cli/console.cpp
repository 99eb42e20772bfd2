#include "console.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace shunt::cli {

namespace {

constexpr std::size_t output_size = 64 * 1024;
constexpr std::chrono::milliseconds progress_period{250};

/// 0, or the error.
int write_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno != EINTR)
            return errno;
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    return 0;
}

/// Characters, not bytes.
std::size_t width(std::string_view text)
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void complain(std::string_view command, std::string_view text)
{
    std::string out;
    while (!text.empty()) {
        const auto end = text.find('\n');
        out += fmt::format("shunt{}{}: {}\n", command.empty() ? "" : " ", command, text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    (void)write_all(STDERR_FILENO, out);
}

void output::write(std::string_view text)
{
    waiting_ += text;
    if (waiting_.size() >= output_size)
        flush();
}

void output::line(std::string_view text)
{
    waiting_ += text;
    write("\n");
}

void output::flush()
{
    if (const int error = write_all(STDOUT_FILENO, waiting_); error_ == 0)
        error_ = error;
    waiting_.clear();
}

bool output::finish(std::string_view command)
{
    flush();
    if (error_ == 0)
        return true;
    complain(command, "writing to stdout failed: " + std::generic_category().message(error_));
    return false;
}

progress::progress(std::function<std::string()> text)
{
    if (::isatty(STDERR_FILENO) == 0)
        return;
    thread_ = std::thread([this, text = std::move(text)] {
        std::unique_lock lock(lock_);
        while (!ended_.wait_for(lock, progress_period, [this] { return end_; }))
            (void)write_all(STDERR_FILENO, "\r\033[K" + text());
        (void)write_all(STDERR_FILENO, "\r\033[K");
    });
}

progress::~progress()
{
    if (!thread_.joinable())
        return;
    {
        const std::lock_guard lock(lock_);
        end_ = true;
    }
    ended_.notify_all();
    thread_.join();
}

std::string grouped(std::uint64_t n)
{
    std::string text = std::to_string(n);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

std::string shown(std::chrono::nanoseconds d)
{
    const auto ns = static_cast<double>(d.count());
    if (ns < 1e6)
        return fmt::format("{:.0f} us", ns / 1e3);
    if (ns < 1e9)
        return fmt::format("{:.{}f} ms", ns / 1e6, ns < 1e7 ? 2 : ns < 1e8 ? 1 : 0);
    return fmt::format("{:.2f} s", ns / 1e9);
}

std::string counted(std::uint64_t n, std::string_view what)
{
    return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

std::string table::text() const
{
    std::vector<std::size_t> widths(columns_.size());
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width(row[i]));
    }
    std::string out;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string room(widths[i] - width(row[i]), ' ');
            line += (i == 0 ? "" : "  ") + (columns_[i] == side::left ? row[i] + room : room + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

}  // namespace shunt::cli
