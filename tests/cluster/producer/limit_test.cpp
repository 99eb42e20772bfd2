// What may be in flight at once: messages and bytes, and what happens when they are met.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

/// A broker that holds all sends back until it is told to let them go; its topics T and U have one queue each.
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
          names({{"T", route_json({{"a", broker.address(), 1, 6}})}, {"U", route_json({{"a", broker.address(), 1, 6}})}})
    {
    }
    [[nodiscard]] bool waits_until_it_holds(std::size_t n)
    {
        return broker.wait_until([&] { return holds() == n; }, patience);
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

// ---- limits of single topics ----

limit_options limit(std::string topic, std::size_t messages, std::size_t bytes = 0)
{
    limit_options l;
    l.topic = std::move(topic);
    l.max_in_flight_messages = messages;
    l.max_in_flight_bytes = bytes;
    return l;
}

TEST_P(Waiting, ATopicThatIsFullHoldsUpNoOther)
{
    holding h;
    auto o = h.options(100, plenty, GetParam());
    o.limits = {limit("T*", 2)};
    auto p = started(o);
    ASSERT_TRUE(p.route("T"));
    ASSERT_TRUE(p.route("U"));
    collector sent;
    for (int i = 0; i < 5; ++i)
        p.async_send(message("T", std::to_string(i)), sent.handler(i));
    ASSERT_TRUE(h.waits_until_it_holds(2));
    for (int i = 5; i < 10; ++i)
        p.async_send(message("U", "other"), sent.handler(i));
    ASSERT_TRUE(h.waits_until_it_holds(7)) << "all of the other topic";
    EXPECT_EQ(p.counters().in_flight_messages, 7u);
    h.let_go(false);
    ASSERT_TRUE(h.waits_until_it_holds(2)) << "the next two";
    h.let_go(false);
    ASSERT_TRUE(h.waits_until_it_holds(1));
    h.let_go();
    ASSERT_TRUE(sent.wait(10));
    std::vector<std::string> bodies;
    for (const heard& r : h.broker.sends()) {
        if (r.body != "other")
            bodies.push_back(r.body);
    }
    EXPECT_EQ(bodies, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
    expect_quiet(p);
}

TEST(Limits, OfATopicRefuseWhatIsTooMuchOfIt)
{
    holding h;
    auto o = h.options(100, plenty, when_full::refuse);
    o.limits = {limit("T", 0, 3 * 612), limit("*", 1)};
    auto p = started(o);
    ASSERT_TRUE(p.route("T"));
    ASSERT_TRUE(p.route("U"));
    collector sent;
    for (int i = 0; i < 4; ++i)
        p.async_send(message("T", std::string(100, 'x')), sent.handler(i));
    ASSERT_TRUE(sent.wait(1));
    const receipt full = sent.receipts().begin()->second;
    EXPECT_EQ(full.error, errc::full) << shown(full);
    EXPECT_NE(full.reason.find("max_in_flight_messages (no limit) or max_in_flight_bytes (1836) of topics 'T'"), std::string::npos) << full.reason;
    const receipt large = p.deliver(message("T", std::string(2000, 'x')));
    EXPECT_EQ(large.error, errc::larger_than_limit) << shown(large);
    EXPECT_EQ(large.reason, "the message needs 2512 bytes; max_in_flight_bytes of topics 'T' is 1836");
    p.async_send(message("U", "x"), sent.handler(4));
    ASSERT_TRUE(h.waits_until_it_holds(4));
    EXPECT_EQ(p.deliver(message("U", "x")).error, errc::full) << "the second limit is for each topic that it matches";
    h.let_go();
    ASSERT_TRUE(sent.wait(5));
    EXPECT_TRUE(p.send(message("T", std::string(100, 'x'))));
    expect_quiet(p);
}

// Those that wait hear of a change.
TEST(Limits, OfATopicChangeWhileSendsWait)
{
    holding h;
    auto o = h.options(100, plenty, when_full::wait);
    o.swap.probation = 0ms;
    o.limits = {limit("T", 1)};
    auto p = started(o);
    ASSERT_TRUE(p.route("T"));
    collector sent;
    for (int i = 0; i < 6; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(h.waits_until_it_holds(1));
    o.limits = {limit("T", 3)};
    stage_options at_once;
    at_once.now = true;
    ASSERT_TRUE(p.stage(o, at_once).wait_for(swap_state::in_force, patience));
    ASSERT_TRUE(h.waits_until_it_holds(3));
    o.limits = {};
    ASSERT_TRUE(p.stage(o, at_once).wait_for(swap_state::in_force, patience));
    ASSERT_TRUE(h.waits_until_it_holds(6));
    o.limits = {limit("T", 1)};
    ASSERT_TRUE(p.stage(o, at_once).wait_for(swap_state::in_force, patience));
    p.async_send(message("T", "x"), sent.handler(6));
    EXPECT_EQ(p.counters().in_flight_messages, 6u) << "what is in flight counts, though it was sent without a limit";
    h.let_go();
    ASSERT_TRUE(sent.wait(7));
    expect_quiet(p);
}

// ---- room that is waited for ----

/// Where what became of waits for room comes together, in order.
struct rooms {
    struct one {
        int i;
        error_code ec;
        room got;
    };
    mutable std::mutex lock;
    std::condition_variable more;
    std::vector<one> all;

    auto handler(int i)
    {
        return [this, i](const error_code& ec, room got) {
            const std::lock_guard l(lock);  // until who waits was told: it may end this at once
            all.push_back({i, ec, std::move(got)});
            more.notify_all();
        };
    }
    [[nodiscard]] bool wait(std::size_t n)
    {
        std::unique_lock l(lock);
        return more.wait_for(l, patience, [&] { return all.size() >= n; });
    }
    [[nodiscard]] std::size_t size() const
    {
        const std::lock_guard l(lock);
        return all.size();
    }
};

TEST(Room, IsGotWhenThereIsSomeAndTheSendThatUsesItIsNotRefused)
{
    holding h;
    auto p = started(h.options(2, plenty, when_full::refuse));
    ASSERT_TRUE(p.route("T"));
    collector sent;
    rooms got;
    p.async_room("T", 10, 10s, got.handler(0));
    ASSERT_TRUE(got.wait(1)) << "at once, with room for it";
    EXPECT_TRUE(got.all[0].got);
    EXPECT_EQ(p.counters().in_flight_messages, 1u) << "it is taken";
    p.async_send(message("T", "head"), sent.handler(0));
    ASSERT_TRUE(h.waits_until_it_holds(1));
    p.async_room("T", 10, 10s, got.handler(1));
    EXPECT_EQ(p.deliver(message("T", "x")).error, errc::full);
    p.async_send(std::move(got.all[0].got), message("T", "in room"), {}, sent.handler(1));
    EXPECT_FALSE(got.all[0].got) << "used";
    ASSERT_TRUE(h.waits_until_it_holds(2));
    EXPECT_EQ(got.size(), 1u);
    h.let_go();
    ASSERT_TRUE(got.wait(2));
    EXPECT_FALSE(got.all[1].ec) << got.all[1].ec.message();
    ASSERT_TRUE(sent.wait(2));
    EXPECT_EQ(sent.receipts()[1].outcome, outcome::stored) << shown(sent.receipts()[1]);
    EXPECT_EQ(p.counters().sends, 3u) << "a wait for room is no send";
    got.all.clear();
    expect_quiet(p);
}

// A big one waits behind nobody who came after it; small ones that came before do not wait for it.
TEST(Room, IsGivenInOrderOfArrivalWhateverItsSize)
{
    holding h;
    auto p = started(h.options(100, 4 * 612, when_full::wait));
    ASSERT_TRUE(p.route("T"));
    collector sent;
    rooms got;
    for (int i = 0; i < 4; ++i)
        p.async_send(message("T", std::string(100, 'x')), sent.handler(i));
    ASSERT_TRUE(h.waits_until_it_holds(4));
    p.async_room("T", 1000, 10s, got.handler(0));  // half of it
    p.async_room("T", 100, 10s, got.handler(1));
    p.async_send(message("T", std::string(100, 'y')), sent.handler(4));
    const auto answer_one = [&] {
        const std::lock_guard l(h.lock);
        auto [s, r] = h.held.front();
        h.held.erase(h.held.begin());
        s->write(stored_answer(r));
    };
    answer_one();
    ASSERT_TRUE(sent.wait(1));
    answer_one();
    ASSERT_TRUE(sent.wait(2));
    EXPECT_EQ(got.size(), 0u) << "two are free, which the small one would fit in, but the big one came first";
    answer_one();
    ASSERT_TRUE(got.wait(1));
    EXPECT_EQ(got.all[0].i, 0);
    EXPECT_EQ(h.broker.sends().size(), 4u);
    answer_one();
    ASSERT_TRUE(got.wait(2));
    EXPECT_EQ(got.all[1].i, 1);
    got.all[0].got.reset();
    ASSERT_TRUE(h.waits_until_it_holds(1)) << "then the send that came last";
    h.let_go();
    ASSERT_TRUE(sent.wait(5));
    got.all.clear();
    expect_quiet(p);
}

TEST(Room, EndsByItsTimeoutByCancellationAndByTheClose)
{
    holding h;
    auto o = h.options(1, plenty, when_full::wait);
    o.limits = {limit("T", 1, 5000)};
    auto p = started(o);
    ASSERT_TRUE(p.route("T"));
    collector sent;
    p.async_send(message("T", "head"), sent.handler(0));
    ASSERT_TRUE(h.waits_until_it_holds(1));
    rooms got;
    boost::asio::cancellation_signal signal;
    p.async_room("T", 10, 30ms, got.handler(0));
    ASSERT_TRUE(got.wait(1));
    EXPECT_EQ(got.all[0].ec, errc::expired_waiting);
    EXPECT_FALSE(got.all[0].got);
    p.async_room("T", 10, 10s, boost::asio::bind_cancellation_slot(signal.slot(), got.handler(1)));
    p.async_room("U", 10, 10s, got.handler(2));
    signal.emit(boost::asio::cancellation_type::total);
    ASSERT_TRUE(got.wait(2));
    EXPECT_EQ(got.all[1].i, 1);
    EXPECT_EQ(got.all[1].ec, boost::asio::error::operation_aborted);
    signal.emit(boost::asio::cancellation_type::terminal);  // it is over
    p.async_room("T", 4500, 10s, got.handler(3));
    ASSERT_TRUE(got.wait(3));
    EXPECT_EQ(got.all[2].ec, errc::larger_than_limit);
    p.async_room("T ", 10, 10s, got.handler(4));
    ASSERT_TRUE(got.wait(4));
    EXPECT_EQ(got.all[3].ec, errc::invalid_topic);
    auto closing = std::async(std::launch::async, [&] { return p.close(10s); });
    ASSERT_TRUE(got.wait(5)) << "not at the deadline";
    EXPECT_EQ(got.all[4].i, 2);
    EXPECT_EQ(got.all[4].ec, errc::closed);
    h.let_go();
    EXPECT_TRUE(closing.get());
    p.async_room("T", 10, 10s, got.handler(5));
    ASSERT_TRUE(got.wait(6));
    EXPECT_EQ(got.all[5].ec, errc::closed);
    ASSERT_TRUE(sent.wait(1));
    expect_quiet(p);
}

TEST(Room, GoesBackUnusedAndWhereTheMessageDoesNotFit)
{
    holding h;
    room outlives;
    {
        auto o = h.options(2, plenty, when_full::wait);
        o.limits = {limit("U", 1)};
        auto p = started(o);
        ASSERT_TRUE(p.route("T"));
        ASSERT_TRUE(p.route("U"));
        rooms got;
        collector sent;
        p.async_room("T", 10, 10s, got.handler(0));
        p.async_room("T", 10, 10s, got.handler(1));
        ASSERT_TRUE(got.wait(2));
        p.async_send(message("T", "waits"), sent.handler(0));
        got.all[0].got.reset();
        ASSERT_TRUE(h.waits_until_it_holds(1));
        p.async_send(std::move(got.all[1].got), message("T", "more than ten bytes"), {}, sent.handler(1));
        ASSERT_TRUE(h.waits_until_it_holds(2)) << "in room of its own";
        h.let_go(false);
        ASSERT_TRUE(sent.wait(2));
        p.async_room("T", 10, 10s, got.handler(2));
        ASSERT_TRUE(got.wait(3));
        p.async_send(std::move(got.all[2].got), message("U", "one"), {}, sent.handler(2));
        p.async_send(message("U", "two"), sent.handler(3));
        ASSERT_TRUE(h.waits_until_it_holds(1)) << "the limit of its topic holds";
        h.let_go();
        ASSERT_TRUE(sent.wait(4));
        p.async_room("U", 10, 10s, got.handler(3));
        ASSERT_TRUE(got.wait(4));
        outlives = std::move(got.all[3].got);
        EXPECT_TRUE(p.close());
    }
    EXPECT_TRUE(outlives);
}

boost::asio::awaitable<int> send_as_there_is_room(producer& p, collector& sent)
{
    int n = 0;
    for (; n < 50; ++n) {
        room place = co_await p.async_room("T", 10, 10s, boost::asio::use_awaitable);
        message m("T", std::to_string(n));
        p.async_send(std::move(place), std::move(m), {}, sent.handler(n));
    }
    co_return n;
}

TEST(Room, HoldsUpACoroutineThatSendsFasterThanTheBrokerStores)
{
    holding h;
    auto p = started(h.options(4, plenty, when_full::refuse));
    ASSERT_TRUE(p.route("T"));
    collector sent;
    boost::asio::io_context mine;
    auto all = boost::asio::co_spawn(mine, send_as_there_is_room(p, sent), boost::asio::use_future);
    std::thread runs([&] { mine.run(); });
    ASSERT_TRUE(h.waits_until_it_holds(4));
    EXPECT_EQ(h.broker.sends().size(), 4u);
    h.let_go();
    EXPECT_EQ(all.get(), 50);
    runs.join();
    ASSERT_TRUE(sent.wait(50));
    int i = 0;
    for (const heard& r : h.broker.sends())
        EXPECT_EQ(r.body, std::to_string(i++));
    for (const auto& [n, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    expect_quiet(p);
}

}  // namespace
}  // namespace shunt::test
