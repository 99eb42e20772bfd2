// shunt simulate: what a policy does with a scripted cluster, in virtual time.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"

#include <config/problem.hpp>
#include <plugin/registry.hpp>
#include <simulate/run.hpp>
#include <simulate/scenario.hpp>
#include <simulate/text.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace shunt::cli {

namespace {

struct simulate_arguments {
    std::string file;
    std::string decisions;
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
    explicit watcher(line_file& lines) : lines_(lines) {}

    void decided(const simulate::line& l) override
    {
        if (!lines_)
            return;
        simulate::append_json(lines_.text(), l);
        lines_.write_if_many();
    }
    void log(std::int64_t t_ms, std::int32_t level, std::string_view text) override
    {
        if (level >= SHUNT_LOG_WARN)
            complain("simulate", fmt::format("at {} ms: {}", t_ms, text));
    }

private:
    line_file& lines_;
};

std::string words_of(int error) { return std::generic_category().message(error); }

/// Reads the scenario and finds its strategies; complains of all that is wrong.
std::optional<simulate::scenario> load(const std::string& file, std::unique_ptr<plugin::registry>& strategies)
{
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    if (!in.is_open() || !(text << in.rdbuf()).good()) {
        complain("simulate", fmt::format("{} cannot be read; it must be a scenario, see config/scenarios", config::in_marks(file)));
        return std::nullopt;
    }
    std::vector<config::problem> problems;
    simulate::scenario s = simulate::read_scenario(text.str(), file, problems);
    strategies = std::make_unique<plugin::registry>(s.plugins, plugin::bundled_folder());
    // Text that is no TOML has one problem, of no key: it names no strategies.
    if (problems.size() != 1 || !problems.front().key.empty()) {
        simulate::check_strategies(s, *strategies, problems);
        config::sort_by_place(problems);
    }
    for (const config::problem& p : problems)
        complain("simulate", config::to_string(p));
    if (!problems.empty())
        return std::nullopt;
    return s;
}

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

int run(const simulate_arguments& a)
{
    std::unique_ptr<plugin::registry> strategies;
    const auto scenario = load(a.file, strategies);
    if (!scenario)
        return misused;
    line_file lines;
    if (!lines.open(a.decisions)) {
        complain("simulate", fmt::format("{} cannot be written: {}", config::in_marks(a.decisions), words_of(errno)));
        return misused;
    }
    watcher w(lines);
    const simulate::run_result result = simulate::run(*scenario, *strategies, w);
    if (!lines.close()) {
        complain("simulate", fmt::format("writing {} failed: {}", config::in_marks(a.decisions), words_of(lines.error())));
        return failed;
    }
    if (!result.error.empty()) {
        complain("simulate", result.error);
        return failed;
    }
    output out;
    if (a.json)
        out.line(simulate::to_json(result.sum));
    else
        out.write(as_text(result.sum));
    return out.finish("simulate") ? done : failed;
}

}  // namespace

void add_simulate(CLI::App& program, chosen_command& chosen)
{
    CLI::App& app = *program.add_subcommand("simulate", "Runs a scenario: what a policy does when brokers slow down or go. Nothing is sent, no time passes.");
    auto a = std::make_shared<simulate_arguments>();
    add_text(app, "FILE", a->file, "the scenario, see config/scenarios")->required()->type_name(" ");
    add_text(app, "--decisions", a->decisions, "write one JSON object a line for each attempt into this file")->type_name("OUT");
    app.add_flag("--json", a->json, "the outcome as one object");
    app.callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace shunt::cli
