// What holds for the bundled strategies in any situation: views made up at random, long runs, every place of a change.

#include <plugin/bundled/bundled.hpp>

#include <shunt/sdk/hash.hpp>

#include <cmath>
#include <numeric>
#include <optional>

namespace shunt::test {
namespace {

settings settings_of(const std::string& name)
{
    return name == "machine-room" ? settings{{"rooms", setting_array{"x"}}, {"spill", setting_array{"y"}}} : settings{};
}

bool heeds_health(std::string_view name) { return name != "round-robin" && name != "hash" && name != "consistent-hash"; }

msg keyed(const std::string& key) { return {.key = key}; }

class ForSelector : public testing::TestWithParam<std::string> {
protected:
    const plugin p_ = bundled(GetParam());
};

std::string words_of(const testing::TestParamInfo<std::string>& info)
{
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, ForSelector,
                         testing::Values("best-queue", "round-robin", "weighted-round-robin", "random", "weighted-random", "hash",
                                         "consistent-hash", "machine-room", "least-inflight", "power-of-two"),
                         words_of);

// ---- views made up at random ----

/// Brokers of all sizes, some read-only, with weights, rooms, loads and verdicts of any kind.
class made_up_view {
public:
    explicit made_up_view(std::mt19937& dice, std::uint64_t generation) : dice_(dice), route_(line(), generation)
    {
        for (const std::string& n : names_) {
            route_.load(n).inflight = one_of<std::uint32_t>({0, 0, 1, 7, 1u << 30});
            route_.load(n).ewma_latency_ns = one_of<std::int64_t>({0, 1, 5'000'000, std::int64_t{1} << 40});
        }
        route_.isolate(some_of(names_));
        route_.cut_off(some_of(names_));
        if (dice_() % 3 == 0) {
            std::vector<std::string> queues;
            for (std::uint32_t q = 0; q < route_.view().n_queues; ++q)
                if (dice_() % 4 == 0)
                    queues.push_back(route_.name(q));
            route_.only(queues);
        }
        tried_ = dice_() % 2 == 0 ? some_of(names_) : std::vector<std::string>{};
        if (tried_.size() > 16)
            tried_.resize(16);
    }

    [[nodiscard]] const route& view() const { return route_; }
    [[nodiscard]] const std::vector<std::string>& tried() const { return tried_; }
    [[nodiscard]] bool empty() const { return route_.view().n_queues == 0; }

    [[nodiscard]] bool is_candidate(std::uint32_t q) const
    {
        const std::uint64_t* c = route_.view().candidates;
        return c == nullptr || (c[q / 64] >> (q % 64) & 1) != 0;
    }
    [[nodiscard]] bool was_tried(std::uint32_t q) const
    {
        return std::ranges::find(tried_, route_.broker_of(q)) != tried_.end();
    }
    /// 0 is the best; with `health` false verdicts do not count.
    [[nodiscard]] int tier(std::uint32_t q, bool health) const
    {
        return (was_tried(q) ? 3 : 0) + (!health || route_.available(q) ? 0 : route_.reachable(q) ? 1 : 2);
    }
    [[nodiscard]] std::optional<int> best_tier(bool health) const
    {
        std::optional<int> best;
        for (std::uint32_t q = 0; q < route_.view().n_queues; ++q)
            if (is_candidate(q))
                best = std::min(best.value_or(6), tier(q, health));
        return best;
    }

private:
    template <typename T>
    T one_of(std::initializer_list<T> all)
    {
        return *(all.begin() + dice_() % all.size());
    }
    std::vector<std::string> some_of(const std::vector<std::string>& all)
    {
        std::vector<std::string> out;
        const unsigned one_in = one_of({1u, 2u, 2u, 10u, 1000u});
        for (const std::string& n : all)
            if (dice_() % one_in == 0)
                out.push_back(n);
        return out;
    }
    std::string line()
    {
        const std::size_t brokers = one_of({1u, 2u, 3u, 17u, 70u});
        std::string out;
        for (std::size_t b = 0; b < brokers; ++b) {
            const std::string name = "b" + std::to_string(dice_() % (2 * brokers));
            if (std::ranges::find(names_, name) != names_.end())
                continue;
            names_.push_back(name);
            out += name + "*" + std::to_string(one_of({0u, 1u, 1u, 4u, 16u, 58u})) + " weight " + std::to_string(one_of({0u, 1u, 3u, 1000000u}));
            const std::string room = one_of<std::string>({"", "x", "y", "z"});
            out += (room.empty() ? "" : " @" + room) + ", ";
        }
        return out;
    }

    std::mt19937& dice_;
    std::vector<std::string> names_;
    route route_;
    std::vector<std::string> tried_;
};

// A candidate while there is one, never a tried broker while an untried one is left, never an avoided one while a better
// one is (by those who heed health), and "no queue" only where there is none.
TEST_P(ForSelector, PicksFromTheBestTierOfAnyView)
{
    std::mt19937 dice{20};
    selector s{p_, settings_of(GetParam())};
    int picked = 0, nothing = 0;
    for (std::uint64_t round = 1; round <= 1500; ++round) {
        const made_up_view v(dice, round);
        if (v.empty())
            continue;  // the host asks nobody then
        const bool weighted = GetParam() == "weighted-round-robin";
        const bool any = v.best_tier(false).has_value();
        for (int i = 0; i < 3; ++i) {
            msg m = dice() % 2 == 0 ? keyed("k" + std::to_string(dice())) : msg{};
            m.tried = v.tried();
            const auto a = s.ask(v.view(), m);
            if (!any || a.status == SHUNT_NO_QUEUE) {
                // Brokers of weight 0 take no part in a weighted rotation while another has more, whatever the candidates are.
                ASSERT_TRUE(!any || weighted) << "round " << round;
                ASSERT_EQ(a.status, SHUNT_NO_QUEUE);
                ++nothing;
                continue;
            }
            ASSERT_EQ(a.status, SHUNT_OK) << "round " << round;
            const std::uint32_t q = a.pick.queue_index;
            ASSERT_LT(q, v.view().view().n_queues);
            ASSERT_TRUE(v.is_candidate(q)) << "round " << round;
            // Without a key the keyed ones go by best-queue's rule.
            const bool heeds = heeds_health(GetParam()) || (GetParam() != "round-robin" && !m.key);
            if (!weighted) {
                ASSERT_EQ(v.tier(q, heeds), v.best_tier(heeds)) << "round " << round;
            }
            ++picked;
        }
    }
    EXPECT_GT(picked, 1000);
    EXPECT_GT(nothing, 0);
}

TEST_P(ForSelector, AnswersTheSameWhenAskedTheSameFromTheStart)
{
    std::mt19937 dice{3};
    const made_up_view v(dice, 1);
    ASSERT_FALSE(v.empty());
    const auto ask = [&] {
        selector s{p_, settings_of(GetParam()), {.start = 9}};
        std::string all;
        for (int i = 0; i < 200; ++i)
            all += s.pick(v.view(), keyed("k" + std::to_string(i))) + ' ';
        return all;
    };
    EXPECT_EQ(ask(), ask());
}

TEST_P(ForSelector, ServesTheLargestRouteThereIs)
{
    std::string line;
    for (int b = 0; b < 1024; ++b)
        line += "b" + std::to_string(1000 + b) + "*64 @x ";
    const route t{line};
    ASSERT_EQ(t.view().n_queues, static_cast<std::uint32_t>(SHUNT_MAX_QUEUES));
    selector s{p_, settings_of(GetParam())};
    for (int i = 0; i < 10; ++i)
        ASSERT_LT(s.ask(t, keyed("k" + std::to_string(i))).pick.queue_index, t.view().n_queues);
}

// ---- nobody starves, and who was away comes back ----

// Each healthy broker gets its part while another is out, and that one gets its own again once it is well.
TEST_P(ForSelector, SharesEvenlyBeforeDuringAndAfterAnIsolation)
{
    route t{"a*4 @x, b*4 @x, c*4 @x"};
    selector s{p_, settings_of(GetParam())};
    const auto by_brokers = [&] {
        counts all;
        for (int i = 0; i < 12000; ++i)
            ++all[broker_of(s.pick(t, keyed("order-" + std::to_string(i))))];
        return all;
    };
    const auto expect_even = [&](const counts& all, std::size_t brokers) {
        EXPECT_EQ(all.size(), brokers);
        const double fair = 12000.0 / static_cast<double>(brokers);
        for (const auto& [broker, n] : all)
            EXPECT_NEAR(n, fair, (GetParam() == "consistent-hash" ? 0.25 : 0.08) * fair) << broker;
    };
    expect_even(by_brokers(), 3);
    t.isolate({"b"});
    expect_even(by_brokers(), heeds_health(GetParam()) ? 2 : 3);
    t.all_well();
    expect_even(by_brokers(), 3);
}

// ---- weighted-round-robin: no jump ----

// However the weights were before: from the change on each broker's share is the new one, at any moment to within two picks and a half, and
// nobody has more in a row than the weights ask for.
TEST(WeightedRoundRobin, FollowsChangedWeightsWithoutAJump)
{
    const plugin p = bundled("weighted-round-robin");
    std::mt19937 dice{8};
    for (int round = 0; round < 200; ++round) {
        const int n = 2 + static_cast<int>(dice() % 5);
        const auto weights = [&] {
            std::vector<int> w;
            for (int b = 0; b < n; ++b)
                w.push_back(1 + static_cast<int>(dice() % 9));
            return w;
        };
        const auto line = [](const std::vector<int>& w) {
            std::string out;
            for (std::size_t b = 0; b < w.size(); ++b)
                out += std::string(1, static_cast<char>('a' + b)) + "*2 weight " + std::to_string(w[b]) + " ";
            return out;
        };
        auto before = weights();
        const auto after = weights();
        if (round % 2 == 0)
            for (int& w : before)
                w *= 100000;  // accounts stand at as many
        selector s{p};
        const route first{line(before), 1}, then{line(after), 2};
        for (auto i = dice() % 40; i > 0; --i)
            (void)s.pick(first);
        const int sum = std::accumulate(after.begin(), after.end(), 0);
        std::vector<int> got(static_cast<std::size_t>(n));
        int in_a_row = 0, last = -1;
        for (int k = 1; k <= 6 * sum; ++k) {
            const int b = s.pick(then)[0] - 'a';
            in_a_row = b == last ? in_a_row + 1 : 1;
            last = b;
            ++got[static_cast<std::size_t>(b)];
            const int w = after[static_cast<std::size_t>(b)];
            const int most = (w + sum - w - 1) / std::max(1, sum - w) + 2;
            ASSERT_LE(in_a_row, most) << line(before) << "to " << line(after);
            for (int each = 0; each < n; ++each)
                ASSERT_NEAR(got[static_cast<std::size_t>(each)], static_cast<double>(k) * after[static_cast<std::size_t>(each)] / sum, 2.5)
                    << line(before) << "to " << line(after) << "pick " << k;
        }
    }
}

// ---- consistent-hash: the same in every process and build, and what moves ----

/// The rule again, in the plainest form: all points of all queues, sorted.
std::vector<std::pair<std::uint32_t, std::string>> plain_ring(const route& t)
{
    std::vector<std::pair<std::uint32_t, std::string>> points;
    for (std::uint32_t q = 0; q < t.view().n_queues; ++q) {
        const std::uint64_t seed = sdk::mix(sdk::mix(sdk::fnv1a_64(t.broker_of(q))) + t.view().queues[q].queue_id);
        for (std::uint64_t i = 0; i < 256; ++i)
            points.emplace_back(static_cast<std::uint32_t>(sdk::mix(seed + static_cast<std::uint32_t>(i) * 0x9e3779b97f4a7c15u) >> 32), t.name(q));
    }
    std::ranges::sort(points);
    return points;
}

TEST(ConsistentHash, IsTheRingItSaysItIs)
{
    const plugin p = bundled("consistent-hash");
    const route t{"broker-a*4 broker-b*7 broker-c*1 broker-d*4"};
    const auto ring = plain_ring(t);
    selector s{p};
    for (int i = 0; i < 5000; ++i) {
        const msg m = keyed("key-" + std::to_string(i));
        const auto place = static_cast<std::uint32_t>(sdk::mix(xxh3_64(*m.key)) >> 32);
        auto at = std::ranges::lower_bound(ring, place, {}, &std::pair<std::uint32_t, std::string>::first);
        ASSERT_EQ(s.pick(t, m), (at == ring.end() ? ring.front() : *at).second) << i;
    }
}

// Never to be changed: where a key lies is part of what users have stored.
TEST(ConsistentHash, PutsKeysWhereItAlwaysDid)
{
    const plugin p = bundled("consistent-hash");
    const route t{"broker-a*4 broker-b*4 broker-c*4"};
    selector s{p};
    std::string places, all;
    for (int i = 0; i < 8; ++i)
        places += s.pick(t, keyed("order-" + std::to_string(i))).substr(7) + " ";
    for (int i = 0; i < 1000; ++i)
        all += static_cast<char>(s.ask(t, keyed("order-" + std::to_string(i))).pick.queue_index);
    EXPECT_EQ(places, "a/0 a/3 a/0 b/2 c/0 a/1 b/0 a/3 ");
    EXPECT_EQ(sdk::fnv1a(all), 4156172170u);
}

// One of N brokers more, or less, at any place in the order.
TEST(ConsistentHash, MovesFewKeysWhereverABrokerComesOrGoes)
{
    const plugin p = bundled("consistent-hash");
    constexpr int keys = 40000;
    for (const int brokers : {3, 8, 64}) {
        const auto line = [&](int without) {
            std::string all;
            for (int b = 0; b < brokers; ++b)
                if (b != without)
                    all += "broker-" + std::to_string(100 + b) + "*4 ";
            return all;
        };
        std::uint64_t generation = 0;
        selector s{p};
        const auto mapped = [&](const std::string& of) {
            const route t{of, ++generation};
            std::vector<std::string> all;
            for (int i = 0; i < keys; ++i)
                all.push_back(broker_of(s.pick(t, keyed("key-" + std::to_string(i)))));
            return all;
        };
        const auto with_all = mapped(line(-1));
        for (int changed = 0; changed < brokers; changed += brokers == 64 ? 7 : 1) {
            const std::string name = "broker-" + std::to_string(100 + changed);
            const auto without = mapped(line(changed));
            int moved = 0;
            for (std::size_t i = 0; i < with_all.size(); ++i) {
                if (without[i] == with_all[i])
                    continue;
                ++moved;
                // From the one that goes to another; read the other way, from another to the one that comes.
                ASSERT_EQ(with_all[i], name);
                ASSERT_NE(without[i], name);
            }
            EXPECT_GT(moved, 0);
            EXPECT_LE(moved, 1.15 * keys / brokers) << name << " of " << brokers;
        }
    }
}

// ---- circuit-breaker ----

/// Brokers that fail as dice say, and traffic to those that are available.
TEST(CircuitBreaker, NeverIsolatesMoreThanItsShareWhateverHappens)
{
    const plugin p = bundled("circuit-breaker");
    std::mt19937 dice{4};
    for (const double share : {0.0, 0.1, 0.34, 0.5, 0.75, 1.0})
        for (const int brokers : {1, 2, 3, 7, 64}) {
            std::string line;
            std::vector<std::string> names;
            for (int b = 0; b < brokers; ++b) {
                names.push_back("b" + std::to_string(b));
                line += names.back() + "*1 ";
            }
            route t{line};
            fault f{p, {{"max_isolated", share}, {"min_attempts", 3}, {"isolation", 200ms}, {"isolation_max", 2s}}};
            const auto allowed = static_cast<int>(std::floor(share * brokers + 1e-9));
            int most = 0;
            for (nanoseconds now = 1s; now < 11s; now += 50ms) {
                const auto j = f.judge(t, now);
                const auto out = static_cast<int>(std::ranges::count(j.available, false));
                ASSERT_LE(out, allowed) << brokers << " brokers, share " << share;
                ASSERT_EQ(std::ranges::count(j.reachable, false), 0) << "it never calls a broker unreachable";
                most = std::max(most, out);
                const bool all_fail = now < 8s;
                for (std::size_t b = 0; b < names.size(); ++b)
                    if (j.available[b]) {
                        t.load(names[b]).inflight = dice() % 3 == 0 ? 1 : 0;
                        f.tell(names[b], {.at = now + 10ms, .result = all_fail || dice() % 5 == 0 ? SHUNT_FB_FAILED : SHUNT_FB_GOOD, .start = now});
                    }
            }
            EXPECT_EQ(most, allowed) << brokers << " brokers, share " << share;
        }
}

// Each bad trial doubles the isolation up to the cap; after a good one the next isolation is the first one's length again.
TEST(CircuitBreaker, GrowsToItsCapAndShrinksAfterASuccess)
{
    const plugin p = bundled("circuit-breaker");
    const route t{"a*1 b*1 c*1"};
    fault f{p, {{"isolation", 1s}, {"isolation_max", 6s}, {"min_attempts", 2}}};
    nanoseconds now = 1s;
    const auto length = [&] { return f.judge(t, now).valid_until - now; };
    for (int again = 0; again < 2; ++again) {
        f.failed("a", now);
        f.failed("a", now);
        for (const nanoseconds expected : {1s, 2s, 4s, 6s, 6s}) {
            ASSERT_FALSE(f.judge(t, now).available[0]);
            ASSERT_EQ(length(), expected);
            now += expected;
            ASSERT_TRUE(f.judge(t, now).available[0]) << "a trial";
            f.tell("a", {.at = now, .result = SHUNT_FB_FAILED, .start = now});
        }
        now += 6s;
        f.tell("a", {.at = now, .result = SHUNT_FB_GOOD, .latency = 1ms, .start = now});
        ASSERT_TRUE(f.judge(t, now).available[0]);
        now += 1min;
    }
}

}  // namespace
}  // namespace shunt::test
