// A question to one peer off the hot path: routes, heartbeats, offsets.

#pragma once

#include <net/links.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace shunt::net {

/// What is asked; owns its parts.
struct question {
    std::int32_t code = 0;
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;
    bool oneway = false;  ///< nobody answers: it ends with ending::written
};

/// Asks, and calls `done` exactly once: with the answer, or with ending::expired at `deadline_ns`.
void ask(links& l, const std::string& address, wire::header_format format, question q, std::int64_t deadline_ns,
         std::function<void(const reply&)> done);

}  // namespace shunt::net
