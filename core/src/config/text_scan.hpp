// A first look at a configuration's text, before it is parsed: is it UTF-8 text at all, and of a sane shape?

#pragma once

#include <config/problem.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::config {

/// Larger files are refused: a configuration is written by people.
inline constexpr std::size_t max_file_bytes = 1024 * 1024;
/// Parts of a dotted key or table header: more are refused, for each costs the parser a level of its stack.
inline constexpr std::size_t max_key_parts = 16;

/// A line that opens a table: "[policies.default]". `offset` is its first byte in the text.
struct table_header {
    std::uint32_t line = 0;
    std::size_t offset = 0;
};

struct text_scan {
    std::optional<problem> wrong;       ///< the first thing that forbids parsing
    std::vector<table_header> headers;  ///< up to it
};

/// `text` without a byte order mark at its start, which some editors write.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text) noexcept;

/// Scans `text`, whose byte order mark was taken off; `file` is for the problem.
[[nodiscard]] text_scan scan_text(std::string_view text, const std::string& file);

/// Line number `line` (from 1), without its end.
[[nodiscard]] std::string_view line_of(std::string_view text, std::uint32_t line) noexcept;

}  // namespace shunt::config
