// config/scenarios: each is right, explains itself, has a row in the README, and shows what its first lines say.

#include <support/paths.hpp>

#include "situation.hpp"

namespace shunt::simulate {
namespace {

const std::filesystem::path folder = shunt::test::in_source("/config/scenarios");

class Shipped : public testing::TestWithParam<std::string> {};

TEST_P(Shipped, RunsAndSendsSomething)
{
    const outcome_of_run o = run_text(text_of(folder / (GetParam() + ".toml")));
    EXPECT_GT(o.sum.stored, 0u);
    EXPECT_EQ(o.logged, std::vector<std::string>());
}

TEST_P(Shipped, BeginsWithWhatItShows)
{
    EXPECT_EQ(text_of(folder / (GetParam() + ".toml")).substr(0, 2), "# ");
}

TEST_P(Shipped, HasARowInTheReadme)
{
    EXPECT_NE(text_of(folder / "README.md").find("`" + GetParam() + ".toml`"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Shipped, testing::ValuesIn(named(folder, ".toml")), test_name);

TEST(ShippedScenarios, AreTwelveOrMore) { EXPECT_GE(named(folder, ".toml").size(), 12u); }

}  // namespace
}  // namespace shunt::simulate
