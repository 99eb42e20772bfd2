// Scenario files that are wrong: each problem is told with its place, what was found and what would be right, all at once.

#include "situation.hpp"

#include <ostream>

namespace shunt::simulate {
namespace {

struct bad_row {
    const char* claim;
    std::string text;
    std::vector<std::string> problems;
};

void PrintTo(const bad_row& row, std::ostream* out) { *out << row.claim; }

class BadFile : public testing::TestWithParam<bad_row> {};

TEST_P(BadFile, TellsAllThatIsWrong)
{
    std::vector<std::string> found;
    for (const config::problem& p : problems_of(GetParam().text))
        found.push_back(config::to_string(p));
    EXPECT_EQ(found, GetParam().problems);
}

// Lines: 1 [scenario], 2 what is given, 3 the policy, 4 to 6 the broker a.
std::string head(std::string_view line) { return usual(std::string(line) + "\n", brokers(1, 4)); }
// As that, with line 2 empty; `lines` begin with line 7.
std::string tail(std::string_view lines) { return head("") + std::string(lines); }

const std::string one_send = "[[at]]\ntime = \"0ms\"\nsend = 1\n";

const bad_row rows[] = {
    {"nothing", "", {"s.toml:1:1: scenario is not set; it must be a table [scenario] with a policy", "s.toml:1:1: broker is not set; it must be one or more tables [[broker]]"}},
    {"no_toml", "[scenario\n", {"s.toml:1:10: the end of the line; expected ']'"}},
    {"no_policy", "[scenario]\n" + brokers(1, 1), {"s.toml:1:1: scenario.policy is not set; it must be a policy: { selector = { use = \"NAME\" }, fault = { use = \"NAME\" } }"}},
    {"half_a_policy", "[scenario]\npolicy = { selector = { use = \"hash\" } }\n" + brokers(1, 1),
     {"s.toml:2:10: scenario.policy.fault is not set; it must be a table that names a strategy: { use = \"NAME\" }"}},
    {"settings_of_a_later_policy", tail("[[at]]\ntime = \"5ms\"\npolicy = { selector = { use = \"hash\", function = \"jaav\" }, fault = { use = \"none\" } }\n"),
     {"s.toml:9:50: at[0].policy.selector.function is 'jaav'; it must be 'java', 'murmur2', 'fnv1a' or 'xxh3' (did you mean 'java'?)"}},
    {"no_queue_rule", "[scenario]\npolicy = { selector = { use = \"hash\" }, fault = { use = \"none\" }, when_no_queue = \"wiat\" }\n" + brokers(1, 1),
     {"s.toml:2:83: scenario.policy.when_no_queue is 'wiat'; it must be 'wait', 'any' or 'fail' (did you mean 'wait'?)"}},
    {"key_from", "[scenario]\npolicy = { selector = { use = \"hash\" }, fault = { use = \"none\" }, key_from = \"keys\" }\n" + brokers(1, 1),
     {"s.toml:2:67: scenario.policy.key_from is an unknown key; it must be a key of [scenario.policy] (known: selector, fault, filters, ordered, when_no_queue)"}},
    {"topic", head("topic = \"a b\""), {"s.toml:2:9: scenario.topic is 'a b'; it must be a topic: 1 to 127 of A-Z a-z 0-9 _ - % |"}},
    {"seed", head("seed = -1"), {"s.toml:2:8: scenario.seed is -1; it must be a whole number from 0 to 9223372036854775807"}},
    {"attempts", head("attempts = 17"), {"s.toml:2:12: scenario.attempts is 17; it must be a whole number from 1 to 16"}},
    {"threads", head("threads = 65"), {"s.toml:2:11: scenario.threads is 65; it must be a whole number from 1 to 64"}},
    {"threads_float", head("threads = 2.0"), {"s.toml:2:11: scenario.threads is 2.0; it must be a whole number from 1 to 64 (a float: write 2)"}},
    {"timeout_zero", head("timeout = \"0ms\""), {"s.toml:2:11: scenario.timeout is '0ms'; it must be a duration from 1ms to 1000000h"}},
    {"timeout_number", head("timeout = 3000"), {"s.toml:2:11: scenario.timeout is 3000; it must be a duration from 1ms to 1000000h (a unit is missing: \"3000ms\", \"3000s\")"}},
    {"cursor", head("cursor = 2147483648"), {"s.toml:2:10: scenario.cursor is 2147483648; it must be a whole number from 0 to 2147483647"}},
    {"unknown_key", head("sede = 1"), {"s.toml:2:1: scenario.sede is an unknown key; it must be a key of [scenario] (did you mean 'seed'?)"}},
    {"unknown_table", tail("[[att]]\ntime = \"0ms\"\n"), {"s.toml:7:3: att is an unknown key; it must be a key or table of the file (did you mean 'at'?)"}},
    {"no_broker", "broker = []\n" + usual("", ""), {"s.toml:1:10: broker is an empty array; it must be one or more tables [[broker]]"}},
    {"broker_no_array", "broker = \"a\"\n" + usual("", ""), {"s.toml:1:10: broker is 'a'; it must be one or more tables [[broker]]"}},
    {"broker_named_twice", tail("[[broker]]\nname = \"a\"\nqueues = 1\n"), {"s.toml:7:1: broker[1].name is 'a'; it must be a broker not named before (line 4 has it)"}},
    {"broker_values", tail("[[broker]]\nname = \"\"\nqueues = 65536\nperm = 8\nlatency = \"1us\"\nroom = 1\nweight = -1\n"),
     {"s.toml:8:8: broker[1].name is ''; it must be a broker's name, not empty", "s.toml:9:10: broker[1].queues is 65536; it must be a whole number from 0 to 65535",
      "s.toml:10:8: broker[1].perm is 8; it must be a whole number from 0 to 7", "s.toml:11:11: broker[1].latency is '1us'; it must be a duration from 0ms to 1000000h (whole milliseconds only)",
      "s.toml:12:8: broker[1].room is 1; it must be text (text stands in quotes: \"1\")", "s.toml:13:10: broker[1].weight is -1; it must be a whole number from 0 to 1000000"}},
    {"broker_without_queues", tail("[[broker]]\nname = \"b\"\n"), {"s.toml:7:1: broker[1].queues is not set; it must be a whole number from 0 to 65535"}},
    {"step_without_time", tail("[[at]]\nsend = 1\n"), {"s.toml:7:1: at[0].time is not set; it must be a duration from 0ms to 1000000h"}},
    {"step_negative_time", tail("[[at]]\ntime = \"-1ms\"\nsend = 1\n"), {"s.toml:8:8: at[0].time is '-1ms'; it must be a duration from 0ms to 1000000h (a whole number and a unit: ms, s, m, h)"}},
    {"step_that_does_nothing", tail("[[at]]\ntime = \"1ms\"\nsned = 1\n"),
     {"s.toml:7:1: at[0] is a step that does nothing; it must be a step with one of 'send', 'broker', 'route' and 'policy'", "s.toml:9:1: at[0].sned is an unknown key; it must be a key of at[0] (did you mean 'send'?)"}},
    {"step_that_does_two", tail("[[at]]\ntime = \"1ms\"\nsend = 1\nbroker = \"a\"\n"),
     {"s.toml:7:1: at[0] is a step with 'send' and 'broker'; it must be a step with one of 'send', 'broker', 'route' and 'policy' (make a step of its own of each)"}},
    {"too_many_sends", tail("[[at]]\ntime = \"1ms\"\nsend = 1000000000\n"), {"s.toml:9:8: at[0].send is 1000000000; it must be a whole number from 1 to 1000000"}},
    {"every_and_inflight", tail(one_send + "every = \"1ms\"\ninflight = 1\n"),
     {"s.toml:11:12: at[0].inflight is given beside 'every'; it must be left out, or 'every' must be (with 'every' sends start by the clock, however many are under way)"}},
    {"every_too_long", tail("[[at]]\ntime = \"1ms\"\nsend = 3\nevery = \"500000h\"\n"), {"s.toml:10:9: at[0].every is '500000h'; it must be so short that 3 sends end within 1000000h"}},
    {"send_values", tail(one_send + "every = \"0ms\"\nkey = 1\nthread = 1\nqueue = { broker = \"a\", idd = 0 }\n"),
     {"s.toml:10:9: at[0].every is '0ms'; it must be a duration from 1ms to 1000000h", "s.toml:11:7: at[0].key is 1; it must be text (text stands in quotes: \"1\")",
      "s.toml:12:10: at[0].thread is 1; it must be a whole number from 0 to 0", "s.toml:13:9: at[0].queue.id is not set; it must be a whole number from 0 to 2147483647",
      "s.toml:13:25: at[0].queue.idd is an unknown key; it must be a key of at[0].queue (did you mean 'id'?)"}},
    {"a_key_of_another_step", tail("[[at]]\ntime = \"0ms\"\nbroker = \"a\"\nok = true\nevery = \"1ms\"\n"),
     {"s.toml:11:1: at[0].every is an unknown key; it must be a key of at[0]"}},
    {"unknown_broker", tail("[[at]]\ntime = \"0ms\"\nbroker = \"b\"\nok = true\n"), {"s.toml:9:10: at[0].broker is 'b'; it must be a broker of some [[broker]] or of a route step's 'add' (known: a)"}},
    {"broker_step_that_changes_nothing", tail("[[at]]\ntime = \"0ms\"\nbroker = \"a\"\n"),
     {"s.toml:7:1: at[0] is a step that changes nothing of the broker; it must be a step with 'latency', 'code', 'refuse', 'hang', 'drop' or 'ok'"}},
    {"two_behaviours", tail("[[at]]\ntime = \"0ms\"\nbroker = \"a\"\ncode = 2\nhang = true\n"),
     {"s.toml:7:1: at[0] is a step with 'code' and 'hang'; it must be a step with at most one of 'code', 'refuse', 'hang', 'drop' and 'ok'"}},
    {"false_behaviour", tail("[[at]]\ntime = \"0ms\"\nbroker = \"a\"\nrefuse = false\n"), {"s.toml:10:10: at[0].refuse is false; it must be true (leave the key out instead)"}},
    {"code", tail("[[at]]\ntime = \"0ms\"\nbroker = \"a\"\ncode = 32768\n"), {"s.toml:10:8: at[0].code is 32768; it must be a whole number from 0 to 32767"}},
    {"route_of_strangers", tail("[[at]]\ntime = \"0ms\"\nroute = { remove = [\"b\"], set = [{ name = \"c\", perm = 4 }], add = [{ name = \"a\", queues = 1 }] }\n"),
     {"s.toml:9:21: at[0].route.remove[0] is 'b'; it must be a broker in the route at that time (known: a)", "s.toml:9:34: at[0].route.set[0].name is 'c'; it must be a broker in the route at that time (known: a)",
      "s.toml:9:68: at[0].route.add[0].name is 'a'; it must be a broker not in the route at that time ('set' changes one that is)"}},
    {"route_keys", tail("[[at]]\ntime = \"0ms\"\nroute = { remove = \"a\", set = [{ name = \"a\", latency = \"1ms\" }], ad = [] }\n"),
     {"s.toml:9:20: at[0].route.remove is 'a'; it must be an array of brokers' names",
      "s.toml:9:46: at[0].route.set[0].latency is an unknown key; it must be a key of at[0].route.set[0] (known: name, queues, perm, room, weight)",
      "s.toml:9:66: at[0].route.ad is an unknown key; it must be a key of at[0].route (did you mean 'add'?)"}},
    {"more_queues_than_strategies_are_shown", tail("[[at]]\ntime = \"0ms\"\nroute = { add = [{ name = \"b\", queues = 65535 }] }\n"),
     {"s.toml:9:18: at[0].route is a route of 65539 writable queues; it must be a route of at most 65536 at a time (strategies are never shown more)"}},
    {"carry_state_elsewhere", tail(one_send + "carry_state = true\n"),
     {"s.toml:10:1: at[0].carry_state is an unknown key; it must be a key of at[0]"}},
    {"plugins", tail("[plugins]\npaht = []\n"), {"s.toml:8:1: plugins.paht is an unknown key; it must be a key of [plugins] (did you mean 'path'?)"}},
};

INSTANTIATE_TEST_SUITE_P(Scenario, BadFile, testing::ValuesIn(rows), [](const auto& row) { return std::string(row.param.claim); });

TEST(BadStrategy, IsToldWithOneThatIsThere)
{
    const auto problems = problems_of("[scenario]\npolicy = { selector = { use = \"hsah\" }, fault = { use = \"none\" } }\n" + brokers(1, 1));
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].line, 2u);
    EXPECT_EQ(problems[0].key, "scenario.policy.selector.use");
    EXPECT_EQ(problems[0].found, "'hsah'");
    EXPECT_EQ(problems[0].hint, "did you mean 'hash'?");
}

TEST(BadStrategy, IsToldBesideWhatElseIsWrong)
{
    const auto problems = problems_of("[scenario]\nthreads = 0\npolicy = { selector = { use = \"hsah\" }, fault = { use = \"none\" } }\n" + brokers(1, 1) +
                                      at("x", "send = 1"));
    ASSERT_EQ(problems.size(), 3u);
    EXPECT_EQ(problems[0].line, 2u);
    EXPECT_EQ(problems[1].line, 3u);
    EXPECT_EQ(problems[2].line, 8u);
}

// ---- what is right although it looks odd ----

TEST(GoodFile, RouteChangesAreJudgedInOrderOfTime)
{
    EXPECT_EQ(problems_of(tail(at("20ms", "route = { remove = [\"b\"] }") + at("10ms", "route = { add = [{ name = \"b\", queues = 1 }] }"))), std::vector<config::problem>());
    EXPECT_EQ(problems_of(tail(at("20ms", "route = { add = [{ name = \"b\", queues = 1 }] }") + at("10ms", "route = { remove = [\"b\"] }"))).size(), 1u);
}

TEST(GoodFile, ABrokerMayBeNamedBeforeItIsAdded)
{
    EXPECT_EQ(problems_of(tail(at("0ms", "broker = \"b\"\nrefuse = true") + at("10ms", "route = { add = [{ name = \"b\", queues = 1 }] }"))), std::vector<config::problem>());
}

TEST(GoodFile, ReadsEveryKey)
{
    const scenario s = right(R"(
[scenario]
topic = "orders"
seed = 9
attempts = 16
threads = 64
timeout = "2m"
cursor = 2147483647
policy = { selector = { use = "hash" }, fault = { use = "none" }, filters = [{ use = "machine-room", rooms = ["x"] }], ordered = true, when_no_queue = "any" }
[[broker]]
name = "a"
queues = 65535
perm = 3
latency = "0ms"
room = "x"
weight = 0
[[at]]
time = "1h"
send = 1000000
every = "2ms"
key = ""
thread = 63
queue = { broker = "a", id = 7 }
[[at]]
time = "0ms"
policy = { selector = { use = "random" }, fault = { use = "none" } }
carry_state = true
)");
    EXPECT_EQ(s.topic, "orders");
    EXPECT_EQ(s.seed, 9u);
    EXPECT_EQ(s.timeout_ms, 120'000);
    EXPECT_EQ(s.policy.when_no_queue, when_no_queue::any);
    EXPECT_TRUE(s.policy.ordered);
    ASSERT_EQ(s.steps.size(), 2u);
    const auto& send = std::get<send_step>(s.steps[0].what);
    EXPECT_EQ(s.steps[0].time_ms, 3'600'000);
    EXPECT_EQ(send.key, "");
    EXPECT_EQ(send.thread, 63u);
    EXPECT_EQ(send.queue->id, 7);
    EXPECT_TRUE(std::get<policy_step>(s.steps[1].what).carry_state);
}

}  // namespace
}  // namespace shunt::simulate
