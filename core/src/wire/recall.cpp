#include <wire/recall.hpp>

#include <array>
#include <charconv>

namespace shunt::wire {

namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string encoded(std::string_view bytes)
{
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

std::optional<std::string> decoded(std::string_view text)
{
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

}  // namespace

std::string recall_handle(std::string_view topic, std::string_view broker, std::int64_t time_ms, std::string_view unique_key)
{
    std::string text = "v1 ";
    text.append(topic).append(" ").append(broker).append(" ").append(std::to_string(time_ms)).append(" ").append(unique_key);
    return encoded(text);
}

std::optional<recall_parts> read_recall_handle(std::string_view handle)
{
    const auto text = decoded(handle);
    if (!text)
        return std::nullopt;
    std::array<std::string_view, 5> parts;
    std::string_view rest = *text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto end = rest.find(' ');
        if ((end == std::string_view::npos) != (i + 1 == parts.size()))
            return std::nullopt;
        parts[i] = rest.substr(0, end);
        if (parts[i].empty())
            return std::nullopt;
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    recall_parts out;
    const std::string_view time = parts[3];
    const auto [end, ec] = std::from_chars(time.data(), time.data() + time.size(), out.time_ms);
    if (parts[0] != "v1" || ec != std::errc{} || end != time.data() + time.size())
        return std::nullopt;
    out.topic = parts[1];
    out.broker = parts[2];
    out.unique_key = parts[4];
    return out;
}

}  // namespace shunt::wire
