// Room that was waited for, until a send uses it.

#pragma once

#include <client/operation.hpp>
#include <send/room.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace shunt::client {

class core;

/// What a message counts for in max_in_flight_bytes: its body, and roughly what it costs besides.
[[nodiscard]] constexpr std::size_t cost_of(std::size_t body) noexcept { return body + 512; }

struct held_room {
    explicit held_room(std::weak_ptr<core> of) noexcept : owner(std::move(of)) {}
    held_room(const held_room&) = delete;
    held_room& operator=(const held_room&) = delete;
    ~held_room();

    std::weak_ptr<core> owner;
    send::holds holds = send::holds::nothing;
    client::topic_room* topic_room = nullptr;
    std::size_t cost = 0;
    operation* waiting = nullptr;  // the I/O side's: who waits for it
};

}  // namespace shunt::client
