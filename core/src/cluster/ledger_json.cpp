// A stored message as one line of JSON, the way `shunt tail --json` writes it.

#include <cluster/broker.hpp>
#include <cluster/embedded_cluster.hpp>
#include <wire/send.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <optional>

namespace shunt::cluster {
namespace {

bool is_utf8(std::string_view text) noexcept
{
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
        if (size == 0 || text.size() - i < size)
            return false;
        std::uint32_t code = size == 1 ? lead : lead & (0x7FU >> size);
        for (std::size_t k = 1; k < size; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
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

std::string base64(std::string_view bytes)
{
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

/// Nothing when the bytes are not what a zlib stream looks like, or grow beyond what a message may have.
std::optional<std::string> inflated(std::string_view bytes)
{
    constexpr std::size_t most = 64 * 1024 * 1024;
    z_stream z{};
    if (inflateInit(&z) != Z_OK)
        return std::nullopt;
    std::string out;
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    while (status == Z_OK && out.size() < most) {
        const std::size_t before = out.size();
        out.resize(before + 16 * 1024);
        z.next_out = reinterpret_cast<Bytef*>(out.data() + before);
        z.avail_out = 16 * 1024;
        status = inflate(&z, Z_NO_FLUSH);
        out.resize(out.size() - z.avail_out);
    }
    inflateEnd(&z);
    return status == Z_STREAM_END ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::string_view stored_record::property(std::string_view name) const noexcept
{
    std::string_view value;
    for (const auto& [own, text] : properties)
        if (own == name)
            value = text;
    return value;
}

std::string to_json(const stored_record& r)
{
    std::string line = R"({"broker":)";
    put_json_string(line, r.broker);
    line += fmt::format(R"(,"topic":"{}","queue":{},"offset":{},"msg_id":)", r.topic, r.queue, r.offset);
    put_json_string(line, r.msg_id);
    line += R"(,"key":)";
    put_json_string(line, r.key);
    line += R"(,"tag":)";
    put_json_string(line, r.tag);
    line += R"(,"properties":{)";
    std::map<std::string_view, std::string_view> once;  // of doubles the last wins, as for a consumer
    for (const auto& [name, value] : r.properties)
        once[name] = value;
    for (const auto& [name, value] : once) {
        if (line.back() != '{')
            line += ',';
        put_json_string(line, name);
        line += ':';
        put_json_string(line, value);
    }
    line += "},";
    const std::int32_t type = r.sys_flag & wire::sys_zlib;
    std::optional<std::string> plain;
    if ((r.sys_flag & wire::sys_compressed) != 0 && (type == 0 || type == wire::sys_zlib))
        plain = inflated(r.body);
    const std::string_view body = plain ? std::string_view(*plain) : std::string_view(r.body);
    if (is_utf8(body)) {
        line += R"("body":)";
        put_json_string(line, body);
    }
    else
        line += R"("body_base64":")" + base64(body) + '"';
    line += fmt::format(R"(,"born_ms":{},"stored_ms":{}}})", r.born_ms, r.stored_ms);
    return line;
}

}  // namespace shunt::cluster
