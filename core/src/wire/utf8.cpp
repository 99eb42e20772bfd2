#include <wire/utf8.hpp>

#include <cstdint>

namespace shunt::wire {

bool is_utf8(std::string_view bytes) noexcept
{
    for (std::size_t i = 0; i < bytes.size();) {
        const auto lead = static_cast<unsigned char>(bytes[i]);
        const std::size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
        if (size == 0 || bytes.size() - i < size)
            return false;
        std::uint32_t code = size == 1 ? lead : lead & (0x7FU >> size);
        for (std::size_t k = 1; k < size; ++k) {
            const auto next = static_cast<unsigned char>(bytes[i + k]);
            if ((next & 0xC0) != 0x80)
                return false;
            code = (code << 6) | (next & 0x3FU);
        }
        if ((size == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) || (size == 4 && (code < 0x10000 || code > 0x10FFFF)))
            return false;
        i += size;
    }
    return true;
}

}  // namespace shunt::wire
