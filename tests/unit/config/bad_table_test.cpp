// Unknown keys, tables that do not fit together, and many problems in one file.

#include "situation.hpp"

namespace shunt::config {
namespace {

const char* const strategy = "a table that names a strategy";
const char* const strategy_name = "a strategy's name: 1 to 64 of a-z 0-9 -";
const char* const pattern = "a topic or a pattern of topics: 1 to 127 of A-Z a-z 0-9 _ - % | and * for any run of characters";
const char* const tables = "known: producer, acl, tls, log, swap, admin, plugins, policies, bindings, limits, brokers";
const char* const key_from = "'order-key', 'keys' or 'property:NAME'";
const char* const sha256 = "a SHA-256 sum: 64 hexadecimal digits";
const char* const broker_name = "a broker's name: 1 to 255 printable characters, no blank at its ends";
const char* const secret = "at most 1024 printable ASCII characters without blanks, in quotes";
const char* const path = "a path of 1 to 4095 bytes";

std::string policy(std::string_view lines)
{
    return after_producer("[policies.default]\n" + std::string(lines));
}

const bad_row rows[] = {
    // Unknown keys and tables.
    {"UnknownKeyLikeAKnownOne", producer("attemps = 3"), {at(3, 1, "producer.attemps", "an unknown key", "a key of [producer]", "did you mean 'attempts'?")}},
    {"UnknownKeyLikeNone", producer("colour = \"red\""), {at(3, 1, "producer.colour", "an unknown key", "a key of [producer]")}},
    {"UnknownKeyInCapitals", producer("Attempts = 3"), {at(3, 1, "producer.Attempts", "an unknown key", "a key of [producer]", "did you mean 'attempts'?")}},
    {"UnknownKeyIndented", producer("   retries = 3"), {at(3, 4, "producer.retries", "an unknown key", "a key of [producer]")}},
    {"UnknownTable", after_producer("[consumer]\ngroup = \"c\""), {at(3, 2, "consumer", "an unknown key", "a key or table of the file", tables)}},
    {"UnknownKeyAtTheTop", "attempts = 3\n[producer]\nembedded = true\n", {at(1, 1, "attempts", "an unknown key", "a key or table of the file", tables)}},
    {"KeyMeantByAMisspeltOneIsNotMissed", "[producer]\nname_server = [\"h1:9876\"]\n", {at(2, 1, "producer.name_server", "an unknown key", "a key of [producer]", "did you mean 'name_servers'?")}},
    {"TableMeantByAMisspeltOneIsNotMissed", "[producr]\nembedded = true\n", {at(1, 2, "producr", "an unknown key", "a key or table of the file", "did you mean 'producer'?")}},
    {"UnknownKeyOfLog", after_producer("[log]\nfile = \"x\""), {at(4, 1, "log.file", "an unknown key", "a key of [log]", "known: level")}},
    {"UnknownKeyOfOtherLetters", producer("\"ключ\" = 1"), {at(3, 1, "producer.ключ", "an unknown key", "a key of [producer]")}},
    {"EmptyKey", producer("\"\" = 1"), {at(3, 1, "producer.", "an unknown key", "a key of [producer]")}},
    {"NumberForATable", "producer = 1\n", {at(1, 12, "producer", "1", "a table")}},
    {"ArrayForATable", "[[producer]]\nembedded = true\n", {at(1, 1, "producer", "an array of 1", "a table")}},

    // Credentials and certificates. No secret is shown, however wrong.
    {"SecretThatIsANumber", after_producer("[acl]\naccess_key = \"a\"\nsecret_key = 12345"), {at(5, 14, "acl.secret_key", "a value that is not shown", secret)}},
    {"SecretWithABlank", after_producer("[acl]\naccess_key = \"a\"\nsecret_key = \"hunter 2\""), {at(5, 14, "acl.secret_key", "a text of 8 bytes", secret)}},
    {"SecretWithoutQuotes", after_producer("[acl]\naccess_key = \"a\"\nsecret_key = hunter2"), {at(5, 14, "", "a value that is not shown", "a value", "text stands in quotes, one key a line")}},
    {"AccessKeyAlone", after_producer("[acl]\naccess_key = \"a\""), {at(3, 1, "acl.secret_key", "not set", "the secret that goes with the access key")}},
    {"SecretAlone", after_producer("[acl]\nsecret_key = \"hunter2\""), {at(3, 1, "acl.access_key", "not set", "the access key that goes with the secret")}},
    {"TwoSourcesOfCredentials", after_producer("[acl]\nfile = \"c.toml\"\nenvironment = \"X\""), {at(5, 15, "acl.environment", "'X'", "left out: acl.file is set")}},
    {"UnknownKeyOfAcl", after_producer("[acl]\nsecret_kye = \"hunter2\""), {at(4, 1, "acl.secret_kye", "an unknown key", "a key of [acl]", "did you mean 'secret_key'?")}},
    {"CertificateWithoutItsKey", after_producer("[tls]\ncertificate = \"c.pem\""), {at(4, 15, "tls.key", "not set", "set, for tls.certificate is")}},
    {"KeyWithoutItsCertificate", after_producer("[tls]\nkey = \"c.key\""), {at(4, 7, "tls.certificate", "not set", "set, for tls.key is")}},
    {"TlsToTheClusterInside", after_producer("[tls]\nenabled = true"), {at(4, 11, "tls.enabled", "true", "false, for the cluster inside this process speaks no TLS", "shunt cluster --tls-certificate does")}},
    {"UnknownTlsVersion", after_producer("[tls]\nmin_version = \"SSLv3\""), {at(4, 15, "tls.min_version", "'SSLv3'", "'1.2' or '1.3'")}},
    {"VersionAsANumber", after_producer("[tls]\nmin_version = 1.3"), {at(4, 15, "tls.min_version", "1.3", "'1.2' or '1.3'", "text stands in quotes: \"1.3\"")}},
    {"VerifyAsAFlag", after_producer("[tls]\nverify = true"), {at(4, 10, "tls.verify", "true", "'full', 'chain' or 'none'", "text stands in quotes: \"true\"")}},

    // Policies.
    {"PolicyThatIsNoTable", after_producer("[policies]\ndefault = \"hash\""), {at(4, 11, "policies.default", "'hash'", "a table")}},
    {"PoliciesThatAreNoTable", "policies = [1]\n[producer]\nembedded = true\n", {at(1, 12, "policies", "an array of 1", "a table")}},
    {"PolicyNameWithABlank", after_producer("[policies.\"by order\"]\nordered = true"), {at(3, 11, "policies.by order", "'by order'", "a policy's name: 1 to 64 of A-Z a-z 0-9 _ - .")}},
    {"UnknownKeyOfAPolicy", policy("order = true"), {at(4, 1, "policies.default.order", "an unknown key", "a key of [policies.default]", "did you mean 'ordered'?")}},
    {"StrategyAsAString", policy("selector = \"hash\""), {at(4, 12, "policies.default.selector", "'hash'", strategy, "write { use = \"hash\" }")}},
    {"StrategyAsANumber", policy("fault = 1"), {at(4, 9, "policies.default.fault", "1", strategy, "write { use = \"NAME\" }")}},
    {"StrategyWithoutUse", policy("selector = { function = \"java\" }"), {at(4, 12, "policies.default.selector.use", "not set", "a strategy's name")}},
    {"StrategyWithAMisspeltUse", policy("selector = { uses = \"hash\" }"), {at(4, 12, "policies.default.selector.use", "not set", "a strategy's name", "did you mean 'use' by 'uses'?")}},
    {"StrategyTableWithoutUse", after_producer("[policies.default.selector]\nfunction = \"java\""), {at(3, 1, "policies.default.selector.use", "not set", "a strategy's name")}},
    {"NumberForUse", policy("selector = { use = 3 }"), {at(4, 20, "policies.default.selector.use", "3", strategy_name, "text stands in quotes: \"3\"")}},
    {"UseInJavaStyle", policy("selector = { use = \"Best_Queue\" }"), {at(4, 20, "policies.default.selector.use", "'Best_Queue'", strategy_name, "did you mean 'best-queue'?")}},
    {"PathForUse", policy("selector = { use = \"./libx.so\" }"), {at(4, 20, "policies.default.selector.use", "'./libx.so'", strategy_name)}},
    {"FiltersAsATable", policy("filters = { use = \"machine-room\" }"), {at(4, 11, "policies.default.filters", "a table", "an array of tables that name strategies")}},
    {"FilterAsAString", policy("filters = [\"machine-room\"]"), {at(4, 12, "policies.default.filters[0]", "'machine-room'", strategy, "write { use = \"machine-room\" }")}},
    {"SecondFilterWithoutUse", policy("filters = [{ use = \"machine-room\" }, { rooms = [\"a\"] }]"), {at(4, 38, "policies.default.filters[1].use", "not set", "a strategy's name")}},
    {"OrderedInQuotes", policy("ordered = \"true\""), {at(4, 11, "policies.default.ordered", "'true'", "true or false", "a string: write true without quotes")}},
    {"KeyFromKey", policy("key_from = \"key\""), {at(4, 12, "policies.default.key_from", "'key'", key_from, "did you mean 'keys'?")}},
    {"KeyFromWithUnderscore", policy("key_from = \"order_key\""), {at(4, 12, "policies.default.key_from", "'order_key'", key_from, "did you mean 'order-key'?")}},
    {"KeyFromNoProperty", policy("key_from = \"property:\""), {at(4, 12, "policies.default.key_from", "'property:'", key_from, "a property's name has no blanks and no control characters, and is not empty")}},
    {"KeyFromAPropertyWithASeparator", policy("ordered = true\nkey_from = \"property:a\\u0001b\""), {at(5, 12, "policies.default.key_from", "'property:a\\x01b'", key_from, "a property's name has no blanks and no control characters, and is not empty")}},
    {"KeyFromThePropertyOfKeys", policy("ordered = true\nkey_from = \"property:KEYS\""), {at(5, 12, "policies.default.key_from", "'property:KEYS'", key_from, "did you mean 'keys'?")}},
    {"UnknownWordForNoQueue", policy("when_no_queue = \"failed\""), {at(4, 17, "policies.default.when_no_queue", "'failed'", "'wait', 'any' or 'fail'", "did you mean 'fail'?")}},

    // Plugins.
    {"PathAsAString", after_producer("[plugins]\npath = \"/opt/p\""), {at(4, 8, "plugins.path", "'/opt/p'", "an array of one or more folders", "write [\"/opt/p\"]")}},
    {"PathOfNothing", after_producer("[plugins]\npath = []"), {at(4, 8, "plugins.path", "an empty array", "an array of one or more folders", "leave the key out for the bundled plugins")}},
    {"NumberInPath", after_producer("[plugins]\npath = [\"a\", 1]"), {at(4, 14, "plugins.path[1]", "1", path, "text stands in quotes: \"1\"")}},
    {"EmptyFolder", after_producer("[plugins]\npath = [\"\"]"), {at(4, 9, "plugins.path[0]", "''", path)}},
    {"FolderWithANul", after_producer("[plugins]\npath = [\"a\\u0000b\"]"), {at(4, 9, "plugins.path[0]", "'a\\x00b'", path)}},
    {"FolderOfFiveThousandBytes", after_producer("[plugins]\npath = [\"" + std::string(5000, 'p') + "\"]"), {at(4, 9, "plugins.path[0]", "'" + std::string(60, 'p') + "…'", path)}},
    {"FolderTwice", after_producer("[plugins]\npath = [\"/a\", \"/b\", \"/a\"]"), {at(4, 21, "plugins.path[2]", "'/a'", "a folder not named before")}},
    {"TooFewImages", after_producer("[plugins]\nmax_images = 0"), {at(4, 14, "plugins.max_images", "0", "a whole number from 1 to 1024")}},
    {"PluginWithoutFile", after_producer("[plugins.load.pin]\nsha256 = \"" + std::string(64, 'a') + "\""), {at(3, 1, "plugins.load.pin.file", "not set", path)}},
    {"SumTooShort", after_producer("[plugins.load.pin]\nfile = \"p.so\"\nsha256 = \"9f2c\""), {at(5, 10, "plugins.load.pin.sha256", "'9f2c'", sha256, "it has 4 characters")}},
    {"SumOfOtherLetters", after_producer("[plugins.load.pin]\nfile = \"p.so\"\nsha256 = \"" + std::string(64, 'g') + "\""), {at(5, 10, "plugins.load.pin.sha256", "'" + std::string(60, 'g') + "…'", sha256)}},
    {"EmptySum", after_producer("[plugins.load.pin]\nfile = \"p.so\"\nsha256 = \"\""), {at(5, 10, "plugins.load.pin.sha256", "''", sha256, "it has 0 characters")}},
    {"LoadAsAString", after_producer("[plugins.load]\npin = \"p.so\""), {at(4, 7, "plugins.load.pin", "'p.so'", "a table")}},
    {"LoadedNameWithUnderscore", after_producer("[plugins.load.tenant_pin]\nfile = \"p.so\""), {at(3, 15, "plugins.load.tenant_pin", "'tenant_pin'", strategy_name, "did you mean 'tenant-pin'?")}},
    {"UnknownKeyOfAPlugin", after_producer("[plugins.load.pin]\nfile = \"p.so\"\nsha = \"x\""), {at(5, 1, "plugins.load.pin.sha", "an unknown key", "a key of [plugins.load.pin]", "known: file, sha256")}},

    // Bindings.
    {"BindingsAsATable", after_producer("[bindings]\ntopic = \"a\""), {at(3, 1, "bindings", "a table", "an array of tables: [[bindings]]")}},
    {"BindingAsAString", "bindings = [\"a\"]\n[producer]\nembedded = true\n", {at(1, 13, "bindings[0]", "'a'", "a table")}},
    {"BindingWithoutTopic", after_producer("[[bindings]]\npolicy = \"default\""), {at(3, 1, "bindings[0].topic", "not set", pattern)}},
    {"BindingWithoutPolicy", after_producer("[[bindings]]\ntopic = \"a\""), {at(3, 1, "bindings[0].policy", "not set", "a policy's name: 1 to 64 of A-Z a-z 0-9 _ - .")}},
    {"BindingToNoPolicy", after_producer("[policies.by-order]\nordered = true\n[[bindings]]\ntopic = \"a\"\npolicy = \"by-oder\""), {at(7, 10, "bindings[0].policy", "'by-oder'", "the name of a policy", "did you mean 'by-order'?")}},
    {"BindingToNoPolicyAtAll", after_producer("[[bindings]]\ntopic = \"a\"\npolicy = \"urgent\""), {at(5, 10, "bindings[0].policy", "'urgent'", "the name of a policy", "known: default")}},
    {"PatternOfOtherCharacters", after_producer("[[bindings]]\ntopic = \"a.*\"\npolicy = \"default\""), {at(4, 9, "bindings[0].topic", "'a.*'", pattern)}},
    {"EmptyPattern", after_producer("[[bindings]]\ntopic = \"\"\npolicy = \"default\""), {at(4, 9, "bindings[0].topic", "''", pattern)}},
    {"PatternTooLong", after_producer("[[bindings]]\ntopic = \"" + std::string(128, 'a') + "\"\npolicy = \"default\""), {at(4, 9, "bindings[0].topic", "'" + std::string(60, 'a') + "…'", pattern)}},
    {"PatternBoundTwice", after_producer("[[bindings]]\ntopic = \"a*\"\npolicy = \"default\"\n[[bindings]]\ntopic = \"a*\"\npolicy = \"default\""), {at(7, 9, "bindings[1].topic", "'a*'", "a pattern that no binding before it has", "line 3 has it")}},
    {"LimitsAsATable", after_producer("[limits]\ntopic = \"a\""), {at(3, 1, "limits", "a table", "an array of tables: [[limits]]")}},
    {"LimitWithoutTopic", after_producer("[[limits]]\nmax_in_flight_messages = 1"), {at(3, 1, "limits[0].topic", "not set", pattern)}},
    {"LimitOfNothing", after_producer("[[limits]]\ntopic = \"a\""), {at(3, 1, "limits[0].max_in_flight_messages", "not set", "set, or max_in_flight_bytes")}},
    {"LimitOfZeroMessages", after_producer("[[limits]]\ntopic = \"a\"\nmax_in_flight_messages = 0"), {at(5, 26, "limits[0].max_in_flight_messages", "0", "a whole number from 1 to 16777216")}},
    {"LimitOfBytesWithoutUnit", after_producer("[[limits]]\ntopic = \"a\"\nmax_in_flight_bytes = 1000"), {at(5, 23, "limits[0].max_in_flight_bytes", "1000", "a size from 1B to 1024GiB", "a unit is missing: \"1000B\"")}},
    {"LimitTwice", after_producer("[[limits]]\ntopic = \"a*\"\nmax_in_flight_messages = 1\n[[limits]]\ntopic = \"a*\"\nmax_in_flight_messages = 2"), {at(7, 9, "limits[1].topic", "'a*'", "a pattern that no limit before it has", "line 3 has it")}},
    {"UnknownKeyOfALimit", after_producer("[[limits]]\ntopic = \"a\"\nmax_in_flight_message = 1"), {at(5, 1, "limits[0].max_in_flight_message", "an unknown key", "a key of limits[0]", "did you mean 'max_in_flight_messages'?")}},
    {"UnknownKeyOfABinding", after_producer("[[bindings]]\ntopic = \"a\"\npolicy = \"default\"\ngroup = \"g\""), {at(6, 1, "bindings[0].group", "an unknown key", "a key of bindings[0]", "known: topic, policy")}},

    // Brokers.
    {"BrokerWithoutName", after_producer("[[brokers]]\nroom = \"hz\""), {at(3, 1, "brokers[0].name", "not set", broker_name)}},
    {"BrokerTwice", after_producer("[[brokers]]\nname = \"a\"\n[[brokers]]\nname = \"a\"\nweight = 2"), {at(6, 8, "brokers[1].name", "'a'", "a broker not named before", "line 3 has it")}},
    {"BrokerNameWithABlankAtItsEnd", after_producer("[[brokers]]\nname = \"a \""), {at(4, 8, "brokers[0].name", "'a '", broker_name, "without blanks at the ends")}},
    {"BlankRoom", after_producer("[[brokers]]\nname = \"a\"\nroom = \" SH \""), {at(5, 8, "brokers[0].room", "' SH '", "a room's name of printable characters, no blank at its ends, or \"\" for none", "without blanks at the ends")}},
    {"NegativeWeight", after_producer("[[brokers]]\nname = \"a\"\nweight = -1"), {at(5, 10, "brokers[0].weight", "-1", "a whole number from 0 to 1000000")}},
    {"FloatWeight", after_producer("[[brokers]]\nname = \"a\"\nweight = 0.5"), {at(5, 10, "brokers[0].weight", "0.5", "a whole number from 0 to 1000000", "a float")}},
    {"WeightTooLarge", after_producer("[[brokers]]\nname = \"a\"\nweight = 1_000_001"), {at(5, 10, "brokers[0].weight", "1000001", "a whole number from 0 to 1000000")}},
    {"BrokersAsATable", after_producer("[brokers.a]\nroom = \"hz\""), {at(3, 1, "brokers", "a table", "an array of tables: [[brokers]]")}},

    // Many at once, in the order of the file, each once.
    {"ManyProblemsInTheOrderOfTheFile",
     "[[brokers]]\n"
     "name = \"a\"\n"
     "weigth = 2\n"
     "[producer]\n"
     "attempts = 0\n"
     "name_servers = [\"h1:9876,h2:9876\"]\n"
     "send_timeout = 3000\n"
     "[policies.default]\n"
     "selector = { use = \"hash\" }\n"
     "ordered = 1\n"
     "[[bindings]]\n"
     "topic = \"a b\"\n"
     "policy = \"defalt\"\n",
     {at(3, 1, "brokers[0].weigth", "an unknown key", "a key of brokers[0]", "did you mean 'weight'?"),
      at(5, 12, "producer.attempts", "0", "a whole number from 1 to 16"),
      at(6, 17, "producer.name_servers[0]", "'h1:9876,h2:9876'", "HOST:PORT or [IPV6]:PORT", "write [\"HOST:PORT\", \"HOST:PORT\"], or separate with ';' in one string"),
      at(7, 16, "producer.send_timeout", "3000", "a duration from 1ms to 24h", "a unit is missing: \"3000ms\", \"3000s\""),
      at(10, 11, "policies.default.ordered", "1", "true or false", "write true"),
      at(12, 9, "bindings[0].topic", "'a b'", pattern),
      at(13, 10, "bindings[0].policy", "'defalt'", "the name of a policy", "did you mean 'default'?")}},
    {"TwoProblemsInALine", policy("selector = { us = 1 }\nfault = [] # no\nkey_from = \"x\""),
     {at(4, 12, "policies.default.selector.use", "not set", "a strategy's name", "did you mean 'use' by 'us'?"),
      at(5, 9, "policies.default.fault", "an empty array", strategy, "write { use = \"NAME\" }"),
      at(6, 12, "policies.default.key_from", "'x'", key_from)}},
    {"BrokenPolicyIsStillAPolicyToBindTo", after_producer("[policies]\nfast = 1\n[[bindings]]\ntopic = \"a\"\npolicy = \"fast\""), {at(4, 8, "policies.fast", "1", "a table")}},
};

class WrongTable : public testing::TestWithParam<bad_row> {};

TEST_P(WrongTable, IsRefusedWithEveryProblemAtOnce)
{
    EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}

INSTANTIATE_TEST_SUITE_P(Rows, WrongTable, testing::ValuesIn(rows), claim_of);

TEST(ProblemText, SaysWhereWhatWasFoundWhatIsRightAndAHint)
{
    EXPECT_EQ(to_string(problem{"shunt.toml", 14, 12, "producer.attempts", "'three'", "a whole number from 1 to 16", ""}),
              "shunt.toml:14:12: producer.attempts is 'three'; it must be a whole number from 1 to 16");
    EXPECT_EQ(to_string(problem{"shunt.toml", 2, 1, "producer.attemps", "an unknown key", "a key of [producer]", "did you mean 'attempts'?"}),
              "shunt.toml:2:1: producer.attemps is an unknown key; it must be a key of [producer] (did you mean 'attempts'?)");
}

TEST(ProblemText, OfTheTextItselfNamesNoKey)
{
    EXPECT_EQ(to_string(problem{"f.toml", 3, 5, "", "info", "a value", "text stands in quotes"}),
              "f.toml:3:5: info; expected a value (text stands in quotes)");
    EXPECT_EQ(to_string(problem{"f.toml", 0, 0, "", "a folder", "a file that can be read", ""}),
              "f.toml: a folder; expected a file that can be read");
}

TEST(ProblemText, OfOptionsMadeInCodeNamesNoFile)
{
    EXPECT_EQ(to_string(problem{"", 0, 0, "producer.attempts", "17", "a whole number from 1 to 16", ""}),
              "producer.attempts is 17; it must be a whole number from 1 to 16");
}

}  // namespace
}  // namespace shunt::config
