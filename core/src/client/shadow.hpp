// A candidate decides beside the policies in force, without effect: what was decided is put to it on a thread of its own.

#pragma once

#include <shunt/message.hpp>
#include <shunt/swap.hpp>
#include <strategy/decide.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace shunt::client {

struct target;

class shadow {
public:
    struct decision {
        const target* where = nullptr;
        std::string key;
        bool has_key = false, ordered = false;
        std::uint32_t attempt = 1, body_len = 0;
        std::uint64_t random = 0;
        std::int64_t now_ns = 0;
        std::vector<std::uint32_t> tried;
        message properties;       // where they are wanted: with those of the message, and nothing else
        std::string_view broker;  // what was picked; interned
        std::int32_t queue = -1;
    };
    static constexpr std::size_t max_waiting = 1024;

    explicit shadow(bool properties_wanted) : wants_properties(properties_wanted) {}
    const bool wants_properties;

    /// Any thread; never waits: what finds no room, or the lock taken, is dropped and counted.
    void offer(decision&& d);

    /// The thread's: what came, or nothing when stop() was called. Marks that the candidate is being asked.
    [[nodiscard]] bool take(std::vector<decision>& out);
    void stop();

    /// The thread's: what the candidate said. `broker` empty: it found no queue.
    void count(const decision& d, std::string_view broker, std::int32_t queue, bool failed);
    [[nodiscard]] swap_shadow counts() const;

    /// When the call that is under way began; 0: none is.
    std::atomic<std::int64_t> asked_at_ns{0};
    std::atomic<bool> stopped{false};

private:
    mutable std::mutex lock_;
    std::condition_variable more_;
    std::vector<decision> waiting_;
    std::atomic<std::uint64_t> dropped_{0};
    swap_shadow counts_;
};

}  // namespace shunt::client
