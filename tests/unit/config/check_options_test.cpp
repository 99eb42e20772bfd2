// Options made in code obey the rules for files.

#include "situation.hpp"

#include <functional>

namespace shunt::config {
namespace {

using namespace std::chrono_literals;

producer_options embedded()
{
    producer_options o;
    o.embedded = true;
    o.policies["default"];
    return o;
}

// "key is found; it must be expected", one a line.
std::string words_for(const producer_options& o)
{
    std::string out;
    for (const problem& p : check_options(o))
        out += to_string(p) + "\n";
    return out;
}

TEST(OptionsMadeInCode, AreRightAsTheyComeOnceTheyKnowWhereToSend)
{
    EXPECT_EQ(words_for(embedded()), "");
    producer_options o;
    o.name_servers = {"h1:9876"};
    EXPECT_EQ(words_for(o), "");
    EXPECT_EQ(words_for(producer_options{}),
              "producer.name_servers is not set; it must be an array of name servers: [\"HOST:PORT\", ...] (or embedded = "
              "true, for a cluster inside this process)\n");
}

struct code_row {
    const char* claim;
    std::function<void(producer_options&)> change;
    std::string words;
};

class OptionsInCode : public testing::TestWithParam<code_row> {};

void PrintTo(const code_row& row, std::ostream* out)
{
    *out << row.claim;
}

const code_row rows[] = {
    {"NoAttempts", [](auto& o) { o.attempts = 0; }, "producer.attempts is 0; it must be a whole number from 1 to 16\n"},
    {"TooManyAttempts", [](auto& o) { o.attempts = 17; }, "producer.attempts is 17; it must be a whole number from 1 to 16\n"},
    {"EmptyGroup", [](auto& o) { o.group = ""; }, "producer.group is ''; it must be a group: 1 to 120 of A-Z a-z 0-9 _ - % |\n"},
    {"NegativeTimeout", [](auto& o) { o.send_timeout = -1ms; }, "producer.send_timeout is '-1ms'; it must be a duration from 1ms to 24h\n"},
    {"NoBytes", [](auto& o) { o.max_in_flight_bytes = 0; }, "producer.max_in_flight_bytes is '0B'; it must be a size from 1B to 1024GiB\n"},
    {"MoreMessagesThanAnInteger", [](auto& o) { o.max_in_flight_messages = static_cast<std::size_t>(-1); }, "producer.max_in_flight_messages is 18446744073709551615; it must be a whole number from 1 to 16777216\n"},
    {"WordOutOfItsRange", [](auto& o) { o.when_full = static_cast<when_full>(9); }, "producer.when_full is 9; it must be 'wait', 'refuse' or 'suspend'\n"},
    {"BackoffAboveItsLimit", [](auto& o) { o.retry_backoff = 1s; }, "producer.retry_backoff is '1s'; it must be at most retry_backoff_max, which is '500ms'\n"},
    {"BothPlacesToSend", [](auto& o) { o.name_servers = {"h:1"}; }, "producer.embedded is true; it must be false, or name_servers left out\n"},
    {"CommaInAServer", [](auto& o) { o.embedded = false; o.name_servers = {"h1:1,h2:2"}; }, "producer.name_servers[0] is 'h1:1,h2:2'; it must be HOST:PORT or [IPV6]:PORT (write [\"HOST:PORT\", \"HOST:PORT\"], or separate with ';' in one string)\n"},
    {"ServerTwice", [](auto& o) { o.embedded = false; o.name_servers = {"h1:1", "h1:1"}; }, "producer.name_servers[1] is 'h1:1'; it must be a name server not named before\n"},
    {"LogLevel", [](auto& o) { o.log_level = "loud"; }, "log.level is 'loud'; it must be 'off', 'error', 'warn', 'info' or 'debug'\n"},
    {"EmptyPluginFolder", [](auto& o) { o.plugins.path = {""}; }, "plugins.path[0] is ''; it must be a path of 1 to 4095 bytes\n"},
    {"PluginSum", [](auto& o) { o.plugins.load["x"] = {"f.so", "12", {}}; }, "plugins.load.x.sha256 is '12'; it must be a SHA-256 sum: 64 hexadecimal digits (it has 2 characters)\n"},
    {"PluginName", [](auto& o) { o.plugins.load["X"] = {"f.so", "", {}}; }, "plugins.load.X is 'X'; it must be a strategy's name: 1 to 64 of a-z 0-9 - (did you mean 'x'?)\n"},
    {"EmptyUse", [](auto& o) { o.policies["default"].selector.use = ""; }, "policies.default.selector.use is ''; it must be a strategy's name: 1 to 64 of a-z 0-9 -\n"},
    {"FilterName", [](auto& o) { o.policies["default"].filters.push_back({"A B", {}, {}}); }, "policies.default.filters[0].use is 'A B'; it must be a strategy's name: 1 to 64 of a-z 0-9 - (did you mean 'a-b'?)\n"},
    {"PolicyName", [](auto& o) { o.policies["a b"]; }, "policies.a b is 'a b'; it must be a policy's name: 1 to 64 of A-Z a-z 0-9 _ - .\n"},
    {"PropertyWithoutName", [](auto& o) { o.policies["default"].key_from = {key_source::kind::property, ""}; }, "policies.default.key_from is 'property:'; it must be 'order-key', 'keys' or 'property:NAME' (a property's name has no blanks and no control characters, and is not empty)\n"},
    {"BindingToNoPolicy", [](auto& o) { o.bindings = {{"a*", "fast", {}}}; }, "bindings[0].policy is 'fast'; it must be the name of a policy (known: default)\n"},
    {"BindingTwice", [](auto& o) { o.bindings = {{"a*", "default", {}}, {"a*", "default", {}}}; }, "bindings[1].topic is 'a*'; it must be a pattern that no binding before it has (bindings[0] has it)\n"},
    {"PatternOfOtherCharacters", [](auto& o) { o.bindings = {{"a?", "default", {}}}; }, "bindings[0].topic is 'a?'; it must be a topic or a pattern of topics: 1 to 127 of A-Z a-z 0-9 _ - % | and * for any run of characters\n"},
    {"LimitOfNothing", [](auto& o) { o.limits = {{"a*", 0, 0, {}}}; }, "limits[0].max_in_flight_messages is not set; it must be set, or max_in_flight_bytes\n"},
    {"LimitTwice", [](auto& o) { o.limits = {{"a*", 1, 0, {}}, {"a*", 0, 1, {}}}; }, "limits[1].topic is 'a*'; it must be a pattern that no limit before it has (limits[0] has it)\n"},
    {"LimitBeyondItsRange", [](auto& o) { o.limits = {{"a*", 16'777'217, 0, {}}}; }, "limits[0].max_in_flight_messages is 16777217; it must be a whole number from 1 to 16777216\n"},
    {"BrokerWeight", [](auto& o) { o.brokers["a"].weight = 1'000'001; }, "brokers.a.weight is 1000001; it must be a whole number from 0 to 1000000\n"},
    {"TwoAtOnce", [](auto& o) { o.attempts = 0; o.default_topic = "a b"; }, "producer.attempts is 0; it must be a whole number from 1 to 16\nproducer.default_topic is 'a b'; it must be a topic: 1 to 127 of A-Z a-z 0-9 _ - % |\n"},
};

TEST_P(OptionsInCode, AreRefusedInTheWordsForFiles)
{
    producer_options o = embedded();
    GetParam().change(o);
    EXPECT_EQ(words_for(o), GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(Rows, OptionsInCode, testing::ValuesIn(rows), [](const auto& row) { return std::string(row.param.claim); });

TEST(OptionsMadeInCode, MayBindToTheDefaultPolicyWithoutGivingIt)
{
    producer_options o;
    o.embedded = true;
    o.bindings = {{"a*", "default", {}}};
    EXPECT_EQ(words_for(o), "");
}

}  // namespace
}  // namespace shunt::config
