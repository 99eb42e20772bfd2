// Every strategy in the folder of bundled plugins against the traps of the test kit and its fuzzing entry.

#include <plugin/bundled/bundled.hpp>

#include <filesystem>
#include <map>
#include <set>

namespace shunt::test {
namespace {

/// What a strategy needs to be made, and what fits it.
const std::map<std::string, traps::options> needs{
    {"machine-room", {.settings = {{"rooms", {"hz-1"}}, {"spill", {"sh-1"}}}, .route = "a*4 @hz-1, b*4 @hz-1, c*4 @hz-1"}},
};

traps::options options_of(const std::string& name) { return needs.contains(name) ? needs.at(name) : traps::options{}; }

std::vector<plugin> all()
{
    std::vector<plugin> plugins;
    for (const auto& file : std::filesystem::directory_iterator{SHUNT_TEST_PLUGINS})
        if (file.path().extension() == ".so")
            plugins.emplace_back(file.path().string());
    return plugins;
}

template <class Use>
int each_selector(Use&& use)
{
    int n = 0;
    for (const plugin& p : all())
        for (std::uint32_t i = 0; i < p.description().n_selectors; ++i, ++n)
            use(std::string{text(p.description().selectors[i]->name)}, p);
    return n;
}

template <class Use>
int each_fault(Use&& use)
{
    int n = 0;
    for (const plugin& p : all())
        for (std::uint32_t i = 0; i < p.description().n_faults; ++i, ++n)
            use(std::string{text(p.description().faults[i]->name)}, p);
    return n;
}

TEST(Bundled, SelectorsStepIntoNoTrap)
{
    const int n = each_selector([](const std::string& name, const plugin& p) {
        const finding f = traps::selector(p.named(name), options_of(name));
        EXPECT_TRUE(f) << name << ":\n" << f.why();
    });
    EXPECT_GE(n, 10);
}

TEST(Bundled, FaultStrategiesStepIntoNoTrap)
{
    const int n = each_fault([](const std::string& name, const plugin& p) {
        const finding f = traps::fault(p.named(name), options_of(name));
        EXPECT_TRUE(f) << name << ":\n" << f.why();
    });
    EXPECT_GE(n, 3);
}

TEST(Bundled, StrategiesDoNothingWrongWithMadeUpInputs)
{
    each_selector([](const std::string& name, const plugin& p) {
        const finding f = fuzz::at_random(fuzz::selector, p.named(name), options_of(name), 300);
        EXPECT_TRUE(f) << name << ": " << f.why();
    });
    each_fault([](const std::string& name, const plugin& p) {
        const finding f = fuzz::at_random(fuzz::fault, p.named(name), options_of(name), 300);
        EXPECT_TRUE(f) << name << ": " << f.why();
    });
}

}  // namespace
}  // namespace shunt::test
