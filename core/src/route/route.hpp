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
inline constexpr std::size_t max_queues = 1'000'000;  ///< in all, of each list

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
    /// Static topic: the broker that owns logical queue i, "" while nobody claims it; otherwise empty. Logical numbers
    /// go on the wire, brokers translate. They fix `publish` and `subscribe`: both are in order of the queue's number.
    std::vector<std::string> logical_owners;
    std::vector<broker> brokers;
    /// Queues a message may go to: writable, and the broker has a master. An order configuration and logical queues
    /// are taken as they are, so that keys stay where they belong while a broker is away: master() may be null there.
    std::vector<queue> publish;
    std::vector<queue> subscribe;        ///< queues a consumer reads: readable
    std::vector<std::string> warnings;   ///< parts of the answer that were skipped, each a sentence

    /// Same brokers, addresses, permissions and queues. Warnings do not count, nor does how an order configuration is
    /// spelled.
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
/// skipped with a warning; when nothing of it is left, that is an error, so that the last good route stays.
[[nodiscard]] parse_result parse_route(std::string_view topic, std::string_view json);

/// Reads a name server's answer about its clusters: all brokers, by name. `error`: empty, or what is wrong with the text.
[[nodiscard]] std::vector<broker> parse_cluster(std::string_view json, std::string& error);

/// The template route of TBW102 applied to `topic`: every broker's queue counts capped at `default_queues`.
[[nodiscard]] topic_route from_template(std::string_view topic, const topic_route& default_topic, std::int32_t default_queues);

/// Puts brokers and queues in canonical order and works out `publish` and `subscribe`. For tests and the simulator.
/// Of two brokers with one name the first in order of cluster and addresses stays.
void finish(topic_route& r);

/// Adds a sentence to the warnings, each once and only so many.
void add_warning(topic_route& r, std::string text);

/// A logical queue that nobody claims in `now`, as happens while its owner changes, stays with its owner in `before`.
void keep_last_owners(topic_route& now, const topic_route& before);

}  // namespace shunt::route
