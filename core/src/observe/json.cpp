#include <observe/json.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace shunt::observe {

namespace {

/// Bytes of the character at the front; 0: it is not UTF-8.
std::size_t utf8_size(std::string_view text) noexcept
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (size == 0 || size > text.size())
        return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
    }
    // Longer than needed, a surrogate, or beyond the last character.
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF0 && byte(1) < 0x90) ||
        (lead == 0xF4 && byte(1) > 0x8F))
        return 0;
    return size;
}

}  // namespace

json& json::value(double v, int digits) { return plain(fmt::format("{:.{}f}", v, digits)); }

void json::quoted(std::string_view text)
{
    out_ += '"';
    while (!text.empty()) {
        const char c = text.front();
        std::size_t size = 1;
        if (c == '"' || c == '\\') {
            out_ += '\\';
            out_ += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned>(c));
        } else if (size = utf8_size(text); size != 0) {
            out_ += text.substr(0, size);
        } else {
            out_ += "\xEF\xBF\xBD";
            size = 1;
        }
        text.remove_prefix(size);
    }
    out_ += '"';
}

}  // namespace shunt::observe
