// The strategies a file names are looked up among the bundled ones, and judge their own settings.

#include "situation.hpp"

#include <plugin/registry.hpp>

#include <support/paths.hpp>

#include <algorithm>

namespace shunt::config {
namespace {

// A policy table in lines 3 and on of a file, judged by the strategies of the build tree.
class StrategiesOfAFile : public testing::Test {
protected:
    StrategiesOfAFile() : registry_({}, shunt::test::in_build("/lib/shunt/plugins")) {}

    void SetUp() override
    {
        if (registry_.known().empty())
            GTEST_SKIP() << "built without the bundled plugins";
    }

    std::vector<problem> problems_of_policy(std::string_view lines)
    {
        std::vector<problem> problems;
        const loaded l = load_text(after_producer("[policies.default]\n" + std::string(lines) + "\n"), "f.toml", problems);
        EXPECT_EQ(problems, std::vector<problem>());
        check_strategies(l.options, registry_, problems);
        return problems;
    }

    plugin::registry registry_;
};

TEST_F(StrategiesOfAFile, AreRightWhenTheyAreThereAndLikeTheirSettings)
{
    EXPECT_EQ(problems_of_policy("selector = { use = \"hash\", function = \"xxh3\" }\nfault = { use = \"latency-fault\", profile = \"classic\", probe = \"1s\" }\n"
                                 "filters = [{ use = \"machine-room\", rooms = [\"a\"] }]"),
              std::vector<problem>());
}

TEST_F(StrategiesOfAFile, AreToldByThePlaceOfUseWhenTheyAreNotThere)
{
    const std::vector<problem> problems = problems_of_policy("selector = { use = \"best-quue\" }");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].line, 4u);
    EXPECT_EQ(problems[0].column, 20u);
    EXPECT_EQ(problems[0].key, "policies.default.selector.use");
    EXPECT_EQ(problems[0].found, "'best-quue'");
    EXPECT_NE(problems[0].expected.find("a selector that is there: best-queue, "), std::string::npos) << problems[0].expected;
    EXPECT_EQ(problems[0].hint, "did you mean 'best-queue'?");
}

TEST_F(StrategiesOfAFile, AreListedOnceForANameLikeNoOther)
{
    const std::vector<problem> problems = problems_of_policy("fault = { use = \"xyzzy\" }");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].expected, "a fault strategy that is there: circuit-breaker, latency-fault or none");
    EXPECT_EQ(problems[0].hint, "");
}

TEST_F(StrategiesOfAFile, AreMissedWithTheFolderThatHasNone)
{
    const temporary_folder folder;
    plugin::registry empty({}, folder.path().string());
    std::vector<problem> problems;
    check_strategies(good("[producer]\nembedded = true\n").options, empty, problems);
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0].file, "f.toml");
    EXPECT_EQ(problems[0].line, 0u);
    EXPECT_EQ(problems[0].expected, "a selector that can be loaded");
    EXPECT_NE(problems[0].hint.find("best-queue"), std::string::npos) << problems[0].hint;
}

TEST_F(StrategiesOfAFile, AreRefusedInThePlaceOfTheOtherKind)
{
    const std::vector<problem> problems = problems_of_policy("selector = { use = \"latency-fault\" }\nfault = { use = \"hash\" }");
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0].key, "policies.default.selector.use");
    EXPECT_EQ(problems[0].hint, "'latency-fault' is a fault strategy");
    EXPECT_EQ(problems[1].key, "policies.default.fault.use");
    EXPECT_EQ(problems[1].line, 5u);
    EXPECT_EQ(problems[1].hint, "'hash' is a selector");
}

TEST_F(StrategiesOfAFile, MustFilterWhereTheyStandAsFilters)
{
    EXPECT_EQ(problems_of_policy("filters = [{ use = \"hash\" }]"),
              std::vector{at(4, 20, "policies.default.filters[0].use", "'hash'", "a selector that can filter",
                             "it only picks; name it as the policy's selector")});
}

TEST_F(StrategiesOfAFile, RefuseUnknownSettingsAtTheKey)
{
    EXPECT_EQ(problems_of_policy("selector = { use = \"hash\", funktion = \"java\" }"),
              std::vector{at(4, 28, "policies.default.selector.funktion", "an unknown setting", "one of function, keyless",
                             "did you mean 'function'?")});
}

TEST_F(StrategiesOfAFile, RefuseValuesAtTheValue)
{
    const std::vector<problem> problems =
        problems_of_policy("selector = { use = \"hash\", function = \"md5\" }\nfault = { use = \"circuit-breaker\", error_rate = 2, min_attempts = 1979-05-27, window = 10 }");
    ASSERT_EQ(problems.size(), 4u);
    EXPECT_EQ(problems[0].key, "policies.default.selector.function");
    EXPECT_EQ(problems[0].found, "'md5'");
    EXPECT_EQ(problems[0].line, 4u);
    EXPECT_EQ(problems[0].column, 39u);
    EXPECT_EQ(problems[1].key, "policies.default.fault.error_rate");
    EXPECT_EQ(problems[1].column, 49u);
    EXPECT_EQ(problems[2].key, "policies.default.fault.min_attempts");
    EXPECT_EQ(problems[2].found, "the date 1979-05-27");
    EXPECT_EQ(problems[3].key, "policies.default.fault.window");
    EXPECT_EQ(problems[3].found, "10");
}

TEST_F(StrategiesOfAFile, MissRequiredSettingsAtTheirName)
{
    const std::vector<problem> problems = problems_of_policy("selector = { use = \"machine-room\" }");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].key, "policies.default.selector.rooms");
    EXPECT_EQ(problems[0].found, "not set");
    EXPECT_EQ(problems[0].line, 4u);
    EXPECT_EQ(problems[0].column, 20u);
}

TEST_F(StrategiesOfAFile, RefuseWhatOnlyTheyCanJudgeInTheirOwnWords)
{
    const std::vector<problem> problems =
        problems_of_policy("fault = { use = \"latency-fault\", latency_max = [\"1s\", \"2s\"], not_available = [\"1s\"] }");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].key, "policies.default.fault");
    EXPECT_EQ(problems[0].found, "'latency-fault' with these settings");
    EXPECT_EQ(problems[0].line, 4u);
    EXPECT_FALSE(problems[0].hint.empty());
}

TEST_F(StrategiesOfAFile, ThatCannotBeLoadedAreToldInTheRegistrysWords)
{
    const temporary_folder folder;
    const std::string file = folder.write("libfake.so", "not a plugin");
    std::vector<problem> problems;
    const loaded l = load_text(after_producer("[plugins.load.fake]\nfile = \"" + file + "\"\n[policies.default]\nselector = { use = \"fake\" }\n"),
                               "f.toml", problems);
    EXPECT_EQ(problems, std::vector<problem>());
    plugin::registry registry(l.options.plugins, shunt::test::in_build("/lib/shunt/plugins"));
    check_strategies(l.options, registry, problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].line, 6u);
    EXPECT_EQ(problems[0].key, "policies.default.selector.use");
    EXPECT_NE(problems[0].hint.find("libfake.so"), std::string::npos) << problems[0].hint;
}

TEST_F(StrategiesOfAFile, AddTheirDefaultsToTheOriginsBesideTheirOwnKeys)
{
    loaded l = good(after_producer("[policies.default]\nselector = { use = \"hash\", function = \"xxh3\" }\nfault = { use = \"latency-fault\", profile = \"5.x\" }\n"));
    EXPECT_EQ(value_of(l, "policies.default.selector.keyless"), "no such key");
    add_strategy_defaults(l, registry_);
    EXPECT_EQ(value_of(l, "policies.default.selector.function"), "\"xxh3\" from f.toml:4");
    EXPECT_EQ(value_of(l, "policies.default.selector.keyless"), "\"rotate\" from default");
    EXPECT_EQ(std::count_if(l.origins.begin(), l.origins.end(), [](const origin& o) { return o.key == "policies.default.selector.function"; }), 1);
    EXPECT_EQ(value_of(l, "policies.default.fault.probe"), "\"0ms\" from default");
    EXPECT_EQ(value_of(l, "policies.default.fault.profile"), "\"5.x\" from f.toml:5");
    for (std::size_t i = 0; i + 1 < l.origins.size(); ++i)
        if (l.origins[i].key == "policies.default.selector.use") {
            EXPECT_EQ(l.origins[i + 1].key.substr(0, 26), "policies.default.selector.");
        }
}

}  // namespace
}  // namespace shunt::config
