// Sending to "topic:tag", with payloads that are converted.

// With sanitizers g++ 12 takes Asio's use_future for reading what is not set yet.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <support/producer_situation.hpp>

#include <shunt/template.hpp>

#include <boost/asio/use_future.hpp>
#include <boost/json.hpp>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace {

struct order {
    int id = 0;
};

}  // namespace

template <>
struct shunt::payload_converter<order> {
    static std::string to_body(const order& o) { return "order " + std::to_string(o.id); }
};

namespace shunt::test {
namespace {

namespace json = boost::json;

struct Template : testing::Test {
    Template() : p(started(options_for(cluster))), to(p) {}
    cluster::embedded_cluster cluster;
    producer p;
    message_template to;

    /// What lies in the topic; one message.
    cluster::stored_record only(const std::string& topic)
    {
        const auto all = cluster.snapshot(topic);
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? cluster::stored_record() : all.front();
    }
    void expect_nothing_reached_the_wire()
    {
        EXPECT_EQ(cluster.stored(), 0u);
        for (const std::string& b : cluster.broker_names())
            EXPECT_EQ(cluster.counts(b).requests, 0u);
    }
};

TEST_F(Template, SendsToTheTopicWithTheTag)
{
    const receipt r = to.sync_send("orders:paid", "body");
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(r.reason, "");
    EXPECT_EQ(only("orders").body, "body");
    EXPECT_EQ(only("orders").property("TAGS"), "paid");
    EXPECT_EQ(to.sync_send("plain", "body").outcome, outcome::stored);
    EXPECT_EQ(only("plain").property("TAGS"), "");
    EXPECT_EQ(to.sync_send("more:a:b", "body").outcome, outcome::stored);
    EXPECT_EQ(only("more").property("TAGS"), "a:b") << "as theirs: the first colon counts";
}

TEST_F(Template, ConvertsPayloadsByTheirType)
{
    const std::string text = "text";
    const char* const words = "words";
    const std::array<std::byte, 3> bytes{std::byte{0}, std::byte{1}, std::byte{255}};
    const std::vector<unsigned char> octets{7, 0, 9};
    const unsigned char raw[] = {1, 2, 3};
    const json::value value = {{"id", 7}};
    const std::pair<receipt, std::string> sent[] = {
        {to.sync_send("T0", text), "text"},
        {to.sync_send("T1", std::string_view("view")), "view"},
        {to.sync_send("T2", words), "words"},
        {to.sync_send("T3", bytes), std::string("\0\1\xff", 3)},
        {to.sync_send("T4", octets), std::string("\7\0\t", 3)},
        {to.sync_send("T5", raw), "\1\2\3"},
        {to.sync_send("T6", value), R"({"id":7})"},
        {to.sync_send("T7", json::array{1, "x"}), R"([1,"x"])"},
        {to.sync_send("T8", value.as_object()), R"({"id":7})"},
        {to.sync_send("T9", order{42}), "order 42"},
        {to.sync_send("T10", std::optional(order{43})), "order 43"},
        {to.sync_send("T11", std::make_unique<order>(order{44})), "order 44"},
        {to.sync_send("T12", std::make_shared<std::string>("shared")), "shared"},
    };
    int i = 0;
    for (const auto& [r, body] : sent) {
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(only("T" + std::to_string(i++)).body, body);
    }
}

TEST_F(Template, SendsWhatElseAMessageHas)
{
    const receipt r = to.sync_send("orders:paid", with_payload(order{7}).add_key("7").set_property("city", "Basel").set_flag(3).set_tag("lost"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    const auto m = only("orders");
    EXPECT_EQ(m.body, "order 7");
    EXPECT_EQ(m.property("KEYS"), "7");
    EXPECT_EQ(m.property("city"), "Basel");
    EXPECT_EQ(m.property("TAGS"), "paid") << "the destination decides";
}

TEST_F(Template, AnAbsentPayloadIsRefusedBeforeAnythingElse)
{
    const char* const nothing = nullptr;
    const std::string bad = "a topic that no broker takes:";
    const receipt refused[] = {
        to.sync_send(bad, nullptr), to.sync_send(bad, nothing), to.sync_send(bad, std::optional<order>()),
        to.sync_send(bad, std::unique_ptr<order>()), to.sync_send(bad, std::nullopt), to.sync_send(bad, with_payload(std::nullopt)),
        to.sync_send_orderly(bad, nullptr, "k"), to.sync_send_delayed(bad, nullptr, -1s), to.send_one_way(bad, nullptr),
        to.send_one_way_orderly(bad, nullptr, "k"), to.sync_send_deliver_at(bad, nullptr, {}),
        to.sync_send_batch(bad, std::vector<std::optional<order>>{order{1}, std::nullopt}).send,
        to.send_message_in_transaction("orders", nullptr, [](const message&, const receipt&) { return transaction_end::commit; }).half,
        to.send_and_receive("orders", nullptr).send,
    };
    int i = 0;
    for (const receipt& r : refused) {
        SCOPED_TRACE(i++);
        EXPECT_EQ(r.outcome, outcome::not_sent);
        EXPECT_EQ(r.error, errc::absent_payload) << r.reason;
    }
    expect_nothing_reached_the_wire();
}

TEST_F(Template, ErrorsNameTheDestination)
{
    struct row {
        const char* destination;
        errc why;
        const char* reason;
    };
    const row rows[] = {
        {"", errc::invalid_topic, "destination \"\": it names no topic; write \"topic\" or \"topic:tag\""},
        {":paid", errc::invalid_topic, "destination \":paid\": it names no topic; write \"topic\" or \"topic:tag\""},
        {"orders:", errc::invalid_topic, "destination \"orders:\": no tag follows the colon; without a tag it is \"orders\""},
        {"a b:paid", errc::invalid_topic, "destination \"a b:paid\": topic 'a b' has characters other than a-z A-Z 0-9 _ - % |"},
        {"TBW102:x", errc::forbidden_topic, "destination \"TBW102:x\": topic 'TBW102' belongs to the brokers; applications may not send to it"},
    };
    for (const row& r : rows) {
        SCOPED_TRACE(r.destination);
        const receipt sync = to.sync_send(r.destination, "body");
        EXPECT_EQ(sync.error, r.why);
        EXPECT_EQ(sync.outcome, outcome::not_sent);
        EXPECT_EQ(sync.reason, r.reason);
        EXPECT_EQ(to.sync_send_orderly(r.destination, "body", "k").reason, r.reason);
        EXPECT_EQ(to.send_one_way(r.destination, "body").reason, r.reason);
        EXPECT_EQ(to.send_and_receive(r.destination, "body").reason, r.reason);
        const auto t = to.send_message_in_transaction(r.destination, "body", [](const message&, const receipt&) { return transaction_end::commit; });
        EXPECT_EQ(t.half.reason, r.reason);
        EXPECT_TRUE(t.reason.starts_with("destination \"")) << t.reason;
        EXPECT_TRUE(to.sync_send_batch(r.destination, std::vector<std::string>{"a", "b"}).send.reason.starts_with(
            "destination \"" + std::string(r.destination) + "\": "));
        collector sent;
        to.async_send(r.destination, "body", sent.handler(0));
        to.async_send_orderly(r.destination, "body", "k", sent.handler(1));
        ASSERT_TRUE(sent.wait(2));
        for (const auto& [i, async] : sent.receipts()) {
            EXPECT_EQ(async.error, r.why);
            EXPECT_EQ(async.reason, r.reason);
            EXPECT_TRUE(async.attempts.empty());
        }
    }
    EXPECT_EQ(to.sync_send("T", "body", 0ms, 19).reason, "destination \"T\": delay level 19; it must be 1 to 18, or 0 for none");
    EXPECT_TRUE(to.sync_send_delayed("T", "body", -1ms).reason.starts_with("destination \"T\": a delay of -1 ms"));
    EXPECT_EQ(cluster.stored(), 0u);
    expect_quiet(p);
}

TEST_F(Template, ErrorsOfBrokersNameTheDestinationToo)
{
    topic(cluster, "T");
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " code 13");
    const receipt r = to.sync_send("T:tag", "body");
    EXPECT_EQ(r.outcome, outcome::rejected) << shown(r);
    EXPECT_TRUE(r.reason.starts_with("destination \"T:tag\": ")) << r.reason;
    EXPECT_GT(r.reason.size(), sizeof "destination \"T:tag\": ") << "and say what is wrong";
}

TEST_F(Template, TimeoutAndDelayLevelAreArguments)
{
    topic(cluster, "T");
    EXPECT_EQ(to.sync_send("T", "later", 5s, 1).outcome, outcome::stored);
    EXPECT_EQ(to.sync_send_delayed("T", "later", 1s).outcome, outcome::stored);
    EXPECT_EQ(to.sync_send_deliver_at("T", "later", std::chrono::system_clock::now() + 1h).outcome, outcome::stored);
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " hang");
    const auto begun = clock::now();
    EXPECT_NE(to.sync_send("T", "never", 300ms).outcome, outcome::stored);
    EXPECT_LT(clock::now() - begun, 300ms + grace());
    collector sent;
    to.async_send("T", "never", sent.handler(0), 200ms);
    ASSERT_TRUE(sent.wait(1));
    EXPECT_LT(sent.receipts()[0].latency, 200ms + grace());
}

TEST_F(Template, OrderlyMessagesGoWhereJavaPutsThem)
{
    topic(cluster, "T");
    // abs(String.hashCode % 12): broker-a 0..3, broker-b 4..7, broker-c 8..11.
    struct row {
        const char* key;
        const char* broker;
        int queue;
    };
    const row rows[] = {{"order-1", "broker-a", 2}, {"order-2", "broker-a", 1}, {"", "broker-a", 0}, {"a", "broker-a", 1}, {"polygenelubricants", "broker-c", 0},
                        {"\xe4\xb8\xad\xe6\x96\x87", "broker-a", 2}, {"\xf0\x9f\x98\x80", "broker-b", 3}};
    for (const row& r : rows) {
        SCOPED_TRACE(r.key);
        for (int i = 0; i < 3; ++i) {
            const receipt sync = to.sync_send_orderly("T:tag", "body", r.key);
            EXPECT_EQ(sync.outcome, outcome::stored) << shown(sync);
            EXPECT_EQ(sync.broker, r.broker);
            EXPECT_EQ(sync.queue, r.queue);
        }
        collector sent;
        to.async_send_orderly("T:tag", "body", r.key, sent.handler(0));
        ASSERT_TRUE(sent.wait(1));
        EXPECT_EQ(sent.receipts()[0].broker, r.broker);
        EXPECT_EQ(sent.receipts()[0].queue, r.queue);
    }
}

TEST_F(Template, OrderlyMessagesGoByAPolicyWhereOneIsNamed)
{
    topic(cluster, "T");
    auto o = options_for(cluster);
    o.policies["by-key"].selector.use = "consistent-hash";
    o.policies["by-key"].fault.use = "none";
    o.policies["by-key"].ordered = true;
    producer other = started(o);
    message_template by_key(other, "by-key");
    const receipt r = by_key.sync_send_orderly("T", "body", "k");
    EXPECT_EQ(r.policy, "by-key");
    EXPECT_EQ(by_key.sync_send("T", "body").policy, "default");
    message_template wrong(other, "by-kee");
    const receipt refused = wrong.sync_send_orderly("T:t", "body", "k");
    EXPECT_EQ(refused.error, errc::unknown_policy);
    EXPECT_TRUE(refused.reason.starts_with("destination \"T:t\": ")) << refused.reason;
}

TEST_F(Template, SendsWithoutWaitingForAnAnswer)
{
    EXPECT_EQ(to.send_one_way("T:a", "one").error, error_code());
    EXPECT_EQ(to.send_one_way_orderly("T:b", "two", "k").error, error_code());
    EXPECT_TRUE(cluster.wait_stored(2, patience));
}

TEST_F(Template, SendsABatchAndATransaction)
{
    const batch_receipt b = to.sync_send_batch("B:tag", std::vector<order>{{1}, {2}, {3}});
    EXPECT_EQ(b.send.outcome, outcome::stored) << shown(b.send);
    EXPECT_EQ(b.size(), 3u);
    EXPECT_EQ(cluster.snapshot("B").size(), 3u);
    EXPECT_EQ(cluster.snapshot("B").at(1).property("TAGS"), "tag");
    const batch_receipt refused = to.sync_send_batch("B:tag", std::vector<std::optional<order>>{order{1}, std::nullopt});
    EXPECT_EQ(refused.send.reason, "destination \"B:tag\": the payload is absent; there must be something to send; it is number 1 of the batch, from 0");
    const auto t = to.send_message_in_transaction("X:tag", order{7}, [](const message& m, const receipt&) {
        return m.tag() == "tag" ? transaction_end::commit : transaction_end::rollback;
    });
    EXPECT_TRUE(t.confirmed) << t.reason;
    EXPECT_EQ(t.reason, "");
    EXPECT_EQ(only("X").body, "order 7");
}

TEST_F(Template, AsksAndGetsTheReply)
{
    topic(cluster, "Q");
    auto o = options_for(cluster);
    o.group = "answering";
    producer other = started(o);
    other.answer_requests("Q", [](const stored_message& m) { return "re: " + m.body; });
    EXPECT_TRUE(eventually([&] { return to.send_and_receive("Q:ask", "there?", 500ms).body == "re: there?"; }));
    const reply_receipt none = to.send_and_receive("Q:ask", std::optional<std::string>());
    EXPECT_EQ(none.error, errc::absent_payload);
    EXPECT_EQ(none.reason, "destination \"Q:ask\": the payload is absent; there must be something to send");
}

TEST_F(Template, CompletesOnAnyToken)
{
    auto f = to.async_send("T:tag", order{7}, boost::asio::use_future);
    EXPECT_EQ(f.get().outcome, outcome::stored);
    EXPECT_THROW(to.async_send("T:tag", nullptr, boost::asio::use_future).get(), boost::system::system_error);
    p.close();
    collector sent;
    to.async_send("T", nullptr, sent.handler(0));
    to.async_send("T", "body", sent.handler(1));
    ASSERT_TRUE(sent.wait(2));
    EXPECT_EQ(sent.receipts()[0].error, errc::absent_payload);
    EXPECT_EQ(sent.receipts()[1].error, errc::closed);
}

}  // namespace
}  // namespace shunt::test
