// machine-room: levels of rooms, as a selector and as a filter.

#include <plugin/bundled/bundled.hpp>

namespace shunt::test {
namespace {

setting_array rooms(std::initializer_list<const char*> all)
{
    setting_array a;
    for (const char* r : all)
        a.emplace_back(r);
    return a;
}

constexpr auto five = "a*2(room=hz-1) b*1(room=hz-2) c*2(room=sh-1) d*2 e*1(room=bj)";
const settings wanted{{"rooms", rooms({"hz-1", "hz-2"})}, {"spill", rooms({"sh-1"})}};

TEST(MachineRoom, RotatesOverTheWantedRooms)
{
    const plugin p = bundled("machine-room");
    const topic t{five};
    selector s{p, wanted};
    EXPECT_EQ(s.picks(t, 6), "a-0 a-1 b-0 a-0 a-1 b-0");
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_ROOM);
}

TEST(MachineRoom, SpillsInTheStatedOrderThenToAnybody)
{
    const plugin p = bundled("machine-room");
    topic t{five};
    t.isolate({"a", "b"});
    selector s{p, wanted};
    EXPECT_EQ(s.picks(t, 4), "c-0 c-1 c-0 c-1");
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_SPILL);
    t.isolate({"c"});
    selector rest{p, wanted};
    EXPECT_EQ(rest.picks(t, 5), "d-0 d-1 e-0 d-0 d-1");
    t.all_well();
    EXPECT_EQ(broker_part(rest.pick(t)), "a") << "back home as soon as it is well";
}

TEST(MachineRoom, PutsHealthBeforeRoom)
{
    const plugin p = bundled("machine-room");
    topic t{five};
    t.isolate({"a", "b", "c", "d", "e"});
    t.cut_off({"a", "b"});
    selector s{p, wanted};
    EXPECT_EQ(s.pick(t), "c-0") << "reachable elsewhere before unreachable here";
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_REACHABLE_ONLY);
    t.cut_off({"c", "d", "e"});
    EXPECT_EQ(broker_part(s.pick(t)), "a") << "all alike: then the wanted room";
    EXPECT_EQ(broker_part(s.pick(t, {.tried = {"a", "b"}})), "c");
    EXPECT_EQ(broker_part(s.pick(t, {.tried = {"a", "b", "c", "d", "e"}})), "a");
}

TEST(MachineRoom, IsNeverWithoutAQueueWhileOneIsWritable)
{
    const plugin p = bundled("machine-room");
    selector s{p, {{"rooms", rooms({"sh"})}}};
    EXPECT_EQ(s.picks(topic{"a*2(room=hz) b*2(room=hz)", 1}, 5), "a-0 a-1 b-0 b-1 a-0");
    EXPECT_EQ(s.picks(topic{"a*2(room=sh) b*2(room=hz)", 2}, 3), "a-1 a-0 a-1");
    EXPECT_EQ(s.pick(topic{"a*1 b*1", 3}), "a-0") << "nobody has a room";
    EXPECT_EQ(broker_part(s.pick(topic{"a*0(room=sh) b*2(room=hz)", 4})), "b") << "read-only is as good as absent";
    EXPECT_EQ(broker_part(s.pick(topic{"a*1(room=SH) b*1(room=sh)", 5})), "b") << "byte by byte";
    selector one{p, {{"rooms", rooms({"sh"})}}};
    EXPECT_EQ(one.count(topic{"a*1(room=sh) b*11(room=hz)", 6}, 100), (std::map<std::string, int>{{"a-0", 100}}));
}

TEST(MachineRoom, LearnsANewRoute)
{
    const plugin p = bundled("machine-room");
    selector s{p, wanted};
    EXPECT_EQ(broker_part(s.pick(topic{"a*70(room=bj) b*70(room=hz-1)", 1})), "b");
    EXPECT_EQ(broker_part(s.pick(topic{"a*170(room=hz-1) b*70(room=bj)", 2})), "a");
}

TEST(MachineRoom, RefusesListsThatMakeNoSense)
{
    const plugin p = bundled("machine-room");
    struct {
        settings s;
        std::string_view refusal;
    } const rows[] = {
        {{{"rooms", rooms({"sh", "sh"})}}, "room \"sh\" stands twice in rooms and spill; each room may stand once"},
        {{{"rooms", rooms({"sh"})}, {"spill", rooms({"hz", "sh"})}}, "room \"sh\" stands twice in rooms and spill; each room may stand once"},
        {{{"rooms", rooms({"sh", ""})}}, "a room in rooms and spill must not be blank"},
        {{{"rooms", rooms({"sh"})}, {"spill", rooms({" \t"})}}, "a room in rooms and spill must not be blank"},
    };
    for (const auto& row : rows) {
        selector s{p, row.s};
        EXPECT_EQ(s.status(), SHUNT_E_CONFIG);
        EXPECT_EQ(s.refusal(), row.refusal);
    }
    EXPECT_EQ((selector{p, {{"rooms", rooms({"sh", " SH "})}}}.refusal()), "") << "blanks around a name are part of it";
    const auto& params = p.selector();
    EXPECT_NE(params.params[0].flags & SHUNT_P_REQUIRED, 0u);
    EXPECT_EQ(params.params[0].min_count, 1u);
}

TEST(MachineRoom, FiltersByLevel)
{
    const plugin p = bundled("machine-room");
    const topic t{five};
    selector s{p, wanted};
    ASSERT_NE(s.table().flags & SHUNT_F_FILTER, 0u);
    const auto level = [&](std::uint32_t l) -> std::string {
        std::uint64_t mask = 0;
        shunt_msg m{};
        m.struct_size = sizeof m;
        if (s.table().filter(s.instance(), &t.view(), &m, l, &mask) == SHUNT_NO_QUEUE)
            return "no such level";
        std::string all;
        for (std::uint32_t q = 0; q < t.view().n_queues; ++q)
            if ((mask >> q & 1) != 0)
                all += t.name(q) + " ";
        return all;
    };
    EXPECT_EQ(level(0), "a-0 a-1 b-0 ");
    EXPECT_EQ(level(1), "c-0 c-1 ");
    EXPECT_EQ(level(2), "d-0 d-1 e-0 ");
    EXPECT_EQ(level(3), "no such level");
}

TEST(MachineRoom, StaysAmongTheCandidates)
{
    const plugin p = bundled("machine-room");
    topic t{five};
    t.only({"a-1", "c-0"});
    selector s{p, wanted};
    EXPECT_EQ(s.picks(t, 2), "a-1 a-1");
    t.only({"e-0"});
    EXPECT_EQ(s.pick(t), "e-0");
    t.only({});
    EXPECT_EQ(s.pick(t), "no queue");
}

}  // namespace
}  // namespace shunt::test
