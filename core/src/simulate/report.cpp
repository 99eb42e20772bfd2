#include <simulate/report.hpp>

#include <simulate/page.hpp>
#include <simulate/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace shunt::simulate {

namespace {

std::string_view to_string(verdict v) noexcept
{
    switch (v) {
    case verdict::available: return "available";
    case verdict::reachable: return "reachable";
    case verdict::isolated: return "isolated";
    case verdict::away: return "away";
    }
    return "?";
}

/// `write(i)` for each i below n, as a JSON array.
template <typename Write>
void append_array(std::string& out, std::size_t n, Write write)
{
    out += '[';
    for (std::size_t i = 0; i < n; ++i) {
        if (i != 0)
            out += ',';
        write(i);
    }
    out += ']';
}

void append_number(std::string& out, std::uint64_t n) { fmt::format_to(std::back_inserter(out), "{}", n); }

std::uint64_t count_of(const std::map<std::size_t, std::uint64_t>& counts, std::size_t broker)
{
    const auto at = counts.find(broker);
    return at == counts.end() ? 0 : at->second;
}

/// Where keys lay at first and at last, by broker, and how many went from where to where.
void append_keys(std::string& out, const reported_run& run, const std::vector<std::size_t>& by_name)
{
    const auto moves = run.series.keys();
    std::vector<std::size_t> place(by_name.size());
    for (std::size_t b = 0; b < by_name.size(); ++b)
        place[by_name[b]] = b;
    std::vector<std::uint64_t> first(by_name.size()), last(by_name.size());
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> between;
    for (const auto& [move, count] : moves) {
        first[place[move.first]] += count;
        last[place[move.second]] += count;
        between[{place[move.first], place[move.second]}] += count;
    }
    const std::size_t shown = moves.empty() ? 0 : by_name.size();
    out += R"(,"keys_first":)";
    append_array(out, shown, [&](std::size_t b) { append_number(out, first[b]); });
    out += R"(,"keys_last":)";
    append_array(out, shown, [&](std::size_t b) { append_number(out, last[b]); });
    out += R"(,"keys_between":)";
    auto at = between.begin();
    append_array(out, between.size(), [&](std::size_t) {
        fmt::format_to(std::back_inserter(out), "[{},{},{}]", at->first.first, at->first.second, at->second);
        ++at;
    });
    fmt::format_to(std::back_inserter(out), R"(,"keys":{},"keys_moved":{},"out_of_order":{})", run.keys.keys, run.keys.moved, run.keys.out_of_order);
}

void append_run(std::string& out, const reported_run& run)
{
    const recording& series = run.series;
    const auto& pieces = series.pieces();
    std::vector<std::size_t> by_name(series.brokers().size());
    std::iota(by_name.begin(), by_name.end(), std::size_t{0});
    std::sort(by_name.begin(), by_name.end(), [&](std::size_t a, std::size_t b) { return series.brokers()[a] < series.brokers()[b]; });

    out += R"({"name":)";
    append_quoted(out, run.name);
    out += R"(,"policy":)";
    append_quoted(out, run.policy);
    fmt::format_to(std::back_inserter(out), R"(,"width_ms":{},"brokers":)", series.width_ms());
    append_array(out, by_name.size(), [&](std::size_t b) { append_quoted(out, series.brokers()[by_name[b]]); });

    const auto table = [&](std::string_view key, auto counts_of) {
        fmt::format_to(std::back_inserter(out), R"(,"{}":)", key);
        append_array(out, pieces.size(), [&](std::size_t i) {
            append_array(out, by_name.size(), [&](std::size_t b) { append_number(out, count_of(counts_of(pieces[i]), by_name[b])); });
        });
    };
    table("attempts", [](const recording::piece& p) -> const auto& { return p.attempts; });
    table("failed", [](const recording::piece& p) -> const auto& { return p.failed; });

    const auto column = [&](std::string_view key, auto value_of) {
        fmt::format_to(std::back_inserter(out), R"(,"{}":)", key);
        append_array(out, pieces.size(), [&](std::size_t i) { append_number(out, static_cast<std::uint64_t>(value_of(pieces[i].latencies))); });
    };
    using latencies = std::map<std::int64_t, std::uint64_t>;
    column("ended", [](const latencies& l) {
        return std::accumulate(l.begin(), l.end(), std::uint64_t{0}, [](std::uint64_t n, const auto& one) { return n + one.second; });
    });
    column("p50_ms", [](const latencies& l) { return percentile(l, 500); });
    column("p99_ms", [](const latencies& l) { return percentile(l, 990); });
    column("max_ms", [](const latencies& l) { return percentile(l, 1000); });

    out += R"(,"stretches":)";
    append_array(out, by_name.size(), [&](std::size_t b) {
        const auto& all = series.stretches()[by_name[b]];
        append_array(out, all.size(), [&](std::size_t i) {
            fmt::format_to(std::back_inserter(out), R"({{"from":{},"to":{},"said":"{}"}})", all[i].from_ms, all[i].to_ms, to_string(all[i].said));
        });
    });
    out += R"(,"script":)";
    append_array(out, by_name.size(), [&](std::size_t b) {
        const auto all = run.script.equal_range(series.brokers()[by_name[b]]);
        const std::vector<std::pair<std::string, doing>> stretches(all.first, all.second);
        append_array(out, stretches.size(), [&](std::size_t i) {
            const doing& d = stretches[i].second;
            fmt::format_to(std::back_inserter(out), R"({{"from":{},"to":{},"does":"{}"}})", d.from_ms, d.to_ms, d.what);
        });
    });
    append_keys(out, run, by_name);
    const auto& l = run.sum.latency_ms;
    fmt::format_to(std::back_inserter(out), R"(,"p999_ms":{},"mean_ms":{},"summary":{}}})", l ? fmt::to_string(l->p999) : "null",
                   l ? fmt::format("{:.3f}", l->mean) : "null", to_json(run.sum));
}

}  // namespace

std::multimap<std::string, doing> script_of(const scenario& s)
{
    struct state {
        std::int64_t usual_ms = 0, latency_ms = 0;
        behaviour how = behaviour::answer;
        std::int32_t code = 0;
        doing now;  // empty `what`: it is well
    };
    std::map<std::string, state> all;
    std::multimap<std::string, doing> out;
    const auto goes_on = [&](const std::string& name, state& b, std::int64_t t_ms) {
        std::string what = b.how == behaviour::refuse ? "refuses"
                           : b.how == behaviour::hang ? "hangs"
                           : b.how == behaviour::drop ? "drops"
                           : b.code != 0              ? fmt::format("code {}", b.code)
                                                      : "";
        if (what.empty() && b.latency_ms != b.usual_ms)
            what = fmt::format("{} ms", b.latency_ms);
        if (what == b.now.what)
            return;
        if (!b.now.what.empty() && t_ms > b.now.from_ms)
            out.emplace(name, doing{b.now.from_ms, t_ms, b.now.what});
        b.now = {t_ms, t_ms, std::move(what)};
    };
    for (const broker& b : s.brokers)
        all[b.name].usual_ms = all[b.name].latency_ms = b.latency_ms;
    for (const std::size_t i : in_order_of_time(s)) {
        const step& one = s.steps[i];
        if (const auto* r = std::get_if<route_step>(&one.what))
            for (const broker& b : r->add) {
                state& fresh = all[b.name];
                fresh.usual_ms = fresh.latency_ms = b.latency_ms;
                fresh.how = behaviour::answer;
                fresh.code = 0;
                goes_on(b.name, fresh, one.time_ms);
            }
        if (const auto* b = std::get_if<broker_step>(&one.what)) {
            state& at = all[b->name];
            at.how = b->how.value_or(at.how);
            at.code = b->how ? b->code : at.code;
            at.latency_ms = b->latency_ms.value_or(b->ok ? at.usual_ms : at.latency_ms);
            goes_on(b->name, at, one.time_ms);
        }
    }
    for (auto& [name, b] : all)
        if (!b.now.what.empty())
            out.emplace(name, doing{b.now.from_ms, max_time_ms, b.now.what});
    return out;
}

std::string report_page(const std::string& title, const std::vector<reported_run>& runs)
{
    std::string json = R"({"title":)";
    append_quoted(json, title);
    json += R"(,"runs":)";
    append_array(json, runs.size(), [&](std::size_t i) { append_run(json, runs[i]); });
    json += '}';

    std::string out(page_before_data);
    for (const char c : json) {  // a name must not end the element it stands in
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out.append(page_after_data);
}

}  // namespace shunt::simulate
