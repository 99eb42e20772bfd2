#include <swap/plan.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shunt::swap {
namespace {

using namespace std::chrono_literals;

producer_options base()
{
    producer_options o;
    o.name_servers = {"h:1"};
    return o;
}

std::vector<std::string> keys(const plan& p)
{
    std::vector<std::string> out;
    for (const swap_change& c : p.changes)
        out.push_back(c.key + ": " + c.from + " -> " + c.to + (c.live ? "" : " (restart)"));
    return out;
}

TEST(Plan, OfTheSameIsEmpty)
{
    EXPECT_TRUE(make_plan(base(), base()).empty());
    producer_options with_default = base();
    with_default.policies["default"] = {};
    EXPECT_TRUE(make_plan(base(), with_default).empty()) << "said or not, it is the same policy";
    producer_options elsewhere = base();
    elsewhere.file = "other.toml";
    elsewhere.policies["default"].where.line = 7;
    EXPECT_TRUE(make_plan(base(), elsewhere).empty()) << "where it stands means nothing";
}

TEST(Plan, NamesEachKeyWithItsValues)
{
    producer_options o = base();
    o.send_timeout = 5s;
    o.policies["default"].selector = {"hash", {{"function", "xxh3"}}, {}};
    o.policies["orders"].ordered = true;
    o.bindings.push_back({"o*", "orders", {}});
    o.brokers["a"].weight = 3;
    o.limits.push_back({"bulk", 5, 1024, {}});
    EXPECT_EQ(keys(make_plan(base(), o)),
              (std::vector<std::string>{
                  "bindings: [] -> [{ policy = \"orders\", topic = \"o*\" }]", "brokers.a.room:  -> \"\"", "brokers.a.weight:  -> 3",
                  "limits: [] -> [{ max_in_flight_bytes = \"1KiB\", max_in_flight_messages = 5, topic = \"bulk\" }]",
                  "policies.default.selector.function:  -> \"xxh3\"", "policies.default.selector.use: \"best-queue\" -> \"hash\"",
                  "policies.orders.fault.use:  -> \"latency-fault\"", "policies.orders.key_from:  -> \"order-key\"",
                  "policies.orders.ordered:  -> true", "policies.orders.selector.use:  -> \"best-queue\"",
                  "policies.orders.when_no_queue:  -> \"wait\"", "producer.send_timeout: \"3s\" -> \"5s\""}));
}

TEST(Plan, TellsWhatNeedsARestart)
{
    producer_options o = base();
    o.attempts = 7;
    EXPECT_EQ(make_plan(base(), o).needs_restart(), "");
    o.group = "other";
    EXPECT_EQ(make_plan(base(), o).needs_restart(), "producer.group needs a restart of the program; nothing was changed");
    o.unit_name = "u";
    o.log_level = "debug";
    EXPECT_EQ(make_plan(base(), o).needs_restart(),
              "log.level, producer.group and producer.unit_name need a restart of the program; nothing was changed");
}

TEST(Plan, KnowsWhichKeysAreLive)
{
    for (const char* key : {"producer.send_timeout", "producer.attempts", "producer.retry_backoff", "producer.retry_backoff_max",
                            "producer.max_in_flight_messages", "producer.max_in_flight_bytes", "producer.when_full", "producer.max_body",
                            "producer.write_order_key", "producer.max_properties", "producer.max_delay", "producer.compress",
                            "producer.compress_level", "producer.compress_from", "producer.name_servers", "producer.attempt_timeout", "producer.retry_codes",
                            "producer.retry_unknown", "producer.retry_flush_late", "policies.x.selector.use", "bindings", "limits", "brokers.a.room", "plugins.load.x.file",
                            "plugins.path", "swap.quiet"})
        EXPECT_TRUE(is_live(key)) << key;
    for (const char* key : {"producer.group", "producer.name_server_url", "producer.trace", "producer.embedded", "producer.format", "producer.client_id",
                            "producer.heartbeat", "producer.route_refresh", "producer.connect_timeout", "producer.auto_create_topics",
                            "producer.default_topic", "producer.watch", "producer.auto_batch", "producer.batch_linger",
                            "producer.namespace_v1", "producer.max_inflated", "log.level"})
        EXPECT_FALSE(is_live(key)) << key;
}

TEST(Maps, AreAlikeWhenMadeAlike)
{
    policy_options a, b;
    a.selector = b.selector = {"hash", {{"function", "java"}}, {}};
    a.ordered = b.ordered = true;
    EXPECT_TRUE(maps_alike(a, b));
    b.fault.use = "none";
    b.when_no_queue = when_no_queue::fail;
    EXPECT_TRUE(maps_alike(a, b)) << "these do not map keys";
    b.selector.settings["function"] = "xxh3";
    EXPECT_FALSE(maps_alike(a, b));
    b = a;
    b.key_from = {key_source::kind::property, "p"};
    EXPECT_FALSE(maps_alike(a, b));
    b = a;
    b.filters.push_back({"machine-room", {}, {}});
    EXPECT_FALSE(maps_alike(a, b));
}

TEST(Ladder, EndsWhereItEnds)
{
    using s = swap_state;
    for (const s any : {s::staged, s::admitting, s::created, s::shadow, s::canary, s::probation, s::in_force, s::replaced, s::rolled_back}) {
        EXPECT_FALSE(may_follow(s::refused, any));
        EXPECT_FALSE(may_follow(s::retired, any));
    }
    EXPECT_TRUE(may_follow(s::canary, s::rolled_back));
    EXPECT_TRUE(may_follow(s::rolled_back, s::in_force));
    EXPECT_FALSE(may_follow(s::admitting, s::in_force));
    EXPECT_FALSE(may_follow(s::in_force, s::refused));
}

TEST(Canary, SharesOfKeysAreStableAndTrue)
{
    int both = 0, first = 0;
    for (std::uint64_t key = 0; key < 100'000; ++key) {
        const bool in = place_of(key, 1) < below(0.25);
        first += in ? 1 : 0;
        both += in && place_of(key, 2) < below(0.25) ? 1 : 0;
        EXPECT_EQ(in, place_of(key, 1) < below(0.25));
        EXPECT_TRUE(!in || place_of(key, 1) < below(0.5)) << "a larger share holds the smaller";
    }
    EXPECT_NEAR(first, 25'000, 600);
    EXPECT_NEAR(both, 6'250, 400) << "another swap takes other keys";
    EXPECT_EQ(below(0), 0u);
    EXPECT_EQ(below(1), UINT64_MAX);
    EXPECT_EQ(below(-1), 0u);
}

}  // namespace
}  // namespace shunt::swap
