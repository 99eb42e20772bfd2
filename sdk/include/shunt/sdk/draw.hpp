// Drawing at random, from the host's randomness only: numbers below a bound, queues of a tier.

#pragma once

#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/tiers.hpp>

#include <bit>
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

/// Some queues of [from, from + n) thrown at once, n > 0, and which of them fit: bit k for queue[k]. Each is as likely as the
/// other. With half of the brokers isolated one throw is a branch that nobody can foretell; several looked at together hardly
/// ever all fail, and cost little more.
template <unsigned Count>
struct throws {
    static_assert(Count % 2 == 0);

    throws(const fitting& f, dice& d, std::uint32_t n, std::uint32_t from = 0) noexcept
    {
        for (unsigned k = 0; k < Count; k += 2) {
            const std::uint64_t r = d.next();  // 32 bits a throw: no queue is favoured by more than 2^-16 of its part
            queue[k] = from + static_cast<std::uint32_t>((r >> 32) * n >> 32);
            queue[k + 1] = from + static_cast<std::uint32_t>((r & 0xffffffff) * n >> 32);
        }
        for (unsigned k = 0; k < Count; ++k)
            fit |= static_cast<unsigned>(f.has(queue[k])) << k;
    }

    std::uint32_t queue[Count];
    unsigned fit = 0;
};

/// A queue of [from, to) that fits, each as likely as the other; SHUNT_NONE: none does. With most of them fitting, the first
/// throws find one, whatever the number of queues.
[[nodiscard]] inline std::uint32_t draw_queue(const fitting& f, dice& d, std::uint32_t from, std::uint32_t to) noexcept
{
    for (int i = 0; i < 2 && from < to; ++i)
        if (const throws<4> some(f, d, to - from, from); some.fit != 0)
            return some.queue[std::countr_zero(some.fit)];
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
