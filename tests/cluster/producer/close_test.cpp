// The end of a producer: on time, complete, and once, whoever asks for it and whatever is under way.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <boost/asio/bind_executor.hpp>

#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <optional>
#include <thread>

namespace shunt::test {
namespace {

/// A producer whose 64 sends are under way at brokers that answer nothing.
struct stuck {
    cluster::embedded_cluster cluster;
    collector sent;
    std::optional<producer> p;
    static constexpr int n = 64;

    explicit stuck(std::chrono::milliseconds timeout = 10s)
    {
        topic(cluster, "T");
        auto o = with_policy(options_for(cluster), "best-queue");
        o.send_timeout = timeout;
        o.attempts = 1;
        p.emplace(started(o));
        EXPECT_TRUE(p->send(message("T", "warm")));
        for (const std::string& b : cluster.broker_names())
            command(cluster, b + " hang");
        for (int i = 0; i < n; ++i)
            p->async_send(message("T", "x"), sent.handler(i));
        EXPECT_TRUE(cluster.wait_until([&] {
            std::uint64_t sends = 0;
            for (const std::string& b : cluster.broker_names())
                sends += cluster.counts(b).sends;
            return sends == n + 1;
        }, patience));
    }
};

// Each connection that close() ended counted as one that was lost.
TEST(Close, LosesNoConnection)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(options_for(cluster));
    for (int i = 0; i < 12; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    EXPECT_EQ(p.counters().connections, 4u) << "the name server's and three brokers'";
    EXPECT_TRUE(p.close());
    EXPECT_EQ(p.counters().connections, 0u);
    EXPECT_EQ(p.counters().connections_lost, 0u);
}

TEST(Close, EndsByItsDeadlineWhenBrokersHang)
{
    stuck s;
    const auto begin = clock::now();
    EXPECT_FALSE(s.p->close(300ms)) << "sends were cut off";
    EXPECT_LT(clock::now() - begin, 300ms + grace());
    ASSERT_TRUE(s.sent.wait(s.n));
    const auto all = s.sent.receipts();
    for (const auto& [i, r] : all) {
        EXPECT_EQ(r.outcome, outcome::unknown) << shown(r);
        EXPECT_TRUE(r.error == make_send_error(errc::cancelled, outcome::unknown)) << shown(r);
    }
    expect_quiet(*s.p);
}

TEST(Close, LetsSendsEndByThemselves)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    ASSERT_TRUE(p.send(message("T", "warm")));
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " latency 150ms");
    collector sent;
    for (int i = 0; i < 100; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    EXPECT_TRUE(p.close(5s));
    ASSERT_TRUE(sent.wait(100));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    expect_agreement(cluster, sent.receipts());
}

TEST(Close, OfTwoThreadsAtOnceEndsForBoth)
{
    stuck s;
    const auto begin = clock::now();
    std::thread other([&] { EXPECT_FALSE(s.p->close(200ms)); });
    EXPECT_FALSE(s.p->close(200ms));
    other.join();
    EXPECT_LT(clock::now() - begin, 200ms + grace());
    EXPECT_FALSE(s.p->close()) << "once more: nothing new, the same answer";
    ASSERT_TRUE(s.sent.wait(s.n));
    EXPECT_EQ(s.sent.receipts().size(), static_cast<std::size_t>(s.n));
}

TEST(Close, FromAHandlerStartsItAndReturns)
{
    stuck s;
    std::promise<void> asked;
    producer& p = *s.p;
    // Refused at once, so that its handler runs while the others hang.
    p.async_send(message("T", ""), [&](const error_code&, const receipt&) {
        const auto begin = clock::now();
        (void)p.close(100ms);
        EXPECT_LT(clock::now() - begin, 100ms) << "it does not wait for itself";
        asked.set_value();
    });
    ASSERT_EQ(asked.get_future().wait_for(patience), std::future_status::ready);
    EXPECT_TRUE(s.sent.wait(s.n));
    EXPECT_EQ(s.sent.receipts().size(), static_cast<std::size_t>(s.n));
    (void)p.close();
}

TEST(Close, BeforeAnythingWasSent)
{
    auto p = started(options_for(dead_address()));
    const auto begin = clock::now();
    EXPECT_TRUE(p.close());
    EXPECT_LT(clock::now() - begin, grace());
    EXPECT_TRUE(p.close());
}

TEST(Close, WorksInTwoHundredRoundsWithAndWithoutTraffic)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    const auto o = options_for(cluster);
    const int rounds = slow_build ? 60 : 200;
    for (int round = 0; round < rounds; ++round) {
        auto p = started(o);
        collector sent;
        const int n = round % 4;
        for (int i = 0; i < n; ++i)
            p.async_send(message("T", "x"), sent.handler(i));
        EXPECT_TRUE(p.close(5s));
        EXPECT_TRUE(sent.wait(static_cast<std::size_t>(n)));
    }
    EXPECT_TRUE(cluster.wait_until([&] { return cluster.counts("name-server").open == 0; }, patience)) << "no connection is left";
}

TEST(Close, RefusesWhatComesAfterIt)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(options_for(cluster));
    ASSERT_TRUE(p.send(message("T", "x")));
    ASSERT_TRUE(p.close());
    const auto begin = clock::now();
    EXPECT_EQ(p.send(message("T", "x")).error(), errc::closed);
    EXPECT_EQ(p.send_oneway(message("T", "x")).error(), errc::closed);
    EXPECT_EQ(p.route("T").error(), errc::closed);
    collector sent;
    p.async_send(message("T", "x"), sent.handler(0));
    p.async_send_oneway(message("T", "x"), {}, sent.handler(1));
    ASSERT_TRUE(sent.wait(2));
    for (const auto& [i, r] : sent.receipts()) {
        EXPECT_EQ(r.error, errc::closed);
        EXPECT_EQ(r.outcome, outcome::not_sent);
    }
    EXPECT_LT(clock::now() - begin, grace());
    EXPECT_EQ(cluster.stored(), 1u);
}

// A handler was called inside async_send(), on the caller's stack: with the caller's locks held, and its throw went to
// whoever sent.
TEST(Close, TellsALateSendOfItOutsideOfTheCall)
{
    cluster::embedded_cluster cluster;
    auto p = started(options_for(cluster));
    ASSERT_TRUE(p.close());
    std::promise<std::thread::id> ran;
    auto where = ran.get_future();
    p.async_send(message("T", "x"), [&](const error_code& ec, const receipt&) {
        EXPECT_EQ(ec, errc::closed);
        ran.set_value(std::this_thread::get_id());
        throw std::runtime_error("into the producer");
    });
    ASSERT_EQ(where.wait_for(patience), std::future_status::ready);
    EXPECT_NE(where.get(), std::this_thread::get_id());
    EXPECT_TRUE(eventually([&] { return p.counters().callbacks_threw == 1; }));
}

// Nobody runs that executor any more: such handlers were never called.
TEST(Close, CallsHandlersBoundToTheProducersExecutorAfterwardsToo)
{
    cluster::embedded_cluster cluster;
    auto p = started(options_for(cluster));
    ASSERT_TRUE(p.close());
    collector sent;
    std::promise<error_code> answered;
    for (int i = 0; i < 20; ++i)
        p.async_send(message("T", "x"), boost::asio::bind_executor(p.get_executor(), sent.handler(i)));
    p.async_request(message("T", "x"), {}, boost::asio::bind_executor(p.get_executor(), [&](const error_code& ec, const reply_receipt&) {
        answered.set_value(ec);
    }));

    ASSERT_TRUE(sent.wait(20));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.error, errc::closed) << shown(r);
    auto future = answered.get_future();
    ASSERT_EQ(future.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(future.get(), errc::closed);
}

TEST(Close, OfAProducerDestroyedInAHandlerLeavesNothingBehind)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    for (int round = 0; round < 20; ++round) {
        auto p = std::make_unique<producer>(started(options_for(cluster)));
        std::promise<void> gone;
        producer* raw = p.get();
        raw->async_send(message("T", "x"), [&, owned = std::move(p)](const error_code& ec, const receipt&) mutable {
            EXPECT_FALSE(ec);
            owned.reset();
            // The network side comes to its end while this handler is still busy.
            EXPECT_TRUE(cluster.wait_until([&] { return cluster.counts("name-server").open == 0; }, patience));
            gone.set_value();
        });
        ASSERT_EQ(gone.get_future().wait_for(patience), std::future_status::ready);
    }
}

TEST(Close, OfAProducerDestroyedOnItsOwnNetworkThreadLeavesNothingBehind)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    for (int round = 0; round < 20; ++round) {
        auto p = std::make_unique<producer>(started(options_for(cluster)));
        std::promise<void> gone;
        producer* raw = p.get();
        raw->async_send(message("T", "x"), boost::asio::bind_executor(raw->get_executor(),
                                                                      [&, owned = std::move(p)](const error_code& ec, const receipt&) mutable {
                                                                          EXPECT_FALSE(ec);
                                                                          owned.reset();
                                                                          gone.set_value();
                                                                      }));
        ASSERT_EQ(gone.get_future().wait_for(patience), std::future_status::ready);
        EXPECT_TRUE(cluster.wait_until([&] { return cluster.counts("name-server").open == 0; }, patience));
    }
}

// Ending the connection to one name server made the question go to the next one, whose silence then held up the end.
TEST(Close, DoesNotWaitForNameServersThatHang)
{
    const auto silent = [](fake_peer::session&, const heard&) {};
    fake_peer one(silent), two(silent);
    auto o = options_for(one.address());
    o.name_servers.push_back(two.address());
    auto p = started(o);
    collector sent;
    p.async_send(message("T", "x"), sent.handler(0));
    ASSERT_TRUE(one.wait_until([&] { return one.count(105) + two.count(105) > 0; }, patience));
    const auto begin = clock::now();
    EXPECT_FALSE(p.close(100ms));
    EXPECT_LT(clock::now() - begin, 100ms + grace());
    ASSERT_TRUE(sent.wait(1));
    EXPECT_EQ(sent.receipts()[0].outcome, outcome::not_sent);
    EXPECT_EQ(sent.receipts()[0].error, errc::cancelled);
}

TEST(Close, DoesNotWaitForABrokerItIsStillConnectingTo)
{
    black_hole hole;
    fake_name_server names({{"T", route_json({{"a", hole.address(), 4, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.send_timeout = 10s;
    auto p = started(o);
    collector sent;
    p.async_send(message("T", "x"), sent.handler(0));
    ASSERT_TRUE(names.wait_until([&] { return p.counters().attempts == 1; }, patience));
    const auto begin = clock::now();
    EXPECT_FALSE(p.close(100ms));
    EXPECT_LT(clock::now() - begin, 100ms + grace());
    ASSERT_TRUE(sent.wait(1));
    EXPECT_EQ(sent.receipts()[0].outcome, outcome::not_sent) << "not a byte was written: " << shown(sent.receipts()[0]);
}

TEST(Close, DoesNotWaitForAProbe)
{
    black_hole hole;
    fake_name_server names({{"T", route_json({{"a", hole.address(), 4, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue", "latency-fault");
    o.policies["default"].fault.settings["probe"] = "1ms";
    o.policies["default"].fault.settings["failure_latency"] = "10s";
    o.send_timeout = 600ms;
    o.attempts = 1;
    auto p = started(o);
    EXPECT_NE(p.deliver(message("T", "x")).outcome, outcome::stored);
    // The broker is isolated now, and probes go to where nothing answers; meanwhile one has begun.
    send_options shortly;
    shortly.timeout = 100ms;
    EXPECT_NE(p.deliver(message("T", "x"), shortly).outcome, outcome::stored);
    const auto begin = clock::now();
    EXPECT_TRUE(p.close(1s));
    EXPECT_LT(clock::now() - begin, grace());
}

// A sync send that was woken to decide its next attempt was still in the list of what close() cancels: both ended it.
TEST(Close, LeavesASendAloneThatItsThreadIsDeciding)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.send_timeout = 10s;
    o.retry_backoff = 0ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " code 2");
    std::latch deciding(1), closed(1);
    receipt r;
    std::thread sender([&] {
        send_options how;
        how.select = [&](std::span<const queue_ref> queues, const message&, std::uint32_t attempt) {
            if (attempt == 2) {
                deciding.count_down();
                closed.wait();
            }
            return (attempt * 5) % queues.size();
        };
        r = p.deliver(message("T", "x"), std::move(how));
    });
    deciding.wait();
    EXPECT_FALSE(p.close(50ms)) << "one send could not be ended";
    closed.count_down();
    sender.join();
    EXPECT_EQ(r.outcome, outcome::rejected) << shown(r);
    EXPECT_EQ(r.attempts.size(), 1u) << shown(r);
    expect_quiet(p);
    (void)p.close();
    expect_agreement(cluster, {r});
}

TEST(Close, EndsWhileRoutesAreAskedForAndSendsWaitForEverything)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    topic(cluster, "readonly");
    command(cluster, "broker-a perm 4 readonly");
    command(cluster, "broker-b perm 4 readonly");
    command(cluster, "broker-c perm 4 readonly");
    for (int round = 0; round < 10; ++round) {
        auto o = with_policy(options_for(cluster), "hash", "none", true);
        o.max_in_flight_messages = 6;
        o.send_timeout = 20s;
        auto p = started(o);
        collector sent;
        int n = 0;
        const auto keyed = [](const char* t) { return message(t, "x").set_order_key("k"); };
        command(cluster, "broker-a hang");
        command(cluster, "broker-b hang");
        command(cluster, "broker-c hang");
        for (int i = 0; i < 3; ++i) {
            p.async_send(keyed("T"), sent.handler(n++));          // one under way, two in its lane
            p.async_send(keyed("readonly"), sent.handler(n++));   // for a queue
            p.async_send(keyed("T"), sent.handler(n++));
            p.async_send(message("T", "x"), sent.handler(n++));   // for room
        }
        EXPECT_FALSE(p.close(round % 2 == 0 ? 0ms : 60ms));
        ASSERT_TRUE(sent.wait(static_cast<std::size_t>(n))) << sent.size();
        EXPECT_EQ(sent.receipts().size(), static_cast<std::size_t>(n));
        expect_quiet(p);
        for (const std::string& b : cluster.broker_names())
            command(cluster, b + " ok");
        command(cluster, "broker-a perm 4 readonly");
        command(cluster, "broker-b perm 4 readonly");
        command(cluster, "broker-c perm 4 readonly");
        expect_agreement(cluster, sent.receipts());
    }
}

std::size_t descriptors()
{
    namespace fs = std::filesystem;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

// What was asked of one name server was asked of the next when its connection went, and that one's owned the producer.
TEST(Close, WhileANameServerIsSilentLeavesNoDescriptor)
{
    cluster::embedded_cluster cluster;
    const std::size_t before = descriptors();
    command(cluster, "name-server hang");
    for (std::uint64_t i = 1; i <= 8; ++i) {  // with which of the two it begins is random
        auto o = options_for(cluster);
        o.name_servers.push_back("127.0.0.1:1");
        auto p = started(o);
        collector sent;
        p.async_send(message("T", "x"), sent.handler(0));
        ASSERT_TRUE(cluster.wait_requests("name-server", 105, i, patience));
        (void)p.close(1ms);
        ASSERT_TRUE(sent.wait(1));
    }
    EXPECT_TRUE(eventually([&] { return descriptors() == before; })) << before << " before, " << descriptors() << " after";
}

TEST(Close, OfOneProducerLeavesAnotherOfTheSameGroupAlone)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto one = started(options_for(cluster));
    auto two = started(options_for(cluster));
    ASSERT_TRUE(one.send(message("T", "x")));
    ASSERT_TRUE(two.send(message("T", "x")));
    EXPECT_TRUE(one.close());
    EXPECT_TRUE(two.send(message("T", "x")));
    EXPECT_EQ(one.send(message("T", "x")).error(), errc::closed);
    EXPECT_TRUE(two.close());
    EXPECT_EQ(cluster.stored(), 3u);
}

TEST(Close, SaysGoodbyeToTheBrokers)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(options_for(cluster));
    for (int i = 0; i < 12; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    EXPECT_TRUE(p.close());
    for (const std::string& b : cluster.broker_names())
        EXPECT_EQ(cluster.counts(b).by_code[35], 1u) << b;
}

TEST(Close, TakesAnyDeadline)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    for (const auto deadline : {std::chrono::milliseconds::max(), std::chrono::milliseconds::min(), 0ms, std::chrono::milliseconds(-5)}) {
        auto p = started(options_for(cluster));
        ASSERT_TRUE(p.send(message("T", "x")));
        EXPECT_TRUE(p.close(deadline));
    }
}

}  // namespace
}  // namespace shunt::test
