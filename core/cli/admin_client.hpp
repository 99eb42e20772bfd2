// Asks the admin endpoint of a running producer.

#pragma once

#include <shunt/options.hpp>

#include <chrono>
#include <string>

namespace shunt::cli {

struct admin_reply {
    unsigned status = 0;
    std::string body;
};

/// POST with `post`, else GET. `target`: path and query. Throws std::runtime_error, in words for people, if no answer comes.
[[nodiscard]] admin_reply ask_admin(const admin_options& where, bool post, const std::string& target, const std::string& body,
                                    std::chrono::milliseconds limit);

/// For a query: everything but letters, digits and -._~ as %XX.
[[nodiscard]] std::string encoded(const std::string& text);

}  // namespace shunt::cli
