#include <swap/measures.hpp>

#include <cmath>

namespace shunt::swap {

std::int64_t latencies::end_of(std::size_t bucket) noexcept
{
    const std::size_t next = bucket + 1, octave = next >> sub_bits, sub = next & ((1u << sub_bits) - 1);
    const std::uint64_t v = octave == 0 ? sub : ((std::uint64_t{1} << sub_bits) + sub) << (octave - 1);
    return static_cast<std::int64_t>(v << (first_bit - sub_bits));
}

std::int64_t latencies::quantile(double q) const noexcept
{
    if (count_ == 0)
        return 0;
    const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_))));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= wanted)
            return end_of(i);
    }
    return end_of(buckets_.size() - 1);
}

std::uint64_t latencies::above(std::int64_t ns) const noexcept
{
    std::uint64_t n = 0;
    for (std::size_t i = bucket_of(ns) + 1; i < buckets_.size(); ++i)
        n += buckets_[i];
    return n;
}

void tally::add(const tally& other)
{
    attempts += other.attempts;
    stored += other.stored;
    not_sent += other.not_sent;
    rejected += other.rejected;
    unknown += other.unknown;
    stored_in.add(other.stored_in);
    if (by_broker.size() < other.by_broker.size())
        by_broker.resize(other.by_broker.size());
    for (std::size_t b = 0; b < other.by_broker.size(); ++b)
        by_broker[b] += other.by_broker[b];
}

tally measures::last_minute(std::int64_t now_ns) const
{
    tally sum;
    const std::int64_t step = now_ns / step_ns;
    for (const window& w : windows_) {
        if (w.step > step - static_cast<std::int64_t>(n_steps) && w.step >= 0)
            sum.add(w.counts);
    }
    return sum;
}

}  // namespace shunt::swap
