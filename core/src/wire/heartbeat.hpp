// The body of HEART_BEAT: which client this is and which producer groups it speaks for.

#pragma once

#include <wire/buffer.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::wire {

void put_heartbeat(buffer& out, std::string_view client_id, std::span<const std::string_view> producer_groups);

struct heartbeat {
    std::string client_id;
    std::vector<std::string> producer_groups;
};

/// Server side (embedded cluster, tests). False: not a heartbeat; `what` says where and why. What else a client tells,
/// its consumers for one, is skipped.
[[nodiscard]] bool read_heartbeat(std::string_view body, heartbeat& out, std::string& what);

}  // namespace shunt::wire
