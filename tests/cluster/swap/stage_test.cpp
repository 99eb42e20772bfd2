// A swap climbs its ladder, and what fails on the way changes nothing.

#include "swap_situation.hpp"

#include <atomic>
#include <map>
#include <set>
#include <span>
#include <string>
#include <thread>

namespace shunt::test {
namespace {

struct situation {
    cluster::embedded_cluster cluster;
    situation() { topic(cluster, "T"); }
    [[nodiscard]] producer_options options(const std::string& selector = "best-queue") const
    {
        return plainly(with_policy(options_for(cluster), selector));
    }
};

TEST(Stage, PutsOtherPoliciesInForceUnderAnotherGeneration)
{
    situation s;
    auto p = started(s.options());
    EXPECT_EQ(p.generation(), 1u);
    const receipt before = p.deliver(message("T", "x"));
    EXPECT_EQ(before.generation, 1u);
    const swap_handle h = in_force(p, s.options("hash"), [] {
        stage_options how;
        how.who = "me";
        how.what = "a test";
        return how;
    }());
    const swap_status st = h.status();
    EXPECT_EQ(words(st), "staged admitting created in_force");
    EXPECT_EQ(st.who, "me");
    EXPECT_EQ(st.what, "a test");
    EXPECT_EQ(st.generation, 2u);
    ASSERT_EQ(st.changes.size(), 1u);
    EXPECT_EQ(st.changes[0].key, "policies.default.selector.use");
    EXPECT_EQ(st.changes[0].to, "\"hash\"");
    EXPECT_EQ(p.generation(), 2u);
    const receipt after = p.deliver(message("T", "x").set_order_key("k"));
    EXPECT_EQ(after.outcome, outcome::stored) << shown(after);
    EXPECT_EQ(after.generation, 2u);
    EXPECT_EQ(after.attempts[0].why, "key");
}

TEST(Stage, RefusesWhatIsWrongWithEveryReasonAndChangesNothing)
{
    situation s;
    auto p = started(s.options());
    ASSERT_TRUE(p.send(message("T", "x")));
    producer_options wrong = s.options();
    wrong.attempts = 0;
    wrong.policies["default"].selector.use = "nowhere";
    swap_handle h = p.stage(wrong);
    ASSERT_TRUE(h.wait_for(swap_state::refused, patience)) << shown(h.status());
    EXPECT_NE(h.status().reason.find("producer.attempts is 0"), std::string::npos) << h.status().reason;
    wrong.attempts = 3;
    h = p.stage(wrong);
    ASSERT_TRUE(h.wait_for(swap_state::refused, patience));
    EXPECT_NE(h.status().reason.find("'nowhere'"), std::string::npos) << h.status().reason;
    EXPECT_EQ(words(h.status()), "staged admitting refused");
    EXPECT_EQ(p.generation(), 1u);
    EXPECT_EQ(p.deliver(message("T", "x")).generation, 1u);
}

TEST(Stage, NamesTheKeysThatNeedARestart)
{
    situation s;
    auto p = started(s.options());
    producer_options other = s.options("hash");
    other.group = "other";
    other.heartbeat = 7s;
    const swap_handle h = p.stage(other);
    ASSERT_TRUE(h.wait_for(swap_state::refused, patience));
    EXPECT_EQ(h.status().reason, "producer.group and producer.heartbeat need a restart of the program; nothing was changed");
    EXPECT_EQ(p.generation(), 1u);
}

TEST(Stage, OfAFileThatIsWrongIsRefusedWithItsPlace)
{
    situation s;
    auto p = started(s.options());
    const swap_handle h = p.stage_file("/nowhere/shunt.toml");
    EXPECT_EQ(h.status().state, swap_state::refused);
    EXPECT_NE(h.status().reason.find("/nowhere/shunt.toml"), std::string::npos);
    EXPECT_EQ(p.find_swap(h.id()).id(), h.id());
    EXPECT_EQ(p.find_swap(4711).id(), 0u);
}

TEST(Stage, HoldsAtCreatedWhenAskedTo)
{
    situation s;
    auto p = started(s.options());
    stage_options how;
    how.hold = true;
    swap_handle h = p.stage(s.options("hash"), how);
    ASSERT_TRUE(h.wait_for(swap_state::created, patience));
    EXPECT_EQ(p.generation(), 1u);
    EXPECT_NE(h.status().deadline, std::chrono::system_clock::time_point{});
    EXPECT_EQ(h.promote(), "");
    EXPECT_EQ(h.status().state, swap_state::in_force);
    EXPECT_EQ(p.generation(), 2u);
    EXPECT_NE(h.promote(), "") << "it is in force";
}

TEST(Stage, IsDroppedWhenNobodyDecides)
{
    situation s;
    auto p = started(s.options());
    stage_options how;
    how.hold = true;
    producer_options o = s.options("hash");
    o.swap.decide = 100ms;
    const swap_handle h = p.stage(o, how);
    ASSERT_TRUE(h.wait_for(swap_state::refused, patience)) << shown(h.status());
    EXPECT_NE(h.status().reason.find("[swap] decide"), std::string::npos) << h.status().reason;
    EXPECT_EQ(p.generation(), 1u);
}

TEST(Stage, ANewerCandidateTakesThePlaceOfOneThatWaits)
{
    situation s;
    auto p = started(s.options());
    stage_options how;
    how.hold = true;
    const swap_handle first = p.stage(s.options("hash"), how);
    const swap_handle second = p.stage(s.options("random"), how);
    ASSERT_TRUE(second.wait_for(swap_state::created, patience));
    EXPECT_EQ(first.status().state, swap_state::refused);
    EXPECT_EQ(first.status().reason, "swap 2 took its place");
}

TEST(Rollback, IsTheSameExchangeBackAndForth)
{
    situation s;
    auto p = started(s.options("hash"));
    const auto why = [&] { return std::string(p.deliver(message("T", "x").set_order_key("k")).attempts[0].why); };
    EXPECT_NE(p.rollback(), "") << "there is nothing before it";
    swap_handle h = in_force(p, s.options("random"));
    EXPECT_EQ(why(), "random");
    EXPECT_EQ(p.rollback("I do not like it"), "");
    EXPECT_EQ(h.status().state, swap_state::rolled_back);
    EXPECT_EQ(h.status().reason, "I do not like it");
    EXPECT_EQ(p.generation(), 3u);
    EXPECT_EQ(why(), "key");
    EXPECT_EQ(p.swaps().front().state, swap_state::in_force);
    EXPECT_EQ(h.promote(), "");
    EXPECT_EQ(p.generation(), 4u);
    EXPECT_EQ(why(), "random");
    EXPECT_EQ(h.rollback(), "");
    EXPECT_EQ(why(), "key");
}

TEST(Rollback, IsPossibleUntilTheNextButOne)
{
    situation s;
    auto p = started(s.options());
    swap_handle first = in_force(p, s.options("hash"));
    EXPECT_EQ(p.swaps().front().state, swap_state::replaced);
    const swap_handle second = in_force(p, s.options("random"));
    EXPECT_EQ(first.status().state, swap_state::replaced);
    EXPECT_TRUE(eventually([&] { return p.swaps().front().state == swap_state::retired; })) << shown(p.swaps().front());
    EXPECT_EQ(p.rollback(), "");
    EXPECT_EQ(first.status().state, swap_state::in_force);
}

// A send is held in the middle of its decision while its policies are replaced, and those after them.
TEST(Retiring, WaitsForTheLastCall)
{
    situation s;
    auto p = started(s.options("hash"));
    ASSERT_TRUE(p.send(message("T", "x")));
    send_options held;
    held.select = [&](std::span<const queue_ref> queues, const message&, std::uint32_t) {
        in_force(p, s.options("random"));
        in_force(p, s.options("round-robin"));
        EXPECT_EQ(p.swaps().front().state, swap_state::replaced) << "its snapshot is looked at";
        return queues.size() - 1;
    };
    const receipt r = p.deliver(message("T", "x"), held);
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(r.generation, 1u);
    EXPECT_TRUE(eventually([&] { return p.swaps().front().state == swap_state::retired; })) << shown(p.swaps().front());
}

TEST(Swap, ChangesTimeoutsLimitsAndBrokersFacts)
{
    situation s;
    producer_options o = s.options("weighted-round-robin");
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    o.max_body = 10;
    o.brokers["broker-a"].weight = 0;
    o.brokers["broker-b"].weight = 0;
    in_force(p, o);
    for (int i = 0; i < 6; ++i)
        EXPECT_EQ(p.deliver(message("T", "x")).broker, "broker-c");
    EXPECT_EQ(p.deliver(message("T", "more than ten bytes")).error, errc::body_too_large);
    o.max_body = 1000;
    o.send_timeout = 50ms;
    o.attempts = 1;
    in_force(p, o);
    command(s.cluster, "broker-c hang");
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "more than ten bytes"));
    EXPECT_EQ(r.attempts.size(), 1u);
    EXPECT_LT(clock::now() - begin, 50ms + grace());
}

TEST(Swap, ChangesBindingsAndPoliciesThatSendsName)
{
    situation s;
    producer_options o = s.options();
    auto p = started(o);
    send_options named;
    named.policy = "keyed";
    EXPECT_EQ(p.deliver(message("T", "x"), named).error, errc::unknown_policy);
    o.policies["keyed"].selector.use = "hash";
    o.bindings.push_back({"T", "keyed", {}});
    in_force(p, o);
    EXPECT_EQ(p.deliver(message("T", "x").set_order_key("k"), named).policy, "keyed");
    EXPECT_EQ(p.deliver(message("T", "x").set_order_key("k")).policy, "keyed");
    o.bindings.clear();
    in_force(p, o);
    EXPECT_EQ(p.deliver(message("T", "x")).policy, "default");
}

TEST(Swap, WakesSendsThatWaitForAQueue)
{
    situation s;
    producer_options o = s.options("hash");
    o.policies["default"].selector.settings["keyless"] = "fail";
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x").set_order_key("k")));
    collector sent;
    p.async_send(message("T", "x"), sent.handler(0));
    EXPECT_EQ(sent.size(), 0u);
    in_force(p, s.options());
    ASSERT_TRUE(sent.wait(1));
    EXPECT_EQ(sent.receipts().at(0).outcome, outcome::stored);
}

// The fault strategy's settings change; that broker-b is isolated is known still.
TEST(Swap, CarriesWhatAFaultStrategyKnows)
{
    for (const std::string fault : {"latency-fault", "circuit-breaker"}) {
        situation s;
        producer_options o = plainly(with_policy(options_for(s.cluster), "best-queue", fault));
        setting_table& settings = o.policies["default"].fault.settings;
        if (fault == "circuit-breaker")
            settings = {{"min_attempts", 1}, {"isolation", "60s"}, {"isolation_max", "60s"}};
        else
            settings = {{"failure_latency", "10s"}, {"probe", "0ms"}};
        auto p = started(o);
        command(s.cluster, "broker-b code 2");
        ASSERT_TRUE(eventually([&] {
            const receipt r = p.deliver(message("T", "x"));
            return r.attempts.size() > 1;
        }));
        command(s.cluster, "broker-b ok");
        const auto to_b = [&] {
            std::size_t n = 0;
            for (int i = 0; i < 24; ++i)
                n += p.deliver(message("T", "x")).broker == "broker-b" ? 1 : 0;
            return n;
        };
        EXPECT_EQ(to_b(), 0u) << fault << ": it is isolated";
        settings[fault == "circuit-breaker" ? "window" : "failure_latency"] = "20s";
        in_force(p, o);
        EXPECT_EQ(to_b(), 0u) << fault << ": and stays so";
        in_force(p, s.options());
        EXPECT_EQ(to_b(), 8u) << fault << ": another strategy judges afresh";
    }
}

TEST(Shadow, CountsWhatWouldDifferAndHasNoEffect)
{
    situation s;
    auto p = started(s.options("hash"));
    ASSERT_TRUE(p.send(message("T", "x").set_order_key("k")));
    stage_options how;
    how.shadow = 1;
    producer_options o = s.options("hash");
    o.policies["default"].selector.settings["function"] = "xxh3";
    swap_handle h = p.stage(o, how);
    ASSERT_TRUE(h.wait_for(swap_state::shadow, patience));
    std::map<std::pair<std::string, std::int32_t>, std::uint64_t> picked;
    const int n = 200;
    for (int i = 0; i < n; ++i) {
        const receipt r = p.deliver(message("T", "x").set_order_key("k" + std::to_string(i)));
        EXPECT_EQ(r.generation, 1u);
        ++picked[{std::string(r.broker), r.queue}];
    }
    ASSERT_TRUE(eventually([&] { const swap_shadow c = h.status().shadow; return c.decisions + c.dropped == n; }));
    const swap_shadow c = h.status().shadow;
    EXPECT_EQ(c.keyed, c.decisions);
    EXPECT_EQ(c.keyed_differ, c.differ);
    EXPECT_GT(c.differ, c.decisions / 2) << "another function: 11 of 12 keys move";
    EXPECT_EQ(c.errors, 0u);
    std::uint64_t live = 0, candidate = 0;
    for (const auto& [queue, counts] : c.by_queue) {
        live += counts.first;
        candidate += counts.second;
        EXPECT_LE(counts.first, picked[queue]);
    }
    EXPECT_EQ(live, c.decisions);
    EXPECT_EQ(candidate, c.decisions);
    EXPECT_EQ(c.by_broker.size(), 3u);
    EXPECT_EQ(h.rollback("seen enough"), "");
    EXPECT_EQ(h.status().state, swap_state::refused);
    EXPECT_EQ(p.generation(), 1u);
}

TEST(Shadow, SeesThePropertiesThatItsSelectorWants)
{
    situation s;
    const auto by = [&](const std::string& property) {
        producer_options o = s.options("by-property");
        o.plugins.load["by-property"] = {in_build("/tests/gallery/sdk/libby_property.so"), {}, {}};
        o.policies["default"].selector.settings["property"] = property;
        return o;
    };
    auto p = started(by("target"));
    ASSERT_TRUE(p.send(message("T", "x")));
    stage_options how;
    how.shadow = 1;
    producer_options o = by("other");
    const swap_handle h = p.stage(o, how);
    ASSERT_TRUE(h.wait_for(swap_state::shadow, patience)) << shown(h.status());
    const int n = 60;
    for (int i = 0; i < n; ++i)
        (void)p.deliver(message("T", "x").set_property("target", "broker-a").set_property("other", i % 2 == 0 ? "broker-a" : "broker-b"));
    ASSERT_TRUE(eventually([&] { const swap_shadow c = h.status().shadow; return c.decisions + c.dropped == n; }));
    const auto by_broker = h.status().shadow.by_broker;
    ASSERT_EQ(by_broker.size(), 2u) << "broker-c is nobody's";
    EXPECT_GT(by_broker.at("broker-a").second, 0u);
    EXPECT_EQ(by_broker.at("broker-b").first, 0u);
    EXPECT_GT(by_broker.at("broker-b").second, 0u);
}

TEST(Canary, DecidesAStableShareOfKeysAndIsComparedAndTakenBack)
{
    situation s;
    auto p = started(s.options("best-queue"));
    ASSERT_TRUE(p.send(message("T", "x")));
    stage_options how;
    how.canary = 0.5;
    swap_handle h = p.stage(s.options("hash"), how);
    ASSERT_TRUE(h.wait_for(swap_state::canary, patience));
    EXPECT_EQ(h.status().generation, 2u);
    std::map<std::string, std::set<std::uint64_t>> generations;
    std::size_t unkeyed = 0;
    for (int i = 0; i < 300; ++i) {
        const std::string key = "k" + std::to_string(i % 50);
        generations[key].insert(p.deliver(message("T", "x").set_order_key(key)).generation);
        unkeyed += p.deliver(message("T", "x")).generation == 2 ? 1 : 0;
    }
    std::size_t by_candidate = 0;
    for (const auto& [key, seen] : generations) {
        EXPECT_EQ(seen.size(), 1u) << key << " is on one side only";
        by_candidate += seen.contains(2) ? 1 : 0;
    }
    EXPECT_GT(by_candidate, 10u);
    EXPECT_LT(by_candidate, 40u);
    EXPECT_GT(unkeyed, 100u);
    EXPECT_LT(unkeyed, 200u);
    ASSERT_TRUE(eventually([&] { return h.status().after.attempts + h.status().before.attempts == 600; }));
    EXPECT_EQ(h.status().after.stored, h.status().after.attempts);
    EXPECT_EQ(h.status().verdict.substr(0, 9), "undecided") << h.status().verdict;
    EXPECT_EQ(h.rollback(), "");
    EXPECT_EQ(h.status().state, swap_state::rolled_back);
    EXPECT_EQ(p.deliver(message("T", "x")).generation, 1u);
}

TEST(Canary, ThatDoesWorseGoesByItself)
{
    situation s;
    producer_options o = s.options("best-queue");
    o.attempts = 1;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "x")));
    stage_options how;
    how.canary = 0.5;
    o.policies["default"].filters.push_back({"machine-room", {{"rooms", setting_array{"bad"}}}, {}});
    o.brokers["broker-b"].room = "bad";
    const swap_handle h = p.stage(o, how);
    ASSERT_TRUE(h.wait_for(swap_state::canary, patience));
    command(s.cluster, "broker-b code 2");
    ASSERT_TRUE(eventually([&] {
        for (int i = 0; i < 50; ++i)
            (void)p.deliver(message("T", "x"));
        return h.status().state == swap_state::rolled_back;
    })) << h.status().verdict;
    EXPECT_NE(h.status().reason.find("not stored"), std::string::npos) << h.status().reason;
    EXPECT_EQ(p.generation(), 1u);
}

TEST(Canary, ThatIsNoWorseIsPutInForceIfAskedTo)
{
    situation s;
    auto p = started(s.options("best-queue"));
    stage_options how;
    how.canary = 0.5;
    how.auto_promote = true;
    producer_options o = s.options("round-robin");
    o.swap.compare_attempts = 200;
    const swap_handle h = p.stage(o, how);
    ASSERT_TRUE(eventually([&] {
        for (int i = 0; i < 50; ++i)
            (void)p.deliver(message("T", "x"));
        return h.status().state == swap_state::in_force;
    })) << shown(h.status()) << h.status().verdict;
}

TEST(Probation, TakesBackByItselfWhatDoesWorse)
{
    situation s;
    producer_options o = s.options("best-queue");
    o.attempts = 1;
    o.swap.probation = 60s;
    auto p = started(o);
    for (int i = 0; i < 200; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    o.policies["default"].filters.push_back({"machine-room", {{"rooms", setting_array{"bad"}}}, {}});
    o.brokers["broker-b"].room = "bad";
    const swap_handle h = p.stage(o);
    ASSERT_TRUE(h.wait_for(swap_state::probation, patience));
    EXPECT_EQ(p.generation(), 2u);
    command(s.cluster, "broker-b code 2");
    ASSERT_TRUE(eventually([&] {
        for (int i = 0; i < 20; ++i)
            (void)p.deliver(message("T", "x"));
        return h.status().state == swap_state::rolled_back;
    })) << h.status().verdict;
    EXPECT_EQ(h.status().reason.substr(0, 20), "on probation: worse:") << h.status().reason;
    EXPECT_EQ(p.generation(), 3u);
}

TEST(Probation, EndsAndANewPublishEndsItEarlier)
{
    situation s;
    producer_options o = s.options("hash");
    o.swap.probation = 60s;
    auto p = started(o);
    o.policies["default"].selector.use = "random";
    const swap_handle first = p.stage(o);
    ASSERT_TRUE(first.wait_for(swap_state::probation, patience));
    o.policies["default"].selector.use = "round-robin";
    o.swap.probation = 150ms;
    const swap_handle second = p.stage(o);
    ASSERT_TRUE(second.wait_for(swap_state::in_force, patience)) << shown(second.status());
    EXPECT_EQ(words(second.status()), "staged admitting created probation in_force");
    EXPECT_EQ(first.status().state, swap_state::replaced);
}

TEST(Swap, OfAClosedProducerIsRefused)
{
    situation s;
    swap_handle held, h;
    {
        auto p = started(s.options());
        stage_options how;
        how.hold = true;
        held = p.stage(s.options("hash"), how);
        ASSERT_TRUE(held.wait_for(swap_state::created, patience));
        EXPECT_TRUE(p.close());
        EXPECT_EQ(held.status().state, swap_state::refused);
        h = p.stage(s.options("hash"));
        EXPECT_NE(p.rollback(), "");
    }
    EXPECT_NE(held.promote(), "");
    EXPECT_EQ(held.status().reason, "the producer closed");
}

}  // namespace
}  // namespace shunt::test
