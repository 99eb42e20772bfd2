// shunt simulate: what a policy does with a scripted cluster, in virtual time.

#include "arguments.hpp"
#include "command.hpp"
#include "comparison.hpp"
#include "console.hpp"

#include <config/load.hpp>
#include <config/problem.hpp>
#include <config/toml_text.hpp>
#include <plugin/registry.hpp>
#include <simulate/change.hpp>
#include <simulate/doubts.hpp>
#include <simulate/keys.hpp>
#include <simulate/recording.hpp>
#include <simulate/report.hpp>
#include <simulate/run.hpp>
#include <simulate/scenario.hpp>
#include <simulate/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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
    bool rank = false, json = false;
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
    constexpr std::size_t most = 64 * 1024 * 1024;
    const auto no = [&](std::string_view why) {
        complain("simulate", fmt::format("{} {}; it must be a scenario, see config/scenarios", config::in_marks(file), why));
        return std::nullopt;
    };
    std::error_code failed;
    const std::filesystem::file_status there = std::filesystem::status(file, failed);
    if (failed)
        return no("cannot be read: " + words_of(failed.value()));
    if (!std::filesystem::is_regular_file(there))
        return no(std::filesystem::is_directory(there) ? "is a folder" : "is no file");
    std::string text;
    if (const int error = config::read_whole(file, most, text); error != 0)
        return no("cannot be read: " + words_of(error));
    if (text.size() > most)
        return no("has more than 64 MiB");
    return text;
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
    bool of_the_file = false;
};

/// The file's, and those that options make of it; the strategies of all.
struct variants {
    std::vector<variant> all;
    left_out others;
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
        if (a_.rank && !add_each(*root))
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
        variant v{name, simulate::read_scenario(root, a_.file, folder, problems), false};
        if (out_.strategies == nullptr)
            out_.strategies = std::make_unique<plugin::registry>(v.scenario.plugins, plugin::bundled_folder());
        simulate::check_strategies(v.scenario, *out_.strategies, problems);
        config::sort_by_place(problems);
        for (const config::problem& p : simulate::doubts(v.scenario))
            if (warned_.insert(config::to_string(p)).second)
                complain("simulate", "warning: " + config::to_string(p));
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

    /// The file with each selector and each fault strategy there is in the place of its own.
    bool add_each(const setting& root)
    {
        const simulate::scenario own = std::move(out_.all.front().scenario);
        out_.all.clear();
        const std::vector<std::string> selectors = usable(own, strategy::strategy_kind::selector, own.policy.selector.use);
        for (const std::string& fault : usable(own, strategy::strategy_kind::fault, own.policy.fault.use))
            for (const std::string& selector : selectors) {
                std::vector<config::problem> problems;
                std::optional<setting> one = root;
                if (selector != own.policy.selector.use)
                    one = changed(one, fmt::format("selector={{ use = \"{}\" }}", selector), problems);
                if (fault != own.policy.fault.use)
                    one = changed(one, fmt::format("fault={{ use = \"{}\" }}", fault), problems);
                if (!tell(problems) || !one || !add(*one, selector + " + " + fault))
                    return false;
                out_.all.back().of_the_file = selector == own.policy.selector.use && fault == own.policy.fault.use;
            }
        return true;
    }

    /// Those that run without being told more than the file says.
    std::vector<std::string> usable(const simulate::scenario& own, strategy::strategy_kind kind, const std::string& of_the_file)
    {
        std::vector<std::string> names;
        for (const plugin::known_strategy& known : out_.strategies->known()) {
            if (known.kind != kind)
                continue;
            const std::string why = known.name == of_the_file ? "" : why_not(own, kind, known.name);
            if (why.empty())
                names.push_back(known.name);
            else
                out_.others.emplace_back(known.name, why);
        }
        return names;
    }

    std::string why_not(const simulate::scenario& own, strategy::strategy_kind kind, const std::string& name)
    {
        plugin::load_error error;
        const auto cls = out_.strategies->find(kind, name, error);
        if (cls == nullptr)
            return error.text;
        for (const strategy::parameter& p : cls->parameters)
            if (p.required)
                return "needs " + p.name;
        const bool by_key = kind == strategy::strategy_kind::selector && (cls->selector().flags & (SHUNT_F_WANTS_HASH64 | SHUNT_F_WANTS_JAVA_HASH)) != 0;
        const auto has_key = [](const simulate::step& one) {
            const auto* send = std::get_if<simulate::send_step>(&one.what);
            return send != nullptr && send->key.has_value();
        };
        return by_key && std::none_of(own.steps.begin(), own.steps.end(), has_key) ? "no message has a key" : "";
    }

    const simulate_arguments& a_;
    variants out_;
    std::set<std::string> warned_;
};

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

std::string named_policy(const simulate::scenario& s)
{
    std::string text;
    for (const strategy_options& f : s.policy.filters)
        text += f.use + " > ";
    return text + s.policy.selector.use + " + " + s.policy.fault.use;
}

/// Brokers that a step does something to, as far as there is room for columns of them.
std::vector<std::string> brokers_in_trouble(const simulate::scenario& s)
{
    std::set<std::string> names;
    for (const simulate::step& one : s.steps) {
        if (const auto* b = std::get_if<simulate::broker_step>(&one.what))
            names.insert(b->name);
        if (const auto* r = std::get_if<simulate::route_step>(&one.what)) {
            for (const auto& gone : r->remove)
                names.insert(gone.name);
            for (const auto& changed : r->set)
                names.insert(changed.name);
            for (const auto& added : r->add)
                names.insert(added.name);
        }
    }
    return names.size() <= 4 ? std::vector<std::string>(names.begin(), names.end()) : std::vector<std::string>{};
}

int run(const simulate_arguments& a)
{
    auto made = variant_maker(a).make();
    if (!made)
        return misused;
    const bool several = !a.against.empty() || !a.sweep.empty() || a.rank;
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
    std::vector<compared_run> runs;
    std::vector<simulate::recording> series;  // one for each run, if there is to be a page
    for (const variant& v : made->all) {
        if (page)
            series.emplace_back();
        watcher w(&lines, several || page, page ? &series.back() : nullptr);
        simulate::run_result result = simulate::run(v.scenario, *made->strategies, w);
        if (!result.error.empty()) {
            complain("simulate", result.error);
            return failed;
        }
        if (page)
            series.back().close(result.sum.end_ms);
        runs.push_back({v.name, named_policy(v.scenario), v.of_the_file, std::move(result.sum), w.keys()});
    }
    if (!lines.close()) {
        complain("simulate", fmt::format("writing {} failed: {}", config::in_marks(a.decisions), words_of(lines.error())));
        return failed;
    }
    std::vector<std::size_t> order(runs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (a.rank)
        std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return is_better(runs[x], runs[y]); });
    if (page) {
        std::vector<simulate::reported_run> reported;
        for (const std::size_t i : order)
            reported.push_back({runs[i].name, runs[i].policy, runs[i].sum, runs[i].keys, simulate::script_of(made->all[i].scenario), std::move(series[i])});
        page.text() = simulate::report_page(a.file, reported);
    }
    if (!page.close()) {
        complain("simulate", fmt::format("writing {} failed: {}", config::in_marks(a.report), words_of(page.error())));
        return failed;
    }
    std::vector<compared_run> sorted;
    for (const std::size_t i : order)
        sorted.push_back(std::move(runs[i]));
    output out;
    if (a.json)
        out.line(several ? as_json(sorted, made->others) : simulate::to_json(sorted.front().sum));
    else if (a.rank)
        out.write(ranking(sorted, brokers_in_trouble(made->all.front().scenario), made->others));
    else if (!a.against.empty())
        out.write(side_by_side(sorted));
    else if (!a.sweep.empty())
        out.write(one_below_another(a.sweep.substr(0, a.sweep.find('=')), sorted));
    else
        out.write(as_text(sorted.front().sum));
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
    CLI::Option* rank = app.add_flag("--rank", a->rank, "run with each selector and each fault strategy there is, and list the best first");
    rank->excludes(against)->excludes(app.get_option("--sweep"));
    app.get_option("--decisions")->excludes(against)->excludes(app.get_option("--sweep"))->excludes(rank);
    app.callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace shunt::cli
