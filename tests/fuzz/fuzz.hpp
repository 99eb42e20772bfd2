// What the fuzz targets share: a check that stays on in every build, and a way to cut the input into pieces.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstdio>
#include <string_view>

namespace shunt::fuzz {

#define SHUNT_FUZZ_CHECK(what)                                                      \
    do {                                                                            \
        if (!(what)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::abort();                                                           \
        }                                                                           \
    } while (false)

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) noexcept
{
    return {reinterpret_cast<const char*>(data), size};
}

/// Hands out the input piece by piece; zeros and empty texts once it is used up.
class pieces {
public:
    explicit pieces(std::string_view input) noexcept : rest_(input) {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    [[nodiscard]] std::uint8_t byte() noexcept
    {
        const std::string_view b = take(1);
        return b.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(b[0]);
    }
    [[nodiscard]] std::int32_t i32() noexcept
    {
        std::uint32_t v = 0;
        for (int i = 0; i < 4; ++i)
            v = v << 8 | byte();
        return static_cast<std::int32_t>(v);
    }
    /// A text of a length the input chooses.
    [[nodiscard]] std::string_view text() noexcept
    {
        const std::size_t size = byte();
        return take(size < 255 ? size : 255 + std::size_t{byte()} * 16);
    }
    [[nodiscard]] std::string_view rest() noexcept { return take(rest_.size()); }

private:
    std::string_view take(std::size_t size) noexcept
    {
        const std::string_view out = rest_.substr(0, size);
        rest_.remove_prefix(out.size());
        return out;
    }
    std::string_view rest_;
};

}  // namespace shunt::fuzz
