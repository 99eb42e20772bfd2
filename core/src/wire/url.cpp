#include <wire/url.hpp>

namespace shunt::wire {

std::optional<http_url> split_url(std::string_view url)
{
    constexpr std::string_view scheme = "http://";
    if (!url.starts_with(scheme))
        return std::nullopt;
    url.remove_prefix(scheme.size());
    for (const char c : url) {
        if (c <= ' ' || c > '~')
            return std::nullopt;
    }
    const std::string_view place = url.substr(0, url.find_first_of("/?"));
    http_url out;
    out.target = url.substr(place.size());
    if (!out.target.starts_with('/'))
        out.target.insert(0, "/");
    const bool v6 = place.starts_with('[');
    const auto bracket = v6 ? place.find(']') : 0;
    if (bracket == std::string_view::npos)
        return std::nullopt;
    const auto colon = place.find(':', bracket);
    out.host = v6 ? place.substr(1, bracket - 1) : place.substr(0, colon);
    out.port = colon == std::string_view::npos ? "80" : std::string(place.substr(colon + 1));
    const bool number = out.port.find_first_not_of("0123456789") == std::string::npos && !out.port.empty() && out.port.size() <= 5 &&
                        std::stoi(out.port) >= 1 && std::stoi(out.port) <= 65535;
    const bool gap = v6 && bracket + 1 != place.size() && place[bracket + 1] != ':';
    if (out.host.empty() || !number || gap || out.host.find('@') != std::string::npos)
        return std::nullopt;
    return out;
}

}  // namespace shunt::wire
