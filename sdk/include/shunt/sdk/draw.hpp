// Drawing at random, from the host's randomness only: numbers below a bound, queues of a tier.

#pragma once

#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/tiers.hpp>

#include <cstdint>

namespace shunt::sdk {

/// A handful of random numbers out of the one that comes with each message.
class dice {
public:
    explicit constexpr dice(std::uint64_t seed) noexcept : state_(seed) {}

    [[nodiscard]] constexpr std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15u); }

    /// Uniform in 0..n-1, n > 0; no value is favoured by more than n / 2^64.
    [[nodiscard]] constexpr std::uint64_t below(std::uint64_t n) noexcept
    {
        __extension__ using wide = unsigned __int128;
        return static_cast<std::uint64_t>(wide{next()} * n >> 64);
    }

private:
    std::uint64_t state_;
};

/// A queue of [from, to) that fits, each as likely as the other; SHUNT_NONE: none does. With most of them fitting, the first
/// throws find one, whatever the number of queues.
[[nodiscard]] inline std::uint32_t draw_queue(const fitting& f, dice& d, std::uint32_t from, std::uint32_t to) noexcept
{
    for (int i = 0; i < 8 && from < to; ++i)
        if (const auto q = from + static_cast<std::uint32_t>(d.below(to - from)); f.has(q))
            return q;
    const std::uint32_t n = f.count(from, to);
    return n == 0 ? SHUNT_NONE : f.nth(static_cast<std::uint32_t>(d.below(n)), from, to);
}

/// Uniform over the queues of the first tier that has any.
[[nodiscard]] inline pick draw(view v, message m) noexcept
{
    dice d{m.random()};
    for (const tier t : tiers_of(m))
        if (const std::uint32_t q = draw_queue(fitting{v, m, t}, d, 0, v.size()); q != SHUNT_NONE)
            return {q, reason_for(t, why::random, !m.tried().empty())};
    return pick::no_queue();
}

}  // namespace shunt::sdk
