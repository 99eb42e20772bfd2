// Recall handles, names in namespaces, text that is UTF-8.

#include <wire/recall.hpp>
#include <wire/resource_name.hpp>
#include <wire/utf8.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

TEST(RecallHandle, IsTheOneABrokerGave)
{
    const std::string given = "djEgRnJhbWVUIGJyb2tlci1hIDE3OTYwMzUwMjcwMDEgRkQwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDIzNjA2MzA5NDZFMDk5NzlFRDA3QjAwMDA=";
    const auto parts = read_recall_handle(given);
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->topic, "FrameT");
    EXPECT_EQ(parts->broker, "broker-a");
    EXPECT_EQ(parts->time_ms, 1796035027001);
    EXPECT_EQ(parts->unique_key, "FD000000000000000000000000000002360630946E09979ED07B0000");
    EXPECT_EQ(recall_handle(parts->topic, parts->broker, parts->time_ms, parts->unique_key), given);
}

TEST(RecallHandle, RefusesWhatNoBrokerGives)
{
    for (const char* text : {"", "djEg", "not base64!", "djEgVCBicm9rZXItYSBub3VnaHQgSw==" /* the time is no number */,
                             "djIgVCBicm9rZXItYSAxIEs=" /* v2 */, "djEgVCBicm9rZXItYSAx" /* four parts */})
        EXPECT_FALSE(read_recall_handle(text)) << text;
    EXPECT_TRUE(read_recall_handle(recall_handle("T", "b", 1, "K")));
}

TEST(Namespace, StandsBeforeTopicsAndGroupsAndBehindTheirPrefix)
{
    EXPECT_EQ(in_namespace("NS", "T"), "NS%T");
    EXPECT_EQ(in_namespace("NS", "%RETRY%g"), "%RETRY%NS%g");
    EXPECT_EQ(in_namespace("NS", "%DLQ%g"), "%DLQ%NS%g");
    EXPECT_EQ(in_namespace("", "T"), "T");
    EXPECT_EQ(in_namespace("NS", "NS%T"), "NS%T") << "once is enough";
    EXPECT_EQ(in_namespace("NS", "NST"), "NS%NST");
    for (const char* system : {"TBW102", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_x", "SCHEDULE_TOPIC_XXXX"})
        EXPECT_EQ(in_namespace("NS", system), system);
}

TEST(Namespace, IsTakenOffAgain)
{
    for (const char* name : {"T", "%RETRY%g", "%DLQ%g", "TBW102"})
        EXPECT_EQ(without_namespace("NS", in_namespace("NS", name)), name);
    EXPECT_EQ(without_namespace("NS", "OTHER%T"), "OTHER%T");
    EXPECT_EQ(without_namespace("", "NS%T"), "NS%T");
}

TEST(Utf8, IsWhatRfc3629Says)
{
    for (const char* text : {"", "plain", "\xc3\xa9", "\xe5\x8c\x97", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(text)) << text;
    for (const char* bytes : {"\xff", "\x80", "a\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
        EXPECT_FALSE(is_utf8(bytes));
}

}  // namespace
}  // namespace shunt::wire
