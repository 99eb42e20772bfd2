// Pieces of text that the encoders share: decimal digits and JSON strings, written straight to memory.
//
// Each function writes at `p` and returns the end. Room is the caller's: the sizes below are what to grab.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace shunt::wire {

/// Most characters of a decimal: 19 digits and a sign.
inline constexpr std::size_t decimal_room = 20;

/// Most bytes put_json_text touches: six for a control character, and eight as it copies in words.
[[nodiscard]] constexpr std::size_t json_text_room(std::size_t size) noexcept { return 6 * size + 8; }

inline constexpr char digit_pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

inline char* put_literal(char* p, std::string_view s) noexcept
{
    std::memcpy(p, s.data(), s.size());
    return p + s.size();
}

inline char* put_decimal(char* p, std::int64_t v) noexcept
{
    auto u = static_cast<std::uint64_t>(v);
    if (v < 0) {
        *p++ = '-';
        u = 0 - u;
    }
    if (u < 10) {
        *p = static_cast<char>('0' + u);
        return p + 1;
    }
    char digits[decimal_room];
    char* first = digits + sizeof digits;
    while (u >= 10) {
        first -= 2;
        std::memcpy(first, digit_pairs + 2 * (u % 100), 2);
        u /= 100;
    }
    if (u != 0)
        *--first = static_cast<char>('0' + u);
    const auto size = static_cast<std::size_t>(digits + sizeof digits - first);
    std::memcpy(p, first, size);
    return p + size;
}

/// Eight bytes, the first one lowest.
[[nodiscard]] inline std::uint64_t load_word(const char* p) noexcept
{
    std::uint64_t w;
    std::memcpy(&w, p, 8);
    if constexpr (std::endian::native == std::endian::big)
        w = __builtin_bswap64(w);
    return w;
}

/// 1 to 7 bytes, the first one lowest, zeros above; reads no byte beyond them.
[[nodiscard]] inline std::uint64_t load_short_word(const char* p, std::size_t size) noexcept
{
    const auto byte = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])} << (8 * i); };
    if (size < 4)
        return byte(0) | byte(size / 2) | byte(size - 1);
    std::uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + size - 4, 4);
    if constexpr (std::endian::native == std::endian::big) {
        low = __builtin_bswap32(low);
        high = __builtin_bswap32(high);
    }
    return std::uint64_t{low} | std::uint64_t{high} << (8 * (size - 4));
}

inline constexpr std::uint64_t each_byte = 0x0101010101010101;

/// Top bits of the bytes equal to `c` (an ASCII character). Exact up to the first one; what is set above it may be noise.
[[nodiscard]] constexpr std::uint64_t bytes_equal(std::uint64_t word, char c) noexcept
{
    return ((word ^ each_byte * static_cast<unsigned char>(c)) - each_byte) & ~word & each_byte * 0x80;
}

/// Top bits of the bytes JSON wants escaped: below 0x20, quote, backslash. Exact up to the first one.
[[nodiscard]] constexpr std::uint64_t bytes_to_escape(std::uint64_t word) noexcept
{
    return ((word - each_byte * 0x20) & ~word & each_byte * 0x80) | bytes_equal(word, '"') | bytes_equal(word, '\\');
}

inline char* put_json_escape(char* p, char c) noexcept
{
    if (c == '"' || c == '\\') {
        p[0] = '\\';
        p[1] = c;
        return p + 2;
    }
    std::memcpy(p, "\\u0000", 6);
    p[4] = static_cast<char>('0' + (c >> 4));  // control characters only: 0 or 1
    p[5] = "0123456789abcdef"[c & 0xf];
    return p + 6;
}

/// The inside of a JSON string: UTF-8 as it is, control characters, quotes and backslashes escaped. Copies in words,
/// since properties are long runs of plain text with a separator now and then.
inline char* put_json_text(char* p, std::string_view text) noexcept
{
    const char* in = text.data();
    std::size_t left = text.size();
    while (left != 0) {
        const std::size_t size = left < 8 ? left : 8;
        std::uint64_t word = size == 8 ? load_word(in) : load_short_word(in, size);
        std::uint64_t hits = bytes_to_escape(word);
        if (size < 8)
            hits &= (std::uint64_t{1} << (8 * size)) - 1;
        if constexpr (std::endian::native == std::endian::big)
            word = __builtin_bswap64(word);
        std::memcpy(p, &word, 8);
        if (hits == 0) [[likely]] {
            p += size;
            in += size;
            left -= size;
            continue;
        }
        const auto clean = static_cast<std::size_t>(std::countr_zero(hits)) / 8;
        p = put_json_escape(p + clean, in[clean]);
        in += clean + 1;
        left -= clean + 1;
    }
    return p;
}

/// A whole decimal number with an optional minus that fits; nothing else may stand beside it.
[[nodiscard]] inline bool read_decimal(std::string_view text, std::int64_t& out) noexcept
{
    const bool negative = !text.empty() && text.front() == '-';
    if (negative)
        text.remove_prefix(1);
    if (text.empty() || text.size() > 19)
        return false;
    std::uint64_t u = 0;
    for (const char c : text) {
        if (c < '0' || c > '9')
            return false;
        u = u * 10 + static_cast<std::uint64_t>(c - '0');
    }
    const std::uint64_t most = std::uint64_t{INT64_MAX} + (negative ? 1 : 0);
    if (u > most)
        return false;
    out = static_cast<std::int64_t>(negative ? 0 - u : u);
    return true;
}

}  // namespace shunt::wire
