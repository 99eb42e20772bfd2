// Auto-batching: messages travel together while others are under way, and each keeps what is its own.

#include <support/producer_situation.hpp>

#include <wire/command.hpp>

namespace shunt::test {
namespace {

producer_options batching(const cluster::embedded_cluster& c)
{
    auto o = options_for(c);
    o.auto_batch = true;
    return o;
}

struct Gathering : testing::Test {
    Gathering() { topic(cluster, "T"); }
    std::uint64_t requests(std::int32_t code) const
    {
        std::uint64_t n = 0;
        for (const std::string& b : cluster.broker_names()) {
            const auto counts = cluster.counts(b);
            if (const auto it = counts.by_code.find(code); it != counts.by_code.end())
                n += it->second;
        }
        return n;
    }
    cluster::embedded_cluster cluster{{.brokers = 2}};
};

TEST_F(Gathering, IsOffUnlessItIsAskedFor)
{
    producer p = started(options_for(cluster));
    collector c;
    for (int i = 0; i < 500; ++i)
        p.async_send(message("T", "m"), c.handler(i));
    ASSERT_TRUE(c.wait(500));
    EXPECT_EQ(requests(wire::code::send_batch_message), 0u);
}

TEST_F(Gathering, SendsManyWithFewRequestsAndEachReceiptIsRight)
{
    producer p = started(batching(cluster));
    collector c;
    constexpr int n = 5000;
    for (int i = 0; i < n; ++i)
        p.async_send(message("T", "body " + std::to_string(i)).add_key("k" + std::to_string(i)).set_flag(i).set_tag(i % 2 != 0 ? "odd" : "even"),
                     c.handler(i));
    ASSERT_TRUE(c.wait(n));
    std::map<std::string, cluster::stored_record> by_id;
    for (const auto& r : cluster.snapshot("T"))
        by_id[r.msg_id] = r;
    ASSERT_EQ(by_id.size(), static_cast<std::size_t>(n));
    for (const auto& [i, r] : c.receipts()) {
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        const auto& m = by_id[r.msg_id.str()];
        EXPECT_EQ(m.body, "body " + std::to_string(i));
        EXPECT_EQ(m.key, "k" + std::to_string(i));
        EXPECT_EQ(m.flag, i);
        EXPECT_EQ(m.tag, i % 2 != 0 ? "odd" : "even");
        EXPECT_EQ(m.offset_msg_id, r.offset_msg_id.view());
        EXPECT_EQ(m.broker, r.broker);
        EXPECT_EQ(m.queue, r.queue);
        EXPECT_EQ(m.offset, r.offset);
    }
    EXPECT_LT(cluster.counts("broker-a").sends + cluster.counts("broker-b").sends, static_cast<std::uint64_t>(n) / 2);
    EXPECT_GT(requests(wire::code::send_batch_message), 0u);
    expect_quiet(p);
}

TEST_F(Gathering, LetsAMessageThatIsAloneGoAtOnceAndAsItIs)
{
    auto o = batching(cluster);
    o.batch_linger = 60s;
    producer p = started(o);
    for (int i = 0; i < 10; ++i) {
        const receipt r = p.deliver(message("T", "alone"));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    }
    EXPECT_EQ(requests(wire::code::send_batch_message), 0u);
    EXPECT_EQ(requests(wire::code::send_message_v2), 10u);
}

TEST_F(Gathering, WaitsForOthersNoLongerThanTheLinger)
{
    auto o = with_policy(batching(cluster), "best-queue");
    o.batch_linger = 20ms;
    o.attempts = 1;
    producer p = started(o);
    send_options to;
    to.queue = {"broker-a", 0};
    ASSERT_TRUE(p.send(message("T", "learn the way"), to));
    command(cluster, "broker-a latency 1500ms");
    collector c;
    p.async_send(message("T", "first"), to, c.handler(0));
    ASSERT_TRUE(cluster.wait_until([&] { return cluster.snapshot("T").size() == 2; }, patience));
    p.async_send(message("T", "second"), to, c.handler(1));
    ASSERT_TRUE(cluster.wait_until([&] { return cluster.snapshot("T").size() == 3; }, patience));
    EXPECT_EQ(c.size(), 0u) << "the second did not wait for the first one's answer";
    ASSERT_TRUE(c.wait(2));
}

TEST_F(Gathering, KeepsBatchesWithinTheirBounds)
{
    auto o = batching(cluster);
    o.batch_messages = 10;
    producer p = started(o);
    collector c;
    for (int i = 0; i < 1000; ++i)
        p.async_send(message("T", "m"), c.handler(i));
    ASSERT_TRUE(c.wait(1000));
    EXPECT_GE(requests(wire::code::send_batch_message) + requests(wire::code::send_message_v2), 100u);
    for (const auto& [i, r] : c.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
}

TEST_F(Gathering, LeavesAloneWhatCannotTravelInABatch)
{
    auto o = batching(cluster);
    o.batch_bytes = 1024;
    producer p = started(o);
    collector c;
    send_options to;
    to.queue = {"broker-a", 0};
    p.async_send(message("T", std::string(2000, 'l')), to, c.handler(0));
    p.async_send(message("T", "level").set_delay_level(1), to, c.handler(1));
    p.async_send(message("T", "delay").set_delay(1s), to, c.handler(2));
    p.async_send(message("T", "priority").set_priority(1), to, c.handler(3));
    p.async_send_oneway(message("T", "one way"), to, c.handler(4));
    ASSERT_TRUE(c.wait(5));
    EXPECT_EQ(requests(wire::code::send_batch_message), 0u);
    EXPECT_TRUE(cluster.wait_until([&] { return cluster.snapshot("T").size() == 5; }, patience));
}

TEST_F(Gathering, KeepsTheOrderOfAKeyAndTakesItsMessagesTogether)
{
    auto o = with_policy(batching(cluster), "hash", "none", true);
    producer p = started(o);
    collector c;
    constexpr int keys = 4, each = 500;
    for (int i = 0; i < each; ++i) {
        for (int k = 0; k < keys; ++k)
            p.async_send(message("T", std::to_string(i)).set_order_key("k" + std::to_string(k)).add_key("k" + std::to_string(k)), c.handler(i * keys + k));
    }
    ASSERT_TRUE(c.wait(keys * each));
    std::map<std::string, std::vector<int>> by_key;
    for (const auto& r : cluster.snapshot("T"))
        by_key[r.key].push_back(std::stoi(r.body));
    for (const auto& [key, bodies] : by_key) {
        EXPECT_EQ(bodies.size(), static_cast<std::size_t>(each));
        EXPECT_TRUE(std::is_sorted(bodies.begin(), bodies.end())) << key;
    }
    EXPECT_LT(cluster.counts("broker-a").sends + cluster.counts("broker-b").sends, static_cast<std::uint64_t>(keys * each) / 4)
        << "followers ride with the head of their lane";
    for (const auto& [i, r] : c.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    expect_quiet(p);
}

// What had run out of time before it was written was tried again behind its followers.
TEST_F(Gathering, LetsNothingGoAheadOfAMessageThatLeftBeforeItWasWritten)
{
    topic(cluster, "Q", 1);
    command(cluster, "broker-b gone");
    auto o = with_policy(batching(cluster), "hash", "none", true);
    o.batch_linger = 60s;
    o.retry_backoff = 0ms;
    producer p = started(o);
    ASSERT_TRUE(p.send(message("Q", "warm")));
    command(cluster, "broker-a latency 2200ms");
    collector c;
    const auto send = [&](int i, const char* key, std::chrono::milliseconds timeout) {
        send_options s;
        s.timeout = timeout;
        s.attempts = 2;
        p.async_send(message("Q", std::to_string(i)).set_order_key(key), s, c.handler(i));
    };
    send(0, "another", 20s);
    ASSERT_TRUE(cluster.wait_sends("broker-a", 2, patience));
    // All others gather until that is answered: 1 leaves twice, the first time to take the rest along, then 2 leaves once.
    send(1, "k", 300ms);
    send(2, "k", 3s);
    send(3, "k", 20s);
    ASSERT_TRUE(c.wait(4));
    std::vector<int> bodies;
    for (const auto& r : cluster.snapshot("Q"))
        if (r.body == "2" || r.body == "3")
            bodies.push_back(std::stoi(r.body));
    EXPECT_TRUE(std::is_sorted(bodies.begin(), bodies.end())) << "3 went ahead of 2";
    EXPECT_EQ(c.receipts()[3].outcome, outcome::stored) << shown(c.receipts()[3]);
    expect_quiet(p);
}

TEST_F(Gathering, RetriesEachMessageOfABatchThatFailed)
{
    auto o = batching(cluster);
    producer p = started(o);
    ASSERT_TRUE(p.send(message("T", "learn the way")));
    command(cluster, "broker-a code 2");
    collector c;
    for (int i = 0; i < 400; ++i)
        p.async_send(message("T", std::to_string(i)), c.handler(i));
    ASSERT_TRUE(c.wait(400));
    for (const auto& [i, r] : c.receipts()) {
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.broker, "broker-b");
    }
    EXPECT_EQ(cluster.snapshot("T").size(), 401u);
    expect_quiet(p);
}

TEST_F(Gathering, KeepsOrderAndLosesNothingThroughFailures)
{
    auto o = with_policy(batching(cluster), "hash", "none", true);
    o.attempts = 16;
    o.retry_backoff_max = 20ms;
    o.send_timeout = 30s;
    producer p = started(o);
    collector c;
    constexpr int keys = 3, each = 300;
    for (int i = 0; i < each; ++i) {
        for (int k = 0; k < keys; ++k)
            p.async_send(message("T", std::to_string(i)).set_order_key("k" + std::to_string(k)).add_key("k" + std::to_string(k)), c.handler(i * keys + k));
        if (i == each / 3)
            command(cluster, "broker-a code 2");
        if (i == 2 * each / 3)
            command(cluster, "broker-a ok");
    }
    command(cluster, "broker-b close");
    ASSERT_TRUE(cluster.wait_until([&] { return cluster.counts("broker-b").sends > 0; }, patience));
    command(cluster, "broker-b ok");
    ASSERT_TRUE(c.wait(keys * each, 2 * patience));
    std::map<std::string, std::vector<int>> by_key;
    for (const auto& r : cluster.snapshot("T")) {
        auto& seen = by_key[r.key];
        if (std::find(seen.begin(), seen.end(), std::stoi(r.body)) == seen.end())
            seen.push_back(std::stoi(r.body));
    }
    bool doubt = false;
    for (const auto& [i, r] : c.receipts()) {
        doubt = doubt || r.outcome == outcome::unknown;
        EXPECT_TRUE(r.outcome == outcome::stored || r.outcome == outcome::unknown) << shown(r);
    }
    for (const auto& [key, bodies] : by_key)
        EXPECT_TRUE(doubt || std::is_sorted(bodies.begin(), bodies.end())) << key;
    expect_agreement(cluster, c.receipts());
    expect_quiet(p);
}

TEST_F(Gathering, EndsEachMessageByItsOwnDeadline)
{
    auto o = batching(cluster);
    o.attempts = 1;
    producer p = started(o);
    ASSERT_TRUE(p.send(message("T", "learn the way")));
    for (const char* b : {"broker-a", "broker-b"})
        command(cluster, std::string(b) + " hang");
    collector c;
    send_options brief, patient;
    brief.timeout = 200ms;
    patient.timeout = 900ms;
    for (int i = 0; i < 40; ++i)
        p.async_send(message("T", "x"), i % 2 == 0 ? brief : patient, c.handler(i));
    ASSERT_TRUE(c.wait(40));
    for (const auto& [i, r] : c.receipts()) {
        EXPECT_NE(r.outcome, outcome::stored);
        const auto limit = i % 2 == 0 ? 200ms : 900ms;
        EXPECT_GE(r.latency, limit - 20ms) << i;
        EXPECT_LT(r.latency, limit + grace()) << i;
    }
    for (const char* b : {"broker-a", "broker-b"})
        command(cluster, std::string(b) + " ok");
    EXPECT_TRUE(eventually([&] { return p.deliver(message("T", "well again")).outcome == outcome::stored; }));
    expect_quiet(p);
}

TEST_F(Gathering, EndsThousandsThatGetNoAnswer)
{
    auto o = batching(cluster);
    o.send_timeout = 1s;
    producer p = started(o);
    ASSERT_TRUE(p.send(message("T", "learn the way")));
    for (const char* b : {"broker-a", "broker-b"})
        command(cluster, std::string(b) + " hang");
    collector c;
    constexpr int n = 5000;
    for (int i = 0; i < n; ++i)
        p.async_send(message("T", std::to_string(i)), c.handler(i));
    ASSERT_TRUE(c.wait(n)) << c.size();
    for (const auto& [i, r] : c.receipts())
        EXPECT_NE(r.outcome, outcome::stored);
    expect_quiet(p);
}

TEST_F(Gathering, SaysNotSentOnlyOfWhatWasNotSent)
{
    auto o = with_policy(batching(cluster), "best-queue");
    o.attempts = 1;
    producer p = started(o);
    send_options brief, patient;
    brief.queue = patient.queue = {"broker-a", 0};
    ASSERT_TRUE(p.send(message("T", "learn the way"), patient));
    command(cluster, "broker-a refuse");
    brief.timeout = 50ms;
    collector c;
    for (int i = 0; i < 200; ++i)
        p.async_send(message("T", "x"), i % 2 == 0 ? brief : patient, c.handler(i));
    ASSERT_TRUE(c.wait(100));
    command(cluster, "broker-a ok");
    ASSERT_TRUE(c.wait(200));
    expect_agreement(cluster, c.receipts());
    expect_quiet(p);
}

TEST_F(Gathering, CompletesEverythingWhenTheProducerCloses)
{
    producer p = started(batching(cluster));
    ASSERT_TRUE(p.send(message("T", "learn the way")));
    for (const char* b : {"broker-a", "broker-b"})
        command(cluster, std::string(b) + " hang");
    collector c;
    for (int i = 0; i < 200; ++i)
        p.async_send(message("T", "x"), c.handler(i));
    EXPECT_FALSE(p.close(100ms));
    ASSERT_TRUE(c.wait(200));
    for (const auto& [i, r] : c.receipts())
        EXPECT_EQ(r.error, make_send_error(errc::cancelled, r.outcome)) << shown(r);
}

}  // namespace
}  // namespace shunt::test
