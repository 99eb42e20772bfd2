#include <swap/compare.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shunt::swap {

namespace {

double share(std::uint64_t part, std::uint64_t whole) noexcept
{
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Of the difference of two shares, if both sides had the same.
double standard_error(std::uint64_t part_a, std::uint64_t all_a, std::uint64_t part_b, std::uint64_t all_b)
{
    const double pooled = share(part_a + part_b, all_a + all_b);
    return std::sqrt(pooled * (1 - pooled) * (1.0 / static_cast<double>(all_a) + 1.0 / static_cast<double>(all_b)));
}

bool larger(std::uint64_t before, std::uint64_t all_before, std::uint64_t after, std::uint64_t all_after, double matters, const limits& by)
{
    const double grown = share(after, all_after) - share(before, all_before);
    return grown > std::max(matters, by.standard_errors * standard_error(before, all_before, after, all_after));
}

std::string in_ms(std::int64_t ns) { return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6); }

judgement worse(std::string why) { return {finding::worse, "worse: " + std::move(why)}; }

}  // namespace

judgement compare(const side& before, const side& after, const limits& by)
{
    const tally &b = before.sends, &a = after.sends;
    if (after.plugin_errors >= 10 && share(after.plugin_errors, std::max(a.attempts, after.plugin_errors)) > by.plugin_errors)
        return worse(fmt::format("its strategies failed in {} decisions, with {} attempts", after.plugin_errors, a.attempts));
    if (a.attempts < by.few || b.attempts < by.few)
        return {finding::undecided, fmt::format("undecided: {} attempts against {}; {} on each side are the least", a.attempts, b.attempts, by.few)};

    const std::uint64_t failed_before = b.attempts - b.stored, failed_after = a.attempts - a.stored;
    if (larger(failed_before, b.attempts, failed_after, a.attempts, by.failure_points, by))
        return worse(fmt::format("{:.2f} % of {} attempts not stored, {:.2f} % of {} otherwise", 100 * share(failed_after, a.attempts),
                                 a.attempts, 100 * share(failed_before, b.attempts), b.attempts));
    if (larger(b.unknown, b.attempts, a.unknown, a.attempts, by.failure_points, by))
        return worse(fmt::format("{:.2f} % of {} attempts ended unknown, {:.2f} % of {} otherwise", 100 * share(a.unknown, a.attempts),
                                 a.attempts, 100 * share(b.unknown, b.attempts), b.attempts));
    if (a.stored >= by.few && b.stored >= by.few) {
        const std::int64_t p99 = b.stored_in.quantile(0.99);
        const std::int64_t slow = std::max(static_cast<std::int64_t>(static_cast<double>(p99) * by.slower), p99 + by.slower_by_ns);
        if (larger(b.stored_in.above(slow), b.stored, a.stored_in.above(slow), a.stored, 0.01, by))
            return worse(fmt::format("{:.2f} % of attempts took over {}, {:.2f} % otherwise (p99 {} against {})",
                                     100 * share(a.stored_in.above(slow), a.stored), in_ms(slow),
                                     100 * share(b.stored_in.above(slow), b.stored), in_ms(a.stored_in.quantile(0.99)), in_ms(p99)));
    }
    const auto busiest = [](const tally& t) { return t.by_broker.empty() ? 0 : *std::max_element(t.by_broker.begin(), t.by_broker.end()); };
    if (larger(busiest(b), b.attempts, busiest(a), a.attempts, by.imbalance, by))
        return worse(fmt::format("one broker got {:.0f} % of {} attempts, the busiest otherwise {:.0f} %", 100 * share(busiest(a), a.attempts),
                                 a.attempts, 100 * share(busiest(b), b.attempts)));
    if (a.attempts < by.enough || b.attempts < by.enough)
        return {finding::undecided, fmt::format("undecided: {} attempts against {} and no difference yet; {} on each side are enough", a.attempts,
                                                b.attempts, by.enough)};
    return {finding::no_worse, fmt::format("no worse: {} attempts against {}, no difference that matters", a.attempts, b.attempts)};
}

}  // namespace shunt::swap
