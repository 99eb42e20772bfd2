// Assertions that explain: each answers a finding.
//
//     ASSERT_TRUE(f = spread(s.count(r, 1200), r)) ...    evenly over the queues of a route, or by stated shares
//     never_picks, stays_put, moves_at_most               of a selector
//     recovers_within, never_sends_to                     of a fault strategy, or of a world that ran
//     table, story                                        many small cases at once

#pragma once

#include <shunt/sdk/testing/fault.hpp>
#include <shunt/sdk/testing/finding.hpp>
#include <shunt/sdk/testing/route.hpp>
#include <shunt/sdk/testing/selector.hpp>
#include <shunt/sdk/testing/world.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::sdk::testing {

/// How far chance may take one count away from share * n: five standard deviations, one wrong alarm in more than a million.
[[nodiscard]] inline double chance(int n, double share) { return 5 * std::sqrt(n * share * (1 - share)); }

/// How far a count may lie from what is expected.
struct tolerance {
    double count = 0;      ///< messages
    double relative = 0;   ///< parts of what is expected
    bool random = false;   ///< also what chance() allows
};
inline constexpr tolerance exactly{}, by_chance{.random = true};
[[nodiscard]] constexpr tolerance within(double part) noexcept { return {.relative = part}; }
[[nodiscard]] constexpr tolerance give_or_take(double count) noexcept { return {.count = count}; }

/// The counts have these shares (of any sum), by name; nothing else was picked.
[[nodiscard]] inline finding spread(const counts& got, const std::map<std::string, double>& shares, tolerance allowed = exactly)
{
    double sum = 0;
    int n = 0;
    for (const auto& [name, share] : shares)
        sum += share;
    for (const auto& [name, count] : got)
        n += count;
    finding f;
    for (const auto& [name, count] : got)
        if (!shares.contains(name))
            f.also(finding{name + " got " + std::to_string(count) + " of " + std::to_string(n) + "; it must get none"});
    for (const auto& [name, share] : shares) {
        const auto found = got.find(name);
        const int count = found == got.end() ? 0 : found->second;
        const double part = share / sum, expected = part * n;
        const double slack = allowed.count + allowed.relative * expected + (allowed.random ? chance(n, part) : 0) + 1e-9;
        if (std::abs(count - expected) > slack) {
            char right[64];
            std::snprintf(right, sizeof right, slack < 0.01 ? "%.6g" : "%.6g, give or take %.3g", expected, slack);
            f.also(finding{name + " got " + std::to_string(count) + " of " + std::to_string(n) + "; it must get " + right});
        }
    }
    return f;
}

/// Evenly over the queues of a route. (A template, so that a list of shares is never taken for a route.)
template <std::same_as<route> Route>
[[nodiscard]] finding spread(const counts& got, const Route& over, tolerance allowed = exactly)
{
    std::map<std::string, double> shares;
    for (std::uint32_t q = 0; q < over.size(); ++q)
        shares[over.name(q)] = 1;
    return spread(got, shares, allowed);
}

/// No message of `n` goes to the broker.
[[nodiscard]] inline finding never_picks(selector& s, const route& r, const std::string& broker, int n = 1000, const msg& m = {})
{
    for (int i = 0; i < n; ++i)
        if (const std::string q = s.pick(r, m); broker_of(q) == broker)
            return finding{"pick " + std::to_string(i + 1) + " of " + std::to_string(n) + " is " + q + "; " + broker + " must not be picked"};
    return {};
}

/// The same message goes to the same queue each time.
[[nodiscard]] inline finding stays_put(selector& s, const route& r, const msg& m, int n = 100)
{
    const std::string first = s.pick(r, m);
    for (int i = 1; i < n; ++i)
        if (const std::string q = s.pick(r, m); q != first)
            return finding{"pick " + std::to_string(i + 1) + " is " + q + "; it must stay at " + first};
    return {};
}

/// Where keys go: `keys` of the form "order-{i}".
using mapping = std::map<std::string, std::string>;
[[nodiscard]] inline mapping map_keys(selector& s, const route& r, int keys = 1000, const std::string& form = "order-{i}")
{
    mapping all;
    for (int i = 0; i < keys; ++i) {
        std::string key = form;
        if (const std::size_t hole = key.find("{i}"); hole != std::string::npos)
            key.replace(hole, 3, std::to_string(i));
        all[key] = s.pick(r, {.key = key});
    }
    return all;
}

/// From one route to another at most this part of the keys moves. `only_from`: and only keys that were on that broker.
[[nodiscard]] inline finding moves_at_most(const mapping& before, const mapping& after, double part, const std::string& only_from = {})
{
    std::size_t moved = 0;
    finding f;
    for (const auto& [key, queue] : before) {
        const auto now = after.find(key);
        if (now == after.end())
            misuse("moves_at_most: " + detail::quoted(key) + " is in one mapping only");
        if (now->second == queue)
            continue;
        ++moved;
        if (f && !only_from.empty() && broker_of(queue) != only_from)
            f.also(finding{detail::quoted(key) + " moved from " + queue + " to " + now->second + "; only keys on " + only_from + " may move"});
    }
    const double got = before.empty() ? 0 : static_cast<double>(moved) / static_cast<double>(before.size());
    if (got > part) {
        char words[96];
        std::snprintf(words, sizeof words, "%.1f %% of the keys moved; at most %.1f %% may", got * 100, part * 100);
        f.also(finding{words});
    }
    return f;
}
[[nodiscard]] inline finding moves_at_most(selector& s, const route& before, const route& after, double part, int keys = 1000)
{
    const mapping first = map_keys(s, before, keys);
    return moves_at_most(first, map_keys(s, after, keys), part);
}

/// From `from` on nothing goes wrong any more, and the broker is available again after at most `limit`: by time alone and by
/// answers to the probes the strategy asked for.
[[nodiscard]] inline finding recovers_within(fault& f, const route& r, const std::string& broker, nanoseconds from, nanoseconds limit)
{
    const std::uint32_t b = r.index(broker);
    if (b == SHUNT_NONE)
        misuse("the route has no broker " + detail::quoted(broker));
    nanoseconds now = from;
    for (int steps = 0; steps < 100000; ++steps) {
        const judgement j = f.judge(r, now);
        if (!j.problem.empty())
            return finding{"at " + detail::show(now) + ": " + j.problem};
        if (j.available[b])
            return {};
        nanoseconds next = j.valid_until, due = nanoseconds::max();
        std::string probed;
        for (const std::string& one : r.names())
            if (const nanoseconds at = f.probe_at(one); at >= nanoseconds{0} && at < due)
                due = at, probed = one;
        if (due != nanoseconds::max() && due <= next) {
            if (std::max(due, now) - from > limit)
                break;
            now = std::max(due, now);
            if (f.probed(probed, now, true) < 0)
                return finding{"at " + detail::show(now) + ": " + f.host().error};
            if (f.probe_at(probed) >= nanoseconds{0} && f.probe_at(probed) <= now)
                now += std::chrono::milliseconds{1};
            continue;
        }
        if (next == nanoseconds::max())
            return finding{broker + " is " + std::string{to_string(j.of(b))} +
                           ", and neither time (valid_until says never) nor a probe (none is asked for) can bring it back"};
        if (next <= now)
            next = now + nanoseconds{1};
        if (next - from > limit)
            break;
        now = next;
    }
    return finding{broker + " is not available " + detail::show(limit) + " after it was well again"};
}
[[nodiscard]] inline finding recovers_within(fault& f, const std::string& broker, nanoseconds from, nanoseconds limit)
{
    const std::vector<testing::broker> alone{{.name = broker, .queues = 1}};
    return recovers_within(f, route(alone), broker, from, limit);
}

/// In a world that ran: from when the script says that the broker is well for good, it is sent to again after at most `limit`,
/// and from then on has at least half of an even share.
[[nodiscard]] inline finding recovers_within(const world& w, const std::string& broker, nanoseconds limit)
{
    const nanoseconds since = w.well_since(broker);
    if (since == nanoseconds::max() || since == nanoseconds::min())
        misuse("recovers_within: by the world's script " + broker + (since == nanoseconds::max() ? " never gets well" : " is always well"));
    int on_it = 0, all = 0;
    for (const attempt& a : w.log())
        if (a.number == 1 && a.start >= since + limit) {
            ++all;
            on_it += a.broker == broker ? 1 : 0;
        }
    if (all == 0)
        misuse("recovers_within: no send begins later than " + detail::show(since + limit) + "; let the world run longer");
    const auto brokers = static_cast<double>(std::ranges::count_if(w.sees().brokers(), [](const testing::broker& b) { return b.queues > 0; }));
    if (on_it * brokers * 2 >= all)
        return {};
    return finding{broker + " is well again since " + detail::show(since) + ", but of the " + std::to_string(all) + " sends from " +
                   detail::show(since + limit) + " on it got " + std::to_string(on_it)};
}

/// In a world that ran: no attempt on the broker began in [from, to).
[[nodiscard]] inline finding never_sends_to(const world& w, const std::string& broker, nanoseconds from, nanoseconds to, int but = 0)
{
    for (const attempt& a : w.log())
        if (a.broker == broker && a.start >= from && a.start < to && but-- <= 0)
            return finding{"send " + std::to_string(a.send) + ", attempt " + std::to_string(a.number) + " at " + detail::show(a.start) + " went to " +
                           a.queue};
    return {};
}

/// In a world that ran: every send was stored.
[[nodiscard]] inline finding all_stored(const world& w)
{
    finding f{w.problem()};
    if (w.stored() != w.sends())
        f.also(finding{std::to_string(w.stored()) + " of " + std::to_string(w.sends()) + " sends were stored"});
    return f;
}

// ---- many cases at once ----

/// One case of a selector: a fresh instance, some picks.
struct row {
    std::string_view route;      ///< a line
    msg message = {};
    std::string_view picks;      ///< what must come, one word a pick: "a/0 b/0"
    settings given = {};
    std::uint32_t start = 0;
    std::string_view because{};  ///< told when it does not hold
};
[[nodiscard]] inline finding table(const plugin& p, const std::vector<row>& rows)
{
    finding f;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const row& one = rows[i];
        const std::string where = "row " + std::to_string(i + 1) + (one.because.empty() ? "" : " (" + std::string{one.because} + ")");
        selector s{p, one.given, {one.start}};
        if (!s.refusal().empty()) {
            f.also(finding{"not made: " + s.refusal()}, where);
            continue;
        }
        const testing::route r{one.route};
        std::string got;
        for (std::string_view rest = one.picks; !detail::next_word(rest).empty();)
            got += (got.empty() ? "" : " ") + s.pick(r, one.message);
        if (got != one.picks)
            f.also(finding{"picked " + detail::quoted(got) + "; it must be " + detail::quoted(one.picks)}, where);
    }
    return f;
}

/// The story of brokers, a line an event or a verdict, each with its time:
///
///     1s    b good 600ms         also: failed, refuse, expired SHARE, probe ok, probe refuse, left
///     1s    b is reachable       also: available, cut-off
///     3s    b is available
[[nodiscard]] inline finding story(fault& f, std::string_view lines)
{
    std::vector<testing::broker> everybody;
    const auto each_line = [&](auto&& use) {
        std::size_t number = 1;
        for (std::string_view rest = lines; !rest.empty(); ++number) {
            std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
            const std::string whole{line};
            if (const std::string_view time = detail::next_word(line); !time.empty() && !time.starts_with('#'))
                use(number, whole, time, line);
        }
    };
    each_line([&](std::size_t, const std::string&, std::string_view, std::string_view line) {
        const std::string name{detail::next_word(line)};
        if (std::ranges::none_of(everybody, [&](const auto& b) { return b.name == name; }))
            everybody.push_back({.name = name, .queues = 1});
    });
    const route r{everybody};
    finding out;
    each_line([&](std::size_t number, const std::string& whole, std::string_view time, std::string_view line) {
        const auto wrong = [&](const char* right) {
            misuse("story, line " + std::to_string(number) + ": " + detail::quoted(whole) + "; it must be " + right);
        };
        const auto duration = [&](std::string_view word) {
            const auto ns = detail::parse_with_unit(word, detail::duration_units);
            if (!ns)
                wrong("TIME BROKER WORDS, with times as \"250ms\"");
            return nanoseconds{*ns};
        };
        const nanoseconds at = duration(time);
        const std::string b{detail::next_word(line)};
        const std::string_view what = detail::next_word(line), more = detail::next_word(line);
        shunt_status said = 0;
        if (what == "is") {
            const std::string expected = more == "cut-off" ? "cut off" : std::string{more};
            if (expected != "available" && expected != "reachable" && expected != "cut off")
                wrong("is available, is reachable or is cut-off");
            if (const std::string got = f.verdict(r, b, at); got != expected)
                out.also(finding{b + " is " + got + "; it must be " + expected}, "line " + std::to_string(number) + ", at " + std::string{time});
        } else if (what == "good") {
            said = f.good(b, at, more.empty() ? nanoseconds{1'000'000} : duration(more));
        } else if (what == "failed") {
            said = f.failed(b, at);
        } else if (what == "refuse") {
            said = f.refused(b, at);
        } else if (what == "expired") {
            said = f.expired(b, at, more.empty() ? nanoseconds{1'000'000'000} : duration(more));
        } else if (what == "probe" && (more == "ok" || more == "refuse")) {
            said = f.probed(b, at, more == "ok");
        } else if (what == "left") {
            said = f.left(b, at);
        } else {
            wrong("one of good, failed, refuse, expired, probe ok, probe refuse, left, is ...");
        }
        if (said < 0)
            out.also(finding{"error: " + f.host().error}, "line " + std::to_string(number));
    });
    return out;
}
[[nodiscard]] inline finding story(const plugin& p, const settings& given, std::string_view lines)
{
    fault f{p, given};
    return f.refusal().empty() ? story(f, lines) : finding{"not made: " + f.refusal()};
}

}  // namespace shunt::sdk::testing
