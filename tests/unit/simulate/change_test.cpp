// Variants of a scenario: a value changed, a policy replaced.

#include "situation.hpp"

#include <config/toml_text.hpp>
#include <simulate/change.hpp>

namespace shunt::simulate {
namespace {

setting tree(const std::string& text)
{
    std::vector<config::problem> problems;
    setting out = config::parse_toml(text, "s.toml", problems);
    EXPECT_EQ(problems, std::vector<config::problem>());
    return out;
}

const std::string base = usual("", brokers(2, 4) + at("0ms", "send = 3"));

// The scenario after a change.
scenario changed(std::string_view key, std::string_view value, std::vector<config::problem>& problems)
{
    const auto root = with_value(tree(base), key, value, problems);
    return root ? read_scenario(*root, "s.toml", "", problems) : scenario{};
}

scenario changed(std::string_view key, std::string_view value)
{
    std::vector<config::problem> problems;
    scenario out = changed(key, value, problems);
    EXPECT_EQ(problems, std::vector<config::problem>());
    return out;
}

TEST(WithValue, ReachesTablesArraysAndTheirElements)
{
    EXPECT_EQ(changed("scenario.timeout", "\"7ms\"").timeout_ms, 7);
    EXPECT_EQ(changed("broker[1].queues", "9").brokers.at(1).queues, 9u);
    EXPECT_EQ(changed("at[0].send", "5").steps.at(0).what.index(), 0u);
    EXPECT_EQ(std::get<send_step>(changed("at[0].send", "5").steps.at(0).what).count, 5u);
    EXPECT_EQ(changed("broker", "[{ name = \"z\", queues = 1 }]").brokers.size(), 1u);
}

TEST(WithValue, TakesShortKeysOfThePolicyAndOfTheScenario)
{
    EXPECT_EQ(changed("timeout", "9s").timeout_ms, 9000);
    EXPECT_EQ(changed("selector.use", "random").policy.selector.use, "random");
    EXPECT_EQ(changed("fault.probe", "5ms").policy.fault.settings.at("probe"), setting("5ms"));
    EXPECT_EQ(changed("policies.orders.fault.probe", "5ms").policy.fault.settings.at("probe"), setting("5ms"));
    EXPECT_EQ(changed("policy.ordered", "true").policy.ordered, true);
    EXPECT_EQ(changed("fault.latency_max", "[\"1ms\", \"2ms\"]").policy.fault.settings.at("latency_max"), setting(setting_array{"1ms", "2ms"}));
}

TEST(WithValue, LeavesTheRestAndItsPlaces)
{
    const setting root = tree(base);
    std::vector<config::problem> problems;
    const auto out = with_value(root, "timeout", "9s", problems);
    ASSERT_TRUE(out);
    EXPECT_EQ(out->as<setting_table>()->at("broker"), root.as<setting_table>()->at("broker"));
    EXPECT_EQ(out->as<setting_table>()->at("scenario").where.line, 1u);
    EXPECT_NE(*out, root);
}

TEST(WithValue, AWrongValueIsToldByTheChange)
{
    std::vector<config::problem> problems;
    (void)changed("timeout", "9", problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(config::to_string(problems[0]),
              "timeout=9: scenario.timeout is 9; it must be a duration from 1ms to 1000000h (a unit is missing: \"9ms\", \"9s\")");
}

TEST(WithValue, RefusesKeysThatLeadNowhere)
{
    for (const char* key : {"broker[2].queues", "broker[x].queues", "broker.queues.x", "timeout.x.", ".timeout", "scenario..timeout", "timeout[0]", "broker[0", ""}) {
        std::vector<config::problem> problems;
        (void)changed(key, "1", problems);
        EXPECT_EQ(problems.size(), 1u) << key;
    }
}

std::string policy_after(const std::string& text, const std::string& name, std::vector<config::problem>& problems)
{
    const auto root = with_policy(tree(base), text, "other", name, problems);
    if (!root)
        return "nothing";
    const scenario s = read_scenario(*root, "s.toml", "", problems);
    return s.policy.selector.use + " " + s.policy.fault.use + " " + std::to_string(static_cast<int>(s.policy.when_no_queue));
}

TEST(WithPolicy, TakesATableAScenarioOrAConfiguration)
{
    std::vector<config::problem> problems;
    EXPECT_EQ(policy_after("{ selector = { use = \"random\" }, fault = { use = \"none\" } }", "default", problems), "random none 2");
    EXPECT_EQ(policy_after("[scenario]\npolicy = { selector = { use = \"hash\" }, fault = { use = \"none\" } }\n", "default", problems), "hash none 2");
    EXPECT_EQ(policy_after("[producer]\nembedded = true\n[policies.default]\nkey_from = \"keys\"\nfault = { use = \"none\" }\n", "default", problems), "best-queue none 0")
        << "with the defaults of a configuration: waits when there is no queue";
    EXPECT_EQ(policy_after("[policies.x]\nselector = { use = \"random\" }\nwhen_no_queue = \"any\"\n", "x", problems), "random latency-fault 1");
    EXPECT_EQ(problems, std::vector<config::problem>());
    EXPECT_EQ(policy_after("[policies.x]\n", "y", problems), "nothing");
    EXPECT_EQ(policy_after("{ selector", "y", problems), "nothing");
    EXPECT_EQ(problems.size(), 2u);
}

TEST(SplitValues, KeepsWhatBelongsTogether)
{
    EXPECT_EQ(split_values("0.1,0.2"), (std::vector<std::string>{"0.1", "0.2"}));
    EXPECT_EQ(split_values("[\"1ms\",\"2ms\"],{ a = 1, b = 2 },\"x,y\",'],'"),
              (std::vector<std::string>{"[\"1ms\",\"2ms\"]", "{ a = 1, b = 2 }", "\"x,y\"", "'],'"}));
    EXPECT_EQ(split_values("5s"), std::vector<std::string>{"5s"});
}

}  // namespace
}  // namespace shunt::simulate
