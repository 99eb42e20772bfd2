// Settings of the other clients: what is said of them where they stand in a configuration, and the pages that list them.

#include "situation.hpp"

#include <config/keys.hpp>
#include <config/other_clients.hpp>

#include <support/paths.hpp>

#include <set>
#include <sstream>

namespace shunt::config {
namespace {

constexpr const char* a_key = "a key of [producer]";

// ---- hints ----

struct habit {
    const char* claim;
    const char* line;  // in [producer]
    const char* hint;
};
void PrintTo(const habit& h, std::ostream* out) { *out << h.claim; }

class Habit : public testing::TestWithParam<habit> {};

TEST_P(Habit, IsRefusedWithOurName)
{
    const std::string line = GetParam().line;
    const auto problems = problems_of(producer(line));
    ASSERT_EQ(problems.size(), 1u) << "never taken silently";
    EXPECT_EQ(problems[0].line, 3u);
    EXPECT_EQ(problems[0].found, "an unknown key");
    EXPECT_EQ(problems[0].expected, a_key);
    EXPECT_EQ(problems[0].hint, GetParam().hint);
}

INSTANTIATE_TEST_SUITE_P(OtherClients, Habit, testing::Values(
    habit{"JavaTimeout", "sendMsgTimeout = 3000", "sendMsgTimeout of the Java, C++ and Go clients is send_timeout = \"3s\" here"},
    habit{"InSnakeCase", "send_msg_timeout = 2500", "sendMsgTimeout of the Java, C++ and Go clients is send_timeout = \"2500ms\" here"},
    habit{"InKebabCase", "send-msg-timeout = 3000", "sendMsgTimeout of the Java, C++ and Go clients is send_timeout = \"3s\" here"},
    habit{"NumberInQuotes", "sendMsgTimeout = \"3000\"", "sendMsgTimeout of the Java, C++ and Go clients is send_timeout = \"3s\" here"},
    habit{"DurationInQuotes", "WithSendMsgTimeout = \"5s\"", "sendMsgTimeout of the Java, C++ and Go clients is send_timeout = \"5s\" here"},
    habit{"SetterOfCpp", "setRetryTimes = 5", "setRetryTimes of the C++ client is attempts = 5 here"},
    habit{"SetterOfC", "SetProducerMaxMessageSize = 131072", "maxMessageSize of the Java and C++ clients is max_body = \"128KiB\" here"},
    habit{"OptionOfGo", "WithRetry = 2", "WithRetry of the Go client is attempts = 3 here"},
    habit{"RetriesOfJava", "retryTimesWhenSendFailed = 2", "retryTimesWhenSendFailed of the Java client is attempts = 3 here"},
    habit{"RetriesThatAreTooMany", "retryTimesWhenSendFailed = 16",
          "retryTimesWhenSendFailed of the Java client is attempts here: sync and async alike; the first try is counted"},
    habit{"SameValue", "vipChannelEnabled = true", "vipChannelEnabled of the Java client is vip_channel = true here"},
    habit{"SpelledAsOursButForItsCase", "compressLevel = 5", "compressLevel of the Java, C++ and Go clients is compress_level = 5 here"},
    habit{"WordInCapitals", "compressType = \"LZ4\"", "compressType of the Java client is compress = \"lz4\" here"},
    habit{"Bytes", "compressMsgBodyOverHowmuch = 4096",
          "compressMsgBodyOverHowmuch of the Java, C++ and Go clients is compress_from = \"4KiB\" here"},
    habit{"OfAnotherTable", "sendLatencyFaultEnable = true",
          "sendLatencyFaultEnable of the Java client is fault = { use = \"latency-fault\" } in [policies.default]"},
    habit{"Trace", "enableMsgTrace = true", "enableMsgTrace of the Java client is trace = \"*\" here"},
    habit{"FaultsOff", "sendLatencyFaultEnable = false",
          "sendLatencyFaultEnable of the Java client is fault = { use = \"none\" } in [policies.default]"},
    habit{"WhatThereIsNot", "clientWorkerThreads = 4",
          "clientWorkerThreads of the Java client: one I/O thread; a producer made with an executor has none"},
    habit{"ValueThatMeansNothing", "sendMsgTimeout = [1]",
          "sendMsgTimeout of the Java, C++ and Go clients is send_timeout here: the whole send, retries included"},
    habit{"NegativeTime", "sendMsgTimeout = -1",
          "sendMsgTimeout of the Java, C++ and Go clients is send_timeout here: the whole send, retries included"},
    habit{"QuotedProperty", "\"rocketmq.serialize.type\" = \"JSON\"", "rocketmq.serialize.type of the Java client is format = \"json\" here"},
    habit{"LeafOfTheStarter", "send-message-timeout = 3000",
          "rocketmq.producer.send-message-timeout of the Spring starter is send_timeout = \"3s\" here"}),
    [](const auto& row) { return std::string(row.param.claim); });

TEST(OtherClients, NameServersUnderAnotherNameAreNotMissedAsWell)
{
    const auto problems = problems_of("[producer]\nnamesrvAddr = \"10.0.0.1:9876;10.0.0.2:9876\"\n");
    EXPECT_EQ(problems, (std::vector<problem>{at(2, 1, "producer.namesrvAddr", "an unknown key", a_key,
        "namesrvAddr of the Java and C++ clients is name_servers = [\"10.0.0.1:9876\", \"10.0.0.2:9876\"] here")}));
}

TEST(OtherClients, TheStartersTablesAreUnderstood)
{
    const auto problems = problems_of(after_producer("[rocketmq.producer]\nsend-message-timeout = 3000\n"));
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].hint, "rocketmq.producer.send-message-timeout of the Spring starter is send_timeout = \"3s\" in [producer]");
}

TEST(OtherClients, ASettingOutsideOfAnyTableIsToldItsTable)
{
    const auto problems = problems_of("maxMessageSize = 1024\n[producer]\nembedded = true\n");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].hint, "maxMessageSize of the Java and C++ clients is max_body = \"1KiB\" in [producer]");
}

TEST(OtherClients, CredentialsAreNotRepeated)
{
    for (const char* line : {"secretKey = \"hunter2\"", "accessKey = \"hunter2\"", "setSessionCredentials = \"hunter2\""}) {
        const auto problems = problems_of(producer(line));
        ASSERT_EQ(problems.size(), 1u);
        EXPECT_FALSE(problems[0].hint.empty());
        EXPECT_EQ(to_string(problems[0]).find("hunter2"), std::string::npos) << to_string(problems[0]);
    }
}

TEST(OtherClients, EverySettingIsRefusedHoweverItIsWrittenAndOursIsAKey)
{
    std::set<std::string> ours;
    for (const origin& o : good("[producer]\nembedded = true\n").origins)
        ours.insert(o.key);
    ours.insert({"policies.default.fault", "policies.default.selector"});  // tables themselves
    for (const other_setting& s : other_settings()) {
        SCOPED_TRACE(s.name);
        std::string snake;
        for (const char c : s.name) {
            if (c >= 'A' && c <= 'Z' && !snake.empty() && snake.back() != '.')
                snake += '_';
            snake += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        for (const std::string& spelled : {std::string(s.name), snake}) {
            const auto problems = problems_of(producer("\"" + spelled + "\" = 7"));
            const bool is_ours_too = ours.contains("producer." + spelled);  // unit_name is what Java's unitName is here
            if (is_ours_too)
                continue;
            ASSERT_EQ(problems.size(), 1u) << spelled;
            EXPECT_FALSE(problems[0].hint.empty());
            EXPECT_EQ(problems[0].hint.find("did you mean"), std::string::npos) << problems[0].hint;
        }
        if (s.key.empty())
            EXPECT_FALSE(s.note.empty()) << "it says why there is none";
        else
            EXPECT_TRUE(ours.contains(std::string(s.table) + "." + std::string(s.key))) << s.table << "." << s.key;
    }
}

// ---- the pages ----

std::string_view difference(value_form form)
{
    switch (form) {
    case value_form::milliseconds:
    case value_form::bytes: return "with a unit";
    case value_form::retries: return "one more";
    case value_form::servers: return "a list";
    case value_form::lower_case: return "in lower case";
    case value_form::none:
    case value_form::same:
    case value_form::latency_fault:
    case value_form::all_topics: break;
    }
    return "";
}

/// The table of a client's settings, as its page has it.
std::string table_of(other_client whose)
{
    std::string out = "| theirs | by default | here | |\n|---|---|---|---|\n";
    for (const other_setting& s : other_settings()) {
        if (s.whose != whose)
            continue;
        std::string here = "–";
        if (!s.key.empty())
            here = s.table == "producer" ? "`" + std::string(s.key) + "`" : "`" + std::string(s.key) + "` in `[" + std::string(s.table) + "]`";
        std::string words(difference(s.form));
        if (!words.empty() && !s.note.empty())
            words += "; ";
        words += s.note;
        out += "| `" + std::string(s.name) + "` | " + std::string(s.usual) + " | " + here + " | " + words + " |\n";
    }
    return out;
}

TEST(MigrationPages, ListEverySettingAsTheHintsKnowIt)
{
    const std::pair<other_client, const char*> pages[] = {
        {other_client::java, "java.md"}, {other_client::spring, "java.md"}, {other_client::cpp, "cpp.md"}, {other_client::go, "go.md"}};
    for (const auto& [whose, page] : pages) {
        std::ifstream in(shunt::test::in_source("/config/migration/") + page, std::ios::binary);
        std::ostringstream text;
        text << in.rdbuf();
        EXPECT_NE(text.str().find("\n" + table_of(whose)), std::string::npos)
            << page << ": the table of the " << to_string(whose) << " should be\n" << table_of(whose);
    }
}

}  // namespace
}  // namespace shunt::config
