// Hashes of keys, as other RocketMQ clients and partitioners compute them. XXH3 comes ready-made in message::hash64().

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace shunt::sdk {

static_assert(std::endian::native == std::endian::little, "shunt: the hashes below read words in memory order");

namespace detail {

inline constexpr std::uint32_t replacement_character = 0xFFFD;

struct decoded {
    std::uint32_t code_point;
    std::size_t length;
};

/// One character of UTF-8 that is not ASCII, at s[at]. What is not UTF-8 counts as U+FFFD, once for each part that could
/// have begun a character (Unicode's "maximal subpart", what browsers and Java's own decoder do).
inline decoded decode(std::string_view s, std::size_t at) noexcept
{
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(s[at + i]); };
    const std::uint32_t lead = byte(0);
    std::size_t length = 0;
    std::uint32_t low = 0x80, high = 0xBF;  // what the second byte may be; later ones are 80..BF
    if (lead >= 0xC2 && lead <= 0xDF)
        length = 2;
    else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        low = lead == 0xE0 ? 0xA0 : 0x80;   // no overlong forms
        high = lead == 0xED ? 0x9F : 0xBF;  // no surrogates
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        low = lead == 0xF0 ? 0x90 : 0x80;
        high = lead == 0xF4 ? 0x8F : 0xBF;  // nothing beyond U+10FFFF
    } else {
        return {replacement_character, 1};
    }

    std::uint32_t code_point = lead & (0xFFu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i >= s.size() || byte(i) < low || byte(i) > high)
            return {replacement_character, i};
        code_point = code_point << 6 | (byte(i) & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    return {code_point, length};
}

}  // namespace detail

/// java.lang.String.hashCode of the text whose UTF-8 is `key`: over UTF-16 units, wrapping at 32 bits.
[[nodiscard]] inline std::int32_t java_hash(std::string_view key) noexcept
{
    std::uint32_t h = 0;
    const auto add = [&h](std::uint32_t unit) { h = 31 * h + unit; };
    const auto ascii = [](std::uint64_t eight) { return (eight & 0x8080808080808080u) == 0; };

    for (std::size_t i = 0; i < key.size();) {
        std::uint64_t eight = 0;
        if (key.size() - i >= sizeof eight && (std::memcpy(&eight, key.data() + i, sizeof eight), ascii(eight))) {
            // The same sum, without each step waiting for the one before: 31^8 h + 31^7 u0 + 31^6 u1 + ...
            const auto unit = [eight](int n) { return static_cast<std::uint32_t>(eight >> (8 * n) & 0xFF); };
            const std::uint32_t first = 31 * (31 * (31 * unit(0) + unit(1)) + unit(2)) + unit(3);
            const std::uint32_t second = 31 * (31 * (31 * unit(4) + unit(5)) + unit(6)) + unit(7);
            h = h * (923521u * 923521u) + first * 923521u + second;  // 31^4 = 923521
            i += sizeof eight;
        } else if (static_cast<unsigned char>(key[i]) < 0x80) {
            add(static_cast<unsigned char>(key[i++]));
        } else {
            const auto [c, length] = detail::decode(key, i);
            if (c < 0x10000) {
                add(c);
            } else {
                add(0xD800 + ((c - 0x10000) >> 10));
                add(0xDC00 + (c & 0x3FF));
            }
            i += length;
        }
    }
    return static_cast<std::int32_t>(h);
}

/// RocketMQ's way from a hash to one of n queues: the absolute value of the remainder. n > 0.
[[nodiscard]] constexpr std::uint32_t abs_mod(std::int32_t h, std::uint32_t n) noexcept
{
    const std::int64_t remainder = std::int64_t{h} % std::int64_t{n};
    return static_cast<std::uint32_t>(remainder < 0 ? -remainder : remainder);
}

/// MurmurHash2, 32 bits, with the seed other queueing clients use.
[[nodiscard]] inline std::uint32_t murmur2(std::string_view key, std::uint32_t seed = 0x9747b28c) noexcept
{
    constexpr std::uint32_t m = 0x5bd1e995;
    std::uint32_t h = seed ^ static_cast<std::uint32_t>(key.size());
    std::size_t i = 0;
    for (; key.size() - i >= 4; i += 4) {
        std::uint32_t k = 0;
        std::memcpy(&k, key.data() + i, 4);
        k *= m;
        k ^= k >> 24;
        h = h * m ^ k * m;
    }
    if (i < key.size()) {
        std::uint32_t rest = 0;
        std::memcpy(&rest, key.data() + i, key.size() - i);
        h = (h ^ rest) * m;
    }
    h ^= h >> 13;
    h *= m;
    return h ^ h >> 15;
}

/// FNV-1a, 32 bits: what the Go client uses.
[[nodiscard]] constexpr std::uint32_t fnv1a(std::string_view key) noexcept
{
    std::uint32_t h = 2166136261u;
    for (const char c : key)
        h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
    return h;
}

/// FNV-1a, 64 bits: for names.
[[nodiscard]] constexpr std::uint64_t fnv1a_64(std::string_view key) noexcept
{
    std::uint64_t h = 14695981039346656037u;
    for (const char c : key)
        h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return h;
}

/// Spreads every bit of `x` over all 64: numbers that follow each other come out unrelated. One to one.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

}  // namespace shunt::sdk
