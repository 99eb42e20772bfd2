// Assertions: each holds where it should, and says why where it does not.

#include <plugin/kit/kit.hpp>

namespace shunt::test {
namespace {

using planted::flaw, planted::isolating;

TEST(Finding, HoldsOrSaysWhy)
{
    finding f;
    EXPECT_TRUE(f);
    f.also(finding{"one"}, "first").also(finding{}, "second").also(finding{"three"});
    EXPECT_FALSE(f);
    EXPECT_EQ(f.why(), "first: one\nthree");
}

TEST(Spread, TellsWhoGotTooMuchOrTooLittle)
{
    const route r{"a*2, b*1"};
    EXPECT_TRUE(spread({{"a/0", 5}, {"a/1", 5}, {"b/0", 5}}, r));
    EXPECT_EQ(spread({{"a/0", 6}, {"a/1", 4}, {"b/0", 5}}, r).why(), "a/0 got 6 of 15; it must get 5\na/1 got 4 of 15; it must get 5");
    EXPECT_TRUE(spread({{"a/0", 6}, {"a/1", 4}, {"b/0", 5}}, r, give_or_take(1)));
    EXPECT_TRUE(spread({{"a/0", 6}, {"a/1", 4}, {"b/0", 5}}, r, within(0.2)));
    EXPECT_EQ(spread({{"a/0", 8}, {"b/0", 4}}, r, within(0.1)).why(),
              "a/0 got 8 of 12; it must get 4, give or take 0.4\na/1 got 0 of 12; it must get 4, give or take 0.4");
    EXPECT_EQ(spread({{"c/0", 2}, {"b/0", 2}}, {{"b/0", 1}}).why(), "c/0 got 2 of 4; it must get none\nb/0 got 2 of 4; it must get 4");
    EXPECT_TRUE(spread({{"a", 200}, {"b", 100}}, {{"a", 2}, {"b", 1}}));
    EXPECT_TRUE(spread({{"a", 5200}, {"b", 4800}}, {{"a", 1}, {"b", 1}}, by_chance));
    EXPECT_FALSE(spread({{"a", 5300}, {"b", 4700}}, {{"a", 1}, {"b", 1}}, by_chance));
}

TEST(NeverPicks, NamesTheFirstPickThatIsWrong)
{
    selector s{of<planted::sound>()};
    route r{"a*2, b*2"};
    EXPECT_EQ(never_picks(s, r, "b", 10).why(), "pick 3 of 10 is b/0; b must not be picked");
    r.isolate("b");
    EXPECT_TRUE(never_picks(s, r, "b"));
}

TEST(StaysPut, NamesTheFirstPickThatMoved)
{
    const route r{"a*2, b*2"};
    selector rotates{of<planted::sound>()}, by_key{of<planted::sound_by_key>()};
    EXPECT_TRUE(stays_put(by_key, r, {.key = "k"}));
    EXPECT_EQ(stays_put(rotates, r, {.key = "k"}).why(), "pick 2 is a/1; it must stay at a/0");
}

TEST(MovesAtMost, CountsTheKeysThatMoved)
{
    const mapping before{{"k1", "a/0"}, {"k2", "b/0"}, {"k3", "b/1"}, {"k4", "c/0"}};
    mapping after = before;
    after["k2"] = "a/0";
    EXPECT_TRUE(moves_at_most(before, after, 0.25, "b"));
    EXPECT_EQ(moves_at_most(before, after, 0.2).why(), "25.0 % of the keys moved; at most 20.0 % may");
    EXPECT_EQ(moves_at_most(before, after, 1, "c").why(), "\"k2\" moved from b/0 to a/0; only keys on c may move");
    selector s{of<planted::sound_by_key>()};
    EXPECT_FALSE(moves_at_most(s, "a*4, b*4, c*4", "a*4, b*4", 0.4)) << "a plain remainder moves nearly all";
    EXPECT_TRUE(moves_at_most(s, "a*4, b*4, c*4", "a*4, b*4, c*4", 0));
}

// Back only when a probe says so.
class by_probe {
public:
    static constexpr std::string_view name = "by-probe", summary = "for tests";
    by_probe(sdk::host h, const sdk::settings&, sdk::instance) : host_(h) {}
    void evaluate(sdk::broker_list b, sdk::nanoseconds, sdk::verdicts out)
    {
        for (std::uint32_t i = 0; i < b.size(); ++i)
            if (bad_ != b[i].id())
                out.available(i);
    }
    bool on_feedback(const sdk::feedback& f)
    {
        bad_ = f.good() ? 0 : f.broker_id();
        if (!f.good())
            host_.request_probe(f.broker_id(), f.at() + std::chrono::seconds{3});
        return true;
    }

private:
    sdk::host host_;
    std::uint32_t bad_ = 0;
};

TEST(RecoversWithin, LetsTimePassAndAnswersProbes)
{
    fault sound{of<isolating<flaw::none>>()}, never{of<isolating<flaw::never_ends>>()};
    for (fault* f : {&sound, &never})
        f->refused("b", 1s);
    EXPECT_TRUE(recovers_within(sound, "b", 1s, 10s));
    EXPECT_EQ(recovers_within(sound, "b", 1s, 9s).why(), "b is not available 9s after it was well again");
    EXPECT_TRUE(has(recovers_within(never, "b", 1s, 10s).why(), "b is cut off, and neither time"));

    fault probing{of<by_probe>()};
    probing.refused("b", 1s);
    EXPECT_FALSE(recovers_within(probing, "b", 1s, 2s));
    EXPECT_TRUE(recovers_within(probing, "b", 1s, 3s));
}

TEST(Table, RunsEachRowOnAFreshInstance)
{
    EXPECT_EQ(table(of<planted::sound>(), {{.route = "a*2, b*1", .picks = "a/0 a/1 b/0"},
                                          {.route = "a*1, b*1", .message = {.tried = {"a"}}, .picks = "b/0"},
                                          {.route = "a*2", .picks = "a/1", .start = 1}})
                  .why(),
              "");
    EXPECT_EQ(table(of<planted::sound>(), {{.route = "a*2", .picks = "a/0"}, {.route = "a*2", .picks = "a/1 a/1", .because = "odd ones"}}).why(),
              "row 2 (odd ones): picked \"a/0 a/1\"; it must be \"a/1 a/1\"");
    EXPECT_EQ(table(of<planted::sound>(), {{.route = "a*2", .picks = "a/0", .given = {{"x", 1}}}}).why(),
              "row 1: not made: x is an unknown setting; it must be left out, there are none");
}

TEST(Story, TellsTheLineThatDoesNotHold)
{
    const plugin p = of<isolating<flaw::none>>();
    EXPECT_EQ(story(p, {}, R"(
        # b goes away and comes back
        1s    b good 5ms
        1s    b is available
        2s    b refuse
        2s    b is cut-off
        2s    a is available
        12s   b is available
        13s   b expired 1s
        13s   b is cut-off
        14s   b left
        14s   b is available
    )").why(),
              "");
    EXPECT_EQ(story(p, {}, "1s b failed\n11s b is cut-off\n").why(), "line 2, at 11s: b is available; it must be cut off");
    EXPECT_TRUE(has(thrown_by([&] { (void)story(p, {}, "1s b explodes"); }), "story, line 1: \"1s b explodes\"; it must be one of good"));
    EXPECT_TRUE(has(thrown_by([&] { (void)story(p, {}, "soon b failed"); }), "TIME BROKER WORDS"));
}

}  // namespace
}  // namespace shunt::test
