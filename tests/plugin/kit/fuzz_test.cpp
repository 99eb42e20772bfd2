// The fuzzing entry: any bytes are an input; a sound strategy does nothing wrong with any, one with a flaw is found out.

#include <plugin/kit/kit.hpp>

namespace shunt::test {
namespace {

using planted::flaw, planted::isolating;

TEST(Fuzz, FindsNothingInSoundStrategies)
{
    for (const plugin& p : {of<planted::sound>(), of<planted::sound_by_key>()})
        EXPECT_EQ(fuzz::at_random(fuzz::selector, p, {}, 400).why(), "");
    EXPECT_EQ(fuzz::at_random(fuzz::fault, of<isolating<flaw::none>>(), {}, 400).why(), "");
}

TEST(Fuzz, FindsFlawsOfSelectors)
{
    const struct {
        plugin (*make)();
        std::string_view words;
        fuzz::options o = {};
    } rows[] = {
        {of<planted::retries_where_it_failed>, "again, though"},
        {of<planted::remembers_the_last_only>, "again, though"},
        {of<planted::writes_into_the_view>, "changed the view"},
        {of<planted::ignores_candidates>, "not among the candidates", {.except = {"retries-elsewhere"}}},
        {of<planted::keeps_an_index>, "picked", {.except = {"retries-elsewhere"}}},
        {of<planted::overflows>, "picked", {.except = {"retries-elsewhere"}}},
    };
    for (const auto& row : rows) {
        const finding f = fuzz::at_random(fuzz::selector, row.make(), row.o, 2000);
        EXPECT_TRUE(has(f.why(), row.words)) << f.why();
        EXPECT_TRUE(has(f.why(), "of seed 1: step ")) << f.why();
    }
}

TEST(Fuzz, FindsFlawsOfFaultStrategies)
{
    const struct {
        plugin (*make)();
        std::string_view words;
    } rows[] = {
        {of<isolating<flaw::never_ends>>, "can bring it back"},
        {of<isolating<flaw::says_nothing>>, "answered 0"},
        {of<isolating<flaw::fears_odd_times>>, "time must not run backward"},
    };
    for (const auto& row : rows) {
        const finding f = fuzz::at_random(fuzz::fault, row.make(), {}, 2000);
        EXPECT_TRUE(has(f.why(), row.words)) << f.why();
    }
}

TEST(Fuzz, TakesAnyInput)
{
    const plugin s = of<planted::sound>(), f = of<isolating<flaw::none>>();
    EXPECT_TRUE(fuzz::selector(s, {}, nullptr, 0));
    EXPECT_TRUE(fuzz::fault(f, {}, nullptr, 0));
    for (int b = 0; b < 256; ++b) {
        const std::vector<std::uint8_t> same(600, static_cast<std::uint8_t>(b));
        EXPECT_EQ(fuzz::selector(s, {}, same.data(), same.size()).why(), "") << b;
        EXPECT_EQ(fuzz::fault(f, {}, same.data(), same.size()).why(), "") << b;
    }
}

}  // namespace
}  // namespace shunt::test
