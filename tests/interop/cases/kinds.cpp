// Cases of every kind of message: delays, priorities, compression, batches, transactions, requests; and questions.

// With sanitizers g++ 12 takes Asio's use_future for reading what is not set yet.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <interop/cases/cases.hpp>
#include <interop/cases/situation.hpp>
#include <wire/trace.hpp>

#include <shunt/template.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <iostream>

namespace shunt::cases {

namespace {

/// These cases are about what becomes of messages, not about time: brokers on a busy machine may take seconds.
producer_options patient(world& w)
{
    auto o = options_for(w);
    o.send_timeout = 30s;
    return o;
}

// ---- later ----

void delay_by_duration(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    const auto sent = std::chrono::system_clock::now();
    const receipt r = p.deliver(message(topic, "later").set_delay(3s));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    const receipt at_once = p.deliver(message(topic, "now"));
    ASSERT_EQ(lying_at_least(w, topic, 1).at(0).msg_id(), at_once.msg_id.view());
    const auto all = lying_at_least(w, topic, 2);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_GE(std::chrono::system_clock::now() - sent, 1s) << "brokers are exact to a second";
}

void deliver_at_a_time(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    const receipt r = p.deliver(message(topic, "later").set_deliver_at(std::chrono::system_clock::now() + 3s));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(lying_at_least(w, topic, 1).at(0).msg_id(), r.msg_id.view());
}

void delay_beyond_the_brokers_bound(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = patient(w);
    o.max_delay = 200h;  // more than brokers take
    auto p = started(o);
    const receipt r = p.deliver(message(topic, "too late").set_delay(100h));
    EXPECT_EQ(r.outcome, outcome::rejected) << shown(r);
    ASSERT_EQ(r.attempts.size(), 1u) << "it cannot succeed elsewhere";
    EXPECT_EQ(r.attempts[0].code, 13);
    EXPECT_TRUE(w.messages(topic).empty());
}

void recall(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    const receipt r = p.deliver(message(topic, "never").set_delay(6s));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    ASSERT_FALSE(r.recall_handle.empty());
    const receipt later = p.deliver(message(topic, "later").set_delay(8s));
    const auto id = p.recall(topic, r.recall_handle);
    ASSERT_TRUE(id) << id.error().text;
    EXPECT_EQ(*id, r.msg_id.view());
    EXPECT_EQ(lying_at_least(w, topic, 1).at(0).msg_id(), later.msg_id.view()) << "what was recalled first would be there first";
    const auto again = p.recall(topic, r.recall_handle);
    EXPECT_FALSE(again) << "its time is over";
    EXPECT_EQ(again.error().broker_code, 604) << again.error().text;
}

void priority(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    const receipt r = p.deliver(message(topic, "urgent").set_priority(1));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(lying_at_least(w, topic, 1).at(0).property("_SYS_MSG_PRIORITY_"), "1");
}

// ---- compression ----

void compressed(world& w, const std::string& topic)
{
    w.create_topic(topic);
    std::string body;
    for (int i = 0; i < 2000; ++i)
        body += "line " + std::to_string(i) + " of a compressible body\n";
    std::map<std::string, std::string> sent;
    for (const compression by : {compression::zlib, compression::lz4, compression::zstd}) {
        auto o = patient(w);
        o.compress = by;
        auto p = started(o);
        const receipt r = p.deliver(message(topic, body));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_TRUE(eventually([&] { return p.view(topic, r.offset_msg_id.str()).has_value(); }));
        const auto m = p.view(topic, r.offset_msg_id.str());
        EXPECT_EQ(m->body, body);
        EXPECT_NE(m->sys_flag & 0x1, 0);
    }
}

// ---- the trace ----

void trace(world& w, const std::string& topic)
{
    const std::string traces = topic + "-traces";
    w.create_topic(topic);
    w.create_topic(traces);
    auto o = patient(w);
    o.trace = topic;
    o.trace_topic = traces;
    receipt r;
    {
        auto p = started(o);
        r = p.deliver(message(topic, "traced").add_key("k1").set_tag("a-tag"));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_TRUE(p.close(30s));
        EXPECT_EQ(p.counters().trace_dropped, 0u);
    }
    auto p = producer_for(w);
    std::vector<stored_message> found;
    ASSERT_TRUE(eventually([&] {
        if (const auto told = p.query(traces, r.msg_id.str()))
            found = *told;
        return !found.empty();
    }));
    std::vector<std::string> fields;
    wire::each_trace(found[0].body, [&](const std::vector<std::string_view>& of) { fields.assign(of.begin(), of.end()); });
    ASSERT_EQ(fields.size(), 14u);
    EXPECT_EQ(fields[0], "Pub");
    EXPECT_EQ(fields[4], topic);
    EXPECT_EQ(fields[5], r.msg_id.str());
    EXPECT_EQ(fields[7], "k1");
    EXPECT_EQ(fields[12], r.offset_msg_id.str());
    EXPECT_EQ(fields[13], "true");
}

// ---- batches ----

std::vector<message> list_of(const std::string& topic, int n, std::size_t size = 64)
{
    std::vector<message> all;
    for (int i = 0; i < n; ++i)
        all.push_back(message(topic, std::to_string(i) + " " + std::string(size, 'b')).add_key("k" + std::to_string(i)).set_flag(i).set_property("n", std::to_string(i)));
    return all;
}

void expect_batch(world& w, const std::string& topic, const std::vector<batch_receipt>& sent, std::size_t n)
{
    std::map<std::string, lying> there;
    for (const lying& m : lying_at_least(w, topic, n))
        there[m.msg_id()] = m;
    ASSERT_EQ(there.size(), n) << "each with an id of its own";
    for (const batch_receipt& b : sent) {
        ASSERT_EQ(b.send.outcome, outcome::stored) << shown(b.send);
        for (std::size_t i = 0; i < b.size(); ++i) {
            const receipt one = b.of(i);
            ASSERT_TRUE(there.contains(one.msg_id.str()));
            const lying& m = there[one.msg_id.str()];
            const std::string number = std::to_string(b.first + i);
            EXPECT_TRUE(m.body.starts_with(number + " "));
            EXPECT_EQ(m.property("KEYS"), "k" + number);
            EXPECT_EQ(m.property("n"), number);
            EXPECT_EQ(m.flag, static_cast<int>(b.first + i));
            EXPECT_EQ(m.broker, one.broker);
            EXPECT_EQ(m.queue, one.queue);
            EXPECT_EQ(m.offset, one.offset);
        }
    }
}

void batch_by_hand(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    const std::vector<batch_receipt> sent{p.deliver_batch(list_of(topic, 100))};
    expect_batch(w, topic, sent, 100);
    auto f = p.async_send_batch(list_of(topic, 3), {}, boost::asio::use_future);
    EXPECT_EQ(f.get().send.outcome, outcome::stored);
}

void batch_that_is_split(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = patient(w);
    o.max_body = 64 * 1024;
    auto p = started(o);
    const auto sent = p.deliver_batches(list_of(topic, 300, 1000));
    EXPECT_GE(sent.size(), 5u);
    expect_batch(w, topic, sent, 300);
}

void auto_batches(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = patient(w);
    o.auto_batch = true;
    auto p = started(o);
    gathered g;
    constexpr std::size_t n = 5000;
    g.expect(n);
    for (std::size_t i = 0; i < n; ++i)
        p.async_send(message(topic, std::to_string(i)).add_key("k" + std::to_string(i)), [&g](error_code, receipt r) { g.take(std::move(r)); });
    const auto& receipts = g.wait();
    std::map<std::string, lying> there;
    for (const lying& m : lying_at_least(w, topic, n))
        there[m.msg_id()] = m;
    ASSERT_EQ(there.size(), n);
    for (const receipt& r : receipts) {
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        const lying& m = there[r.msg_id.str()];
        EXPECT_EQ(m.property("KEYS"), "k" + m.body);
        EXPECT_EQ(m.broker, r.broker);
        EXPECT_EQ(m.queue, r.queue);
        EXPECT_EQ(m.offset, r.offset);
    }
    EXPECT_LT(p.counters().writes, n);
}

void ordered_auto_batches(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = patient(w);
    o.policies["default"].selector.use = "hash";
    o.policies["default"].fault.use = "none";
    o.policies["default"].ordered = true;
    o.auto_batch = true;
    auto p = started(o);
    gathered g;
    constexpr int keys = 4, each = 300;
    g.expect(keys * each);
    for (int i = 0; i < each; ++i) {
        for (int k = 0; k < keys; ++k)
            p.async_send(message(topic, std::to_string(i)).set_order_key("k" + std::to_string(k)).add_key("k" + std::to_string(k)),
                         [&g](error_code, receipt r) { g.take(std::move(r)); });
    }
    for (const receipt& r : g.wait())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    std::map<std::string, std::vector<int>> by_key;
    for (const lying& m : lying_at_least(w, topic, keys * each))
        by_key[m.property("KEYS")].push_back(std::stoi(m.body));
    for (const auto& [key, bodies] : by_key) {
        EXPECT_EQ(bodies.size(), static_cast<std::size_t>(each)) << key;
        EXPECT_TRUE(std::is_sorted(bodies.begin(), bodies.end())) << key;
    }
}

/// Messages of 128 bytes a second, all sent at once.
double rate_of(world& w, const std::string& topic, bool batched)
{
    auto o = patient(w);
    o.auto_batch = batched;
    o.send_timeout = 60s;
    auto p = started(o);
    EXPECT_TRUE(p.send(message(topic, "learn the way")));
    gathered g;
    constexpr std::size_t n = 20'000;
    g.expect(n);
    const auto begun = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < n; ++i)
        p.async_send(message(topic, std::string(128, 'b')), [&g](error_code, receipt r) { g.take(std::move(r)); });
    for (const receipt& r : g.wait())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    return static_cast<double>(n) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

void batches_are_faster(world& w, const std::string& topic)
{
    w.create_topic(topic);
    (void)rate_of(w, topic, true);  // the broker warms up
    const int pairs = w.name() == "embedded" ? 1 : 5;
    double best = 0;
    for (int i = 0; i < pairs; ++i) {  // one beside the other: what else this machine does slows down both
        const double alone = rate_of(w, topic, false), together = rate_of(w, topic, true);
        std::cout << w.name() << ": " << static_cast<int>(alone) << " messages/s alone, " << static_cast<int>(together) << " batched\n";
        best = std::max(best, together / alone);
    }
    EXPECT_GE(best, w.name() == "embedded" ? 0 : 5);
}

// ---- back-pressure ----

boost::asio::awaitable<void> as_there_is_room(producer& p, const std::string& topic, int many, gathered& g)
{
    for (int i = 0; i < many; ++i) {
        room place = co_await p.async_room(topic, 128, 60s, boost::asio::use_awaitable);
        message m(topic, std::to_string(i) + std::string(100, 'b'));
        p.async_send(std::move(place), std::move(m), {}, [&g](error_code, receipt r) { g.take(std::move(r)); });
    }
}

void back_pressure(world& w, const std::string& topic)
{
    constexpr int many = 500;
    constexpr std::size_t at_once = 8;
    w.create_topic(topic);
    auto o = patient(w);
    o.when_full = when_full::refuse;
    limit_options limit;
    limit.topic = topic;
    limit.max_in_flight_messages = at_once;
    o.limits = {limit};
    auto p = started(o);
    gathered g;
    g.expect(2 * many);
    boost::asio::io_context mine;
    std::size_t most = 0;
    for (int sender = 0; sender < 2; ++sender)
        boost::asio::co_spawn(mine, as_there_is_room(p, topic, many, g), boost::asio::detached);
    while (mine.run_one() != 0)
        most = std::max<std::size_t>(most, p.counters().in_flight_messages);
    for (const receipt& r : g.wait())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_LE(most, at_once);
    EXPECT_EQ(lying_at_least(w, topic, 2 * many).size(), 2u * many);
}

// ---- transactions ----

void transactions(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = patient(w);
    o.group = "PG_tx_" + topic;
    auto p = started(o);
    const auto ends = [](transaction_end e) { return [e](const message&, const receipt&) { return e; }; };
    const auto committed = p.send_transaction(message(topic, "committed").add_key("k"), ends(transaction_end::commit));
    EXPECT_TRUE(committed.confirmed) << committed.reason << shown(committed.half);
    const auto rolled_back = p.send_transaction(message(topic, "rolled back"), ends(transaction_end::rollback));
    EXPECT_TRUE(rolled_back.confirmed) << rolled_back.reason;
    ASSERT_EQ(lying_at_least(w, topic, 1).at(0).body, "committed");
    EXPECT_EQ(w.messages(topic).at(0).msg_id(), committed.half.msg_id.view());
    EXPECT_EQ(w.messages(topic).at(0).property("KEYS"), "k");

    // What is not decided is asked for, of a program of the group that was started later.
    const auto open = p.send_transaction(message(topic, "decided later"), ends(transaction_end::unknown));
    ASSERT_EQ(open.half.outcome, outcome::stored) << shown(open.half);
    p.close();
    auto again = started(o);
    std::atomic<int> asked{0};
    again.answer_checks({topic}, [&](const stored_message& half) {
        ++asked;
        return half.body == "decided later" ? transaction_end::commit : transaction_end::rollback;
    });
    EXPECT_TRUE(eventually([&] { return w.messages(topic).size() == 2; }, 120s)) << asked << " questions";
    EXPECT_EQ(asked >= 1, true);
    for (const lying& m : w.messages(topic))
        EXPECT_NE(m.body, "rolled back");
}

// ---- requests ----

void requests(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    auto o = patient(w);
    o.group = "PG_answering";
    o.compress = compression::zlib;
    auto other = started(o);
    other.answer_requests(topic, [](const stored_message& m) { return m.body + std::string(10'000, '!'); });
    send_options within;
    within.timeout = 2s;
    ASSERT_TRUE(eventually([&] { return !p.request(message(topic, "are you there"), within).error; }, 60s));
    within.timeout = 20s;
    for (int i = 0; i < 5; ++i) {
        const reply_receipt r = p.request(message(topic, std::to_string(i)), within);
        ASSERT_FALSE(r.error) << r.reason;
        EXPECT_EQ(r.body, std::to_string(i) + std::string(10'000, '!'));
        EXPECT_EQ(r.send.outcome, outcome::stored);
    }
}

void request_that_nobody_answers(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    send_options within;
    within.timeout = 1s;
    const reply_receipt r = p.request(message(topic, "x"), within);
    EXPECT_EQ(r.error, errc::reply_timeout) << r.reason;
    EXPECT_EQ(lying_at_least(w, topic, 1).at(0).property("CORRELATION_ID").size(), 36u);
}

// ---- destinations ----

void destinations(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = started(patient(w));
    message_template to(p);
    const receipt r = to.sync_send(topic + ":paid", with_payload("the body").add_key("k"), 30s);
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    const auto first = lying_at_least(w, topic, 1).at(0);
    EXPECT_EQ(first.body, "the body");
    EXPECT_EQ(first.property("TAGS"), "paid");
    EXPECT_EQ(first.property("KEYS"), "k");
    const receipt one = to.sync_send_orderly(topic + ":paid", "1", "customer", 30s), two = to.sync_send_orderly(topic, "2", "customer", 30s);
    EXPECT_EQ(one.outcome, outcome::stored) << shown(one);
    EXPECT_EQ(std::pair(one.broker, one.queue), std::pair(two.broker, two.queue));
    EXPECT_EQ(to.async_send(topic + ":async", "3", boost::asio::use_future, 30s).get().outcome, outcome::stored);
    EXPECT_EQ(lying_at_least(w, topic, 4).size(), 4u);
    EXPECT_TRUE(to.sync_send("no topic:x", "4").reason.starts_with("destination \"no topic:x\": "));
}

// ---- names and questions ----

void old_namespace(world& w, const std::string& topic)
{
    w.create_topic("NS1%" + topic);
    auto o = patient(w);
    o.namespace_v1 = "NS1";
    auto p = started(o);
    const receipt r = p.deliver(message(topic, "x"));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(lying_at_least(w, "NS1%" + topic, 1).at(0).property("INSTANCE_ID"), "NS1");
}

void new_namespace(world& w, const std::string& topic)
{
    w.create_topic(topic);
    for (const wire_format format : {wire_format::json, wire_format::rocketmq}) {
        auto o = patient(w);
        o.namespace_v2 = "tenant-1";
        o.unit_name = "unit-7";
        o.unit_mode = true;
        o.format = format;
        auto p = started(o);
        const receipt r = p.deliver(message(topic, "x"));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    }
}

void questions(world& w, const std::string& topic)
{
    auto p = started(patient(w));
    topic_settings s;
    s.queues = 2;
    const auto on = p.create_topic(topic, s);
    ASSERT_TRUE(on) << on.error().text;
    EXPECT_EQ(on->size(), w.brokers());
    ASSERT_TRUE(eventually([&] {
        const auto r = started(patient(w)).route(topic);
        return r && r->publish.size() == 2 * w.brokers();
    }));
    send_options to;
    to.queue = {w.broker(1), 1};
    receipt r;
    ASSERT_TRUE(eventually([&] { return (r = p.deliver(message(topic, "the body").add_key("first").add_key("the-key"), to)).outcome == outcome::stored; }))
        << shown(r);
    EXPECT_EQ(*p.min_offset(topic, w.broker(1), 1), 0);
    EXPECT_TRUE(eventually([&] { return *p.max_offset(topic, w.broker(1), 1) == 1; }));
    EXPECT_EQ(*p.offset_at(topic, w.broker(1), 1, std::chrono::system_clock::now() - 1h), 0);
    for (const std::string& id : {r.offset_msg_id.str(), r.msg_id.str()}) {
        EXPECT_TRUE(eventually([&] { return p.view(topic, id).has_value(); })) << id;
        const auto m = p.view(topic, id);
        ASSERT_TRUE(m) << m.error().text;
        EXPECT_EQ(m->body, "the body");
        EXPECT_EQ(m->msg_id, r.msg_id.view());
        EXPECT_EQ(m->queue, 1);
    }
    EXPECT_TRUE(eventually([&] {
        const auto found = p.query(topic, "the-key");
        return found && found->size() == 1 && found->front().msg_id == r.msg_id.view();
    }));
    EXPECT_EQ(p.view(topic, "0A00000512670A0B0C0D000186A00001").error().code, errc::not_found);
}

}  // namespace

const std::vector<one_case>& kind_cases()
{
    static const std::vector<one_case> cases{
        {"a_delay_holds_a_message_back", also::v550, delay_by_duration},
        {"a_time_to_be_delivered_is_kept", also::nothing_else, deliver_at_a_time},
        {"a_delay_beyond_the_brokers_bound_is_rejected_once", also::v550, delay_beyond_the_brokers_bound},
        {"a_delayed_message_is_recalled_by_its_handle", also::v550, recall},
        {"a_priority_is_stored", also::v550, priority},
        {"compressed_bodies_are_read_back_whole", also::v550, compressed},
        {"a_trace_tells_of_a_send", also::v550, trace},
        {"a_batch_by_hand_keeps_ids_keys_and_properties", also::v550, batch_by_hand},
        {"a_list_too_large_becomes_several_batches", also::nothing_else, batch_that_is_split},
        {"messages_batched_by_themselves_keep_what_is_theirs", also::v550, auto_batches},
        {"order_holds_in_batches_made_by_themselves", also::nothing_else, ordered_auto_batches},
        {"batches_made_by_themselves_are_faster", also::nothing_else, batches_are_faster},
        {"senders_that_wait_for_room_are_never_refused", also::v550, back_pressure},
        {"transactions_commit_roll_back_and_are_asked_about", also::v550, transactions},
        {"a_request_gets_its_reply", also::v550, requests},
        {"a_request_nobody_answers_ends_by_its_timeout", also::nothing_else, request_that_nobody_answers},
        {"a_namespace_of_the_old_kind_is_part_of_the_names", also::nothing_else, old_namespace},
        {"a_namespace_of_the_new_kind_changes_no_names", also::v550, new_namespace},
        {"a_destination_names_topic_and_tag", also::v550, destinations},
        {"topics_offsets_and_messages_are_told", also::v550, questions},
    };
    return cases;
}

}  // namespace shunt::cases
