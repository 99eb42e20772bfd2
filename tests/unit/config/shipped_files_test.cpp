// The files of config/, which users copy: each is right, and shunt.toml tells every option and its true default.

#include "situation.hpp"

#include <config/schema.hpp>
#include <plugin/registry.hpp>

#include <boost/json.hpp>

#include <support/paths.hpp>

#include <map>
#include <set>
#include <sstream>

namespace shunt::config {
namespace {

const std::filesystem::path folder = shunt::test::in_source("/config");

std::string text_of(const std::filesystem::path& file)
{
    std::ifstream in(file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    EXPECT_TRUE(in.good()) << file;
    return out.str();
}

std::vector<std::string> shipped()
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".toml")
            names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

class ShippedFile : public testing::TestWithParam<std::string> {};

TEST_P(ShippedFile, HasNoProblem)
{
    std::vector<problem> problems;
    const loaded l = load_file((folder / GetParam()).string(), problems);
    EXPECT_EQ(problems, std::vector<problem>());
    EXPECT_EQ(check_options(l.options), std::vector<problem>());
}

TEST_P(ShippedFile, NamesBundledStrategiesAndSettingsTheyTake)
{
    std::vector<problem> problems;
    const loaded l = load_file((folder / GetParam()).string(), problems);
    plugin::registry registry(l.options.plugins, shunt::test::in_build("/lib/shunt/plugins"));
    std::set<std::string> there;
    for (const plugin::known_strategy& s : registry.known())
        there.insert(s.name);
    for (const auto& [name, policy] : l.options.policies) {
        std::vector<std::string> names{policy.selector.use, policy.fault.use};
        for (const strategy_options& filter : policy.filters)
            names.push_back(filter.use);
        for (const std::string& use : names)
            if (there.count(use) == 0)
                GTEST_SKIP() << "built without " << use;
    }
    check_strategies(l.options, registry, problems);
    EXPECT_EQ(problems, std::vector<problem>());
}

TEST_P(ShippedFile, HasARowInTheReadme)
{
    EXPECT_NE(text_of(folder / "README.md").find("`" + GetParam() + "`"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Config, ShippedFile, testing::ValuesIn(shipped()), [](const auto& file) {
    std::string name = file.param.substr(0, file.param.size() - 5);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

std::map<std::string, std::string> values_of(const loaded& l, bool defaults_too)
{
    std::map<std::string, std::string> out;
    for (const origin& o : l.origins)
        if (defaults_too || o.from != "default")
            out[o.key] = o.value;
    return out;
}

// shunt.toml with every option that is left out taken in: the # of lines that begin with # and no blank.
std::string with_all_options()
{
    std::istringstream in(text_of(folder / "shunt.toml"));
    std::string out;
    for (std::string line; std::getline(in, line);) {
        if (line.size() > 1 && line[0] == '#' && line[1] != ' ')
            line.erase(0, 1);
        if (line.rfind("embedded = ", 0) == 0)
            line = "embedded = false";  // name_servers are there now
        out += line + "\n";
    }
    return out;
}

TEST(ShuntToml, WorksAsItStandsWithAClusterInside)
{
    std::vector<problem> problems;
    const producer_options o = load_file((folder / "shunt.toml").string(), problems).options;
    EXPECT_TRUE(o.embedded);
    EXPECT_EQ(o.policies.find("default")->second.selector.use, "best-queue");
    EXPECT_EQ(o.policies.find("default")->second.fault.use, "latency-fault");
}

TEST(ShuntToml, HasTheOneLineThatTheQuickstartChanges)
{
    const std::string text = text_of(folder / "shunt.toml");
    const std::string line = "\nselector = { use = \"best-queue\" }\n";
    ASSERT_NE(text.find(line), std::string::npos);
    EXPECT_EQ(text.find("best-queue", text.find("best-queue") + 1), std::string::npos);
}

TEST(ShuntToml, ShowsTrueDefaults)
{
    const auto defaults = values_of(good("[producer]\nembedded = true\n"), true);
    for (const auto& [key, value] : values_of(good(text_of(folder / "shunt.toml")), false)) {
        if (key == "policies.default.fault.profile")
            continue;  // the strategy's own
        ASSERT_EQ(defaults.count(key), 1u) << key;
        EXPECT_EQ(defaults.at(key), value) << key;
    }
}

TEST(ShuntToml, ShowsEveryOption)
{
    const loaded all = good(with_all_options());
    const auto shown_there = values_of(all, false);
    for (const origin& o : all.origins)
        if (o.key.rfind("policies.by-order", 0) != 0) {
            EXPECT_EQ(shown_there.count(o.key), 1u) << o.key << " is not in config/shunt.toml";
        }
    EXPECT_EQ(all.options.plugins.load.count("tenant-pin"), 1u);
    EXPECT_EQ(all.options.bindings.size(), 1u);
    EXPECT_EQ(all.options.limits.size(), 1u);
    EXPECT_EQ(all.options.brokers.size(), 1u);
    EXPECT_EQ(all.options.policies.find("default")->second.filters.size(), 1u);
}

// ---- the schema ----

// Every key of an object of the schema, as paths: "producer.attempts", "bindings[].topic", "policies.*.selector".
void collect(const boost::json::object& root, const boost::json::value& node, const std::string& path, std::set<std::string>& out)
{
    const boost::json::object* schema = node.if_object();
    if (schema == nullptr)
        return;
    if (const auto* ref = schema->if_contains("$ref"))
        return collect(root, root.at("$defs").at(ref->as_string().subview(8)), path, out);
    const std::string dot = path.empty() ? "" : path + ".";
    if (const auto* properties = schema->if_contains("properties"))
        for (const auto& member : properties->as_object()) {
            out.insert(dot + std::string(member.key()));
            collect(root, member.value(), dot + std::string(member.key()), out);
        }
    if (const auto* others = schema->if_contains("additionalProperties"); others != nullptr && others->is_object())
        collect(root, *others, dot + "*", out);
    if (const auto* items = schema->if_contains("items"))
        collect(root, *items, path + "[]", out);
}

std::string as_schema_path(std::string key)
{
    for (const char* table : {"policies.default", "policies.by-order"})
        if (key.rfind(table, 0) == 0)
            key = "policies.*" + key.substr(std::string(table).size());
    if (key.rfind("plugins.load.tenant-pin", 0) == 0)
        key = "plugins.load.*" + key.substr(23);
    for (std::size_t at; (at = key.find("[0]")) != std::string::npos;)
        key.replace(at, 3, "[]");
    return key;
}

TEST(Schema, IsMadeOfTheReadersRules)
{
    EXPECT_EQ(text_of(folder / "schema.json"), shunt::config::json_schema()) << "write it anew: shunt config schema >config/schema.json";
}

TEST(Schema, KnowsExactlyTheKeysOfTheReader)
{
    const boost::json::value schema = boost::json::parse(text_of(folder / "schema.json"));
    std::set<std::string> in_schema;
    collect(schema.as_object(), schema, "", in_schema);
    std::set<std::string> in_reader;
    for (const auto& [key, value] : values_of(good(with_all_options()), true)) {
        const std::string path = as_schema_path(key);
        const std::size_t last = path.rfind('.');
        const bool setting_of_a_strategy = path.rfind("policies.", 0) == 0 && path.substr(last) != ".use" &&
                                           (path.find(".selector.") != path.npos || path.find(".fault.") != path.npos ||
                                            path.find(".filters[]") != path.npos);
        if (!setting_of_a_strategy)
            in_reader.insert(path);
    }
    for (const std::string& key : in_reader)
        EXPECT_EQ(in_schema.count(key), 1u) << key << " is not in config/schema.json";
    for (const std::string& key : in_schema) {
        const bool table = std::any_of(in_reader.begin(), in_reader.end(), [&](const std::string& k) {
            return k.rfind(key + ".", 0) == 0 || k.rfind(key + "[", 0) == 0;
        });
        EXPECT_TRUE(table || in_reader.count(key) == 1) << key << " is in config/schema.json only";
    }
}

TEST(Schema, HasTheReadersDefaultsAndRanges)
{
    const boost::json::value schema = boost::json::parse(text_of(folder / "schema.json"));
    const boost::json::object& keys = schema.at("properties").at("producer").at("properties").as_object();
    const auto defaults = values_of(good("[producer]\nname_servers = [\"h:1\"]\n"), true);
    for (const auto& member : keys) {
        const std::string key(member.key());
        if (key == "name_servers")
            continue;
        const boost::json::object& rule = member.value().as_object();
        EXPECT_EQ(rule.at("default"), boost::json::parse(defaults.at("producer." + key))) << key;
        for (const auto& [bound, step] : {std::pair{"minimum", -1}, std::pair{"maximum", 1}}) {
            if (rule.if_contains(bound) == nullptr)
                continue;
            const std::int64_t limit = rule.at(bound).as_int64();
            EXPECT_EQ(problems_of(producer(key + " = " + std::to_string(limit))).size(), 0u) << key;
            EXPECT_EQ(problems_of(producer(key + " = " + std::to_string(limit + step))).size(), 1u) << key;
        }
    }
}

}  // namespace
}  // namespace shunt::config
