// Can this address be connected to? A connection is made, with the handshake where there is TLS, and closed again.

#pragma once

#include <net/links.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace shunt::net {

/// Calls `done` once, after `limit` at the latest.
void probe(links& l, const std::string& address, std::chrono::milliseconds limit, std::function<void(bool reached)> done);

}  // namespace shunt::net
