// Where an HTTP server is and what is asked of it.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shunt::wire {

struct http_url {
    std::string host;  ///< without brackets
    std::string port;
    std::string target;  ///< "/path?query"
};

/// "http://HOST[:PORT][/PATH]". Nothing: not one.
[[nodiscard]] std::optional<http_url> split_url(std::string_view url);

}  // namespace shunt::wire
