// A scenario: brokers that behave as scripted, what is sent when, and the policy that is judged by it.
//
// Only what a file says, checked; what comes of it is for run.hpp. Times are whole milliseconds from the start.

#pragma once

#include <config/problem.hpp>

#include <shunt/options.hpp>
#include <shunt/setting.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shunt::plugin {
class registry;
}

namespace shunt::simulate {

/// A run ends before this: 114 years, so that no sum of times overflows.
inline constexpr std::int64_t max_time_ms = std::int64_t{1'000'000} * 3'600'000;
inline constexpr std::int64_t ns_per_ms = 1'000'000;

struct broker {
    std::string name;
    std::uint32_t queues = 0;
    std::int32_t perm = 6;
    std::int64_t latency_ms = 1;
    std::string room;          ///< empty: none
    std::uint32_t weight = 1;
    source_position where;
};

/// What a broker does with a request.
enum class behaviour : std::uint8_t {
    answer,  ///< with a code, 0 if it is well
    refuse,  ///< no connection
    hang,    ///< no answer
    drop,    ///< reads the request and closes the connection
};

struct queue_name {
    std::string broker;
    std::int32_t id = 0;
};

struct send_step {
    std::uint64_t count = 1;
    std::optional<std::int64_t> every_ms;  ///< absent: a send starts when one ends, `inflight` at first
    std::uint64_t inflight = 1;
    std::optional<std::string> key;        ///< with {i}
    std::optional<std::uint32_t> thread;
    std::optional<queue_name> queue;       ///< the caller's
};

struct broker_step {
    std::string name;
    source_position name_where;
    std::optional<std::int64_t> latency_ms;
    std::optional<behaviour> how;
    std::int32_t code = 0;
    bool ok = false;  ///< well again, with its usual latency unless one is given
};

/// What a route step changes of a broker in the route.
struct broker_change {
    std::string name;
    std::optional<std::uint32_t> queues, weight;
    std::optional<std::int32_t> perm;
    std::optional<std::string> room;
    source_position where;
};

struct route_step {
    struct removal {
        std::string name;
        source_position where;
    };
    std::vector<removal> remove;
    std::vector<broker_change> set;
    std::vector<broker> add;
};

struct policy_step {
    policy_options policy;
    bool carry_state = false;
};

struct step {
    std::int64_t time_ms = 0;
    std::variant<send_step, broker_step, route_step, policy_step> what;
    std::size_t index = 0;  ///< in the file: at[index]
};

struct scenario {
    std::string file;
    std::string topic = "T";
    std::uint64_t seed = 1;
    std::uint32_t attempts = 3;
    std::uint32_t threads = 1;
    std::int64_t timeout_ms = 3000;
    std::uint32_t cursor = 0;
    policy_options policy;
    std::vector<broker> brokers;
    std::vector<step> steps;  ///< as in the file
    plugin_options plugins;
};

/// Reads `text` as the file called `file`. Every problem is appended, in the order of the file; with any the scenario
/// must not be run. Whether the strategies are there and like their settings is for check_strategies().
[[nodiscard]] scenario read_scenario(std::string_view text, const std::string& file, std::vector<config::problem>& problems);
/// The same for a tree that was read already (and perhaps changed); relative plugin paths start in `folder`.
[[nodiscard]] scenario read_scenario(const setting& root, const std::string& file, const std::string& folder,
                                     std::vector<config::problem>& problems);

/// What only the order of time tells: brokers that are not in the route when they are to leave it, and the like.
/// (read_scenario does it.)
void check_times(const scenario& s, std::vector<config::problem>& problems);

/// The strategies that the policies name are there, and take the settings they are given.
void check_strategies(const scenario& s, plugin::registry& registry, std::vector<config::problem>& problems);

/// Steps by time, those of one time as in the file: indexes into `steps`.
[[nodiscard]] std::vector<std::size_t> in_order_of_time(const scenario& s);

/// "at[3].policy".
[[nodiscard]] std::string path_of(const step& s, std::string_view key);

}  // namespace shunt::simulate
