// Counts durations in buckets of fixed number, narrow for short ones and wider for long ones, so that memory does not
// grow and every percentile is right to less than one percent.
//
// Below 256 ns each nanosecond has its bucket; above, each power of two is cut into 128 equal parts. A percentile is told
// as the middle of its bucket: at most 0.4 % away. The largest value is kept as it is.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace shunt::cli {

class histogram {
public:
    void add(std::chrono::nanoseconds value) noexcept
    {
        const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(value.count(), 0));
        ++buckets_[bucket_of(ns)];
        ++count_;
        max_ = std::max(max_, ns);
    }

    void add(const histogram& other) noexcept
    {
        for (std::size_t i = 0; i < buckets_.size(); ++i)
            buckets_[i] += other.buckets_[i];
        count_ += other.count_;
        max_ = std::max(max_, other.max_);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::chrono::nanoseconds max() const noexcept { return std::chrono::nanoseconds(max_); }

    /// The value that a share of `part` (0 to 1) does not exceed. Nothing counted: 0.
    [[nodiscard]] std::chrono::nanoseconds percentile(double part) const noexcept
    {
        if (count_ == 0)
            return {};
        const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_))));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            seen += buckets_[i];
            if (seen >= wanted)
                return std::chrono::nanoseconds(std::min(middle_of(i), max_));
        }
        return max();
    }

private:
    static constexpr unsigned part_bits = 7;
    static constexpr std::uint64_t parts = 1U << part_bits;
    static constexpr unsigned value_bits = 44;  // almost five hours; what is longer lands in the last bucket
    static constexpr std::size_t n_buckets = (value_bits - part_bits + 1) * parts;

    static std::size_t bucket_of(std::uint64_t ns) noexcept
    {
        if (ns < 2 * parts)
            return ns;
        const auto shift = static_cast<unsigned>(std::bit_width(ns)) - part_bits - 1;
        return std::min<std::size_t>(shift * parts + (ns >> shift), n_buckets - 1);
    }
    static std::uint64_t middle_of(std::size_t bucket) noexcept
    {
        if (bucket < 2 * parts)
            return bucket;
        const std::size_t shift = bucket / parts - 1;
        const std::uint64_t low = (bucket - shift * parts) << shift;
        return low + (std::uint64_t{1} << shift) / 2;
    }

    std::array<std::uint64_t, n_buckets> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace shunt::cli
