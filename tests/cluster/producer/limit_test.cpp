// What may be in flight at once: messages and bytes, and what happens when they are met.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

/// A broker that holds all sends back until it is told to let them go; its topic T has one queue.
struct holding {
    std::mutex lock;
    bool hold = true;
    std::vector<std::pair<fake_peer::session*, heard>> held;
    fake_peer broker;
    fake_name_server names;

    holding()
        : broker([this](fake_peer::session& s, const heard& h) {
              if (h.oneway)
                  return;
              const std::lock_guard l(lock);
              if (h.is_send() && hold)
                  held.emplace_back(&s, h);
              else
                  s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0));
          }),
          names({{"T", route_json({{"a", broker.address(), 1, 6}})}})
    {
    }
    [[nodiscard]] std::size_t holds()
    {
        const std::lock_guard l(lock);
        return held.size();
    }
    void let_go(bool all_later = true)
    {
        const std::lock_guard l(lock);
        hold = !all_later;
        for (auto& [s, h] : held)
            s->write(stored_answer(h));
        held.clear();
    }
    [[nodiscard]] producer_options options(std::size_t messages, std::size_t bytes, when_full what) const
    {
        auto o = with_policy(options_for(names.address()), "best-queue");
        o.max_in_flight_messages = messages;
        o.max_in_flight_bytes = bytes;
        o.when_full = what;
        o.send_timeout = 10s;
        return o;
    }
};

constexpr std::size_t plenty = 1u << 30;

TEST(Limits, RefuseWhatIsTooMuchWhereThatIsWanted)
{
    holding h;
    auto p = started(h.options(10, plenty, when_full::refuse));
    ASSERT_TRUE(p.route("T"));
    collector sent;
    for (int i = 0; i < 20; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(10));
    for (const auto& [i, r] : sent.receipts()) {
        EXPECT_EQ(r.error, errc::full) << shown(r);
        EXPECT_EQ(r.outcome, outcome::not_sent);
        EXPECT_NE(r.reason.find("max_in_flight_messages (10)"), std::string::npos) << r.reason;
    }
    EXPECT_EQ(p.deliver(message("T", "x")).error, errc::full);
    EXPECT_EQ(p.counters().in_flight_messages, 10u);
    h.let_go();
    ASSERT_TRUE(sent.wait(20));
    EXPECT_TRUE(eventually([&] { return p.counters().in_flight_messages == 0; }));
    EXPECT_TRUE(p.send(message("T", "x"))) << "there is room again";
    expect_quiet(p);
}

// Both limits together: the second not being met must give the first back.
TEST(Limits, HoldBytesAsWellAndLeakNeither)
{
    holding h;
    auto p = started(h.options(10, 5 * (200 + 512), when_full::refuse));
    ASSERT_TRUE(p.route("T"));
    collector sent;
    for (int i = 0; i < 20; ++i)
        p.async_send(message("T", std::string(200, 'x')), sent.handler(i));
    ASSERT_TRUE(sent.wait(15));
    EXPECT_EQ(p.counters().in_flight_messages, 5u);
    EXPECT_EQ(p.counters().in_flight_bytes, 5u * 712);
    ASSERT_TRUE(h.broker.wait_until([&] { return h.holds() == 5; }, patience));
    h.let_go(false);
    ASSERT_TRUE(sent.wait(20));
    EXPECT_TRUE(eventually([&] { return p.counters().in_flight_messages == 0; }));
    for (int i = 20; i < 25; ++i)
        p.async_send(message("T", std::string(200, 'x')), sent.handler(i));
    ASSERT_TRUE(h.broker.wait_until([&] { return h.broker.sends().size() == 10; }, patience)) << "five more fit";
    h.let_go();
    ASSERT_TRUE(sent.wait(25));
    expect_quiet(p);
}

TEST(Limits, RefuseAtOnceWhatCanNeverFit)
{
    holding h;
    for (const when_full what : {when_full::wait, when_full::refuse, when_full::suspend}) {
        auto p = started(h.options(10, 1000, what));
        const auto begin = clock::now();
        const receipt r = p.deliver(message("T", std::string(1001, 'x')));
        EXPECT_EQ(r.error, errc::larger_than_limit) << shown(r);
        EXPECT_LT(clock::now() - begin, grace()) << "never an endless wait";
        collector sent;
        p.async_send(message("T", std::string(1001, 'x')), sent.handler(0));
        ASSERT_TRUE(sent.wait(1));
        EXPECT_EQ(sent.receipts()[0].error, errc::larger_than_limit);
        expect_quiet(p);
    }
}

class Waiting : public testing::TestWithParam<when_full> {};

TEST_P(Waiting, SendsGoInOrderOnceThereIsRoom)
{
    holding h;
    auto p = started(h.options(4, plenty, GetParam()));
    ASSERT_TRUE(p.route("T"));
    collector sent;
    const auto begin = clock::now();
    for (int i = 0; i < 20; ++i)
        p.async_send(message("T", std::to_string(i)), sent.handler(i));
    EXPECT_LT(clock::now() - begin, grace()) << "async never blocks its caller";
    for (std::size_t n = 4; n <= 20; n += 4) {
        ASSERT_TRUE(h.broker.wait_until([&] { return h.broker.sends().size() == n && h.holds() == 4; }, patience)) << n;
        EXPECT_EQ(p.counters().in_flight_messages, 4u);
        h.let_go(false);
    }
    ASSERT_TRUE(sent.wait(20));
    std::vector<std::string> bodies, expected;
    for (const heard& r : h.broker.sends())
        bodies.push_back(r.body);
    for (int i = 0; i < 20; ++i)
        expected.push_back(std::to_string(i));
    EXPECT_EQ(bodies, expected);
    expect_quiet(p);
}

TEST_P(Waiting, ASendWhoseDeadlineComesFirstIsNotSent)
{
    holding h;
    auto p = started(h.options(1, plenty, GetParam()));
    ASSERT_TRUE(p.route("T"));
    collector sent;
    p.async_send(message("T", "head"), sent.handler(0));
    ASSERT_TRUE(h.broker.wait_until([&] { return h.broker.sends().size() == 1; }, patience));
    send_options how;
    how.timeout = 100ms;
    const auto begin = clock::now();
    p.async_send(message("T", "late"), how, sent.handler(1));
    const receipt sync = p.deliver(message("T", "late"), how);
    EXPECT_LT(clock::now() - begin, 100ms + grace());
    EXPECT_EQ(sync.error, errc::expired_waiting) << shown(sync);
    ASSERT_TRUE(sent.wait(1));
    EXPECT_EQ(sent.receipts()[1].error, errc::expired_waiting);
    h.let_go();
    ASSERT_TRUE(sent.wait(2));
    EXPECT_TRUE(p.send(message("T", "x")));
    EXPECT_EQ(h.broker.sends().size(), 2u);
    expect_quiet(p);
}

INSTANTIATE_TEST_SUITE_P(Limits, Waiting, testing::Values(when_full::wait, when_full::suspend));

TEST(Limits, MakeASyncSenderWaitForRoom)
{
    holding h;
    auto p = started(h.options(2, plenty, when_full::wait));
    ASSERT_TRUE(p.route("T"));
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
        threads.emplace_back([&] {
            EXPECT_TRUE(p.send(message("T", "x")));
            ++done;
        });
    ASSERT_TRUE(h.broker.wait_until([&] { return h.broker.sends().size() == 2; }, patience));
    EXPECT_EQ(done, 0);
    h.let_go();
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(done, 6);
    expect_quiet(p);
}

// Permits came back too early, or twice, or never.
TEST(Limits, ComeBackFromEveryWayASendCanEnd)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.max_in_flight_messages = 64;
    o.send_timeout = 120ms;
    o.attempts = 2;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    collector sent;
    int n = 0;
    for (const char* fault : {"ok", "hang", "drop", "code 2", "code 13", "refuse", "garbage", "half", "close", "twice"}) {
        for (const std::string& b : cluster.broker_names())
            command(cluster, b + " " + fault);
        for (int i = 0; i < 100; ++i) {
            p.async_send(message("T", "x"), sent.handler(n++));
            if (i % 10 == 0)
                p.async_send_oneway(message("T", "x"), {}, sent.handler(n++));
            if (i % 17 == 0)
                p.async_send(message("T", ""), sent.handler(n++));
            if (i % 19 == 0)
                p.async_send(message("T", "x"), [](const error_code&, const receipt&) { throw 1; });
        }
        ASSERT_TRUE(sent.wait(static_cast<std::size_t>(n)));
    }
    expect_quiet(p);
    std::vector<receipt> two_way;
    for (const auto& [i, r] : sent.receipts())
        two_way.push_back(r);
    EXPECT_TRUE(p.close());
    expect_agreement(cluster, two_way);
}

TEST(Limits, AreHeldUntilTheHandlerIsRun)
{
    holding h;
    h.let_go();
    auto p = started(h.options(1, plenty, when_full::refuse));
    ASSERT_TRUE(p.route("T"));
    std::promise<void> running;
    std::latch release(1);
    p.async_send(message("T", "x"), [&](const error_code&, const receipt&) {
        running.set_value();
        release.wait();
    });
    ASSERT_EQ(running.get_future().wait_for(patience), std::future_status::ready);
    EXPECT_EQ(p.counters().in_flight_messages, 0u);
    collector behind;
    p.async_send(message("T", "x"), behind.handler(0));
    ASSERT_TRUE(eventually([&] { return p.counters().stored == 2; }));
    EXPECT_EQ(p.counters().in_flight_messages, 1u) << "what waits for its handler is still in flight";
    EXPECT_EQ(p.deliver(message("T", "x")).error, errc::full);
    release.count_down();
    ASSERT_TRUE(behind.wait(1));
    EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);
    expect_quiet(p);
}

// A sender that waits for room is told of it when a handler begins, not when it ends.
TEST(Limits, ComeBackToThoseThatWaitWhileAHandlerStillRuns)
{
    holding h;
    h.let_go();
    auto p = started(h.options(1, plenty, when_full::wait));
    ASSERT_TRUE(p.route("T"));
    std::latch release(1);
    collector sent;
    p.async_send(message("T", "x"), [&, handler = sent.handler(0)](const error_code& ec, receipt r) {
        handler(ec, std::move(r));
        release.wait();
    });
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    release.count_down();
    ASSERT_TRUE(sent.wait(1));
    expect_quiet(p);
}

}  // namespace
}  // namespace shunt::test
