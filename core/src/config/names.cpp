#include <config/names.hpp>

#include <config/text_scan.hpp>
#include <wire/url.hpp>

#include <arpa/inet.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace shunt::config {

namespace {

bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_topic_character(char c)
{
    return is_letter_or_digit(c) || c == '_' || c == '-' || c == '%' || c == '|';
}

template <typename Test>
bool all_of(std::string_view text, Test test)
{
    return std::all_of(text.begin(), text.end(), test);
}

bool has_length(std::string_view text, std::size_t most)
{
    return !text.empty() && text.size() <= most;
}

bool is_port(std::string_view text)
{
    unsigned port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

bool is_host(std::string_view host)
{
    if (!has_length(host, 253))
        return false;
    const std::string z(host);
    unsigned char bytes[16];
    if (all_of(host, [](char c) { return (c >= '0' && c <= '9') || c == '.'; }))
        return inet_pton(AF_INET, z.c_str(), bytes) == 1;
    if (host.front() == '.' || host.front() == '-' || host.find("..") != host.npos)
        return false;
    return all_of(host, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_'; });
}

bool is_v6(std::string_view host)
{
    const std::string z(host.substr(0, host.find('%')));  // a zone, as in fe80::1%eth0, is the system's affair
    unsigned char bytes[16];
    return inet_pton(AF_INET6, z.c_str(), bytes) == 1;
}

std::string address_advice(std::string_view text)
{
    if (const std::size_t at = text.find("://"); at != text.npos)
        return fmt::format("without '{}'", printable(text.substr(0, at + 3)));
    if (text.find_first_of(",; \t") != text.npos)
        return "write [\"HOST:PORT\", \"HOST:PORT\"], or separate with ';' in one string";
    if (text.empty())
        return "";
    if (std::count(text.begin(), text.end(), ':') > 1 && text.front() != '[')
        return "an IPv6 address stands in brackets: \"[::1]:9876\"";
    if (text.find(':') == text.npos)
        return fmt::format("a port is missing: '{}:9876'", printable(text, 60));
    if (text.front() == '[' && text.find(']') == text.npos)
        return "']' is missing";
    if (!is_port(text.substr(text.rfind(':') + 1)))
        return "a port is a number from 1 to 65535";
    return "";
}

std::string topic_advice(std::string_view text)
{
    if (text.find('*') != text.npos)
        return "only a binding's topic may have a '*'";
    return "";
}

std::string group_advice(std::string_view text)
{
    return text == "DEFAULT_PRODUCER" ? "brokers refuse this name; give the application's" : "";
}

std::string strategy_advice(std::string_view text)
{
    std::string lower(text);
    for (char& c : lower)
        c = c == '_' || c == ' ' ? '-' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    return lower != text && is_strategy_name(lower) ? fmt::format("did you mean '{}'?", lower) : "";
}

std::string blank_advice(std::string_view text)
{
    return !text.empty() && (text.front() == ' ' || text.back() == ' ' || text.front() == '\t' || text.back() == '\t')
        ? "without blanks at the ends"
        : "";
}

std::string listen_advice(std::string_view text)
{
    if (text.starts_with("unix:"))
        return text.size() > 5 + max_socket_path ? fmt::format("the path has {} bytes; the system takes {}", text.size() - 5, max_socket_path) : "";
    if (text.starts_with("/") || text.starts_with("./"))
        return fmt::format("did you mean 'unix:{}'?", printable(text, 60));
    if (is_address(text))
        return "it is for this machine alone; what shall be reached from others needs a proxy that encrypts and knows its users";
    return "";
}

std::string sha256_advice(std::string_view text)
{
    if (text.size() != 64)
        return fmt::format("it has {} characters", text.size());
    return "";
}

}  // namespace

bool is_topic(std::string_view text) noexcept
{
    return has_length(text, 127) && all_of(text, is_topic_character);
}

bool is_topic_pattern(std::string_view text) noexcept
{
    return has_length(text, 127) && all_of(text, [](char c) { return is_topic_character(c) || c == '*'; });
}

bool matches_pattern(std::string_view topic, std::string_view pattern) noexcept
{
    std::size_t p = 0, t = 0, star = pattern.npos, resume = 0;
    while (t < topic.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && pattern[p] == topic[t]) {
            ++p;
            ++t;
        } else if (star != pattern.npos) {
            p = star + 1;
            t = ++resume;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == pattern.npos;
}

bool is_group(std::string_view text) noexcept
{
    return has_length(text, 120) && all_of(text, is_topic_character) && text != "DEFAULT_PRODUCER";
}

bool is_address(std::string_view text) noexcept
{
    if (text.substr(0, 1) == "[") {
        const std::size_t end = text.find("]:");
        return end != text.npos && is_v6(text.substr(1, end - 1)) && is_port(text.substr(end + 2));
    }
    const std::size_t colon = text.find(':');
    return colon != text.npos && is_host(text.substr(0, colon)) && is_port(text.substr(colon + 1));
}

bool is_strategy_name(std::string_view text) noexcept
{
    return has_length(text, 64) && all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool is_policy_name(std::string_view text) noexcept
{
    return has_length(text, 64) && all_of(text, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.'; });
}

bool is_plain_name(std::string_view text) noexcept
{
    return has_length(text, 255) && blank_advice(text).empty() && printable(text) == text;
}

bool is_room(std::string_view text) noexcept
{
    return text.empty() || is_plain_name(text);
}

bool is_client_id(std::string_view text) noexcept
{
    return text.size() <= 255 && all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_path(std::string_view text) noexcept
{
    return has_length(text, 4095) && text.find('\0') == text.npos;
}

bool is_listen(std::string_view text) noexcept
{
    if (text.empty())
        return true;
    if (text.starts_with(unix_prefix)) {
        text.remove_prefix(unix_prefix.size());
        return has_length(text, max_socket_path) && text.find('\0') == text.npos;
    }
    for (const std::string_view host : {"127.0.0.1:", "[::1]:"}) {
        if (text.starts_with(host))
            return text.substr(host.size()) == "0" || is_port(text.substr(host.size()));
    }
    return false;
}

bool is_sha256(std::string_view text) noexcept
{
    return text.size() == 64 && all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
}

bool is_name_server_url(std::string_view url) { return url.empty() || wire::split_url(url).has_value(); }

plain_text topic_rule()
{
    return {is_topic, "a topic: 1 to 127 of A-Z a-z 0-9 _ - % |", topic_advice, "^[a-zA-Z0-9_%|-]{1,127}$"};
}

plain_text topic_pattern_rule()
{
    return {is_topic_pattern, "a topic or a pattern of topics: 1 to 127 of A-Z a-z 0-9 _ - % | and * for any run of characters", nullptr,
            "^[a-zA-Z0-9_%|*-]{1,127}$"};
}

plain_text group_rule()
{
    return {is_group, "a group: 1 to 120 of A-Z a-z 0-9 _ - % |", group_advice, "^[a-zA-Z0-9_%|-]{1,120}$"};
}

plain_text address_rule()
{
    return {is_address, "HOST:PORT or [IPV6]:PORT", address_advice};
}

plain_text strategy_name_rule()
{
    return {is_strategy_name, "a strategy's name: 1 to 64 of a-z 0-9 -", strategy_advice, "^[a-z0-9-]{1,64}$"};
}

plain_text policy_name_rule()
{
    return {is_policy_name, "a policy's name: 1 to 64 of A-Z a-z 0-9 _ - .", nullptr, "^[a-zA-Z0-9_.-]{1,64}$"};
}

plain_text broker_name_rule()
{
    return {is_plain_name, "a broker's name: 1 to 255 printable characters, no blank at its ends", blank_advice, "^[^ ](.{0,253}[^ ])?$"};
}

plain_text room_rule()
{
    return {is_room, "a room's name of printable characters, no blank at its ends, or \"\" for none", blank_advice};
}

plain_text client_id_rule()
{
    return {is_client_id, "at most 255 printable ASCII characters without blanks, or \"\" for one made by shunt", nullptr, "^[!-~]{0,255}$"};
}

bool is_server_name(std::string_view text) noexcept
{
    return text.size() <= 253 && all_of(text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_' || c == ':'; });
}

plain_text server_name_rule()
{
    return {is_server_name, "a host's name or address without a port, or \"\" for none", nullptr, "^[a-zA-Z0-9._:-]{0,253}$"};
}

bool is_access_key(std::string_view text) noexcept { return is_client_id(text); }

plain_text access_key_rule()
{
    return {is_access_key, "at most 255 printable ASCII characters without blanks, or \"\" for none", nullptr, "^[!-~]{0,255}$"};
}

namespace {

template <std::size_t Most>
bool is_secret(std::string_view text) noexcept
{
    return text.size() <= Most && all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

secret_text secret_rule()
{
    return {{is_secret<1024>, "at most 1024 printable ASCII characters without blanks, in quotes", nullptr, "^[!-~]{0,1024}$"}};
}

secret_text security_token_rule()
{
    return {{is_secret<8192>, "at most 8192 printable ASCII characters without blanks, in quotes", nullptr, "^[!-~]{0,8192}$"}};
}

bool is_variable(std::string_view text) noexcept
{
    return text.size() <= 255 && (text.empty() || text.front() < '0' || text.front() > '9') &&
           all_of(text, [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

plain_text variable_rule()
{
    return {is_variable, "the beginning of variables' names: at most 255 of A-Z a-z 0-9 _, no digit first; or \"\" for none", nullptr,
            "^([a-zA-Z_][a-zA-Z0-9_]{0,254})?$"};
}

bool is_namespace(std::string_view text) noexcept
{
    return text.empty() || (has_length(text, 64) && all_of(text, [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; }));
}

plain_text namespace_rule()
{
    return {is_namespace, "at most 64 of A-Z a-z 0-9 _ -, or \"\" for none", nullptr, "^[a-zA-Z0-9_-]{0,64}$"};
}

plain_text path_rule()
{
    return {is_path, "a path of 1 to 4095 bytes", nullptr, "^.{1,4095}$"};
}

plain_text listen_rule()
{
    return {is_listen, "unix:PATH, 127.0.0.1:PORT or [::1]:PORT; or empty: not at all", listen_advice, R"(^(unix:.{1,107}|(127\.0\.0\.1|\[::1\]):[0-9]{1,5})?$)"};
}

plain_text token_rule()
{
    constexpr auto fits = [](std::string_view text) {
        return text.empty() || (text.size() >= 16 && text.size() <= 256 && all_of(text, [](char c) { return c > ' ' && c <= '~'; }));
    };
    return {fits, "16 to 256 printable ASCII characters without blanks; or empty: none", nullptr, "^([!-~]{16,256})?$"};
}

plain_text mode_rule()
{
    constexpr auto fits = [](std::string_view text) {
        return text.size() == 4 && text[0] == '0' && all_of(text, [](char c) { return c == '0' || c == '2' || c == '4' || c == '6'; }) && text[1] == '6';
    };
    return {fits, "permissions as in 0600 or 0660: reading and writing, for the owner always", nullptr, "^06[0246]{2}$"};
}

plain_text sha256_rule()
{
    return {is_sha256, "a SHA-256 sum: 64 hexadecimal digits", sha256_advice, "^[0-9a-fA-F]{64}$"};
}

}  // namespace shunt::config
