// latency-fault, circuit-breaker and none: who is isolated, how long, and how they come back.

#include <plugin/bundled/bundled.hpp>
#include <plugin/bundled/vectors.hpp>

#include <limits>

namespace shunt::test {
namespace {

constexpr auto r3x4 = "a*4 b*4 c*4";
constexpr nanoseconds tick = 1ns;

/// When the broker is available again; zero: it is at `now` already.
nanoseconds isolated_until(fault& f, const std::string& broker, nanoseconds now)
{
    const route t{broker + "*1"};
    const auto j = f.judge(t, now);
    return j.available[0] ? 0ns : j.valid_until;
}

// ---- latency-fault: the tables ----

TEST(LatencyFault, IsolatesAsLongAsTheTablesSay)
{
    const plugin p = bundled("latency-fault");
    for (const auto& row : vectors::durations)
        for (const bool classic : {true, false}) {
            fault f{p, {{"profile", classic ? "classic" : "5.x"}}};
            const nanoseconds at = 1h;
            f.good("a", at, std::chrono::milliseconds{row.latency});
            const nanoseconds expected = std::chrono::milliseconds{classic ? row.classic : row.v5};
            EXPECT_EQ(isolated_until(f, "a", at), expected == 0ns ? 0ns : at + expected) << row.latency << " ms, classic " << classic;
        }
}

TEST(LatencyFault, TakesTheLongestLatencyThereIs)
{
    const plugin p = bundled("latency-fault");
    fault f{p};
    f.tell("a", {.at = 1h, .latency = nanoseconds::max(), .start = 0ns});
    EXPECT_EQ(isolated_until(f, "a", 1h), 1h + 30s);
    f.tell("b", {.at = 1h, .latency = nanoseconds::min(), .start = 0ns});
    EXPECT_EQ(isolated_until(f, "b", 1h), 0ns);
}

TEST(LatencyFault, TakesAFailureForALongLatency)
{
    const plugin p = bundled("latency-fault");
    fault v5{p}, classic{p, {{"profile", "classic"}}}, own{p, {{"failure_latency", 2s}}};
    for (fault* f : {&v5, &classic, &own})
        f->failed("a", 1s);
    EXPECT_EQ(isolated_until(v5, "a", 1s), 11s);
    EXPECT_EQ(isolated_until(classic, "a", 1s), 601s);
    EXPECT_EQ(isolated_until(own, "a", 1s), 6s);
}

TEST(LatencyFault, EndsAnIsolationExactlyAtItsEnd)
{
    const plugin p = bundled("latency-fault");
    fault f{p};
    f.failed("a", 1s);
    EXPECT_EQ(f.verdict("a", 11s - tick), "reachable");
    EXPECT_EQ(f.verdict("a", 11s), "available");
    EXPECT_EQ(f.verdict("nobody", 1s), "available") << "never seen";
}

TEST(LatencyFault, TakesOwnTables)
{
    const plugin p = bundled("latency-fault");
    const settings own{{"latency_max", {200ms, 600ms, 1s}}, {"not_available", {200ms, 600ms, 1s}}, {"failure_latency", 600ms}};
    {
        fault f{p, own};
        f.failed("a", 0ms);
        EXPECT_EQ(f.verdict("a", 0ms), "reachable");
        f.good("a", 1ms, 0ms);
        EXPECT_EQ(f.verdict("a", 1ms), "reachable") << "a good reply does not shorten the isolation";
        EXPECT_EQ(f.verdict("a", 650ms), "available");
    }
    fault f{p, own};
    f.good("a", 0ms, 1s);
    f.good("a", 0ms, 200ms);
    EXPECT_EQ(f.verdict("a", 350ms), "reachable") << "a shorter isolation does not replace a longer one";
    EXPECT_EQ(f.verdict("a", 1050ms), "available");
    f.failed("a", 2s);
    f.left("a", 2001ms);
    EXPECT_EQ(f.verdict("a", 2001ms), "available") << "forgotten";
}

TEST(LatencyFault, IsolatesNobodyWithEmptyTables)
{
    const plugin p = bundled("latency-fault");
    fault f{p, {{"latency_max", setting_array{}}, {"not_available", setting_array{}}}};
    ASSERT_EQ(f.refusal(), "");
    f.good("a", 1s, 1h);
    f.refused("a", 1s);
    EXPECT_EQ(f.verdict("a", 1s), "available");
}

TEST(LatencyFault, RefusesTablesThatMakeNoSense)
{
    const plugin p = bundled("latency-fault");
    struct {
        settings s;
        std::string_view refusal;
    } const rows[] = {
        {{{"latency_max", {50ms, 100ms}}, {"not_available", {0ms}}},
         "latency_max and not_available belong together: as many durations in the one as in the other"},
        {{{"latency_max", {50ms}}}, "latency_max and not_available belong together: as many durations in the one as in the other"},
        {{{"not_available", {50ms}}}, "latency_max and not_available belong together: as many durations in the one as in the other"},
        {{{"latency_max", {100ms, 50ms}}, {"not_available", {0ms, 0ms}}},
         "latency_max must ascend, each bound larger than the one before"},
        {{{"latency_max", {50ms, 50ms}}, {"not_available", {0ms, 0ms}}},
         "latency_max must ascend, each bound larger than the one before"},
        {{{"profile", "classic"}, {"latency_max", {50ms}}, {"not_available", {0ms}}},
         "profile and the tables latency_max and not_available exclude each other; keep one of them"},
        {{{"probe", 100us}}, "probe must be 0 (never) or at least 1ms"},
    };
    for (const auto& row : rows) {
        fault f{p, row.s};
        EXPECT_EQ(f.status(), SHUNT_E_CONFIG);
        EXPECT_EQ(f.refusal(), row.refusal);
    }
}

// ---- latency-fault: a broker's story ----

TEST(LatencyFault, FollowsThe5xTimeline)
{
    const plugin p = bundled("latency-fault");
    fault f{p};
    f.good("a", 0ms, 600ms);
    EXPECT_EQ(isolated_until(f, "a", 0ms), 2000ms);
    f.good("a", 1000ms, 10ms);
    EXPECT_EQ(isolated_until(f, "a", 1000ms), 2000ms) << "a good answer never shortens";
    f.failed("a", 1500ms);
    EXPECT_EQ(isolated_until(f, "a", 1500ms), 11500ms);
    f.failed("a", 2000ms);  // an error code: reached, so still reachable (Java says no)
    EXPECT_EQ(isolated_until(f, "a", 2000ms), 12000ms);
    EXPECT_EQ(f.verdict("a", 2000ms), "reachable");
    f.good("a", 4000ms, 20s);
    EXPECT_EQ(isolated_until(f, "a", 4000ms), 34000ms);
    f.good("a", 5000ms, 30ms);
    EXPECT_EQ(isolated_until(f, "a", 5000ms), 34000ms);
}

TEST(LatencyFault, FollowsTheClassicTimeline)
{
    const plugin p = bundled("latency-fault");
    fault f{p, {{"profile", "classic"}}};
    f.good("a", 0ms, 600ms);
    EXPECT_EQ(isolated_until(f, "a", 0ms), 30000ms);
    f.good("a", 1000ms, 10ms);
    EXPECT_EQ(isolated_until(f, "a", 1000ms), 0ms) << "a good answer ends it";
    f.failed("a", 1500ms);
    EXPECT_EQ(isolated_until(f, "a", 1500ms), 601500ms);
    f.failed("a", 2000ms);
    EXPECT_EQ(isolated_until(f, "a", 2000ms), 602000ms);
    f.good("a", 4000ms, 20s);
    EXPECT_EQ(isolated_until(f, "a", 4000ms), 604000ms);
    f.good("a", 5000ms, 30ms);
    EXPECT_EQ(isolated_until(f, "a", 5000ms), 0ms);
}

// The answer to an attempt from before the failure says nothing about the time after it.
TEST(LatencyFault, ClassicDoesNotListenToAnswersFromBeforeTheIsolation)
{
    const plugin p = bundled("latency-fault");
    fault f{p, {{"profile", "classic"}}};
    f.failed("a", 100ms);
    f.tell("a", {.at = 120ms, .latency = 30ms, .start = 90ms});
    EXPECT_EQ(isolated_until(f, "a", 120ms), 600100ms);
    f.tell("a", {.at = 121ms, .latency = 21ms, .start = 100ms});
    EXPECT_EQ(isolated_until(f, "a", 121ms), 600100ms) << "started in the same instant: not later";
    f.tell("a", {.at = 130ms, .latency = 29ms, .start = 101ms});
    EXPECT_EQ(isolated_until(f, "a", 130ms), 0ms);
}

TEST(LatencyFault, TellsUnreachableBrokersFromSlowOnes)
{
    const plugin p = bundled("latency-fault");
    fault f{p};
    f.refused("a", 1s);
    EXPECT_EQ(f.verdict("a", 1s), "cut off");
    f.failed("a", 2s);
    EXPECT_EQ(f.verdict("a", 2s), "reachable") << "whoever fails was reached";
    f.refused("a", 3s);
    f.good("a", 4s, 1ms);
    EXPECT_EQ(f.verdict("a", 4s), "reachable") << "whoever answers was reached, but is not yet back";
    EXPECT_EQ(f.verdict("a", 13s), "available");
}

TEST(LatencyFault, BlamesNobodyForACallersSmallDeadline)
{
    const plugin p = bundled("latency-fault");
    fault f{p};
    EXPECT_EQ(f.expired("a", 1s, 549ms), 0);
    EXPECT_EQ(f.verdict("a", 1s), "available");
    f.refused("b", 1s);
    f.expired("b", 1s, 100ms);
    EXPECT_EQ(f.verdict("b", 1s), "cut off") << "nothing was learnt";
    EXPECT_EQ(f.expired("a", 1s, 550ms), 1);
    EXPECT_EQ(isolated_until(f, "a", 1s), 11s);
    EXPECT_EQ(f.verdict("a", 1s), "reachable");
}

TEST(LatencyFault, AsksForANewJudgementOnlyWhenAVerdictChanges)
{
    const plugin p = bundled("latency-fault");
    for (const char* profile : {"5.x", "classic"}) {
        fault f{p, {{"profile", profile}}};
        for (int i = 1; i < 100; ++i)
            EXPECT_EQ(f.good("a", i * 10ms, 5ms), 0) << profile;
        EXPECT_EQ(f.failed("a", 1s), 1) << profile;
    }
}

// Seen elsewhere: a broker that was slow once never came back, because only traffic, which it did not get, could bring it back.
TEST(LatencyFault, LetsABrokerBackByItself)
{
    const plugin sp = bundled("best-queue"), fp = bundled("latency-fault");
    route t{r3x4};
    selector s{sp};
    fault f{fp};
    world w{t, s, f};
    w.timeout = 1min;  // two seconds fit into an attempt's share
    bool was_slow = false;
    w.answers([&](const std::string& b, nanoseconds) -> reply {
        if (b != "b" || was_slow)
            return {};
        was_slow = true;
        return {.latency = 2s};
    });
    w.run({.sends = 2000, .every = 10ms});

    const auto slow = std::ranges::find_if(w.log(), [](const attempt& a) { return a.end - a.start == 2s; });
    ASSERT_NE(slow, w.log().end());
    counts before = by_broker(w.first_attempts(slow->end, slow->end + 5s)), after = by_broker(w.first_attempts(slow->end + 5s));
    EXPECT_EQ(before.count("b"), 0u);
    EXPECT_NEAR(after["b"], (after["a"] + after["b"] + after["c"]) / 3.0, 5);
}

// ---- latency-fault: probes ----

TEST(LatencyFault, ProbesAnIsolatedBrokerAtWholeMultiplesOfThePeriod)
{
    const plugin p = bundled("latency-fault");
    fault f{p, {{"probe", 100ms}}};
    f.refused("b", 1ms);
    EXPECT_EQ(f.probe_at("b"), 101ms);
    f.refused("b", 50ms);
    EXPECT_EQ(f.probe_at("b"), 101ms) << "the isolation goes on, and so does its rhythm";
    f.refused("b", 101ms);
    EXPECT_EQ(f.probe_at("b"), 101ms) << "due now, not moved";
    f.probed("b", 101ms, false);
    EXPECT_EQ(f.probe_at("b"), 201ms);
    EXPECT_EQ(f.verdict("b", 101ms), "cut off");
    f.probed("b", 201ms, false);
    f.probed("b", 301ms, true);
    EXPECT_EQ(f.verdict("b", 301ms), "available") << "it was unreachable and now answers";
    EXPECT_EQ(f.probe_at("b"), -1ns);
}

TEST(LatencyFault, ProbesSayNothingAboutABrokerThatIsOnlySlow)
{
    const plugin p = bundled("latency-fault");
    fault f{p, {{"probe", 100ms}}};
    f.good("c", 1s, 600ms);
    EXPECT_EQ(f.probe_at("c"), 1100ms);
    f.probed("c", 1100ms, true);
    EXPECT_EQ(f.verdict("c", 1100ms), "reachable") << "accepting is not being fast";
    f.probed("c", 1200ms, false);
    EXPECT_EQ(f.verdict("c", 1200ms), "cut off") << "now nobody listens";
    f.probed("c", 1300ms, true);
    EXPECT_EQ(f.verdict("c", 1300ms), "available");
}

TEST(LatencyFault, StopsProbingWhenTheIsolationEnds)
{
    const plugin p = bundled("latency-fault");
    fault f{p, {{"probe", 1500ms}}};
    f.good("a", 0ms, 600ms);  // until 2 s
    EXPECT_EQ(f.probe_at("a"), 1500ms);
    f.probed("a", 1500ms, true);
    EXPECT_EQ(f.probe_at("a"), -1ns) << "the next would be at 3 s";
    f.good("a", 1600ms, 600ms);  // until 3.6 s: the same isolation, its rhythm unchanged
    EXPECT_EQ(f.probe_at("a"), 3000ms);

    fault off{p};
    off.refused("a", 1s);
    EXPECT_EQ(off.host().probe_requests, 0);
}

TEST(LatencyFault, StartsANewRhythmWithEachIsolation)
{
    const plugin p = bundled("latency-fault");
    fault f{p, {{"probe", 1s}, {"profile", "classic"}}};
    f.failed("a", 1s);
    EXPECT_EQ(f.probe_at("a"), 2s);
    f.good("a", 1500ms, 10ms);  // ends it; the probe asked for is still under way
    f.failed("a", 1700ms);
    EXPECT_EQ(f.probe_at("a"), 2700ms);
}

// ---- latency-fault: state ----

TEST(LatencyFault, HandsOverWhatIsLeftOfAnIsolation)
{
    const plugin p = bundled("latency-fault");
    fault old{p, {{"probe", 300ms}}};
    old.refused("a", 1s);
    old.failed("b", 2s);
    old.good("c", 2s, 1ms);
    const std::string state = old.export_state(3s);

    fault young{p, {{"probe", 300ms}}};
    ASSERT_EQ(young.import_state(young.table().state_schema, state, 100s), SHUNT_OK);  // on another clock
    EXPECT_EQ(young.verdict("a", 100s), "cut off");
    EXPECT_EQ(isolated_until(young, "a", 100s), 108s);
    EXPECT_EQ(young.verdict("b", 100s), "reachable");
    EXPECT_EQ(isolated_until(young, "b", 100s), 109s);
    EXPECT_EQ(young.verdict("c", 100s), "available");
    EXPECT_EQ(young.probe_at("a"), 100s + 100ms) << "since 98 s, each 300 ms";
}

TEST(LatencyFault, RefusesStateItCannotRead)
{
    const plugin p = bundled("latency-fault");
    fault old{p}, young{p};
    old.refused("a", 1s);
    const std::string state = old.export_state(2s);
    EXPECT_EQ(young.import_state(young.table().state_schema + 1, state, 3s), SHUNT_UNSUPPORTED);
    for (std::size_t cut = 1; cut < state.size(); ++cut)
        EXPECT_EQ(young.import_state(young.table().state_schema, state.substr(0, cut), 3s), SHUNT_E_INVALID) << cut;
    EXPECT_EQ(young.import_state(young.table().state_schema, std::string(state.size(), '\xFF'), 3s), SHUNT_E_INVALID);
    EXPECT_EQ(young.verdict("a", 3s), "available") << "nothing was taken over";
    EXPECT_EQ(young.import_state(young.table().state_schema, "", 3s), SHUNT_OK);
}

// ---- none ----

TEST(None, FindsEverybodyAvailable)
{
    const plugin p = bundled("none");
    fault f{p};
    std::string many;
    for (int i = 0; i < 130; ++i)
        many += "b" + std::to_string(i) + "*1 ";
    const route t{many};
    EXPECT_EQ(f.refused("b7", 1s), 0);
    const auto j = f.judge(t, 2s);
    EXPECT_EQ(std::ranges::count(j.available, true), 130);
    EXPECT_EQ(j.valid_until, nanoseconds::max());
}

// ---- circuit-breaker ----

void fail_often(fault& f, const std::string& broker, nanoseconds from, int n = 10)
{
    for (int i = 0; i < n; ++i)
        f.failed(broker, from + i * 1ms);
}

TEST(CircuitBreaker, IsolatesFromTheErrorRateOnButNotBeforeEnoughAttempts)
{
    const plugin p = bundled("circuit-breaker");
    {
        fault f{p};
        fail_often(f, "a", 1s, 9);
        EXPECT_EQ(f.verdict("a", 1009ms), "available") << "nine attempts are not enough";
        f.failed("a", 1010ms);
        EXPECT_EQ(f.verdict("a", 1010ms), "available") << "one broker of one: none may be isolated";
    }
    const route t{r3x4};
    fault f{p};
    for (int i = 0; i < 5; ++i)
        f.good("a", 1s + i * 1ms, 1ms);
    for (int i = 0; i < 4; ++i)
        f.failed("a", 1100ms + i * 1ms);
    EXPECT_TRUE(f.judge(t, 1200ms).available[0]);
    EXPECT_EQ(f.failed("a", 1200ms), 1);  // five of ten
    const auto j = f.judge(t, 1200ms);
    EXPECT_FALSE(j.available[0]);
    EXPECT_TRUE(j.reachable[0]);
    EXPECT_TRUE(j.available[1] && j.available[2]);
    EXPECT_EQ(j.valid_until, 2200ms);

    fault mild{p};
    for (int i = 0; i < 60; ++i)
        mild.good("a", 1s + i * 1ms, 1ms);
    fail_often(mild, "a", 1100ms, 59);
    EXPECT_TRUE(mild.judge(t, 1200ms).available[0]) << "49.6 %";
}

TEST(CircuitBreaker, ForgetsWhatLeftTheWindow)
{
    const plugin p = bundled("circuit-breaker");
    const route t{r3x4};
    fault f{p};
    fail_often(f, "a", 1s, 9);
    f.failed("a", 12s);
    EXPECT_TRUE(f.judge(t, 12s).available[0]) << "one error in the last 10 s";
}

TEST(CircuitBreaker, LetsOneTrialDecide)
{
    const plugin p = bundled("circuit-breaker");
    route t{r3x4};
    fault f{p};
    fail_often(f, "a", 991ms);  // isolated at 1 s
    EXPECT_FALSE(f.judge(t, 2s - tick).available[0]);
    EXPECT_TRUE(f.judge(t, 2s).available[0]) << "on trial";

    t.load("a").inflight = 1;  // the trial has begun
    EXPECT_FALSE(f.judge(t, 2001ms).available[0]) << "one is enough";
    EXPECT_EQ(f.tell("a", {.at = 2050ms, .result = SHUNT_FB_FAILED, .start = 2s}), 1);
    t.load("a").inflight = 0;
    EXPECT_FALSE(f.judge(t, 4050ms - tick).available[0]) << "a bad trial doubles the isolation";
    EXPECT_TRUE(f.judge(t, 4050ms).available[0]);

    f.tell("a", {.at = 4100ms, .result = SHUNT_FB_GOOD, .latency = 1ms});
    EXPECT_TRUE(f.judge(t, 4100ms).available[0]) << "a good one ends it";
    fail_often(f, "a", 5s, 9);
    EXPECT_TRUE(f.judge(t, 5100ms).available[0]) << "with a clean slate";
    f.failed("a", 5100ms);
    EXPECT_EQ(f.judge(t, 5100ms).valid_until, 6100ms) << "and the first isolation again";
}

TEST(CircuitBreaker, LooksAgainWhetherATrialHasBegunEverMoreSeldom)
{
    const plugin p = bundled("circuit-breaker");
    const route t{r3x4};
    fault f{p};
    fail_often(f, "a", 991ms);
    EXPECT_EQ(f.judge(t, 2s).valid_until, 2001ms);
    EXPECT_EQ(f.judge(t, 2064ms).valid_until, 2128ms);
    EXPECT_EQ(f.judge(t, 100s).valid_until, 101s);
}

TEST(CircuitBreaker, IsNotMovedByAttemptsFromBeforeTheTrial)
{
    const plugin p = bundled("circuit-breaker");
    const route t{r3x4};
    fault f{p};
    fail_often(f, "a", 991ms);
    f.tell("a", {.at = 2100ms, .latency = 200ms, .start = 1900ms});
    f.tell("a", {.at = 2100ms, .result = SHUNT_FB_FAILED, .start = 1900ms});
    EXPECT_EQ(f.judge(t, 2100ms).valid_until, 2200ms) << "still on trial, neither ended nor doubled";
}

TEST(CircuitBreaker, GrowsUpToItsCap)
{
    const plugin p = bundled("circuit-breaker");
    const route t{r3x4};
    fault f{p, {{"isolation_max", 5s}}};
    fail_often(f, "a", 991ms);
    nanoseconds at = 2s;
    for (const nanoseconds expected : {2s, 4s, 5s, 5s}) {
        f.tell("a", {.at = at, .result = SHUNT_FB_UNREACHABLE, .start = at});
        EXPECT_EQ(f.judge(t, at).valid_until, at + expected);
        at += expected;
    }
}

TEST(CircuitBreaker, NeverIsolatesMoreThanTheShareAllowed)
{
    const plugin p = bundled("circuit-breaker");
    const route three{r3x4}, four{"a*1 b*1 c*1 d*1"};
    fault f{p};
    for (const char* b : {"c", "a", "b", "d"})
        fail_often(f, b, 1s + (*b == 'c' ? 0ms : *b == 'a' ? 20ms : 40ms));
    EXPECT_EQ(f.judge(three, 1100ms).available, (std::vector<bool>{true, true, false})) << "one of three: who came first";
    EXPECT_EQ(f.judge(four, 1100ms).available, (std::vector<bool>{false, true, false, true})) << "two of four";
}

TEST(CircuitBreaker, CountsWhatIsABrokersFaultOnly)
{
    const plugin p = bundled("circuit-breaker");
    const route t{r3x4};
    fault f{p};
    for (int i = 0; i < 20; ++i) {
        f.expired("a", 1s + i * 1ms, 499ms);
        f.expired("b", 1s + i * 1ms, 500ms);
        f.probed("c", 1s + i * 1ms, false);
    }
    EXPECT_EQ(f.judge(t, 1100ms).available, (std::vector<bool>{true, false, true}));
    f.left("b", 1200ms);
    EXPECT_TRUE(f.judge(t, 1200ms).available[1]);
}

TEST(CircuitBreaker, RefusesACapBelowTheFirstIsolation)
{
    const plugin p = bundled("circuit-breaker");
    fault f{p, {{"isolation", 2s}, {"isolation_max", 1s}}};
    EXPECT_EQ(f.status(), SHUNT_E_CONFIG);
    EXPECT_EQ(f.refusal(), "isolation_max must not be shorter than isolation");
}

TEST(CircuitBreaker, HandsOverIsolationsAndTrials)
{
    const plugin p = bundled("circuit-breaker");
    const route t{r3x4};
    fault old{p}, young{p};
    fail_often(old, "a", 991ms);
    old.tell("a", {.at = 2s, .result = SHUNT_FB_FAILED, .start = 2s});  // isolated until 4 s
    ASSERT_EQ(young.import_state(young.table().state_schema, old.export_state(3s), 50s), SHUNT_OK);
    EXPECT_FALSE(young.judge(t, 51s - tick).available[0]);
    EXPECT_TRUE(young.judge(t, 51s).available[0]);
    young.tell("a", {.at = 51s, .result = SHUNT_FB_FAILED, .start = 51s});
    EXPECT_EQ(young.judge(t, 51s).valid_until, 55s) << "it goes on growing";
    EXPECT_EQ(young.import_state(young.table().state_schema, "rubbish", 60s), SHUNT_E_INVALID);
}

// An isolated broker is tried again after each isolation, and comes back when it is well, with its share.
TEST(CircuitBreaker, BringsARecoveredBrokerBack)
{
    const plugin sp = bundled("best-queue"), fp = bundled("circuit-breaker");
    route t{r3x4};
    selector s{sp};
    fault f{fp};
    world w{t, s, f};
    w.at(0s, "b refuse");
    w.at(20s, "b ok");
    w.run({.sends = 6000, .every = 10ms});
    EXPECT_TRUE(all_stored(w)) << all_stored(w).why();
    const int while_down = by_broker(w.first_attempts(1001ms, 20s))["b"], after = by_broker(w.first_attempts(40s))["b"];
    EXPECT_LE(while_down, 10 + 5) << "ten to notice, then a trial after 1, 2, 4, 8 s";
    EXPECT_NEAR(after, 2000 / 3, 10);
}

}  // namespace
}  // namespace shunt::test
