// The rule that selectors share: a cursor that goes round the queues, and tiers of queues, from best to last resort.
//
// Tiers, in order: untried and available; untried and reachable; untried; available; reachable; any. A queue of a broker
// that this send already tried is thus taken only when no other broker is left. The host's own fallback is `rotate` below.
//
// Flat in cost: masks are read 64 queues at a time, and a tried broker's queues, which stand together, are stepped over as one.

#pragma once

#include <shunt/sdk/view.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace shunt::sdk {

/// A place in an endless rotation: 0..2147483647, then 0 again. The position among n queues is the place modulo n.
class cursor {
public:
    explicit constexpr cursor(std::uint32_t start = 0) noexcept : at_(start & mask) {}

    [[nodiscard]] constexpr std::uint32_t at() const noexcept { return at_; }
    [[nodiscard]] constexpr std::uint32_t position(std::uint32_t n) const noexcept { return at_ % n; }
    [[nodiscard]] constexpr std::uint32_t steps_to_wrap() const noexcept { return mask - at_ + 1; }
    constexpr void advance(std::uint32_t steps) noexcept { at_ = (at_ + steps) & mask; }

private:
    static constexpr std::uint32_t mask = 0x7fffffff;
    std::uint32_t at_;
};

enum class tier : std::uint8_t { untried_available, untried_reachable, untried, available, reachable, any };

/// The tiers worth looking at. While nothing is tried the last three repeat the first three.
[[nodiscard]] inline std::span<const tier> tiers_of(message m) noexcept
{
    static constexpr std::array all{tier::untried_available, tier::untried_reachable, tier::untried,
                                    tier::available,         tier::reachable,         tier::any};
    return std::span{all}.first(m.tried().empty() ? 3 : 6);
}

/// The word for a pick from tier `t`: `own`, the strategy's, as long as nothing had to be avoided.
[[nodiscard]] constexpr why reason_for(tier t, why own, bool stepped_over_tried) noexcept
{
    switch (t) {
    case tier::untried_available: return stepped_over_tried ? why::avoid_tried : own;
    case tier::untried_reachable: return why::reachable_only;
    case tier::untried: return why::last_resort;
    default: return why::all_tried;
    }
}

/// The queues that fit a tier, narrowed by the view's candidates and, if given, by a mask of the strategy's own.
class fitting {
public:
    fitting(view v, message m, tier t, const std::uint64_t* within = nullptr) noexcept
        : v_(v), m_(m), avoids_tried_(t <= tier::untried && !m.tried().empty())
    {
        if (t == tier::untried_available || t == tier::available)
            add(v.raw().available);
        else if (t == tier::untried_reachable || t == tier::reachable)
            add(v.raw().reachable);
        add(v.raw().candidates);
        add(within);
    }

    /// Every queue fits, without looking.
    [[nodiscard]] bool all() const noexcept { return n_masks_ == 0 && !avoids_tried_; }

    [[nodiscard]] bool has(std::uint32_t queue) const noexcept
    {
        const bool in_masks = (masked(queue / 64) >> (queue % 64) & 1) != 0;
        return avoids_tried_ ? in_masks && !m_.tried(v_.broker_of(queue)) : in_masks;
    }

    /// The first fitting queue in [from, to), else `to`.
    [[nodiscard]] std::uint32_t first(std::uint32_t from, std::uint32_t to) const noexcept
    {
        for (;;) {
            const std::uint32_t q = first_masked(from, to);
            if (!avoids_tried_ || q >= to || !m_.tried(v_.broker_of(q)))
                return q;
            from = std::min(v_.broker(v_.broker_of(q)).end_queue(), to);
        }
    }

    [[nodiscard]] bool empty() const noexcept { return first(0, v_.size()) == v_.size(); }

    /// How many queues in [from, to) fit.
    [[nodiscard]] std::uint32_t count(std::uint32_t from, std::uint32_t to) const noexcept
    {
        std::uint32_t n = 0;
        for (std::uint32_t w = from / 64; w * 64 < to; ++w)
            n += static_cast<std::uint32_t>(std::popcount(word(w, from, to)));
        return n;
    }

    /// The k-th fitting queue (from 0) in [from, to); k < count(from, to).
    [[nodiscard]] std::uint32_t nth(std::uint32_t k, std::uint32_t from, std::uint32_t to) const noexcept
    {
        for (std::uint32_t w = from / 64; w * 64 < to; ++w) {
            std::uint64_t bits = word(w, from, to);
            const auto here = static_cast<std::uint32_t>(std::popcount(bits));
            if (k >= here) {
                k -= here;
                continue;
            }
            for (; k > 0; --k)
                bits &= bits - 1;
            return w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        }
        return to;
    }

private:
    void add(const std::uint64_t* mask) noexcept
    {
        if (mask != nullptr)
            masks_[n_masks_++] = mask;
    }

    /// 64 queues from 64 w on: those in all masks.
    [[nodiscard]] std::uint64_t masked(std::uint32_t w) const noexcept
    {
        std::uint64_t bits = ~std::uint64_t{0};
        for (std::uint32_t i = 0; i < n_masks_; ++i)
            bits &= masks_[i][w];
        return bits;
    }

    [[nodiscard]] static std::uint64_t from_bit(std::uint32_t i) noexcept { return ~std::uint64_t{0} << (i % 64); }

    [[nodiscard]] std::uint32_t first_masked(std::uint32_t from, std::uint32_t to) const noexcept
    {
        if (from >= to || n_masks_ == 0)
            return from;
        std::uint32_t w = from / 64;
        const std::uint32_t last = (to - 1) / 64;
        std::uint64_t bits = masked(w) & from_bit(from);
        if (n_masks_ == 1) {
            const std::uint64_t* const only = masks_[0];
            while (bits == 0 && w < last)
                bits = only[++w];
        } else {
            while (bits == 0 && w < last)
                bits = masked(++w);
        }
        return bits == 0 ? to : std::min(to, w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
    }

    /// As masked(), without tried brokers' queues and what lies outside [from, to).
    [[nodiscard]] std::uint64_t word(std::uint32_t w, std::uint32_t from, std::uint32_t to) const noexcept
    {
        std::uint64_t bits = masked(w) & range_in(w, from, to);
        if (avoids_tried_)
            for (const std::uint32_t t : m_.tried()) {
                const broker_view b = v_.broker(t);
                bits &= ~range_in(w, b.first_queue(), b.end_queue());
            }
        return bits;
    }

    /// The part of [from, to) that lies in word w.
    [[nodiscard]] static std::uint64_t range_in(std::uint32_t w, std::uint32_t from, std::uint32_t to) noexcept
    {
        const std::uint32_t begin = w * 64;
        if (from >= to || to <= begin || from >= begin + 64)
            return 0;
        std::uint64_t bits = from <= begin ? ~std::uint64_t{0} : from_bit(from);
        if (to < begin + 64)
            bits &= ~from_bit(to);
        return bits;
    }

    view v_;
    message m_;
    std::array<const std::uint64_t*, 3> masks_{};
    std::uint32_t n_masks_ = 0;
    bool avoids_tried_;
};

/// What a scan found and how many queues it stepped over before.
struct scanned {
    std::uint32_t queue = SHUNT_NONE;
    std::uint32_t stepped_over = 0;
    [[nodiscard]] explicit operator bool() const noexcept { return queue != SHUNT_NONE; }
};

/// Looks at [begin, end) of the queues from the cursor on and goes round until one fits; leaves the cursor one past it, or
/// where it was if none fits. Just before the cursor's wrap the round starts anew at `begin`, as each look would.
[[nodiscard]] inline scanned scan(const fitting& f, cursor& c, std::uint32_t begin, std::uint32_t end) noexcept
{
    const std::uint32_t n = end - begin;
    const std::uint32_t start = begin + c.position(n);
    const auto found = [&](std::uint32_t queue, std::uint32_t stepped_over) {
        c.advance(stepped_over + 1);
        return scanned{queue, stepped_over};
    };

    const std::uint32_t to_wrap = c.steps_to_wrap();
    if (to_wrap >= n) [[likely]] {
        if (const std::uint32_t q = f.first(start, end); q < end)
            return found(q, q - start);
        if (const std::uint32_t q = f.first(begin, start); q < start)
            return found(q, q - begin + end - start);
        return {};
    }

    const std::uint32_t stop = std::min(end, start + to_wrap);
    if (const std::uint32_t q = f.first(start, stop); q < stop)
        return found(q, q - start);
    const std::uint32_t rest = begin + to_wrap - (stop - start);  // what is looked at between the list's end and the wrap
    if (const std::uint32_t q = f.first(begin, rest); q < rest)
        return found(q, q - begin + end - start);
    if (const std::uint32_t q = f.first(begin, end); q < end)
        return found(q, q - begin + to_wrap);
    return {};
}

/// Whether one of the `n` queues from `start` on, round the end, belongs to a broker this send already tried.
[[nodiscard]] inline bool steps_over_tried(view v, message m, std::uint32_t start, std::uint32_t n) noexcept
{
    for (const std::uint32_t t : m.tried()) {
        const broker_view b = v.broker(t);
        const std::uint32_t away = b.first_queue() >= start ? b.first_queue() - start : b.first_queue() + v.size() - start;
        if (b.n_queues() > 0 && n > 0 && (away < n || (start >= b.first_queue() && start < b.end_queue())))
            return true;
    }
    return false;
}

/// One tier's scan over all queues, with the word for it: `own` if given, else "rotation" or "avoid-isolated".
[[nodiscard]] inline pick scan_tier(view v, message m, tier t, cursor& c, const std::uint64_t* within = nullptr,
                                    why own = why::rotation) noexcept
{
    const std::uint32_t start = c.position(v.size());
    const scanned s = scan(fitting{v, m, t, within}, c, 0, v.size());
    if (!s)
        return pick::no_queue();
    if (s.stepped_over == 0 && t == tier::untried_available)
        return {s.queue, own};
    const bool over_tried = steps_over_tried(v, m, start, s.stepped_over);
    // Queues that a filter took out of sight were not passed over for being isolated.
    const bool narrowed = v.raw().candidates != nullptr;
    return {s.queue, reason_for(t, own == why::rotation && !narrowed ? why::avoid_isolated : own, over_tried)};
}

/// RocketMQ's default: for each tier, a scan. "No queue" only if the view's candidates are none.
[[nodiscard]] inline pick rotate(view v, message m, cursor& c) noexcept
{
    for (const tier t : tiers_of(m))
        if (const pick p = scan_tier(v, m, t, c); p.found())
            return p;
    return pick::no_queue();
}

}  // namespace shunt::sdk
