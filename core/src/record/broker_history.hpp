// What brokers did to the requests they were sent, from the attempts' ends: how each behaved, from when on.
//
// Attempts are gathered in bins of time, by when they began, in bounded memory: the width of a bin doubles when there are
// too many. In each the most frequent behaviour counts, and the median of the latencies.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::record {

/// How a broker met an attempt: the words of scenarios.
enum class behaviour : std::uint8_t { answer, refuse, hang, drop };

/// From `time_ms` on, until the next one.
struct stretch {
    std::int64_t time_ms = 0;
    behaviour how = behaviour::answer;
    std::int32_t code = 0;                    ///< answer only
    std::optional<std::int64_t> latency_ms{}; ///< of answers; nothing: none came
    std::uint64_t attempts = 0;
};

class broker_history {
public:
    explicit broker_history(std::size_t max_bins = 4096) : max_bins_(max_bins) {}

    /// An attempt that began at `start_ms` (from 0; in any order). `latency_ms`: of an answer, rounded down.
    void add(std::string_view broker, std::int64_t start_ms, behaviour how, std::int32_t code, std::int64_t latency_ms);
    /// Halves the number of bins. False: there is but one a broker.
    bool coarsen();
    /// What the broker did, in order of time; a stretch ends only where behaviour or latency really change. Empty: it was
    /// not sent to.
    [[nodiscard]] std::vector<stretch> stretches(std::string_view broker) const;
    /// Attempts by broker.
    [[nodiscard]] std::map<std::string, std::uint64_t> attempts() const;

private:
    using way = std::pair<behaviour, std::int32_t>;

    /// Some values of many: every so many-th.
    class sample {
    public:
        /// `weight`: it stands for so many.
        void add(std::int64_t value, std::uint64_t weight = 1);
        void add(const sample& other);
        [[nodiscard]] std::optional<std::int64_t> median() const;

    private:
        void keep(std::int64_t value);

        std::array<std::int64_t, 8> kept_{};
        std::uint32_t n_kept_ = 0;
        std::uint64_t seen_ = 0, each_ = 1;
    };
    struct bin {
        std::int64_t first_ms = INT64_MAX;
        std::map<way, std::uint64_t> ways;
        sample latencies;

        [[nodiscard]] way usual() const;
        [[nodiscard]] std::uint64_t attempts() const;
    };

    const std::size_t max_bins_;
    std::int64_t width_ms_ = 1;
    std::map<std::string, std::uint32_t, std::less<>> numbers_;   ///< of brokers
    std::map<std::pair<std::uint32_t, std::int64_t>, bin> bins_;  ///< by broker and piece of time
};

}  // namespace shunt::record
