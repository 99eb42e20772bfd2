// Lines from a file descriptor, until its end or an interrupt.

#pragma once

#include "interrupts.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shunt::cli {

class line_reader {
public:
    enum class status : std::uint8_t {
        line,         ///< without its line end; the last one may have none
        end,          ///< nothing is left
        interrupted,
        too_long,     ///< longer than max_line
        failed,       ///< errno says why
    };
    static constexpr std::size_t max_line = 64 * 1024 * 1024;

    line_reader(int fd, const interrupts& stop) : fd_(fd), stop_(stop) {}

    /// `line` stays valid until the next call.
    [[nodiscard]] status next(std::string_view& line);

private:
    int fd_;
    const interrupts& stop_;
    std::string buffer_;
    std::size_t begin_ = 0;    // of the next line
    std::size_t looked_ = 0;   // no line end between begin_ and here
    bool ended_ = false;
};

}  // namespace shunt::cli
