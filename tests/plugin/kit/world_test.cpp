// The small world: what brokers do reaches the fault strategy, its verdicts reach the selector, and the log tells it all.

#include <plugin/kit/kit.hpp>

namespace shunt::test {
namespace {

using planted::flaw, planted::isolating;

template <flaw F>
struct three_brokers {
    route r{"a*4, b*4, c*4"};
    selector s{of<planted::sound>()};
    fault f{of<isolating<F>>()};
    world w{r, s, f};
};

TEST(World, AvoidsABrokerWhileItIsAwayAndTakesItBack)
{
    three_brokers<flaw::none> t;
    t.w.at(1s, "b refuse");
    t.w.at(5s, "b ok");
    t.w.run({.sends = 4000, .every = 10ms, .key = "order-{i}", .keys = 10});
    EXPECT_TRUE(all_stored(t.w)) << all_stored(t.w).why();
    EXPECT_EQ(t.w.sends(), 4000u);
    EXPECT_TRUE(never_sends_to(t.w, "b", 1s, 11s, 1)) << "one failure tells";
    EXPECT_TRUE(has(never_sends_to(t.w, "b", 1s, 11s).why(), ", attempt 1 at 1"));
    EXPECT_TRUE(recovers_within(t.w, "b", 10s)) << recovers_within(t.w, "b", 10s).why();
    EXPECT_EQ(t.w.log().at(0).key, "order-0");
    EXPECT_EQ(t.w.log().at(10).key, "order-0");
    EXPECT_TRUE(spread(t.w.first_attempts(0s, 1s - 40ms), t.r)) << spread(t.w.first_attempts(0s, 1s - 40ms), t.r).why();
}

TEST(World, ShowsThatABrokerNeverCameBack)
{
    three_brokers<flaw::never_ends> t;
    t.w.at(1s, "b refuse");
    t.w.at(5s, "b ok");
    t.w.run({.sends = 4000, .every = 10ms});
    EXPECT_TRUE(all_stored(t.w));
    const finding f = recovers_within(t.w, "b", 10s);
    EXPECT_EQ(f.why(), "b is well again since 5s, but of the 2500 sends from 15s on it got 0");
}

TEST(World, KnowsTheWordsOfTheCluster)
{
    struct {
        const char* line;
        std::int32_t result;
        std::int32_t code;
        nanoseconds took;
    } const rows[] = {
        {"a ok", SHUNT_FB_GOOD, 0, 1ms},        {"a latency 30ms", SHUNT_FB_GOOD, 0, 30ms}, {"a code 2", SHUNT_FB_FAILED, 2, 1ms},
        {"a refuse", SHUNT_FB_UNREACHABLE, -1, 0ms}, {"a hang", SHUNT_FB_EXPIRED, -1, 1s},  {"a drop", SHUNT_FB_FAILED, -1, 1ms},
        {"a latency 2s", SHUNT_FB_EXPIRED, -1, 1s},
    };
    for (const auto& row : rows) {
        three_brokers<flaw::none> t;
        t.w.at(0s, row.line);
        t.w.run({.sends = 1});
        const attempt& first = t.w.log().at(0);
        EXPECT_EQ(first.result, row.result) << row.line;
        EXPECT_EQ(first.code, row.code) << row.line;
        EXPECT_EQ(first.end - first.start, row.took) << row.line << ": an attempt has its share of the deadline, a third of three seconds";
        EXPECT_EQ(t.w.log().size(), row.result == SHUNT_FB_GOOD ? 1u : 2u) << row.line;
        EXPECT_TRUE(all_stored(t.w)) << row.line;
        EXPECT_EQ(t.r.load("a").inflight, 0u) << "nothing is left in flight";
    }
    three_brokers<flaw::none> t;
    EXPECT_TRUE(has(thrown_by([&] { t.w.at(0s, "a explode"); }), "it must be BROKER and one of ok, latency D, code N, refuse, hang, drop"));
    EXPECT_TRUE(has(thrown_by([&] { t.w.at(0s, "z ok"); }), "the route has no broker \"z\""));
    EXPECT_TRUE(has(thrown_by([&] { (void)recovers_within(t.w, "a", 1s); }), "is always well"));
}

TEST(World, GivesUpAfterTheAttemptsItMay)
{
    three_brokers<flaw::none> t;
    for (const char* line : {"a refuse", "b refuse", "c refuse"})
        t.w.at(0s, line);
    t.w.run({.sends = 2});
    EXPECT_EQ(t.w.log().size(), 6u);
    EXPECT_EQ(all_stored(t.w).why(), "0 of 2 sends were stored");
}

TEST(World, TellsWhatAStrategyDidWrong)
{
    route r{"a*1"};
    selector s{of<planted::overflows>(), {}, {.start = 2147483647}};
    world w{r, s};
    w.run({.sends = 3});
    EXPECT_EQ(w.problem(), "") << "one queue: any number divides by it";
    route two{"a*3"};
    world wrong{two, s};
    wrong.run({.sends = 3});
    EXPECT_TRUE(has(all_stored(wrong).why(), "the selector: picked queue index")) << all_stored(wrong).why();
}

class probing {
public:
    static constexpr std::string_view name = "probing", summary = "for tests";
    probing(sdk::host h, const sdk::settings&, sdk::instance) : host_(h) {}
    void evaluate(sdk::broker_list b, sdk::nanoseconds, sdk::verdicts out)
    {
        for (std::uint32_t i = 0; i < b.size(); ++i)
            if (bad_ != b[i].id())
                out.available(i);
    }
    bool on_feedback(const sdk::feedback& f)
    {
        if (f.good() && f.broker_id() == bad_ && f.kind() == sdk::feedback_kind::probe)
            bad_ = 0;
        if (!f.good()) {
            bad_ = f.broker_id();
            host_.request_probe(bad_, f.at() + std::chrono::milliseconds{500});
        }
        return true;
    }

private:
    sdk::host host_;
    std::uint32_t bad_ = 0;
};

TEST(World, AnswersProbesAsTheBrokerWould)
{
    route r{"a*4, b*4, c*4"};
    selector s{of<planted::sound>()};
    fault f{of<probing>()};
    world w{r, s, f};
    w.at(1s, "b refuse");
    w.at(3s, "b ok");
    w.run({.sends = 600, .every = 10ms});
    EXPECT_TRUE(all_stored(w));
    EXPECT_TRUE(never_sends_to(w, "b", 1s, 3s, 1));
    EXPECT_TRUE(recovers_within(w, "b", 600ms)) << recovers_within(w, "b", 600ms).why();
}

}  // namespace
}  // namespace shunt::test
