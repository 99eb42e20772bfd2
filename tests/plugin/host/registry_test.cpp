// How strategies are found: files by name, folders in order, what each name means, and what the texts say if nothing fits.

#include <support/paths.hpp>

#include <plugin/registry.hpp>

#include "scratch.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace shunt::plugin {
namespace {

using namespace test;
using strategy::strategy_kind;
using strategy::strategy_origin;

plugin_options folders(std::vector<std::string> path) { return {.path = std::move(path), .load = {}, .max_images = 1000}; }

plugin_options named(const std::string& name, const std::string& file, std::vector<std::string> path = {})
{
    plugin_options o = folders(std::move(path));
    o.load[name] = {.file = file, .sha256 = {}, .where = {}};
    return o;
}

std::vector<std::string> names(const registry& r)
{
    std::vector<std::string> all;
    for (const known_strategy& s : r.known())
        all.push_back(std::string(to_string(s.kind)) + " " + s.name);
    return all;
}

void expect_words(const std::string& text, const std::vector<std::string>& words)
{
    for (const std::string& w : words)
        EXPECT_NE(text.find(w), std::string::npos) << "no '" << w << "' in: " << text;
}

using list = std::vector<std::string>;

TEST(Registry, KnowsByTheirNotesWhatLiesInAFolder)
{
    const scratch_folder folder;
    folder.put("b.so", gallery("good"));
    folder.put("a.so", gallery("fault"));
    folder.put("c.so", gallery("sdk/libthrows"));
    folder.put("readme.txt", "no plugin");
    folder.put(".hidden.so", gallery("version_1"));
    const registry r(folders({folder.path()}));

    EXPECT_EQ(names(r), (list{"selector good", "fault mild", "selector throws-in-create", "selector throws-in-select"}));
    EXPECT_EQ(r.known()[0].file, folder.path() + "/b.so");
    EXPECT_EQ(r.known()[0].origin, strategy_origin::file);
    EXPECT_TRUE(r.warnings().empty()) << r.warnings()[0];
}

TEST(Registry, LoadsAStrategyWithAllThatItDescribes)
{
    const scratch_folder folder;
    const std::string file = folder.put("p.so", gallery("parameters"));
    registry r(folders({folder.path()}));
    load_error error;

    const auto c = r.find(strategy_kind::selector, "parameters", error);

    ASSERT_NE(c, nullptr) << error.text;
    EXPECT_EQ(c->kind, strategy_kind::selector);
    EXPECT_EQ(c->name, "parameters");
    EXPECT_EQ(c->summary, "for tests");
    EXPECT_EQ(c->plugin_id, "shunt.tests.parameters");
    EXPECT_EQ(c->version, "1.2.3");
    EXPECT_EQ(c->license, "Apache-2.0");
    EXPECT_EQ(c->vendor, "shunt");
    EXPECT_EQ(c->build_info, "gallery");
    EXPECT_EQ(c->abi_major, 1);
    EXPECT_EQ(c->abi_minor, 0);
    EXPECT_EQ(c->file, file);
    EXPECT_EQ(c->origin, strategy_origin::file);
    EXPECT_NE(c->image, nullptr);
    ASSERT_EQ(c->parameters.size(), 4u);  // by stride: the declarations are longer than this header's
    EXPECT_EQ(c->parameters[0].name, "size");
    EXPECT_EQ(c->parameters[0].unit, "messages");
    EXPECT_EQ(c->parameters[0].max, 16);
    EXPECT_EQ(c->parameters[1].default_text, "\"10s\"");
    EXPECT_EQ(c->parameters[2].choices, (list{"left", "right"}));
    EXPECT_EQ(c->parameters[3].element_type, SHUNT_T_STR);
    EXPECT_EQ(c->parameters[3].min_count, 1u);
    EXPECT_TRUE(c->parameters[3].required);
    EXPECT_EQ(c->selector().struct_size, sizeof(shunt_selector_class));
}

TEST(Registry, LoadsAFaultStrategy)
{
    const scratch_folder folder;
    folder.put("p.so", gallery("fault"));
    registry r(folders({folder.path()}));
    load_error error;
    const auto c = r.find(strategy_kind::fault, "mild", error);
    ASSERT_NE(c, nullptr) << error.text;
    EXPECT_EQ(c->kind, strategy_kind::fault);
    std::uint64_t available[1] = {}, reachable[1] = {};
    std::int64_t until = 0;
    EXPECT_EQ(c->fault().evaluate(nullptr, nullptr, 0, 3, 0, available, reachable, &until), SHUNT_OK);
    EXPECT_EQ(available[0], 7u);
}

TEST(Registry, TakesTheFirstFolderThatOffersAName)
{
    const scratch_folder first, second;
    const std::string expected = first.put("z.so", gallery("version_1"));
    second.put("a.so", gallery("version_2"));
    second.put("b.so", gallery("good"));
    registry r(folders({first.path(), second.path()}));
    load_error error;

    const auto c = r.find(strategy_kind::selector, "version", error);

    ASSERT_NE(c, nullptr) << error.text;
    EXPECT_EQ(c->file, expected);
    EXPECT_EQ(names(r), (list{"selector good", "selector version"}));
}

TEST(Registry, RefusesANameThatTwoFilesOfOneFolderOfferWhenItIsAskedFor)
{
    const scratch_folder folder;
    const std::string a = folder.put("a.so", gallery("version_1")), b = folder.put("b.so", gallery("version_2"));
    folder.put("c.so", gallery("good"));
    registry r(folders({folder.path()}));
    load_error error;

    EXPECT_NE(r.find(strategy_kind::selector, "good", error), nullptr) << error.text;
    EXPECT_EQ(r.find(strategy_kind::selector, "version", error), nullptr);
    EXPECT_EQ(error.why, refusal::duplicate_name);
    expect_words(error.text, {"selector \"version\"", '"' + a + '"', '"' + b + '"', "take one out of the folder", "[plugins.load.version]"});
    EXPECT_EQ(names(r), (list{"selector good"}));
}

TEST(Registry, TakesSeveralNamesOfOneFileForOneFile)
{
    const scratch_folder folder;
    std::filesystem::create_symlink(folder.put("a.so", gallery("good")), folder.path() + "/b.so");
    registry r(folders({folder.path()}));
    load_error error;
    EXPECT_NE(r.find(strategy_kind::selector, "good", error), nullptr) << error.text;
}

TEST(Registry, TakesANamedFileBeforeAllFolders)
{
    const scratch_folder elsewhere, folder;
    const std::string file = elsewhere.put("mine.so", gallery("version_2"));
    folder.put("a.so", gallery("version_1"));
    registry r(named("version", file, {folder.path()}));
    load_error error;
    const auto c = r.find(strategy_kind::selector, "version", error);
    ASSERT_NE(c, nullptr) << error.text;
    EXPECT_EQ(c->file, file);
}

TEST(Registry, RefusesANamedFileThatDoesNotOfferTheName)
{
    const scratch_folder elsewhere, folder;
    const std::string file = elsewhere.put("mine.so", gallery("version_2"));
    folder.put("a.so", gallery("good"));
    registry r(named("good", file, {folder.path()}));  // not even if a folder has it: the file was named on purpose
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::selector, "good", error), nullptr);
    EXPECT_EQ(error.why, refusal::unknown_strategy);
    expect_words(error.text, {'"' + file + '"', "offers selector \"version\"", "[plugins.load.good] must offer good"});
}

// People named the table as they liked, and were told that there is no such strategy.
TEST(Registry, TellsUnderWhichNameAFileIsToBeNamed)
{
    const scratch_folder folder;
    const std::string file = folder.put("mine.so", gallery("version_2"));
    registry r(named("mine", file));
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::selector, "version", error), nullptr);
    EXPECT_EQ(error.why, refusal::wrong_name);
    EXPECT_EQ(error.text, "selector \"version\": \"" + file + "\" offers it, and is named under [plugins.load.mine]; the table's name must be "
                          "the strategy's: [plugins.load.version]");
    EXPECT_EQ(r.find(strategy_kind::fault, "version", error), nullptr);
    EXPECT_EQ(error.why, refusal::unknown_strategy) << error.text;
}

TEST(Registry, ChecksThePinOfANamedFile)
{
    const scratch_folder folder;
    plugin_options o = named("good", folder.put("p.so", gallery("good")));
    o.load["good"].sha256 = std::string(64, 'b');
    registry r(o);
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::selector, "good", error), nullptr);
    EXPECT_EQ(error.why, refusal::sha256_differs) << error.text;
}

TEST(Registry, TellsWhyANamedFileIsRefused)
{
    const scratch_folder folder;
    const std::string gone = folder.path() + "/gone.so";
    registry r(named("good", gone));
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::selector, "good", error), nullptr);
    EXPECT_EQ(error.why, refusal::not_found);
    expect_words(error.text, {gone});
    EXPECT_EQ(r.warnings().size(), 1u);
}

TEST(Registry, ListsWhatIsKnownWithASuggestionForAMisspeltName)
{
    const scratch_folder folder;
    folder.put("a.so", gallery("good"));
    folder.put("b.so", gallery("version_1"));
    registry r(folders({folder.path()}));
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::selector, "versoin", error), nullptr);
    EXPECT_EQ(error.why, refusal::unknown_strategy);
    EXPECT_EQ(error.text, "selector \"versoin\": no such strategy; known ones are good, version; did you mean 'version'?");
    EXPECT_EQ(r.find(strategy_kind::fault, "whatever", error), nullptr);
    EXPECT_EQ(error.text, "fault \"whatever\": no such strategy; there is none; looked in " + folder.path() +
                              " ([plugins] path takes the place of the bundled plugins' folder)");
}

TEST(Registry, TellsAWrongKindFromAnUnknownName)
{
    const scratch_folder folder;
    const std::string file = folder.put("a.so", gallery("good"));
    folder.put("b.so", gallery("fault"));
    registry r(folders({folder.path()}));
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::fault, "good", error), nullptr);
    EXPECT_EQ(error.why, refusal::wrong_kind);
    EXPECT_EQ(error.text, "fault \"good\": it is a selector, in \"" + file + "\"; known ones are mild");
    EXPECT_EQ(r.find(strategy_kind::selector, "mild", error), nullptr);
    EXPECT_EQ(error.why, refusal::wrong_kind);
    expect_words(error.text, {"selector \"mild\": it is a fault strategy", "known ones are good"});
}

TEST(Registry, WarnsOfBrokenFilesInAFolderAndUsesTheOthers)
{
    const scratch_folder folder;
    const std::string broken = folder.put("a.so", "half-written");
    folder.put("b.so", gallery("good"));
    registry r(folders({folder.path()}));
    load_error error;
    EXPECT_NE(r.find(strategy_kind::selector, "good", error), nullptr) << error.text;
    ASSERT_EQ(r.warnings().size(), 1u);
    expect_words(r.warnings()[0], {'"' + broken + '"', "it is text"});
    EXPECT_EQ(r.find(strategy_kind::selector, "sticky", error), nullptr);
    expect_words(error.text, {"passed over: plugin \"" + broken + '"'});
}

// Another file of the name, in a later folder, would be the wrong one without a word.
TEST(Registry, DoesNotPassOverABrokenFileThatOffersTheName)
{
    const scratch_folder first, second;
    const std::string broken = first.put("a.so", gallery("exec_stack"));
    second.put("a.so", gallery("good"));
    registry r(folders({first.path(), second.path()}));
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::selector, "good", error), nullptr);
    EXPECT_EQ(error.why, refusal::exec_stack);
    expect_words(error.text, {broken});
    EXPECT_TRUE(r.known().empty());
}

TEST(Registry, WarnsOfAFolderThatIsNotThere)
{
    const scratch_folder folder;
    const registry r(folders({folder.path() + "/nowhere"}));
    ASSERT_EQ(r.warnings().size(), 1u);
    expect_words(r.warnings()[0], {"plugin folder", "/nowhere\"", "No such file", "[plugins] path"});
}

TEST(Registry, UsesTheDefaultFolderOnlyWithoutAPath)
{
    const scratch_folder bundled, own;
    bundled.put("a.so", gallery("good"));
    own.put("b.so", gallery("version_1"));
    const registry without(folders({}), bundled.path());
    ASSERT_EQ(names(without), (list{"selector good"}));
    EXPECT_EQ(without.known()[0].origin, strategy_origin::bundled);
    EXPECT_EQ(names(registry(folders({own.path()}), bundled.path())), (list{"selector version"}));
    const registry both(folders({own.path(), bundled.path()}), bundled.path());
    ASSERT_EQ(names(both), (list{"selector good", "selector version"}));
    EXPECT_EQ(both.known()[0].origin, strategy_origin::bundled);
    EXPECT_EQ(both.known()[1].origin, strategy_origin::file);
}

TEST(Registry, SaysSoWhenAFileWasReplacedByAnotherPlugin)
{
    const scratch_folder folder;
    const std::string file = folder.put("a.so", gallery("good"));
    registry r(folders({folder.path()}));
    folder.put("a.so", gallery("version_1"));
    load_error error;
    EXPECT_EQ(r.find(strategy_kind::selector, "good", error), nullptr);
    expect_words(error.text, {file, "no longer offers selector \"good\""});
}

TEST(BundledFolder, LiesBesideTheProgramsFolder)
{
    const std::filesystem::path expected = shunt::test::in_build("/lib/shunt/plugins");
    std::filesystem::create_directories(expected);
    EXPECT_EQ(bundled_folder(), std::filesystem::canonical(expected));
}

}  // namespace
}  // namespace shunt::plugin
