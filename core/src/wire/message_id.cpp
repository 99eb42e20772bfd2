#include <wire/bytes.hpp>
#include <wire/message_id.hpp>
#include <wire/text.hpp>

namespace shunt::wire {
namespace {

constexpr char digits[] = "0123456789ABCDEF";

// Eight digits at once: each half byte of `v` in a byte of its own, then made a character.
char* put_word_hex(char* p, std::uint32_t v) noexcept
{
    std::uint64_t x = v;
    x = (x << 16 | x) & 0x0000ffff0000ffff;
    x = (x << 8 | x) & 0x00ff00ff00ff00ff;
    x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
    const std::uint64_t letters = (x + each_byte * 6) >> 4 & each_byte;
    x += each_byte * '0' + letters * ('A' - '0' - 10);
    if constexpr (std::endian::native == std::endian::little)
        x = __builtin_bswap64(x);
    std::memcpy(p, &x, 8);
    return p + 8;
}

// The low `bytes` bytes of `v`, high byte first.
char* put_hex(char* p, std::uint64_t v, int bytes) noexcept
{
    for (int shift = 8 * bytes - 4; shift >= 0; shift -= 4)
        *p++ = digits[v >> shift & 0xf];
    return p;
}

char* put_hex(char* p, std::span<const std::uint8_t> bytes) noexcept
{
    for (const std::uint8_t b : bytes)
        p = put_hex(p, b, 1);
    return p;
}

int hex_value(char c) noexcept
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

std::string address_text(std::span<const std::uint8_t> bytes)
{
    std::string out;
    if (bytes.size() == 4) {
        for (const std::uint8_t b : bytes)
            out += (out.empty() ? "" : ".") + std::to_string(b);
        return out;
    }
    // IPv6 as people write it: lower case, no leading zeros, the first longest run of two or more zero groups as "::".
    std::array<unsigned, 8> groups{};
    for (std::size_t i = 0; i < 8; ++i)
        groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    std::size_t gap = 8, gap_size = 1;
    for (std::size_t i = 0; i < 8; ++i) {
        std::size_t end = i;
        while (end < 8 && groups[end] == 0)
            ++end;
        if (end - i > gap_size) {
            gap = i;
            gap_size = end - i;
        }
    }
    for (std::size_t i = 0; i < 8;) {
        if (i == gap) {
            out += "::";
            i += gap_size;
            continue;
        }
        if (!out.empty() && out.back() != ':')
            out += ':';
        bool leading = true;
        for (int shift = 12; shift >= 0; shift -= 4) {
            const unsigned digit = groups[i] >> shift & 0xf;
            leading = leading && digit == 0 && shift != 0;
            if (!leading)
                out += "0123456789abcdef"[digit];
        }
        ++i;
    }
    return out;
}

}  // namespace

std::size_t write_uniq_key(const id_origin& origin, std::int64_t since_month_ms, std::uint64_t counter,
                           std::span<char, uniq_key_size_v6> out) noexcept
{
    const std::uint64_t ms = since_month_ms < 0 ? 0 : static_cast<std::uint64_t>(since_month_ms);
    const auto constant = static_cast<std::uint32_t>(origin.constant + (counter >> 16));
    const auto time = static_cast<std::uint32_t>(ms);
    char* p = out.data();
    for (std::size_t i = 0; i < (origin.ipv6 ? 16u : 4u); i += 4)
        p = put_word_hex(p, load_u32(reinterpret_cast<const char*>(origin.address.data() + i)));
    // Two bytes of process, four of constant, four of time, two of counter.
    p = put_word_hex(p, origin.pid << 16 | constant >> 16);
    p = put_word_hex(p, constant << 16 | time >> 16);
    p = put_word_hex(p, time << 16 | static_cast<std::uint16_t>(counter));
    return static_cast<std::size_t>(p - out.data());
}

std::string offset_id(std::span<const std::uint8_t> address, std::uint32_t port, std::int64_t offset)
{
    std::string out(2 * address.size() + 24, '\0');
    char* p = put_hex(out.data(), address);
    p = put_hex(p, port, 4);
    put_hex(p, static_cast<std::uint64_t>(offset), 8);
    return out;
}

std::optional<offset_id_parts> parse_offset_id(std::string_view text)
{
    if (text.size() != 32 && text.size() != 56)
        return std::nullopt;
    std::array<std::uint8_t, 28> bytes{};
    for (std::size_t i = 0; i < text.size(); i += 2) {
        const int high = hex_value(text[i]), low = hex_value(text[i + 1]);
        if (high < 0 || low < 0)
            return std::nullopt;
        bytes[i / 2] = static_cast<std::uint8_t>(high << 4 | low);
    }
    const std::size_t address_size = text.size() == 32 ? 4 : 16;
    const auto number = [&](std::size_t from, std::size_t size) {
        std::uint64_t v = 0;
        for (std::size_t i = from; i < from + size; ++i)
            v = v << 8 | bytes[i];
        return v;
    };
    offset_id_parts out;
    out.address = address_text(std::span{bytes}.first(address_size));
    out.port = static_cast<std::uint32_t>(number(address_size, 4));
    out.offset = static_cast<std::int64_t>(number(address_size + 4, 8));
    return out;
}

}  // namespace shunt::wire
