#include "receipts.hpp"

#include "json.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace shunt::cli {

namespace {

constexpr std::size_t flush_size = 64 * 1024;
constexpr std::chrono::milliseconds flush_period{100};  // somebody may be reading along

std::int64_t in_us(std::chrono::nanoseconds d) { return std::chrono::duration_cast<std::chrono::microseconds>(d).count(); }

}  // namespace

std::string receipt_line(std::uint64_t i, const receipt& r)
{
    json out;
    out.object().member("i", i).member("outcome", to_string(r.outcome)).member("msg_id", r.msg_id.view());
    out.member("offset_msg_id", r.offset_msg_id.view()).member("broker", r.broker).member("queue", r.queue);
    out.member("offset", r.offset).member("status", r.outcome == outcome::stored ? to_string(r.status) : std::string_view{});
    out.member("policy", r.policy).member("generation", r.generation).member("latency_us", in_us(r.latency));
    out.key("attempts").array();
    for (const attempt& a : r.attempts) {
        out.object().member("broker", a.broker).member("queue", a.queue).member("outcome", to_string(a.outcome));
        out.member("code", a.code).member("text", a.text).member("latency_us", in_us(a.latency)).member("why", a.why).end_object();
    }
    out.end_array();
    if (r.error.failed())
        out.member("error", r.error.message());
    if (!r.reason.empty())
        out.member("reason", r.reason);
    if (!r.recall_handle.empty())
        out.member("recall_handle", r.recall_handle);
    if (r.after_unknown)
        out.member("after_unknown", true);
    return out.end_object().take();
}

receipt_file::receipt_file(std::string path, std::size_t window)
    : path_(std::move(path)), window_(window), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      waiting_(window)
{
    if (fd_ < 0)
        throw std::system_error(errno, std::generic_category(), path_);
}

receipt_file::~receipt_file()
{
    if (fd_ >= 0)
        ::close(fd_);
}

bool receipt_file::admit(std::uint64_t i)
{
    std::unique_lock lock(lock_);
    moved_.wait(lock, [&] { return i < next_ + window_; });
    return error_ == 0;
}

void receipt_file::put(std::uint64_t i, std::string line)
{
    const std::lock_guard lock(lock_);
    waiting_[i % window_] = std::move(line);
    if (i != next_)
        return;
    for (auto* slot = &waiting_[next_ % window_]; slot->has_value(); slot = &waiting_[next_ % window_]) {
        out_ += **slot;
        out_ += '\n';
        slot->reset();
        ++next_;
    }
    moved_.notify_all();
    const auto now = std::chrono::steady_clock::now();
    if (out_.size() >= flush_size || now - flushed_ >= flush_period) {
        flush();
        flushed_ = now;
    }
}

void receipt_file::flush()
{
    for (std::string_view left = out_; error_ == 0 && !left.empty();) {
        const ssize_t n = ::write(fd_, left.data(), left.size());
        if (n >= 0)
            left.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            error_ = errno;
    }
    out_.clear();
}

std::string receipt_file::finish()
{
    const std::lock_guard lock(lock_);
    flush();
    if (::close(std::exchange(fd_, -1)) != 0 && error_ == 0)
        error_ = errno;
    if (error_ == 0)
        return {};
    return "receipts cannot be written to '" + path_ + "': " + std::generic_category().message(error_);
}

}  // namespace shunt::cli
