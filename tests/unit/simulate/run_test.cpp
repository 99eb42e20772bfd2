// What happens in which order, when sends end, and what is written of them.

#include "situation.hpp"

#include <map>

namespace shunt::simulate {
namespace {

std::string policy(std::string_view selector, std::string_view more = "", std::string_view fault = "none")
{
    return "[scenario]\n" + std::string(more) + "\npolicy = { selector = { " + std::string(selector) + " }, fault = { use = \"" + std::string(fault) +
           "\" } }\n";
}

// A policy of hash and none with these keys added.
std::string hash_policy(std::string_view keys, std::string_view head = "")
{
    return "[scenario]\n" + std::string(head) + "\npolicy = { selector = { use = \"hash\" }, fault = { use = \"none\" }, " + std::string(keys) + " }\n";
}

// ---- repeatable ----

class Repeated : public testing::TestWithParam<std::string> {};

TEST_P(Repeated, GivesTheSameBytes)
{
    std::string text = policy("use = \"" + GetParam() + "\"" + (GetParam() == "machine-room" ? ", rooms = [\"x\"]" : ""), "seed = 3\nthreads = 4\n", "latency-fault");
    text += brokers(4, 5) + at("0ms", "send = 300\nevery = \"1ms\"\nkey = \"k{i}\"") + at("0ms", "send = 300\ninflight = 7") +
            at("50ms", "broker = \"b\"\ncode = 2") + at("90ms", "broker = \"c\"\nlatency = \"700ms\"") + at("150ms", "broker = \"d\"\nrefuse = true") +
            at("200ms", "route = { remove = [\"a\"] }");
    const std::string once = run_text(text).text;
    EXPECT_EQ(run_text(text).text, once);
    EXPECT_GT(once.size(), 10000u);
}

INSTANTIATE_TEST_SUITE_P(Selectors, Repeated,
                         testing::Values("best-queue", "round-robin", "weighted-round-robin", "random", "weighted-random", "hash",
                                         "consistent-hash", "machine-room", "least-inflight", "power-of-two"),
                         test_name);

TEST(Seed, AnotherOneGivesOtherPicks)
{
    for (const std::string use : {"random", "weighted-random", "power-of-two"}) {
        const std::string rest = brokers(3, 4) + at("0ms", "send = 50");
        EXPECT_NE(run_text(policy("use = \"" + use + "\"", "seed = 1") + rest).text, run_text(policy("use = \"" + use + "\"", "seed = 2") + rest).text);
    }
}

// ---- how much is done ----

TEST(Work, AMillionSendsAreAMillionAttempts)
{
    std::vector<config::problem> problems;
    const scenario s = right(usual("", brokers(4, 2) + at("0ms", "send = 1000000")));
    observer nobody;
    const run_result r = run(s, bundled(), nobody);
    EXPECT_EQ(r.sum.sends, 1'000'000u);
    EXPECT_EQ(r.sum.attempts, 1'000'000u);
    ASSERT_EQ(r.sum.queues.size(), 8u);
    for (const auto& q : r.sum.queues)
        EXPECT_EQ(q.attempts, 125'000u);
    EXPECT_EQ(r.sum.end_ms, 1'000'000);
}

TEST(Work, TenThousandAttemptsGoRoundFourThousandQueuesAndSixtyFourThreads)
{
    const outcome_of_run o = run_text(usual("threads = 64\n", brokers(4, 1024) + at("0ms", "send = 10000\nevery = \"1ms\"\nthread = 63")));
    EXPECT_EQ(o.sum.attempts, 10'000u);
    EXPECT_EQ(o.sum.queues.size(), 4096u);
    for (const auto& q : o.sum.queues)
        EXPECT_TRUE(q.attempts == 2 || q.attempts == 3) << q.attempts;
}

// ---- feeds ----

TEST(Inflight, EachEndStartsTheNext)
{
    const outcome_of_run o = run_text(usual("", brokers(1, 8) + at("0ms", "broker = \"a\"\nlatency = \"10ms\"") + at("5ms", "send = 5\ninflight = 2")));
    EXPECT_EQ(all(o, "t_ms"), "5 5 15 15 25");
}

TEST(Every, GoesByTheClockWhateverTheOthersDo)
{
    const outcome_of_run o = run_text(usual("timeout = \"1s\"\n", brokers(1, 8) + at("0ms", "broker = \"a\"\nhang = true") + at("5ms", "send = 3\nevery = \"7ms\"")));
    EXPECT_EQ(all(o, "t_ms").substr(0, 7), "5 12 19");
}

TEST(Thread, IsTheNamedOneOrTheNumberOfTheSendModuloThreads)
{
    const outcome_of_run o = run_text(usual("threads = 3\n", brokers(1, 8) + at("0ms", "send = 5") + at("9ms", "send = 2\nthread = 1")));
    EXPECT_EQ(all(o, "thread"), "0 1 2 0 1 1 1");
    EXPECT_EQ(places(o), "a-0 a-0 a-0 a-1 a-1 a-2 a-3");
}

TEST(Key, HasEachNumberFilledIn)
{
    const outcome_of_run o = run_text(usual("", brokers(1, 1) + at("0ms", "send = 2\nkey = \"{i}-{i}{x}\\\"\\u0007\"")));
    EXPECT_EQ(all(o, "key"), "0-0{x}\"\x07 1-1{x}\"\x07");
    EXPECT_NE(o.text.find(R"("key":"1-1{x}\"\u0007")"), std::string::npos);
}

TEST(Percentiles, AreByNearestRank)
{
    std::string text = usual("", brokers(1, 1));
    for (int i = 1; i <= 4; ++i)  // latencies 10, 20, 30, 40
        text += at(std::to_string(i) + "s", "broker = \"a\"\nlatency = \"" + std::to_string(10 * i) + "ms\"") + at(std::to_string(i) + "s", "send = 1");
    const auto l = run_text(text).sum.latency_ms;
    ASSERT_TRUE(l);
    EXPECT_EQ(l->p50, 20);
    EXPECT_EQ(l->p90, 40);
    EXPECT_EQ(l->max, 40);
}

TEST(Percentiles, AreExactBeyondTheShortOnes)
{
    const auto l = run_text(usual("timeout = \"100s\"\nattempts = 1\n", brokers(1, 1) + at("0ms", "broker = \"a\"\nlatency = \"54321ms\"") + at("0ms", "send = 1"))).sum.latency_ms;
    ASSERT_TRUE(l);
    EXPECT_EQ(l->p50, 54321);
}

TEST(Nothing, IsSentAndThereAreNoPercentiles)
{
    const outcome_of_run o = run_text(usual("", brokers(1, 1)));
    EXPECT_EQ(to_json(o.sum),
              R"({"sends":0,"stored":0,"failed":{"not_sent":0,"unknown":0,"rejected":0},"attempts":0,"brokers":[],"queues":[],)"
              R"("latency_ms":{"p50":null,"p90":null,"p99":null,"max":null},"generation":1,"end_ms":0})");
}

// ---- what goes first at one time ----

TEST(Order, AStepGoesBeforeAnEnd)
{
    // a is back in the route when the attempt from before it left ends: that counts.
    const outcome_of_run o = run_text(usual("attempts = 1\n", brokers(2, 1) + at("0ms", "broker = \"a\"\ncode = 2\nlatency = \"30ms\"") + at("0ms", "send = 1") +
                                                 at("10ms", "route = { remove = [\"a\"] }") + at("30ms", "route = { add = [{ name = \"a\", queues = 1 }] }") + at("40ms", "send = 3")));
    EXPECT_EQ(places(o), "a-0 b-0 b-0 b-0");
    // What fails at the time of a swap is not carried over: the swap was first.
    const std::string policy = "policy = { selector = { use = \"best-queue\" }, fault = { use = \"latency-fault\" } }\n";
    const outcome_of_run swap = run_text(usual("attempts = 1\n", brokers(2, 1) + at("0ms", "broker = \"a\"\ncode = 2\nlatency = \"20ms\"") + at("0ms", "send = 1") +
                                                    at("20ms", "carry_state = true\n" + policy) + at("40ms", "send = 3")));
    EXPECT_EQ(places(swap), "a-0 b-0 a-0 b-0");
}

TEST(Order, AProbeGoesBeforeARetry)
{
    // b is isolated from 1 ms on, listens again at 50 ms, and is probed at 101 ms, when the attempt at a ends.
    const outcome_of_run o = run_text("[scenario]\npolicy = { selector = { use = \"best-queue\" }, fault = { use = \"latency-fault\", probe = \"100ms\" } }\n" + brokers(3, 1) +
                                      at("0ms", "broker = \"b\"\nrefuse = true") + at("0ms", "send = 2") + at("50ms", "broker = \"b\"\nok = true") +
                                      at("96ms", "broker = \"a\"\ncode = 2\nlatency = \"5ms\"") + at("96ms", "send = 1"));
    EXPECT_EQ(places(o), "a-0 b-0 c-0 a-0 b-0");
    EXPECT_EQ(all(o, "t_ms"), "0 1 1 96 101");
}

// ---- brokers ----

TEST(Codes, AreReadByTheContractAlone)
{
    const outcome_of_run o = run_text(usual("", brokers(2, 1) + at("0ms", "broker = \"a\"\ncode = 501") + at("0ms", "send = 1")));
    EXPECT_EQ(places(o), "a-0");
    EXPECT_EQ(o.sum.rejected, 1u);
}

TEST(Ok, BringsBackTheUsualLatencyUnlessOneIsGiven)
{
    const std::string a = "[[broker]]\nname = \"a\"\nqueues = 1\nlatency = \"5ms\"\n";
    const outcome_of_run o = run_text(policy("use = \"best-queue\"") + a + at("0ms", "broker = \"a\"\nlatency = \"9ms\"") + at("0ms", "send = 1") +
                                      at("100ms", "broker = \"a\"\ncode = 0") + at("100ms", "send = 1") + at("200ms", "broker = \"a\"\nok = true") +
                                      at("200ms", "send = 1") + at("300ms", "broker = \"a\"\nok = true\nlatency = \"7ms\"") + at("300ms", "send = 1"));
    EXPECT_EQ(all(o, "latency_ms"), "9 9 5 7");
}

TEST(Drop, SlowerThanTheShareIsAnAttemptThatRanOut)
{
    const outcome_of_run o = run_text(policy("use = \"best-queue\"", "timeout = \"10ms\"\nattempts = 1") + brokers(1, 1) +
                                      at("0ms", "broker = \"a\"\ndrop = true\nlatency = \"50ms\"") + at("0ms", "send = 1") +
                                      at("50ms", "broker = \"a\"\nrefuse = true") + at("50ms", "send = 1"));
    EXPECT_EQ(all(o, "latency_ms"), "10 0");
    EXPECT_EQ(all(o, "outcome"), "unknown not_sent");
}

TEST(SendEnds, UnknownIfAnyAttemptWasElseRejected)
{
    const outcome_of_run o = run_text(policy("use = \"best-queue\"", "attempts = 2") + brokers(2, 1) + at("0ms", "broker = \"a\"\ndrop = true") +
                                      at("0ms", "broker = \"b\"\ncode = 13") + at("0ms", "send = 1") +
                                      at("50ms", "broker = \"a\"\nrefuse = true") + at("50ms", "send = 2"));
    EXPECT_EQ(o.sum.unknown, 1u);
    EXPECT_EQ(o.sum.rejected, 2u);
}

TEST(Room, OfAScenarioIsTheGivenOneEvenWhereTheNameHasAnAt)
{
    const std::string two = "[[broker]]\nname = \"x@a\"\nqueues = 1\n[[broker]]\nname = \"y@b\"\nqueues = 1\nroom = \"x\"\n";
    EXPECT_EQ(places(run_text(policy("use = \"machine-room\", rooms = [\"x\"]") + two + at("0ms", "send = 2"))), "y@b-0 y@b-0");
}

// ---- the route ----

TEST(Route, ABrokerThatLeftIsForgottenAndWhatIsStillUnderWayToItSaysNothing)
{
    const std::string start = usual("attempts = 1\n", brokers(2, 1) + at("0ms", "broker = \"a\"\ncode = 2\nlatency = \"30ms\"") + at("0ms", "send = 1\ninflight = 1"));
    // The attempt at 0 ms ends at 30 ms, when a is not there; it comes back well.
    const outcome_of_run o = run_text(start + at("10ms", "route = { remove = [\"a\"] }") + at("40ms", "route = { add = [{ name = \"a\", queues = 1 }] }") +
                                      at("40ms", "send = 4"));
    EXPECT_EQ(places(o), "a-0 b-0 a-0 b-0 a-0");
    // Without the change a is isolated.
    EXPECT_EQ(places(run_text(start + at("40ms", "send = 4"))), "a-0 b-0 b-0 b-0 b-0");
    // Isolated, then away and back: forgotten.
    EXPECT_EQ(places(run_text(start + at("35ms", "route = { remove = [\"a\"] }") + at("38ms", "route = { add = [{ name = \"a\", queues = 1 }] }") + at("40ms", "send = 4"))),
              "a-0 b-0 a-0 b-0 a-0");
}

TEST(Route, ABrokerThatIsReplacedInOneStepHasNotLeft)
{
    const outcome_of_run o = run_text(usual("attempts = 1\n", brokers(2, 1) + at("0ms", "broker = \"a\"\ncode = 2") + at("0ms", "send = 1") +
                                                 at("10ms", "route = { remove = [\"a\"], add = [{ name = \"a\", queues = 1, latency = \"3ms\" }] }") + at("10ms", "send = 2")));
    EXPECT_EQ(places(o), "a-0 b-0 b-0");
}

// ---- no queue ----

TEST(NoQueue, AnOrderedRetryWaitsForItsOwnQueue)
{
    // "order-1" is on a-0 of a-0 b-0. It fails there, then a is read-only for a while.
    const std::string text = hash_policy("ordered = true, when_no_queue = \"wait\"", "timeout = \"1s\"\nattempts = 2") + brokers(2, 1) +
                             at("0ms", "broker = \"a\"\ncode = 2\nlatency = \"10ms\"") + at("0ms", "broker = \"b\"\ncode = 2\nlatency = \"10ms\"") +
                             at("0ms", "send = 1\nkey = \"order-1\"") + at("5ms", "route = { set = [{ name = \"a\", perm = 4 }, { name = \"b\", perm = 4 }] }");
    const outcome_of_run first = run_text(text);
    const std::string home(first.lines.at(0).at("broker").as_string()), other = home == "a" ? "b" : "a";
    const auto writable = [](std::string_view time, const std::string& name) {
        return at(time, "route = { set = [{ name = \"" + name + "\", perm = 6 }] }");
    };
    const outcome_of_run o = run_text(text + writable("20ms", other) + writable("40ms", home));
    EXPECT_EQ(places(o), home + "-0 " + home + "-0");
    EXPECT_EQ(all(o, "t_ms"), "0 40");
    EXPECT_EQ(all(o, "why"), "key key");
    // Never writable again: the deadline.
    EXPECT_EQ(all(first, "why"), "key expired");
    EXPECT_EQ(all(first, "t_ms"), "0 1000");
    EXPECT_EQ(all(first, "attempt"), "1 2");
    EXPECT_EQ(first.sum.rejected, 1u);
}

TEST(NoQueue, AnOrderedRetryAsksTheSelectorWhereAnyQueueWillDo)
{
    const std::string text = hash_policy("ordered = true, when_no_queue = \"any\"", "attempts = 2") + brokers(2, 2) +
                             at("0ms", "broker = \"a\"\ncode = 2\nlatency = \"10ms\"") + at("0ms", "broker = \"b\"\ncode = 2\nlatency = \"10ms\"") +
                             at("0ms", "send = 1\nkey = \"order-1\"");
    const outcome_of_run first = run_text(text);
    EXPECT_EQ(places(first).substr(0, 3), places(first).substr(4, 3));
    const std::string home(first.lines.at(0).at("broker").as_string()), other = home == "a" ? "b" : "a";
    const outcome_of_run o = run_text(text + at("5ms", "route = { set = [{ name = \"" + home + "\", perm = 4 }] }"));
    ASSERT_EQ(o.lines.size(), 2u);
    EXPECT_EQ(o.lines[1].at("broker").as_string(), other);
}

TEST(NoQueue, AWaitThatEndsAtTheDeadlineEndsTheSend)
{
    const outcome_of_run o = run_text(hash_policy("when_no_queue = \"wait\"", "timeout = \"50ms\"") + "[[broker]]\nname = \"a\"\nqueues = 0\n" +
                                      at("0ms", "send = 1") + at("1ms", "send = 1") + at("50ms", "route = { set = [{ name = \"a\", queues = 1 }] }"));
    EXPECT_EQ(all(o, "why"), "expired rotation");
    EXPECT_EQ(all(o, "t_ms"), "50 50");
    EXPECT_EQ(o.sum.not_sent, 1u);
}

TEST(NoQueue, ANewPolicyIsLookedAtToo)
{
    const outcome_of_run o = run_text("[scenario]\npolicy = { selector = { use = \"hash\", keyless = \"fail\" }, fault = { use = \"none\" }, when_no_queue = \"wait\" }\n" +
                                      brokers(1, 3) + at("0ms", "send = 2\ninflight = 2") +
                                      at("20ms", "policy = { selector = { use = \"best-queue\" }, fault = { use = \"none\" } }"));
    EXPECT_EQ(places(o), "a-0 a-1");
    EXPECT_EQ(all(o, "t_ms"), "20 20");
    EXPECT_EQ(all(o, "generation"), "2 2");
}

TEST(NoQueue, AFallbackTakesWhatARefusingSelectorDoesNot)
{
    const outcome_of_run o = run_text("[scenario]\ncursor = 1\npolicy = { selector = { use = \"hash\", keyless = \"fail\" }, fault = { use = \"none\" }, when_no_queue = \"any\" }\n" +
                                      brokers(1, 3) + at("0ms", "send = 3"));
    EXPECT_EQ(places(o), "a-1 a-2 a-0");
    EXPECT_EQ(all(o, "why"), "fallback fallback fallback");
}

TEST(CallersQueue, IsTakenAtEachAttemptOrEndsTheSend)
{
    const outcome_of_run o = run_text(hash_policy("when_no_queue = \"wait\"", "attempts = 2") + brokers(2, 2) + at("0ms", "broker = \"a\"\ncode = 2") +
                                      at("0ms", "send = 1\nkey = \"k\"\nqueue = { broker = \"a\", id = 1 }") + at("9ms", "send = 1\nqueue = { broker = \"a\", id = 2 }") +
                                      at("9ms", "send = 1\nqueue = { broker = \"zz\", id = 0 }"));
    EXPECT_EQ(places(o), "a-1 a-1 - -");
    EXPECT_EQ(all(o, "why"), "caller caller no-queue no-queue");
}

// ---- lanes ----

TEST(Lane, TheNextOneStartsWhenTheOneBeforeEndsAndNotAfterItsDeadline)
{
    // The head takes 10 ms. The deadline of the second is 11 ms, that of the third passed before the second has ended.
    const outcome_of_run o = run_text(hash_policy("ordered = true", "timeout = \"11ms\"\nattempts = 1") + "[[broker]]\nname = \"a\"\nqueues = 1\nlatency = \"10ms\"\n" +
                                      at("0ms", "send = 3\nevery = \"1ms\"\nkey = \"k\"") + at("1ms", "send = 1"));
    // Send 0 ends at 10; send 1 (deadline 12) has 2 ms; send 3 (deadline 13) follows at 12.
    EXPECT_EQ(all(o, "send"), "0 2 1 3");
    EXPECT_EQ(all(o, "t_ms"), "0 1 10 12");
    EXPECT_EQ(all(o, "latency_ms"), "10 10 2 1");
}

TEST(Lane, AHeadThatBecomesFreeAtItsDeadlineIsExpired)
{
    const outcome_of_run o = run_text(hash_policy("ordered = true", "timeout = \"10ms\"\nattempts = 1") + "[[broker]]\nname = \"a\"\nqueues = 1\nlatency = \"10ms\"\n" +
                                      at("0ms", "send = 3\ninflight = 3\nkey = \"k\"") + at("10ms", "send = 1\nkey = \"k\""));
    EXPECT_EQ(all(o, "why"), "key expired expired key");
    EXPECT_EQ(all(o, "t_ms"), "0 10 10 10");
    EXPECT_EQ(all(o, "send"), "0 1 2 3");
}

TEST(Lane, IsNoneWithoutAKeyAndNoneUnlessOrdered)
{
    const std::string rest = "[[broker]]\nname = \"a\"\nqueues = 1\nlatency = \"10ms\"\n";
    EXPECT_EQ(all(run_text(hash_policy("ordered = true") + rest + at("0ms", "send = 2\ninflight = 2")), "t_ms"), "0 0");
    EXPECT_EQ(all(run_text(hash_policy("ordered = false") + rest + at("0ms", "send = 2\ninflight = 2\nkey = \"k\"")), "t_ms"), "0 0");
    EXPECT_EQ(all(run_text(hash_policy("ordered = true") + rest + at("0ms", "send = 2\ninflight = 2\nkey = \"\"")), "t_ms"), "0 10");
}

// ---- load ----

TEST(Load, ABrokerThatFailsAtOnceLooksBusyForAWhile)
{
    const outcome_of_run o = run_text(policy("use = \"least-inflight\"", "threads = 2") + brokers(3, 2) + at("0ms", "broker = \"b\"\nrefuse = true") +
                                      at("0ms", "send = 3000\nevery = \"1ms\""));
    std::map<std::string, int> late;
    for (const auto& l : o.lines)
        if (l.at("t_ms").as_int64() >= 1000)
            ++late[std::string(l.at("broker").as_string())];
    EXPECT_LT(late["b"], 100);
    EXPECT_GT(late["b"], 0);
}

TEST(CircuitBreaker, TriesABrokerOnceAtATime)
{
    const outcome_of_run o = run_text(
        "[scenario]\npolicy = { selector = { use = \"best-queue\" }, fault = { use = \"circuit-breaker\", min_attempts = 4 } }\n" + brokers(3, 1) +
        at("0ms", "broker = \"b\"\ncode = 2\nlatency = \"50ms\"") + at("0ms", "send = 3000\nevery = \"1ms\""));
    // After the first isolation (1 s) one trial; it is bad, and the isolation doubles.
    int trials = 0;
    for (const auto& l : o.lines)
        trials += l.at("t_ms").as_int64() >= 1100 && l.at("t_ms").as_int64() < 3000 && l.at("broker").as_string() == "b" ? 1 : 0;
    EXPECT_EQ(trials, 1);
}

// ---- limits ----

TEST(Limits, ARunThatNeverEndsSaysWhere)
{
    const scenario s = right(policy("use = \"best-queue\"", "timeout = \"1000000h\"\nattempts = 1") + brokers(1, 1) + at("0ms", "broker = \"a\"\nhang = true") + at("0ms", "send = 10"));
    EXPECT_EQ(run_scenario(s).error, "the run goes on after 1000000h, and stops there");
}

}  // namespace
}  // namespace shunt::simulate
