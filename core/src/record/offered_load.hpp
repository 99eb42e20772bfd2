// What was sent when, in bounded memory: counts in pieces of time, whose width doubles when there are too many of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::record {

/// A queue that the caller of a send chose: broker, id.
using queue_name = std::pair<std::string, int>;

/// What tells sends apart for a selector.
struct send_kind {
    std::optional<std::string> key{};
    std::optional<queue_name> queue{};
    bool other_key = false;  ///< a key that is not kept: each send of it has one of its own
};

/// Sends as a scenario's step has them: the first at `time_ms`, the next each `every_ms`; 0: all at once.
struct send_step {
    std::int64_t time_ms = 0;
    std::uint64_t count = 0;
    std::int64_t every_ms = 0;
    const send_kind* kind = nullptr;
};

class offered_load {
public:
    static constexpr std::size_t max_kinds = 1000;   ///< different keys (and queues chosen by callers) that are kept
    static constexpr std::size_t max_key = 128;      ///< bytes of one that is kept
    static constexpr std::uint64_t max_count = 1'000'000;  ///< of a step

    explicit offered_load(std::size_t max_steps = 4096) : max_steps_(max_steps) { kinds_.resize(2); kinds_[other].other_key = true; }

    /// `at_ms`: from 0; in any order.
    void add(std::int64_t at_ms, const std::optional<std::string_view>& key, const std::optional<queue_name>& queue);
    /// Halves the number of pieces. False: there is but one.
    bool coarsen();
    /// In order of time. They point into this.
    [[nodiscard]] std::vector<send_step> steps() const;

    [[nodiscard]] std::int64_t width_ms() const noexcept { return width_ms_; }
    /// Sends whose key is not kept.
    [[nodiscard]] std::uint64_t other_keys() const noexcept { return other_keys_; }

private:
    static constexpr std::uint32_t plain = 0, other = 1;  // kinds that are always there

    [[nodiscard]] std::uint32_t kind_of(const std::optional<std::string_view>& key, const std::optional<queue_name>& queue);
    [[nodiscard]] std::uint32_t kept(std::map<std::string, std::uint32_t, std::less<>>& in, std::string_view name, send_kind kind);

    const std::size_t max_steps_;
    std::int64_t width_ms_ = 1;
    std::vector<send_kind> kinds_;
    std::map<std::string, std::uint32_t, std::less<>> by_key_, by_queue_;
    std::map<std::pair<std::int64_t, std::uint32_t>, std::uint64_t> counts_;  ///< by piece and kind
    std::size_t steps_ = 0;                                                   ///< that counts_ comes to, at most
    std::uint64_t other_keys_ = 0;
};

}  // namespace shunt::record
