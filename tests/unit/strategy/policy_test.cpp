// A policy is made whole or not at all, and its strategies live exactly as long as they are needed.

#include "strategy_situation.hpp"

namespace shunt::strategy::test {
namespace {

struct Policy : Strategies {
    std::shared_ptr<policy> make(const policy_options& o) { return policy::make("p", o, finder(), env, 5, problems); }
    policy_options options() const
    {
        policy_options o;
        o.selector.use = "chooser";
        o.fault.use = "fault";
        return o;
    }
    test::host env;
    std::vector<setting_problem> problems;
};

TEST_F(Policy, IsMadeOfItsStrategies)
{
    const auto p = make(options());
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(problems.empty());
    EXPECT_EQ(p->name(), "p");
    EXPECT_EQ(faults()["fault"].made, 1);
    EXPECT_EQ(selectors()["chooser"].made, selectors()["chooser"].destroyed) << "the one made for trial is gone again";
}

TEST_F(Policy, TellsAllThatIsMissingAtOnce)
{
    policy_options o;
    o.selector.use = "no-selector";
    o.fault.use = "no-fault";
    o.filters.push_back({.use = "no-filter", .settings = {}, .where = {}});
    EXPECT_EQ(make(o), nullptr);
    ASSERT_EQ(problems.size(), 3u);
    EXPECT_EQ(problems[0].key, "policies.p.selector.use");
    EXPECT_EQ(problems[0].found, "'no-selector'");
    EXPECT_EQ(faults()["fault"].made, 0);
}

TEST_F(Policy, RefusesAsAFilterWhatCannotFilter)
{
    auto o = options();
    o.filters.push_back({.use = "chooser", .settings = {}, .where = {}});
    EXPECT_EQ(make(o), nullptr);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].key, "policies.p.filters");
}

TEST_F(Policy, RefusesASettingThatIsNotDeclared)
{
    auto o = options();
    o.selector.settings["speed"] = 7;
    EXPECT_EQ(make(o), nullptr);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].key.find("speed"), std::string::npos);
}

TEST_F(Policy, KnowsAtOnceThatASelectorCannotBeMade)
{
    selectors()["chooser"].create = [](const shunt_host& h) -> shunt_status {
        h.set_error(h.ctx, to_str("no moon tonight"));
        return SHUNT_E_CONFIG;
    };
    EXPECT_EQ(make(options()), nullptr);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].expected, "no moon tonight") << "in the plugin's own words";
    EXPECT_EQ(faults()["fault"].made, faults()["fault"].destroyed);
}

TEST_F(Policy, KnowsAtOnceThatAFaultStrategyCannotBeMade)
{
    faults()["fault"].create = [](const shunt_host&) -> shunt_status { return SHUNT_E_NOMEM; };
    EXPECT_EQ(make(options()), nullptr);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_NE(problems[0].expected.find("-2"), std::string::npos) << "no words of its own: the status";
}

TEST_F(Policy, RefusesAnInstanceThatIsNone)
{
    selectors()["chooser"].create = [](const shunt_host&) -> shunt_status { return SHUNT_ABSTAIN; };
    EXPECT_EQ(make(options()), nullptr);
    EXPECT_EQ(problems.size(), 1u);
}

TEST_F(Policy, MakesAnInstanceASetAndDestroysIt)
{
    const auto p = make(options());
    ASSERT_NE(p, nullptr);
    auto& b = selectors()["chooser"];
    b.starts.clear();
    const int before = b.made;
    policy::shared_instances shared;
    std::string error;
    {
        const auto one = p->make_set(11, shared, error), two = p->make_set(0xffffffffu, shared, error);
        ASSERT_TRUE(one && two);
        EXPECT_NE(one->chooser.instance, two->chooser.instance);
        EXPECT_EQ(b.starts, (std::vector<std::uint32_t>{11, 0x7fffffff})) << "never negative";
        EXPECT_EQ(b.made, before + 2);
    }
    EXPECT_EQ(b.made, b.destroyed);
}

TEST_F(Policy, SharesAConcurrentInstanceAmongThreads)
{
    selectors()["chooser"].flags = SHUNT_F_CONCURRENT;
    const auto p = make(options());
    ASSERT_NE(p, nullptr);
    policy::shared_instances shared;
    std::string error;
    {
        const auto one = p->make_set(1, shared, error), two = p->make_set(2, shared, error);
        ASSERT_TRUE(one && two);
        EXPECT_EQ(one->chooser.instance, two->chooser.instance);
    }
    EXPECT_EQ(selectors()["chooser"].made, selectors()["chooser"].destroyed + 1) << "it is the topic's, not the set's";
    p->destroy_shared(shared);
    EXPECT_EQ(selectors()["chooser"].made, selectors()["chooser"].destroyed);
}

TEST_F(Policy, TakesEverybodyForWellWhenTheFaultStrategyFails)
{
    faults()["fault"].evaluate = [](const shunt_broker*, std::uint32_t, std::int64_t, std::uint64_t*, std::uint64_t*,
                                    std::int64_t* until) -> shunt_status {
        *until = 1;
        return SHUNT_E_EXCEPTION;
    };
    situation at;
    for (std::uint32_t q = 0; q < 12; ++q)
        EXPECT_EQ(at.s->masks.available[q / 64] >> q & 1, 1u);
    EXPECT_EQ(at.s->masks.available[0] >> 12, 0u) << "bits past the last queue are zero";
    EXPECT_EQ(at.s->masks.valid_until_ns, INT64_MAX);
    EXPECT_EQ(at.pol->verdicts().errors(), 1u);
}

TEST_F(Policy, TakesAnAvailableBrokerForReachable)
{
    faults()["fault"].evaluate = [](const shunt_broker*, std::uint32_t, std::int64_t now, std::uint64_t* available, std::uint64_t* reachable,
                                    std::int64_t* until) -> shunt_status {
        *available = 0b001;
        *reachable = 0b100;
        *until = now + 70;
        return SHUNT_OK;
    };
    situation at;
    EXPECT_EQ(at.s->masks.available[0], 0x00fu);
    EXPECT_EQ(at.s->masks.reachable[0], 0xf0fu);
    EXPECT_EQ(at.s->masks.valid_until_ns, 70);
}

TEST_F(Policy, AsksForNewVerdictsOnlyWhenTheStrategySaysSo)
{
    std::uint32_t fed = 0;
    shunt_status answer = 0;
    faults()["fault"].on_feedback = [&](const shunt_feedback*, std::uint32_t n) {
        fed += n;
        return answer;
    };
    situation at;
    const shunt_feedback f[3]{};
    EXPECT_FALSE(at.pol->verdicts().feed({}));
    EXPECT_EQ(fed, 0u);
    EXPECT_FALSE(at.pol->verdicts().feed(f));
    answer = 1;
    EXPECT_TRUE(at.pol->verdicts().feed(f));
    answer = SHUNT_E_EXCEPTION;
    EXPECT_FALSE(at.pol->verdicts().feed(f));
    EXPECT_EQ(fed, 9u);
    EXPECT_EQ(at.pol->verdicts().errors(), 1u);
}

TEST_F(Policy, PassesProbesAndLinesOnUnderItsName)
{
    faults()["fault"].create = [](const shunt_host& h) -> shunt_status {
        for (int i = 0; i < 50; ++i)
            h.log(h.ctx, SHUNT_LOG_WARN, to_str("again"));
        return h.request_probe(h.ctx, 3, 99);
    };
    const auto p = make(options());
    ASSERT_NE(p, nullptr);
    ASSERT_EQ(env.probes.size(), 1u);
    EXPECT_EQ(env.probes[0], (std::tuple<std::string, std::uint32_t, std::int64_t>{"p", 3, 99}));
    EXPECT_EQ(env.lines.size(), 10u) << "no flood: ten lines a second";
    EXPECT_EQ(env.lines[0], "policy \"p\", strategy \"fault\": again");
}

}  // namespace
}  // namespace shunt::strategy::test
