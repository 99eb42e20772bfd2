// A strategy of a stranger's: one without a reason, and one that throws in the middle of a run.

#include "situation.hpp"

namespace shunt::simulate {
namespace {

TEST(OwnPlugin, ThatThrowsIsStoodInForByTheFallbackAndTheRunGoesOn)
{
    const std::string text = "[scenario]\npolicy = { selector = { use = \"moody\" }, fault = { use = \"none\" } }\n[plugins]\npath = [\"" + test::in_build("/lib/shunt/plugins") + "\", \"" +
                             test::in_build("/tests/simulate") + "\"]\n" + brokers(2, 2) + at("0ms", "send = 7");
    std::vector<config::problem> problems;
    const scenario s = read_scenario(text, "s.toml", problems);
    plugin::registry registry(s.plugins);
    check_strategies(s, registry, problems);
    ASSERT_EQ(problems, std::vector<config::problem>());
    recorder r;
    const run_result result = run(s, registry, r);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(result.sum.stored, 7u);
    std::istringstream in(r.out.text);
    for (std::string one; std::getline(in, one);)
        r.out.lines.push_back(boost::json::parse(one).as_object());
    EXPECT_EQ(all(r.out, "why"), "plugin plugin fallback plugin plugin fallback plugin");
    EXPECT_EQ(places(r.out), "b-1 b-1 a-0 b-1 b-1 a-1 b-1");
}

}  // namespace
}  // namespace shunt::simulate
