#include <plugin/check/run.hpp>

#include <plugin/image.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace shunt::plugin::check {

namespace {

using strategy::strategy_kind;

bool applies(const rule& r, strategy_kind kind) noexcept
{
    return r.of == scope::strategy || r.of == (kind == strategy_kind::selector ? scope::selector : scope::fault);
}

/// What a child's end says of the one check it was started for.
outcome judged(const child_end& end)
{
    if (end.lost())
        return {verdict::crashed, std::string(lost_report)};
    if (!end.death.empty()) {
        outcome o{verdict::crashed, fmt::format("its process {}, {}{}", end.death, end.completed ? "after the check, when it ended" : "in ",
                                                end.completed ? "" : to_string(end.where))};
        if (end.refused_bytes > 0 && !end.completed)
            o.detail += fmt::format(", after an allocation of {} bytes failed (a check's memory is bounded)", end.refused_bytes);
        const std::string_view said = std::string_view(end.said).substr(0, end.said.find_last_not_of('\n') + 1);
        const std::string_view last = said.substr(said.rfind('\n') + 1);
        if (!last.empty())
            o.detail += fmt::format("; it said {}", strategy::in_quotes(last));
        return o;
    }
    return end.reports.front().what;
}

/// What checks may lose to hanging and crashing, beside the time of the first that hangs.
constexpr std::chrono::milliseconds patience{4000};

class runner {
public:
    runner(const run_options& o, std::string helper, const std::function<void(const result&)>& told, run_result& out)
        : o_(o), helper_(std::move(helper)), told_(told), out_(out), left_(o.limits)
    {}

    /// False: no more is wanted.
    bool check(const rule& r, const known_strategy* of)
    {
        result one{&r, of == nullptr ? std::string() : of->name, {}, 0};
        const std::int64_t before = o_.clock_ns != nullptr ? o_.clock_ns() : 0;
        if (r.of != scope::file && !dead_.empty())
            one.what = skipped(dead_);
        else
            one.what = o_.in_process ? here(r, of) : elsewhere(r, of);
        if (out_.stopped)
            return false;
        if (o_.clock_ns != nullptr)
            one.seconds = static_cast<double>(o_.clock_ns() - before) / 1e9;
        tell(std::move(one));
        return true;
    }

    /// The checks of the next strategy begin.
    void next_strategy()
    {
        if (!dead_for_all_)
            dead_.clear();
    }

    void skip(const rule& r, std::string_view strategy, std::string why) { tell({&r, std::string(strategy), skipped(std::move(why)), 0}); }

private:
    void tell(result one)
    {
        out_.results.push_back(std::move(one));
        if (told_)
            told_(out_.results.back());
    }

    outcome here(const rule& r, const known_strategy* of)
    {
        phase where = phase::host;
        instruments with;
        with.clock_ns = o_.clock_ns;
        with.seed = o_.seed;
        with.where = &where;
        subject s(o_.file, with);
        if (of != nullptr)
            s.choose(of->kind, of->name);
        setting_table given;
        for (const std::string& text : o_.settings)
            (void)read_setting(text, given);
        s.set(std::move(given));
        return run_rule(r, s);
    }

    outcome elsewhere(const rule& r, const known_strategy* of)
    {
        errand e;
        e.file = o_.file;
        e.rules = {std::string(r.name)};
        e.seed = o_.seed;
        e.settings = o_.settings;
        if (of != nullptr) {
            e.kind = of->kind;
            e.strategy = of->name;
        }
        std::string trouble;
        const child_end end = run_child(helper_, e, left_, trouble);
        if (!trouble.empty())
            return {verdict::crashed, trouble};
        if (end.stopped) {
            out_.stopped = true;
            return {};
        }
        // One that hangs will hang in the next check too; it has had its chance.
        if (end.timed_out)
            left_.time = std::min(left_.time, std::chrono::milliseconds(1000));
        outcome o = judged(end);
        if (o.result == verdict::crashed) {
            ++crashes_;
            lost_ += end.spent;
        }
        // What dies before a check can begin, or hangs when all is done, would do so in all that follow.
        const bool in_all = end.where == phase::load || end.where == phase::entry || (end.timed_out && end.completed);
        if (o.result == verdict::crashed && (in_all || r.name == "create-plain")) {
            dead_ = fmt::format("{}: see {}", o.detail, r.name);
            dead_for_all_ = in_all;
        } else if (o.result == verdict::crashed && of != nullptr && lost_ > o_.limits.time + patience) {
            dead_ = fmt::format("{} checks hung or crashed, which took {:.0f} s; the rest would take as long: see {}", crashes_,
                                std::chrono::duration<double>(lost_).count(), r.name);
            dead_for_all_ = false;
        }
        return o;
    }

    const run_options& o_;
    std::string helper_;
    const std::function<void(const result&)>& told_;
    run_result& out_;
    bounds left_;
    std::size_t crashes_ = 0;
    std::chrono::milliseconds lost_{0};  // in checks that crashed
    std::string dead_;  // why no more of its code is run; empty: it may be
    bool dead_for_all_ = false;
};

}  // namespace

std::size_t run_result::count(verdict v) const noexcept
{
    return static_cast<std::size_t>(std::count_if(results.begin(), results.end(), [&](const result& r) { return r.what.result == v; }));
}

run_result run(const run_options& o, const std::function<void(const result&)>& told)
{
    run_result out;
    file_content content;
    if (const load_error e = read_file(o.file, path_rules::readable, content)) {
        out.trouble = e.text;
        return out;
    }
    std::string helper = o.in_process ? std::string() : o.helper.empty() ? find_helper() : o.helper;
    if (!o.in_process && helper.empty()) {
        out.trouble = "there is no shunt-preflight, the program that checks run in, beside the folder of the bundled plugins; install it there, or "
                      "use --in-process";
        return out;
    }
    elf_facts facts;
    (void)inspect_bytes(o.file, content.bytes, facts);  // the names; what is wrong is told by the checks
    out.strategies = facts.strategies;

    const auto wanted = [&](const rule& r) { return o.only.empty() || std::find(o.only.begin(), o.only.end(), r.name) != o.only.end(); };
    if (std::any_of(rules().begin(), rules().end(), [&](const rule& r) { return r.of != scope::file && wanted(r); })) {
        std::string folder;  // a machine without a place to load from is no plugin's fault
        if (const load_error e = make_private_folder(o.file, folder)) {
            out.trouble = e.text;
            return out;
        }
        std::error_code ignored;
        std::filesystem::remove(folder, ignored);
    }

    runner with(o, std::move(helper), told, out);
    for (const rule& r : rules())
        if (wanted(r) && (r.of == scope::file || r.of == scope::code) && !with.check(r, nullptr))
            return out;
    bool any[2] = {false, false};
    for (const known_strategy& s : facts.strategies) {
        if (o.kind && s.kind != *o.kind)
            continue;
        any[s.kind == strategy_kind::fault] = true;
        with.next_strategy();
        for (const rule& r : rules())
            if (wanted(r) && applies(r, s.kind) && !with.check(r, &s))
                return out;
    }
    // What had nothing to look at is told too, so that nobody takes silence for praise.
    for (const rule& r : rules()) {
        if (!wanted(r) || r.of == scope::file || r.of == scope::code)
            continue;
        const bool looked = r.of == scope::strategy ? any[0] || any[1] : any[r.of == scope::fault];
        if (looked)
            continue;
        const std::string_view what = r.of == scope::strategy ? "strategy" : r.of == scope::selector ? "selector" : "fault strategy";
        const bool excluded = o.kind && r.of != scope::strategy && r.of != (*o.kind == strategy_kind::fault ? scope::fault : scope::selector);
        if (!excluded)
            with.skip(r, "", fmt::format("no {} in the file", what));
    }
    return out;
}

}  // namespace shunt::plugin::check
