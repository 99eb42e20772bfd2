// One decision: the selector is asked, its answer checked, and where it gives none the policy's fallback answers.

#pragma once

#include <shunt/message.hpp>
#include <strategy/policy.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace shunt::strategy {

/// What is decided for.
struct question {
    bool has_key = false;
    std::string_view key;
    bool ordered = false;
    std::uint32_t attempt = 1;
    std::uint32_t body_len = 0;
    std::uint64_t random = 0;
    std::int64_t now_ns = 0;
    std::span<const std::uint32_t> tried;  ///< broker ids; those not in the route exclude nothing
    const shunt::message* properties_of = nullptr;  ///< null: there are none
};

/// `shown` in receipts and decision lines: SHUNT_WHY_* and the host's own words.
enum class why : std::uint8_t {
    plugin, rotation, avoid_tried, avoid_isolated, reachable_only, last_resort, all_tried, key, room, spill, weight, load,
    random, caller, fallback, no_queue, expired,
};
[[nodiscard]] std::string_view to_string(why w) noexcept;

struct decision {
    bool picked = false;  ///< false: no queue (the list is empty, or the selector refused on purpose)
    bool refused = false; ///< with picked == false: it was the selector that said so, queues are there
    std::uint32_t queue = 0;
    why because = why::plugin;
};

/// Takes no lock and allocates nothing, but for routes with filters and over 4,096 queues, the text of a plugin's error, and
/// a message with more properties than those before it, where they are wanted.
[[nodiscard]] decision decide(const snapshot& s, selector_set& set, const question& q);

/// best-queue's rule over `s`, with the set's own cursor: for when_no_queue = any, and where a plugin fails.
[[nodiscard]] decision decide_fallback(const snapshot& s, selector_set& set, const question& q);

/// java.lang.String.hashCode and XXH3-64 as selectors may ask for them.
[[nodiscard]] std::uint64_t key_hash64(std::string_view key) noexcept;

}  // namespace shunt::strategy
