// A topic's route: which brokers hold it, which queues can be written to and read from. An immutable value.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::route {

inline constexpr std::int32_t perm_read = 4, perm_write = 2, perm_inherit = 1;
/// A route never has more queues than this; what a name server claims beyond it is cut with a warning.
inline constexpr std::int32_t max_queues_per_broker = 65535;

struct broker {
    std::string name;
    std::string cluster;
    std::map<std::int64_t, std::string> addresses;  ///< by broker id; 0 is the master: "host:port", "[v6]:port"
    std::int32_t perm = 0;
    std::int32_t read_queues = 0;
    std::int32_t write_queues = 0;
    bool has_queue_data = false;                    ///< false: listed as a broker, but without queues of this topic

    [[nodiscard]] const std::string* master() const noexcept;
    friend bool operator==(const broker&, const broker&) = default;
};

struct queue {
    std::uint32_t broker = 0;    ///< index into topic_route::brokers
    std::int32_t queue_id = 0;
    friend bool operator==(const queue&, const queue&) = default;
};

/// Brokers by name (bytes, unsigned), queues by (broker name, queue id): the same order in every producer, whatever the
/// name server's order was.
struct topic_route {
    std::string topic;
    bool ordered = false;                ///< the name server gave an order configuration; it fixes the queues
    std::string order_conf;
    std::vector<broker> brokers;
    std::vector<queue> publish;          ///< queues a message may go to: writable, and the broker has a master
    std::vector<queue> subscribe;        ///< queues a consumer reads: readable
    std::vector<std::string> warnings;   ///< parts of the answer that were skipped, each a sentence

    /// Same brokers, addresses, permissions and queues. Warnings do not count.
    [[nodiscard]] bool same_as(const topic_route& other) const noexcept;
    [[nodiscard]] const broker* find(std::string_view name) const noexcept;
};

/// What is different, in words of an operator: brokers that came, left, moved, changed permission or queue counts.
[[nodiscard]] std::vector<std::string> describe_changes(const topic_route& before, const topic_route& after);

struct parse_result {
    std::optional<topic_route> route;  ///< nothing: `error` says what is wrong with the text
    std::string error;
};

/// Reads a name server's answer for `topic`: strict JSON or the legacy form with bare integer keys; unknown members are
/// skipped, null and missing ones are empty; nesting and sizes are bounded. Bad parts of an order configuration are
/// skipped with a warning.
[[nodiscard]] parse_result parse_route(std::string_view topic, std::string_view json);

/// The template route of TBW102 applied to `topic`: every broker's queue counts capped at `default_queues`.
[[nodiscard]] topic_route from_template(std::string_view topic, const topic_route& default_topic, std::int32_t default_queues);

/// Puts brokers and queues in canonical order and works out `publish` and `subscribe`. For tests and the simulator.
void finish(topic_route& r);

}  // namespace shunt::route
