// Fault strategies: how they judge, whether they say how long their word holds, and whether everybody comes back.

#include <plugin/check/situation.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace shunt::plugin::check {

namespace {

constexpr std::int64_t ms = 1'000'000, second = 1'000 * ms, hour = 3'600 * second;

/// A broker's number in a route of situation.hpp.
constexpr std::uint32_t id_of(std::uint32_t broker) { return 1000 + broker; }

bool all_of(const std::vector<bool>& bits) { return std::find(bits.begin(), bits.end(), false) == bits.end(); }

/// Why nothing can be found out about isolation.
constexpr std::string_view never_isolates = "it isolates nobody, whatever it is told";

outcome fault_fresh(subject& s)
{
    bench_host h(s.seed());
    for (const std::uint32_t n : {1u, 3u, 64u, 65u}) {
        const route r(route::even(n, 1));
        fault_instance f(s, h);
        const judgement j = f.judge(r, h.now);
        if (!all_of(j.available))
            return failed(fmt::format("of {} brokers it was told nothing about, it isolates some; a new broker must get messages", n));
        f.end();
    }
    return {};
}

outcome fault_masks(subject& s)
{
    bench_host h(s.seed());
    for (const std::uint32_t n : {0u, 1u, 63u, 64u, 65u, 1000u, 10'000u}) {
        const route r(route::even(n, 1));
        fault_instance f(s, h);
        (void)f.judge(r, h.now);
        std::vector<event> all;
        for (std::uint32_t b = 0; b < n; ++b)
            all.push_back({.broker_id = id_of(b), .at_ns = h.now, .result = static_cast<std::int32_t>(b % 4), .code = 2});
        (void)f.feed(all);
        (void)f.judge(r, h.now + 1);
    }
    return {};
}

outcome fault_one_for_one(subject& s)
{
    bench_host h(s.seed());
    const route r(route::even(6, 1));
    fault_instance f(s, h);
    if (!isolate_by_failures(f, h, r, 2))
        throw skipped(std::string(never_isolates));
    const judgement j = f.judge(r, h.now);
    for (std::uint32_t b = 0; b < r.n_brokers(); ++b)
        if (b != 2 && !j.available[b])
            return failed(fmt::format("broker 3 failed, and broker {}, of which nothing is known, is isolated", b + 1));
    // The same broker at another place of another route.
    const route shorter({1, 1, 1});
    const judgement again = f.judge(shorter, h.now);
    if (again.available[2] || !again.available[0])
        return failed("on another route it takes one broker for another: brokers are known by their id");
    return {};
}

outcome fault_says_changed(subject& s)
{
    bench_host h(s.seed());
    const route r(route::even(3, 1));
    fault_instance f(s, h);
    dice d(s.seed());
    for (int i = 0; i < 600; ++i) {
        h.now += 5 * ms;
        const std::uint32_t b = d.below(3);
        const auto result = static_cast<std::int32_t>(d.below(4));
        const judgement before = f.judge(r, h.now);
        const bool changed = f.feed({.broker_id = id_of(b), .at_ns = h.now, .result = result,
                                     .latency_ns = result == SHUNT_FB_GOOD ? static_cast<std::int64_t>(d.below(2000)) * ms : 3 * second, .code = 2});
        if (!changed && !(f.judge(r, h.now) == before))
            return failed("on_feedback answered 0 (nothing changed), and the next evaluate answers otherwise; the host would not ask again");
    }
    return {};
}

outcome fault_valid_until(subject& s)
{
    bench_host h(s.seed());
    const route r(route::even(3, 1));
    fault_instance f(s, h);
    const bool isolated = isolate_by_failures(f, h, r, 1);
    // Once right after the failures, then from one promised change to the next.
    std::int64_t now = h.now;
    for (int step = 0; step < 20; ++step) {
        const judgement j = f.judge(r, now);
        if (j.valid_until_ns <= now)
            return failed(fmt::format("at {} its answer is good until {}; that must lie in the future, or the host would ask without end", now, j.valid_until_ns));
        const std::int64_t end = std::min(j.valid_until_ns, now + 24 * hour);
        for (std::int64_t part = 1; part <= 16; ++part) {
            const std::int64_t at = part == 16 ? end - 1 : now + (end - now) / 16 * part;
            if (at <= now)
                continue;
            if (const judgement later = f.judge(r, at); !(later == j))
                return failed(fmt::format("its answer is good for {} ms, it says, and it is another one after {} ms", (j.valid_until_ns - now) / ms, (at - now) / ms));
        }
        if (j.valid_until_ns == INT64_MAX)
            return isolated && !j.available[1] ? failed("a broker is isolated, and the answer is good for ever, it says: it never comes back without traffic") : outcome{};
        now = j.valid_until_ns;
        if (now > h.now + 48 * hour)
            break;
    }
    return {};
}

/// Lets time pass as a host does: asks again when an answer ran out, and answers probes. When the broker is available;
/// nothing: not within `most`.
std::int64_t comes_back(fault_instance& f, bench_host& h, const route& r, std::uint32_t broker, std::int64_t from, std::int64_t most)
{
    std::int64_t now = from;
    for (int i = 0; i < 20'000 && now - from <= most; ++i) {
        const judgement j = f.judge(r, now);
        if (j.available[broker])
            return now;
        std::int64_t next = std::min(j.valid_until_ns, now + hour);
        std::vector<bench_host::probe> due;
        std::swap(due, h.probes);
        for (const bench_host::probe& p : due)
            next = std::min(next, std::max(p.at_ns, now + 1));
        for (const bench_host::probe& p : due) {
            if (p.at_ns <= next)
                (void)f.feed({.broker_id = p.broker_id, .at_ns = next, .kind = SHUNT_FB_PROBE, .code = 0});
            else
                h.probes.push_back(p);
        }
        now = std::max(next, now + 1);
    }
    return -1;
}

outcome fault_recovers(subject& s)
{
    bench_host h(s.seed());
    const route r(route::even(3, 1));
    for (const int bursts : {1, 20}) {
        fault_instance f(s, h);
        h.probes.clear();
        if (!isolate_by_failures(f, h, r, 1))
            throw skipped(std::string(never_isolates));
        for (int i = 1; i < bursts; ++i) {
            (void)comes_back(f, h, r, 1, h.now, 24 * hour);
            (void)isolate_by_failures(f, h, r, 1);
        }
        const std::int64_t from = h.now;
        const std::int64_t at = comes_back(f, h, r, 1, from, 24 * hour);
        if (at < 0)
            return failed(fmt::format("a broker that failed {} is still isolated after 24 hours without traffic; nobody would ever notice that it is well again",
                                      bursts == 1 ? "for a while" : "again and again"));
        f.end();
    }
    return {};
}

outcome fault_time(subject& s)
{
    bench_host h(s.seed());
    const route r(route::even(3, 1));
    fault_instance f(s, h);
    const std::int64_t base = h.now;
    // Attempts end on several threads: what is fed second may have ended first. Equal times are common.
    for (int i = 0; i < 300; ++i) {
        const std::int64_t at = base + (i % 7 - 3) * 10 * ms + i * ms;
        (void)f.feed({.broker_id = id_of(static_cast<std::uint32_t>(i % 3)), .at_ns = at, .result = i % 4, .code = 2});
        (void)f.judge(r, at - 2 * ms);
    }
    (void)f.judge(r, base - second);
    h.probes.clear();
    for (std::uint32_t b = 0; b < 3; ++b)
        if (comes_back(f, h, r, b, base + second, 24 * hour) < 0)
            return failed("after feedback out of order a broker never comes back");
    return {};
}

outcome fault_extremes(subject& s)
{
    bench_host h(s.seed());
    route r(route::even(3, 1));
    r.load(1).inflight = std::numeric_limits<std::uint32_t>::max();
    r.load(1).ewma_latency_ns = INT64_MAX;
    r.broker(2).weight = 0;
    fault_instance f(s, h);
    for (const std::int64_t latency : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, INT64_MAX})
        for (const std::int64_t share : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX})
            for (std::int32_t result = 0; result < 4; ++result)
                for (const std::int32_t code : {INT32_MIN, -1, 0, INT32_MAX}) {
                    h.now += ms;
                    (void)f.feed({.broker_id = id_of(0), .at_ns = h.now, .result = result, .latency_ns = latency, .share_ns = share, .code = code,
                                  .start_ns = h.now});
                    (void)f.judge(r, h.now);
                }
    (void)f.feed(std::span<const event>{});
    // Kinds and results of a later minor.
    (void)f.feed({.broker_id = id_of(1), .at_ns = h.now, .result = SHUNT_FB_GOOD, .kind = 99});
    (void)f.feed({.broker_id = id_of(1), .at_ns = h.now, .result = 99});
    (void)f.judge(r, h.now);
    return {};
}

outcome fault_unknown_broker(subject& s)
{
    bench_host h(s.seed());
    const route r(route::even(3, 1));
    fault_instance f(s, h);
    for (const std::uint32_t id : {0u, 7u, SHUNT_NONE, SHUNT_NONE - 1}) {
        for (const std::int32_t kind : {SHUNT_FB_LEFT, SHUNT_FB_PROBE, SHUNT_FB_SEND, SHUNT_FB_LEFT, SHUNT_FB_LEFT})
            for (const std::int32_t result : {SHUNT_FB_GOOD, SHUNT_FB_UNREACHABLE})
                (void)f.feed({.broker_id = id, .at_ns = h.now, .result = result, .kind = kind, .code = -1});
        if (!all_of(f.judge(r, h.now).available))
            return failed(fmt::format("feedback for broker {}, which is in no route here, isolates others", id));
    }
    return {};
}

outcome fault_forgets(subject& s)
{
    const memory_meter& meter = s.with().memory;
    bench_host h(s.seed());
    const route r(route::even(3, 1));
    {
        fault_instance f(s, h);
        if (isolate_by_failures(f, h, r, 1)) {
            (void)f.feed({.broker_id = id_of(1), .at_ns = h.now, .kind = SHUNT_FB_LEFT});
            if (!f.judge(r, h.now).available[1])
                return failed("a broker that left and came again is still isolated; with SHUNT_FB_LEFT it is to be forgotten");
        }
    }
    if (meter.live_bytes == nullptr)
        throw skipped("memory is measured only in a process of its own");
    fault_instance f(s, h);
    const auto come_and_go = [&](std::uint32_t first) {
        for (std::uint32_t b = first; b < first + 10'000; ++b) {
            h.now += ms / 10;
            const event failure{.broker_id = 100'000 + b, .at_ns = h.now, .result = SHUNT_FB_UNREACHABLE, .code = -1};
            (void)f.feed(failure);
            (void)f.feed({.broker_id = 100'000 + b, .at_ns = h.now, .kind = SHUNT_FB_LEFT});
        }
    };
    come_and_go(0);
    const std::int64_t before = meter.live_bytes();
    come_and_go(10'000);
    const std::int64_t left = meter.live_bytes() - before;
    return left >= 10'000 ? failed(fmt::format("10,000 brokers that came and left keep {} bytes", left)) : outcome{};
}

outcome fault_probes(subject& s)
{
    bench_host h(s.seed());
    const route r(route::even(3, 1));
    fault_instance f(s, h);
    (void)isolate_by_failures(f, h, r, 1);
    if (h.probe_requests == 0)
        throw skipped("it asks for no probes");
    for (const bench_host::probe& p : h.probes)
        if (p.broker_id < id_of(0) || p.broker_id > id_of(2))
            return failed(fmt::format("asks for a probe of broker {}, of which it was never told", p.broker_id));
    // A bad probe, and another: no more is asked for than one a time.
    const std::uint64_t before = h.probe_requests;
    for (int i = 0; i < 100; ++i) {
        h.now += second;
        (void)f.feed({.broker_id = id_of(1), .at_ns = h.now, .result = SHUNT_FB_UNREACHABLE, .kind = SHUNT_FB_PROBE, .code = -1});
        (void)f.judge(r, h.now);
    }
    const std::uint64_t asked = h.probe_requests - before;
    return asked > 400 ? failed(fmt::format("asks for {} probes where 100 ended", asked)) : outcome{};
}

outcome fault_longer_structs(subject& s)
{
    const auto verdicts = [&](bool longer) {
        bench_host h(s.seed());
        dice d(s.seed());
        const route r(route::even(5, 1), 1, longer);
        fault_instance f(s, h);
        std::vector<judgement> all;
        for (int i = 0; i < 100; ++i) {
            std::vector<event> some;
            for (int k = 0; k < 7; ++k) {
                h.now += ms;
                const auto result = static_cast<std::int32_t>(d.below(4));
                some.push_back({.broker_id = id_of(d.below(5)), .at_ns = h.now, .result = result, .latency_ns = static_cast<std::int64_t>(d.below(900)) * ms, .code = 2});
            }
            (void)f.feed(some, longer);
            all.push_back(f.judge(r, h.now));
        }
        return all;
    };
    return verdicts(false) == verdicts(true) ? outcome{} : failed("a host with longer structs gets other verdicts: step by the strides, not by sizeof");
}

constexpr std::array all{
    rule{"fault-fresh", scope::fault, true, "brokers of which nothing is known are available",
         "A new broker gets no messages otherwise, and so nothing is ever known of it.", fault_fresh},
    rule{"fault-masks", scope::fault, true, "it judges any number of brokers, and writes its masks only",
         "evaluate gets n brokers and masks of (n + 63) / 64 words; n may be 0 or 10,000. Bits past n stay zero.", fault_masks},
    rule{"fault-one-for-one", scope::fault, false, "a broker's failures are held against that broker only",
         "Indexes belong to one route; the id is what stays. Judge by brokers[i].id.", fault_one_for_one},
    rule{"fault-says-changed", scope::fault, false, "on_feedback answers 1 whenever a verdict changed",
         "The host asks evaluate again when it is told so, or when an answer runs out; a change that is kept quiet is seen late or never.", fault_says_changed},
    rule{"fault-valid-until", scope::fault, false, "its answers hold as long as it says, and end in the future",
         "The host sleeps until *valid_until_ns. An end in the past makes it ask without pause; a verdict that changes before is not noticed.",
         fault_valid_until},
    rule{"fault-recovers", scope::fault, false, "an isolated broker always comes back, without traffic",
         "An isolated broker gets no messages while others are well, so no good answer can free it. Time must, or a probe.", fault_recovers},
    rule{"fault-time", scope::fault, false, "feedback that is out of order is no trouble",
         "Attempts end on several threads, so times may be equal or a little earlier than the last. Reckon with at_ns.", fault_time},
    rule{"fault-extremes", scope::fault, false, "latencies, shares, codes and kinds of any value are no trouble",
         "A share may be 0 and a latency very long; later hosts may send kinds that are new. What is not known is passed over, with 0.", fault_extremes},
    rule{"fault-unknown-broker", scope::fault, false, "feedback for brokers it does not know is no trouble",
         "A late answer may come after the broker left. Who is told to forget a stranger forgets nobody.", fault_unknown_broker},
    rule{"fault-forgets", scope::fault, false, "brokers that left are forgotten, 10,000 of them",
         "In a cloud brokers come and go with new ids. What is kept of each adds up for years.", fault_forgets},
    rule{"fault-probes", scope::fault, false, "it asks for probes of brokers it was told of, one at a time",
         "A probe is a connection. One is pending for a broker at most, a second request moves it; its end comes back as feedback of kind PROBE.",
         fault_probes},
    rule{"fault-longer-structs", scope::fault, false, "structs that are longer than it knows are read alike",
         "A later host's feedback and brokers have members behind those of today: both arrays come with a stride.", fault_longer_structs},
};

}  // namespace

std::span<const rule> fault_rules() { return all; }

}  // namespace shunt::plugin::check
