// With sanitizers g++ 12 takes Asio's use_future for reading what is not set yet.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <interop/cases/cases.hpp>
#include <interop/cases/situation.hpp>

#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

namespace shunt::cases {

namespace {

/// What was stored against what was said: stored is there once or more, not_sent and rejected are not there.
void expect_agreement(world& w, const std::string& topic, const std::vector<receipt>& receipts)
{
    const auto stored = std::count_if(receipts.begin(), receipts.end(), [](const receipt& r) { return r.outcome == outcome::stored; });
    std::map<std::string, std::size_t> there;
    for (const lying& m : lying_at_least(w, topic, static_cast<std::size_t>(stored)))
        ++there[m.msg_id()];
    std::size_t explained = 0;
    for (const receipt& r : receipts) {
        const std::size_t count = there.contains(r.msg_id.str()) ? there[r.msg_id.str()] : 0;
        switch (r.outcome) {
        case outcome::stored: EXPECT_GE(count, 1u) << "said to be stored, but is not: " << shown(r); break;
        case outcome::not_sent:
        case outcome::rejected: EXPECT_EQ(count, 0u) << "said not to be stored, but is: " << shown(r); break;
        case outcome::unknown: break;
        }
        const auto doubtful = std::count_if(r.attempts.begin(), r.attempts.end(), [](const attempt& a) { return a.outcome == outcome::unknown; });
        EXPECT_LE(count, static_cast<std::size_t>(doubtful) + 1) << "more often there than attempts could have stored: " << shown(r);
        explained += count;
    }
    std::size_t total = 0;
    for (const auto& [id, count] : there)
        total += count;
    EXPECT_EQ(total, explained) << "messages lie there that no receipt tells of";
}

// ---- every mode of sending ----

void sync_send(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    for (int i = 0; i < 16; ++i) {
        const receipt r = p.deliver(message(topic, "body " + std::to_string(i)));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        const auto all = lying_at_least(w, topic, static_cast<std::size_t>(i) + 1);
        const auto found = std::find_if(all.begin(), all.end(), [&](const lying& m) { return m.msg_id() == r.msg_id.view(); });
        ASSERT_NE(found, all.end());
        EXPECT_EQ(found->body, "body " + std::to_string(i));
        EXPECT_EQ(found->broker, r.broker);
        EXPECT_EQ(found->queue, r.queue);
        EXPECT_EQ(found->offset, r.offset);
        EXPECT_EQ(r.attempts.size(), 1u);
        EXPECT_FALSE(r.offset_msg_id.empty());
    }
    std::set<std::pair<std::string, int>> queues;
    for (const lying& m : lying_at_least(w, topic, 16))
        queues.emplace(m.broker, m.queue);
    EXPECT_EQ(queues.size(), 8u) << "16 messages in rotation reach each of 8 queues";
}

void async_send(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    gathered g;
    g.expect(1000);
    for (int i = 0; i < 1000; ++i)
        p.async_send(message(topic, "m" + std::to_string(i)), [&g](error_code, receipt r) { g.take(std::move(r)); });
    const auto& receipts = g.wait();
    EXPECT_TRUE(std::all_of(receipts.begin(), receipts.end(), [](const receipt& r) { return r.outcome == outcome::stored; }));
    expect_agreement(w, topic, receipts);
    EXPECT_EQ(lying_at_least(w, topic, 1000).size(), 1000u);
}

void future_send(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    auto f = p.async_send(message(topic, "by future"), boost::asio::use_future);
    ASSERT_EQ(f.wait_for(10s), std::future_status::ready);
    EXPECT_EQ(f.get().outcome, outcome::stored);
}

void oneway_send(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    std::set<std::string> ids;
    for (int i = 0; i < 50; ++i) {
        const receipt r = p.deliver_oneway(message(topic, "one way"));
        EXPECT_FALSE(r.error) << shown(r);
        EXPECT_EQ(r.outcome, outcome::unknown);
        ids.insert(r.msg_id.str());
    }
    EXPECT_TRUE(eventually([&] { return w.messages(topic).size() == 50; })) << w.messages(topic).size();
    for (const lying& m : w.messages(topic))
        EXPECT_TRUE(ids.contains(m.msg_id()));
}

void to_a_queue(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    send_options to;
    to.queue = {w.broker(1), 2};
    for (int i = 0; i < 5; ++i) {
        const receipt r = p.deliver(message(topic, "x"), to);
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.attempts.front().why, "caller");
    }
    for (const lying& m : lying_at_least(w, topic, 5)) {
        EXPECT_EQ(m.broker, w.broker(1));
        EXPECT_EQ(m.queue, 2);
    }
    to.queue = {w.broker(1), 99};
    EXPECT_EQ(p.deliver(message(topic, "x"), to).error, errc::queue_not_writable);
}

void by_a_function(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    send_options by;
    by.select = [](std::span<const queue_ref> queues, const message&, std::uint32_t) { return queues.size() - 1; };
    const receipt r = p.deliver(message(topic, "x"), by);
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(r.broker, w.broker(w.brokers() - 1));
    EXPECT_EQ(r.queue, 3);
}

void ordered_by_key(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = options_for(w);
    o.policies["default"].selector.use = "hash";
    o.policies["default"].fault.use = "none";
    o.policies["default"].ordered = true;
    auto p = started(o);
    gathered g;
    constexpr int keys = 8, each = 50;
    g.expect(keys * each);
    for (int i = 0; i < each; ++i) {
        for (int k = 0; k < keys; ++k)
            p.async_send(message(topic, std::to_string(i)).set_order_key("order-" + std::to_string(k)).add_key("order-" + std::to_string(k)),
                         [&g](error_code, receipt r) { g.take(std::move(r)); });
    }
    const auto& receipts = g.wait();
    EXPECT_TRUE(std::all_of(receipts.begin(), receipts.end(), [](const receipt& r) { return r.outcome == outcome::stored; }));
    std::map<std::string, std::vector<int>> by_key;
    std::map<std::string, std::set<std::pair<std::string, int>>> places;
    for (const lying& m : lying_at_least(w, topic, keys * each)) {
        by_key[m.property("KEYS")].push_back(std::stoi(m.body));
        places[m.property("KEYS")].emplace(m.broker, m.queue);
    }
    ASSERT_EQ(by_key.size(), static_cast<std::size_t>(keys));
    for (const auto& [key, bodies] : by_key) {
        EXPECT_EQ(bodies.size(), static_cast<std::size_t>(each)) << key;
        EXPECT_TRUE(std::is_sorted(bodies.begin(), bodies.end())) << key;
        EXPECT_EQ(places[key].size(), 1u) << key;
    }
}

void policy_by_name(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = options_for(w);
    o.policies["keyed"].selector.use = "hash";
    o.policies["keyed"].fault.use = "none";
    auto p = started(o);
    send_options by;
    by.policy = "keyed";
    std::set<std::pair<std::string, int>> places;
    for (int i = 0; i < 6; ++i) {
        const receipt r = p.deliver(message(topic, "x").set_order_key("the key"), by);
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.policy, "keyed");
        places.emplace(r.broker, r.queue);
    }
    EXPECT_EQ(places.size(), 1u);
}

void binary_headers(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = options_for(w);
    o.format = wire_format::rocketmq;
    auto p = started(o);
    const receipt r = p.deliver(message(topic, "binary").set_tag("T").add_key("k").set_property("city", "北京"));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    const auto all = lying_at_least(w, topic, 1);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].property("TAGS"), "T");
    EXPECT_EQ(all[0].property("city"), "北京");
}

// ---- what a message carries ----

void everything_a_message_carries(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    message m(topic, std::string("nul \0 and \xff bytes", 17));
    m.set_tag("TagA").add_key("k1").add_key("k2").set_flag(7).set_wait_store(false);
    m.set_property("city", "北京").set_property("quote", "a\"b\\c/d\te\x7f").set_property("emoji", "😀").set_property("long", std::string(5000, 'l'));
    const receipt r = p.deliver(m);
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    const auto all = lying_at_least(w, topic, 1);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].body, m.body());
    EXPECT_EQ(all[0].flag, 7);
    EXPECT_EQ(all[0].property("TAGS"), "TagA");
    EXPECT_EQ(all[0].property("KEYS"), "k1 k2");
    EXPECT_EQ(all[0].property("WAIT"), "false");
    for (const auto& [name, value] : m.properties())
        EXPECT_EQ(all[0].property(name), value) << name;
}

void bodies_of_all_sizes(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = options_for(w);
    o.max_body = 5 * 1024 * 1024;  // more than the brokers take
    o.send_timeout = 15s;
    auto p = started(o);
    for (const std::size_t size : {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{100'000}, std::size_t{4 * 1024 * 1024}}) {
        const receipt r = p.deliver(message(topic, std::string(size, 'b')));
        EXPECT_EQ(r.outcome, outcome::stored) << size << " " << shown(r);
    }
    const receipt r = p.deliver(message(topic, std::string(4 * 1024 * 1024 + 1, 'b')));
    EXPECT_EQ(r.outcome, outcome::rejected) << shown(r);
    ASSERT_EQ(r.attempts.size(), 1u) << "what is wrong with a message is not retried";
    EXPECT_EQ(r.attempts[0].code, 13);
    // And the broker is not held to be ill for it.
    std::set<std::string> brokers;
    for (int i = 0; i < 16; ++i) {
        const receipt after = p.deliver(message(topic, "x"));
        EXPECT_EQ(after.outcome, outcome::stored);
        brokers.emplace(after.broker);
    }
    EXPECT_EQ(brokers.size(), w.brokers());
    std::multiset<std::size_t> sizes;
    for (const lying& m : lying_at_least(w, topic, 5 + 16))
        sizes.insert(m.body.size());
    EXPECT_EQ(sizes.count(4 * 1024 * 1024), 1u);
    EXPECT_EQ(sizes.count(4 * 1024 * 1024 + 1), 0u);
}

void refused_before_the_wire(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    const auto outcome_and_error = [&](message m, errc expected) {
        const receipt r = p.deliver(std::move(m));
        EXPECT_EQ(r.outcome, outcome::not_sent) << shown(r);
        EXPECT_EQ(r.error, expected) << shown(r);
        EXPECT_TRUE(r.attempts.empty());
        EXPECT_FALSE(r.reason.empty());
    };
    outcome_and_error(message(topic, ""), errc::empty_body);
    outcome_and_error(message(topic, std::string(4 * 1024 * 1024 + 1, 'x')), errc::body_too_large);
    outcome_and_error(message("a b", "x"), errc::invalid_topic);
    outcome_and_error(message(std::string(128, 't'), "x"), errc::invalid_topic);
    outcome_and_error(message("SCHEDULE_TOPIC_XXXX", "x"), errc::forbidden_topic);
    outcome_and_error(message(topic, "x").set_property("KEYS", "v"), errc::invalid_property);
    outcome_and_error(message(topic, "x").set_property("n", "a\x01z"), errc::invalid_property);
    outcome_and_error(message(topic, "x").set_property("n", std::string(40'000, 'v')), errc::properties_too_large);
    outcome_and_error(message(topic, "x").set_delay_level(19), errc::invalid_delay);
    EXPECT_TRUE(w.messages(topic).empty());
}

void delayed(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    const receipt r = p.deliver(message(topic, "later").set_delay_level(1));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_TRUE(eventually([&] { return w.messages(topic).size() == 1; }));
}

// ---- routes and permissions ----

void route_as_the_brokers_tell_it(world& w, const std::string& topic)
{
    w.create_topic(topic, 3);
    auto p = producer_for(w);
    const auto r = p.route(topic);
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_EQ(r->publish.size(), 3 * w.brokers());
    EXPECT_EQ(r->subscribe, r->publish);
    EXPECT_EQ(r->publish.front(), std::make_pair(w.broker(0), 0));
    EXPECT_EQ(r->publish.back(), std::make_pair(w.broker(w.brokers() - 1), 2));
    EXPECT_TRUE(std::is_sorted(r->publish.begin(), r->publish.end()));
}

void unknown_topic(world& w, const std::string& topic)
{
    auto p = producer_for(w);
    const auto before = std::chrono::steady_clock::now();
    const receipt r = p.deliver(message(topic, "x"));
    EXPECT_EQ(r.error, errc::no_route) << shown(r);
    EXPECT_EQ(r.outcome, outcome::not_sent);
    EXPECT_LT(std::chrono::steady_clock::now() - before, 2s) << "an unknown topic is known to be unknown at once";
}

void read_only_topic(world& w, const std::string& topic)
{
    w.create_topic(topic, 4, 4);
    auto o = options_for(w);
    o.policies["default"].when_no_queue = when_no_queue::fail;
    auto p = started(o);
    const receipt r = p.deliver(message(topic, "x"));
    EXPECT_EQ(r.error, errc::no_queue) << shown(r);
    EXPECT_TRUE(w.messages(topic).empty());
}

void read_only_broker(world& w, const std::string& topic)
{
    w.create_topic(topic);
    w.read_only(0, true);
    EXPECT_TRUE(eventually([&] {
        auto fresh = producer_for(w);
        const auto r = fresh.route(topic);
        return r && r->publish.size() == 4 * (w.brokers() - 1);
    }));
    auto p = producer_for(w);
    for (int i = 0; i < 12; ++i) {
        const receipt r = p.deliver(message(topic, "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_NE(r.broker, w.broker(0));
    }
    w.read_only(0, false);
    EXPECT_TRUE(eventually([&] {
        auto fresh = producer_for(w);
        const auto r = fresh.route(topic);
        return r && r->publish.size() == 4 * w.brokers();
    }));
}

void a_queue_that_is_gone(world& w, const std::string& topic)
{
    w.create_topic(topic, 4);
    auto p = producer_for(w);
    ASSERT_TRUE(p.send(message(topic, "learn the route")));
    w.resize_topic(topic, 2);
    send_options to;
    to.queue = {w.broker(0), 3};
    const receipt r = p.deliver(message(topic, "gone"), to);
    EXPECT_EQ(r.outcome, outcome::rejected) << shown(r);
    ASSERT_FALSE(r.attempts.empty());
    EXPECT_EQ(r.attempts[0].code, 29) << shown(r);
    // The policy's sends meet only queues that are there, as soon as the route is known again.
    for (int i = 0; i < 20; ++i) {
        const receipt again = p.deliver(message(topic, "there"));
        EXPECT_EQ(again.outcome, outcome::stored) << shown(again);
        EXPECT_LT(again.queue, 2);
    }
}

// ---- brokers that fail ----

void a_broker_hangs(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto p = producer_for(w);
    ASSERT_TRUE(p.send(message(topic, "learn the route")));
    w.hang(0);
    std::vector<receipt> receipts;
    std::size_t met = 0;
    for (int i = 0; i < 40; ++i) {
        receipts.push_back(p.deliver(message(topic, "x")));
        EXPECT_EQ(receipts.back().outcome, outcome::stored) << shown(receipts.back());
        EXPECT_LT(receipts.back().latency, 1100ms + 500ms) << shown(receipts.back());
        met += receipts.back().attempts.size() > 1 ? 1 : 0;
    }
    EXPECT_GE(met, 1u);
    EXPECT_LE(met, 3u) << "after the first verdict hardly any send goes there";
    w.unhang(0);
}

void a_broker_killed_under_traffic(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = options_for(w);
    o.policies["default"].fault.settings["probe"] = std::string("500ms");
    auto p = started(o);
    gathered g;
    constexpr std::size_t n = 8000;
    g.expect(n);
    std::counting_semaphore<> room(256);
    const auto send = [&](std::size_t i) {
        room.acquire();
        p.async_send(message(topic, "m" + std::to_string(i)), [&](error_code, receipt r) {
            g.take(std::move(r));
            room.release();
        });
    };
    std::size_t i = 0;
    for (; i < n / 4; ++i)
        send(i);
    std::thread killer([&] { w.kill(1); });
    for (; i < n / 2; ++i)
        send(i);
    killer.join();
    w.restart(1);
    for (; i < n; ++i)
        send(i);
    const auto& receipts = g.wait(300s);
    ASSERT_EQ(receipts.size(), n);
    std::map<outcome, std::size_t> by_outcome;
    for (const receipt& r : receipts)
        ++by_outcome[r.outcome];
    EXPECT_EQ(by_outcome[outcome::stored], n) << "with one of two brokers well every send finds a place; unknown "
                                              << by_outcome[outcome::unknown] << ", not_sent " << by_outcome[outcome::not_sent];
    expect_agreement(w, topic, receipts);
    EXPECT_TRUE(p.close(5s));
    EXPECT_EQ(p.counters().in_flight_messages, 0u);
}

void order_through_a_kill(world& w, const std::string& topic)
{
    w.create_topic(topic);
    auto o = options_for(w);
    o.policies["default"].selector.use = "hash";
    o.policies["default"].fault.use = "none";
    o.policies["default"].ordered = true;
    o.send_timeout = 60s;
    o.attempts = 16;
    o.retry_backoff = 200ms;
    o.retry_backoff_max = 4000ms;
    auto p = started(o);
    gathered g;
    constexpr int keys = 6, each = 60;
    g.expect(keys * each);
    std::atomic<int> done{0};
    for (int i = 0; i < each; ++i) {
        for (int k = 0; k < keys; ++k)
            p.async_send(message(topic, std::to_string(i)).set_order_key("k" + std::to_string(k)).add_key("k" + std::to_string(k)),
                         [&](error_code, receipt r) {
                             ++done;
                             g.take(std::move(r));
                         });
    }
    eventually([&] { return done >= keys; });
    w.kill(0);
    w.restart(0);
    const auto& receipts = g.wait(300s);
    expect_agreement(w, topic, receipts);
    // Order is promised among first copies, as long as no message before ended in doubt.
    std::map<std::string, std::vector<int>> by_key;
    for (const lying& m : w.messages(topic)) {
        auto& seen = by_key[m.property("KEYS")];
        const int body = std::stoi(m.body);
        if (std::find(seen.begin(), seen.end(), body) == seen.end())
            seen.push_back(body);
    }
    const bool doubt = std::any_of(receipts.begin(), receipts.end(), [](const receipt& r) { return r.outcome == outcome::unknown; });
    for (const auto& [key, bodies] : by_key)
        EXPECT_TRUE(doubt || std::is_sorted(bodies.begin(), bodies.end())) << key;
}

}  // namespace

const std::vector<one_case>& all_cases()
{
    static const std::vector<one_case> cases = [] {
        std::vector<one_case> all{
            {"sync_sends_are_stored_where_the_receipt_says", also::v550, sync_send},
            {"async_sends_complete_once_each_and_are_stored", also::v550, async_send},
            {"a_future_is_kept", also::nothing_else, future_send},
            {"oneway_messages_arrive", also::v550, oneway_send},
            {"the_callers_queue_is_the_one_used", also::nothing_else, to_a_queue},
            {"a_function_selects", also::nothing_else, by_a_function},
            {"messages_of_a_key_keep_their_order", also::v550, ordered_by_key},
            {"a_send_may_name_its_policy", also::nothing_else, policy_by_name},
            {"binary_headers_are_understood", also::v550, binary_headers},
            {"everything_a_message_carries_arrives", also::v550, everything_a_message_carries},
            {"bodies_of_all_sizes_and_one_byte_too_many", also::v550, bodies_of_all_sizes},
            {"what_no_broker_takes_is_refused_before_the_wire", also::nothing_else, refused_before_the_wire},
            {"a_delay_level_delivers", also::nothing_else, delayed},
            {"the_route_is_told_in_canonical_order", also::nothing_else, route_as_the_brokers_tell_it},
            {"an_unknown_topic_fails_fast", also::v550, unknown_topic},
            {"a_read_only_topic_gets_nothing", also::nothing_else, read_only_topic},
            {"a_read_only_broker_is_passed_over", also::nothing_else, read_only_broker},
            {"a_queue_that_is_gone_is_not_used_again", also::v550, a_queue_that_is_gone},
            {"a_hanging_broker_fails_no_send", also::nothing_else, a_broker_hangs},
            {"a_broker_killed_under_traffic_loses_nothing", also::v550, a_broker_killed_under_traffic},
            {"order_holds_through_a_kill", also::nothing_else, order_through_a_kill},
        };
        all.insert(all.end(), kind_cases().begin(), kind_cases().end());
        return all;
    }();
    return cases;
}

}  // namespace shunt::cases
