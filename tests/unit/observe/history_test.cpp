// The last minutes: what came in each step.

#include <observe/history.hpp>

#include <boost/json.hpp>

#include <gtest/gtest.h>

namespace shunt::observe {
namespace {

namespace js = boost::json;

js::value shown(const history& h, const metrics& m)
{
    json out;
    h.put(out, m);
    return js::parse(out.text());
}

TEST(History, TellsTheCountsOfEachStep)
{
    metrics m;
    history h;
    const int topic = 0;
    const auto send = [&](int n, std::int32_t queue) {
        for (int i = 0; i < n; ++i) {
            m.decided(&topic, "T", 0, "a", queue);
            m.broker(0, "a").attempts(outcome::stored).add();
            m.broker(0, "a").latency.add(750'000);
        }
    };
    send(3, 0);
    h.step(m, 1, 5000);
    send(2, 0);
    send(4, 1);  // a queue that was not there in the first step
    m.broker(0, "a").attempts(outcome::rejected).add();
    h.step(m, 2, 10'000);
    const js::value v = shown(h, m);
    EXPECT_EQ(js::serialize(v.at("at_ms")), "[5000,10000]");
    EXPECT_EQ(js::serialize(v.at("generation")), "[1,2]");
    EXPECT_EQ(js::serialize(v.at("queues")),
              R"([{"topic":"T","broker":"a","queue":0,"decisions":[3,2]},{"topic":"T","broker":"a","queue":1,"decisions":[0,4]}])");
    EXPECT_EQ(js::serialize(v.at("brokers").at(0).at("stored")), "[3,6]");
    EXPECT_EQ(js::serialize(v.at("brokers").at(0).at("failed")), "[0,1]");
    EXPECT_EQ(js::serialize(v.at("brokers").at(0).at("p50_us")), "[750,750]");
}

TEST(History, KeepsFiveMinutesAndTheBusiestQueues)
{
    metrics m;
    history h;
    const int topic = 0;
    for (std::int32_t q = 0; q < 500; ++q)
        for (std::int32_t i = 0; i <= q % 7; ++i)
            m.decided(&topic, "T", 0, "a", q);
    for (int i = 0; i < 100; ++i)
        h.step(m, 1, i);
    js::value v = shown(h, m);
    EXPECT_EQ(v.at("at_ms").as_array().size(), history::max_steps);
    EXPECT_EQ(v.at("at_ms").at(0).as_int64(), 40);
    EXPECT_EQ(v.at("queues").as_array().size(), history::max_queues);
    for (int i = 0; i < 10; ++i)
        m.decided(&topic, "T", 0, "a", 499);
    h.step(m, 1, 1000);
    v = shown(h, m);
    bool there = false;
    for (const js::value& q : v.at("queues").as_array())
        there = there || q.at("queue").as_int64() == 499;
    EXPECT_TRUE(there);
}

}  // namespace
}  // namespace shunt::observe
