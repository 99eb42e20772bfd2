// Making instances and taking them down, for selectors and fault strategies alike.

#include <plugin/check/situation.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt::plugin::check {

namespace {

using strategy::in_quotes;
using strategy::strategy_kind;

/// Makes an instance, uses it once, takes it down.
void live_once(subject& s, bench_host& h, std::uint32_t start = 0)
{
    if (s.chosen().kind == strategy_kind::selector) {
        const route r(route::even(3, 4));
        selector_instance i(s, h, start);
        (void)i.select(r, {.key = "k", .has_key = true, .random = h.table().random(h.table().ctx)});
        i.end();
    } else {
        const route r(route::even(3, 1));
        fault_instance f(s, h);
        (void)f.feed({.broker_id = 1000, .at_ns = h.now, .result = SHUNT_FB_FAILED});
        (void)f.judge(r, h.now);
        f.end();
    }
}

outcome create_plain(subject& s)
{
    bench_host h(s.seed());
    const creation c = try_create(s, h, s.settings().config());
    return c.made ? outcome{} : failed(fmt::format("create with plain settings refused: {}", in_quotes(c.refusal)));
}

outcome create_repeat(subject& s)
{
    bench_host h(s.seed());
    const memory_meter& meter = s.with().memory;
    for (int i = 0; i < 50; ++i)
        live_once(s, h);
    const std::int64_t before = meter.live_bytes != nullptr ? meter.live_bytes() : 0;
    for (int i = 0; i < 1000; ++i)
        live_once(s, h);
    if (meter.live_bytes == nullptr)
        throw skipped("memory is measured only in a process of its own");
    const std::int64_t left = meter.live_bytes() - before;
    return left >= 1000 ? failed(fmt::format("1,000 instances left {} bytes behind, {} each", left, left / 1000)) : outcome{};
}

outcome create_many(subject& s)
{
    bench_host h(s.seed());
    if (s.chosen().kind == strategy_kind::selector) {
        // The same questions to one instance alone, and to one among many others that are asked in between.
        const route r(route::even(3, 4));
        const auto ask = [&](selector_instance& i, std::uint64_t n) {
            const std::string key = fmt::format("key-{}", n);
            return i.ask(r, {.key = key, .has_key = n % 2 == 0, .random = n * 0x9e3779b97f4a7c15u});
        };
        std::vector<answer> alone;
        {
            bench_host own(s.seed());
            selector_instance i(s, own, 5);
            for (std::uint64_t n = 0; n < 64; ++n)
                alone.push_back(ask(i, n));
        }
        std::vector<std::unique_ptr<selector_instance>> others;
        for (std::uint32_t k = 0; k < 32; ++k)
            others.push_back(std::make_unique<selector_instance>(s, h, k));
        bench_host own(s.seed());
        selector_instance i(s, own, 5);
        for (std::uint64_t n = 0; n < 64; ++n) {
            for (auto& other : others)
                (void)ask(*other, n + 7);
            const answer a = ask(i, n);
            if (a != alone[n])
                return failed(fmt::format("with other instances about, question {} is answered with queue {} instead of {}; instances share something",
                                          n + 1, a.queue, alone[n].queue));
        }
        return {};
    }
    const route r(route::even(3, 1));
    std::vector<std::unique_ptr<fault_instance>> others;
    for (int k = 0; k < 16; ++k)
        others.push_back(std::make_unique<fault_instance>(s, h));
    fault_instance bystander(s, h);
    for (auto& other : others)
        (void)isolate_by_failures(*other, h, r, 1);
    const judgement j = bystander.judge(r, h.now);
    return j.available[1] ? outcome{} : failed("an instance that was told nothing isolates the broker that others were told of");
}

outcome settings_edges(subject& s)
{
    bench_host h(s.seed());
    const auto& parameters = s.chosen().parameters;
    if (parameters.empty())
        throw skipped("it has no parameters");
    std::string last;
    for (const strategy::parameter& p : parameters) {
        std::vector<setting> values;
        const std::int32_t type = p.type == SHUNT_T_ARRAY ? p.element_type : p.type;
        std::vector<setting> scalars;
        const bool bounded = p.min != 0 || p.max != 0;
        const auto number = [&](double v) {
            switch (type) {
            case SHUNT_T_I64: scalars.emplace_back(static_cast<std::int64_t>(v)); break;
            case SHUNT_T_F64: scalars.emplace_back(v); break;
            case SHUNT_T_DURATION_NS: if (v >= 0) scalars.emplace_back(strategy::format_duration(std::llround(v))); break;
            case SHUNT_T_SIZE: if (v >= 0) scalars.emplace_back(strategy::format_size(std::llround(v))); break;
            default: break;
            }
        };
        if (type == SHUNT_T_BOOL) {
            scalars = {true, false};
        } else if (type == SHUNT_T_STR) {
            for (const std::string& choice : p.choices)
                scalars.emplace_back(choice);
            if (p.choices.empty())
                scalars = {"", "x", std::string(4096, 'y'), std::string("nul\0inside", 10), "\xf0\x9f\x90\xb0"};
        } else {
            for (const double v : {bounded ? p.min : 0.0, bounded ? p.max : 9e18, bounded ? (p.min + p.max) / 2 : 1.0})
                if (std::isfinite(v) && std::abs(v) < 9.2e18)
                    number(v);
        }
        if (p.type != SHUNT_T_ARRAY) {
            values = scalars;
        } else {
            for (const std::size_t n : {std::size_t{p.min_count}, std::size_t{p.min_count} + 1, std::size_t{1000}}) {
                setting_array all;
                for (std::size_t i = 0; i < n && !scalars.empty(); ++i)
                    all.push_back(scalars[i % scalars.size()]);
                values.emplace_back(std::move(all));
            }
        }
        for (setting& value : values) {
            setting_table given = s.plain_settings();
            given.insert_or_assign(p.name, std::move(value));
            std::vector<strategy::setting_problem> problems;
            const strategy::checked_settings checked = strategy::check_settings(s.chosen(), given, {}, problems);
            if (!problems.empty())
                continue;  // the host refuses it first
            try {
                (void)try_create(s, h, checked.config());
            } catch (const outcome& o) {
                throw outcome{o.result, fmt::format("with {} at an edge of what is declared: {}", p.name, o.detail)};
            }
        }
    }
    return {};
}

outcome start_values(subject& s)
{
    bench_host h(s.seed());
    if (s.chosen().kind != strategy_kind::selector)
        throw skipped("fault strategies have no rotation");
    const route r(route::even(3, 4));
    for (const std::uint32_t start : {0u, 1u, 0x7ffffff0u, 0x7fffffffu}) {
        selector_instance i(s, h, start);
        for (std::uint64_t n = 0; n < 64; ++n)
            (void)i.select(r, {.random = n});
    }
    return {};
}

constexpr std::array all{
    rule{"create-plain", scope::strategy, true, "create with its defaults gives an instance",
         "What must be given gets a value that its declaration allows; where that is not enough, --set NAME=VALUE gives a better one. create answers 0 "
         "and an instance, or an error below 0 and a text through set_error.",
         create_plain},
    rule{"settings-edges", scope::strategy, false, "settings at the edges of what it declares are taken, or refused with a text",
         "The host refuses what the declarations exclude; the rest is the strategy's to judge. A user must read what was wrong: call set_error (in C++ "
         "settings::refuse) before answering an error.",
         settings_edges},
    rule{"create-repeat", scope::strategy, false, "1,000 instances made and destroyed leave nothing behind",
         "Each policy, topic and sender thread has instances, and each swap makes new ones. What destroy forgets adds up while the program runs.",
         create_repeat},
    rule{"create-many", scope::strategy, false, "instances know nothing of each other",
         "One instance serves one policy, another a second. A counter in a global variable is shared by all topics and threads: rotations skip queues, "
         "and isolations cross over. Keep state in the instance.",
         create_many},
    rule{"start-values", scope::strategy, false, "it begins its rotation wherever it is told, and stays in range when its cursor wraps",
         "Live, start is random in 0..2147483647, so that many producers do not begin alike. A signed cursor turns negative there; % then gives a "
         "negative index.",
         start_values},
};

}  // namespace

std::span<const rule> create_rules() { return all; }

}  // namespace shunt::plugin::check
