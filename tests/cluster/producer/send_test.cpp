// Every way of sending, against the embedded cluster.

#include <cluster/embedded_cluster.hpp>
#include <shunt/producer.hpp>

#include <gtest/gtest.h>

#include <boost/asio/use_future.hpp>

#include <chrono>
#include <future>
#include <string>

namespace {

using namespace std::chrono_literals;

shunt::producer_options options_for(const shunt::cluster::embedded_cluster& c)
{
    shunt::producer_options o;
    o.group = "tests";
    o.name_servers = {c.name_server()};
    return o;
}

shunt::producer started(shunt::producer_options o)
{
    auto p = shunt::producer::create(std::move(o));
    if (!p)
        throw std::runtime_error(p.error().text);
    return std::move(*p);
}

TEST(Producer, StoresASyncMessageAndSaysWhere)
{
    shunt::cluster::embedded_cluster cluster;
    auto p = started(options_for(cluster));

    const auto r = p.deliver(shunt::message("orders", "hello"));

    ASSERT_EQ(r.outcome, shunt::outcome::stored) << r.error.message() << " " << r.reason;
    const auto ledger = cluster.snapshot("orders");
    ASSERT_EQ(ledger.size(), 1u);
    EXPECT_EQ(ledger[0].body, "hello");
    EXPECT_EQ(ledger[0].msg_id, r.msg_id.view());
    EXPECT_EQ(ledger[0].broker, r.broker);
    EXPECT_EQ(ledger[0].queue, r.queue);
    EXPECT_EQ(ledger[0].offset, r.offset);
    EXPECT_TRUE(p.close());
}

TEST(Producer, CompletesManyAsyncSendsOnceEach)
{
    shunt::cluster::embedded_cluster cluster;
    auto p = started(options_for(cluster));
    std::atomic<int> stored{0}, ended{0};
    std::promise<void> all;
    constexpr int n = 2000;
    for (int i = 0; i < n; ++i) {
        p.async_send(shunt::message("orders", "m" + std::to_string(i)), [&](shunt::error_code ec, const shunt::receipt&) {
            stored += ec ? 0 : 1;
            if (++ended == n)
                all.set_value();
        });
    }
    ASSERT_EQ(all.get_future().wait_for(20s), std::future_status::ready) << ended;
    EXPECT_EQ(stored, n);
    EXPECT_EQ(cluster.stored(), static_cast<std::uint64_t>(n));
    EXPECT_TRUE(p.close());
    EXPECT_EQ(p.counters().in_flight_messages, 0u);
}

TEST(Producer, FailsOverWhenABrokerHangs)
{
    shunt::cluster::embedded_cluster cluster;
    auto o = options_for(cluster);
    o.send_timeout = 600ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(shunt::message("orders", "warm")));
    ASSERT_FALSE(cluster.command("broker-b hang"));
    for (int i = 0; i < 24; ++i) {
        const auto r = p.deliver(shunt::message("orders", "x"));
        EXPECT_EQ(r.outcome, shunt::outcome::stored) << i << " " << r.error.message() << r.reason << " attempts " << r.attempts.size();
    }
}

TEST(Producer, ReturnsAFuture)
{
    shunt::cluster::embedded_cluster cluster;
    auto p = started(options_for(cluster));
    auto f = p.async_send(shunt::message("orders", "hello"), boost::asio::use_future);
    ASSERT_EQ(f.wait_for(10s), std::future_status::ready);
    EXPECT_EQ(f.get().outcome, shunt::outcome::stored);
}

}  // namespace
