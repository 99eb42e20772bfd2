// hash and consistent-hash: which queue a key goes to, on retries, without a key, and when queues come and go.

#include <plugin/bundled/bundled.hpp>

#include <shunt/sdk/hash.hpp>

namespace shunt::test {
namespace {

constexpr auto r3x4 = "a*4 b*4 c*4";

msg keyed(const std::string& key, std::vector<std::string> tried = {}) { return {.key = key, .tried = std::move(tried)}; }

std::string order(int i) { return "order-" + std::to_string(i); }

// ---- hash ----

// A mapping never changes between releases: these numbers come from other implementations of the same functions.
TEST(Hash, MapsAThousandKeysAsEver)
{
    const plugin p = bundled("hash");
    const route t{r3x4};
    struct {
        const char* function;
        std::uint32_t digest;
    } const rows[] = {{"java", 300742871u}, {"murmur2", 1406624310u}, {"fnv1a", 1685336945u}, {"xxh3", 764826675u}};
    for (const auto& row : rows) {
        selector s{p, {{"function", row.function}}};
        std::string queues;
        for (int i = 0; i < 1000; ++i)
            queues += static_cast<char>(s.ask(t, keyed(order(i))).pick.queue_index);
        EXPECT_EQ(sdk::fnv1a(queues), row.digest) << row.function;
    }
}

TEST(Hash, IsJavasUnlessToldOtherwise)
{
    const plugin p = bundled("hash");
    const route t{"a*1 b*1 c*1"};
    selector s{p};
    EXPECT_EQ(s.pick(t, keyed("polygenelubricants")), "c/0") << "the smallest 32-bit number: its remainder is -2";
    EXPECT_EQ(s.pick(t, keyed("Aa")), s.pick(t, keyed("BB")));
    EXPECT_EQ(s.pick(t, keyed("\xE4\xB8\xAD\xE6\x96\x87")), "c/0");
}

TEST(Hash, AsksForTheHashItNeedsOnly)
{
    const plugin p = bundled("hash");
    EXPECT_EQ(p.selector().flags & (SHUNT_F_WANTS_JAVA_HASH | SHUNT_F_WANTS_HASH64), SHUNT_F_WANTS_JAVA_HASH | SHUNT_F_WANTS_HASH64);
    const auto wants = [&](const char* function) {
        selector s{p, {{"function", function}}};
        return s.table().wants(s.instance());
    };
    EXPECT_EQ(wants("java"), SHUNT_F_WANTS_JAVA_HASH);
    EXPECT_EQ(wants("xxh3"), SHUNT_F_WANTS_HASH64);
    EXPECT_EQ(wants("murmur2"), 0u);
    EXPECT_EQ(wants("fnv1a"), 0u);
}

// "No key" and "the empty key" are two things; so are the empty key and one NUL, though Java hashes them alike.
TEST(Hash, TellsNoKeyFromAnEmptyOne)
{
    const plugin p = bundled("hash");
    const route t{r3x4};
    selector s{p};
    EXPECT_EQ(s.count(t, 1200, {.key = ""}), (std::map<std::string, int>{{"a/0", 1200}}));
    EXPECT_EQ(s.count(t, 1200, keyed(std::string(1, '\0'))), (std::map<std::string, int>{{"a/0", 1200}}));
    const auto keyless = s.count(t, 1200);
    EXPECT_EQ(keyless.size(), 12u);
    for (const auto& [queue, n] : keyless)
        EXPECT_EQ(n, 100) << queue;
}

TEST(Hash, TreatsKeylessMessagesAsTold)
{
    for (const char* name : {"hash", "consistent-hash"}) {
        const plugin p = bundled(name);
        route t{r3x4};
        EXPECT_EQ((selector{p, {{"keyless", "fail"}}}.pick(t)), "no queue");
        EXPECT_EQ((selector{p, {{"keyless", "rotate"}}, {.start = 5}}.picks(t, 3)), "b/1 b/2 b/3");
        t.isolate({"b"});
        EXPECT_EQ((selector{p, {{"keyless", "rotate"}}, {.start = 5}}.pick(t)), "c/0") << "as best-queue";
        selector s{p, {{"keyless", "random"}}};
        const auto counts = s.count(t, 8000);
        EXPECT_EQ(counts.size(), 8u);
        for (const auto& [queue, n] : counts)
            EXPECT_NEAR(n, 1000, 150) << queue;
        EXPECT_NE((selector{p, {{"keyless", "fail"}}}.pick(t, {.key = ""})), "no queue") << "an empty key is a key";
    }
}

TEST(Hash, IgnoresHealthButNotTriedBrokers)
{
    const plugin p = bundled("hash");
    route t{r3x4};
    t.cut_off({"a"});
    selector s{p};
    const msg home = keyed("order-1");  // hash -1207111310: a/2
    EXPECT_EQ(s.pick(t, home), "a/2");
    EXPECT_EQ(s.pick(t, keyed("order-1", {"a"})), "b/0");
    EXPECT_EQ(s.pick(t, keyed("order-1", {"a", "b"})), "c/0");
    EXPECT_EQ(s.pick(t, keyed("order-1", {"b"})), "a/2") << "only the key's own broker matters";
    EXPECT_EQ(s.pick(t, keyed("order-1", {"a", "b", "c"})), "a/2") << "all tried: the key's queue again";
    EXPECT_EQ(s.pick(t, keyed("order-4", {"c"})), "a/0") << "round the end of the list";
    EXPECT_EQ(s.ask(t, home).pick.why, SHUNT_WHY_KEY);
    EXPECT_EQ(s.ask(t, keyed("order-1", {"a"})).pick.why, SHUNT_WHY_AVOID_TRIED);
    EXPECT_EQ(s.ask(t, keyed("order-1", {"a", "b", "c"})).pick.why, SHUNT_WHY_KEY);
}

TEST(Hash, SpreadsKeysOverTheCandidatesOnly)
{
    const plugin p = bundled("hash");
    route t{r3x4}, three{"x*3"};
    t.only({"a/1", "b/3", "c/0"});
    selector s{p};
    const std::map<std::string, std::string> same{{"x/0", "a/1"}, {"x/1", "b/3"}, {"x/2", "c/0"}};
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(s.pick(t, keyed(order(i))), same.at(s.pick(three, keyed(order(i))))) << "as if there were no others";
    EXPECT_EQ(s.pick(t, keyed("order-0", {"a", "b"})), "c/0");
    t.only({});
    EXPECT_EQ(s.pick(t, keyed("order-0")), "no queue");
}

// ---- consistent-hash ----

void expect_even(const mapping& mapped, std::size_t queues, double within)
{
    std::map<std::string, int> counts;
    for (const auto& [key, queue] : mapped)
        ++counts[queue];
    EXPECT_EQ(counts.size(), queues);
    const double mean = static_cast<double>(mapped.size()) / static_cast<double>(queues);
    for (const auto& [queue, n] : counts)
        EXPECT_NEAR(n, mean, within * mean) << queue;
}

TEST(ConsistentHash, SpreadsKeysEvenly)
{
    const plugin p = bundled("consistent-hash");
    const route t{r3x4};
    selector s{p};
    expect_even(map_keys(s, t, 100000, "key-{i}"), 12, 0.25);
}

TEST(ConsistentHash, SpreadsIdsInStepsEvenly)
{
    const plugin p = bundled("consistent-hash");
    for (const char* line : {"a*4", "a*8", r3x4}) {
        const route t{line};
        selector s{p};
        mapping mapped;
        for (int id = 0; id < 80000; id += 8)
            mapped[std::to_string(id)] = s.pick(t, keyed(std::to_string(id)));
        expect_even(mapped, t.view().n_queues, 0.25);
    }
}

TEST(ConsistentHash, MovesOnlyTheKeysOfAMiddleBrokerThatLeaves)
{
    const plugin p = bundled("consistent-hash");
    const route with{r3x4, 1}, without{"a*4 c*4", 2}, again{r3x4, 3};
    selector s{p};
    const auto before = map_keys(s, with, 100000, "key-{i}");
    const auto after = map_keys(s, without, 100000, "key-{i}");
    int moved = 0;
    for (const auto& [key, queue] : before) {
        if (broker_of(queue) != "b") {
            ASSERT_EQ(after.at(key), queue) << key << ": its queue is still there";
        }
        moved += after.at(key) != queue ? 1 : 0;
    }
    EXPECT_NEAR(moved, 100000 / 3, 1700);
    EXPECT_EQ(map_keys(s, again, 100000, "key-{i}"), before) << "when it is back, so are its keys";
}

TEST(ConsistentHash, MovesKeysToNewQueuesOnly)
{
    const plugin p = bundled("consistent-hash");
    const route eight{"a*4 b*4", 1}, twelve{r3x4, 2}, wider{"a*4 b*6 c*4", 3};
    selector s{p};
    const auto on_8 = map_keys(s, eight, 10000, "key-{i}"), on_12 = map_keys(s, twelve, 10000, "key-{i}"), on_14 = map_keys(s, wider, 10000, "key-{i}");
    int moved = 0;
    for (const auto& [key, queue] : on_8)
        if (on_12.at(key) != queue) {
            ++moved;
            EXPECT_EQ(broker_of(on_12.at(key)), "c") << key;
        }
    EXPECT_NEAR(moved, 3333, 300);
    for (const auto& [key, queue] : on_12)
        EXPECT_TRUE(on_14.at(key) == queue || on_14.at(key) == "b/4" || on_14.at(key) == "b/5") << key;
}

TEST(ConsistentHash, GivesEachOf64BrokersItsFairPartAndMovesNoMoreThanThat)
{
    const plugin p = bundled("consistent-hash");
    constexpr int brokers = 64, keys = 64000;
    const auto line = [](int without) {
        std::string all;
        for (int b = 0; b < brokers; ++b)
            if (b != without)
                all += "broker-" + std::to_string(100 + b) + "*4 ";
        return all;
    };
    selector s{p};
    const auto before = map_keys(s, route{line(-1), 1}, keys, "key-{i}");
    std::map<std::string, int> counts;
    for (const auto& [key, queue] : before)
        ++counts[broker_of(queue)];
    ASSERT_EQ(counts.size(), static_cast<std::size_t>(brokers));
    for (const auto& [broker, n] : counts)
        EXPECT_NEAR(n, keys / brokers, 0.15 * keys / brokers) << broker;
    for (const int gone : {0, 1, 31, 62, 63}) {
        const std::string name = "broker-" + std::to_string(100 + gone);
        const auto after = map_keys(s, route{line(gone), static_cast<std::uint64_t>(gone) + 2}, keys, "key-{i}");
        int moved = 0;
        for (const auto& [key, queue] : before) {
            if (after.at(key) == queue)
                continue;
            ++moved;
            EXPECT_EQ(broker_of(queue), name) << key;
        }
        EXPECT_LE(moved, 1.15 * keys / brokers) << name;
    }
}

// Producers must agree, whatever numbers brokers have in their process and whoever else is in the list.
TEST(ConsistentHash, DependsOnNamesOnly)
{
    const plugin p = bundled("consistent-hash");
    const route t{r3x4};
    selector one{p, {}, {.start = 0}}, other{p, {}, {.start = 77}};
    other.host().dice = [] { return std::uint64_t{42}; };
    (void)other.pick(route{"x*9 y*2", 5}, keyed("warm-up"));
    for (int i = 0; i < 500; ++i)
        EXPECT_EQ(one.pick(t, keyed(order(i))), other.pick(t, keyed(order(i))));
}

TEST(ConsistentHash, IgnoresHealthAndGoesOnToUntriedBrokers)
{
    const plugin p = bundled("consistent-hash");
    route t{r3x4, 1};
    const route without_a{"b*4 c*4", 2};
    selector s{p}, narrow{p};
    for (int i = 0; i < 300; ++i) {
        const std::string home = s.pick(t, keyed(order(i)));
        t.cut_off({broker_of(home)});
        EXPECT_EQ(s.pick(t, keyed(order(i))), home);
        t.all_well();
        const std::string second = s.pick(t, keyed(order(i), {broker_of(home)}));
        EXPECT_NE(broker_of(second), broker_of(home));
        EXPECT_EQ(s.pick(t, keyed(order(i), {"a", "b", "c"})), home);
        if (broker_of(home) == "a") {
            EXPECT_EQ(second, narrow.pick(without_a, keyed(order(i)))) << "where the key would live without that broker";
        }
    }
}

TEST(ConsistentHash, StaysAmongTheCandidates)
{
    const plugin p = bundled("consistent-hash");
    route t{r3x4};
    t.only({"a/1", "c/2"});
    selector s{p};
    expect_even(map_keys(s, t, 2000, "key-{i}"), 2, 0.25);
    t.only({});
    EXPECT_EQ(s.pick(t, keyed("k")), "no queue");
}

}  // namespace
}  // namespace shunt::test
