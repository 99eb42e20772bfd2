// Pieces of text that the encoders share: decimal digits and JSON strings, written straight to memory.
//
// Each function writes at `p` and returns the end. Room is the caller's: the sizes below are what to grab.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace shunt::wire {

/// Most characters of a decimal: 19 digits and a sign.
inline constexpr std::size_t decimal_room = 20;

/// Most bytes put_json_text touches: six for a control character, and some as it copies in words.
[[nodiscard]] constexpr std::size_t json_text_room(std::size_t size) noexcept { return 6 * size + 16; }

inline constexpr char digit_pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

inline char* put_literal(char* p, std::string_view s) noexcept
{
    if (!s.empty())  // an empty view may have no memory at all
        std::memcpy(p, s.data(), s.size());
    return p + s.size();
}

/// `s` is the literal. Compared in words, as its length is known when compiling.
template <std::size_t N>
[[nodiscard]] inline bool is(std::string_view s, const char (&literal)[N]) noexcept
{
    return s.size() == N - 1 && std::memcmp(s.data(), literal, N - 1) == 0;
}

/// How many decimal digits `u` has.
[[nodiscard]] constexpr std::size_t decimal_size(std::uint32_t u) noexcept
{
    constexpr std::uint32_t powers[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};
    const auto guess = static_cast<std::size_t>(std::bit_width(u | 1) * 1233) >> 12;
    return guess + (u >= powers[guess] ? 1 : 0);
}

/// Exactly eight digits, with zeros in front where `u` has fewer.
inline void put_eight_digits(char* p, std::uint32_t u) noexcept
{
    const std::uint32_t high = u / 10'000, low = u % 10'000;
    std::memcpy(p, digit_pairs + 2 * (high / 100), 2);
    std::memcpy(p + 2, digit_pairs + 2 * (high % 100), 2);
    std::memcpy(p + 4, digit_pairs + 2 * (low / 100), 2);
    std::memcpy(p + 6, digit_pairs + 2 * (low % 100), 2);
}

/// `u` is below 100,000,000.
inline char* put_small_decimal(char* p, std::uint32_t u) noexcept
{
    char* const end = p + decimal_size(u);
    char* at = end;
    for (; u >= 100; u /= 100) {
        at -= 2;
        std::memcpy(at, digit_pairs + 2 * (u % 100), 2);
    }
    if (u >= 10)
        std::memcpy(at - 2, digit_pairs + 2 * u, 2);
    else
        at[-1] = static_cast<char>('0' + u);
    return end;
}

inline char* put_long_decimal(char* p, std::int64_t v) noexcept
{
    constexpr std::uint32_t eight_digits = 100'000'000;
    auto u = static_cast<std::uint64_t>(v);
    if (v < 0) {
        *p++ = '-';
        u = 0 - u;
    }
    if (u < eight_digits)
        return put_small_decimal(p, static_cast<std::uint32_t>(u));
    const std::uint64_t high = u / eight_digits;
    if (high < eight_digits) {
        p = put_small_decimal(p, static_cast<std::uint32_t>(high));
    } else {
        p = put_small_decimal(p, static_cast<std::uint32_t>(high / eight_digits));
        put_eight_digits(p, static_cast<std::uint32_t>(high % eight_digits));
        p += 8;
    }
    put_eight_digits(p, static_cast<std::uint32_t>(u % eight_digits));
    return p + 8;
}

inline char* put_decimal(char* p, std::int64_t v) noexcept
{
    if (static_cast<std::uint64_t>(v) < 10) {
        *p = static_cast<char>('0' + v);
        return p + 1;
    }
    return put_long_decimal(p, v);
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

inline constexpr std::uint64_t each_byte = 0x0101010101010101;

/// Top bits of the bytes equal to `c` (an ASCII character). Exact up to the first one; above it there may be noise.
[[nodiscard]] constexpr std::uint64_t bytes_equal(std::uint64_t word, char c) noexcept
{
    return ((word ^ each_byte * static_cast<unsigned char>(c)) - each_byte) & ~word & each_byte * 0x80;
}

/// Top bits of the bytes JSON wants escaped: below 0x20, quote, backslash. Exact for all eight.
[[nodiscard]] constexpr std::uint64_t bytes_to_escape(std::uint64_t word) noexcept
{
    constexpr std::uint64_t low_bits = each_byte * 0x7f;
    const std::uint64_t low = word & low_bits;
    const std::uint64_t printable = low + each_byte * 0x60;
    const std::uint64_t no_quote = (low ^ each_byte * '"') + low_bits;
    const std::uint64_t no_backslash = (low ^ each_byte * '\\') + low_bits;
    return ~((printable & no_quote & no_backslash) | word) & each_byte * 0x80;
}

inline char* put_json_escape(char* p, char c) noexcept
{
    if (static_cast<unsigned char>(c) >= 0x20) {  // quote or backslash
        p[0] = '\\';
        p[1] = c;
        return p + 2;
    }
    std::memcpy(p, "\\u00", 4);
    p[4] = static_cast<char>('0' + (c >> 4));
    p[5] = "0123456789abcdef"[c & 0xf];
    return p + 6;
}

#if defined(__SSE2__)
/// Places of the bytes to escape, a bit each. max() keeps what is at least 0x20 as it is.
[[nodiscard]] inline unsigned places_to_escape(__m128i bytes) noexcept
{
    const __m128i printable = _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8(0x20)), bytes);
    const __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_andnot_si128(marks, printable))) ^ 0xffff;
}
#endif

/// The inside of a JSON string: UTF-8 as it is, control characters, quotes and backslashes escaped. Copies in words,
/// since properties are long runs of plain text with a separator now and then.
inline char* put_json_text(char* p, std::string_view text) noexcept
{
    const char* in = text.data();
    auto left = text.size();
#if defined(__SSE2__)
    while (left >= 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
        const unsigned hits = places_to_escape(bytes);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
        if (hits == 0) {
            p += 16;
            in += 16;
            left -= 16;
            continue;
        }
        const auto clean = static_cast<std::size_t>(std::countr_zero(hits));
        p = put_json_escape(p + clean, in[clean]);
        in += clean + 1;
        left -= clean + 1;
    }
    if (left >= 8) {
        // Two overlapping halves: most names and ends of texts are plain and take one look.
        const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
        const __m128i last = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + left - 8));
        if (places_to_escape(_mm_unpacklo_epi64(first, last)) == 0) {
            _mm_storel_epi64(reinterpret_cast<__m128i*>(p), first);
            _mm_storel_epi64(reinterpret_cast<__m128i*>(p + left - 8), last);
            return p + left;
        }
    }
#endif
    while (left >= 8) {
        const std::uint64_t hits = bytes_to_escape(load_word(in));
        std::memcpy(p, in, 8);
        if (hits == 0) [[likely]] {
            p += 8;
            in += 8;
            left -= 8;
            continue;
        }
        const auto clean = static_cast<std::size_t>(std::countr_zero(hits)) / 8;
        p = put_json_escape(p + clean, in[clean]);
        in += clean + 1;
        left -= clean + 1;
    }
    if (left >= 4) {
        // Overlapping halves again, for 4 to 7 characters.
        std::uint32_t first, last;
        std::memcpy(&first, in, 4);
        std::memcpy(&last, in + left - 4, 4);
        if (bytes_to_escape(std::uint64_t{first} << 32 | last) == 0) [[likely]] {
            std::memcpy(p, &first, 4);
            std::memcpy(p + left - 4, &last, 4);
            return p + left;
        }
    }
    for (; left != 0; --left, ++in) {
        if (static_cast<unsigned char>(*in) >= 0x20 && *in != '"' && *in != '\\')
            *p++ = *in;
        else
            p = put_json_escape(p, *in);
    }
    return p;
}

/// First quote or backslash from `p` on, or `end`.
[[nodiscard]] inline const char* find_string_stop(const char* p, const char* end) noexcept
{
#if defined(__SSE2__)
    for (; end - p >= 16; p += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        if (const auto hits = static_cast<unsigned>(_mm_movemask_epi8(marks)); hits != 0)
            return p + std::countr_zero(hits);
    }
#endif
    for (; end - p >= 8; p += 8) {
        const std::uint64_t w = load_word(p);
        if (const std::uint64_t hits = bytes_equal(w, '"') | bytes_equal(w, '\\'); hits != 0)
            return p + std::countr_zero(hits) / 8;
    }
    while (p != end && *p != '"' && *p != '\\')
        ++p;
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
