// Helpers of the tests of scenarios: texts that are read and run, and the lines that come of it.

#pragma once

#include <plugin/registry.hpp>
#include <simulate/run.hpp>
#include <simulate/scenario.hpp>
#include <simulate/text.hpp>

#include <boost/json.hpp>
#include <support/paths.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::config {

inline void PrintTo(const problem& p, std::ostream* out) { *out << to_string(p); }

}  // namespace shunt::config

namespace shunt::simulate {

inline const std::filesystem::path data_folder = shunt::test::in_source("/tests/data/scenarios");

inline std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    EXPECT_TRUE(in.good()) << file;
    return out.str();
}

inline plugin::registry& bundled()
{
    static plugin::registry registry({}, shunt::test::in_build("/lib/shunt/plugins"));
    return registry;
}

inline std::vector<config::problem> problems_of(std::string_view text)
{
    std::vector<config::problem> problems;
    const scenario s = read_scenario(text, "s.toml", problems);
    check_strategies(s, bundled(), problems);
    config::sort_by_place(problems);
    return problems;
}

/// What a run wrote.
struct outcome_of_run {
    std::string text;
    std::vector<boost::json::object> lines;
    summary sum;
    std::string error;
    std::vector<std::string> logged;
};

/// Keeps what is written; without `lines` only counts.
class recorder final : public observer {
public:
    void decided(const line& l) override { append_json(out.text, l); }
    void log(std::int64_t, std::int32_t, std::string_view text) override { out.logged.emplace_back(text); }
    outcome_of_run out;
};

inline outcome_of_run run_scenario(const scenario& s)
{
    recorder r;
    run_result result = run(s, bundled(), r);
    r.out.sum = std::move(result.sum);
    r.out.error = std::move(result.error);
    std::istringstream in(r.out.text);
    for (std::string one; std::getline(in, one);)
        r.out.lines.push_back(boost::json::parse(one).as_object());
    return std::move(r.out);
}

inline scenario right(std::string_view text)
{
    std::vector<config::problem> problems;
    scenario s = read_scenario(text, "s.toml", problems);
    check_strategies(s, bundled(), problems);
    EXPECT_EQ(problems, std::vector<config::problem>());
    return s;
}

inline outcome_of_run run_text(std::string_view text)
{
    outcome_of_run out = run_scenario(right(text));
    EXPECT_EQ(out.error, "");
    return out;
}

/// [scenario] with these lines and a policy of best-queue and latency-fault.
inline std::string usual(std::string_view lines, std::string_view rest)
{
    return "[scenario]\n" + std::string(lines) +
           "policy = { selector = { use = \"best-queue\" }, fault = { use = \"latency-fault\" } }\n" + std::string(rest);
}

/// [[broker]] a, b, ... with so many queues each.
inline std::string brokers(int n, int queues)
{
    std::string out;
    for (int i = 0; i < n; ++i)
        out += "[[broker]]\nname = \"" + std::string(1, static_cast<char>('a' + i)) + "\"\nqueues = " + std::to_string(queues) + "\n";
    return out;
}

inline std::string at(std::string_view time, std::string_view lines)
{
    return "[[at]]\ntime = \"" + std::string(time) + "\"\n" + std::string(lines) + "\n";
}

/// "a-0 b-1 ...": where the attempts went; what has no broker is "-".
inline std::string places(const outcome_of_run& o)
{
    std::string out;
    for (const auto& l : o.lines) {
        out += out.empty() ? "" : " ";
        out += l.at("broker").is_null() ? std::string("-")
                                        : std::string(l.at("broker").as_string()) + "-" + std::to_string(l.at("queue").as_int64());
    }
    return out;
}

/// One field of all lines, with blanks between.
inline std::string all(const outcome_of_run& o, std::string_view field)
{
    std::string out;
    for (const auto& l : o.lines) {
        out += out.empty() ? "" : " ";
        const auto& v = l.at(field);
        out += v.is_string() ? std::string(v.as_string()) : boost::json::serialize(v);
    }
    return out;
}

/// Names of the files in `folder` that end so, without that end.
inline std::vector<std::string> named(const std::filesystem::path& folder, const std::string& ending)
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(ending))
            names.push_back(name.substr(0, name.size() - ending.size()));
    }
    std::sort(names.begin(), names.end());
    return names;
}

inline std::string test_name(const testing::TestParamInfo<std::string>& info)
{
    std::string name = info.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

}  // namespace shunt::simulate
