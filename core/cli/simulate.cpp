// shunt simulate: what a policy does with a scripted cluster, in virtual time.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "json.hpp"

#include <config/problem.hpp>
#include <config/toml_text.hpp>
#include <plugin/registry.hpp>
#include <simulate/change.hpp>
#include <simulate/keys.hpp>
#include <simulate/recording.hpp>
#include <simulate/report.hpp>
#include <simulate/run.hpp>
#include <simulate/scenario.hpp>
#include <simulate/text.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

struct simulate_arguments {
    std::string file;
    std::string decisions;
    std::vector<std::string> set;
    std::string against, sweep, report;
    bool json = false;
};

/// A file that is written line by line; without a path nothing is.
class line_file {
public:
    /// False: it cannot be written; errno tells.
    [[nodiscard]] bool open(const std::string& path)
    {
        if (path.empty())
            return true;
        file_.reset(std::fopen(path.c_str(), "wbe"));
        return file_ != nullptr;
    }
    [[nodiscard]] explicit operator bool() const noexcept { return file_ != nullptr; }
    /// Lines to be written soon.
    [[nodiscard]] std::string& text() noexcept { return waiting_; }
    void write_if_many()
    {
        if (waiting_.size() >= chunk)
            write();
    }
    /// False: something could not be written; error() tells.
    [[nodiscard]] bool close()
    {
        if (file_ == nullptr)
            return true;
        write();
        if (std::fclose(file_.release()) != 0 && error_ == 0)
            error_ = errno;
        return error_ == 0;
    }
    [[nodiscard]] int error() const noexcept { return error_; }

private:
    void write()
    {
        if (error_ == 0 && std::fwrite(waiting_.data(), 1, waiting_.size(), file_.get()) != waiting_.size())
            error_ = errno;
        waiting_.clear();
    }

    static constexpr std::size_t chunk = 64 * 1024;
    struct closer {
        void operator()(std::FILE* f) const noexcept { (void)std::fclose(f); }
    };
    std::unique_ptr<std::FILE, closer> file_;
    std::string waiting_;
    int error_ = 0;
};

class watcher final : public simulate::observer {
public:
    /// `lines` null: none are written. `keys`: what becomes of them is to be known, too.
    /// `series` null: none is kept.
    watcher(line_file* lines, bool keys, simulate::recording* series) : lines_(lines), watches_keys_(keys), series_(series) {}

    void decided(const simulate::line& l) override
    {
        if (series_ != nullptr)
            series_->decided(l);
        if (lines_ == nullptr || !*lines_)
            return;
        simulate::append_json(lines_->text(), l);
        lines_->write_if_many();
    }
    void ended(const simulate::send_end& e) override
    {
        if (watches_keys_)
            keys_.ended(e);
        if (series_ != nullptr)
            series_->ended(e);
    }
    void judged(std::int64_t t_ms, std::string_view broker, simulate::verdict v) override
    {
        if (series_ != nullptr)
            series_->judged(t_ms, broker, v);
    }
    void log(std::int64_t t_ms, std::int32_t level, std::string_view text) override
    {
        if (level >= SHUNT_LOG_WARN)
            complain("simulate", fmt::format("at {} ms: {}", t_ms, text));
    }
    [[nodiscard]] simulate::key_watch::counts keys() const noexcept { return keys_.result(); }

private:
    line_file* lines_;
    bool watches_keys_;
    simulate::recording* series_;
    simulate::key_watch keys_;
};

std::string words_of(int error) { return std::generic_category().message(error); }

/// Nothing, with a complaint: it cannot be read.
std::optional<std::string> read_text(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    if (in.is_open() && (text << in.rdbuf()).good())
        return text.str();
    complain("simulate", fmt::format("{} cannot be read; it must be a scenario, see config/scenarios", config::in_marks(file)));
    return std::nullopt;
}

bool tell(const std::vector<config::problem>& problems)
{
    for (const config::problem& p : problems)
        complain("simulate", config::to_string(p));
    return problems.empty();
}

/// One scenario to run.
struct variant {
    std::string name;
    simulate::scenario scenario;
};

/// The file's, and those that options make of it; the strategies of all.
struct variants {
    std::vector<variant> all;
    std::unique_ptr<plugin::registry> strategies;
};

class variant_maker {
public:
    explicit variant_maker(const simulate_arguments& a) : a_(a) {}

    /// Nothing, with complaints of all that is wrong: then.
    std::optional<variants> make()
    {
        auto text = read_text(a_.file);
        if (!text)
            return std::nullopt;
        std::vector<config::problem> problems;
        std::optional<setting> root = config::parse_toml(*text, a_.file, problems);
        if (!tell(problems))
            return std::nullopt;
        for (const std::string& change : a_.set)
            root = changed(*root, change, problems);
        if (!tell(problems) || !root || !add(*root, a_.file))
            return std::nullopt;
        if (!a_.against.empty() && !add_against(*root))
            return std::nullopt;
        if (!a_.sweep.empty()) {
            out_.all.clear();
            for (const std::string& value : simulate::split_values(after_equals(a_.sweep))) {
                const auto one = changed(*root, key_of(a_.sweep) + "=" + value, problems);
                if (!tell(problems) || !one || !add(*one, value))
                    return std::nullopt;
            }
        }
        return std::move(out_);
    }

private:
    static std::string key_of(const std::string& change) { return change.substr(0, change.find('=')); }
    static std::string after_equals(const std::string& change) { return change.substr(change.find('=') + 1); }

    static std::optional<setting> changed(const std::optional<setting>& root, const std::string& change, std::vector<config::problem>& problems)
    {
        return root ? simulate::with_value(*root, key_of(change), after_equals(change), problems) : std::nullopt;
    }

    bool add(const setting& root, const std::string& name)
    {
        std::vector<config::problem> problems;
        std::error_code ignored;
        const std::string folder = std::filesystem::absolute(a_.file, ignored).parent_path().string();
        variant v{name, simulate::read_scenario(root, a_.file, folder, problems)};
        if (out_.strategies == nullptr)
            out_.strategies = std::make_unique<plugin::registry>(v.scenario.plugins, plugin::bundled_folder());
        simulate::check_strategies(v.scenario, *out_.strategies, problems);
        config::sort_by_place(problems);
        out_.all.push_back(std::move(v));
        return tell(problems);
    }

    /// FILE, FILE:POLICY, or a policy's table.
    bool add_against(const setting& root)
    {
        std::string source = "--against", text = a_.against, policy = "default";
        if (text.find('{') == text.npos) {
            std::error_code ignored;
            source = text;
            const auto colon = source.rfind(':');
            if (colon != source.npos && !std::filesystem::exists(source, ignored)) {
                policy = source.substr(colon + 1);
                source.resize(colon);
            }
            auto read = read_text(source);
            if (!read)
                return false;
            text = *std::move(read);
        }
        std::vector<config::problem> problems;
        const auto other = simulate::with_policy(root, text, source, policy, problems);
        return tell(problems) && other && add(*other, a_.against);
    }

    const simulate_arguments& a_;
    variants out_;
};

std::string part_of(std::uint64_t part, std::uint64_t whole)
{
    return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// For people.
std::string as_text(const simulate::summary& s)
{
    using side = table::side;
    std::string out = fmt::format("{} in {} ms: {} stored, {} not sent, {} unknown, {} rejected; {}\n", counted(s.sends, "send"),
                                  grouped(static_cast<std::uint64_t>(s.end_ms)), grouped(s.stored), grouped(s.not_sent), grouped(s.unknown),
                                  grouped(s.rejected), counted(s.attempts, "attempt"));
    if (s.latency_ms)
        out += fmt::format("latency of a send: p50 {} ms, p90 {} ms, p99 {} ms, p99.9 {} ms, max {} ms\n", s.latency_ms->p50, s.latency_ms->p90,
                           s.latency_ms->p99, s.latency_ms->p999, s.latency_ms->max);
    if (s.brokers.empty())
        return out;
    table t({side::left, side::right, side::right, side::right});
    t.row({"broker", "attempts", "share", "stored"});
    for (const auto& b : s.brokers)
        t.row({b.broker, grouped(b.attempts), part_of(b.attempts, s.attempts), grouped(b.stored)});
    return out + t.text();
}

// ---- several runs ----

struct outcome_of {
    std::string name;
    simulate::summary sum;
    simulate::key_watch::counts keys;
};

std::string latency_of(const simulate::summary& s, std::int64_t simulate::percentiles::* which)
{
    return s.latency_ms ? fmt::format("{} ms", (*s.latency_ms).*which) : "-";
}

std::uint64_t attempts_at(const simulate::summary& s, const std::string& broker)
{
    for (const auto& b : s.brokers)
        if (b.broker == broker)
            return b.attempts;
    return 0;
}

using row_of = std::pair<std::string, std::function<std::string(const outcome_of&)>>;

std::vector<row_of> rows_of(const std::vector<outcome_of>& runs)
{
    using p = simulate::percentiles;
    std::vector<row_of> rows{
        {"stored", [](const outcome_of& o) { return grouped(o.sum.stored); }},
        {"not sent", [](const outcome_of& o) { return grouped(o.sum.not_sent); }},
        {"unknown", [](const outcome_of& o) { return grouped(o.sum.unknown); }},
        {"rejected", [](const outcome_of& o) { return grouped(o.sum.rejected); }},
        {"attempts", [](const outcome_of& o) { return grouped(o.sum.attempts); }},
        {"p50", [](const outcome_of& o) { return latency_of(o.sum, &p::p50); }},
        {"p99", [](const outcome_of& o) { return latency_of(o.sum, &p::p99); }},
        {"p99.9", [](const outcome_of& o) { return latency_of(o.sum, &p::p999); }},
        {"max", [](const outcome_of& o) { return latency_of(o.sum, &p::max); }},
    };
    std::set<std::string> brokers;
    bool keys = false;
    for (const outcome_of& o : runs) {
        for (const auto& b : o.sum.brokers)
            brokers.insert(b.broker);
        keys = keys || o.keys.keys != 0;
    }
    if (keys) {
        rows.emplace_back("keys moved", [](const outcome_of& o) { return fmt::format("{} of {}", grouped(o.keys.moved), grouped(o.keys.keys)); });
        rows.emplace_back("out of order", [](const outcome_of& o) { return grouped(o.keys.out_of_order); });
    }
    for (const std::string& b : brokers)
        rows.emplace_back("share of " + b, [b](const outcome_of& o) { return part_of(attempts_at(o.sum, b), o.sum.attempts); });
    return rows;
}

std::string named_policy(const simulate::scenario& s)
{
    std::string text;
    for (const strategy_options& f : s.policy.filters)
        text += f.use + " > ";
    return text + s.policy.selector.use + " + " + s.policy.fault.use;
}

/// A column for each of two policies.
std::string side_by_side(const variants& v, const std::vector<outcome_of>& runs)
{
    table t({table::side::left, table::side::right, table::side::right});
    t.row({"", named_policy(v.all[0].scenario), named_policy(v.all[1].scenario)});
    for (const auto& [name, value] : rows_of(runs))
        t.row({name, value(runs[0]), value(runs[1])});
    return t.text();
}

/// A row for each value.
std::string one_below_another(const std::string& key, const std::vector<outcome_of>& runs)
{
    const auto columns = rows_of(runs);
    std::vector<table::side> sides(columns.size() + 1, table::side::right);
    sides.front() = table::side::left;
    table t(std::move(sides));
    std::vector<std::string> cells{key};
    for (const auto& [name, value] : columns)
        cells.push_back(name);
    t.row(cells);
    for (const outcome_of& o : runs) {
        cells = {o.name};
        for (const auto& [name, value] : columns)
            cells.push_back(value(o));
        t.row(cells);
    }
    return t.text();
}

std::string as_json(const std::vector<outcome_of>& runs)
{
    std::string out = R"({"runs":[)";
    for (const outcome_of& o : runs) {
        json head;
        head.object().member("name", o.name).member("keys", o.keys.keys).member("keys_moved", o.keys.moved).member("out_of_order", o.keys.out_of_order);
        out += (&o == runs.data() ? "" : ",") + head.take() + fmt::format(R"(,"p999_ms":{},"summary":)", o.sum.latency_ms ? fmt::to_string(o.sum.latency_ms->p999) : "null") +
               simulate::to_json(o.sum) + "}";
    }
    return out + "]}";
}

int run(const simulate_arguments& a)
{
    auto made = variant_maker(a).make();
    if (!made)
        return misused;
    const bool several = !a.against.empty() || !a.sweep.empty();
    line_file lines;
    if (!lines.open(a.decisions)) {
        complain("simulate", fmt::format("{} cannot be written: {}", config::in_marks(a.decisions), words_of(errno)));
        return misused;
    }
    line_file page;
    if (!page.open(a.report)) {
        complain("simulate", fmt::format("{} cannot be written: {}", config::in_marks(a.report), words_of(errno)));
        return misused;
    }
    std::vector<outcome_of> runs;
    std::vector<simulate::reported_run> reported;
    for (const variant& v : made->all) {
        if (page)
            reported.push_back({v.name, named_policy(v.scenario), {}, {}});
        watcher w(&lines, several, page ? &reported.back().series : nullptr);
        simulate::run_result result = simulate::run(v.scenario, *made->strategies, w);
        if (!result.error.empty()) {
            complain("simulate", result.error);
            return failed;
        }
        if (page) {
            reported.back().sum = result.sum;
            reported.back().series.close(result.sum.end_ms);
        }
        runs.push_back({v.name, std::move(result.sum), w.keys()});
    }
    if (!lines.close()) {
        complain("simulate", fmt::format("writing {} failed: {}", config::in_marks(a.decisions), words_of(lines.error())));
        return failed;
    }
    if (page)
        page.text() = simulate::report_page(a.file, reported);
    if (!page.close()) {
        complain("simulate", fmt::format("writing {} failed: {}", config::in_marks(a.report), words_of(page.error())));
        return failed;
    }
    output out;
    if (a.json)
        out.line(several ? as_json(runs) : simulate::to_json(runs.front().sum));
    else if (!a.against.empty())
        out.write(side_by_side(*made, runs));
    else if (!a.sweep.empty())
        out.write(one_below_another(a.sweep.substr(0, a.sweep.find('=')), runs));
    else
        out.write(as_text(runs.front().sum));
    return out.finish("simulate") ? done : failed;
}

/// "KEY=VALUE".
void refuse_without_equals(const std::string& option, const std::string& text)
{
    if (const auto at = text.find('='); at == 0 || at == text.npos)
        refuse_argument(option, text, "KEY=VALUE");
}

}  // namespace

void add_simulate(CLI::App& program, chosen_command& chosen)
{
    CLI::App& app = *program.add_subcommand("simulate", "Runs a scenario: what a policy does when brokers slow down or go. Nothing is sent, no time passes.");
    auto a = std::make_shared<simulate_arguments>();
    add_text(app, "FILE", a->file, "the scenario, see config/scenarios")->required()->type_name(" ");
    add_text(app, "--decisions", a->decisions, "write one JSON object a line for each attempt into this file")->type_name("OUT");
    app.add_flag("--json", a->json, "the outcome as one object");
    add_text(app, "--report", a->report, "write a page with pictures into this file, for a browser")->type_name("OUT");
    app.add_option_function<std::vector<std::string>>(
           "--set",
           [a](const std::vector<std::string>& all) {
               for (const std::string& one : all)
                   refuse_without_equals("--set", one);
               a->set = all;
           },
           "change a value of the scenario, as fault.failure_latency=5s or broker[1].latency=20ms; may be given again")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->take_all();
    CLI::Option* against = add_text(app, "--against", a->against,
                                    "compare with another policy: of a scenario, of a configuration (FILE:NAME), or { selector = ..., fault = ... }")
                               ->type_name("FILE|POLICY");
    app.add_option_function<std::string>(
           "--sweep",
           [a](const std::string& one) {
               refuse_without_equals("--sweep", one);
               a->sweep = one;
           },
           "run once for each value, as fault.error_rate=0.1,0.2,0.5")
        ->type_name("KEY=A,B,...")
        ->excludes(against);
    app.get_option("--decisions")->excludes(against)->excludes(app.get_option("--sweep"));
    app.callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace shunt::cli
