// Room for one message, taken before there is the message: how whoever makes messages is held back by how fast they go out.

#pragma once

#include <memory>
#include <utility>

namespace shunt {

class producer;

namespace client {
struct held_room;
}

/// What producer::async_room() came by. The send that it is handed to uses it up; else it goes back when this ends, whether the
/// producer is still there or not. Move-only.
class room {
public:
    room() = default;
    room(room&&) noexcept = default;
    room& operator=(room&&) noexcept = default;
    room(const room&) = delete;
    room& operator=(const room&) = delete;
    ~room() = default;

    /// False: none was got, or it was used or given back.
    [[nodiscard]] explicit operator bool() const noexcept { return held_ != nullptr; }
    /// Gives it back now.
    void reset() noexcept { held_.reset(); }

private:
    friend class producer;
    explicit room(std::shared_ptr<client::held_room> held) noexcept : held_(std::move(held)) {}

    std::shared_ptr<client::held_room> held_;
};

}  // namespace shunt
