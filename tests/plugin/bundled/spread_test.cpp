// Strategies that spread by weight, load or chance: shares, and what they never do.

#include <plugin/bundled/bundled.hpp>

#include <set>
#include <thread>

namespace shunt::test {
namespace {

constexpr auto r3x4 = "a*4 b*4 c*4";

/// Five standard deviations of a share: one wrong alarm in more than a million.
double slack(int n, double share) { return 5 * std::sqrt(n * share * (1 - share)); }

// ---- weighted-round-robin ----

std::string brokers_of(const std::string& queues)
{
    std::string all;
    for (const auto& q : words(queues))
        all += (all.empty() ? "" : " ") + broker_of(q);
    return all;
}

TEST(WeightedRoundRobin, InterleavesSmoothly)
{
    const plugin p = bundled("weighted-round-robin");
    const route t{"a*3 weight 5 b*1 c*2 d*4 weight 0"};
    selector s{p};
    EXPECT_EQ(s.picks(t, 21), "a/0 a/1 b/0 a/2 c/0 a/0 a/1 a/2 a/0 b/0 a/1 c/1 a/2 a/0 a/1 a/2 b/0 a/0 c/0 a/1 a/2");
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_WEIGHT);
}

// After 21 picks of weights 5 1 1 the weights become 2 1 3 and b is isolated after its next pick.
TEST(WeightedRoundRobin, GoesOnSmoothlyWhenWeightsChange)
{
    const plugin p = bundled("weighted-round-robin");
    const route before{"a*3 weight 5 b*1 c*2 d*4 weight 0", 1};
    route after{"a*3 weight 2 b*1 c*2 weight 3 d*4 weight 0", 2};
    selector s{p};
    (void)s.picks(before, 21);
    EXPECT_EQ(s.picks(after, 3), "c/1 a/0 b/0");
    after.cut_off({"b"});
    EXPECT_EQ(s.pick(after, {.tried = {"b"}}), "c/0");
    EXPECT_EQ(s.picks(after, 5), "a/1 c/1 c/0 a/2 c/1");
}

TEST(WeightedRoundRobin, KeepsStateOverARouteThatDidNotChange)
{
    const plugin p = bundled("weighted-round-robin");
    const auto run = [&](bool refresh) {
        selector s{p};
        counts all;
        for (std::uint64_t i = 0; i < 600; ++i)
            ++all[broker_of(s.pick(route{"a*2 weight 3 b*2 weight 2 c*2", refresh ? i + 1 : 1}))];
        return all;
    };
    EXPECT_EQ(run(true), (counts{{"a", 300}, {"b", 200}, {"c", 100}}));
    EXPECT_EQ(run(false), run(true));
}

TEST(WeightedRoundRobin, ForgetsWhoIsGone)
{
    const plugin p = bundled("weighted-round-robin");
    const route all{"a*1 weight 5 b*1 c*1", 1}, without_b{"a*1 weight 5 c*1", 2}, again{"a*1 weight 5 b*1 c*1", 3};
    selector s{p}, fresh{p};
    (void)s.picks(all, 2);  // a a: b's account stands at 2
    (void)s.picks(without_b, 6);
    std::string got = brokers_of(s.picks(again, 3));
    EXPECT_EQ(got.find('b') == 0, false) << "b begins anew, it does not cash in: " << got;
    EXPECT_EQ(brokers_of(fresh.picks(again, 7)), "a a b a c a a");
}

TEST(WeightedRoundRobin, WeighsQueuesOnRequest)
{
    const plugin p = bundled("weighted-round-robin");
    const route t{"a*2 weight 2 b*1"};
    selector s{p, {{"by", "queue"}}};
    EXPECT_EQ(s.count(t, 500), (counts{{"a/0", 200}, {"a/1", 200}, {"b/0", 100}}));
    selector brokers{p};
    EXPECT_EQ(by_broker(brokers.count(t, 300)), (counts{{"a", 200}, {"b", 100}}));
}

TEST(WeightedRoundRobin, TreatsAllWeightsZeroAsAlike)
{
    const plugin p = bundled("weighted-round-robin");
    const route t{"a*1 weight 0 b*1 weight 0"};
    selector s{p};
    EXPECT_EQ(s.count(t, 100), (counts{{"a/0", 50}, {"b/0", 50}}));
}

TEST(WeightedRoundRobin, HeedsTiersAmongThoseThatTakePart)
{
    const plugin p = bundled("weighted-round-robin");
    route t{"a*1 weight 2 b*1 d*1 weight 0"};
    selector s{p};
    t.isolate({"a"});
    EXPECT_EQ(s.picks(t, 3), "b/0 b/0 b/0");
    t.isolate({"b"});
    EXPECT_NE(broker_of(s.pick(t)), "d") << "weight 0 takes no part, however well it is";
    EXPECT_EQ(s.ask(t, {.tried = {"a"}}).pick.why, SHUNT_WHY_REACHABLE_ONLY);
}

TEST(WeightedRoundRobin, KeepsTheSharesOfEachTopic)
{
    const plugin p = bundled("weighted-round-robin");
    const route t{"a*1 weight 5 b*1 c*1"};
    selector one{p}, two{p};
    counts first, second, with_retries;
    for (int i = 0; i < 700; ++i) {
        ++first[one.pick(t)];
        ++second[two.pick(t)];
    }
    EXPECT_EQ(first, (counts{{"a/0", 500}, {"b/0", 100}, {"c/0", 100}}));
    EXPECT_EQ(second, first);

    selector s{p};  // every 7th send fails once: first choices keep their shares
    for (int i = 0; i < 1400; ++i) {
        const std::string q = s.pick(t);
        ++with_retries[q];
        if (i % 7 == 6) {
            EXPECT_NE(s.pick(t, {.tried = {broker_of(q)}}), q);
        }
    }
    EXPECT_NEAR(with_retries["a/0"], 1000, 30);
    EXPECT_NEAR(with_retries["b/0"], 200, 30);
}

// Many short-lived producers would all begin with the heaviest broker.
TEST(WeightedRoundRobin, CanBeginSomewhereInThePeriod)
{
    const plugin p = bundled("weighted-round-robin");
    const route t{"a*1 weight 3 b*1 weight 2 c*1"};
    std::mt19937 dice{5};
    counts spread, heaviest;
    for (int i = 0; i < 6000; ++i) {
        const start_at at{static_cast<std::uint32_t>(dice() & 0x7fffffff)};
        ++spread[selector{p, {{"random_start", true}}, at}.pick(t)];
        ++heaviest[selector{p, {}, at}.pick(t)];
    }
    EXPECT_NEAR(spread["a/0"], 3000, 300);
    EXPECT_NEAR(spread["b/0"], 2000, 200);
    EXPECT_NEAR(spread["c/0"], 1000, 100);
    EXPECT_EQ(heaviest, (counts{{"a/0", 6000}}));
}

TEST(WeightedRoundRobin, GoesRoundEachBrokersQueuesFromTheStart)
{
    const plugin p = bundled("weighted-round-robin");
    const route t{"a*3 b*2"};
    EXPECT_EQ((selector{p, {}, {.start = 4}}.picks(t, 6)), "a/1 b/0 a/2 b/1 a/0 b/0");
    EXPECT_EQ((selector{p, {}, {.start = 2147483647}}.picks(t, 4)), "a/1 b/1 a/0 b/0");
    route narrow{"a*3 b*2"};
    narrow.only({"a/2", "b/0", "b/1"});
    EXPECT_EQ((selector{p}.picks(narrow, 4)), "a/2 b/0 a/2 b/1");
}

// ---- random and weighted-random ----

TEST(Random, IsUniformAndIndependentOfThePickBefore)
{
    const plugin p = bundled("random");
    const route t{r3x4};
    selector s{p};
    counts all;
    int repeats = 0;
    std::string before;
    for (int i = 0; i < 120000; ++i) {
        const std::string q = s.pick(t);
        ++all[q];
        repeats += q == before ? 1 : 0;
        before = q;
    }
    EXPECT_EQ(all.size(), 12u);
    for (const auto& [queue, n] : all)
        EXPECT_NEAR(n, 10000, slack(120000, 1 / 12.0)) << queue;
    EXPECT_NEAR(repeats, 10000, slack(120000, 1 / 12.0));
}

TEST(Random, IsUniformOverTheFewThatFit)
{
    const plugin p = bundled("random");
    route t{"a*60 b*70 c*1"};
    t.isolate({"a", "b"});
    selector s{p};
    EXPECT_EQ(s.count(t, 1000), (counts{{"c/0", 1000}}));
    t.only({"a/59", "b/0", "b/69"});
    const auto all = s.count(t, 30000);
    EXPECT_EQ(all.size(), 3u);
    for (const auto& [queue, n] : all)
        EXPECT_NEAR(n, 10000, slack(30000, 1 / 3.0)) << queue;
    EXPECT_EQ(s.count(t, 100, {.tried = {"b"}}), (counts{{"a/59", 100}}));
}

// Seen elsewhere: abs() of the smallest integer gave a negative index.
TEST(Random, StaysInRangeWhateverTheDiceSay)
{
    for (const char* name : {"random", "weighted-random", "least-inflight", "power-of-two"}) {
        const plugin p = bundled(name);
        const route t{"a*1 b*1 c*1"};
        for (const std::uint64_t face : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 31, (std::uint64_t{1} << 63) - 1}) {
            selector s{p};
            s.host().dice = [face] { return face; };
            for (int i = 0; i < 100; ++i)
                ASSERT_LT(s.ask(t).pick.queue_index, 3u) << name << ' ' << face;
        }
    }
}

TEST(Random, MayBeSharedByThreads)
{
    const plugin p = bundled("random");
    ASSERT_NE(p.selector().flags & SHUNT_F_CONCURRENT, 0u);
    const route t{"a*4 b*4"};
    selector s{p};
    std::vector<std::thread> threads;
    std::array<std::array<int, 8>, 16> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
        threads.emplace_back([&, i] {
            std::mt19937_64 own{i};  // the host gives each thread randomness of its own
            for (int k = 0; k < 20000; ++k) {
                shunt_msg m{};
                m.struct_size = sizeof m;
                m.random = own();
                shunt_pick pick{};
                ASSERT_EQ(s.table().select(s.instance(), &t.view(), &m, &pick), SHUNT_OK);
                ++all[i][pick.queue_index];
            }
        });
    for (auto& th : threads)
        th.join();
    for (std::size_t q = 0; q < 8; ++q) {
        int n = 0;
        for (const auto& one : all)
            n += one[q];
        EXPECT_NEAR(n, 40000, slack(320000, 1 / 8.0)) << q;
    }
}

TEST(WeightedRandom, DrawsBrokersByWeightThenQueuesEvenly)
{
    const plugin p = bundled("weighted-random");
    const route t{"a*1 weight 5 b*4 c*2 weight 0"};
    selector s{p};
    const auto all = s.count(t, 60000);
    EXPECT_NEAR(all.at("a/0"), 50000, slack(60000, 5 / 6.0));
    for (const char* q : {"b/0", "b/1", "b/2", "b/3"})
        EXPECT_NEAR(all.at(q), 2500, slack(60000, 1 / 24.0));
    EXPECT_EQ(all.size(), 5u) << "weight 0: never";
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_WEIGHT);
}

TEST(WeightedRandom, TakesAWeightOfZeroWhenTheTierHasNothingElse)
{
    const plugin p = bundled("weighted-random");
    route t{"a*1 weight 5 c*1 weight 0 d*1 weight 0"};
    t.isolate({"a"});
    selector s{p};
    const auto all = s.count(t, 10000);
    EXPECT_EQ(all.count("a/0"), 0u);
    EXPECT_NEAR(all.at("c/0"), 5000, slack(10000, 0.5));
}

// ---- least-inflight and power-of-two ----

TEST(LeastInflight, TakesTheIdleBrokerEveryTime)
{
    const plugin p = bundled("least-inflight");
    route t{"a*4 b*4"};
    t.load("a").inflight = 10;
    selector s{p};
    EXPECT_EQ(by_broker(s.count(t, 1000)), (counts{{"b", 1000}}));
    EXPECT_EQ(s.ask(t).pick.why, SHUNT_WHY_LOAD);
}

TEST(LeastInflight, SpreadsTiesEvenly)
{
    const plugin p = bundled("least-inflight");
    route t{"a*4 b*4 c*4 d*0"};
    selector s{p};
    EXPECT_EQ(by_broker(s.count(t, 3000)), (counts{{"a", 1000}, {"b", 1000}, {"c", 1000}}));
    t.load("b").inflight = 1;
    const auto two = s.count(t, 8000);
    EXPECT_EQ(by_broker(two), (counts{{"a", 4000}, {"c", 4000}}));
    for (const auto& [queue, n] : two)
        EXPECT_NEAR(n, 1000, slack(8000, 1 / 8.0)) << queue;
}

// The count rises at the decision and falls at the end; a failed attempt counts on for a while, as the host does it.
TEST(LeastInflight, DoesNotFeedABrokerThatFailsAtOnce)
{
    const plugin p = bundled("least-inflight");
    route t{r3x4};
    selector s{p};
    std::multimap<nanoseconds, std::string> ends;
    counts first;
    for (nanoseconds now = 0ms; now < 10s; now += 1ms) {
        for (auto e = ends.begin(); e != ends.end() && e->first <= now; e = ends.erase(e))
            --t.load(e->second).inflight;
        const std::string b = broker_of(s.pick(t));
        ++t.load(b).inflight;
        ends.emplace(now + (b == "b" ? 1000ms : 5ms), b);
        if (now >= 1s)
            ++first[b];
    }
    EXPECT_LT(first["b"], 9000 * 0.05);
}

TEST(PowerOfTwo, TakesTheBetterOfTwoDifferentBrokers)
{
    const plugin p = bundled("power-of-two");
    route t{"a*4 b*4"};
    t.load("a").ewma_latency_ns = 10'000'000;
    t.load("b").ewma_latency_ns = 1'000'000;
    t.load("b").inflight = 8;  // 9 against 10
    selector s{p};
    EXPECT_EQ(by_broker(s.count(t, 1000)), (counts{{"b", 1000}})) << "with two brokers both are always looked at";
    t.load("b").inflight = 10;  // 11 against 10
    EXPECT_EQ(by_broker(s.count(t, 1000)), (counts{{"a", 1000}}));
}

TEST(PowerOfTwo, SpreadsEvenlyOverEqualBrokersAndNeverTakesTheWorst)
{
    const plugin p = bundled("power-of-two");
    route t{r3x4};
    selector s{p};
    const auto all = s.count(t, 12000);
    EXPECT_EQ(all.size(), 12u);
    for (const auto& [queue, n] : all)
        EXPECT_NEAR(n, 1000, slack(12000, 1 / 12.0)) << queue;
    t.load("b").inflight = 5;
    EXPECT_EQ(by_broker(s.count(t, 3000)).count("b"), 0u);
}

// A latency of nothing means that nothing was measured, and that may be because it never answers.
TEST(PowerOfTwo, DoesNotTakeAnUnknownBrokerForAFastOne)
{
    const plugin p = bundled("power-of-two");
    route t{"a*1 b*1"};
    t.load("a").ewma_latency_ns = 1'000'000;
    t.load("b").inflight = 1;
    selector s{p};
    EXPECT_EQ(s.count(t, 100), (counts{{"a/0", 100}}));
}

TEST(PowerOfTwo, TakesTheOnlyBrokerThereIs)
{
    const plugin p = bundled("power-of-two");
    route t{"a*3 b*2"};
    t.isolate({"b"});
    selector s{p};
    EXPECT_EQ(by_broker(s.count(t, 100)), (counts{{"a", 100}}));
    EXPECT_EQ(by_broker(s.count(route{"a*1"}, 10)), (counts{{"a", 10}}));
}

// ---- all of them ----

constexpr std::array health_aware{"best-queue", "random", "weighted-random", "weighted-round-robin", "least-inflight", "power-of-two"};

// In every state of the brokers the pick is from the best tier that has a queue.
TEST(EverySelector, TakesTheFirstTierThatHasAQueue)
{
    for (const char* name : health_aware) {
        const plugin p = bundled(name);
        std::mt19937 dice{11};
        selector s{p};
        for (std::uint64_t round = 1; round <= 2000; ++round) {
            const std::vector<std::string> names{"a", "b", "c", "d", "e"};
            std::string line;
            for (const auto& n : names)
                line += n + "*" + std::to_string(1 + dice() % 30) + " ";
            route t{line, round};
            const auto some = [&] {
                std::vector<std::string> all;
                for (const auto& n : names)
                    if (dice() % 2 == 0)
                        all.push_back(n);
                return all;
            };
            const auto tried = some();
            t.isolate(some());
            t.cut_off(some());
            const auto tier_of = [&](std::uint32_t q) {
                const bool was_tried = std::ranges::find(tried, t.broker_of(q)) != tried.end();
                return (was_tried ? 3 : 0) + (t.available(q) ? 0 : t.reachable(q) ? 1 : 2);
            };
            int best = 6;
            for (std::uint32_t q = 0; q < t.view().n_queues; ++q)
                best = std::min(best, tier_of(q));
            const auto a = s.ask(t, {.tried = tried});
            ASSERT_EQ(a.status, SHUNT_OK) << name;
            ASSERT_EQ(tier_of(a.pick.queue_index), best) << name << ": " << t.name(a.pick.queue_index) << " of " << line;
        }
    }
}

TEST(EverySelector, NeverRetriesOnTheBrokerThatFailed)
{
    for (const char* name : {"best-queue", "round-robin", "random", "weighted-random", "weighted-round-robin", "least-inflight", "power-of-two", "hash",
                             "consistent-hash"}) {
        const plugin p = bundled(name);
        const route t{r3x4};
        selector s{p};
        for (int i = 0; i < 3000; ++i) {
            std::set<std::string> brokers;
            for (const auto& q : words(s.failing_send(t, 3)))
                brokers.insert(broker_of(q));
            ASSERT_EQ(brokers.size(), 3u) << name;
        }
    }
}

TEST(EverySelector, AnswersTheSmallestAndTheLargestView)
{
    std::string many;
    std::vector<std::string> all;
    for (int b = 0; b < 64; ++b) {
        all.push_back("b" + std::to_string(b));
        many += all.back() + "*64 ";
    }
    const std::vector<std::string> tried(all.begin(), all.begin() + 16);
    route big{many, 1}, small{"b0*1", 2};
    for (const char* name : {"best-queue", "round-robin", "random", "weighted-random", "weighted-round-robin", "least-inflight", "power-of-two", "hash",
                             "consistent-hash"}) {
        const plugin p = bundled(name);
        selector s{p, {}, {.start = 2147483647}};
        big.all_well(), small.all_well();
        for (const auto& [health, n] : {std::pair{0, 50}, {1, 50}, {2, 50}}) {
            if (health == 1)
                big.isolate(all), small.isolate({"b0"});
            if (health == 2)
                big.cut_off(all), small.cut_off({"b0"});
            for (int i = 0; i < n; ++i) {
                ASSERT_LT(s.ask(big).pick.queue_index, 4096u) << name;
                const auto retry = s.ask(big, {.tried = tried});
                ASSERT_LT(retry.pick.queue_index, 4096u) << name;
                ASSERT_EQ(std::ranges::count(tried, big.broker_of(retry.pick.queue_index)), 0) << name;
                ASSERT_EQ(s.pick(small), "b0/0") << name;
                ASSERT_EQ(s.pick(small, {.tried = {"b0"}}), "b0/0") << name;
            }
        }
    }
}

// Nobody starves: each queue of a healthy broker gets its part, also while another broker is out and after it is back.
TEST(EverySelector, LetsNoQueueStarve)
{
    for (const char* name : health_aware) {
        const plugin p = bundled(name);
        route t{r3x4};
        selector s{p};
        t.isolate({"b"});
        const auto without = s.count(t, 8000);
        EXPECT_EQ(without.size(), 8u) << name;
        for (const auto& [queue, n] : without)
            EXPECT_NEAR(n, 1000, slack(8000, 1 / 8.0)) << name << ' ' << queue;
        t.all_well();
        const auto with = s.count(t, 12000);
        EXPECT_EQ(with.size(), 12u) << name;
        for (const auto& [queue, n] : with)
            EXPECT_NEAR(n, 1000, slack(12000, 1 / 12.0)) << name << ' ' << queue;
    }
}

}  // namespace
}  // namespace shunt::test
