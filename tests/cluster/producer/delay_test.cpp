// Messages that are delivered later, taken back, and compressed ones: what the broker got, and what came of it.

#include <support/producer_situation.hpp>

#include <wire/compress.hpp>

namespace shunt::test {
namespace {

cluster::options recalling()
{
    cluster::options o;
    o.brokers = 1;
    o.recall = true;
    return o;
}

struct Delay : testing::Test {
    Delay() : cluster(recalling()), p(started(options_for(cluster))) {}

    std::string held(const std::string& property)
    {
        const auto all = cluster.snapshot("rmq_sys_wheel_timer");
        return all.size() != 1 ? "(" + std::to_string(all.size()) + " are held)" : std::string(all[0].property(property));
    }
    bool delivered(std::size_t n = 1)
    {
        return cluster.wait_until([&] { return cluster.snapshot("T").size() == n; }, patience);
    }
    cluster::embedded_cluster cluster;
    producer p;
};

TEST_F(Delay, IsToldInMillisecondsAndHoldsTheMessageBack)
{
    const receipt r = p.deliver(message("T", "later").set_delay(2s));

    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(held("TIMER_DELAY_MS"), "2000");
    EXPECT_TRUE(cluster.snapshot("T").empty());
    EXPECT_FALSE(r.recall_handle.empty());
    ASSERT_TRUE(delivered());
    EXPECT_EQ(cluster.snapshot("T")[0].msg_id, r.msg_id.view());
}

TEST_F(Delay, ToATimeIsToldAsThatTime)
{
    const auto at = std::chrono::system_clock::now() + 1h;
    const receipt r = p.deliver(message("T", "later").set_deliver_at(at));

    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(held("TIMER_DELIVER_MS"), std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count()));
}

TEST_F(Delay, OfAMessageWithoutOneIsNoneAndHasNoHandle)
{
    const receipt r = p.deliver(message("T", "now"));

    EXPECT_TRUE(r.recall_handle.empty());
    EXPECT_EQ(cluster.snapshot("T").size(), 1u);
}

TEST_F(Delay, IsCalledOffByItsHandle)
{
    const receipt r = p.deliver(message("T", "never").set_delay(2s));
    const receipt after = p.deliver(message("T", "later").set_delay(3s));

    const auto recalled = p.recall("T", r.recall_handle);

    ASSERT_TRUE(recalled) << recalled.error().text;
    EXPECT_EQ(*recalled, r.msg_id.view());
    ASSERT_TRUE(delivered());
    EXPECT_EQ(cluster.snapshot("T")[0].msg_id, after.msg_id.view()) << "only the one that was not called off";
}

TEST_F(Delay, CannotBeCalledOffByWhatIsNoHandleOrOfAnotherTopic)
{
    const receipt r = p.deliver(message("T", "later").set_delay(1h));

    EXPECT_EQ(p.recall("T", "no handle").error().code, errc::not_recallable);
    EXPECT_EQ(p.recall("U", r.recall_handle).error().code, errc::not_recallable);
    EXPECT_EQ(p.recall("a b", r.recall_handle).error().code, errc::invalid_topic);
    EXPECT_EQ(cluster.counts("broker-a").by_code[370], 0u) << "nothing reached the wire";
}

TEST_F(Delay, ThatIsOverCannotBeCalledOff)
{
    const receipt r = p.deliver(message("T", "soon").set_delay(1s));
    ASSERT_TRUE(delivered());

    auto late = p.recall("T", r.recall_handle);  // a handle is good for one more millisecond
    EXPECT_TRUE(eventually([&] { return !(late = p.recall("T", r.recall_handle)); }));

    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, errc::broker_error);
    EXPECT_EQ(late.error().broker_code, 604);
}

TEST(DelayElsewhere, IsNotCalledOffWhereBrokersRefuseThat)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    producer p = started(options_for(cluster));
    topic(cluster, "T");
    const auto no = p.recall("T", "djEgVCBicm9rZXItYSA5OTk5OTk5OTk5OTk5IEs=");
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().broker_code, 16) << no.error().text;
}

TEST(DelayLimit, CanBeSet)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    auto o = options_for(cluster);
    o.max_delay = 10s;
    producer p = started(o);
    EXPECT_EQ(p.deliver(message("T", "x").set_delay(11s)).error, errc::invalid_delay);
    EXPECT_EQ(p.deliver(message("T", "x").set_delay(10s)).outcome, outcome::stored);
}

TEST(Priority, IsPutOnTheMessage)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    producer p = started(options_for(cluster));
    ASSERT_TRUE(p.send(message("T", "x").set_priority(3)));
    EXPECT_EQ(cluster.snapshot("T").at(0).property("_SYS_MSG_PRIORITY_"), "3");
}

TEST(Compression, ShrinksLargeBodiesAndLeavesOthersAlone)
{
    const std::string large(20'000, 'l'), small(100, 's');
    std::string noise;
    for (std::uint64_t state = 1; noise.size() < 20'000; state = state * 6364136223846793005ULL + 1442695040888963407ULL)
        noise += static_cast<char>(state >> 56);
    for (const compression by : {compression::zlib, compression::lz4, compression::zstd}) {
        cluster::embedded_cluster cluster({.brokers = 1});
        auto o = options_for(cluster);
        o.compress = by;
        producer p = started(o);
        send_options first;
        first.queue = {"broker-a", 0};
        for (const std::string& body : {large, small, noise})
            ASSERT_TRUE(p.send(message("T", body), first));
        const auto all = cluster.snapshot("T");
        ASSERT_EQ(all.size(), 3u);
        EXPECT_LT(all[0].body.size(), 1000u);
        EXPECT_EQ(wire::plain_body(all[0].sys_flag, all[0].body, 1 << 20), large);
        EXPECT_EQ(all[1].sys_flag, 0);
        EXPECT_EQ(all[1].body, small);
        EXPECT_EQ(all[2].sys_flag, 0) << "it would not shrink";
        EXPECT_EQ(all[2].body, noise);
        EXPECT_EQ(p.view("T", all[0].msg_id)->body, large) << "read back as it was";
    }
}

TEST(Namespace, OfTheOldKindIsPartOfTheNames)
{
    cluster::embedded_cluster cluster({.brokers = 1});
    auto o = with_policy(options_for(cluster), "best-queue");
    o.namespace_v1 = "NS";
    o.policies["bound"].selector.use = "random";
    o.bindings.push_back({.topic = "T*", .policy = "bound", .where = {}});
    producer p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(r.policy, "bound") << "bindings name topics as programs do";
    ASSERT_EQ(cluster.snapshot("NS%T").size(), 1u);
    EXPECT_EQ(cluster.snapshot("NS%T")[0].property("INSTANCE_ID"), "NS");
    EXPECT_EQ(p.route("T")->topic, "T");
    EXPECT_EQ(p.view("T", r.msg_id.str())->topic, "NS%T");
}

}  // namespace
}  // namespace shunt::test
