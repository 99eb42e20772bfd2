// Big-endian numbers, read from and written to memory, and a cursor that never reads past its bytes.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace shunt::wire {

[[nodiscard]] inline std::uint32_t load_u32(const char* p) noexcept
{
    const auto* b = reinterpret_cast<const unsigned char*>(p);
    return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

inline char* store_u32(char* p, std::uint32_t v) noexcept
{
    if constexpr (std::endian::native == std::endian::little)
        v = __builtin_bswap32(v);
    std::memcpy(p, &v, 4);
    return p + 4;
}

inline char* store_u16(char* p, std::uint16_t v) noexcept
{
    p[0] = static_cast<char>(v >> 8);
    p[1] = static_cast<char>(v);
    return p + 2;
}

/// Reads front to back. What does not fit reads as zero or nothing and makes the cursor fail from then on.
class byte_reader {
public:
    explicit byte_reader(std::string_view bytes) noexcept : rest_(bytes) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }

    [[nodiscard]] std::uint8_t u8() noexcept { return static_cast<std::uint8_t>(number(1)); }
    [[nodiscard]] std::uint16_t u16() noexcept { return static_cast<std::uint16_t>(number(2)); }
    [[nodiscard]] std::uint32_t u32() noexcept { return static_cast<std::uint32_t>(number(4)); }
    [[nodiscard]] std::int16_t i16() noexcept { return static_cast<std::int16_t>(number(2)); }
    [[nodiscard]] std::int32_t i32() noexcept { return static_cast<std::int32_t>(number(4)); }
    [[nodiscard]] std::int64_t i64() noexcept { return static_cast<std::int64_t>(number(8)); }

    /// A negative or too large size, as a wire may claim, fails.
    [[nodiscard]] std::string_view take(std::int64_t size) noexcept
    {
        if (static_cast<std::uint64_t>(size) > rest_.size()) {  // a negative one is huge here
            ok_ = false;
            rest_ = {};
            return {};
        }
        const std::string_view out = rest_.substr(0, static_cast<std::size_t>(size));
        rest_.remove_prefix(out.size());
        return out;
    }

private:
    std::uint64_t number(std::size_t size) noexcept
    {
        std::uint64_t v = 0;
        for (const char c : take(static_cast<std::int64_t>(size)))
            v = v << 8 | static_cast<unsigned char>(c);
        return v;
    }

    std::string_view rest_;
    bool ok_ = true;
};

}  // namespace shunt::wire
