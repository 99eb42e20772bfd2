#include <wire/base64.hpp>

#include <cstdint>

namespace shunt::wire {

namespace {

std::string_view digits_of(base64_digits which) noexcept
{
    return which == base64_digits::standard ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
                                            : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
}

}  // namespace

std::string to_base64(std::string_view bytes, base64_digits which)
{
    const std::string_view digits = digits_of(which);
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const auto at = [&](std::size_t k) -> std::uint32_t {
            return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
        };
        const std::uint32_t three = at(0) << 16 | at(1) << 8 | at(2);
        out += digits[three >> 18];
        out += digits[(three >> 12) & 63];
        out += i + 1 < bytes.size() ? digits[(three >> 6) & 63] : '=';
        out += i + 2 < bytes.size() ? digits[three & 63] : '=';
    }
    return out;
}

std::optional<std::string> from_base64(std::string_view text, base64_digits which)
{
    const std::string_view digits = digits_of(which);
    while (!text.empty() && text.back() == '=')
        text.remove_suffix(1);
    std::string out;
    std::uint32_t bits = 0;
    int held = 0;
    for (const char c : text) {
        const auto digit = digits.find(c);
        if (digit == std::string_view::npos)
            return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(digit);
        held += 6;
        if (held >= 8) {
            held -= 8;
            out += static_cast<char>(bits >> held & 0xFF);
        }
    }
    return out;
}

}  // namespace shunt::wire
