#include <swap/plan.hpp>

#include <config/load.hpp>
#include <config/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shunt::swap {

bool is_live(std::string_view key) noexcept
{
    // Besides these: everything that stands in a table of its own.
    static constexpr std::array<std::string_view, 19> of_producer{
        "name_servers",
        "send_timeout",        "attempts",  "attempt_timeout", "retry_backoff",  "retry_backoff_max", "retry_codes",     "retry_unknown", "retry_flush_late",
        "max_in_flight_messages", "max_in_flight_bytes", "when_full", "max_body", "max_properties", "max_delay", "write_order_key", "compress", "compress_level", "compress_from"};
    constexpr std::string_view producer = "producer.";
    if (key.substr(0, producer.size()) == producer)
        return std::find(of_producer.begin(), of_producer.end(), key.substr(producer.size())) != of_producer.end();
    return !key.starts_with("log.") && !key.starts_with("admin.");
}

std::string plan::needs_restart() const
{
    std::vector<std::string> keys;
    for (const swap_change& c : changes)
        if (!c.live)
            keys.push_back(c.key);
    if (keys.empty())
        return {};
    return fmt::format("{} need{} a restart of the program; nothing was changed", config::listed(keys), keys.size() == 1 ? "s" : "");
}

plan make_plan(const producer_options& in_force, const producer_options& wanted)
{
    plan p;
    for (config::difference& d : config::differences(in_force, wanted)) {
        swap_change& c = p.changes.emplace_back();
        c.live = is_live(d.key);
        c.key = std::move(d.key);
        c.from = std::move(d.from);
        c.to = std::move(d.to);
    }
    return p;
}

bool maps_alike(const policy_options& a, const policy_options& b)
{
    const auto same = [](const strategy_options& x, const strategy_options& y) { return x.use == y.use && x.settings == y.settings; };
    return a.ordered == b.ordered && a.key_from.what == b.key_from.what && a.key_from.property == b.key_from.property &&
           same(a.selector, b.selector) &&
           std::equal(a.filters.begin(), a.filters.end(), b.filters.begin(), b.filters.end(), same);
}

bool may_follow(swap_state from, swap_state to) noexcept
{
    using s = swap_state;
    switch (from) {
    case s::staged: return to == s::admitting || to == s::refused;
    case s::admitting: return to == s::created || to == s::refused;
    case s::created:
    case s::shadow: return to == s::shadow || to == s::canary || to == s::probation || to == s::in_force || to == s::refused;
    case s::canary: return to == s::canary || to == s::probation || to == s::in_force || to == s::rolled_back;
    case s::probation: return to == s::in_force || to == s::rolled_back || to == s::replaced;
    case s::in_force: return to == s::rolled_back || to == s::replaced;
    case s::replaced: return to == s::in_force || to == s::probation || to == s::retired;
    case s::rolled_back: return to == s::in_force || to == s::probation;
    case s::retired:
    case s::refused: return false;
    }
    return false;
}

std::uint64_t place_of(std::uint64_t key_hash, std::uint64_t salt) noexcept
{
    std::uint64_t z = key_hash ^ salt;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::uint64_t below(double share) noexcept
{
    if (!(share > 0))
        return 0;
    if (share >= 1)
        return UINT64_MAX;
    return static_cast<std::uint64_t>(std::ldexp(share, 64));
}

}  // namespace shunt::swap
