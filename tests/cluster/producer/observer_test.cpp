// Observers: what they are told of each kind of send, and that they harm none. RocketMQ's message trace, which is one.

#include <support/producer_situation.hpp>

#include <shunt/observer.hpp>
#include <wire/trace.hpp>

#include <boost/asio/use_future.hpp>

#include <mutex>

namespace shunt::test {
namespace {

struct watcher final : send_observer {
    void before(message& m) override
    {
        const std::lock_guard held(lock);
        ++begun;
        m.set_property("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    }
    void attempted(const observed_attempt& a) override
    {
        const std::lock_guard held(lock);
        attempts.push_back(std::to_string(a.number) + " " + std::string(to_string(a.attempt.outcome)) + (a.address.empty() ? " nowhere" : ""));
    }
    void after(const observed_send& s) override
    {
        const std::lock_guard held(lock);
        outcomes.push_back(s.receipt.outcome);
        kinds.push_back(s.kind);
        ids.push_back(s.msg_ids.size());
        bytes.push_back(s.body_bytes);
        region = s.region;
    }
    void ended(const observed_end& e) override
    {
        const std::lock_guard held(lock);
        ends.push_back(std::string(e.topic) + " " + std::string(to_string(e.end)) + (e.confirmed ? " confirmed" : "") +
                       (e.address.empty() ? " nowhere" : ""));
    }

    std::mutex lock;
    int begun = 0;
    std::vector<std::string> attempts, ends;
    std::vector<outcome> outcomes;
    std::vector<send_kind> kinds;
    std::vector<std::size_t> ids, bytes;
    std::string region;
};

struct Observers : testing::Test {
    Observers() : seen(std::make_shared<watcher>())
    {
        topic(cluster, "T");
        o = with_policy(options_for(cluster), "best-queue");
        o.observers = {seen};
    }
    cluster::embedded_cluster cluster;
    std::shared_ptr<watcher> seen;
    producer_options o;
};

TEST_F(Observers, HearOfEverySendOnce)
{
    producer p = started(o);
    EXPECT_EQ(p.deliver(message("T", "sync")).outcome, outcome::stored);
    EXPECT_EQ(p.async_send(message("T", "async1"), boost::asio::use_future).get().outcome, outcome::stored);
    (void)p.deliver_oneway(message("T", "oneway!"));
    EXPECT_EQ(p.deliver(message("T", "delay").set_delay_level(1)).outcome, outcome::stored);
    EXPECT_EQ(p.deliver_batch({message("T", "a"), message("T", "b")}).send.outcome, outcome::stored);
    EXPECT_EQ(p.deliver(message("T", "")).outcome, outcome::not_sent);
    (void)p.deliver_batch({message("T", "a"), message("U", "b")});
    EXPECT_TRUE(p.close(5s));

    const std::lock_guard held(seen->lock);
    EXPECT_EQ(seen->begun, 9);  // of a batch each message
    EXPECT_EQ(seen->kinds, (std::vector{send_kind::normal, send_kind::normal, send_kind::oneway, send_kind::delayed, send_kind::batch,
                                        send_kind::normal, send_kind::batch}));
    EXPECT_EQ(seen->outcomes, (std::vector{outcome::stored, outcome::stored, outcome::unknown, outcome::stored, outcome::stored,
                                           outcome::not_sent, outcome::not_sent}));
    EXPECT_EQ(seen->ids, (std::vector<std::size_t>{1, 1, 1, 1, 2, 0, 0}));
    EXPECT_EQ(seen->bytes[1], 6u);
    EXPECT_EQ(seen->attempts, (std::vector<std::string>{"1 stored", "1 stored", "1 unknown", "1 stored", "1 stored"}));
    for (const auto& m : cluster.snapshot("T"))
        EXPECT_EQ(m.property("traceparent"), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") << m.body;
}

TEST_F(Observers, HearOfEachAttempt)
{
    producer p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, "broker-a code 2");
    command(cluster, "broker-b code 2");
    const receipt r = p.deliver(message("T", "x"));
    ASSERT_EQ(r.outcome, outcome::stored);
    const std::lock_guard held(seen->lock);
    ASSERT_EQ(seen->attempts.size(), 1 + r.attempts.size());
    EXPECT_EQ(seen->attempts.back(), std::to_string(r.attempts.size()) + " stored");
    EXPECT_EQ(seen->outcomes.size(), 2u);
}

TEST_F(Observers, HearHowTransactionsEnd)
{
    producer p = started(o);
    const auto t = p.send_transaction(message("T", "x"), [](const message&, const receipt&) { return transaction_end::rollback; });
    EXPECT_TRUE(t.confirmed) << t.reason;
    EXPECT_TRUE(p.close(5s));
    const std::lock_guard held(seen->lock);
    EXPECT_EQ(seen->kinds, std::vector{send_kind::half});
    EXPECT_EQ(seen->ends, std::vector<std::string>{"T rollback confirmed"});
}

TEST_F(Observers, ThatThrowHarmNone)
{
    struct thrower final : send_observer {
        void before(message&) override { throw std::runtime_error("before"); }
        void attempted(const observed_attempt&) override { throw 7; }
        void after(const observed_send&) override { throw std::runtime_error("after"); }
    };
    o.observers = {std::make_shared<thrower>(), seen};
    producer p = started(o);
    EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);
    EXPECT_EQ(p.counters().callbacks_threw, 3u);
    const std::lock_guard held(seen->lock);
    EXPECT_EQ(seen->outcomes.size(), 1u);
}

// ---- the trace ----

using record = std::vector<std::string>;

std::vector<record> traced(const cluster::embedded_cluster& cluster, const std::string& topic)
{
    std::vector<record> all;
    for (const auto& m : cluster.snapshot(topic))
        wire::each_trace(m.body, [&](const std::vector<std::string_view>& fields) { all.emplace_back(fields.begin(), fields.end()); });
    return all;
}

TEST(Trace, HasARecordOfEachSendOfItsTopics)
{
    cluster::embedded_cluster cluster;
    for (const char* name : {"orders", "others", "Traces"})
        topic(cluster, name);
    auto o = options_for(cluster);
    o.trace = "ord*";
    o.trace_topic = "Traces";
    producer p = started(o);
    message m("orders", "body");
    m.set_tag("a-tag");
    m.add_key("k1").add_key("k2");
    const receipt first = p.deliver(std::move(m));
    ASSERT_EQ(first.outcome, outcome::stored) << shown(first);
    ASSERT_TRUE(p.send(message("others", "x")));
    for (int i = 0; i < 24; ++i)
        ASSERT_TRUE(p.send(message("orders", "more")));
    EXPECT_EQ(p.send_transaction(message("orders", "x"), [](const message&, const receipt&) { return transaction_end::commit; }).confirmed, true);
    EXPECT_TRUE(p.close(5s));  // with what was gathered

    const auto all = traced(cluster, "Traces");
    ASSERT_EQ(all.size(), 27u);
    const record& r = all.front();
    ASSERT_EQ(r.size(), 14u);
    EXPECT_EQ(r[0], "Pub");
    EXPECT_EQ((record{r[3], r[4], r[5], r[6], r[7]}), (record{o.group, "orders", first.msg_id.str(), "a-tag", "k1 k2"}));
    EXPECT_EQ(r[8], cluster.broker_address(first.broker));
    EXPECT_EQ((record{r[9], r[11], r[12], r[13]}), (record{"4", "0", first.offset_msg_id.str(), "true"}));
    EXPECT_EQ(all[25][11], "1");  // the half message
    EXPECT_EQ(all[26][0], "EndTransaction");
    EXPECT_EQ((record{all[26][9], all[26][10], all[26][11]}), (record{"2", all[25][5], "COMMIT_MESSAGE"}));
    std::string keys;
    for (const auto& kept : cluster.snapshot("Traces"))
        keys += std::string(kept.property("KEYS")) + " ";
    for (const std::string& id : {first.msg_id.str(), std::string("k1"), std::string("k2"), all[25][5]})
        EXPECT_NE(keys.find(id + " "), std::string::npos) << id;
    const counters c = p.counters();
    EXPECT_EQ(c.sends, 27u);  // the producer's own messages do not count
    EXPECT_EQ(c.stored, 27u);
    EXPECT_EQ(c.trace_dropped, 0u);
}

TEST(Trace, TellsOfSendsThatFailed)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    topic(cluster, "Traces");
    auto o = options_for(cluster);
    o.trace = "*";
    o.trace_topic = "Traces";
    producer p = started(o);
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " code 13");
    EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::rejected);
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " ok");
    EXPECT_TRUE(p.close(5s));
    const auto all = traced(cluster, "Traces");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0][13], "false");
    EXPECT_EQ(all[0][12], "null");
}

TEST(Trace, ThatCannotBeStoredIsCountedAndHoldsUpNothing)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = options_for(cluster);
    o.trace = "*";
    o.trace_topic = "Traces";
    o.auto_create_topics = false;  // nobody knows the topic
    producer p = started(o);
    for (int i = 0; i < 25; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    EXPECT_TRUE(p.close(10s));
    EXPECT_EQ(p.counters().trace_dropped, 25u);
}

}  // namespace
}  // namespace shunt::test
