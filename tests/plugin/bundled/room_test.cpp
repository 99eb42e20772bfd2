// machine-room: levels of rooms, as a selector and as a filter.

#include <plugin/bundled/bundled.hpp>

namespace shunt::test {
namespace {

constexpr auto five = "a*2 @hz-1 b*1 @hz-2 c*2 @sh-1 d*2 e*1 @bj";
const settings wanted{{"rooms", {"hz-1", "hz-2"}}, {"spill", {"sh-1"}}};

TEST(MachineRoom, RotatesOverTheWantedRooms)
{
    const plugin p = bundled("machine-room");
    const route t{five};
    selector s{p, wanted};
    EXPECT_EQ(s.picks(t, 6), "a/0 a/1 b/0 a/0 a/1 b/0");
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_ROOM);
}

TEST(MachineRoom, SpillsInTheStatedOrderThenToAnybody)
{
    const plugin p = bundled("machine-room");
    route t{five};
    t.isolate({"a", "b"});
    selector s{p, wanted};
    EXPECT_EQ(s.picks(t, 4), "c/0 c/1 c/0 c/1");
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_SPILL);
    t.isolate({"c"});
    selector rest{p, wanted};
    EXPECT_EQ(rest.picks(t, 5), "d/0 d/1 e/0 d/0 d/1");
    t.all_well();
    EXPECT_EQ(broker_of(rest.pick(t)), "a") << "back home as soon as it is well";
}

TEST(MachineRoom, PutsHealthBeforeRoom)
{
    const plugin p = bundled("machine-room");
    route t{five};
    t.isolate({"a", "b", "c", "d", "e"});
    t.cut_off({"a", "b"});
    selector s{p, wanted};
    EXPECT_EQ(s.pick(t), "c/0") << "reachable elsewhere before unreachable here";
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_REACHABLE_ONLY);
    t.cut_off({"c", "d", "e"});
    EXPECT_EQ(broker_of(s.pick(t)), "a") << "all alike: then the wanted room";
    EXPECT_EQ(broker_of(s.pick(t, {.tried = {"a", "b"}})), "c");
    EXPECT_EQ(broker_of(s.pick(t, {.tried = {"a", "b", "c", "d", "e"}})), "a");
}

TEST(MachineRoom, IsNeverWithoutAQueueWhileOneIsWritable)
{
    const plugin p = bundled("machine-room");
    selector s{p, {{"rooms", {"sh"}}}};
    EXPECT_EQ(s.picks(route{"a*2 @hz b*2 @hz", 1}, 5), "a/0 a/1 b/0 b/1 a/0");
    EXPECT_EQ(s.picks(route{"a*2 @sh b*2 @hz", 2}, 3), "a/1 a/0 a/1");
    EXPECT_EQ(s.pick(route{"a*1 b*1", 3}), "a/0") << "nobody has a room";
    EXPECT_EQ(broker_of(s.pick(route{"a*0 @sh b*2 @hz", 4})), "b") << "read-only is as good as absent";
    EXPECT_EQ(broker_of(s.pick(route{"a*1 @SH b*1 @sh", 5})), "b") << "byte by byte";
    selector one{p, {{"rooms", {"sh"}}}};
    EXPECT_EQ(one.count(route{"a*1 @sh b*11 @hz", 6}, 100), (std::map<std::string, int>{{"a/0", 100}}));
}

TEST(MachineRoom, LearnsANewRoute)
{
    const plugin p = bundled("machine-room");
    selector s{p, wanted};
    EXPECT_EQ(broker_of(s.pick(route{"a*70 @bj b*70 @hz-1", 1})), "b");
    EXPECT_EQ(broker_of(s.pick(route{"a*170 @hz-1 b*70 @bj", 2})), "a");
}

TEST(MachineRoom, RefusesListsThatMakeNoSense)
{
    const plugin p = bundled("machine-room");
    struct {
        settings s;
        std::string_view refusal;
    } const rows[] = {
        {{{"rooms", {"sh", "sh"}}}, "room \"sh\" stands twice in rooms and spill; each room may stand once"},
        {{{"rooms", {"sh"}}, {"spill", {"hz", "sh"}}}, "room \"sh\" stands twice in rooms and spill; each room may stand once"},
        {{{"rooms", {"sh", ""}}}, "a room in rooms and spill must not be blank"},
        {{{"rooms", {"sh"}}, {"spill", {" \t"}}}, "a room in rooms and spill must not be blank"},
    };
    for (const auto& row : rows) {
        selector s{p, row.s};
        EXPECT_EQ(s.status(), SHUNT_E_CONFIG);
        EXPECT_EQ(s.refusal(), row.refusal);
    }
    EXPECT_EQ((selector{p, {{"rooms", {"sh", " SH "}}}}.refusal()), "") << "blanks around a name are part of it";
    const auto& params = p.selector();
    EXPECT_NE(params.params[0].flags & SHUNT_P_REQUIRED, 0u);
    EXPECT_EQ(params.params[0].min_count, 1u);
}

TEST(MachineRoom, FiltersByLevel)
{
    const plugin p = bundled("machine-room");
    const route t{five};
    selector s{p, wanted};
    ASSERT_NE(s.table().flags & SHUNT_F_FILTER, 0u);
    EXPECT_EQ(s.filter(t, 0), "a/0 a/1 b/0");
    EXPECT_EQ(s.filter(t, 1), "c/0 c/1");
    EXPECT_EQ(s.filter(t, 2), "d/0 d/1 e/0");
    EXPECT_EQ(s.filter(t, 3), "no such level");
}

TEST(MachineRoom, StaysAmongTheCandidates)
{
    const plugin p = bundled("machine-room");
    route t{five};
    t.only({"a/1", "c/0"});
    selector s{p, wanted};
    EXPECT_EQ(s.picks(t, 2), "a/1 a/1");
    t.only({"e/0"});
    EXPECT_EQ(s.pick(t), "e/0");
    t.only({});
    EXPECT_EQ(s.pick(t), "no queue");
}

}  // namespace
}  // namespace shunt::test
