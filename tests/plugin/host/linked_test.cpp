// Plugins that are part of the program: found by name like files, and no file is touched.

#include <plugin/linked_plugins.hpp>
#include <plugin/registry.hpp>

#include "scratch.hpp"

#include <array>
#include <string>

namespace {

shunt_str str(std::string_view s) { return {s.data(), s.size()}; }

const shunt_selector_class& linked_selector()
{
    static const shunt_selector_class c = [] {
        shunt_selector_class made{};
        made.struct_size = sizeof made;
        made.name = str("linked");
        made.summary = str("part of the program");
        made.create = [](const shunt_host*, const shunt_config*, const shunt_instance*, shunt_selector**) -> shunt_status { return SHUNT_OK; };
        made.destroy = [](shunt_selector*) {};
        made.select = [](shunt_selector*, const shunt_view*, const shunt_msg*, shunt_pick*) -> shunt_status { return SHUNT_ABSTAIN; };
        return made;
    }();
    return c;
}

const shunt_plugin* good_entry(const shunt_handshake*)
{
    static const shunt_selector_class* const selectors[] = {&linked_selector()};
    static const shunt_plugin p = {SHUNT_MAGIC, sizeof(shunt_plugin), 1, 0, str("shunt.tests.linked"), str("1.0.0"), {}, {}, {},
                                   1, 0, selectors, nullptr};
    return &p;
}

const shunt_plugin* refusing_entry(const shunt_handshake*) { return nullptr; }

}  // namespace

namespace shunt::plugin {

// In place of the list that the build makes, which is weak.
std::span<const linked_plugin> linked_plugins() noexcept
{
    static constexpr std::array<linked_plugin, 2> all{{{"good", &good_entry}, {"refusing", &refusing_entry}}};
    return all;
}

namespace {

TEST(LinkedPlugins, AreFoundByNameWithoutAFile)
{
    registry r({});
    load_error error;
    const auto c = r.find(strategy::strategy_kind::selector, "linked", error);
    ASSERT_NE(c, nullptr) << error.text;
    EXPECT_EQ(c->origin, strategy::strategy_origin::linked);
    EXPECT_TRUE(c->file.empty());
    EXPECT_TRUE(c->sha256.empty());
    EXPECT_EQ(c->plugin_id, "shunt.tests.linked");
    ASSERT_EQ(r.known().size(), 1u);
    EXPECT_TRUE(r.known()[0].file.empty());
    EXPECT_EQ(r.known()[0].origin, strategy::strategy_origin::linked);
}

TEST(LinkedPlugins, AreCheckedLikeFiles)
{
    const registry r({});
    ASSERT_EQ(r.warnings().size(), 1u);
    EXPECT_NE(r.warnings()[0].find("plugin \"refusing (linked)\": its entry refuses this host"), std::string::npos) << r.warnings()[0];
}

TEST(LinkedPlugins, GiveWayToAFileThatIsNamed)
{
    registry r({.path = {}, .load = {{"linked", {.file = "/nowhere.so", .sha256 = {}, .where = {}}}}, .max_images = 1});
    load_error error;
    EXPECT_EQ(r.find(strategy::strategy_kind::selector, "linked", error), nullptr);
    EXPECT_EQ(error.why, refusal::not_found) << error.text;
}

}  // namespace
}  // namespace shunt::plugin
