// Adds up what came of many sends.

#pragma once

#include "histogram.hpp"
#include "json.hpp"

#include <shunt/producer.hpp>
#include <shunt/receipt.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace shunt::cli {

class tally {
public:
    /// `i`: number of the message. One-way sends end well when they are written.
    void add(std::uint64_t i, const receipt& r);

    [[nodiscard]] std::uint64_t ended() const noexcept { return ended_; }
    /// Ended as they should: stored, or one-way and written.
    [[nodiscard]] std::uint64_t well() const noexcept { return well_; }
    [[nodiscard]] std::uint64_t of(outcome o) const noexcept { return outcomes_[static_cast<std::size_t>(o)]; }
    [[nodiscard]] const histogram& latencies() const noexcept { return latencies_; }
    [[nodiscard]] std::map<std::string_view, std::uint64_t> by_broker() const;

    /// Members of the object that is open.
    void put(json& out, std::chrono::nanoseconds took) const;
    /// For people: messages per queue and broker, outcomes, latencies.
    [[nodiscard]] std::string table_text(std::chrono::nanoseconds took) const;
    /// One line for each kind of failure, with an example; empty when all went well.
    [[nodiscard]] std::string failures_text() const;

private:
    struct failure {
        std::uint64_t count = 0;
        std::uint64_t first = 0;
        std::string example;
    };
    std::uint64_t ended_ = 0, well_ = 0, attempts_ = 0, maybe_twice_ = 0;
    std::uint64_t outcomes_[5] = {};
    std::map<std::pair<std::string_view, std::int32_t>, std::uint64_t> by_queue_;  // of those that ended well
    std::map<std::pair<outcome, int>, failure> failures_;                          // by outcome and error code
    histogram latencies_;                                                          // of those with an attempt
};

/// Members of the object that is open: "counters": {...}.
void put_counters(json& out, const counters& c);

/// What strategies did wrong, in one line with its end; empty when nothing.
[[nodiscard]] std::string plugin_trouble(const counters& c);

/// Why a send did not end well, in one line.
[[nodiscard]] std::string why_not(const receipt& r);

}  // namespace shunt::cli
