// Values of [producer] and [log] of the wrong type or out of range: none is converted, none falls back to its default.

#include "situation.hpp"

namespace shunt::config {
namespace {

const char* const attempts = "a whole number from 1 to 16";
const char* const timeout = "a duration from 1ms to 24h";
const char* const servers = "an array of name servers: [\"HOST:PORT\", ...]";
const char* const address = "HOST:PORT or [IPV6]:PORT";
const char* const write_array = "write [\"HOST:PORT\", \"HOST:PORT\"], or separate with ';' in one string";
const char* const group = "a group: 1 to 120 of A-Z a-z 0-9 _ - % |";
const char* const topic = "a topic: 1 to 127 of A-Z a-z 0-9 _ - % |";
const char* const sizes = "a whole number and a unit: B, KiB, MiB, GiB";
const char* const codes = "a list of at most 64 different codes from 1 to 32767 that do not mean stored (10, 11, 12), such as [2, 14]";
const char* const listen = "unix:PATH, 127.0.0.1:PORT or [::1]:PORT; or empty: not at all";
const char* const token = "16 to 256 printable ASCII characters without blanks; or empty: none";
const char* const units = "a whole number and a unit: ms, s, m, h";

std::string with_servers(std::string_view value)
{
    return "[producer]\nname_servers = " + std::string(value) + "\n";
}

const bad_row rows[] = {
    // [admin].
    {"AdminForEverybody", producer("[admin]\nlisten = \"0.0.0.0:9180\""),
     {at(4, 10, "admin.listen", "'0.0.0.0:9180'", listen,
         "it is for this machine alone; what shall be reached from others needs a proxy that encrypts and knows its users")}},
    {"AdminAtAPathAlone", producer("[admin]\nlisten = \"/run/s\""), {at(4, 10, "admin.listen", "'/run/s'", listen, "did you mean 'unix:/run/s'?")}},
    {"AdminWithoutAPort", producer("[admin]\nlisten = \"127.0.0.1\""), {at(4, 10, "admin.listen", "'127.0.0.1'", listen)}},
    {"AdminWithoutAPath", producer("[admin]\nlisten = \"unix:\""), {at(4, 10, "admin.listen", "'unix:'", listen)}},
    {"AdminOnAPortThatTakesNoToken", producer("[admin]\nlisten = \"127.0.0.1:9180\""),
     {at(4, 10, "admin.token", "empty", "set where policies may be changed by a port, which every user of this machine reaches",
         "or listen = \"unix:PATH\", or verbs = false")}},
    {"TokenThatIsShort", producer("[admin]\ntoken = \"secret\""), {at(4, 9, "admin.token", "a text of 6 bytes", token)}},
    {"TokenWithABlank", producer("[admin]\ntoken = \"0123456789 abcdef\""), {at(4, 9, "admin.token", "a text of 17 bytes", token)}},
    {"SocketThatMayBeRun", producer("[admin]\nmode = \"0700\""),
     {at(4, 8, "admin.mode", "'0700'", "permissions as in 0600 or 0660: reading and writing, for the owner always")}},
    // Whole numbers.
    {"NumberInQuotes", producer("attempts = \"2\""), {at(3, 12, "producer.attempts", "'2'", attempts, "a string: write 2 without quotes")}},
    {"WordForANumber", producer("attempts = \"three\""), {at(3, 12, "producer.attempts", "'three'", attempts)}},
    {"FloatForANumber", producer("attempts = 3.0"), {at(3, 12, "producer.attempts", "3.0", attempts, "a float: write 3")}},
    {"BrokenFloatForANumber", producer("attempts = 3.5"), {at(3, 12, "producer.attempts", "3.5", attempts, "a float")}},
    {"ExponentForANumber", producer("attempts = 1e1"), {at(3, 12, "producer.attempts", "10.0", attempts, "a float: write 10")}},
    {"InfinityForANumber", producer("attempts = inf"), {at(3, 12, "producer.attempts", "inf", attempts, "a float")}},
    {"BooleanForANumber", producer("attempts = true"), {at(3, 12, "producer.attempts", "true", attempts)}},
    {"DateForANumber", producer("attempts = 1979-05-27"), {at(3, 12, "producer.attempts", "the date 1979-05-27", attempts)}},
    {"TimeForANumber", producer("attempts = 07:32:00"), {at(3, 12, "producer.attempts", "the time 07:32:00", attempts)}},
    {"ArrayForANumber", producer("attempts = [1, 2]"), {at(3, 12, "producer.attempts", "an array of 2", attempts)}},
    {"TableForANumber", producer("attempts = { a = 1 }"), {at(3, 12, "producer.attempts", "a table", attempts)}},
    {"NoAttempts", producer("attempts = 0"), {at(3, 12, "producer.attempts", "0", attempts)}},
    {"TooManyAttempts", producer("attempts = 17"), {at(3, 12, "producer.attempts", "17", attempts)}},
    {"NegativeAttempts", producer("attempts = -1"), {at(3, 12, "producer.attempts", "-1", attempts)}},
    {"AttemptsThatWouldWrapToOne", producer("attempts = 4294967297"), {at(3, 12, "producer.attempts", "4294967297", attempts)}},
    {"LargestIntegerForAttempts", producer("attempts = 9223372036854775807"), {at(3, 12, "producer.attempts", "9223372036854775807", attempts)}},
    {"HexAttempts", producer("attempts = 0x7fffffff"), {at(3, 12, "producer.attempts", "2147483647", attempts)}},
    {"NothingInFlight", producer("max_in_flight_messages = 0"), {at(3, 26, "producer.max_in_flight_messages", "0", "a whole number from 1 to 16777216")}},
    {"TooManyBrokers", producer("embedded_brokers = 27"), {at(3, 20, "producer.embedded_brokers", "27", "a whole number from 1 to 26")}},
    {"TooManyQueues", producer("embedded_queues = 65536"), {at(3, 19, "producer.embedded_queues", "65536", "a whole number from 1 to 65535")}},
    {"NoDefaultQueues", producer("default_topic_queues = 0"), {at(3, 24, "producer.default_topic_queues", "0", "a whole number from 1 to 65535")}},

    // Flags.
    {"OneForTrue", "[producer]\nembedded = 1\n", {at(2, 12, "producer.embedded", "1", "true or false", "write true")}},
    {"ZeroForFalse", producer("watch = 0"), {at(3, 9, "producer.watch", "0", "true or false", "write false")}},
    {"TrueInQuotes", producer("auto_create_topics = \"true\""), {at(3, 22, "producer.auto_create_topics", "'true'", "true or false", "a string: write true without quotes")}},
    {"YesInQuotes", producer("write_order_key = \"yes\""), {at(3, 19, "producer.write_order_key", "'yes'", "true or false")}},

    // Durations.
    {"DurationWithoutUnit", producer("send_timeout = 3000"), {at(3, 16, "producer.send_timeout", "3000", timeout, "a unit is missing: \"3000ms\", \"3000s\"")}},
    {"DurationAsWholeFloat", producer("send_timeout = 3000.0"), {at(3, 16, "producer.send_timeout", "3000.0", timeout, "a unit is missing: \"3000ms\", \"3000s\"")}},
    {"DurationAsFloat", producer("send_timeout = 3000.5"), {at(3, 16, "producer.send_timeout", "3000.5", timeout, "a whole number and a unit in quotes: \"250ms\", \"3s\"")}},
    {"DurationInQuotesWithoutUnit", producer("send_timeout = \"3000\""), {at(3, 16, "producer.send_timeout", "'3000'", timeout, "a unit is missing: \"3000ms\", \"3000s\"")}},
    {"DurationWithABlank", producer("send_timeout = \"3 s\""), {at(3, 16, "producer.send_timeout", "'3 s'", timeout, units)}},
    {"DurationWithAPoint", producer("send_timeout = \"1.5s\""), {at(3, 16, "producer.send_timeout", "'1.5s'", timeout, units)}},
    {"DurationInCapitals", producer("send_timeout = \"3S\""), {at(3, 16, "producer.send_timeout", "'3S'", timeout, units)}},
    {"DurationInDays", producer("send_timeout = \"1d\""), {at(3, 16, "producer.send_timeout", "'1d'", timeout, units)}},
    {"NegativeDuration", producer("send_timeout = \"-1s\""), {at(3, 16, "producer.send_timeout", "'-1s'", timeout, units)}},
    {"EmptyDuration", producer("send_timeout = \"\""), {at(3, 16, "producer.send_timeout", "''", timeout, units)}},
    {"NoTimeAtAll", producer("send_timeout = \"0ms\""), {at(3, 16, "producer.send_timeout", "'0ms'", timeout)}},
    {"MoreThanADay", producer("send_timeout = \"25h\""), {at(3, 16, "producer.send_timeout", "'25h'", timeout)}},
    {"DurationOverSixtyFourBits", producer("send_timeout = \"9223372036854775807s\""), {at(3, 16, "producer.send_timeout", "'9223372036854775807s'", timeout, units)}},
    {"PartsOfAMillisecond", producer("send_timeout = \"1500us\""), {at(3, 16, "producer.send_timeout", "'1500us'", timeout, "whole milliseconds only")}},
    {"DateForADuration", producer("send_timeout = 00:00:03"), {at(3, 16, "producer.send_timeout", "the time 00:00:03", timeout)}},
    {"CodesThatAreNoList", producer("retry_codes = 2"), {at(3, 15, "producer.retry_codes", "2", codes, "in brackets: [2]")}},
    {"ACodeThatMeansStored", producer("retry_codes = [2, 10]"), {at(3, 15, "producer.retry_codes", "an array of 2", codes, "10 means stored; see retry_flush_late")}},
    {"TheSameCodeTwice", producer("retry_codes = [2, 2]"), {at(3, 15, "producer.retry_codes", "an array of 2", codes, "2 stands there twice")}},
    {"ACodeOfText", producer("retry_codes = [\"2\"]"), {at(3, 15, "producer.retry_codes", "an array of 1", codes, "each a number, without quotes")}},
    {"AUrlOfAnotherKind", producer("name_server_url = \"https://h/p\""), {at(3, 19, "producer.name_server_url", "'https://h/p'", "http://HOST[:PORT]/PATH; or empty: none")}},
    {"AUrlWithoutAHost", producer("name_server_url = \"http://:80/p\""), {at(3, 19, "producer.name_server_url", "'http://:80/p'", "http://HOST[:PORT]/PATH; or empty: none")}},
    {"AUrlWithAPortTooLarge", producer("name_server_url = \"http://h:65536/p\""), {at(3, 19, "producer.name_server_url", "'http://h:65536/p'", "http://HOST[:PORT]/PATH; or empty: none")}},
    {"HeartbeatsTooRare", producer("heartbeat = \"3m\""), {at(3, 13, "producer.heartbeat", "'3m'", "a duration from 10ms to 2m")}},
    {"RoutesAskedTooOften", producer("route_refresh = \"1ms\""), {at(3, 17, "producer.route_refresh", "'1ms'", "a duration from 10ms to 24h")}},
    {"NoTimeToConnect", producer("connect_timeout = \"0ms\""), {at(3, 19, "producer.connect_timeout", "'0ms'", "a duration from 1ms to 1h")}},
    {"BackoffAboveItsLimit", producer("retry_backoff = \"2s\"\nretry_backoff_max = \"1s\""), {at(3, 17, "producer.retry_backoff", "'2s'", "at most retry_backoff_max, which is '1s'")}},
    {"BackoffAboveTheDefaultLimit", producer("retry_backoff = \"1s\""), {at(3, 17, "producer.retry_backoff", "'1s'", "at most retry_backoff_max, which is '500ms'")}},
    {"BackoffLimitBelowTheDefault", producer("retry_backoff_max = \"5ms\""), {at(3, 21, "producer.retry_backoff", "'10ms'", "at most retry_backoff_max, which is '5ms'")}},
    {"WrongBackoffIsNotComparedToo", producer("retry_backoff = 5\nretry_backoff_max = \"0ms\""), {at(3, 17, "producer.retry_backoff", "5", "a duration from 0ms to 1h", "a unit is missing: \"5ms\", \"5s\"")}},

    // Sizes.
    {"SizeWithoutUnit", producer("max_body = 4096"), {at(3, 12, "producer.max_body", "4096", "a size from 1B to 15MiB", "a unit is missing: \"4096B\"")}},
    {"SizeInQuotesWithoutUnit", producer("max_body = \"4096\""), {at(3, 12, "producer.max_body", "'4096'", "a size from 1B to 15MiB", "a unit is missing: \"4096B\"")}},
    {"SizeInOtherUnits", producer("max_body = \"4MB\""), {at(3, 12, "producer.max_body", "'4MB'", "a size from 1B to 15MiB", sizes)}},
    {"LevelBeyondThoseOfZlib", producer("compress = \"zlib\"\ncompress_level = 10"), {at(4, 18, "producer.compress_level", "10", "a whole number from 0 to 9 for zlib")}},
    {"BatchLargerThanABody", producer("auto_batch = true\nmax_body = \"1KiB\""), {at(4, 12, "producer.batch_bytes", "'32KiB'", "at most max_body, which is '1KiB'")}},
    {"NamespaceWithASeparator", producer("namespace_v1 = \"a%b\""), {at(3, 16, "producer.namespace_v1", "'a%b'", "at most 64 of A-Z a-z 0-9 _ -, or \"\" for none")}},
    {"BodyLargerThanAFrame", producer("max_body = \"16MiB\""), {at(3, 12, "producer.max_body", "'16MiB'", "a size from 1B to 15MiB")}},
    {"NoBytesInFlight", producer("max_in_flight_bytes = \"0B\""), {at(3, 23, "producer.max_in_flight_bytes", "'0B'", "a size from 1B to 1024GiB")}},

    // Words.
    {"UnknownWord", producer("when_full = \"block\""), {at(3, 13, "producer.when_full", "'block'", "'wait', 'refuse' or 'suspend'")}},
    {"MisspeltWord", producer("when_full = \"suspends\""), {at(3, 13, "producer.when_full", "'suspends'", "'wait', 'refuse' or 'suspend'", "did you mean 'suspend'?")}},
    {"WordInCapitals", producer("format = \"ROCKETMQ\""), {at(3, 10, "producer.format", "'ROCKETMQ'", "'json' or 'rocketmq'", "did you mean 'rocketmq'?")}},
    {"NumberForAWord", producer("format = 1"), {at(3, 10, "producer.format", "1", "'json' or 'rocketmq'", "text stands in quotes: \"1\"")}},
    {"UnknownLogLevel", after_producer("[log]\nlevel = \"warning\""), {at(4, 9, "log.level", "'warning'", "'off', 'error', 'warn', 'info' or 'debug'")}},

    // Names.
    {"EmptyGroup", producer("group = \"\""), {at(3, 9, "producer.group", "''", group)}},
    {"GroupWithABlank", producer("group = \"my group\""), {at(3, 9, "producer.group", "'my group'", group)}},
    {"GroupOfOtherLetters", producer("group = \"заказы\""), {at(3, 9, "producer.group", "'заказы'", group)}},
    {"GroupThatBrokersRefuse", producer("group = \"DEFAULT_PRODUCER\""), {at(3, 9, "producer.group", "'DEFAULT_PRODUCER'", group, "brokers refuse this name; give the application's")}},
    {"GroupTooLong", producer("group = \"" + std::string(121, 'g') + "\""), {at(3, 9, "producer.group", "'" + std::string(60, 'g') + "…'", group)}},
    {"NumberForAGroup", producer("group = 7"), {at(3, 9, "producer.group", "7", group, "text stands in quotes: \"7\"")}},
    {"PatternForATopic", producer("default_topic = \"TBW*\""), {at(3, 17, "producer.default_topic", "'TBW*'", topic, "only a binding's topic may have a '*'")}},
    {"ClientIdWithABlank", producer("client_id = \"a b\""), {at(3, 13, "producer.client_id", "'a b'", "at most 255 printable ASCII characters without blanks, or \"\" for one made by shunt")}},
    {"ControlCharactersAreShownEscaped", producer("group = \"a\\u001b[31m\""), {at(3, 9, "producer.group", "'a\\x1b[31m'", group)}},

    // Name servers.
    {"CommaInAString", with_servers("\"h1:9876,h2:9876\""), {at(2, 16, "producer.name_servers", "'h1:9876,h2:9876'", address, write_array)}},
    {"BlankInAString", with_servers("\"h1:9876 h2:9876\""), {at(2, 16, "producer.name_servers", "'h1:9876 h2:9876'", address, write_array)}},
    {"SemicolonInAnElement", with_servers("[\"h1:9876;h2:9876\"]"), {at(2, 17, "producer.name_servers[0]", "'h1:9876;h2:9876'", address, write_array)}},
    {"SemicolonAtTheEnd", with_servers("\"h1:9876;\""), {at(2, 16, "producer.name_servers", "''", address)}},
    {"Scheme", with_servers("\"http://h1:9876\""), {at(2, 16, "producer.name_servers", "'http://h1:9876'", address, "without 'http://'")}},
    {"NoPort", with_servers("[\"h1:9876\", \"h2\"]"), {at(2, 28, "producer.name_servers[1]", "'h2'", address, "a port is missing: 'h2:9876'")}},
    {"PortTooLarge", with_servers("[\"h1:65536\"]"), {at(2, 17, "producer.name_servers[0]", "'h1:65536'", address, "a port is a number from 1 to 65535")}},
    {"PortZero", with_servers("[\"h1:0\"]"), {at(2, 17, "producer.name_servers[0]", "'h1:0'", address, "a port is a number from 1 to 65535")}},
    {"PortOfLetters", with_servers("[\"h1:mq\"]"), {at(2, 17, "producer.name_servers[0]", "'h1:mq'", address, "a port is a number from 1 to 65535")}},
    {"PortWithASign", with_servers("[\"h1:+80\"]"), {at(2, 17, "producer.name_servers[0]", "'h1:+80'", address, "a port is a number from 1 to 65535")}},
    {"V6WithoutBrackets", with_servers("[\"::1:9876\"]"), {at(2, 17, "producer.name_servers[0]", "'::1:9876'", address, "an IPv6 address stands in brackets: \"[::1]:9876\"")}},
    {"V6ThatIsNone", with_servers("[\"[::g]:9876\"]"), {at(2, 17, "producer.name_servers[0]", "'[::g]:9876'", address)}},
    {"V6BracketLeftOpen", with_servers("[\"[::1:9876\"]"), {at(2, 17, "producer.name_servers[0]", "'[::1:9876'", address, "']' is missing")}},
    {"V4ThatIsNone", with_servers("[\"10.0.0.256:9876\"]"), {at(2, 17, "producer.name_servers[0]", "'10.0.0.256:9876'", address)}},
    {"NoHost", with_servers("[\":9876\"]"), {at(2, 17, "producer.name_servers[0]", "':9876'", address)}},
    {"NumberForServers", with_servers("9876"), {at(2, 16, "producer.name_servers", "9876", servers)}},
    {"NumberForAServer", with_servers("[9876]"), {at(2, 17, "producer.name_servers[0]", "9876", address, "text stands in quotes: \"9876\"")}},
    {"NoServers", with_servers("[]"), {at(2, 16, "producer.name_servers", "an empty array", servers)}},
    {"EmptyServerString", with_servers("\"\""), {at(2, 16, "producer.name_servers", "''", address)}},
    {"ServerTwice", with_servers("[\"h1:9876\", \"h2:9876\", \"h1:9876\"]"), {at(2, 39, "producer.name_servers[2]", "'h1:9876'", "a name server not named before")}},
    {"TwoBadServers", with_servers("[\"h1\", \"h2:9876\", \"x y:1\"]"),
     {at(2, 17, "producer.name_servers[0]", "'h1'", address, "a port is missing: 'h1:9876'"), at(2, 34, "producer.name_servers[2]", "'x y:1'", address, write_array)}},
    {"NowhereToSend", "[producer]\ngroup = \"g\"\n", {at(1, 1, "producer.name_servers", "not set", servers, "or embedded = true, for a cluster inside this process")}},
    {"NowhereToSendAndNoTable", "[log]\nlevel = \"off\"\n", {at(1, 1, "producer.name_servers", "not set", servers, "or embedded = true, for a cluster inside this process")}},
    {"TwoPlacesToSend", "[producer]\nname_servers = [\"h1:9876\"]\nembedded = true\n", {at(3, 12, "producer.embedded", "true", "false, or name_servers left out", "name_servers stands in line 2")}},
};

class WrongValue : public testing::TestWithParam<bad_row> {};

TEST_P(WrongValue, IsRefusedWithWhatWasFoundAndWhatIsRight)
{
    EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}

INSTANTIATE_TEST_SUITE_P(Rows, WrongValue, testing::ValuesIn(rows), claim_of);

}  // namespace
}  // namespace shunt::config
