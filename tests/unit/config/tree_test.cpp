// TOML text as a tree of settings with places, and the readers that scenario files share.

#include "situation.hpp"

#include <config/tables.hpp>
#include <config/toml_text.hpp>

namespace shunt::config {
namespace {

std::string place(const source_position& p)
{
    return p.file + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

setting parsed(std::string_view text)
{
    std::vector<problem> problems;
    setting out = parse_toml(text, "s.toml", problems);
    EXPECT_EQ(problems, std::vector<problem>());
    return out;
}

const setting& child(const setting& table, std::string_view key)
{
    static const setting none;
    const auto* entries = table.as<setting_table>();
    if (entries == nullptr || entries->find(key) == entries->end()) {
        ADD_FAILURE() << "no key " << key;
        return none;
    }
    return entries->find(key)->second;
}

TEST(Tree, KeepsEveryTypeApart)
{
    const setting tree = parsed("b = true\ni = 3\nf = 3.0\ns = \"3\"\nd = 1979-05-27\nt = 07:32:00\na = [1, \"x\"]\nh = { k = -1 }\n");
    EXPECT_TRUE(*child(tree, "b").as<bool>());
    EXPECT_EQ(*child(tree, "i").as<std::int64_t>(), 3);
    EXPECT_EQ(*child(tree, "f").as<double>(), 3.0);
    EXPECT_EQ(*child(tree, "s").as<std::string>(), "3");
    EXPECT_EQ(child(tree, "d").as<setting_date>()->text, "1979-05-27");
    EXPECT_EQ(child(tree, "t").as<setting_date>()->text, "07:32:00");
    EXPECT_EQ(child(tree, "a"), setting(setting_array{1, "x"}));
    EXPECT_EQ(child(tree, "h"), setting(setting_table{{"k", -1}}));
    EXPECT_EQ(child(tree, "i").as<double>(), nullptr);
}

// Undefined behaviour in the parser: only a sanitizer sees it where it does no harm.
TEST(Tree, TakesAnyLetterAfterALineThatGoesOn)
{
    for (const char* letter : {"\u00e9", "\u0192", "\u0358", "\u1681", "\u2070", "\ufefe"})
        EXPECT_EQ(*child(parsed(std::string("s = \"\"\"a\\\n  ") + letter + "\"\"\"\n"), "s").as<std::string>(), std::string("a") + letter);
}

TEST(Tree, KnowsThePlaceOfEachValueAndKey)
{
    const setting tree = parsed("[a]\n  \"é\".x = { k = [10,\n 11] }\n\n[[t]]\nn = 1\n[[t]]\n");
    const setting& x = child(child(child(tree, "a"), "é"), "x");
    EXPECT_EQ(place(child(tree, "a").where), "s.toml:1:1");
    EXPECT_EQ(place(child(tree, "a").key_where), "s.toml:1:2");
    EXPECT_EQ(place(x.key_where), "s.toml:2:7");
    EXPECT_EQ(place(x.where), "s.toml:2:11");
    const setting& k = child(x, "k");
    EXPECT_EQ(place(k.key_where), "s.toml:2:13");
    EXPECT_EQ(place(k.where), "s.toml:2:17");
    EXPECT_EQ(place(k.as<setting_array>()->at(1).where), "s.toml:3:2");
    EXPECT_EQ(place(k.as<setting_array>()->at(1).key_where), "s.toml:3:2");
    const setting_array& t = *child(tree, "t").as<setting_array>();
    ASSERT_EQ(t.size(), 2u);
    EXPECT_EQ(place(t[0].where), "s.toml:5:1");
    EXPECT_EQ(place(t[1].where), "s.toml:7:1");
}

TEST(Tree, IsEmptyAfterASyntaxError)
{
    std::vector<problem> problems;
    EXPECT_EQ(parse_toml("a = 1\nb = \n", "s.toml", problems), setting());
    EXPECT_EQ(problems.size(), 1u);
}

TEST(Tree, OfAnEmptyTextIsEmptyWithoutAProblem)
{
    EXPECT_EQ(parsed(""), setting());
}

TEST(Tree, IsWrittenBackAsToml)
{
    const std::string text = "{ a = [1, -2, true, 3.0, 1e+300, inf], \"b c\" = \"x\\\"y\\\\z\\n\\t\\u0001é\", d = 1979-05-27, e = {}, f = [] }";
    const setting tree = child(parsed("x = " + text + "\n"), "x");
    EXPECT_EQ(to_toml(tree), text);
    EXPECT_EQ(child(parsed("x = " + to_toml(tree) + "\n"), "x"), tree);
}

TEST(PolicyTable, OfAScenarioMustNameBothStrategiesAndHasItsOwnDefault)
{
    const policy_rules rules{.both_required = true, .key_from_allowed = false, .when_no_queue = when_no_queue::fail};
    std::vector<problem> problems;
    const setting tree = parsed("policy = { selector = { use = \"random\" }, key_from = \"keys\" }\n");
    const policy_options p = policy_from(child(tree, "policy"), "scenario.policy", rules, problems);
    EXPECT_EQ(p.selector.use, "random");
    EXPECT_EQ(p.when_no_queue, when_no_queue::fail);
    sort_by_place(problems);
    EXPECT_EQ(problems, (std::vector<problem>{
        {"s.toml", 1, 10, "scenario.policy.fault", "not set", "a table that names a strategy: { use = \"NAME\" }", ""},
        {"s.toml", 1, 43, "scenario.policy.key_from", "an unknown key", "a key of [scenario.policy]", "known: selector, fault, filters, ordered, when_no_queue"}}));
}

TEST(PluginTable, OfAScenarioIsReadAlike)
{
    std::vector<problem> problems;
    const plugin_options p = plugins_from(child(parsed("[plugins]\npath = [\"p\"]\n"), "plugins"), "/s", problems);
    EXPECT_EQ(problems, std::vector<problem>());
    EXPECT_EQ(p.path, std::vector<std::string>{"/s/p"});
}

// The reader a scenario's own tables are read with.
TEST(TableReader, ReadsWhatIsAskedForAndRefusesTheRest)
{
    const setting tree = parsed("seed = 7\ntimeout = \"2s\"\nthread = 1\nextra = 1\n");
    std::vector<problem> problems;
    table_reader reader(tree, "", problems);
    std::int64_t seed = 1, attempts = 3;
    std::chrono::milliseconds timeout{3000};
    EXPECT_EQ(reader.read("seed", whole_number{0, 9}, seed), presence::right);
    EXPECT_EQ(reader.read("attempts", whole_number{1, 16}, attempts), presence::absent);
    EXPECT_EQ(reader.read("timeout", duration{std::chrono::milliseconds(1), std::chrono::hours(1)}, timeout), presence::right);
    EXPECT_EQ(reader.read("thread", whole_number{2, 3}, seed), presence::wrong);
    EXPECT_EQ(reader.require("send", "a number"), nullptr);
    (void)reader.finish();
    EXPECT_EQ(seed, 7);
    EXPECT_EQ(attempts, 3);
    EXPECT_EQ(timeout.count(), 2000);
    ASSERT_EQ(problems.size(), 3u);
    EXPECT_EQ(to_string(problems[0]), "s.toml:3:10: thread is 1; it must be a whole number from 2 to 3");
    EXPECT_EQ(to_string(problems[1]), "s.toml:1:1: send is not set; it must be a number");
    EXPECT_EQ(problems[2].key, "extra");
}

}  // namespace
}  // namespace shunt::config
