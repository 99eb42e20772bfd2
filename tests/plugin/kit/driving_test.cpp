// Routes, plugins, selectors and fault strategies as the kit drives them.

#include <plugin/kit/kit.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace shunt::test {
namespace {

using planted::flaw, planted::isolating;

// ---- route ----

TEST(Route, ReadsALine)
{
    const route r{"b*2 @hz-1 weight 2, a*4 inflight 3 latency 5ms,hz-2@c*1 isolated d*0 cut-off"};
    ASSERT_EQ(r.names(), (std::vector<std::string>{"a", "b", "d", "hz-2@c"})) << "as a host: by name";
    const shunt_view& v = r.view();
    EXPECT_EQ(v.n_queues, 7u);
    EXPECT_EQ(v.n_brokers, 4u);
    EXPECT_EQ(r.name(0), "a/0");
    EXPECT_EQ(r.name(6), "hz-2@c/0");
    EXPECT_EQ(v.brokers[0].load->inflight, 3u);
    EXPECT_EQ(v.brokers[0].load->ewma_latency_ns, 5'000'000);
    EXPECT_EQ(sdk::text(v.brokers[1].room), "hz-1");
    EXPECT_EQ(v.brokers[1].weight, 2u);
    EXPECT_EQ(sdk::text(v.brokers[3].room), "hz-2") << "what stands before an @ in the name";
    EXPECT_EQ(v.brokers[2].n_queues, 0u);
    EXPECT_EQ(v.brokers[2].flags & SHUNT_BROKER_WRITABLE, 0u);
    EXPECT_TRUE(r.available(0));
    EXPECT_FALSE(r.available(6));
    EXPECT_TRUE(r.reachable(6));
}

TEST(Route, SaysWhatIsWrongWithALine)
{
    const auto words = [](const char* line) { return thrown_by([&] { const route r{line}; }); };
    EXPECT_TRUE(has(words("a*x"), "route \"a*x\": \"x\"; it must be a whole number"));
    EXPECT_TRUE(has(words("queue"), "\"queue\"; it must be NAME*QUEUES"));
    EXPECT_TRUE(has(words("a*1 heavy"), "\"heavy\"; it must be NAME*QUEUES, @ROOM"));
    EXPECT_TRUE(has(words("a*1 latency 5"), "\"5\"; it must be a duration"));
    EXPECT_TRUE(has(words("a*1, a*2"), "\"a\" twice"));
    EXPECT_TRUE(has(words("a*65537"), "a host shows 65536 at most"));
    route r{"a*1"};
    EXPECT_TRUE(has(thrown_by([&] { r.isolate("b"); }), "the route has no broker \"b\""));
}

TEST(Route, HasTheGenerationOfItsContent)
{
    EXPECT_EQ(route{"a*2, b*1 @x"}.view().route_gen, route{"b*1 @x, a*2"}.view().route_gen);
    for (const char* other : {"a*2, b*1", "a*2, b*1 @y", "a*2, b*2 @x", "a*2, b*1 @x weight 2", "a*2, c*1 @x"})
        EXPECT_NE(route{"a*2, b*1 @x"}.view().route_gen, route{other}.view().route_gen) << other;
    EXPECT_EQ((route{"a*1", 7}.view().route_gen), 7u);
    route r{"a*1"};
    const std::uint64_t before = r.view().verdict_gen;
    r.isolate("a");
    EXPECT_NE(r.view().verdict_gen, before);
}

TEST(Route, MayBeMoved)
{
    std::vector<route> all;
    for (int i = 0; i < 20; ++i)
        all.emplace_back("a*2, with-a-name-that-is-not-short*1 isolated");
    for (const route& r : all) {
        EXPECT_EQ(sdk::text(r.view().brokers[1].name), "with-a-name-that-is-not-short");
        EXPECT_FALSE(r.available(2));
        EXPECT_EQ(r.view().brokers[1].load->inflight, 0u);
    }
}

// ---- plugin ----

struct other : planted::sound {
    static constexpr std::string_view name = "other";
    using planted::sound::sound;
    sdk::pick select(sdk::view, sdk::message) noexcept { return 0u; }
};

TEST(Plugin, IsFoundByNameAmongSeveral)
{
    const plugin p = of<planted::sound, other, isolating<flaw::none>>();
    EXPECT_EQ(sdk::text(p.named("other").selector().name), "other");
    EXPECT_EQ(sdk::text(p.fault().name), "planted") << "the only one of its kind needs no name";
    EXPECT_TRUE(has(thrown_by([&] { (void)p.selector(); }), "no selector is named; it has planted, other"));
    EXPECT_TRUE(has(thrown_by([&] { (void)p.named("third").selector(); }), "no selector \"third\"; it has planted, other"));
}

TEST(Plugin, SaysWhyAFileIsNone)
{
    EXPECT_TRUE(has(thrown_by([] { const plugin p{"no-such-file.so"}; }), "no-such-file.so"));
    const shunt_entry_fn refuses = [](const shunt_handshake*) -> const shunt_plugin* { return nullptr; };
    EXPECT_TRUE(has(thrown_by([&] { const plugin p{refuses, "it"}; }), "it answers null: it is not for a host of version 1.0"));
    const shunt_entry_fn later = [](const shunt_handshake* h) {
        static shunt_plugin d = of<planted::sound>().description();
        d.abi_major = static_cast<std::uint16_t>(h->abi_major + 1);
        return static_cast<const shunt_plugin*>(&d);
    };
    EXPECT_TRUE(has(thrown_by([&] { const plugin p{later, "it"}; }), "it describes itself as version 2.0"));
}

// ---- selector ----

/// Answers with what it is told.
class told : public planted::named {
public:
    static constexpr std::uint32_t may_want = SHUNT_F_WANTS_HASH64 | SHUNT_F_WANTS_JAVA_HASH | SHUNT_F_WANTS_PROPS;
    static constexpr sdk::param params[] = {{.name = "wants", .type = sdk::type::integer, .default_text = "28"},
                                            {.name = "status", .type = sdk::type::integer, .default_text = "0"}};
    explicit told(const sdk::settings& s) : wants_(s.get<std::uint32_t>("wants")), status_(s.get<int>("status")) {}

    [[nodiscard]] std::uint32_t wants() const { return wants_; }
    sdk::pick select(sdk::view, sdk::message m)
    {
        std::string all = m.has_key() ? "key " + std::string{m.key()} : "no key";
        all += ", attempt " + std::to_string(m.attempt()) + ", tried";
        for (const std::uint32_t t : m.tried())
            all += " " + std::to_string(t);
        all += ", hash " + std::to_string(m.hash64()) + " " + std::to_string(m.java_hash()) + ", size " + std::to_string(m.body_size());
        for (const shunt_kv& p : m.properties())
            all += ", " + std::string{sdk::text(p.key)} + "=" + std::string{sdk::text(p.value)};
        if (status_ == 0)
            throw std::runtime_error(all);
        return status_ == 1 ? sdk::pick::abstain() : status_ == 2 ? sdk::pick::no_queue() : sdk::pick{static_cast<std::uint32_t>(status_)};
    }

private:
    std::uint32_t wants_;
    int status_;
};

TEST(Selector, ShowsTheMessageAsAHostDoes)
{
    const plugin p = of<told>();
    const route r{"a*1, b*1, c*1"};
    selector all{p}, nothing{p, {{"wants", 0}}};
    const msg m{.key = "order-1", .tried = {"c", "gone", "a"}, .body_size = 7, .properties = {{"tenant", "acme"}}};
    const std::string hash = std::to_string(XXH3_64bits("order-1", 7));
    EXPECT_EQ(all.pick(r, m), "error: key order-1, attempt 4, tried 2 0, hash " + hash + " -1207111310, size 7, tenant=acme");
    EXPECT_EQ(nothing.pick(r, m), "error: key order-1, attempt 4, tried 2 0, hash 0 0, size 7") << "hashes and properties on request only";
    EXPECT_EQ(all.pick(r), "error: no key, attempt 1, tried, hash 0 0, size 100");
    EXPECT_TRUE(has(all.pick(r, {.key = ""}), "error: key , attempt 1"));
    EXPECT_TRUE(has(all.pick(r, {.key = "k", .hash64 = 5, .java_hash = -6}), "hash 5 -6"));
}

/// Asks for more than its class declares.
class greedy : public told {
public:
    static constexpr std::uint32_t may_want = SHUNT_F_WANTS_JAVA_HASH;
    using told::told;
};

TEST(Selector, IsGivenNoMoreThanItsClassDeclares)
{
    selector s{of<greedy>()};
    EXPECT_EQ(s.pick(route{"a*1"}, {.key = "order-1", .properties = {{"tenant", "acme"}}}),
              "error: key order-1, attempt 1, tried, hash 0 -1207111310, size 100");
}

TEST(Selector, BelievesNothingItIsAnswered)
{
    const plugin p = of<told>();
    route r{"a*2, b*2"};
    const auto says = [&](int status) { return selector{p, {{"status", status}}}.pick(r); };
    EXPECT_EQ(says(1), "abstain");
    EXPECT_EQ(says(2), "no queue");
    EXPECT_EQ(says(3), "b/1");
    EXPECT_EQ(says(4), "error: picked queue index 4; it must be below 4");
    r.only({"a/0"});
    EXPECT_EQ(says(3), "error: picked b/1, which is not among the candidates");
}

TEST(Selector, SaysThatItWasNotMade)
{
    const plugin p = of<told>();
    selector s{p, {{"status", "three"}}};
    EXPECT_EQ(s.status(), SHUNT_E_CONFIG);
    EXPECT_EQ(s.refusal(), "status is \"three\"; it must be a whole number");
    EXPECT_TRUE(has(thrown_by([&] { (void)s.pick("a*1"); }), "the selector planted was not made: status is \"three\""));
    EXPECT_TRUE(has(thrown_by([&] { (void)selector{p}.pick("a*0"); }), "a route without queues"));
}

TEST(Selector, BeginsWhereItIsToldAndRetriesElsewhere)
{
    const plugin p = of<planted::sound>();
    const route r{"a*2, b*2"};
    EXPECT_EQ((selector{p, {}, {.start = 3}}.picks(r, 3)), "b/1 a/0 a/1");
    EXPECT_EQ(selector{p}.failing_send(r, 3), "a/0 b/0 b/1");
    EXPECT_EQ(by_broker(selector{p}.count(r, 8)), (counts{{"a", 4}, {"b", 4}}));
}

// Keys lie where production puts them: the hash is the host's, of every length.
TEST(Xxh3, AgreesWithTheLibraryAHostUses)
{
    std::string key;
    for (int n = 0; n < 3000; ++n) {
        ASSERT_EQ(xxh3_64(key), XXH3_64bits(key.data(), key.size())) << n << " bytes";
        key += static_cast<char>(n * 131 + n / 7);
    }
}

// ---- fault ----

TEST(Fault, IsToldAndAsked)
{
    fault f{of<isolating<flaw::none>>()};
    const route r{"a*1, b*1"};
    EXPECT_EQ(f.good("b", 1s, 1ms), 0);
    EXPECT_EQ(f.failed("b", 2s), 1);
    const judgement j = f.judge(r, 2s);
    EXPECT_EQ(j.available, (std::vector<bool>{true, false}));
    EXPECT_EQ(j.of(0), verdict::available);
    EXPECT_EQ(j.valid_until, 12s);
    EXPECT_EQ(f.verdict("b", 12s - 1ns), "cut off");
    EXPECT_EQ(f.verdict(r, "b", 12s), "available");
    const std::string state = f.export_state(12s);
    fault other{of<isolating<flaw::none>>()};
    EXPECT_EQ(other.import_state(1, state, 1h), SHUNT_OK);
    EXPECT_EQ(other.import_state(2, state, 1h), SHUNT_UNSUPPORTED);
}

class no_clock {
public:
    static constexpr std::string_view name = "no-clock", summary = "for tests";
    void evaluate(sdk::broker_list, sdk::nanoseconds, sdk::verdicts out) { out.available(1); }
    bool on_feedback(const sdk::feedback&) { return false; }
};

TEST(Fault, TellsWhatIsWrongWithAnAnswer)
{
    fault afraid{of<isolating<flaw::fears_odd_times>>()};
    (void)afraid.failed("a", 2s);
    EXPECT_EQ(afraid.failed("a", 1s), SHUNT_E_EXCEPTION);
    EXPECT_EQ(afraid.host().error, "time must not run backward");
    fault past_the_end{of<no_clock>()};
    EXPECT_EQ(past_the_end.verdict("a", 1s), "error: evaluate set bits past the last broker");
}

}  // namespace
}  // namespace shunt::test
