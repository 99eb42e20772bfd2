// XXH3, 64 bits, seed 0: what a host puts into message::hash64(), so that a test places keys where production does.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace shunt::sdk::testing {
namespace detail {

class xxh3 {
public:
    [[nodiscard]] static std::uint64_t of(std::string_view s) noexcept
    {
        const char* const in = s.data();
        const std::size_t n = s.size();
        if (n == 0)
            return finish_64(key(56) ^ key(64));
        if (n <= 3) {
            const std::uint64_t first = byte(in, 0), middle = byte(in, n >> 1), last = byte(in, n - 1);
            return finish_64((first << 16 | middle << 24 | last | std::uint64_t{n} << 8) ^ (read_32(secret) ^ read_32(secret + 4)));
        }
        if (n <= 8)
            return of_4_to_8(in, n);
        if (n <= 16) {
            const std::uint64_t low = read(in) ^ (key(24) ^ key(32)), high = read(in + n - 8) ^ (key(40) ^ key(48));
            return finish(n + __builtin_bswap64(low) + high + fold(low, high));
        }
        if (n <= 128)
            return of_17_to_128(in, n);
        return n <= 240 ? of_129_to_240(in, n) : of_long(in, n);
    }

private:
    static constexpr std::uint64_t p32_1 = 0x9E3779B1, p32_2 = 0x85EBCA77, p32_3 = 0xC2B2AE3D;
    static constexpr std::uint64_t p64_1 = 0x9E3779B185EBCA87, p64_2 = 0xC2B2AE3D27D4EB4F, p64_3 = 0x165667B19E3779F9,
                                   p64_4 = 0x85EBCA77C2B2AE63, p64_5 = 0x27D4EB2F165667C5;

    // The constant of the algorithm's description.
    static constexpr unsigned char secret[192] = {
        0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
        0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
        0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
        0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
        0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
        0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
        0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
        0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
        0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
        0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
        0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
        0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
    };

    template <class Byte>
    static std::uint64_t read(const Byte* at) noexcept
    {
        std::uint64_t v = 0;
        std::memcpy(&v, at, sizeof v);
        return v;
    }
    template <class Byte>
    static std::uint32_t read_32(const Byte* at) noexcept
    {
        std::uint32_t v = 0;
        std::memcpy(&v, at, sizeof v);
        return v;
    }
    static std::uint64_t byte(const char* in, std::size_t i) noexcept { return static_cast<unsigned char>(in[i]); }
    static std::uint64_t key(std::size_t at) noexcept { return read(secret + at); }
    static std::uint64_t rotated(std::uint64_t x, int by) noexcept { return x << by | x >> (64 - by); }

    static std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept
    {
        __extension__ using wide = unsigned __int128;
        const wide product = wide{a} * b;
        return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    static std::uint64_t finish(std::uint64_t h) noexcept
    {
        h = (h ^ h >> 37) * 0x165667919E3779F9u;
        return h ^ h >> 32;
    }
    static std::uint64_t finish_64(std::uint64_t h) noexcept
    {
        h = (h ^ h >> 33) * p64_2;
        h = (h ^ h >> 29) * p64_3;
        return h ^ h >> 32;
    }
    static std::uint64_t mixed(const char* in, std::size_t at) noexcept { return fold(read(in) ^ key(at), read(in + 8) ^ key(at + 8)); }

    static std::uint64_t of_4_to_8(const char* in, std::size_t n) noexcept
    {
        std::uint64_t h = (read_32(in + n - 4) + (std::uint64_t{read_32(in)} << 32)) ^ (key(8) ^ key(16));
        h ^= rotated(h, 49) ^ rotated(h, 24);
        h *= 0x9FB21C651E98DF25u;
        h ^= (h >> 35) + n;
        h *= 0x9FB21C651E98DF25u;
        return h ^ h >> 28;
    }

    static std::uint64_t of_17_to_128(const char* in, std::size_t n) noexcept
    {
        std::uint64_t sum = n * p64_1;
        for (std::size_t i = (n - 1) / 32 + 1; i-- > 0;)
            sum += mixed(in + 16 * i, 32 * i) + mixed(in + n - 16 * (i + 1), 32 * i + 16);
        return finish(sum);
    }

    static std::uint64_t of_129_to_240(const char* in, std::size_t n) noexcept
    {
        std::uint64_t sum = n * p64_1;
        for (std::size_t i = 0; i < 8; ++i)
            sum += mixed(in + 16 * i, 16 * i);
        sum = finish(sum);
        for (std::size_t i = 8; i < n / 16; ++i)
            sum += mixed(in + 16 * i, 16 * (i - 8) + 3);
        return finish(sum + mixed(in + n - 16, 119));
    }

    static std::uint64_t of_long(const char* in, std::size_t n) noexcept
    {
        constexpr std::size_t stripe = 64, stripes = 16, block = stripe * stripes;
        std::uint64_t sums[8] = {p32_3, p64_1, p64_2, p64_3, p64_4, p32_2, p64_5, p32_1};
        const auto add = [&](const char* at, std::size_t with) {
            for (std::size_t i = 0; i < 8; ++i) {
                const std::uint64_t data = read(at + 8 * i), keyed = data ^ key(with + 8 * i);
                sums[i ^ 1] += data;
                sums[i] += (keyed & 0xFFFFFFFF) * (keyed >> 32);
            }
        };
        const std::size_t blocks = (n - 1) / block;
        for (std::size_t b = 0; b < blocks; ++b) {
            for (std::size_t s = 0; s < stripes; ++s)
                add(in + b * block + s * stripe, 8 * s);
            for (std::size_t i = 0; i < 8; ++i)
                sums[i] = (sums[i] ^ sums[i] >> 47 ^ key(128 + 8 * i)) * p32_1;
        }
        for (std::size_t s = 0; s < (n - 1 - block * blocks) / stripe; ++s)
            add(in + blocks * block + s * stripe, 8 * s);
        add(in + n - stripe, 121);
        std::uint64_t result = n * p64_1;
        for (std::size_t i = 0; i < 4; ++i)
            result += fold(sums[2 * i] ^ key(11 + 16 * i), sums[2 * i + 1] ^ key(19 + 16 * i));
        return finish(result);
    }
};

}  // namespace detail

[[nodiscard]] inline std::uint64_t xxh3_64(std::string_view key) noexcept { return detail::xxh3::of(key); }

}  // namespace shunt::sdk::testing
