#include "comparison.hpp"

#include "console.hpp"
#include "json.hpp"

#include <simulate/text.hpp>

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace shunt::cli {

namespace {

using side = table::side;
using run_row = std::pair<std::string, std::function<std::string(const compared_run&)>>;

std::uint64_t not_stored(const compared_run& r) { return r.sum.sends - r.sum.stored; }

std::string latency_of(const simulate::summary& s, std::int64_t simulate::percentiles::* which)
{
    return s.latency_ms ? fmt::format("{} ms", (*s.latency_ms).*which) : "-";
}

std::string mean_of(const simulate::summary& s) { return s.latency_ms ? fmt::format("{:.1f} ms", s.latency_ms->mean) : "-"; }

std::uint64_t attempts_at(const simulate::summary& s, const std::string& broker)
{
    for (const auto& b : s.brokers)
        if (b.broker == broker)
            return b.attempts;
    return 0;
}

run_row share_of(const std::string& broker, const std::string& title)
{
    return {title, [broker](const compared_run& r) { return part_of(attempts_at(r.sum, broker), r.sum.attempts); }};
}

void add_latencies(std::vector<run_row>& rows)
{
    using p = simulate::percentiles;
    rows.emplace_back("mean", [](const compared_run& r) { return mean_of(r.sum); });
    rows.emplace_back("p50", [](const compared_run& r) { return latency_of(r.sum, &p::p50); });
    rows.emplace_back("p99", [](const compared_run& r) { return latency_of(r.sum, &p::p99); });
    rows.emplace_back("p99.9", [](const compared_run& r) { return latency_of(r.sum, &p::p999); });
    rows.emplace_back("max", [](const compared_run& r) { return latency_of(r.sum, &p::max); });
}

void add_keys(std::vector<run_row>& rows, const std::vector<compared_run>& runs)
{
    bool any = false;
    for (const compared_run& r : runs)
        any = any || r.keys.keys != 0;
    if (!any)
        return;
    rows.emplace_back("keys moved", [](const compared_run& r) { return fmt::format("{} of {}", grouped(r.keys.moved), grouped(r.keys.keys)); });
    rows.emplace_back("out of order", [](const compared_run& r) { return grouped(r.keys.out_of_order); });
}

/// All there is to say.
std::vector<run_row> rows_of(const std::vector<compared_run>& runs)
{
    std::vector<run_row> rows{
        {"stored", [](const compared_run& r) { return grouped(r.sum.stored); }},
        {"not sent", [](const compared_run& r) { return grouped(r.sum.not_sent); }},
        {"unknown", [](const compared_run& r) { return grouped(r.sum.unknown); }},
        {"rejected", [](const compared_run& r) { return grouped(r.sum.rejected); }},
        {"attempts", [](const compared_run& r) { return grouped(r.sum.attempts); }},
    };
    add_latencies(rows);
    add_keys(rows, runs);
    std::set<std::string> brokers;
    for (const compared_run& r : runs)
        for (const auto& b : r.sum.brokers)
            brokers.insert(b.broker);
    for (const std::string& b : brokers)
        rows.push_back(share_of(b, "share of " + b));
    return rows;
}

/// A line for each run: its title, then a cell for each of `columns`.
std::string as_lines(const std::string& head, const std::vector<run_row>& columns, const std::vector<compared_run>& runs,
                     const std::function<std::string(const compared_run&)>& title)
{
    std::vector<side> sides(columns.size() + 1, side::right);
    sides.front() = side::left;
    table t(std::move(sides));
    std::vector<std::string> cells{head};
    for (const auto& [name, value] : columns)
        cells.push_back(name);
    t.row(cells);
    for (const compared_run& r : runs) {
        cells = {title(r)};
        for (const auto& [name, value] : columns)
            cells.push_back(value(r));
        t.row(cells);
    }
    return t.text();
}

}  // namespace

std::string part_of(std::uint64_t part, std::uint64_t whole)
{
    return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

bool is_better(const compared_run& a, const compared_run& b)
{
    const auto rank = [](const compared_run& r) {
        const simulate::percentiles l = r.sum.latency_ms.value_or(simulate::percentiles{});
        return std::tuple(not_stored(r), r.keys.out_of_order, l.p99, l.mean, r.sum.attempts, !r.of_the_file);
    };
    return rank(a) < rank(b);
}

std::string side_by_side(const std::vector<compared_run>& runs)
{
    table t({side::left, side::right, side::right});
    t.row({"", runs[0].policy, runs[1].policy});
    for (const auto& [name, value] : rows_of(runs))
        t.row({name, value(runs[0]), value(runs[1])});
    return t.text();
}

std::string one_below_another(const std::string& key, const std::vector<compared_run>& runs)
{
    return as_lines(key, rows_of(runs), runs, [](const compared_run& r) { return r.name; });
}

std::string ranking(const std::vector<compared_run>& runs, const std::vector<std::string>& brokers, const left_out& others)
{
    std::vector<run_row> columns{
        {"not stored", [](const compared_run& r) { return grouped(not_stored(r)); }},
        {"attempts", [](const compared_run& r) { return grouped(r.sum.attempts); }},
    };
    add_latencies(columns);
    add_keys(columns, runs);
    for (const std::string& b : brokers)
        columns.push_back(share_of(b, "to " + b));
    std::string out = as_lines("policy", columns, runs, [](const compared_run& r) { return r.policy + (r.of_the_file ? " *" : ""); });
    out += "\nThe best first: fewest not stored, then out of order, then the lower p99, mean and attempts. * as the file has it.\n";
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const auto& [name, why] : others)
        by_reason[why].push_back(name);
    for (const auto& [why, names] : by_reason)
        out += fmt::format("Left out: {} ({}).\n", fmt::join(names, ", "), why);
    return out;
}

std::string as_json(const std::vector<compared_run>& runs, const left_out& others)
{
    std::string out = R"({"runs":[)";
    for (const compared_run& r : runs) {
        json head;
        head.object().member("name", r.name).member("policy", r.policy).member("of_the_file", r.of_the_file);
        head.member("keys", r.keys.keys).member("keys_moved", r.keys.moved).member("out_of_order", r.keys.out_of_order);
        const auto& l = r.sum.latency_ms;
        out += fmt::format(R"({}{},"p999_ms":{},"mean_ms":{},"summary":{}}})", &r == runs.data() ? "" : ",", head.take(),
                           l ? fmt::to_string(l->p999) : "null", l ? fmt::format("{:.3f}", l->mean) : "null", simulate::to_json(r.sum));
    }
    json tail;
    tail.array();
    for (const auto& [name, why] : others)
        tail.object().member("name", name).member("why", why).end_object();
    return out + R"(],"left_out":)" + tail.end_array().take() + "}";
}

}  // namespace shunt::cli
