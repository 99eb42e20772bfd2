// Sends a stream of messages in the ways `send` and `bench` offer, and hands over what came of each.

#pragma once

#include "interrupts.hpp"

#include <shunt/producer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace shunt::cli {

enum class send_mode : std::uint8_t { sync, async, oneway };

struct sending_plan {
    send_mode mode = send_mode::sync;
    std::size_t threads = 1;
    std::size_t in_flight = 256;  ///< async and one-way: at most so many at once, over all threads
    double rate = 0;              ///< messages a second over all threads; 0: as fast as it goes
    send_options options;
};

/// Called by the sender threads, one after another: `i` counts from 0, each number once. False: there are no more.
using message_source = std::function<bool(std::uint64_t& i, message& m)>;

struct sending_hooks {
    message_source next;
    /// Before message `i` is submitted; may wait. False: it is not submitted, and none after it.
    std::function<bool(std::uint64_t i)> admit;
    /// Message `i` has ended. On several threads at once.
    std::function<void(std::uint64_t i, receipt&& r)> ended;
};

/// Returns when all messages that were submitted have ended. An interrupt stops the submitting.
void send_all(producer& p, const sending_plan& plan, const sending_hooks& hooks, const interrupts& stop);

/// A text in which `{i}` stands for the message's number.
class numbered_text {
public:
    numbered_text() = default;
    explicit numbered_text(std::string text);
    [[nodiscard]] std::string of(std::uint64_t i) const;

private:
    std::string text_;
    bool numbered_ = false;
};

/// A body of `size` bytes: the message's number, then letters.
[[nodiscard]] std::string body_of_size(std::uint64_t i, std::size_t size);

}  // namespace shunt::cli
