// Who gets room, and in which order: nobody is passed by who came later, and a full topic holds up no other.

#include <send/room.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace shunt::send {
namespace {

struct item;

struct queue {
    std::deque<item*> items;

    void push_back(item& i) { items.push_back(&i); }
    void remove(item& i) { std::erase(items, &i); }
    [[nodiscard]] item* front() const { return items.empty() ? nullptr : items.front(); }
};

using topic = limited_topic<queue>;

struct item {
    item(std::string n, std::size_t bytes) : name(std::move(n)), cost(bytes) {}

    std::string name;
    std::size_t cost;
    send::holds holds = send::holds::nothing;
    topic* topic_room = nullptr;
};

constexpr std::size_t plenty = 1'000'000;

using names = std::vector<std::string>;

struct situation {
    room<item, queue> all;

    situation(std::size_t messages, std::size_t bytes) : all(messages, bytes) {}

    void wait(item& i, topic* of = nullptr)
    {
        all.announce();
        all.enter(i, of);
    }
    names admitted()
    {
        names n;
        all.admit([&](item& i) { n.push_back(i.name); });
        return n;
    }
};

TEST(Room, IsTakenAtOnceWhileNobodyWaits)
{
    situation s(2, plenty);
    item a("a", 1), b("b", 1), c("c", 1);
    EXPECT_TRUE(s.all.take(a));
    EXPECT_TRUE(s.all.take(b));
    EXPECT_FALSE(s.all.take(c));
    EXPECT_EQ(c.holds, holds::nothing);
    s.all.give_back(a);
    EXPECT_TRUE(s.all.take(c));
}

TEST(Room, IsNotTakenPastOneThatWaits)
{
    situation s(1, plenty);
    item a("a", 1), b("b", 1), late("late", 1);
    ASSERT_TRUE(s.all.take(a));
    s.all.announce();  // b is on its way to the line
    s.all.give_back(a);
    EXPECT_FALSE(s.all.take(late)) << "b came first";
    s.all.enter(b, nullptr);
    EXPECT_FALSE(s.all.take(late));
    EXPECT_EQ(s.admitted(), names{"b"});
    s.all.give_back(b);
    EXPECT_TRUE(s.all.take(late));
}

// Small ones went by as long as they fitted, and the big one never did.
TEST(Room, IsKeptForABigOneThatIsFirst)
{
    situation s(100, 1000);
    std::vector<item> running, later;
    for (int i = 0; i < 10; ++i)
        running.emplace_back("r", 100);
    for (item& i : running)
        ASSERT_TRUE(s.all.take(i));
    item big("big", 900);
    s.wait(big);
    for (int i = 0; i < 5; ++i)
        later.emplace_back("small" + std::to_string(i), 100);
    for (item& i : later)
        s.wait(i);
    for (int i = 0; i < 8; ++i) {
        s.all.give_back(running[static_cast<std::size_t>(i)]);
        EXPECT_EQ(s.admitted(), names{}) << "the small ones wait behind it";
    }
    s.all.give_back(running[8]);
    EXPECT_EQ(s.admitted(), names{"big"});
    s.all.give_back(big);
    EXPECT_EQ(s.admitted(), (names{"small0", "small1", "small2", "small3", "small4"}));
    EXPECT_FALSE(s.all.anybody_waits());
}

TEST(Room, OfATopicThatIsFullHoldsUpNoOther)
{
    situation s(100, plenty);
    s.all.limit_topics(true);
    topic bulk(1, plenty);
    item first("first", 1), second("second", 1), third("third", 1), other("other", 1), later("later", 1);
    EXPECT_TRUE(s.all.take_where_limited(first, &bulk));
    EXPECT_FALSE(s.all.take_where_limited(second, &bulk));
    s.wait(second, &bulk);
    s.wait(third, &bulk);
    EXPECT_EQ(s.admitted(), names{});
    EXPECT_TRUE(s.all.take_where_limited(other, nullptr)) << "a topic without limits";
    s.all.give_back(first);
    EXPECT_FALSE(s.all.take_where_limited(later, &bulk)) << "two of its topic came first";
    EXPECT_EQ(s.admitted(), names{"second"});
    EXPECT_EQ(second.holds, holds::of_both);
    s.all.give_back(second);
    EXPECT_EQ(s.admitted(), names{"third"});
    s.all.give_back(third);
    s.all.give_back(other);
    EXPECT_EQ(bulk.counts.messages(), 0u);
    EXPECT_EQ(s.all.all.messages(), 0u);
    EXPECT_FALSE(s.all.anybody_waits());
    EXPECT_TRUE(s.all.take_where_limited(later, &bulk));
}

TEST(Room, OfAllIsWaitedForInTheOrderInWhichTopicsHadRoom)
{
    situation s(1, plenty);
    s.all.limit_topics(true);
    topic one(5, plenty), two(5, plenty);
    item running("running", 1), a("a", 1), b("b", 1), c("c", 1);
    ASSERT_TRUE(s.all.take_where_limited(running, nullptr));
    s.wait(a, &two);
    EXPECT_EQ(s.admitted(), names{});
    s.wait(b, &one);
    EXPECT_EQ(s.admitted(), names{});
    s.wait(c);
    for (item* i : {&running, &a, &b}) {
        s.all.give_back(*i);
        EXPECT_EQ(s.admitted(), names{i == &running ? "a" : i == &a ? "b" : "c"});
    }
}

// Room of the topic was held by one that had given up.
TEST(Room, IsGivenBackByThoseThatLeave)
{
    situation s(1, plenty);
    s.all.limit_topics(true);
    topic bulk(1, plenty);
    item running("running", 1), a("a", 1), b("b", 1);
    ASSERT_TRUE(s.all.take_where_limited(running, nullptr));
    s.wait(a, &bulk);
    s.wait(b, &bulk);
    EXPECT_EQ(s.admitted(), names{});
    EXPECT_EQ(a.holds, holds::of_topic) << "it waits for the room of all";
    s.all.leave(a);
    EXPECT_EQ(bulk.counts.messages(), 0u);
    s.all.give_back(running);
    EXPECT_EQ(s.admitted(), names{"b"});
    s.all.give_back(b);
    item c("c", 1), d("d", 1);
    ASSERT_TRUE(s.all.take_where_limited(c, &bulk));
    s.wait(d, &bulk);
    s.all.leave(d);
    EXPECT_FALSE(s.all.anybody_waits());
    s.all.give_back(c);
    EXPECT_EQ(s.admitted(), names{});
    EXPECT_EQ(s.all.all.messages(), 0u);
}

TEST(Room, IsTakenOfBothOrNeither)
{
    situation s(1, plenty);
    s.all.limit_topics(true);
    topic bulk(5, 100);
    item running("running", 1), a("a", 1), large("large", 101);
    ASSERT_TRUE(s.all.take_where_limited(running, nullptr));
    EXPECT_FALSE(s.all.take_where_limited(a, &bulk));
    EXPECT_EQ(bulk.counts.messages(), 0u);
    s.all.give_back(running);
    EXPECT_FALSE(s.all.take_where_limited(large, &bulk));
    EXPECT_EQ(s.all.all.messages(), 0u);
    EXPECT_FALSE(bulk.counts.fits_ever(large.cost));
}

TEST(Room, HasNoShortCutWhereTopicsAreLimited)
{
    situation s(10, plenty);
    s.all.limit_topics(true);
    item a("a", 1);
    EXPECT_FALSE(s.all.take(a)) << "whether its topic has limits must be looked up";
    EXPECT_FALSE(s.all.anybody_waits());
    s.all.limit_topics(false);
    EXPECT_TRUE(s.all.take(a));
}

}  // namespace
}  // namespace shunt::send
