// shunt policy watch: a running producer, looked at again and again.

#include "policy.hpp"

#include "command.hpp"
#include "console.hpp"
#include "interrupts.hpp"
#include "json.hpp"

#include <observe/metrics.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <ctime>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

namespace js = boost::json;
using observe::histogram_counts;

struct broker_counts {
    std::uint64_t stored = 0, failed = 0;
    histogram_counts latency;
    bool available = true;
    std::string why;  ///< isolated: what went wrong last
};

struct look {
    std::int64_t at_ms = 0;
    std::uint64_t generation = 0;
    std::map<std::string, broker_counts> brokers;
    std::vector<std::int64_t> bounds_ns;
    js::value swap;  ///< that is looked at; null: none
};

look look_at(const admin_options& where)
{
    look l;
    const js::value routes = ask(where, "/routes"), policies = ask(where, "/policies");
    l.at_ms = static_cast<std::int64_t>(number(routes, "at_ms"));
    l.generation = number(policies, "generation");
    for (const js::value& us : routes.at("latency_bounds_us").as_array())
        l.bounds_ns.push_back(us.to_number<std::int64_t>() * 1000);
    for (const js::value& b : routes.at("brokers").as_array()) {
        broker_counts& c = l.brokers[text(b, "name")];
        const js::value& attempts = b.at("attempts");
        c.stored = number(attempts, "stored");
        c.failed = number(attempts, "not_sent") + number(attempts, "rejected") + number(attempts, "unknown");
        for (const js::value& n : b.at("latency_counts").as_array())
            c.latency.buckets.push_back(n.to_number<std::uint64_t>());
        for (const js::value& v : b.at("verdicts").as_array())
            c.available = c.available && v.at("available").as_bool();
        if (!c.available)
            c.why = text(b.at("last_failure"), "text");
    }
    for (const js::value& s : policies.at("swaps").as_array()) {
        const std::string state = text(s, "state");
        if (state == "staged" || state == "admitting" || state == "created" || state == "shadow" || state == "canary" || state == "probation")
            l.swap = s;
    }
    return l;
}

struct broker_rate {
    std::string name;
    std::uint64_t attempts = 0, failed = 0;
    double share = 0;
    std::chrono::nanoseconds p99{0};
    bool available = true;
    std::string why;
};

/// What came between two looks.
std::vector<broker_rate> rates(const look& before, const look& now)
{
    std::vector<broker_rate> out;
    std::uint64_t all = 0;
    for (const auto& [name, c] : now.brokers) {
        broker_rate& r = out.emplace_back();
        r.name = name;
        const auto known = before.brokers.find(name);
        const broker_counts none;
        const broker_counts& b = known == before.brokers.end() ? none : known->second;
        r.failed = c.failed - b.failed;
        r.attempts = c.stored - b.stored + r.failed;
        r.p99 = std::chrono::nanoseconds(c.latency.since(b.latency).quantile(now.bounds_ns, 0.99));
        r.available = c.available;
        r.why = c.why;
        all += r.attempts;
    }
    for (broker_rate& r : out)
        r.share = all == 0 ? 0 : static_cast<double>(r.attempts) / static_cast<double>(all);
    return out;
}

std::string clock_text(std::int64_t ms)
{
    const std::time_t t = ms / 1000;
    std::tm parts{};
    localtime_r(&t, &parts);
    return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string us_text(const js::value& arm, std::string_view member)
{
    const std::uint64_t us = number(arm, member);
    return us == 0 ? "-" : shown(std::chrono::microseconds(us));
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

double part(std::uint64_t of, std::uint64_t all) { return all == 0 ? 0 : static_cast<double>(of) / static_cast<double>(all); }

std::string line_of(const look& l, const std::vector<broker_rate>& all, double seconds)
{
    std::uint64_t sum = 0;
    std::string brokers;
    for (const broker_rate& r : all) {
        sum += r.attempts;
        brokers += fmt::format(" | {} {}{}{}", r.name, percent(r.share), r.failed == 0 ? "" : fmt::format(", {} failed", grouped(r.failed)),
                               r.available ? "" : ", isolated");
        if (r.p99.count() != 0)
            brokers += ", p99 " + shown(r.p99);
    }
    std::string out = fmt::format("{} generation {}, {:.0f}/s{}", clock_text(l.at_ms), l.generation, static_cast<double>(sum) / seconds, brokers);
    if (l.swap.is_object()) {
        out += fmt::format(" | swap {} {}", number(l.swap, "id"), text(l.swap, "state"));
        if (const std::string verdict = text(l.swap, "verdict"); !verdict.empty())
            out += ": " + verdict;
    }
    return out;
}

std::string view_of(const look& l, const std::vector<broker_rate>& all, double seconds)
{
    using side = table::side;
    std::uint64_t sum = 0;
    table brokers({side::left, side::right, side::right, side::right, side::right, side::left});
    brokers.row({"broker", "attempts/s", "share", "failed", "p99", "verdict"});
    for (const broker_rate& r : all) {
        sum += r.attempts;
        brokers.row({r.name, fmt::format("{:.0f}", static_cast<double>(r.attempts) / seconds), percent(r.share), grouped(r.failed),
                     r.p99.count() == 0 ? "-" : shown(r.p99), r.available ? "available" : r.why.empty() ? "isolated" : "isolated: " + r.why});
    }
    std::string out = fmt::format("{}  generation {}  {:.0f}/s\n\n{}", clock_text(l.at_ms), l.generation, static_cast<double>(sum) / seconds, brokers.text());
    if (!l.swap.is_object())
        return out + "\nno candidate, no probation\n";
    const js::value& s = l.swap;
    out += fmt::format("\nswap {}: {}  by {}  {}\n", number(s, "id"), text(s, "state"), text(s, "who").empty() ? "-" : text(s, "who"), text(s, "what"));
    if (const js::value& shadow = s.at("shadow"); shadow.is_object())
        out += fmt::format("shadow: {} decisions, {} otherwise ({}); of {} with a key {} would move\n", grouped(number(shadow, "decisions")),
                           grouped(number(shadow, "differ")), percent(part(number(shadow, "differ"), number(shadow, "decisions"))),
                           grouped(number(shadow, "keyed")), grouped(number(shadow, "keyed_differ")));
    if (s.at("before").is_object() || s.at("after").is_object()) {
        table arms({side::left, side::right, side::right, side::right, side::right, side::right, side::left});
        arms.row({"", "attempts", "failed", "plugin errors", "p50", "p99", "share per broker"});
        for (const auto& [name, member] : {std::pair{"in force", "before"}, {"candidate", "after"}}) {
            const js::value& arm = s.at(member);
            if (!arm.is_object())
                continue;
            const std::uint64_t attempts = number(arm, "attempts");
            std::string shares;
            for (const auto& [broker, n] : arm.at("by_broker").as_object())
                shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", std::string_view(broker.data(), broker.size()),
                                      percent(part(n.to_number<std::uint64_t>(), attempts)));
            arms.row({text(s, "state") == "probation" ? (member == std::string_view("before") ? "before" : "since") : name, grouped(attempts),
                      grouped(attempts - number(arm, "stored")), grouped(number(arm, "plugin_errors")), us_text(arm, "p50_us"), us_text(arm, "p99_us"),
                      shares});
        }
        out += arms.text();
    }
    if (const std::string verdict = text(s, "verdict"); !verdict.empty())
        out += verdict + "\n";
    return out;
}

std::string json_of(const look& l, const std::vector<broker_rate>& all, double seconds)
{
    std::uint64_t sum = 0;
    for (const broker_rate& r : all)
        sum += r.attempts;
    json out;
    out.object().member("at_ms", l.at_ms).member("generation", l.generation).key("rate").value(static_cast<double>(sum) / seconds, 1);
    out.key("brokers").array();
    for (const broker_rate& r : all) {
        out.object().member("broker", r.name).member("attempts", r.attempts).member("failed", r.failed).key("share").value(r.share, 4);
        out.member("p99_us", r.p99.count() / 1000).member("available", r.available).end_object();
    }
    out.end_array().key("swap");
    if (l.swap.is_object())
        out.object().member("id", number(l.swap, "id")).member("state", text(l.swap, "state")).member("verdict", text(l.swap, "verdict")).end_object();
    else
        out.null();
    return out.end_object().take();
}

}  // namespace

int watch_policies(const policy_arguments& a)
{
    const auto where = endpoint_of(a);
    if (!where)
        return misused;
    const bool drawn = !a.json && ::isatty(STDOUT_FILENO) != 0;
    const interrupts stop;
    output out;
    look before = look_at(*where);
    for (std::uint64_t i = 0; a.count == 0 || i < a.count; ++i) {
        if (stop.wait_until(std::chrono::steady_clock::now() + a.interval))
            break;
        look now = look_at(*where);
        const double seconds = std::max(0.001, static_cast<double>(now.at_ms - before.at_ms) / 1e3);
        const std::vector<broker_rate> all = rates(before, now);
        if (a.json)
            out.line(json_of(now, all, seconds));
        else if (drawn)
            out.write("\033[H\033[2J" + view_of(now, all, seconds));
        else
            out.line(line_of(now, all, seconds));
        out.flush();
        before = std::move(now);
    }
    return out.finish(a.command) ? done : failed;
}

}  // namespace shunt::cli
