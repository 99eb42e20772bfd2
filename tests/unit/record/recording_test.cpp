// A live run as text: read again by the reader of scenarios, and run.

#include "../simulate/situation.hpp"

#include <record/recording.hpp>

#include <fmt/format.h>

namespace shunt::record {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t begun = 12'345'678'901'234;  // clocks do not begin at 0

route::topic_route route_of(const std::vector<std::pair<std::string, int>>& brokers, std::int32_t perm = 6)
{
    route::topic_route r;
    r.topic = "T";
    for (const auto& [name, queues] : brokers) {
        route::broker& b = r.brokers.emplace_back();
        b.name = name;
        b.addresses[0] = name + ":10911";
        b.perm = perm;
        b.read_queues = b.write_queues = queues;
        b.has_queue_data = true;
    }
    route::finish(r);
    return r;
}

policy_options policy_of(const std::string& selector, const std::string& fault = "none")
{
    policy_options p;
    p.selector.use = selector;
    p.fault.use = fault;
    return p;
}

struct run {
    explicit run(policy_options p = policy_of("round-robin"), std::map<std::string, broker_options, std::less<>> known = {})
        : facts(std::move(known)), r("T", begun)
    {
        r.set_policy(begun, "default", p);
        r.set_route(begun, route_of({{"a", 4}, {"b", 4}}), facts);
    }
    void sent_at(std::int64_t at_ms, std::optional<std::string_view> key = std::nullopt)
    {
        r.send({.start_ns = begun + at_ms * ms, .key = key, .queue = std::nullopt, .policy = "default"});
    }
    void tried_at(std::int64_t at_ms, std::string_view broker, std::int64_t latency_us, behaviour how = behaviour::answer, std::int32_t code = 0)
    {
        r.attempt({.broker = broker, .start_ns = begun + at_ms * ms, .latency_ns = latency_us * 1000, .how = how, .code = code});
    }
    std::map<std::string, broker_options, std::less<>> facts;
    recording r;
};

/// The text is a right scenario, its strategies included.
simulate::scenario read(recording& r)
{
    const std::string text = r.text({});
    EXPECT_LE(text.size(), recording::max_text);
    return simulate::right(text);
}

template <typename Step>
std::vector<std::pair<std::int64_t, Step>> steps_of(const simulate::scenario& s)
{
    std::vector<std::pair<std::int64_t, Step>> out;
    for (const simulate::step& one : s.steps)
        if (const auto* what = std::get_if<Step>(&one.what))
            out.emplace_back(one.time_ms, *what);
    return out;
}

TEST(Recording, WithoutARouteThereIsNone)
{
    recording r("T", begun);
    r.set_policy(begun, "default", policy_of("random"));
    r.send({.start_ns = begun, .key = std::nullopt, .queue = std::nullopt});
    EXPECT_EQ(r.text({}), "");
}

TEST(Recording, TheHeadIsThatOfTheRun)
{
    policy_options p = policy_of("machine-room", "latency-fault");
    p.selector.settings["rooms"] = setting(setting_array{setting("north")});
    p.fault.settings["probe"] = setting("50ms");
    p.filters.push_back({.use = "machine-room", .settings = {{"rooms", setting(setting_array{setting("a \"room\"")})}}, .where = {}});
    p.ordered = true;
    p.when_no_queue = when_no_queue::any;
    run live(p, {{"b", {.room = "north", .weight = 3}}});
    live.r.send({.start_ns = begun, .key = std::nullopt, .queue = std::nullopt, .thread = 1, .timeout_ms = 700, .attempts = 5, .policy = "default"});
    live.r.send({.start_ns = begun, .key = std::nullopt, .queue = std::nullopt, .thread = 9, .timeout_ms = 700, .attempts = 5, .policy = "default"});

    const simulate::scenario s = read(live.r);
    EXPECT_EQ(s.topic, "T");
    EXPECT_EQ(s.timeout_ms, 700);
    EXPECT_EQ(s.attempts, 5u);
    EXPECT_EQ(s.threads, 2u);
    EXPECT_EQ(s.policy.selector.use, "machine-room");
    EXPECT_EQ(*s.policy.fault.settings.at("probe").as<std::string>(), "50ms");
    ASSERT_EQ(s.policy.filters.size(), 1u);
    EXPECT_EQ(*s.policy.filters[0].settings.at("rooms").as<setting_array>()->at(0).as<std::string>(), "a \"room\"");
    EXPECT_TRUE(s.policy.ordered);
    EXPECT_EQ(s.policy.when_no_queue, when_no_queue::any);
    ASSERT_EQ(s.brokers.size(), 2u);
    EXPECT_EQ(s.brokers[1].room, "north");
    EXPECT_EQ(s.brokers[1].weight, 3u);
    EXPECT_EQ(s.brokers[0].queues, 4u);
}

TEST(Recording, LatencyIsRoundedDownButNeverToNothing)
{
    run live;
    live.sent_at(0);
    live.tried_at(0, "a", 120);
    live.tried_at(0, "b", 300'900);

    const simulate::scenario s = read(live.r);
    EXPECT_EQ(s.brokers[0].latency_ms, 1) << "one that takes no time would never be busy";
    EXPECT_EQ(s.brokers[1].latency_ms, 300) << "what began when it had ended begins when it has ended";
}

TEST(Recording, WhatABrokerDidBecomesSteps)
{
    run live;
    live.sent_at(0);
    live.tried_at(0, "a", 500);
    for (int at = 0; at < 50; at += 10)
        live.tried_at(at, "b", 2000);
    live.tried_at(100, "b", 0, behaviour::refuse);
    live.tried_at(200, "b", 900'000, behaviour::hang);
    live.tried_at(300, "b", 100, behaviour::drop);
    live.tried_at(400, "b", 2000, behaviour::answer, 2);
    for (int at = 500; at < 550; at += 10)
        live.tried_at(at, "b", 80'000);

    const auto steps = steps_of<simulate::broker_step>(read(live.r));
    ASSERT_EQ(steps.size(), 5u);
    EXPECT_EQ(steps[0].first, 100);
    EXPECT_EQ(steps[0].second.how, simulate::behaviour::refuse);
    EXPECT_EQ(steps[1].second.how, simulate::behaviour::hang);
    EXPECT_EQ(steps[2].second.how, simulate::behaviour::drop);
    EXPECT_EQ(steps[3].second.code, 2);
    EXPECT_EQ(steps[4].first, 500);
    EXPECT_EQ(steps[4].second.how, simulate::behaviour::answer);
    EXPECT_EQ(steps[4].second.code, 0);
    EXPECT_EQ(steps[4].second.latency_ms, 80);
    for (const auto& [at, step] : steps)
        EXPECT_EQ(step.name, "b");
}

TEST(Recording, ABrokerThatWasNotWellFromTheBeginningIsNot)
{
    run live;
    live.sent_at(0);
    live.tried_at(40, "b", 0, behaviour::refuse);

    const auto steps = steps_of<simulate::broker_step>(read(live.r));
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].first, 0) << "what was seen first is taken to have been so before";
    EXPECT_EQ(steps[0].second.how, simulate::behaviour::refuse);
}

TEST(Recording, RouteChangesBecomeSteps)
{
    run live;
    live.sent_at(0);
    live.tried_at(0, "c", 0, behaviour::refuse);
    live.r.set_route(begun + 100 * ms, route_of({{"a", 4}, {"b", 4}}), live.facts);  // the same
    live.r.set_route(begun + 200 * ms, route_of({{"a", 8}, {"c", 2}}), live.facts);
    live.r.set_route(begun + 300 * ms, route_of({{"a", 8}, {"c", 2}}, 4), live.facts);
    live.r.set_route(begun + 400 * ms, route_of({}), live.facts);

    const simulate::scenario s = read(live.r);
    const auto steps = steps_of<simulate::route_step>(s);
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps[0].first, 200);
    ASSERT_EQ(steps[0].second.remove.size(), 1u);
    EXPECT_EQ(steps[0].second.remove[0].name, "b");
    ASSERT_EQ(steps[0].second.set.size(), 1u);
    EXPECT_EQ(steps[0].second.set[0].queues, 8u);
    ASSERT_EQ(steps[0].second.add.size(), 1u);
    EXPECT_EQ(steps[0].second.add[0].queues, 2u);
    EXPECT_EQ(steps[1].second.set.at(0).perm, 4);
    EXPECT_EQ(steps[1].second.set.at(0).queues, 8u);
    EXPECT_EQ(steps[2].second.remove.size(), 2u);
    const auto of_brokers = steps_of<simulate::broker_step>(s);
    ASSERT_EQ(of_brokers.size(), 1u) << "one that comes is well, unless it is said again that it is not";
    EXPECT_EQ(of_brokers[0].first, 200);
}

TEST(Recording, APolicyThatIsPutInForceIsAStep)
{
    run live;
    live.sent_at(0);
    live.r.set_policy(begun + 50 * ms, "default", policy_of("random"));

    const auto steps = steps_of<simulate::policy_step>(read(live.r));
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].first, 50);
    EXPECT_EQ(steps[0].second.policy.selector.use, "random");
    EXPECT_TRUE(steps[0].second.carry_state);
}

TEST(Recording, SendsGoWhereTheirKeysAndCallersSay)
{
    run live(policy_of("hash"));
    for (int i = 0; i < 20; ++i)
        live.sent_at(i, "k\"" + std::to_string(i));
    live.r.send({.start_ns = begun + 30 * ms, .key = std::nullopt, .queue = queue_name{"b", 3}, .policy = "default"});

    const simulate::scenario s = read(live.r);
    const auto played = simulate::run_scenario(s);
    ASSERT_EQ(played.lines.size(), 21u);
    EXPECT_EQ(played.lines[5].at("key").as_string(), "k\"5");
    EXPECT_EQ(played.lines[20].at("queue").as_int64(), 3);
    EXPECT_EQ(played.lines[20].at("why").as_string(), "caller");
}

TEST(Recording, OtherKeysAreAllDifferent)
{
    run live(policy_of("hash"));
    for (int i = 0; i < 3000; ++i)
        live.sent_at(i / 3, "key-" + std::to_string(i));

    const auto played = simulate::run_scenario(read(live.r));
    std::set<std::string> keys;
    for (const auto& l : played.lines)
        keys.emplace(l.at("key").as_string());
    EXPECT_EQ(played.sum.sends, 3000u);
    EXPECT_EQ(keys.size(), 3000u);
    EXPECT_NE(live.r.text({}).find("# 2000 sends had keys that are not kept"), std::string::npos);
}

TEST(Recording, WhatAScenarioCannotSayIsSaid)
{
    run live;
    live.r.send({.start_ns = begun, .key = std::nullopt, .queue = std::nullopt, .policy = "default", .oneway = true});
    live.r.send({.start_ns = begun, .key = std::nullopt, .queue = std::nullopt, .policy = "default", .by_function = true});
    live.r.send({.start_ns = begun, .key = std::nullopt, .queue = std::nullopt, .timeout_ms = 1, .policy = "another", .outcome = outcome::unknown});

    const std::string text = live.r.text({});
    for (const char* said : {"3 sends to topic T", "2 stored, 0 not sent, 1 unknown, 0 rejected", "# 1 sends were one-way", "# 1 sends were decided by a function",
                             "# 1 sends named another policy than 'default'", "# 1 sends had another timeout"})
        EXPECT_NE(text.find(said), std::string::npos) << said << " in\n" << text;
}

TEST(Recording, PluginsOfItsOwnAreFoundAgain)
{
    run live;
    live.sent_at(0);
    plugin_options plugins;
    plugins.path = {"/opt/a \"b\"", "/opt/c"};
    plugins.load["tenant-pin"] = {.file = "/opt/t.so", .sha256 = std::string(64, 'a'), .where = {}};

    std::vector<config::problem> problems;
    const simulate::scenario s = simulate::read_scenario(live.r.text(plugins), "s.toml", problems);
    EXPECT_EQ(problems, std::vector<config::problem>());
    EXPECT_EQ(s.plugins.path, plugins.path);
    EXPECT_EQ(s.plugins.load.at("tenant-pin").file, "/opt/t.so");
    EXPECT_EQ(s.plugins.load.at("tenant-pin").sha256, std::string(64, 'a'));
}

TEST(Recording, TheTextHasABoundHoweverLongTheRun)
{
    run live(policy_of("hash"));
    const std::string long_key(100, 'k');
    for (int i = 0; i < 300'000; ++i) {
        live.sent_at(i, long_key + std::to_string(i % 900));
        live.tried_at(i, i % 2 == 0 ? "a" : "b", i / 100 % 2 == 0 ? 100 : 400'000, i % 77 == 0 ? behaviour::drop : behaviour::answer);
    }
    for (int i = 0; i < 6000; ++i)
        live.r.set_route(begun + i * ms, route_of({{"a", 4}, {"b", 1 + i % 7}}), live.facts);

    const std::string text = live.r.text({});
    EXPECT_LE(text.size(), recording::max_text);
    EXPECT_NE(text.find("later changes of the route are not kept"), std::string::npos);
    const simulate::scenario s = simulate::right(text);
    std::uint64_t n = 0;
    for (const auto& [at, step] : steps_of<simulate::send_step>(s))
        n += step.count;
    EXPECT_EQ(n, 300'000u);
}

}  // namespace
}  // namespace shunt::record
