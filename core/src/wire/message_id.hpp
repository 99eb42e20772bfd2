// Message ids: UNIQ_KEY, made by the client, and the offset id, made by the broker.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shunt::wire {

/// What makes ids of one process differ from those of every other. All of it comes in from outside.
struct id_origin {
    std::array<std::uint8_t, 16> address{};  ///< network order; IPv4 uses the first four
    bool ipv6 = false;
    std::uint32_t pid = 0;                   ///< the low 16 bits are shown
    std::uint32_t constant = 0;              ///< random, per process
};

inline constexpr std::size_t uniq_key_size_v4 = 32, uniq_key_size_v6 = 56;

/// Writes 32 (IPv4) or 56 (IPv6) upper-case hex digits to `out` and returns how many. `since_month_ms`: milliseconds
/// since the start of the month, negative clamps to 0; `counter`: + 1 for each id, its low 16 bits are shown (the bits
/// above are added to the constant, so that more than 65,536 ids in one millisecond stay different).
std::size_t write_uniq_key(const id_origin& origin, std::int64_t since_month_ms, std::uint64_t counter,
                           std::span<char, uniq_key_size_v6> out) noexcept;

/// Upper-case hex of address, port, commit-log offset: what a broker answers as msgId.
[[nodiscard]] std::string offset_id(std::span<const std::uint8_t> address, std::uint32_t port, std::int64_t offset);

struct offset_id_parts {
    std::string address;  ///< "127.0.0.1", "2001:db8::1"
    std::uint32_t port = 0;
    std::int64_t offset = 0;
};
/// Nothing when `text` is not 32 or 56 hex digits.
[[nodiscard]] std::optional<offset_id_parts> parse_offset_id(std::string_view text);

}  // namespace shunt::wire
