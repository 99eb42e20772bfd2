// The last minutes in steps: what the counters said at the end of each.

#pragma once

#include <observe/json.hpp>
#include <observe/metrics.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace shunt::observe {

class history {
public:
    static constexpr std::size_t max_steps = 60, max_queues = 200;
    static constexpr std::int64_t step_seconds = 5;

    /// Ends a step.
    void step(const metrics& m, std::uint64_t generation, std::int64_t now_ms);
    /// {"step_seconds", "at_ms": [], "queues": [], "brokers": [], "generation": []}
    void put(json& out, const metrics& m) const;

private:
    struct broker_step {
        std::uint64_t stored = 0, failed = 0;
        std::int64_t p50_ns = 0, p99_ns = 0;
    };
    struct one_step {
        std::int64_t at_ms = 0;
        std::uint64_t generation = 0;
        std::vector<std::uint64_t> queues;              // decisions, by the queue's place in metrics
        std::map<std::string, broker_step> brokers;
    };
    struct broker_total {
        std::uint64_t stored = 0, failed = 0;
        histogram_counts latency;
    };
    std::deque<one_step> steps_;
    std::vector<std::uint64_t> queues_before_;
    std::map<std::string, broker_total> brokers_before_;
};

}  // namespace shunt::observe
