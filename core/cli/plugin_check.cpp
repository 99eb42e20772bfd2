// shunt plugin check: runs the conformance checks over a plugin's file, each in a process of its own, and tells what was found.

#include "arguments.hpp"
#include "check_page.hpp"
#include "command.hpp"
#include "console.hpp"
#include "json.hpp"

#include <plugin/check/run.hpp>
#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace shunt::cli {

namespace {

namespace check = plugin::check;
constexpr std::string_view self = "plugin check";

struct check_arguments {
    std::string file, kind, only, report, explain;
    std::vector<std::string> settings;
    std::uint64_t seed = 1;
    std::chrono::milliseconds timeout{10'000};
    bool json = false, in_process = false, list = false, all = false;
};

std::vector<std::string> names_of_rules()
{
    std::vector<std::string> names;
    for (const check::rule& r : check::rules())
        names.emplace_back(r.name);
    return names;
}

/// Complains of a name that no check has.
bool is_known(std::string_view name)
{
    if (check::find_rule(name) != nullptr)
        return true;
    const std::string close = strategy::closest(name, names_of_rules());
    complain(self, fmt::format("there is no check {}{}; --list names them", config::in_marks(name),
                               close.empty() ? "" : fmt::format(" (did you mean '{}'?)", close)));
    return false;
}

int list(const check_arguments& a)
{
    output out;
    table t({table::side::left, table::side::left, table::side::left});
    t.row({"check", "of", "rule"});
    for (const check::rule& r : check::rules()) {
        if (a.json) {
            json line;
            line.object().member("name", r.name).member("of", to_string(r.of)).member("preflight", r.basic);
            line.member("reason", r.reason).member("explanation", r.explanation);
            out.line(line.end_object().text());
        } else {
            t.row({std::string(r.name), std::string(to_string(r.of)), std::string(r.reason)});
        }
    }
    if (!a.json)
        out.write(t.text());
    return out.finish(self) ? done : failed;
}

int explain(const check_arguments& a)
{
    if (!is_known(a.explain))
        return misused;
    const check::rule& r = *check::find_rule(a.explain);
    output out;
    if (a.json) {
        json line;
        line.object().member("name", r.name).member("of", to_string(r.of)).member("preflight", r.basic);
        out.line(line.member("reason", r.reason).member("explanation", r.explanation).end_object().text());
    } else {
        out.line(fmt::format("{} (of each {}{}): {}", r.name, to_string(r.of), r.basic ? ", part of the preflight of a swap" : "", r.reason));
        constexpr std::size_t width = 96;
        for (std::string_view rest = r.explanation; !rest.empty();) {
            std::size_t end = rest.size() <= width ? rest.size() : rest.rfind(' ', width);
            out.line(fmt::format("  {}", rest.substr(0, end)));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return out.finish(self) ? done : failed;
}

std::string as_json(const check_arguments& a, const check::run_result& run)
{
    json out;
    out.object().member("file", a.file).key("strategies").array();
    for (const plugin::known_strategy& s : run.strategies)
        out.object().member("name", s.name).member("kind", to_string(s.kind)).end_object();
    out.end_array().key("checks").array();
    for (const check::result& r : run.results) {
        out.object().member("name", r.of->name).member("strategy", r.strategy).member("result", to_string(r.what.result));
        out.member("reason", r.of->reason).member("detail", r.what.detail).key("seconds").value(r.seconds, 4).end_object();
    }
    out.end_array();
    for (const check::verdict v : {check::verdict::passed, check::verdict::warned, check::verdict::failed, check::verdict::skipped, check::verdict::crashed})
        out.member(to_string(v), run.count(v));
    return out.member("seed", a.seed).end_object().take();
}

std::string line_of(const check::result& r)
{
    const std::string whose = r.strategy.empty() ? "" : r.strategy + ": ";
    std::string line = fmt::format("{:<8} {}{}", to_string(r.what.result), whose, r.of->name);
    if (r.what.result != check::verdict::passed && r.what.result != check::verdict::skipped)
        line += fmt::format("\n         rule:  {}", r.of->reason);
    if (!r.what.detail.empty())
        line += (r.what.result == check::verdict::skipped ? ": " : "\n         found: ") + r.what.detail;
    return line;
}

int run_checks(const check_arguments& a)
{
    check::run_options o;
    o.file = a.file;
    o.settings = a.settings;
    o.seed = a.seed;
    o.in_process = a.in_process;
    o.limits.time = a.timeout;
    o.clock_ns = [] {
        return std::int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count()};
    };
    if (!a.kind.empty())
        o.kind = a.kind == "fault" ? strategy::strategy_kind::fault : strategy::strategy_kind::selector;
    for (std::string_view rest = a.only; !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        o.only.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (!is_known(o.only.back()))
            return misused;
    }
    for (const std::string& text : a.settings) {
        setting_table ignored;
        if (const std::string wrong = check::read_setting(text, ignored); !wrong.empty()) {
            complain(self, "--set: " + wrong);
            return misused;
        }
    }
    std::ofstream page;
    if (!a.report.empty()) {
        page.open(a.report, std::ios::binary | std::ios::trunc);
        if (!page) {
            complain(self, fmt::format("--report {}: {}; it must be a file that can be written", config::in_marks(a.report),
                                       std::generic_category().message(errno)));
            return misused;
        }
    }

    output out;
    const check::run_result run = check::run(o, [&](const check::result& r) {
        const bool quiet = r.what.result == check::verdict::passed || r.what.result == check::verdict::skipped;
        if (!a.json && (a.all || !quiet)) {
            out.line(line_of(r));
            out.flush();
        }
    });
    if (!run.trouble.empty()) {
        complain(self, run.trouble);
        return misused;
    }
    if (a.json)
        out.line(as_json(a, run));
    else
        out.line(fmt::format("{}: {} passed, {} warned, {} failed, {} crashed, {} skipped{}", a.file, run.count(check::verdict::passed),
                             run.count(check::verdict::warned), run.count(check::verdict::failed), run.count(check::verdict::crashed),
                             run.count(check::verdict::skipped),
                             run.ok() ? "" : "; `shunt plugin check --explain NAME` tells why a rule is there"));
    if (page.is_open()) {
        page << check_page(as_json(a, run));
        page.close();
        if (!page) {
            complain(self, fmt::format("--report {}: cannot be written", config::in_marks(a.report)));
            return failed;
        }
    }
    return out.finish(self) && run.ok() ? done : failed;
}

int run(const check_arguments& a)
{
    if (a.list)
        return list(a);
    if (!a.explain.empty())
        return explain(a);
    if (a.file.empty()) {
        complain(self, "a plugin's FILE is missing; or name a check to --explain, or ask for the --list");
        return misused;
    }
    return run_checks(a);
}

}  // namespace

void add_plugin_check(CLI::App& plugin, chosen_command& chosen)
{
    auto a = std::make_shared<check_arguments>();
    CLI::App& sub = *plugin.add_subcommand(
        "check", "Runs the conformance checks over a plugin's file, each in a process of its own with a bound on time and memory.\n"
                 "Exit status: 0 nothing failed (warnings are no failures), 1 something failed or crashed, 2 the file cannot be read.");
    add_text(sub, "FILE", a->file, "the plugin, a shared object")->type_name(" ");
    add_option(sub, "--kind", config::choice{{"selector", "fault"}}, a->kind, "only strategies of this kind: selector or fault")->type_name("KIND");
    add_text(sub, "--only", a->only, "only these checks")->type_name("NAME[,NAME...]");
    sub.add_option("--set", a->settings, "a setting for the strategies, as in a file: rooms=[\"hz\"]; may be repeated")->type_name("NAME=VALUE")->allow_extra_args(false);
    add_option(sub, "--seed", config::whole_number{0, std::numeric_limits<std::int64_t>::max()}, a->seed,
               "where the checks' random numbers begin, 1 unless said; same seed, same checks")
        ->type_name("N");
    add_option(sub, "--timeout", config::duration{std::chrono::milliseconds(10), std::chrono::hours(1)}, a->timeout, "how long one check may take (10s)")->type_name("DURATION");
    add_text(sub, "--report", a->report, "also write a page with all results")->type_name("FILE.html");
    sub.add_flag("--json", a->json, "one object: file, strategies, checks with result and detail, counts");
    sub.add_flag("--all", a->all, "tell passed and skipped checks too");
    sub.add_flag("--in-process", a->in_process, "run the checks in this process, for a debugger; a crash ends it");
    sub.add_flag("--list", a->list, "list the checks and their rules");
    add_text(sub, "--explain", a->explain, "tell why a check is there and what to do")->type_name("NAME");
    sub.callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace shunt::cli
