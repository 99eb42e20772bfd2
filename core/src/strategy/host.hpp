// What the host lends to plugins: time, randomness, a log, counters, probes. One table for each strategy instance.

#pragma once

#include <shunt/sdk/abi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::strategy {

/// Where time, randomness and everything else comes from: the producer when live, the simulator, a test.
/// now_ns, random and log are called from any thread at once.
class environment {
public:
    virtual ~environment() = default;
    virtual std::int64_t now_ns() = 0;
    virtual std::uint64_t random() = 0;
    virtual void log(std::int32_t level, std::string_view text) = 0;
    /// A fault strategy of `policy` wants to know whether the broker can be connected to at `at_ns`. [control]
    virtual void request_probe(std::string_view policy, std::uint32_t broker_id, std::int64_t at_ns) = 0;
};

/// A counter a plugin made.
struct plugin_counter {
    std::string name, help;
    std::atomic<double> value{0};
};

/// The shunt_host of one instance, and the text of its last error. Must not move while the instance lives.
class host_table {
public:
    host_table(environment& env, std::string policy, std::string strategy);
    host_table(const host_table&) = delete;
    host_table& operator=(const host_table&) = delete;

    [[nodiscard]] const shunt_host& table() const noexcept { return table_; }
    /// The text set by the call that just failed on this thread; empties it.
    [[nodiscard]] static std::string take_error();
    /// A call of the strategy failed, or answered what cannot be: the first is logged, then one line each 10 s with the
    /// number since. Any thread.
    void failed(std::string_view what);
    /// What failed() was told last, with the names; empty: nothing yet. Any thread.
    [[nodiscard]] std::string last_failure() const;
    [[nodiscard]] const std::string& policy() const noexcept { return policy_; }

private:
    environment& env_;
    std::string policy_, strategy_;
    std::deque<plugin_counter> counters_;
    mutable std::mutex counters_lock_;  // and what failed
    std::string last_failure_;
    std::uint64_t unlogged_failures_ = 0;
    std::int64_t next_failure_line_ns_ = INT64_MIN;
    std::atomic<std::int64_t> log_window_{0};
    std::atomic<std::uint32_t> log_lines_{0};
    shunt_host table_{};
};

[[nodiscard]] inline shunt_str to_str(std::string_view s) noexcept { return {s.data(), s.size()}; }
[[nodiscard]] inline std::string_view from_str(const shunt_str& s) noexcept
{
    return s.ptr == nullptr ? std::string_view{} : std::string_view{s.ptr, static_cast<std::size_t>(s.len)};
}

}  // namespace shunt::strategy
