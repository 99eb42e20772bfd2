// best-queue and round-robin: rotation, tiers, and what other clients got wrong.

#include <plugin/bundled/bundled.hpp>
#include <plugin/bundled/vectors.hpp>

#include <thread>

namespace shunt::test {
namespace {

constexpr auto r3x4 = "a*4 b*4 c*4";

/// Java counts before it looks, and folds the sign away.
std::uint32_t cursor_of(std::int64_t k) { return static_cast<std::uint32_t>(k + 1) & 0x7fffffffu; }

/// The queue after `queue` in the list, round its end.
std::string next_of(const route& t, const std::string& queue)
{
    for (std::uint32_t i = 0; i < t.view().n_queues; ++i)
        if (t.name(i) == queue)
            return t.name((i + 1) % t.view().n_queues);
    return "?";
}

TEST(BestQueue, AgreesWithJavasTraces)
{
    const plugin p = bundled("best-queue");
    for (const auto& row : vectors::traces) {
        SCOPED_TRACE(row.id);
        route t{row.route};
        if (row.health) {
            t.isolate(words(row.isolated));
            t.cut_off(words(row.cut_off));
        }
        selector s{p, {}, {.start = cursor_of(row.k)}};
        EXPECT_EQ(s.pick(t, {.tried = words(row.last)}), row.queue);

        t.all_well();
        const bool near_the_wrap = row.k > 2147483600 || row.k < -1;  // where the list starts anew
        EXPECT_TRUE(near_the_wrap || s.pick(t) == next_of(t, std::string{row.queue})) << "the cursor stands one past the queue taken";
    }
}

TEST(BestQueue, AgreesWithJavasSequences)
{
    const plugin p = bundled("best-queue");
    struct {
        std::string_view route;
        std::int64_t k;
        std::string_view isolated, queues;
    } const rows[] = {
        {"a*8 b*2", -1, "", "a/0 a/1 a/2 a/3 a/4 a/5 a/6 a/7 b/0 b/1"},
        {r3x4, -1, "", "a/0 a/1 a/2 a/3 b/0 b/1 b/2 b/3 c/0 c/1 c/2 c/3 a/0"},
        {r3x4, -1, "a", "b/0 b/1 b/2 b/3 c/0 c/1 c/2 c/3 b/0"},
        {r3x4, -1, "b", "a/0 a/1 a/2 a/3 c/0 c/1 c/2 c/3 a/0"},
        {r3x4, 2147483643, "", "b/0 b/1 b/2 b/3 a/0 a/1 a/2 a/3 b/0"},
    };
    for (const auto& row : rows) {
        route t{row.route};
        t.isolate(words(row.isolated));
        selector s{p, {}, {.start = cursor_of(row.k)}};
        EXPECT_EQ(s.picks(t, static_cast<int>(words(row.queues).size())), row.queues);
    }
}

// Java avoids only the last broker, so its fourth attempt returns to the first; here it goes on in the rotation.
TEST(BestQueue, RetriesOnBrokersNotTriedYet)
{
    const plugin p = bundled("best-queue");
    struct {
        std::string_view route;
        std::int64_t k;
        std::string_view queues;
    } const rows[] = {
        {r3x4, -1, "a/0 b/0 c/0 c/1"},          {r3x4, 0, "a/1 b/0 c/0 c/1"},
        {r3x4, 3, "b/0 c/0 a/0 a/1"},           {r3x4, 7, "c/0 a/0 b/0 b/1"},
        {"b1*8 b2*8 b3*8", -1, "b1/0 b2/0 b3/0"}, {"b1*8 b2*8 b3*8", 15, "b3/0 b1/0 b2/0 b2/1"},
    };
    for (const auto& row : rows) {
        const route t{row.route};
        selector s{p, {}, {.start = cursor_of(row.k)}};
        EXPECT_EQ(s.failing_send(t, static_cast<int>(words(row.queues).size())), row.queues);
    }
}

// Seen elsewhere: the scan moved a private copy of the position, attempt three was back on broker one (b1/0 b2/0 b1/2).
TEST(BestQueue, ReachesTheThirdBrokerFromEveryStart)
{
    const plugin p = bundled("best-queue");
    const route t{"b1*8 b2*8 b3*8"};
    for (std::uint32_t start = 0; start < 24; ++start) {
        selector s{p, {}, {.start = start}};
        std::set<std::string> brokers;
        for (const std::string& q : words(s.failing_send(t, 3)))
            brokers.insert(broker_of(q));
        EXPECT_EQ(brokers.size(), 3u) << "from " << start;
    }
    EXPECT_EQ((selector{p, {}, {.start = 0}}.failing_send(t, 3)), "b1/0 b2/0 b3/0");
    EXPECT_EQ((selector{p, {}, {.start = 11}}.failing_send(t, 3)), "b2/3 b3/0 b1/0");
}

// Seen elsewhere: the first queue after an isolated broker got that broker's share on top (500 of 1,200, or 2,500 of 4,800).
TEST(BestQueue, SpreadsAnIsolatedBrokersShareEvenly)
{
    const plugin p = bundled("best-queue");
    {
        route t{r3x4};
        t.isolate({"b"});
        selector s{p};
        const auto counts = s.count(t, 1200);
        EXPECT_EQ(counts.size(), 8u);
        for (const auto& [queue, n] : counts)
            EXPECT_EQ(n, 150) << queue;
    }
    route t{"a*24 b*24"};
    t.isolate({"a"});
    selector s{p};
    const auto counts = s.count(t, 4800);
    EXPECT_EQ(counts.size(), 24u);
    for (const auto& [queue, n] : counts)
        EXPECT_EQ(n, 200) << queue;
}

// Seen elsewhere: the queue after a dead broker's got 360 of 1,200, the others 120.
TEST(BestQueue, SpreadsRetriesOfADeadBrokerEvenlyWithoutAFaultStrategy)
{
    const plugin p = bundled("best-queue");
    const route t{r3x4};
    const auto run = [&](int sends, std::map<std::string, int>& stored) {
        selector s{p};
        for (int i = 0; i < sends; ++i) {
            std::string q = s.pick(t);
            if (broker_of(q) == "b")
                q = s.pick(t, {.tried = {"b"}});
            ++stored[q];
        }
        return s.calls;
    };
    std::map<std::string, int> stored;
    (void)run(1200, stored);
    EXPECT_EQ(stored.size(), 8u);
    for (const auto& [queue, n] : stored)
        EXPECT_NEAR(n, 150, 1.5) << queue;

    stored.clear();
    EXPECT_NEAR(run(900, stored), 1012, 1);
    for (const auto& [queue, n] : stored)
        EXPECT_NEAR(n, 112.5, 0.6) << queue;
}

TEST(BestQueue, NeverLeavesTheRangeWhenTheCursorWraps)
{
    const plugin p = bundled("best-queue");
    for (const std::uint32_t n : {1u, 3u, 4u, 7u, 8u, 12u, 1000u}) {
        const route t{"a*" + std::to_string(n)};
        selector s{p, {}, {.start = 2147483645}};
        std::map<std::string, int> counts;
        std::string expected, got;
        for (std::uint32_t c = 2147483645, i = 0; i < 10; ++i, c = (c + 1) & 0x7fffffff) {
            expected += t.name(c % n) + " ";
            got += s.pick(t) + " ";
        }
        EXPECT_EQ(got, expected) << n << " queues";
    }
}

// At the wrap the list starts anew, in the middle of a scan too; each queue is looked at.
TEST(BestQueue, FindsTheOnlyFittingQueueAcrossTheWrap)
{
    const plugin p = bundled("best-queue");
    for (std::uint32_t n = 1; n <= 12; ++n)
        for (std::uint32_t before = 0; before <= 14; ++before)
            for (std::uint32_t wanted = 0; wanted < n; ++wanted) {
                route t{"a*" + std::to_string(n)};
                t.only({"a/" + std::to_string(wanted)});
                const std::uint32_t start = 2147483647 - before;
                selector s{p, {}, {.start = start}};
                ASSERT_EQ(s.pick(t), "a/" + std::to_string(wanted));

                std::uint32_t c = start;  // one by one, as the rule is written
                while (c % n != wanted)
                    c = (c + 1) & 0x7fffffff;
                const std::uint32_t after = (c + 1) & 0x7fffffff;
                const route whole{"a*" + std::to_string(n)};
                ASSERT_EQ(s.pick(whole), whole.name(after % n)) << n << " queues, from " << start << ", wanted " << wanted;
            }
}

TEST(BestQueue, GivesTheReasonsOfTheContract)
{
    const plugin p = bundled("best-queue");
    const auto why = [&](route& t, std::uint32_t start, std::vector<std::string> tried) {
        selector s{p, {}, {.start = start}};
        return s.ask(t, {.tried = std::move(tried)}).pick.why;
    };
    route t{r3x4};
    EXPECT_EQ(why(t, 4, {}), SHUNT_WHY_ROTATION);
    EXPECT_EQ(why(t, 4, {"a"}), SHUNT_WHY_ROTATION) << "nothing of a was stepped over";
    EXPECT_EQ(why(t, 4, {"b"}), SHUNT_WHY_AVOID_TRIED);
    t.isolate({"b"});
    EXPECT_EQ(why(t, 4, {}), SHUNT_WHY_AVOID_ISOLATED);
    EXPECT_EQ(why(t, 4, {"b"}), SHUNT_WHY_AVOID_TRIED);
    EXPECT_EQ(why(t, 4, {"a"}), SHUNT_WHY_AVOID_ISOLATED) << "b is stepped over, a is not";
    EXPECT_EQ(why(t, 4, {"a", "c"}), SHUNT_WHY_REACHABLE_ONLY);
    t.cut_off({"b"});
    EXPECT_EQ(why(t, 4, {"a", "c"}), SHUNT_WHY_LAST_RESORT);
    EXPECT_EQ(why(t, 4, {"a", "b", "c"}), SHUNT_WHY_ALL_TRIED);
}

// Six brokers in every state: the pick is the one a plain loop over the tiers would make.
TEST(BestQueue, TakesThePickThatAPlainLoopTakes)
{
    const plugin p = bundled("best-queue");
    std::mt19937 dice{7};
    for (int round = 0; round < 3000; ++round) {
        std::string line;
        const std::vector<std::string> names{"a", "b", "c", "d", "e", "f"};
        for (const auto& n : names)
            line += n + "*" + std::to_string(dice() % 40) + " ";
        line += "g*1";
        route t{line};
        const auto some = [&] {
            std::vector<std::string> s;
            for (const auto& n : names)
                if (dice() % 3 == 0)
                    s.push_back(n);
            return s;
        };
        const auto tried = some();
        t.isolate(some());
        t.cut_off(some());
        if (dice() % 2 == 0)
            t.cut_off({"g"});
        const auto start = static_cast<std::uint32_t>(dice() % 4 == 0 ? 2147483647 - dice() % 30 : dice() & 0x7fffffff);

        const std::uint32_t n = t.view().n_queues;
        const auto plain = [&]() -> std::uint32_t {
            for (int tier = 0; tier < 6; ++tier)
                for (std::uint32_t c = start, i = 0; i < 2 * n; ++i, c = (c + 1) & 0x7fffffff) {
                    const std::uint32_t q = c % n;
                    const bool was_tried = std::ranges::find(tried, t.broker_of(q)) != tried.end();
                    const bool healthy = tier % 3 == 0 ? t.available(q) : tier % 3 == 1 ? t.reachable(q) : true;
                    if (healthy && (tier >= 3 || !was_tried))
                        return q;
                }
            return SHUNT_NONE;
        };
        selector s{p, {}, {.start = start}};
        ASSERT_EQ(s.pick(t, {.tried = tried}), t.name(plain())) << line << " from " << start;
    }
}

TEST(BestQueue, PicksAmongCandidatesOnly)
{
    const plugin p = bundled("best-queue");
    route t{r3x4};
    t.only({"a/2", "c/1", "c/3"});
    selector s{p};
    EXPECT_EQ(s.picks(t, 4), "a/2 c/1 c/3 a/2");
    EXPECT_EQ(s.pick(t, {.tried = {"c"}}), "a/2");
    t.only({});
    EXPECT_EQ(s.pick(t), "no queue");
}

TEST(BestQueue, NeverPicksABrokerWithoutWritableQueues)
{
    const plugin p = bundled("best-queue");
    route t{"a*4 b*0 c*0"};
    t.isolate({"a"});
    selector s{p};
    EXPECT_EQ(by_broker(s.count(t, 100)), (std::map<std::string, int>{{"a", 100}}));
}

TEST(BestQueue, PrefersAnUntouchedBrokerToAnyIsolatedOne)
{
    const plugin p = bundled("best-queue");
    route t{r3x4};
    t.isolate({"a"});
    for (std::uint32_t start = 0; start < 12; ++start) {
        selector s{p, {}, {.start = start}};
        EXPECT_EQ(broker_of(s.pick(t, {.tried = {"b"}})), "c");
    }
    t.isolate({"a", "b", "c"});
    t.cut_off({"a"});
    selector s{p};
    EXPECT_EQ(s.count(t, 800), (std::map<std::string, int>{{"b/0", 100}, {"b/1", 100}, {"b/2", 100}, {"b/3", 100},
                                                          {"c/0", 100}, {"c/1", 100}, {"c/2", 100}, {"c/3", 100}}));
}

// Seen elsewhere: a selector wrote into the route it was shown. Here all that is shown stays as it was.
TEST(BestQueue, LeavesTheViewAsItWas)
{
    const plugin p = bundled("best-queue");
    route t{"a*2 b*2"};
    t.isolate({"a", "b"});
    selector s{p};
    const std::string before = t.snapshot();
    (void)s.count(t, 10);
    EXPECT_EQ(t.snapshot(), before);
    t.all_well();
    EXPECT_EQ(s.count(t, 400), (std::map<std::string, int>{{"a/0", 100}, {"a/1", 100}, {"b/0", 100}, {"b/1", 100}}));
}

TEST(BestQueue, KeepsARotationForEachTopic)
{
    const plugin p = bundled("best-queue");
    const route t1{"a*4"}, t2{"a*4"};
    selector s1{p}, s2{p};
    std::map<std::string, int> first, second;
    for (int i = 0; i < 400; ++i) {
        ++first[s1.pick(t1)];
        ++second[s2.pick(t2)];
    }
    EXPECT_EQ(first, (std::map<std::string, int>{{"a/0", 100}, {"a/1", 100}, {"a/2", 100}, {"a/3", 100}}));
    EXPECT_EQ(second, first);
}

TEST(BestQueue, BeginsWhereItIsTold)
{
    const plugin p = bundled("best-queue");
    const route t{r3x4};
    std::map<std::string, int> first;
    std::mt19937 dice{3};
    for (int producers = 0; producers < 1200; ++producers)
        ++first[selector{p, {}, {.start = static_cast<std::uint32_t>(dice() & 0x7fffffff)}}.pick(t)];
    EXPECT_EQ(first.size(), 12u);
    for (const auto& [queue, n] : first)
        EXPECT_NEAR(n, 100, 45) << queue;
}

// 1 and 4,096 queues, everything isolated, everything tried: always a queue in range, the best tier there is.
TEST(BestQueue, AnswersEveryView)
{
    for (const char* name : {"best-queue", "round-robin"}) {
        const plugin p = bundled(name);
        std::string many;
        std::vector<std::string> all;
        for (int b = 0; b < 16; ++b) {
            all.push_back("b" + std::to_string(b));
            many += all.back() + "*256 ";
        }
        route big{many}, small{"b0*1"};
        selector s{p, {}, {.start = 2147480000}};
        for (int i = 0; i < 10000; ++i)
            ASSERT_EQ(s.ask(big, {.tried = i % 3 == 0 ? all : std::vector<std::string>{}}).status, SHUNT_OK);
        big.cut_off(all);
        small.cut_off({"b0"});
        for (int i = 0; i < 3000; ++i) {
            const auto a = s.ask(big, {.tried = i % 2 == 0 ? all : std::vector<std::string>{"b3", "b7"}});
            ASSERT_EQ(a.status, SHUNT_OK);
            ASSERT_LT(a.pick.queue_index, 4096u);
            ASSERT_EQ(s.pick(small, {.tried = {"b0"}}), "b0/0");
        }
    }
}

TEST(BestQueue, IsNotSharedByThreads)
{
    const plugin p = bundled("best-queue");
    EXPECT_EQ(p.selector().flags & SHUNT_F_CONCURRENT, 0u) << "each sender thread has a cursor of its own";
    const route t{"a*4"};
    std::vector<std::thread> threads;
    std::array<std::map<std::string, int>, 8> counts;
    for (auto& c : counts)
        threads.emplace_back([&] { c = selector{p}.count(t, 4000); });
    for (auto& th : threads)
        th.join();
    for (const auto& c : counts)
        EXPECT_EQ(c, (std::map<std::string, int>{{"a/0", 1000}, {"a/1", 1000}, {"a/2", 1000}, {"a/3", 1000}}));
}

TEST(RoundRobin, IgnoresHealth)
{
    const plugin p = bundled("round-robin");
    route t{"a*2 b*2"};
    t.cut_off({"a"});
    selector s{p};
    EXPECT_EQ(s.picks(t, 5), "a/0 a/1 b/0 b/1 a/0");
}

TEST(RoundRobin, KeepsRetriesOffTriedBrokers)
{
    const plugin p = bundled("round-robin");
    const route t{r3x4};
    EXPECT_EQ(selector{p}.failing_send(t, 5), "a/0 b/0 c/0 c/1 c/2");
    route narrow{r3x4};
    narrow.only({"b/1", "b/3"});
    EXPECT_EQ(selector{p}.failing_send(narrow, 3), "b/1 b/3 b/1");
}

TEST(RoundRobin, IsEvenAndAskedOncePerAttempt)
{
    const plugin p = bundled("round-robin");
    const route t{"a*4"};
    selector s{p};
    EXPECT_EQ(s.count(t, 400), (std::map<std::string, int>{{"a/0", 100}, {"a/1", 100}, {"a/2", 100}, {"a/3", 100}}));
    EXPECT_EQ(s.calls, 400);
}

}  // namespace
}  // namespace shunt::test
