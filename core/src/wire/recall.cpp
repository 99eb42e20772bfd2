#include <wire/recall.hpp>

#include <wire/base64.hpp>

#include <array>
#include <charconv>

namespace shunt::wire {

std::string recall_handle(std::string_view topic, std::string_view broker, std::int64_t time_ms, std::string_view unique_key)
{
    std::string text = "v1 ";
    text.append(topic).append(" ").append(broker).append(" ").append(std::to_string(time_ms)).append(" ").append(unique_key);
    return to_base64(text, base64_digits::for_urls);
}

std::optional<recall_parts> read_recall_handle(std::string_view handle)
{
    const auto text = from_base64(handle, base64_digits::for_urls);
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
