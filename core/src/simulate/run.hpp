// Runs a scenario in virtual time: real strategies, the real send machine, scripted brokers.
//
// No clock, no sleep, no thread: time moves from event to event, and events of one time have an order of their own, so
// that the same scenario always gives the same lines.

#pragma once

#include <simulate/scenario.hpp>

#include <shunt/error.hpp>
#include <strategy/decide.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::plugin {
class registry;
}

namespace shunt::simulate {

/// One attempt; or, without a broker, the end of a send that had no next attempt. Views are valid during the call only.
struct line {
    std::int64_t t_ms = 0;
    std::uint64_t send = 0;
    std::uint32_t attempt = 1;
    std::uint32_t thread = 0;
    std::optional<std::string_view> key;
    std::optional<std::string_view> broker;
    std::uint32_t queue = 0;                ///< with a broker
    shunt::outcome outcome = shunt::outcome::not_sent;
    std::optional<std::int32_t> code;
    std::int64_t latency_ms = 0;
    std::uint64_t generation = 1;
    strategy::why why = strategy::why::plugin;
};

/// The end of a send. Views are valid during the call only.
struct send_end {
    std::uint64_t send = 0;
    std::int64_t start_ms = 0, end_ms = 0;
    shunt::outcome outcome = shunt::outcome::not_sent;
    std::optional<std::string_view> key;
    std::optional<std::string_view> broker;  ///< of the last attempt, if there was one
    std::uint32_t queue = 0;
};

/// What the fault strategy in force says of a broker; `away`: it is not in the route, or cannot be written to.
enum class verdict : std::uint8_t { available, reachable, isolated, away };

/// Watches a run. In order of time; lines in the order in which attempts started.
class observer {
public:
    virtual ~observer() = default;
    virtual void decided(const line&) {}
    virtual void ended(const send_end&) {}
    /// The verdict on a broker differs from the one before (at first: from `away`), as attempts from `t_ms` on see it.
    virtual void judged(std::int64_t /*t_ms*/, std::string_view /*broker*/, verdict) {}
    /// What a strategy has to say; `level` is SHUNT_LOG_*.
    virtual void log(std::int64_t /*t_ms*/, std::int32_t /*level*/, std::string_view /*text*/) {}
};

struct percentiles {
    std::int64_t p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
    double mean = 0;
};

struct summary {
    struct of_queue {
        std::string broker;
        std::uint32_t queue = 0;
        std::uint64_t attempts = 0, stored = 0;
    };
    struct of_broker {
        std::string broker;
        std::uint64_t attempts = 0, stored = 0;
    };
    std::uint64_t sends = 0, stored = 0, not_sent = 0, unknown = 0, rejected = 0;
    std::uint64_t attempts = 0;                ///< those at a broker
    std::vector<of_broker> brokers;            ///< with an attempt, in the order of the route
    std::vector<of_queue> queues;
    std::optional<percentiles> latency_ms;     ///< of sends, from the call to the end; nothing: there were none
    std::uint64_t generation = 1;
    std::int64_t end_ms = 0;
};

struct run_result {
    summary sum;
    std::string error;  ///< not empty: the run stopped there; a strategy could not be made, time ran out
};

/// `s` had no problem, its strategies are those of `registry`.
[[nodiscard]] run_result run(const scenario& s, plugin::registry& registry, observer& watcher);

}  // namespace shunt::simulate
