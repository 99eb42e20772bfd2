// How sends went: counted by outcome, latency and broker, for a window of time. Pure: the time comes in.

#pragma once

#include <shunt/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shunt::swap {

/// Latencies in buckets that are an eighth of their size wide: 1 us to about 2 hours.
class latencies {
public:
    void add(std::int64_t ns) noexcept
    {
        ++buckets_[bucket_of(ns)];
        ++count_;
    }
    void add(const latencies& other) noexcept
    {
        for (std::size_t i = 0; i < buckets_.size(); ++i)
            buckets_[i] += other.buckets_[i];
        count_ += other.count_;
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// The upper end of the bucket in which the quantile lies (0 < q <= 1); 0: nothing was counted.
    [[nodiscard]] std::int64_t quantile(double q) const noexcept;
    /// How many lie in buckets wholly above `ns`.
    [[nodiscard]] std::uint64_t above(std::int64_t ns) const noexcept;

private:
    static constexpr int sub_bits = 3, first_bit = 10, octaves = 33;
    [[nodiscard]] static std::size_t bucket_of(std::int64_t ns) noexcept
    {
        const auto v = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)) >> (first_bit - sub_bits);
        if (v < (1u << sub_bits))
            return static_cast<std::size_t>(v);
        const int top = static_cast<int>(std::bit_width(v)) - 1;  // >= sub_bits
        const std::size_t octave = static_cast<std::size_t>(top - sub_bits) + 1;
        const std::size_t index = (octave << sub_bits) + ((v >> (top - sub_bits)) & ((1u << sub_bits) - 1));
        return std::min(index, static_cast<std::size_t>(octaves << sub_bits) - 1);
    }
    [[nodiscard]] static std::int64_t end_of(std::size_t bucket) noexcept;

    std::array<std::uint32_t, octaves << sub_bits> buckets_{};
    std::uint64_t count_ = 0;
};

struct tally {
    std::uint64_t attempts = 0, stored = 0, not_sent = 0, rejected = 0, unknown = 0;
    latencies stored_in;
    std::vector<std::uint64_t> by_broker;  ///< attempts, by the broker's id

    void add(outcome o, std::int64_t latency_ns, std::uint32_t broker)
    {
        ++attempts;
        switch (o) {
        case outcome::stored:
            ++stored;
            stored_in.add(latency_ns);
            break;
        case outcome::not_sent: ++not_sent; break;
        case outcome::rejected: ++rejected; break;
        case outcome::unknown: ++unknown; break;
        }
        if (broker >= by_broker.size())
            by_broker.resize(broker + 1);
        ++by_broker[broker];
    }
    void add(const tally& other);
};

/// The last minute, and what came since begin().
class measures {
public:
    void add(std::int64_t now_ns, outcome o, std::int64_t latency_ns, std::uint32_t broker)
    {
        at(now_ns).add(o, latency_ns, broker);
        if (marked_)
            since_.add(o, latency_ns, broker);
    }
    /// Counts anew, apart from the last minute.
    void begin()
    {
        since_ = {};
        marked_ = true;
    }
    void end() noexcept { marked_ = false; }
    [[nodiscard]] const tally& since_begin() const noexcept { return since_; }
    [[nodiscard]] tally last_minute(std::int64_t now_ns) const;

private:
    static constexpr std::int64_t step_ns = 10'000'000'000;
    static constexpr std::size_t n_steps = 6;
    struct window {
        std::int64_t step = -1;
        tally counts;
    };
    tally& at(std::int64_t now_ns)
    {
        if (now_ns >= at_ends_ns_) [[unlikely]] {
            const std::int64_t step = now_ns / step_ns;
            at_ = static_cast<std::size_t>(step) % n_steps;
            at_ends_ns_ = (step + 1) * step_ns;
            windows_[at_].counts = {};
            windows_[at_].step = step;
        }
        return windows_[at_].counts;
    }
    std::array<window, n_steps> windows_;
    std::size_t at_ = 0;
    std::int64_t at_ends_ns_ = INT64_MIN;
    tally since_;
    bool marked_ = false;
};

}  // namespace shunt::swap
