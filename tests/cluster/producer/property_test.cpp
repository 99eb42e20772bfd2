// Strategies that go by the properties of a message, from a plugin's file to what the brokers stored.

#include <support/paths.hpp>
#include <support/producer_situation.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace shunt::test {
namespace {

strategy_options by_property(const std::string& property)
{
    return {.use = "by-property", .settings = {{"property", setting(property)}}, .where = {}};
}

/// Sends by a policy that uses the plugin of the gallery.
producer sending(const cluster::embedded_cluster& c, strategy_options selector, std::vector<strategy_options> filters = {})
{
    policy_options policy;
    policy.selector = std::move(selector);
    policy.filters = std::move(filters);
    policy.fault.use = "none";
    auto o = options_for(c);
    o.plugins.load["by-property"] = {.file = in_build("/tests/gallery/sdk/libby_property.so"), .sha256 = {}, .where = {}};
    o.policies["default"] = std::move(policy);
    return started(std::move(o));
}

/// How many messages of each body each broker stored: "to-b on broker-b".
std::map<std::string, int> stored_of(const cluster::embedded_cluster& c)
{
    std::map<std::string, int> found;
    for (const auto& r : c.snapshot("T"))
        ++found[r.body + " on " + r.broker];
    return found;
}

message to(const std::string& broker) { return message("T", "to " + broker).set_property("target", broker); }

const std::map<std::string, int> each_on_its_own{
    {"to broker-a on broker-a", 20}, {"to broker-b on broker-b", 20}, {"to broker-c on broker-c", 20}};

TEST(Property, OfEachMessageSaysWhereItGoes)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = sending(cluster, by_property("target"));
    for (int i = 0; i < 10; ++i)
        for (const char* broker : {"broker-c", "broker-a", "broker-b"}) {
            const receipt r = p.deliver(to(broker));
            EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
            EXPECT_EQ(r.broker, broker);
            EXPECT_EQ(r.attempts.front().why, "room");
        }
    collector sent;
    for (int i = 0; i < 30; ++i)
        p.async_send(to(std::string("broker-") + "abc"[i % 3]), sent.handler(i));
    ASSERT_TRUE(sent.wait(30));
    EXPECT_EQ(stored_of(cluster), each_on_its_own);
    EXPECT_EQ(p.counters().plugin_errors, 0u);
}

TEST(Property, IsSeenByAFilterWhoseSelectorWantsNone)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = sending(cluster, {.use = "round-robin", .settings = {}, .where = {}}, {by_property("target")});
    for (int i = 0; i < 20; ++i)
        for (const char* broker : {"broker-c", "broker-a", "broker-b"})
            EXPECT_EQ(p.deliver(to(broker)).broker, broker);
    EXPECT_EQ(stored_of(cluster), each_on_its_own);
}

TEST(Property, MayBeTheKeysOrTheTag)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto by_tag = sending(cluster, by_property("TAGS")), by_keys = sending(cluster, by_property("KEYS"));
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(by_tag.deliver(to("broker-a").set_tag("broker-c").add_key("broker-b")).broker, "broker-c");
        EXPECT_EQ(by_keys.deliver(to("broker-a").set_tag("broker-c").add_key("broker-b")).broker, "broker-b");
    }
}

// An attempt that fails is decided again on the thread of the network.
TEST(Property, IsSeenAtARetryToo)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = sending(cluster, by_property("target"));
    command(cluster, "broker-b code 2");
    const receipt r = p.deliver(to("broker-b"));
    EXPECT_NE(r.outcome, outcome::stored) << shown(r);
    ASSERT_EQ(r.attempts.size(), 3u) << shown(r);
    for (const attempt& a : r.attempts)
        EXPECT_EQ(a.broker, "broker-b");
}

// A batch goes to one queue, whatever is set on each of its messages.
TEST(Property, IsNotABatchs)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = sending(cluster, by_property("target"));
    std::map<std::string, int> brokers;
    for (int i = 0; i < 24; ++i) {
        const batch_receipt r = p.deliver_batch({to("broker-b"), to("broker-b")});
        EXPECT_EQ(r.send.outcome, outcome::stored) << shown(r.send);
        ++brokers[std::string(r.send.broker)];
    }
    EXPECT_EQ(brokers.size(), 3u);
    EXPECT_EQ(p.counters().plugin_errors, 0u);
}

TEST(Property, IsNotGivenToAnInstanceThatWantsNone)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = sending(cluster, by_property(""));
    std::map<std::string, int> brokers;
    for (int i = 0; i < 24; ++i)
        ++brokers[std::string(p.deliver(to("broker-b")).broker)];
    EXPECT_EQ(brokers.size(), 3u);
}

}  // namespace
}  // namespace shunt::test
