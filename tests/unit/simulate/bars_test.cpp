// What strategies are held to when a broker is slow, fails or is away: numbers of whole runs, in virtual time.

#include "situation.hpp"

#include <array>
#include <map>
#include <set>

namespace shunt::simulate {
namespace {

/// The latency of every send, and what became of each attempt.
class meter final : public observer {
public:
    void decided(const line& l) override
    {
        most_avoided = std::max(most_avoided, avoided.size());  // all verdicts of a moment are told before its attempts
        if (!l.broker)
            return;
        ++attempts[std::string(*l.broker)];
        ++words[std::string(to_string(l.why))];
        latest[std::string(*l.broker)] = l.t_ms;
        lines.push_back({l.t_ms, std::string(*l.broker), l.attempt, l.latency_ms});
    }
    void ended(const send_end& e) override { latencies.push_back(e.end_ms - e.start_ms); }
    void judged(std::int64_t t_ms, std::string_view broker, verdict v) override
    {
        v == verdict::available ? avoided.erase(std::string(broker)) : avoided.insert(std::string(broker)).second;
        if (v == verdict::reachable)
            isolations[std::string(broker)].push_back(t_ms);
    }

    [[nodiscard]] std::int64_t at_per_mille(std::uint64_t p)
    {
        std::sort(latencies.begin(), latencies.end());
        return latencies.at((latencies.size() * p + 999) / 1000 - 1);
    }
    [[nodiscard]] double share(const std::string& broker) const
    {
        double all = 0;
        for (const auto& [name, n] : attempts)
            all += static_cast<double>(n);
        return static_cast<double>(attempts.at(broker)) / all;
    }

    struct attempt {
        std::int64_t t_ms;
        std::string broker;
        std::uint32_t number;
        std::int64_t latency_ms;
    };
    std::vector<attempt> lines;
    std::vector<std::int64_t> latencies;
    std::map<std::string, std::uint64_t> attempts, words;
    std::map<std::string, std::int64_t> latest;
    std::map<std::string, std::vector<std::int64_t>> isolations;
    std::set<std::string> avoided;
    std::size_t most_avoided = 0;
};

meter measured(const std::string& text)
{
    meter m;
    const scenario s = right(text);
    EXPECT_EQ(run(s, bundled(), m).error, "");
    return m;
}

std::string with(const std::string& selector, const std::string& fault = "{ use = \"none\" }", const std::string& more = "")
{
    return "[scenario]\npolicy = { selector = { use = \"" + selector + "\" }, fault = " + fault + more + " }\n";
}

std::string of(std::string name, int queues, const std::string& more) { return "[[broker]]\nname = \"" + std::move(name) + "\"\nqueues = " + std::to_string(queues) + "\n" + more; }

const std::string b_is_slow = of("a", 4, "latency = \"5ms\"\n") + of("b", 4, "latency = \"100ms\"\n") + of("c", 4, "latency = \"5ms\"\n");

std::string load(int sends, const std::string& every, const std::string& more = "") { return at("0ms", "send = " + std::to_string(sends) + "\nevery = \"" + every + "\"\n" + more); }

std::string under(const testing::TestParamInfo<std::string>& info) { return "of_one_send_each_" + info.param; }

// ---- one broker of three twenty times slower, the same load for all, no fault strategy to help ----

class OneSlow : public testing::TestWithParam<std::string> {};

TEST_P(OneSlow, LeastInflightHasAThirdOfTheP95OfARotation)
{
    const int sends = GetParam() == "1ms" ? 20000 : 5000;
    meter rotation = measured(with("round-robin") + b_is_slow + load(sends, GetParam()));
    meter least = measured(with("least-inflight") + b_is_slow + load(sends, GetParam()));
    ASSERT_EQ(rotation.at_per_mille(950), 100);
    EXPECT_LE(3 * least.at_per_mille(950), rotation.at_per_mille(950)) << "to b: " << least.share("b");
}

TEST_P(OneSlow, PowerOfTwoHasAThirdOfTheP99OfARotation)
{
    const int sends = GetParam() == "1ms" ? 20000 : 5000;
    meter rotation = measured(with("round-robin") + b_is_slow + load(sends, GetParam()));
    meter better = measured(with("power-of-two") + b_is_slow + load(sends, GetParam()));
    ASSERT_EQ(rotation.at_per_mille(990), 100);
    EXPECT_LE(3 * better.at_per_mille(990), rotation.at_per_mille(990)) << "to b: " << better.share("b");
}

INSTANTIATE_TEST_SUITE_P(Load, OneSlow, testing::Values("1ms", "2ms", "4ms"), under);

// ---- a broker that answers errors at once looks idle and fast ----

class FailsAtOnce : public testing::TestWithParam<std::string> {};

TEST_P(FailsAtOnce, GetsLessAndNotMore)
{
    for (const std::string fails : {"code = 2\nlatency = \"0ms\"", "code = 2\nlatency = \"1ms\"", "refuse = true", "drop = true\nlatency = \"0ms\""}) {
        const meter m = measured(with(GetParam()) + brokers(3, 4) + at("0ms", "broker = \"b\"\n" + fails) + load(6000, "1ms"));
        double first = 0, to_b = 0;
        for (const auto& l : m.lines)
            if (l.number == 1 && l.t_ms >= 1000) {
                ++first;
                to_b += l.broker == "b" ? 1 : 0;
            }
        EXPECT_LT(to_b / first, 0.05) << fails;
        EXPECT_GT(m.latest.at("b"), 5000) << fails << ": it is never given up";
    }
}

INSTANTIATE_TEST_SUITE_P(Selectors, FailsAtOnce, testing::Values("least-inflight", "power-of-two"), test_name);

// ---- circuit-breaker ----

const std::string breaker = "{ use = \"circuit-breaker\", window = \"200ms\", min_attempts = 5, isolation = \"1s\", isolation_max = \"4s\" }";

TEST(Breaker, NeverIsolatesMoreThanItsShareOfTheRoute)
{
    for (const auto& [n, allowed] : {std::pair{2, 1u}, {3, 1u}, {5, 2u}, {8, 4u}}) {
        std::string fail;
        for (int b = 0; b < n; ++b)
            fail += at("1s", "broker = \"" + std::string(1, static_cast<char>('a' + b)) + "\"\ncode = 2");
        const meter m = measured(with("best-queue", breaker) + brokers(n, 2) + fail + load(4000, "1ms"));
        EXPECT_EQ(m.most_avoided, allowed) << n << " brokers";
    }
}

// A trial is one attempt however many sends are under way, and trials come ever more seldom.
TEST(Breaker, BoundsItsTrials)
{
    const meter m = measured(with("best-queue", breaker) + brokers(3, 2) + at("1s", "broker = \"b\"\ncode = 2\nlatency = \"40ms\"") + load(30000, "1ms"));
    const std::int64_t open_from = m.isolations.at("b").front();
    EXPECT_LT(open_from, 1200);
    std::vector<std::int64_t> trials;
    for (const auto& l : m.lines)
        if (l.broker == "b" && l.t_ms >= open_from + 1000)
            trials.push_back(l.t_ms);
    // 1, 2, 4, 4, 4 ... s apart, each isolation counted from the end of its trial.
    EXPECT_EQ(trials.size(), 8u);
    ASSERT_GE(trials.size(), 6u);
    const std::array<std::int64_t, 5> apart{2000, 4000, 4000, 4000, 4000};
    for (std::size_t i = 0; i < apart.size(); ++i)
        EXPECT_NEAR(static_cast<double>(trials[i + 1] - trials[i]), static_cast<double>(apart[i] + 40), 3.0) << i;
}

TEST(Breaker, BeginsAnewAfterASuccess)
{
    const meter m = measured(with("best-queue", breaker) + brokers(3, 2) + at("0ms", "broker = \"b\"\nrefuse = true") + at("10s", "broker = \"b\"\nok = true") +
                             at("20s", "broker = \"b\"\nrefuse = true") + load(24000, "1ms"));
    const auto& isolations = m.isolations.at("b");
    const std::int64_t again = *std::find_if(isolations.begin(), isolations.end(), [](std::int64_t t) { return t >= 20'000; });
    EXPECT_LT(again, 20'300);
    std::vector<std::int64_t> trials;
    for (const auto& l : m.lines)
        if (l.broker == "b" && l.t_ms >= again + 5)
            trials.push_back(l.t_ms);
    ASSERT_GE(trials.size(), 2u);
    EXPECT_NEAR(static_cast<double>(trials[0] - again), 1000, 3) << "the first isolation, not the long one it had grown to";
    EXPECT_NEAR(static_cast<double>(trials[1] - trials[0]), 2000, 3);
}

// ---- every selector, whatever the brokers do ----

class EachSelector : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] static std::string policy(const std::string& fault = "{ use = \"latency-fault\" }", const std::string& more = "")
    {
        const std::string settings = GetParam() == "machine-room" ? ", rooms = [\"r\"]" : "";
        return "[scenario]\npolicy = { selector = { use = \"" + GetParam() + "\"" + settings + " }, fault = " + fault + more + " }\n";
    }
};

TEST_P(EachSelector, EndsSendsAtOnceWhenEveryBrokerIsReadOnly)
{
    const outcome_of_run o = run_text(policy() + of("a", 4, "perm = 4\n") + of("b", 0, "") + at("0ms", "send = 3\nkey = \"k{i}\""));
    EXPECT_EQ(all(o, "why"), "no-queue no-queue no-queue");
    EXPECT_EQ(o.sum.end_ms, 0);
    EXPECT_EQ(o.logged, std::vector<std::string>());
}

TEST_P(EachSelector, StoresWithTheOnlyQueueThereIs)
{
    const outcome_of_run o = run_text(policy() + of("a", 1, "") + of("b", 4, "perm = 4\n") + at("0ms", "broker = \"a\"\ncode = 2") + at("1s", "broker = \"a\"\nok = true") +
                                      at("0ms", "send = 30\nevery = \"100ms\"\nkey = \"k{i}\""));
    EXPECT_EQ(o.sum.queues.size(), 1u);
    EXPECT_EQ(o.sum.stored, 20u) << "all from 1 s on, isolated or not";
    EXPECT_EQ(o.logged, std::vector<std::string>());
}

TEST_P(EachSelector, StoresEverythingWhileEachBrokerIsRestartedInTurn)
{
    std::string text = policy() + brokers(3, 4);
    for (int b = 0; b < 3; ++b) {
        const std::string name = "broker = \"" + std::string(1, static_cast<char>('a' + b)) + "\"\n";
        text += at(std::to_string(1 + 3 * b) + "s", name + "refuse = true") + at(std::to_string(3 + 3 * b) + "s", name + "ok = true");
    }
    const meter m = measured(text + load(6000, "2ms", "key = \"k{i}\""));
    EXPECT_EQ(m.latencies.size(), 6000u);
    const outcome_of_run o = run_text(text + load(6000, "2ms", "key = \"k{i}\""));
    EXPECT_EQ(o.sum.stored, 6000u);
    EXPECT_EQ(o.sum.brokers.size(), 3u);
}

TEST_P(EachSelector, GivesABrokerThatIsWellAgainItsShareBack)
{
    const std::string text = policy("{ use = \"latency-fault\", probe = \"100ms\" }") + brokers(3, 4) + at("1s", "broker = \"b\"\nrefuse = true") + at("2s", "broker = \"b\"\nok = true");
    const meter m = measured(text + load(8000, "1ms", "key = \"k{i}\""));
    std::map<std::string, double> after;
    double n = 0;
    for (const auto& l : m.lines)
        if (l.t_ms >= 5000) {
            ++after[l.broker];
            ++n;
        }
    EXPECT_NEAR(after["b"] / n, 1.0 / 3, 0.05);
}

TEST_P(EachSelector, WorksOnTenThousandQueues)
{
    const outcome_of_run o = run_text(policy() + brokers(10, 1000) + at("0ms", "send = 300\nkey = \"k{i}\""));
    EXPECT_EQ(o.sum.stored, 300u);
    EXPECT_GT(o.sum.queues.size(), 150u);
}

INSTANTIATE_TEST_SUITE_P(Selectors, EachSelector,
                         testing::Values("best-queue", "consistent-hash", "hash", "least-inflight", "machine-room", "power-of-two", "random", "round-robin",
                                         "weighted-random", "weighted-round-robin"),
                         test_name);

TEST(TenThousandQueues, AreSharedBySixtyFourThreads)
{
    const outcome_of_run o = run_text("[scenario]\nthreads = 64\npolicy = { selector = { use = \"best-queue\" }, fault = { use = \"latency-fault\" } }\n" +
                                      brokers(10, 1000) + at("0ms", "send = 6400\ninflight = 64"));
    EXPECT_EQ(o.sum.stored, 6400u);
    EXPECT_EQ(o.sum.queues.size(), 100u) << "each thread has a cursor of its own, all of which begin alike";
}

// ---- filters ----

// Room, weight and load together, without a plugin of one's own; and each decision says which of them it was.
TEST(Filters, SayInEachDecisionWhatDecided)
{
    const std::string rooms = of("a", 2, "room = \"x\"\nweight = 3\n") + of("b", 2, "room = \"x\"\n") + of("c", 2, "room = \"y\"\n");
    const std::string filtered = with("weighted-round-robin", "{ use = \"latency-fault\" }", ", filters = [{ use = \"machine-room\", rooms = [\"x\"] }]");
    const outcome_of_run o = run_text(filtered + rooms + at("0ms", "send = 4") + at("10ms", "broker = \"a\"\nrefuse = true") + at("10ms", "broker = \"b\"\nrefuse = true") +
                                      at("10ms", "send = 1") + at("20ms", "send = 2"));
    EXPECT_EQ(places(o), "a-0 a-1 b-0 a-0 a-1 b-1 c-0 c-1 c-0");
    EXPECT_EQ(all(o, "why"), "weight weight weight weight weight avoid-tried avoid-tried spill spill");
}

}  // namespace
}  // namespace shunt::simulate
