// A live run of one topic, written down as a scenario: what was sent when, how brokers behaved, how the route changed.
//
// Pure: it is told what happened and when, and makes text of it. Memory is bounded, however long the run: at most 4 MiB.
// Times come in nanoseconds of any clock and are kept in whole milliseconds from the first send.

#pragma once

#include <record/broker_history.hpp>
#include <record/offered_load.hpp>

#include <shunt/error.hpp>
#include <shunt/options.hpp>

#include <route/route.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::record {

/// What a scenario says of a send.
struct sent {
    std::int64_t start_ns = 0;             ///< the call
    std::optional<std::string_view> key{}; ///< as selectors saw it
    std::optional<queue_name> queue{};     ///< the caller's
    std::uint32_t thread = 0;              ///< a number of the thread that sent
    std::int64_t timeout_ms = 3000;
    std::uint32_t attempts = 3;            ///< at most
    std::string_view policy{};             ///< its name
    shunt::outcome outcome = shunt::outcome::stored;
    bool oneway = false, by_function = false;  ///< by_function: a selector of the caller's own chose
};

/// An attempt that ended.
struct tried {
    std::string_view broker{};
    std::int64_t start_ns = 0, latency_ns = 0;
    behaviour how = behaviour::answer;
    std::int32_t code = 0;                 ///< answer only
};

class recording {
public:
    static constexpr std::size_t max_text = 1000 * 1000;    ///< bytes of a scenario: what `shunt simulate` reads, and a little less
    static constexpr std::size_t max_route_rows = 4096;     ///< brokers in all changes of the route that are kept
    static constexpr std::size_t max_policies = 256;

    /// `start_ns`: of the first send.
    recording(std::string topic, std::int64_t start_ns) : topic_(std::move(topic)), start_ns_(start_ns) {}

    /// The route from now on; the first one is that of the beginning.
    void set_route(std::int64_t now_ns, const route::topic_route& r, const std::map<std::string, broker_options, std::less<>>& facts);
    /// The policy from now on, by its name; the first one is that of the beginning.
    void set_policy(std::int64_t now_ns, std::string_view name, const policy_options& p);
    void attempt(const tried& t);
    void send(const sent& s);

    [[nodiscard]] std::uint64_t sends() const noexcept { return sends_; }
    /// The policy's name; empty: none was told.
    [[nodiscard]] const std::string& policy_name() const noexcept { return policy_name_; }

    /// The scenario. `plugins`: where its strategies are found, with absolute paths. Empty: no route was ever told.
    [[nodiscard]] std::string text(const plugin_options& plugins);

private:
    struct broker {
        std::string room;
        std::uint32_t queues = 0, weight = 1;
        std::int32_t perm = 6;
        friend bool operator==(const broker&, const broker&) = default;
    };
    using brokers = std::map<std::string, broker, std::less<>>;
    struct route_change {
        std::int64_t time_ms = 0;
        std::vector<std::string> removed;
        std::vector<std::pair<std::string, broker>> set, added;
    };

    [[nodiscard]] std::int64_t ms_of(std::int64_t ns) const noexcept;
    [[nodiscard]] static brokers brokers_of(const route::topic_route& r, const std::map<std::string, broker_options, std::less<>>& facts);
    [[nodiscard]] std::string written(const plugin_options& plugins) const;
    [[nodiscard]] std::string head() const;
    [[nodiscard]] std::string remarks() const;

    const std::string topic_;
    const std::int64_t start_ns_;
    std::optional<brokers> first_, now_;  ///< of the route
    std::vector<route_change> changes_;
    std::size_t route_rows_ = 0;
    std::uint64_t lost_changes_ = 0;
    std::vector<std::pair<std::int64_t, policy_options>> policies_;
    std::string policy_name_;

    offered_load load_;
    broker_history history_;
    std::set<std::uint32_t> threads_;
    std::int64_t timeout_ms_ = 3000, end_ms_ = 0;
    std::uint32_t attempts_ = 3;
    std::uint64_t sends_ = 0, oneway_ = 0, by_function_ = 0, other_policy_ = 0, other_limits_ = 0;
    std::array<std::uint64_t, 4> outcomes_{};  ///< by outcome
};

}  // namespace shunt::record
