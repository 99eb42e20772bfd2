// Whom the producer tells, and on which thread: tokens, executors, handlers that misbehave.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <memory>
#include <thread>

namespace shunt::test {
namespace {

namespace asio = boost::asio;

/// An io_context run by so many threads until the end of the test.
struct running_context {
    asio::io_context context;
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
    std::vector<std::thread> threads;

    explicit running_context(int n)
    {
        for (int i = 0; i < n; ++i)
            threads.emplace_back([this] { context.run(); });
    }
    ~running_context()
    {
        work.reset();
        for (std::thread& t : threads)
            t.join();
    }
};

struct Handlers : testing::Test {
    Handlers() { topic(cluster, "T"); }
    cluster::embedded_cluster cluster;
};

TEST_F(Handlers, ADeferredSendMayBeBegunAgain)
{
    auto p = started(options_for(cluster));
    const auto twice = p.async_send(message("T", "x"), asio::deferred);
    collector sent;
    twice(sent.handler(0));
    twice(sent.handler(1));
    ASSERT_TRUE(sent.wait(2));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
}

/// Counts what is taken from it and given back.
template <typename T>
struct counting_allocator {
    using value_type = T;
    std::shared_ptr<std::atomic<int>> held;
    explicit counting_allocator(std::shared_ptr<std::atomic<int>> by) : held(std::move(by)) {}
    template <typename U>
    counting_allocator(const counting_allocator<U>& other) : held(other.held)
    {
    }
    T* allocate(std::size_t n)
    {
        ++*held;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n)
    {
        --*held;
        std::allocator<T>().deallocate(p, n);
    }
    bool operator==(const counting_allocator&) const = default;
};

TEST_F(Handlers, AHandlerTooLargeForItsPlaceLiesWhereItsAllocatorPutsIt)
{
    auto p = started(options_for(cluster));
    const auto held = std::make_shared<std::atomic<int>>(0);
    std::promise<int> during;
    std::array<char, 1000> large{};
    p.async_send(message("T", "x"), asio::bind_allocator(counting_allocator<char>(held), [&, large, held](error_code ec, const receipt&) {
                     EXPECT_FALSE(ec) << large.size();
                     during.set_value(*held);
                 }));
    auto taken = during.get_future();
    ASSERT_EQ(taken.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(taken.get(), 1);
    EXPECT_TRUE(eventually([&] { return *held == 0; }));
}

TEST_F(Handlers, AFutureHoldsTheReceiptOrThrowsTheError)
{
    auto p = started(options_for(cluster));
    auto good = p.async_send(message("T", "x"), asio::use_future);
    auto bad = p.async_send(message("T", ""), asio::use_future);
    ASSERT_EQ(good.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(good.get().outcome, outcome::stored);
    ASSERT_EQ(bad.wait_for(patience), std::future_status::ready);
    try {
        (void)bad.get();
        ADD_FAILURE() << "an empty body was sent";
    } catch (const boost::system::system_error& e) {
        EXPECT_EQ(e.code(), errc::empty_body);
    }
}

asio::awaitable<void> send_three(producer& p, std::vector<receipt>& out)
{
    for (int i = 0; i < 2; ++i) {
        message m("T", "hello");
        auto sent = co_await p.async_send(std::move(m), asio::as_tuple(asio::use_awaitable));
        auto& [ec, r] = sent;
        EXPECT_FALSE(ec);
        out.push_back(r);
    }
    message m("T", "hello");
    receipt r = co_await p.async_send(std::move(m), asio::use_awaitable);
    out.push_back(r);
    message bad("a b", "hello");
    send_options how;
    how.timeout = 100ms;
    auto refused = co_await p.async_send(std::move(bad), std::move(how), asio::as_tuple(asio::use_awaitable));
    auto& [ec, why] = refused;
    EXPECT_EQ(ec, errc::invalid_topic);
    EXPECT_FALSE(why.reason.empty());
}

TEST_F(Handlers, ACoroutineGoesOnOnItsOwnExecutor)
{
    running_context mine(1);
    auto p = started(options_for(cluster));
    std::vector<receipt> receipts;
    auto done = asio::co_spawn(mine.context, send_three(p, receipts), asio::use_future);
    ASSERT_EQ(done.wait_for(patience), std::future_status::ready);
    done.get();
    ASSERT_EQ(receipts.size(), 3u);
    for (const receipt& r : receipts)
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    expect_agreement(cluster, receipts);
}

asio::awaitable<void> send_when_closed(producer& p, error_code& out)
{
    message m("T", "hello");
    auto sent = co_await p.async_send(std::move(m), asio::as_tuple(asio::use_awaitable));
    out = std::get<0>(sent);
}

TEST_F(Handlers, ACoroutineHearsOfAClosedProducer)
{
    running_context mine(1);
    auto p = started(options_for(cluster));
    ASSERT_TRUE(p.close());
    error_code ec;
    auto done = asio::co_spawn(mine.context, send_when_closed(p, ec), asio::use_future);
    ASSERT_EQ(done.wait_for(patience), std::future_status::ready);
    done.get();
    EXPECT_EQ(ec, errc::closed);
}

TEST_F(Handlers, RunOnTheExecutorTheyAreBoundTo)
{
    auto p = started(options_for(cluster));
    asio::thread_pool pool(1);
    std::promise<std::thread::id> pool_thread, ran;
    asio::post(pool, [&] { pool_thread.set_value(std::this_thread::get_id()); });
    p.async_send(message("T", "x"),
                 asio::bind_executor(pool, [&](const error_code&, const receipt&) { ran.set_value(std::this_thread::get_id()); }));
    auto where = ran.get_future();
    ASSERT_EQ(where.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(where.get(), pool_thread.get_future().get());
    pool.join();
}

TEST_F(Handlers, BoundToTheProducersExecutorRunOnItsNetworkThread)
{
    auto p = started(options_for(cluster));
    std::promise<std::thread::id> io;
    asio::post(p.get_executor(), [&] { io.set_value(std::this_thread::get_id()); });
    std::promise<std::pair<std::thread::id, error_code>> ran;
    p.async_send(message("T", "x"), asio::bind_executor(p.get_executor(), [&](const error_code&, const receipt&) {
                     const auto inner = p.send(message("T", "x"));
                     ran.set_value({std::this_thread::get_id(), inner ? error_code{} : inner.error()});
                 }));
    auto answer = ran.get_future();
    ASSERT_EQ(answer.wait_for(patience), std::future_status::ready);
    const auto [where, inner] = answer.get();
    EXPECT_EQ(where, io.get_future().get());
    EXPECT_EQ(inner, errc::would_deadlock) << "a sync send there would wait for itself";
}

// It was still counted for a moment after its handler had run, or after a sync send had returned.
TEST_F(Handlers, FindTheirMessageNoLongerInFlight)
{
    auto p = started(options_for(cluster));
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(p.send(message("T", "x")));
        ASSERT_EQ(p.counters().in_flight_messages, 0u) << "after sync send " << i;
    }
    std::promise<std::uint64_t> on_callback_thread, on_network_thread;
    p.async_send(message("T", "x"), [&](const error_code&, const receipt&) { on_callback_thread.set_value(p.counters().in_flight_messages); });
    auto there = on_callback_thread.get_future();
    ASSERT_EQ(there.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(there.get(), 0u);
    p.async_send(message("T", "x"), asio::bind_executor(p.get_executor(), [&](const error_code&, const receipt&) {
                     on_network_thread.set_value(p.counters().in_flight_messages);
                 }));
    there = on_network_thread.get_future();
    ASSERT_EQ(there.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(there.get(), 0u);
}

// With room for one message a handler that sends waited for the room of its own message, until the deadline.
TEST_F(Handlers, FindRoomForASendOfTheirOwn)
{
    auto o = options_for(cluster);
    o.max_in_flight_messages = 1;
    o.send_timeout = 10s;
    auto p = started(o);
    std::promise<outcome> inner;
    p.async_send(message("T", "x"), [&](const error_code&, const receipt&) { inner.set_value(p.deliver(message("T", "x")).outcome); });
    auto there = inner.get_future();
    ASSERT_EQ(there.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(there.get(), outcome::stored);
}

TEST_F(Handlers, ThatBlockHoldUpNoOtherSend)
{
    auto p = started(options_for(cluster));
    ASSERT_TRUE(p.send(message("T", "warm")));
    std::latch release(1);
    std::promise<void> blocked;
    p.async_send(message("T", "x"), [&](const error_code&, const receipt&) {
        blocked.set_value();
        release.wait();
    });
    ASSERT_EQ(blocked.get_future().wait_for(patience), std::future_status::ready);
    const auto begin = clock::now();
    std::vector<std::future<receipt>> others;
    for (int i = 0; i < 99; ++i)
        others.push_back(p.async_send(message("T", "x"), asio::use_future));
    for (auto& f : others) {
        ASSERT_EQ(f.wait_for(patience), std::future_status::ready);
        EXPECT_EQ(f.get().outcome, outcome::stored);
    }
    EXPECT_TRUE(p.send(message("T", "x")));
    EXPECT_LT(clock::now() - begin, 100ms + grace());
    release.count_down();
    EXPECT_TRUE(p.close());
    expect_quiet(p);
}

TEST_F(Handlers, MaySendAgainSyncAndAsync)
{
    auto p = started(options_for(cluster));
    std::atomic<int> left{50};
    std::promise<void> done;
    std::function<void(const error_code&, const receipt&)> next = [&](const error_code& ec, const receipt&) {
        EXPECT_FALSE(ec);
        EXPECT_TRUE(p.send(message("T", "sync")));
        if (--left == 0)
            done.set_value();
        else
            p.async_send(message("T", "async"), next);
    };
    p.async_send(message("T", "async"), next);
    ASSERT_EQ(done.get_future().wait_for(patience), std::future_status::ready);
    EXPECT_EQ(cluster.stored(), 100u);
}

TEST_F(Handlers, ThatThrowAreCaughtAndCounted)
{
    auto p = started(options_for(cluster));
    for (int i = 0; i < 10; ++i) {
        p.async_send(message("T", "x"), [i](const error_code&, const receipt&) {
            if (i % 2 == 0)
                throw std::runtime_error("out of a handler");
            throw 7;
        });
    }
    EXPECT_TRUE(eventually([&] { return p.counters().callbacks_threw == 10; }));
    EXPECT_TRUE(p.send(message("T", "x"))) << "the producer goes on";
    expect_quiet(p);
}

// A throw went through the middle of the producer's own work: it ended the process, or left the producer deaf.
TEST_F(Handlers, ThatThrowOnTheNetworkThreadAreCaughtAndCounted)
{
    auto p = started(options_for(cluster));
    for (int i = 0; i < 10; ++i)
        p.async_send(message("T", "x"),
                     asio::bind_executor(p.get_executor(), [](const error_code&, const receipt&) { throw std::runtime_error("there"); }));
    EXPECT_TRUE(eventually([&] { return p.counters().callbacks_threw >= 1; })) << "those of one turn may be counted as one";
    EXPECT_TRUE(p.send(message("T", "x")));
    expect_quiet(p);
    EXPECT_TRUE(p.close());
}

TEST_F(Handlers, ThatThrowOnTheUsersContextLeaveTheProducerWell)
{
    running_context mine(0);
    auto p = started(options_for(cluster), mine.context.get_executor());
    std::atomic<int> out_of_run{0};
    std::thread runner([&] {
        for (;;) {
            try {
                mine.context.run();
                return;
            } catch (const std::runtime_error&) {
                ++out_of_run;
            }
        }
    });
    for (int i = 0; i < 10; ++i)
        p.async_send(message("T", "x"),
                     asio::bind_executor(p.get_executor(), [](const error_code&, const receipt&) { throw std::runtime_error("there"); }));
    EXPECT_TRUE(eventually([&] { return p.counters().callbacks_threw + static_cast<unsigned>(out_of_run) >= 1; }));
    EXPECT_TRUE(p.send(message("T", "x")));
    expect_quiet(p);
    EXPECT_TRUE(p.close());
    mine.work.reset();
    runner.join();
}

TEST_F(Handlers, MayOwnWhatCannotBeCopied)
{
    auto p = started(options_for(cluster));
    std::promise<int> got;
    auto answer = got.get_future();
    auto owned = std::make_unique<int>(7);
    std::array<char, 300> large{};  // more than a completion holds in place
    p.async_send(message("T", "x"), [own = std::move(owned), large, promise = std::move(got)](const error_code&, const receipt&) mutable {
        promise.set_value(*own + large[0]);
    });
    ASSERT_EQ(answer.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(answer.get(), 7);
}

// ---- the user's executor ----

class OnAUsersContext : public testing::TestWithParam<int> {};

TEST_P(OnAUsersContext, EverySendWorks)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    running_context mine(GetParam());
    auto p = started(options_for(cluster), mine.context.get_executor());
    collector sent;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i)
                EXPECT_TRUE(p.send(message("T", "x")));
        });
    for (int i = 0; i < 500; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    for (std::thread& t : threads)
        t.join();
    ASSERT_TRUE(sent.wait(500));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(cluster.stored(), 700u);
    EXPECT_TRUE(p.close());
    expect_quiet(p);
}

INSTANTIATE_TEST_SUITE_P(Handlers, OnAUsersContext, testing::Values(1, 2));

TEST_F(Handlers, ASyncSendReturnsThoughNobodyRunsTheExecutor)
{
    asio::io_context idle;
    auto p = started(options_for(cluster), idle.get_executor());
    send_options how;
    how.timeout = 200ms;
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "x"), how);
    EXPECT_LT(clock::now() - begin, 200ms + grace());
    EXPECT_EQ(r.outcome, outcome::not_sent) << shown(r);
    EXPECT_EQ(r.error, errc::expired_waiting);
    EXPECT_EQ(p.route("T", 50ms).error(), errc::route_timeout);

    // Somebody comes after all: what was given up is not sent, and the producer is well.
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(idle);
    std::thread runner([&] { idle.run(); });
    EXPECT_TRUE(p.send(message("T", "y")));
    EXPECT_EQ(cluster.stored(), 1u) << "the first was given up before it was sent";
    expect_quiet(p);
    EXPECT_TRUE(p.close());
    work.reset();
    runner.join();
}

// Its attempt was decided and handed over: nobody can know any more.
TEST_F(Handlers, ASyncSendWhoseNetworkThreadIsStuckEndsUnknownOnlyIfItMayBeOut)
{
    auto p = started(options_for(cluster));
    ASSERT_TRUE(p.send(message("T", "warm")));
    std::latch release(1);
    std::promise<void> stuck;
    asio::post(p.get_executor(), [&] {
        stuck.set_value();
        release.wait();
    });
    stuck.get_future().wait();
    send_options how;
    how.timeout = 100ms;
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "x"), how);
    EXPECT_LT(clock::now() - begin, 100ms + grace());
    EXPECT_EQ(r.outcome, outcome::unknown) << shown(r);
    EXPECT_EQ(r.error, errc::response_timeout);
    EXPECT_FALSE(r.msg_id.empty());
    release.count_down();
    EXPECT_TRUE(p.send(message("T", "y")));
    expect_quiet(p);
}

// The I/O side is held up until just about the moment at which the caller gives up, again and again: both may end the
// send, and whoever is second must see that it is over.
TEST_F(Handlers, ASyncSendGivenUpAtTheLastMomentEndsOnce)
{
    auto p = started(options_for(cluster));
    ASSERT_TRUE(p.send(message("T", "warm")));
    const int rounds = 60;
    std::vector<receipt> receipts;
    for (int i = 0; i < rounds; ++i) {
        const auto until = clock::now() + 54ms + std::chrono::microseconds(100 * (i % 40));  // timeout + what a caller waits on
        asio::post(p.get_executor(), [until] {
            while (clock::now() < until) {
            }
        });
        send_options how;
        how.timeout = 5ms;
        receipts.push_back(p.deliver(message("T", "x"), how));
        const receipt next = p.deliver(message("T", "next"));
        EXPECT_EQ(next.outcome, outcome::stored) << "round " << i << ": " << shown(next);
        receipts.push_back(next);
    }
    expect_quiet(p);
    expect_agreement(cluster, receipts);
}

TEST_F(Handlers, AnExecutorThatEndsBeforeTheProducerIsSurvived)
{
    auto context = std::make_unique<asio::io_context>();
    auto p = std::make_unique<producer>(started(options_for(cluster), context->get_executor()));
    bool called = false;
    p->async_send(message("T", "x"), [&](const error_code&, const receipt&) { called = true; });
    EXPECT_FALSE(p->close(0ms)) << "nobody runs it";
    p.reset();
    context.reset();
    EXPECT_FALSE(called);
}

// ---- selector functions that do odd things ----

// The inner send unmarked what the outer decision was still reading.
TEST_F(Handlers, ASelectorFunctionMayStartAnotherSend)
{
    auto p = started(options_for(cluster));
    topic(cluster, "U");
    ASSERT_TRUE(p.send(message("U", "warm")));
    std::vector<std::future<receipt>> inner;
    for (int i = 0; i < 50; ++i) {
        send_options how;
        how.select = [&](std::span<const queue_ref> queues, const message&, std::uint32_t) {
            inner.push_back(p.async_send(message("U", "inner"), asio::use_future));
            return queues.size() - 1;
        };
        const receipt r = p.deliver(message("T", "x"), how);
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.broker, "broker-c");
        EXPECT_EQ(r.queue, 3);
    }
    for (auto& f : inner) {
        ASSERT_EQ(f.wait_for(patience), std::future_status::ready);
        EXPECT_EQ(f.get().outcome, outcome::stored);
    }
}

}  // namespace
}  // namespace shunt::test
