// Scenarios whose strategies are free in their picks: properties that every implementation has.

#include "situation.hpp"

#include <cmath>
#include <map>
#include <set>

namespace shunt::simulate {
namespace {

namespace js = boost::json;
using lines = std::vector<js::object>;

std::int64_t whole(const js::value& v) { return v.to_number<std::int64_t>(); }

bool passes(const js::object& filter, const js::object& l)
{
    for (const auto& [name, value] : filter) {
        const bool fits = name == "from"        ? whole(l.at("t_ms")) >= whole(value)
                          : name == "to"        ? whole(l.at("t_ms")) < whole(value)
                          : name == "send_from" ? whole(l.at("send")) >= whole(value)
                          : name == "send_to"   ? whole(l.at("send")) < whole(value)
                          : name == "retry"     ? (whole(l.at("attempt")) > 1) == value.as_bool()
                          : name == "brokers"
                              ? std::count(value.as_array().begin(), value.as_array().end(), l.at("broker")) != 0
                              : l.at(name) == value;
        if (!fits)
            return false;
    }
    return true;
}

lines filtered(const js::object& filter, const lines& from)
{
    lines out;
    for (const js::object& l : from)
        if (passes(filter, l))
            out.push_back(l);
    return out;
}

std::string queue_of(const js::object& l) { return std::string(l.at("broker").as_string()) + "-" + std::to_string(whole(l.at("queue"))); }

std::string name_by(const js::object& l, std::string_view by)
{
    return by == "queue" ? queue_of(l) : std::string(l.at("broker").as_string());
}

/// Probability that a chi-square of `k` degrees of freedom is larger than `x`, by the Wilson-Hilferty approximation.
double chi_square_above(double x, double k)
{
    const double z = (std::cbrt(x / k) - (1 - 2 / (9 * k))) / std::sqrt(2 / (9 * k));
    return std::erfc(z / std::sqrt(2.0)) / 2;
}

std::string check_fit(const js::object& check, const lines& all)
{
    const lines some = filtered(check.at("fit").as_object(), all);
    const js::object& want = check.at("want").as_object();
    double weights = 0;
    for (const auto& [name, weight] : want)
        weights += weight.to_number<double>();
    std::map<std::string, double> counts;
    for (const js::object& l : some)
        ++counts[name_by(l, check.at("by").as_string())];
    double chi = 0;
    for (const auto& [name, weight] : want) {
        const double expected = static_cast<double>(some.size()) * weight.to_number<double>() / weights;
        const double off = counts[std::string(name)] - expected;
        chi += off * off / expected;
        counts.erase(std::string(name));
    }
    if (!counts.empty())
        return counts.begin()->first + " was picked";
    const double p = chi_square_above(chi, static_cast<double>(want.size() - 1));
    return p >= 1e-6 && p <= 1 - 1e-6 ? "" : "chi-square " + std::to_string(chi) + ", p = " + std::to_string(p);
}

std::map<std::string, std::string> queue_by_key(const lines& some)
{
    std::map<std::string, std::string> out;
    for (const js::object& l : some)
        out[std::string(l.at("key").as_string())] = queue_of(l);
    return out;
}

std::string in_range(const js::object& check, double value)
{
    const bool low = check.contains("min") && value < check.at("min").to_number<double>();
    const bool high = check.contains("max") && value > check.at("max").to_number<double>();
    return low || high ? "it is " + std::to_string(value) : "";
}

std::string broker_part(const std::string& queue) { return queue.substr(0, queue.rfind('-')); }

std::string check_moved(const js::object& check, const lines& all)
{
    const auto before = queue_by_key(filtered(check.at("moved").as_object(), all));
    const auto after = queue_by_key(filtered(check.at("then").as_object(), all));
    double moved = 0, seen = 0;
    for (const auto& [key, queue] : before) {
        const auto now = after.find(key);
        if (now == after.end())
            continue;
        ++seen;
        if (now->second == queue)
            continue;
        ++moved;
        for (const auto& [only, place] : {std::pair{"only_from", queue}, std::pair{"only_to", now->second}})
            if (check.contains(only)) {
                const auto& names = check.at(only).as_array();
                if (std::count(names.begin(), names.end(), js::value(broker_part(place))) == 0)
                    return key + " moved from " + queue + " to " + now->second;
            }
    }
    return seen == 0 ? "no key is in both" : in_range(check, moved / seen);
}

/// Empty: it holds.
std::string what_is_wrong(const js::object& check, const lines& all)
{
    if (check.contains("fit"))
        return check_fit(check, all);
    if (check.contains("count"))
        return in_range(check, static_cast<double>(filtered(check.at("count").as_object(), all).size()));
    if (check.contains("share"))
        return in_range(check, static_cast<double>(filtered(check.at("share").as_object(), all).size()) /
                                   static_cast<double>(filtered(check.at("of").as_object(), all).size()));
    if (check.contains("repeat")) {
        const lines some = filtered(check.at("repeat").as_object(), all);
        double same = 0;
        for (std::size_t i = 1; i < some.size(); ++i)
            same += queue_of(some[i]) == queue_of(some[i - 1]) ? 1 : 0;
        return in_range(check, same / static_cast<double>(some.size() - 1));
    }
    if (check.contains("stable")) {
        std::map<std::string, std::set<std::string>> queues;
        for (const js::object& l : filtered(check.at("stable").as_object(), all))
            queues[std::string(l.at("key").as_string())].insert(queue_of(l));
        for (const auto& [key, on] : queues)
            if (on.size() > 1)
                return key + " is on two queues";
        return queues.empty() ? "there are no keys" : "";
    }
    if (check.contains("moved"))
        return check_moved(check, all);
    if (check.contains("spread")) {
        std::map<std::string, double> counts;
        const lines some = filtered(check.at("spread").as_object(), all);
        for (const js::object& l : some)
            ++counts[name_by(l, check.at("by").as_string())];
        const double mean = static_cast<double>(some.size()) / check.at("names").to_number<double>();
        for (const auto& [name, count] : counts)
            if (std::abs(count - mean) > mean * check.at("within").to_number<double>())
                return name + " has " + std::to_string(count) + " of a mean of " + std::to_string(mean);
        return counts.size() == check.at("names").to_number<std::size_t>() ? "" : "names are missing";
    }
    return "no such check";
}

class Checks : public testing::TestWithParam<std::string> {
protected:
    const js::object checks_ = js::parse(text_of(data_folder / (GetParam() + ".checks.json"))).as_object();
    const std::string text_ = text_of(data_folder / (GetParam() + ".toml"));
};

TEST_P(Checks, Hold)
{
    if (checks_.contains("exit")) {
        std::set<std::int64_t> told;
        for (const config::problem& p : problems_of(text_))
            told.insert(p.line);
        for (const auto& line : checks_.at("lines").as_array())
            EXPECT_EQ(told.count(line.as_int64()), 1u) << "line " << line;
        return;
    }
    const outcome_of_run o = run_text(text_);
    for (const auto& check : checks_.at("checks").as_array())
        EXPECT_EQ(what_is_wrong(check.as_object(), o.lines), "") << check;
    if (checks_.contains("other_seed")) {
        scenario s = right(text_);
        ++s.seed;
        EXPECT_NE(run_scenario(s).text, o.text);
    }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Checks, testing::ValuesIn(named(data_folder, ".checks.json")), test_name);

// The checks themselves: each sees what it is for.
TEST(CheckOfChecks, SeesWhatIsWrong)
{
    lines some;
    for (int i = 0; i < 600; ++i)
        some.push_back({{"t_ms", i}, {"send", i}, {"attempt", 1}, {"key", "k" + std::to_string(i % 3)}, {"broker", i < 599 ? "a" : "b"}, {"queue", 0}});
    const auto wrong = [&](std::string_view check) { return !what_is_wrong(js::parse(check).as_object(), some).empty(); };
    EXPECT_TRUE(wrong(R"({"fit": {}, "by": "broker", "want": {"a": 1, "b": 1}})"));
    EXPECT_TRUE(wrong(R"({"fit": {}, "by": "broker", "want": {"a": 1, "c": 1}})"));
    EXPECT_TRUE(wrong(R"({"count": {"broker": "a"}, "max": 598})"));
    EXPECT_FALSE(wrong(R"({"count": {"broker": "a", "from": 10, "to": 20}, "min": 10, "max": 10})"));
    EXPECT_TRUE(wrong(R"({"share": {"broker": "a"}, "of": {}, "max": 0.5})"));
    EXPECT_TRUE(wrong(R"({"repeat": {}, "max": 0.5})"));
    EXPECT_TRUE(wrong(R"({"stable": {}})"));
    EXPECT_FALSE(wrong(R"({"stable": {"to": 599}})"));
    EXPECT_TRUE(wrong(R"({"moved": {"to": 300}, "then": {"from": 300}, "max": 0})"));
    EXPECT_TRUE(wrong(R"({"moved": {"to": 300}, "then": {"from": 300}, "only_from": ["b"]})"));
    EXPECT_TRUE(wrong(R"({"spread": {}, "by": "broker", "within": 0.2, "names": 2})"));
}

}  // namespace
}  // namespace shunt::simulate
