// The SDK's C++ layer: what reaches the host when a class misbehaves, what it declares, and the example of sdk/README.md.

#include <plugin/bundled/bundled.hpp>

#include <shunt/sdk/tiers.hpp>

#include <fstream>
#include <iterator>

namespace shunt::test {
namespace {

plugin probe(const std::string& name)
{
    // One file, several strategies: found by the first one's name.
    static const plugin file = built(SHUNT_SDK_TEST_PLUGINS, "sdk-probe");
    return file.named(name);
}

TEST(Sdk, TurnsWhateverIsThrownIntoAnErrorWithItsText)
{
    const plugin p = probe("sdk-probe");
    const route t{"a*1"};
    struct {
        const char* what;
        shunt_status status;
        std::string_view text;
    } const rows[] = {
        {"exception", SHUNT_E_EXCEPTION, "thrown in select"},
        {"bad_alloc", SHUNT_E_NOMEM, "out of memory"},
        {"number", SHUNT_E_EXCEPTION, "an exception that is no std::exception"},
    };
    for (const auto& row : rows) {
        selector s{p, {{"what", row.what}}};
        ASSERT_EQ(s.status(), SHUNT_OK);
        EXPECT_EQ(s.ask(t).status, row.status);
        EXPECT_EQ(s.host().error, row.text);
    }
    selector in_create{p, {{"where", "create"}}};
    EXPECT_EQ(in_create.status(), SHUNT_E_EXCEPTION);
    EXPECT_EQ(in_create.refusal(), "thrown in create");

    selector in_export{p, {{"where", "export"}}};
    const shunt_writer w{nullptr, [](void*, const void*, std::uint64_t) -> shunt_status { return SHUNT_OK; }};
    EXPECT_EQ(in_export.table().export_state(in_export.instance(), &w), SHUNT_E_EXCEPTION);
    EXPECT_EQ(in_export.pick(t), "abstain");
}

TEST(Sdk, ReadsSettingsOfEveryType)
{
    const plugin p = probe("reader-of-settings");
    EXPECT_EQ((selector{p, unchecked, {{"flag", true}, {"names", setting_array{"x", "y"}}, {"small", 200}, {"times", setting_array{2ms, 1s}}}}.refusal()),
              "flag=1 share=0.250000 names=x,y, small=200 times=2000000,1000000000,");
    EXPECT_EQ((selector{p, unchecked, {{"names", setting_array{}}, {"share", 1}}}.refusal()), "flag=- share=1.000000 names= small=- times=");
}

TEST(Sdk, SaysWhichSettingIsMissingOrOfAnotherType)
{
    const plugin p = probe("reader-of-settings");
    EXPECT_EQ((selector{p, unchecked, {}}.refusal().substr(0, 17)), "names is missing;");
    const std::string wrong = selector{p, unchecked, {{"names", "x"}, {"flag", 3}, {"small", 300}}}.refusal();
    for (const char* name : {"names", "flag", "small"})
        EXPECT_NE(wrong.find(std::string{name} + " has another type than the strategy reads"), std::string::npos) << wrong;
}

TEST(Sdk, DeclaresWhatAClassSays)
{
    const plugin p = probe("reader-of-settings");
    const shunt_selector_class& c = p.selector();
    EXPECT_EQ(c.struct_size, sizeof(shunt_selector_class));
    EXPECT_EQ(text(c.summary), "tells its settings in an error");
    ASSERT_EQ(c.n_params, 3u);
    EXPECT_EQ(c.param_stride, sizeof(shunt_param));
    EXPECT_EQ(text(c.params[1].name), "names");
    EXPECT_EQ(c.params[1].type, SHUNT_T_ARRAY);
    EXPECT_EQ(c.params[1].element_type, SHUNT_T_STR);
    EXPECT_EQ(c.params[1].flags, SHUNT_P_REQUIRED);
    EXPECT_EQ(c.params[1].min_count, 1u);
    EXPECT_EQ(text(c.params[2].default_text), "0.25");
    EXPECT_EQ(text(c.params[2].unit), "parts");
    EXPECT_EQ(c.params[2].max, 1);
    EXPECT_EQ(c.flags, 0u) << "select is not const: not for several threads";
    EXPECT_EQ(c.wants, nullptr);
    EXPECT_EQ(c.filter, nullptr);
    EXPECT_EQ(c.export_state, nullptr);
    const plugin thrower = probe("sdk-probe");
    EXPECT_EQ(thrower.selector().flags, SHUNT_F_CONCURRENT);
    EXPECT_EQ(thrower.selector().state_schema, 7u);
}

TEST(Sdk, DescribesTheFile)
{
    const plugin p = probe("sdk-probe");
    const shunt_plugin& d = p.description();
    EXPECT_EQ(d.magic, SHUNT_MAGIC);
    EXPECT_EQ(text(d.id), "test.sdk-probe");
    EXPECT_EQ(text(d.version), "0.1.0");
    EXPECT_EQ(text(d.license), "Apache-2.0");
    EXPECT_EQ(text(d.build_info).substr(0, 8), "sdk 1.0,");
    EXPECT_EQ(d.n_selectors, 2u);
    EXPECT_EQ(d.n_faults, 1u);
}

TEST(Sdk, AnswersOnlyHostsThatSpeakItsVersion)
{
    const plugin p = probe("sdk-probe");
    const shunt_handshake newer{sizeof newer, SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR + 7, str("9")};
    const shunt_handshake other{sizeof other, SHUNT_ABI_MAJOR + 1, 0, str("9")};
    EXPECT_NE(p.entry()(&newer), nullptr);
    EXPECT_EQ(p.entry()(&other), nullptr);
    EXPECT_EQ(p.entry()(nullptr), nullptr);
}

// The note lets a host find strategies without running anything of the file.
TEST(Sdk, NamesItsStrategiesInTheNote)
{
    const plugin p = probe("sdk-probe");
    std::ifstream in{p.path(), std::ios::binary};
    const std::string file{std::istreambuf_iterator<char>{in}, {}};
    const std::string names = "selector:sdk-probe\nselector:reader-of-settings\nfault:logging-fault\n";
    const shunt_note head{SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, 0, 0, static_cast<std::uint32_t>(names.size())};
    std::string note;
    const auto add = [&note](const auto& v) { note.append(reinterpret_cast<const char*>(&v), sizeof v); };
    add(std::uint32_t{6}), add(static_cast<std::uint32_t>(sizeof head + names.size())), add(SHUNT_NOTE_TYPE);
    note.append("SHUNT\0\0\0", 8);
    add(head);
    EXPECT_NE(file.find(note + names), std::string::npos);
}

TEST(Sdk, TakesFeedbackOfAnyLength)
{
    const plugin p = probe("logging-fault");
    fault f{p};
    EXPECT_EQ(f.host().metrics, (std::vector<std::string>{"seen"}));
    // A host of a later version: its records are longer.
    struct longer {
        shunt_feedback known;
        std::uint64_t more[3];
    } records[3]{};
    for (std::uint32_t i = 0; i < 3; ++i) {
        records[i].known.struct_size = sizeof(longer);
        records[i].known.broker_id = 10 + i;
        records[i].known.result = i == 1 ? SHUNT_FB_GOOD : SHUNT_FB_FAILED;
    }
    EXPECT_EQ(f.table().on_feedback(f.instance(), &records[0].known, sizeof(longer), 3), 1);
    EXPECT_EQ(f.host().logged, (std::vector<std::string>{"broker 10", "broker 11", "broker 12"}));
    EXPECT_EQ(f.expired("a", 1s, 1s), SHUNT_E_EXCEPTION);
    EXPECT_EQ(f.host().error, "no patience");
}

// ---- the strategies of sdk/README.md, as they stand there ----

TEST(ReadmeExample, StaysOnAQueueForARun)
{
    const plugin p = built(SHUNT_SDK_TEST_PLUGINS, "sticky-queue");
    route t{"a*2 b*2"};
    selector s{p, {{"run", 3}}};
    EXPECT_EQ(s.picks(t, 7), "a/0 a/0 a/0 a/1 a/1 a/1 b/0");
    EXPECT_EQ(s.pick(t, {.tried = {"b"}}), "a/0") << "a retry keeps off the broker, in the middle of a run too";
    t.isolate({"a"});
    EXPECT_EQ(broker_of(s.pick(t)), "b");
    EXPECT_EQ((selector{p}.count(t, 400)), (std::map<std::string, int>{{"b/0", 200}, {"b/1", 200}}));
}

TEST(ReadmeExample, StaysWithTheKeyUntilItsBrokerIsIsolated)
{
    const plugin p = built(SHUNT_SDK_TEST_PLUGINS, "sticky-by-key");
    route r{"a*4, b*4, c*4"};
    selector s{p};
    const mapping well = map_keys(s, r);
    counts queues;
    for (const auto& [key, queue] : well)
        ++queues[queue];
    EXPECT_TRUE(spread(queues, r, within(0.4))) << spread(queues, r, within(0.4)).why();
    r.isolate("b");
    const finding moved = moves_at_most(well, map_keys(s, r), 0.4, "b");
    EXPECT_TRUE(moved) << moved.why();
    EXPECT_EQ(by_broker(queues).size(), 3u);
    EXPECT_TRUE(moves_at_most(well, map_keys(s, "a*4, c*4"), 0.4, "b")) << "the same when it leaves for good";
    EXPECT_EQ(s.pick(r), "abstain");
    EXPECT_EQ(s.ask(r, {.key = "order-1"}).pick.why, SHUNT_WHY_KEY);
    const finding traps = traps::selector(p);
    EXPECT_TRUE(traps) << traps.why();
}

TEST(ReadmeExample, WeighsTheOwnRoomMore)
{
    const plugin p = built(SHUNT_SDK_TEST_PLUGINS, "near-first");
    route r{"a*4 @hz-1 weight 3, b*2 @sh-1 weight 3, c*1 @hz-1"};
    selector s{p, {{"room", "hz-1"}}};
    const finding shares = spread(by_broker(s.count(r, 19000)), {{"a", 12}, {"b", 3}, {"c", 4}}, by_chance);
    EXPECT_TRUE(shares) << shares.why();
    r.isolate("a", "c");
    EXPECT_TRUE(spread(by_broker(s.count(r, 100)), {{"b", 1}}));
    EXPECT_EQ(broker_of(s.pick("a*1 weight 0")), "a");
    const finding traps = traps::selector(p, {.settings = {{"room", "hz-1"}}});
    EXPECT_TRUE(traps) << traps.why();
}

TEST(ReadmeExample, KeepsLargeMessagesInTheirRoom)
{
    const plugin p = built(SHUNT_SDK_TEST_PLUGINS, "big-messages");
    const settings given{{"room", "big"}, {"from", "1KiB"}};
    route r{"a*2, b*2 @big, c*1 @big"};
    selector s{p, given};
    EXPECT_EQ(s.picks(r, 3, {.body_size = 1023}), "a/0 a/1 b/0");
    EXPECT_EQ(s.picks(r, 4, {.body_size = 1024}), "b/0 b/1 c/0 b/0");
    EXPECT_EQ(s.ask(r, {.body_size = 4096}).pick.why, SHUNT_WHY_ROOM);
    r.isolate("b", "c");
    EXPECT_EQ(broker_of(s.pick(r, {.body_size = 4096})), "a");
    const finding traps = traps::selector(p, {.settings = given, .route = "a*4, b*4, c*4 @big"});
    EXPECT_TRUE(traps) << traps.why();
}

// ---- tiers, without a plugin ----

TEST(Cursor, WrapsTo0After2147483647)
{
    sdk::cursor c{2147483647};
    EXPECT_EQ(c.position(10), 7u);
    EXPECT_EQ(c.steps_to_wrap(), 1u);
    c.advance(1);
    EXPECT_EQ(c.at(), 0u);
    EXPECT_EQ(sdk::cursor{4294967290u}.at(), 2147483642u);
}

// Counting, picking the n-th and finding the first agree with looking at each queue.
TEST(Fitting, AgreesWithLookingAtEachQueue)
{
    std::mt19937 dice{13};
    for (int round = 0; round < 500; ++round) {
        std::string line;
        const std::vector<std::string> names{"a", "b", "c", "d"};
        for (const auto& n : names)
            line += n + "*" + std::to_string(dice() % 90) + " ";
        route t{line + "e*1"};
        std::vector<std::string> isolated;
        std::vector<std::uint32_t> tried;
        for (const auto& n : names) {
            if (dice() % 2 == 0)
                isolated.push_back(n);
            if (dice() % 3 == 0)
                tried.push_back(t.index(n));
        }
        t.isolate(isolated);
        std::vector<std::uint64_t> within(t.words());
        for (auto& w : within)
            w = (std::uint64_t{dice()} << 32 | dice()) & (t.view().n_queues >= 64 ? ~std::uint64_t{0} : 1);
        if (t.view().n_queues % 64 != 0)
            within.back() &= (std::uint64_t{1} << (t.view().n_queues % 64)) - 1;
        shunt_msg m{};
        m.struct_size = sizeof m;
        m.tried = tried.data();
        m.n_tried = static_cast<std::uint32_t>(tried.size());
        const sdk::view v{t.view()};
        const bool narrowed = dice() % 2 == 0;
        const sdk::fitting f{v, sdk::message{m}, sdk::tier::untried_available, narrowed ? within.data() : nullptr};

        const std::uint32_t n = v.size();
        const std::uint32_t from = static_cast<std::uint32_t>(dice() % n), to = from + static_cast<std::uint32_t>(dice() % (n - from + 1));
        std::vector<std::uint32_t> fits;
        for (std::uint32_t q = from; q < to; ++q) {
            const bool expected = t.available(q) && std::ranges::find(tried, t.view().queues[q].broker) == tried.end() &&
                                  (!narrowed || (within[q / 64] >> (q % 64) & 1) != 0);
            ASSERT_EQ(f.has(q), expected);
            if (expected)
                fits.push_back(q);
        }
        ASSERT_EQ(f.count(from, to), fits.size());
        ASSERT_EQ(f.first(from, to), fits.empty() ? to : fits.front());
        for (std::uint32_t k = 0; k < fits.size(); ++k)
            ASSERT_EQ(f.nth(k, from, to), fits[k]);
    }
}

}  // namespace
}  // namespace shunt::test
