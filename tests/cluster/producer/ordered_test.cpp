// Order by key: one of a key is under way, and what lies at the broker is in the order of sending.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

producer_options ordered(const std::string& names)
{
    auto o = with_policy(options_for(names), "hash", "none", true);
    o.retry_backoff = 0ms;
    return o;
}

message keyed(const std::string& key, int i) { return message("T", key + ":" + std::to_string(i)).set_order_key(key); }

/// Bodies stored of each key, in the order of storing.
std::map<std::string, std::vector<int>> stored_of(const cluster::embedded_cluster& c)
{
    std::map<std::string, std::vector<int>> found;
    for (const auto& r : c.snapshot("T")) {
        const auto colon = r.body.find(':');
        found[r.body.substr(0, colon)].push_back(std::stoi(r.body.substr(colon + 1)));
    }
    return found;
}

TEST(Ordered, AsyncSendsOfAKeyAreStoredInTheirOrderInOneQueue)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(ordered(cluster.name_server()));
    collector sent;
    const int keys = 20, each = 50;
    for (int i = 0; i < each; ++i)
        for (int k = 0; k < keys; ++k)
            p.async_send(keyed("key" + std::to_string(k), i), sent.handler(i * keys + k));
    ASSERT_TRUE(sent.wait(keys * each));
    std::map<std::string, std::set<std::pair<std::string, int>>> queues;
    for (const auto& [i, r] : sent.receipts()) {
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_FALSE(r.after_unknown);
        queues["key" + std::to_string(i % keys)].emplace(r.broker, r.queue);
    }
    for (const auto& [key, all] : queues)
        EXPECT_EQ(all.size(), 1u) << key;
    for (const auto& [key, order] : stored_of(cluster)) {
        EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << key;
        EXPECT_EQ(order.size(), static_cast<std::size_t>(each));
    }
    expect_quiet(p);
}

TEST(Ordered, HasOneOfAKeyUnderWayAndManyKeysAtOnce)
{
    std::mutex lock;
    std::vector<std::pair<fake_peer::session*, heard>> held;
    fake_peer broker([&](fake_peer::session& s, const heard& h) {
        if (h.is_send()) {
            const std::lock_guard l(lock);
            held.emplace_back(&s, h);
        } else if (!h.oneway) {
            s.write(answer_to(h, 0));
        }
    });
    fake_name_server names({{"T", route_json({{"a", broker.address(), 4, 6}})}});
    auto o = ordered(names.address());
    o.send_timeout = 60s;  // no attempt is made twice, however busy the machine is
    auto p = started(o);
    collector sent;
    for (int i = 0; i < 10; ++i)
        for (int k = 0; k < 5; ++k)
            p.async_send(keyed("k" + std::to_string(k), i), sent.handler(i * 5 + k));
    for (std::size_t round = 1; round <= 10; ++round) {
        ASSERT_TRUE(broker.wait_until(
            [&] {
                const std::lock_guard l(lock);
                return held.size() >= 5;
            },
            patience))
            << "round " << round << ": " << held.size() << " under way, " << sent.size() << " ended";
        const std::lock_guard l(lock);
        EXPECT_EQ(held.size(), 5u) << "one a key";
        EXPECT_EQ(broker.sends().size(), 5 * round);
        for (auto& [s, h] : held)
            s->write(stored_answer(h));
        held.clear();
    }
    ASSERT_TRUE(sent.wait(50));
    EXPECT_TRUE(eventually([&] { return p.counters().lanes == 0; }));
}

TEST(Ordered, MessagesWithoutAKeyHaveNoLaneAndAnEmptyKeyHasOne)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(ordered(cluster.name_server()));
    ASSERT_TRUE(p.send(message("T", "warm")));
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " latency 100ms");
    collector none, empty;
    const auto begin = clock::now();
    for (int i = 0; i < 8; ++i)
        p.async_send(message("T", "x"), none.handler(i));
    ASSERT_TRUE(none.wait(8));
    EXPECT_LT(clock::now() - begin, 100ms + grace());
    const auto again = clock::now();
    for (int i = 0; i < 3; ++i)
        p.async_send(keyed("", i), empty.handler(i));
    ASSERT_TRUE(empty.wait(3));
    EXPECT_GE(clock::now() - again, 295ms) << "one after the other";
}

// The first of several in flight failed and was retried behind the later ones.
TEST(Ordered, KeepsOrderWhenEveryTenthIsBusy)
{
    std::atomic<int> n{0};
    std::mutex lock;
    std::vector<std::string> stored;
    fake_peer broker([&](fake_peer::session& s, const heard& h) {
        if (h.oneway)
            return;
        if (!h.is_send()) {
            s.write(answer_to(h, 0));
        } else if (++n % 10 == 0) {
            s.write(answer_to(h, 2, {}, "[TIMEOUT_CLEAN_QUEUE]broker busy"));
        } else {
            {
                const std::lock_guard l(lock);
                stored.push_back(h.body);
            }
            s.write(stored_answer(h));
        }
    });
    fake_name_server names({{"T", route_json({{"a", broker.address(), 4, 6}, {"b", broker.address(), 4, 6}})}});
    auto p = started(ordered(names.address()));
    collector sent;
    std::vector<std::string> expected;
    for (int i = 0; i < 100; ++i) {
        expected.push_back("order-1:" + std::to_string(i));
        p.async_send(keyed("order-1", i), sent.handler(i));
    }
    ASSERT_TRUE(sent.wait(100));
    std::set<std::pair<std::string, int>> queues;
    for (const auto& [i, r] : sent.receipts()) {
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        for (const attempt& a : r.attempts)
            queues.emplace(a.broker, a.queue);
        if (r.attempts.size() > 1) {
            EXPECT_EQ(r.attempts.back().why, "key");
        }
    }
    EXPECT_EQ(queues.size(), 1u) << "a retry repeats its queue";
    const std::lock_guard l(lock);
    EXPECT_EQ(stored, expected);
}

TEST(Ordered, GoesOnWhenTheHeadHasEndedHoweverItEnded)
{
    struct row {
        const char* claim;
        std::function<void(fake_peer::session&, const heard&)> on_the_head;
        outcome how;
    };
    const row rows[] = {
        {"illegal", [](fake_peer::session& s, const heard& h) { s.write(answer_to(h, 13)); }, outcome::rejected},
        {"hangs", [](fake_peer::session&, const heard&) {}, outcome::unknown},
        {"drops", [](fake_peer::session& s, const heard&) { s.close(); }, outcome::unknown},
        {"garbage", [](fake_peer::session& s, const heard&) { s.write("HTTP/1.1 200 OK"); }, outcome::unknown},
        {"stores", [](fake_peer::session& s, const heard& h) { s.write(stored_answer(h)); }, outcome::stored},
    };
    for (const row& r : rows) {
        SCOPED_TRACE(r.claim);
        fake_peer broker([&](fake_peer::session& s, const heard& h) {
            if (h.body == "k:1")
                r.on_the_head(s, h);
            else if (!h.oneway)
                s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0));
        });
        fake_name_server names({{"T", route_json({{"a", broker.address(), 4, 6}})}});
        auto o = ordered(names.address());
        o.attempts = 1;
        auto p = started(o);
        ASSERT_TRUE(p.send(keyed("k", 0)));
        collector sent;
        for (int i = 1; i < 4; ++i) {
            send_options how;
            how.timeout = i == 1 ? 250ms : 10s;
            p.async_send(keyed("k", i), how, sent.handler(i));
        }
        ASSERT_TRUE(sent.wait(3));
        const auto all = sent.receipts();
        EXPECT_EQ(all.at(1).outcome, r.how) << shown(all.at(1));
        EXPECT_EQ(all.at(2).outcome, outcome::stored) << shown(all.at(2));
        EXPECT_EQ(all.at(3).outcome, outcome::stored) << shown(all.at(3));
        EXPECT_FALSE(all.at(1).after_unknown);
        EXPECT_EQ(all.at(2).after_unknown, r.how == outcome::unknown) << "order past it is not promised";
        EXPECT_FALSE(all.at(3).after_unknown);
        EXPECT_TRUE(eventually([&] { return p.counters().lanes == 0; }));
    }
}

TEST(Ordered, AWaitingSendEndsAtItsDeadlineAndTheOthersStayInOrder)
{
    std::mutex lock;
    std::optional<std::pair<fake_peer::session*, heard>> head;
    fake_peer broker([&](fake_peer::session& s, const heard& h) {
        if (h.body == "k:0") {
            const std::lock_guard l(lock);
            head.emplace(&s, h);
        } else if (!h.oneway) {
            s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0));
        }
    });
    fake_name_server names({{"T", route_json({{"a", broker.address(), 4, 6}})}});
    auto o = ordered(names.address());
    o.send_timeout = 10s;
    o.attempts = 1;
    auto p = started(o);
    ASSERT_TRUE(p.route("T"));
    collector sent;
    for (int i = 0; i < 6; ++i) {
        send_options how;
        how.timeout = i == 2 || i == 4 ? 100ms : 10s;
        p.async_send(keyed("k", i), how, sent.handler(i));
    }
    ASSERT_TRUE(sent.wait(2));
    const auto early = sent.receipts();
    for (const int i : {2, 4}) {
        ASSERT_TRUE(early.contains(i));
        EXPECT_EQ(early.at(i).error, errc::expired_waiting) << shown(early.at(i));
        EXPECT_EQ(early.at(i).outcome, outcome::not_sent);
        EXPECT_NE(early.at(i).reason.find("'k'"), std::string::npos) << early.at(i).reason;
    }
    ASSERT_TRUE(broker.wait_until(
        [&] {
            const std::lock_guard l(lock);
            return head.has_value();
        },
        patience));
    {
        const std::lock_guard l(lock);
        head->first->write(stored_answer(head->second));
    }
    ASSERT_TRUE(sent.wait(6));
    std::vector<std::string> bodies;
    for (const heard& h : broker.sends())
        bodies.push_back(h.body);
    EXPECT_EQ(bodies, (std::vector<std::string>{"k:0", "k:1", "k:3", "k:5"}));
}

TEST(Ordered, UnderFaultsThatComeAndGoKeepsTheFirstCopiesInOrder)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = ordered(cluster.name_server());
    o.send_timeout = 20s;
    o.attempts = 16;
    o.retry_backoff = 1ms;
    o.retry_backoff_max = 4ms;
    auto p = started(o);
    collector sent;
    const int keys = 12, each = 60;
    int n = 0;
    const char* faults[] = {"code 2", "drop", "drop stored", "half", "close", "garbage", "refuse"};
    for (int i = 0; i < each; ++i) {
        for (int k = 0; k < keys; ++k)
            p.async_send(keyed("key" + std::to_string(k), i), sent.handler(n++));
        const auto before = p.counters().attempts;
        if (i % 6 == 3)
            command(cluster, "broker-b " + std::string(faults[static_cast<std::size_t>(i / 6) % std::size(faults)]));
        if (i % 6 == 5) {
            EXPECT_TRUE(eventually([&] { return p.counters().attempts > before + 20; }));
            command(cluster, "broker-b ok");
        }
    }
    ASSERT_TRUE(sent.wait(static_cast<std::size_t>(n)));
    expect_agreement(cluster, sent.receipts());
    std::set<std::string> doubtful;
    for (const auto& [i, r] : sent.receipts()) {
        if (r.outcome == outcome::unknown)
            doubtful.insert("key" + std::to_string(i % keys));
    }
    for (const auto& [key, order] : stored_of(cluster)) {
        if (doubtful.contains(key))
            continue;
        std::vector<int> first;
        for (const int i : order)
            if (std::find(first.begin(), first.end(), i) == first.end())
                first.push_back(i);
        EXPECT_TRUE(std::is_sorted(first.begin(), first.end())) << key;
    }
    expect_quiet(p);
}

TEST(Ordered, ATenThousandLongLaneNeitherGrowsTheStackNorStops)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = ordered(cluster.name_server());
    o.send_timeout = 60s;
    auto p = started(o);
    collector sent;
    const int n = 10'000;
    for (int i = 0; i < n; ++i)
        p.async_send(keyed("k", i), sent.handler(i));
    ASSERT_TRUE(sent.wait(n));
    const auto order = stored_of(cluster)["k"];
    EXPECT_EQ(order.size(), static_cast<std::size_t>(n));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Ordered, SyncSendersOfOneKeyTakeTurns)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = ordered(cluster.name_server());
    o.send_timeout = 60s;  // no share runs out on a busy machine: a retry may store a second copy
    auto p = started(o);
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 40; ++i) {
                const receipt r = p.deliver(message("T", "thread" + std::to_string(t) + ":" + std::to_string(i)).set_order_key("one"));
                EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
            }
        });
    for (std::thread& t : threads)
        t.join();
    for (const auto& [thread, order] : stored_of(cluster))
        EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << thread;
    EXPECT_EQ(cluster.stored(), 240u);
    expect_quiet(p);
}

}  // namespace
}  // namespace shunt::test
