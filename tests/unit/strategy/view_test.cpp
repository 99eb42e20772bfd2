// What selectors see of a route: flat, in canonical order, and only what may be written to.

#include "strategy_situation.hpp"

#include <algorithm>
#include <random>

namespace shunt::strategy::test {
namespace {

std::vector<std::string> queues_of(const route_view& v)
{
    std::vector<std::string> names;
    for (std::uint32_t q = 0; q < v.queues.size(); ++q)
        names.push_back(std::string(v.broker_name(q)) + "-" + std::to_string(v.queues[q].queue_id));
    return names;
}

TEST(View, IsSortedByBrokersNameInBytesThenByQueue)
{
    std::vector<broker_row> rows{{"a", 2}, {"B", 2}, {"b10", 1}, {"b2", 1}};
    std::mt19937 random(3);
    for (int i = 0; i < 20; ++i) {
        std::shuffle(rows.begin(), rows.end(), random);
        broker_book book;
        const auto v = build_view(route_of(rows), {}, book, 1);
        EXPECT_EQ(queues_of(*v), (std::vector<std::string>{"B-0", "B-1", "a-0", "a-1", "b10-0", "b2-0"}));
    }
}

TEST(View, HasEveryBrokerWithAMasterAndTheQueuesThatMayBeWrittenTo)
{
    broker_book book;
    const auto v = build_view(route_of({{"a", 2, 6}, {"b", 2, 4}, {"c", 0, 6}, {"d", 2, 2}, {"e", 2, 6, false}}), {}, book, 9);
    EXPECT_EQ(queues_of(*v), (std::vector<std::string>{"a-0", "a-1", "d-0", "d-1"}));
    ASSERT_EQ(v->brokers.size(), 4u) << "a read-only one may be judged; one without a master may not";
    EXPECT_EQ(v->route_gen, 9u);
    const std::pair<std::uint32_t, std::uint32_t> spans[] = {{0, 2}, {2, 0}, {2, 0}, {2, 2}};
    for (std::size_t b = 0; b < 4; ++b) {
        EXPECT_EQ(v->brokers[b].first_queue, spans[b].first);
        EXPECT_EQ(v->brokers[b].n_queues, spans[b].second);
        EXPECT_EQ(v->brokers[b].flags, spans[b].second != 0 ? SHUNT_BROKER_WRITABLE : 0u);
        EXPECT_NE(v->brokers[b].load, nullptr);
    }
}

TEST(View, KeepsABrokersNumberForLife)
{
    broker_book book;
    const auto first = build_view(route_of({{"b"}, {"c"}}), {}, book, 1);
    const auto second = build_view(route_of({{"a"}, {"c"}}), {}, book, 2);
    EXPECT_EQ(first->brokers[1].id, second->brokers[1].id) << "c";
    EXPECT_EQ(first->entries[1], second->entries[1]) << "its load goes on";
    EXPECT_NE(second->brokers[0].id, first->brokers[0].id);
    EXPECT_EQ(book.size(), 3u);
    EXPECT_EQ(book.find(first->brokers[0].id)->name, "b");
    EXPECT_EQ(book.find(99), nullptr);
}

TEST(View, HasRoomsAndWeightsFromTheFileThenFromTheName)
{
    facts_table facts;
    facts["hz@a"] = {.room = "sh", .weight = 5};
    facts["plain"] = {.room = "", .weight = 0};
    EXPECT_EQ(room_of("hz@a", facts), "sh");
    EXPECT_EQ(room_of("hz@b", facts), "hz");
    EXPECT_EQ(room_of("plain", facts), "");
    EXPECT_EQ(room_of("@a", facts), "");
    EXPECT_EQ(room_of("sh@", facts), "sh");
    EXPECT_EQ(room_of("sh@a@b", facts), "sh");
    broker_book book;
    const auto v = build_view(route_of({{"hz@a"}, {"hz@b"}, {"plain"}}), facts, book, 1);
    EXPECT_EQ(from_str(v->brokers[0].room), "sh");
    EXPECT_EQ(from_str(v->brokers[1].room), "hz");
    EXPECT_EQ(v->brokers[0].weight, 5u);
    EXPECT_EQ(v->brokers[1].weight, 1u);
    EXPECT_EQ(v->brokers[2].weight, 0u);
}

TEST(View, PassesOverBrokersPutAsideUnlessNoneElseIsLeft)
{
    broker_book book;
    const auto r = route_of({{"a", 2}, {"b", 2}});
    const std::vector<std::string> b{"b"}, both{"a", "b"}, other{"z"};
    EXPECT_EQ(queues_of(*build_view(r, {}, book, 1, b)), (std::vector<std::string>{"a-0", "a-1"}));
    EXPECT_EQ(queues_of(*build_view(r, {}, book, 1, both)).size(), 4u);
    EXPECT_EQ(queues_of(*build_view(r, {}, book, 1, other)).size(), 4u);
    const auto readonly = route_of({{"a", 2, 4}, {"b", 2}});
    EXPECT_EQ(queues_of(*build_view(readonly, {}, book, 1, b)).size(), 2u) << "a cannot take its place";
}

TEST(View, FindsAQueueByItsNameOnTheWire)
{
    broker_book book;
    const auto v = build_view(route_of({{"a", 2}, {"b", 3}, {"c", 2, 4}}), {}, book, 1);
    EXPECT_EQ(v->find_queue("b", 2), 4u);
    EXPECT_EQ(v->find_queue("a", 0), 0u);
    for (const auto& [broker, queue] : {std::pair<const char*, int>{"a", 2}, {"a", -1}, {"c", 0}, {"", 0}, {"z", 0}, {"a", INT32_MAX}, {"a", INT32_MIN}})
        EXPECT_EQ(v->find_queue(broker, queue), std::nullopt) << broker << queue;
}

TEST(View, SpreadsABrokersBitOverItsQueues)
{
    broker_book book;
    const auto v = build_view(route_of({{"a", 40}, {"b", 40}, {"c", 40}}), {}, book, 1);
    std::vector<std::uint64_t> mask;
    const std::uint64_t b = 0b010;
    expand_mask(*v, {&b, 1}, mask);
    ASSERT_EQ(mask.size(), 2u);
    for (std::uint32_t q = 0; q < 128; ++q)
        EXPECT_EQ(mask[q / 64] >> (q % 64) & 1, q >= 40 && q < 80 ? 1u : 0u) << q;
}

// Selection wrote into the shared route, and a queue was replaced for good.
TEST_F(Strategies, AThousandDecisionsLeaveTheRouteAsItWas)
{
    situation at;
    const auto before = queues_of(*at.s->route);
    const auto bytes = at.s->route->queues;
    selectors()["chooser"].select = [](const shunt_view&, const shunt_msg&, shunt_pick&) -> shunt_status { return SHUNT_E_INVALID; };
    for (int i = 0; i < 1000; ++i)
        (void)decide(*at.s, *at.set, {});
    EXPECT_EQ(queues_of(*at.s->route), before);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), at.s->route->queues.begin(), at.s->route->queues.end(),
                           [](const shunt_queue& x, const shunt_queue& y) { return x.broker == y.broker && x.queue_id == y.queue_id; }));
}

}  // namespace
}  // namespace shunt::strategy::test
