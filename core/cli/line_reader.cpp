#include "line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace shunt::cli {

namespace {

constexpr std::size_t read_size = 64 * 1024;

}  // namespace

line_reader::status line_reader::next(std::string_view& line)
{
    for (;;) {
        if (const auto end = buffer_.find('\n', looked_); end != std::string::npos) {
            line = std::string_view(buffer_).substr(begin_, end - begin_);
            looked_ = begin_ = end + 1;
            return status::line;
        }
        buffer_.erase(0, std::exchange(begin_, 0));
        looked_ = buffer_.size();
        if (ended_) {
            if (buffer_.empty())
                return status::end;
            line = buffer_;
            begin_ = buffer_.size();
            return status::line;
        }
        if (buffer_.size() > max_line)
            return status::too_long;

        std::array<pollfd, 2> wanted{pollfd{fd_, POLLIN, 0}, pollfd{stop_.fd(), POLLIN, 0}};
        if (::poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR)
            return status::failed;
        if (stop_.requested())
            return status::interrupted;
        if (wanted[0].revents == 0)
            continue;
        buffer_.resize(looked_ + read_size);
        const ssize_t got = ::read(fd_, buffer_.data() + looked_, read_size);
        buffer_.resize(looked_ + static_cast<std::size_t>(got > 0 ? got : 0));
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return status::failed;
        ended_ = got == 0;
    }
}

}  // namespace shunt::cli
