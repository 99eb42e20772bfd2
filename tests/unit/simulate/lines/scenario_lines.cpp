// Writes all there is to write of scenarios: decisions, verdicts, summaries; of some with every policy.
//
//     scenario_lines PLUGIN_FOLDER FILE...        "+FILE": with each selector and each fault strategy there is

#include <config/problem.hpp>
#include <plugin/registry.hpp>
#include <simulate/run.hpp>
#include <simulate/scenario.hpp>
#include <simulate/text.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace shunt;

class writer final : public simulate::observer {
public:
    void decided(const simulate::line& l) override { simulate::append_json(text, l); }
    void ended(const simulate::send_end& e) override
    {
        fmt::format_to(std::back_inserter(text), "ended {} {} {} {}\n", e.send, e.start_ms, e.end_ms, static_cast<int>(e.outcome));
    }
    void judged(std::int64_t t_ms, std::string_view broker, simulate::verdict v) override
    {
        fmt::format_to(std::back_inserter(text), "judged {} {} {}\n", t_ms, broker, static_cast<int>(v));
    }
    void log(std::int64_t t_ms, std::int32_t level, std::string_view said) override
    {
        fmt::format_to(std::back_inserter(text), "log {} {} {}\n", t_ms, level, said);
    }
    std::string text;
};

void write(const std::string& title, const simulate::scenario& s, plugin::registry& strategies)
{
    writer w;
    fmt::format_to(std::back_inserter(w.text), "== {}\n", title);
    const simulate::run_result r = simulate::run(s, strategies, w);
    fmt::format_to(std::back_inserter(w.text), "{} {} {}\n", simulate::to_json(r.sum), r.sum.latency_ms ? r.sum.latency_ms->mean : -1.0, r.error);
    (void)std::fwrite(w.text.data(), 1, w.text.size(), stdout);
}

void write_with_each(const std::string& title, simulate::scenario s, plugin::registry& strategies)
{
    using kind = strategy::strategy_kind;
    const std::vector<plugin::known_strategy> known = strategies.known();
    for (const auto& selector : known)
        for (const auto& fault : known) {
            if (selector.kind != kind::selector || fault.kind != kind::fault)
                continue;
            s.policy.selector = {.use = selector.name, .settings = {}, .where = {}};
            if (selector.name == "machine-room")
                s.policy.selector.settings["rooms"] = setting_array{"nowhere"};
            s.policy.fault = {.use = fault.name, .settings = {}, .where = {}};
            write(fmt::format("{} with {} and {}", title, selector.name, fault.name), s, strategies);
        }
}

}  // namespace

int main(int argc, char** argv)
{
    const std::vector<std::string> arguments(argv, argv + argc);
    plugin::registry strategies({}, arguments.at(1));
    for (std::size_t i = 2; i < arguments.size(); ++i) {
        const bool each = arguments[i].front() == '+';
        const std::filesystem::path file = arguments[i].substr(each ? 1 : 0);
        std::ostringstream text;
        text << std::ifstream(file, std::ios::binary).rdbuf();
        std::vector<config::problem> problems;
        const simulate::scenario s = simulate::read_scenario(text.str(), file.filename().string(), problems);
        if (problems.empty())
            simulate::check_strategies(s, strategies, problems);
        for (const config::problem& p : problems)
            std::puts(config::to_string(p).c_str());
        if (problems.empty())
            each ? write_with_each(file.filename().string(), s, strategies) : write(file.filename().string(), s, strategies);
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
}
