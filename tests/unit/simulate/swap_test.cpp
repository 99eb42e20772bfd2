// Swaps: what a new policy knows of the old one's.

#include "situation.hpp"

namespace shunt::simulate {
namespace {

std::string use(std::string_view selector, std::string_view fault)
{
    return "policy = { selector = { use = \"" + std::string(selector) + "\" }, fault = { " + std::string(fault) + " } }\n";
}

// b fails at 2 ms and is isolated; at 10 ms the policy is swapped for `next`, then 5 sends.
outcome_of_run swapped(const std::string& next, const std::string& first = use("best-queue", "use = \"latency-fault\""))
{
    return run_text("[scenario]\nattempts = 1\n" + first + brokers(3, 1) + at("0ms", "broker = \"b\"\nrefuse = true") + at("0ms", "send = 2") +
                    at("10ms", next) + at("10ms", "send = 5"));
}

TEST(Swap, ForgetsVerdictsAndCursor)
{
    const outcome_of_run o = swapped(use("best-queue", "use = \"latency-fault\""));
    EXPECT_EQ(places(o), "a-0 b-0 a-0 b-0 c-0 a-0 c-0");
    EXPECT_EQ(all(o, "generation"), "1 1 2 2 2 2 2");
}

TEST(Swap, WithStateGoesOnWithVerdictsAndCursor)
{
    EXPECT_EQ(places(swapped("carry_state = true\n" + use("best-queue", "use = \"latency-fault\""))), "a-0 b-0 c-0 a-0 c-0 a-0 c-0");
}

TEST(Swap, WithStateTakesOverOnlyFromOneOfTheSameName)
{
    EXPECT_EQ(places(swapped("carry_state = true\n" + use("round-robin", "use = \"latency-fault\""))), "a-0 b-0 a-0 b-0 c-0 a-0 b-0") << "round-robin ignores verdicts";
    EXPECT_EQ(places(swapped("carry_state = true\n" + use("best-queue", "use = \"none\""))), "a-0 b-0 c-0 a-0 b-0 c-0 a-0");
    EXPECT_EQ(places(swapped("carry_state = true\n" + use("weighted-round-robin", "use = \"latency-fault\""))), "a-0 b-0 a-0 c-0 a-0 c-0 a-0");
}

TEST(Swap, WithStateProbesGoOn)
{
    const std::string probing = use("best-queue", "use = \"latency-fault\", probe = \"20ms\"");
    // Isolated since 1 ms: probes at 21, 41 ms; the broker is well from 30 ms on.
    const outcome_of_run o = run_text("[scenario]\nattempts = 1\n" + probing + brokers(2, 1) + at("0ms", "broker = \"b\"\nrefuse = true") + at("0ms", "send = 2") +
                                      at("10ms", "carry_state = true\n" + probing) + at("30ms", "broker = \"b\"\nok = true") + at("40ms", "send = 2\ninflight = 2") +
                                      at("41ms", "send = 2\ninflight = 2"));
    EXPECT_EQ(places(o), "a-0 b-0 a-0 a-0 b-0 a-0");
}

TEST(Swap, WeightsGoOnWithState)
{
    const std::string weighted = use("weighted-round-robin", "use = \"none\"");
    const std::string text = "[scenario]\n" + weighted + "[[broker]]\nname = \"a\"\nqueues = 1\nweight = 2\n[[broker]]\nname = \"b\"\nqueues = 1\n" + at("0ms", "send = 2");
    EXPECT_EQ(places(run_text(text + at("9ms", "carry_state = true\n" + weighted) + at("9ms", "send = 3"))), "a-0 b-0 a-0 a-0 b-0");
    EXPECT_EQ(places(run_text(text + at("9ms", weighted) + at("9ms", "send = 3"))), "a-0 b-0 a-0 b-0 a-0");
}

TEST(Swap, AnAttemptUnderWaySaysNothingToTheNewFaultStrategy)
{
    const std::string policy = use("best-queue", "use = \"latency-fault\"");
    const outcome_of_run o = run_text("[scenario]\nattempts = 1\n" + policy + brokers(2, 1) + at("0ms", "broker = \"a\"\ncode = 2\nlatency = \"20ms\"") + at("0ms", "send = 1") +
                                      at("10ms", policy) + at("25ms", "broker = \"a\"\nok = true") + at("30ms", "send = 3"));
    EXPECT_EQ(places(o), "a-0 a-0 b-0 a-0");
}

}  // namespace
}  // namespace shunt::simulate
