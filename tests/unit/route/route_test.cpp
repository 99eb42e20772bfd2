#include <route/route.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace shunt::route {
namespace {

broker make_broker(std::string name, std::int32_t write, std::int32_t read, std::int32_t perm = perm_read | perm_write)
{
    broker b;
    b.addresses[0] = "10.0.0." + std::to_string(name.size()) + ":10911";
    b.name = std::move(name);
    b.cluster = "C";
    b.perm = perm;
    b.read_queues = read;
    b.write_queues = write;
    b.has_queue_data = true;
    return b;
}

topic_route make_route(std::vector<broker> brokers)
{
    topic_route r;
    r.topic = "T";
    r.brokers = std::move(brokers);
    finish(r);
    return r;
}

// "a/0 a/1 b/0"
std::string shown(const topic_route& r, const std::vector<queue>& queues)
{
    std::string out;
    for (const queue& q : queues)
        out.append(out.empty() ? "" : " ").append(r.brokers.at(q.broker).name).append("/").append(std::to_string(q.queue_id));
    return out;
}

TEST(Finish, PutsQueuesInOrderOfBrokerNameAndNumber)
{
    const topic_route r = make_route({make_broker("b", 1, 2), make_broker("a", 3, 1)});
    EXPECT_EQ(shown(r, r.publish), "a/0 a/1 a/2 b/0");
    EXPECT_EQ(shown(r, r.subscribe), "a/0 b/0 b/1");
}

TEST(Finish, ComparesNamesAsUnsignedBytes)
{
    const topic_route r = make_route({make_broker("\xc3\xa9", 1, 1), make_broker("z", 1, 1), make_broker("Z", 1, 1)});
    EXPECT_EQ(shown(r, r.publish), "Z/0 z/0 \xc3\xa9/0");
}

TEST(Finish, LeavesOutWhatCannotBeWrittenOrHasNoMaster)
{
    broker slave_only = make_broker("slave", 2, 2);
    slave_only.addresses = {{1, "10.0.0.1:10911"}};
    broker bystander = make_broker("bystander", 2, 2);
    bystander.has_queue_data = false;
    const topic_route r = make_route({make_broker("ro", 2, 1, perm_read), make_broker("wo", 1, 2, perm_write), slave_only,
                                      bystander, make_broker("none", 2, 2, 0)});
    EXPECT_EQ(shown(r, r.publish), "wo/0");
    EXPECT_EQ(shown(r, r.subscribe), "ro/0 slave/0 slave/1");
}

TEST(Finish, MayBeCalledAgain)
{
    topic_route r = make_route({make_broker("b", 1, 1), make_broker("a", 1, 1)});
    const topic_route before = r;
    finish(r);
    EXPECT_TRUE(r.same_as(before));
    EXPECT_EQ(r.warnings, before.warnings);
}

TEST(Finish, KeepsTheQueuesOfAnOrderConfigurationWhateverTheBrokersAreLike)
{
    topic_route r;
    r.order_conf = "b:2;a:1;gone:1";
    r.brokers = {make_broker("b", 8, 1, perm_read), make_broker("a", 8, 1)};
    finish(r);
    EXPECT_TRUE(r.ordered);
    EXPECT_EQ(shown(r, r.publish), "a/0 b/0 b/1 gone/0");
    EXPECT_EQ(shown(r, r.subscribe), "a/0 b/0");
    ASSERT_NE(r.find("gone"), nullptr);
    EXPECT_EQ(r.find("gone")->master(), nullptr);
    EXPECT_EQ(r.warnings, std::vector<std::string>{"broker \"gone\" has no address; its queues stay, but cannot be reached"});
}

TEST(Finish, KeepsLogicalQueuesInOrderOfTheirNumberWhoeverOwnsThem)
{
    topic_route r;
    r.brokers = {make_broker("b", 8, 8), make_broker("a", 8, 8)};
    r.logical_owners = {"b", "a", "", "b"};
    finish(r);
    EXPECT_EQ(shown(r, r.publish), "b/0 a/1 b/3");
    EXPECT_EQ(r.warnings, std::vector<std::string>{"1 of 4 logical queues have no owner"});

    topic_route before = r;
    before.logical_owners = {"a", "a", "a", "a"};
    keep_last_owners(r, before);
    EXPECT_EQ(shown(r, r.publish), "b/0 a/1 a/2 b/3");
}

TEST(Finish, TakesTheFirstOfTwoBrokersWithOneName)
{
    broker one = make_broker("a", 1, 1), two = one;
    two.cluster = "B";
    for (auto brokers : {std::vector{one, two}, std::vector{two, one}}) {
        const topic_route r = make_route(brokers);
        ASSERT_EQ(r.brokers.size(), 1u);
        EXPECT_EQ(r.brokers[0].cluster, "B");
        EXPECT_EQ(r.warnings.size(), 1u);
    }
}

TEST(Finish, BoundsTheNumberOfQueues)
{
    std::vector<broker> brokers;
    for (int i = 0; i < 100; ++i)
        brokers.push_back(make_broker("b" + std::to_string(i), 65535, 2000000));
    const topic_route r = make_route(brokers);
    EXPECT_EQ(r.publish.size(), max_queues);
    EXPECT_EQ(r.subscribe.size(), max_queues);
    EXPECT_EQ(r.warnings, std::vector<std::string>{"the route claims more than 1000000 queues; those beyond are left out"});
}

TEST(Route, FindsBrokersByName)
{
    const topic_route r = make_route({make_broker("b", 1, 1), make_broker("a", 1, 1), make_broker("c", 1, 1)});
    for (const auto name : {"a", "b", "c"})
        EXPECT_EQ(r.find(name)->name, name);
    for (const auto name : {"", "aa", "d"})
        EXPECT_EQ(r.find(name), nullptr) << name;
}

TEST(Route, IsTheSameWhateverItsWarnings)
{
    const topic_route r = make_route({make_broker("a", 4, 4), make_broker("b", 4, 4)});
    topic_route other = r;
    other.warnings.push_back("w");
    EXPECT_TRUE(r.same_as(other));
    for (const auto change : {+[](broker& b) { b.perm = 4; }, +[](broker& b) { b.read_queues = 5; },
                              +[](broker& b) { b.write_queues = 5; }, +[](broker& b) { b.addresses[0] = "x:1"; },
                              +[](broker& b) { b.addresses[1] = "x:1"; }, +[](broker& b) { b.cluster = "D"; },
                              +[](broker& b) { b.name = "c"; }}) {
        topic_route changed = r;
        change(changed.brokers[1]);
        finish(changed);
        EXPECT_FALSE(r.same_as(changed));
    }
    topic_route ordered = r;
    ordered.order_conf = "a:4;b:4";
    finish(ordered);
    EXPECT_FALSE(r.same_as(ordered));
}

TEST(FromTemplate, CapsTheQueuesOfEachBroker)
{
    topic_route tbw = make_route({make_broker("a", 8, 8, 7), make_broker("b", 8, 2, 7)});
    tbw.topic = "TBW102";
    const topic_route r = from_template("T", tbw, 4);
    EXPECT_EQ(r.topic, "T");
    EXPECT_EQ(shown(r, r.publish), "a/0 a/1 a/2 a/3 b/0 b/1");
    EXPECT_EQ(shown(r, r.subscribe), shown(r, r.publish));
    EXPECT_EQ(r.brokers[0].perm, 7);
    EXPECT_TRUE(from_template("T", tbw, -1).publish.empty());
}

std::vector<std::string> changes(const topic_route& before, const topic_route& after)
{
    return describe_changes(before, after);
}

using lines = std::vector<std::string>;

TEST(DescribeChanges, TellsWhoCameLeftAndMoved)
{
    const broker a = make_broker("a", 4, 4), b = make_broker("b", 4, 4);
    broker moved = a;
    moved.addresses[0] = "10.0.0.9:10911";
    EXPECT_EQ(changes(make_route({a}), make_route({a})), lines{});
    EXPECT_EQ(changes(make_route({a}), make_route({b, a})),
              lines{"broker \"b\" came at 10.0.0.1:10911, queues: 4 to write, 4 to read"});
    EXPECT_EQ(changes(make_route({a, b}), make_route({b})), lines{"broker \"a\" left"});
    EXPECT_EQ(changes(make_route({a}), make_route({moved})), lines{"broker \"a\" moved from 10.0.0.1:10911 to 10.0.0.9:10911"});
    broker headless = a;
    headless.addresses.clear();
    EXPECT_EQ(changes(make_route({a}), make_route({headless})), lines{"broker \"a\" lost its master 10.0.0.1:10911"});
    EXPECT_EQ(changes(make_route({headless}), make_route({a})), lines{"broker \"a\" has a master again: 10.0.0.1:10911"});
    broker replicated = a;
    replicated.addresses[1] = "10.0.0.2:10911";
    EXPECT_EQ(changes(make_route({a}), make_route({replicated})), lines{"broker \"a\" has other replicas"});
}

TEST(DescribeChanges, TellsPermissionsAndCounts)
{
    EXPECT_EQ(changes(make_route({make_broker("a", 4, 4)}), make_route({make_broker("a", 4, 8, perm_read)})),
              (lines{"broker \"a\": read and write became read only (6 to 4)",
                     "broker \"a\": queues were 4 to write, 4 to read, now 4 to write, 8 to read"}));
}

TEST(DescribeChanges, TellsOrderAndOwners)
{
    topic_route plain = make_route({make_broker("a", 4, 4), make_broker("b", 4, 4)});
    topic_route ordered = plain;
    ordered.order_conf = "a:4";
    finish(ordered);
    EXPECT_EQ(changes(plain, ordered), lines{"an order configuration fixes the queues now"});
    EXPECT_EQ(changes(ordered, plain), lines{"the order configuration is gone"});
    topic_route before = plain, after = plain;
    before.logical_owners = {"a", "a"};
    after.logical_owners = {"a", "b"};
    EXPECT_EQ(changes(before, after), lines{"logical queue 1 moved from \"a\" to \"b\""});
}

}  // namespace
}  // namespace shunt::route
