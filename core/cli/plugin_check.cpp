// shunt plugin check: runs the conformance checks over a plugin's file, each in a process of its own, and tells what was found.

#include "arguments.hpp"
#include "check_page.hpp"
#include "command.hpp"
#include "console.hpp"
#include "interrupts.hpp"
#include "json.hpp"

#include <plugin/check/run.hpp>
#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
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

/// `text` in lines of at most 96 characters, each after `indent`.
std::string wrapped(std::string_view text, std::string_view indent)
{
    constexpr std::size_t width = 96;
    std::string all;
    while (!text.empty()) {
        const std::size_t end = text.size() <= width ? text.size() : text.rfind(' ', width);
        all += fmt::format("{}{}{}", all.empty() ? "" : "\n", indent, text.substr(0, end));
        text.remove_prefix(std::min(end == std::string_view::npos ? text.size() : end + 1, text.size()));
    }
    return all;
}

/// A rule, and that who breaks it is only warned.
std::string with_mildness(const check::rule& r) { return std::string(r.reason) + (r.mild ? " (warned)" : ""); }

int list(const check_arguments& a)
{
    output out;
    table t({table::side::left, table::side::left, table::side::left});
    t.row({"check", "of", "rule"});
    for (const check::rule& r : check::rules()) {
        if (a.json) {
            json line;
            line.object().member("name", r.name).member("of", to_string(r.of)).member("preflight", r.basic);
            line.member("only_warned", r.mild).member("reason", r.reason).member("explanation", r.explanation);
            out.line(line.end_object().text());
        } else {
            t.row({std::string(r.name), std::string(to_string(r.of)), with_mildness(r)});
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
        line.member("only_warned", r.mild);
        out.line(line.member("reason", r.reason).member("explanation", r.explanation).end_object().text());
    } else {
        out.line(fmt::format("{} (of each {}{}): {}", r.name, to_string(r.of), r.basic ? ", part of the preflight of a swap" : "", with_mildness(r)));
        out.line(wrapped(r.explanation, "  "));
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
    return out.member("seed", a.seed).member("interrupted", run.stopped).end_object().take();
}

std::string line_of(const check::result& r)
{
    const std::string whose = r.strategy.empty() ? "" : r.strategy + ": ";
    std::string line = fmt::format("{:<8} {}{}", to_string(r.what.result), whose, r.of->name);
    if (r.what.result != check::verdict::passed)
        line += fmt::format("\n         rule:  {}", r.of->reason);
    if (!r.what.detail.empty())
        line += "\n         found: " + r.what.detail;
    return line;
}

/// Skipped checks that follow each other for one reason, told as one.
class skipped_checks {
public:
    explicit skipped_checks(output& out) noexcept : out_(out) {}

    void add(const check::result& r)
    {
        if (strategy_ != r.strategy || why_ != r.what.detail)
            tell();
        strategy_ = r.strategy;
        why_ = r.what.detail;
        names_.push_back(r.of->name);
    }
    void tell()
    {
        if (names_.empty())
            return;
        const std::string whose = strategy_.empty() ? "" : strategy_ + ": ";
        if (names_.size() == 1) {
            out_.line(fmt::format("skipped  {}{}: {}", whose, names_.front(), why_));
        } else {
            out_.line(fmt::format("skipped  {}{} checks: {}", whose, names_.size(), why_));
            out_.line(wrapped(fmt::format("{}", fmt::join(names_, " ")), "         "));
        }
        names_.clear();
    }

private:
    output& out_;
    std::string strategy_, why_;
    std::vector<std::string_view> names_;
};

/// Whether `file` can be written, without a change to what is in it.
bool can_be_written(const std::string& file)
{
    int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0)
        ::unlink(file.c_str());  // a run that ends before its time leaves none
    else if (errno == EEXIST)
        fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        complain(self, fmt::format("--report {}: {}; it must be a file that can be written", config::in_marks(file),
                                   std::generic_category().message(errno)));
        return false;
    }
    ::close(fd);
    return true;
}

bool write_page(const std::string& file, const std::string& results)
{
    std::ofstream page(file, std::ios::binary | std::ios::trunc);
    page << check_page(results);
    page.close();
    if (!page)
        complain(self, fmt::format("--report {}: cannot be written", config::in_marks(file)));
    return static_cast<bool>(page);
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
    if (!a.report.empty() && !can_be_written(a.report))
        return misused;
    // A debugger is told of signals itself.
    std::optional<interrupts> stop;
    if (!a.in_process)
        o.limits.stop_fd = stop.emplace().fd();

    output out;
    skipped_checks skipped(out);
    const check::run_result run = check::run(o, [&](const check::result& r) {
        if (a.json || (!a.all && (r.what.result == check::verdict::passed || r.what.result == check::verdict::skipped)))
            return;
        if (r.what.result == check::verdict::skipped)
            return skipped.add(r);
        skipped.tell();
        out.line(line_of(r));
        out.flush();
    });
    skipped.tell();
    if (!run.trouble.empty()) {
        complain(self, run.trouble);
        return misused;
    }
    if (a.json)
        out.line(as_json(a, run));
    else
        out.line(fmt::format("{}: {} passed, {} warned, {} failed, {} crashed, {} skipped{}{}", a.file, run.count(check::verdict::passed),
                             run.count(check::verdict::warned), run.count(check::verdict::failed), run.count(check::verdict::crashed),
                             run.count(check::verdict::skipped), run.stopped ? "; interrupted before the rest" : "",
                             run.ok() ? "" : "; `shunt plugin check --explain NAME` tells why a rule is there"));
    if (run.stopped)
        complain(self, "interrupted; the checks that are not told were not run");
    const bool written = a.report.empty() || write_page(a.report, as_json(a, run));
    return out.finish(self) && written && run.ok() && !run.stopped ? done : failed;
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
                 "Exit status: 0 nothing failed (warnings are no failures), 1 something failed or crashed, or it was interrupted,\n"
                 "2 the file cannot be read.");
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
    sub.add_flag("--all", a->all, "tell passed and skipped checks too, those skipped for one reason as one");
    sub.add_flag("--in-process", a->in_process, "run the checks in this process, for a debugger; a crash ends it");
    sub.add_flag("--list", a->list, "list the checks and their rules");
    add_text(sub, "--explain", a->explain, "tell why a check is there and what to do")->type_name("NAME");
    sub.callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace shunt::cli
