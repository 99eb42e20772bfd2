// What an attempt's end means: for the message, for another attempt, for the broker, for the route.

#include "printing.hpp"

#include <send/classify.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace shunt::send {
namespace {

meaning of(ending how) { return classify({.how = how}, rules::live); }
meaning of_code(std::int32_t code, std::string_view text = {}, rules r = rules::live)
{
    return classify({.how = ending::answered, .code = code, .text = text}, r);
}

// ---- without an answer ----

struct ending_row {
    ending how;
    shunt::outcome out;
    bool retry, refresh;
    std::optional<std::int32_t> feedback;
};

TEST(Classify, TellsApartTheEndsWithoutAnAnswer)
{
    const ending_row rows[] = {
        {ending::refused, outcome::not_sent, true, true, SHUNT_FB_UNREACHABLE},
        {ending::unconnected, outcome::not_sent, true, true, SHUNT_FB_EXPIRED},
        {ending::dropped, outcome::unknown, true, true, SHUNT_FB_FAILED},
        {ending::garbled, outcome::unknown, true, true, SHUNT_FB_FAILED},
        {ending::expired, outcome::unknown, true, true, SHUNT_FB_EXPIRED},
        {ending::written, outcome::unknown, false, false, std::nullopt},
        {ending::cancelled, outcome::not_sent, false, false, std::nullopt},
    };
    for (const ending_row& row : rows) {
        SCOPED_TRACE(testing::PrintToString(row.how));
        for (const rules r : {rules::contract, rules::live}) {
            const meaning m = classify({.how = row.how}, r);
            EXPECT_EQ(m.outcome, row.out);
            EXPECT_EQ(m.retry, row.retry);
            EXPECT_EQ(m.refresh_route, row.refresh);
            EXPECT_EQ(m.feedback, row.feedback);
            EXPECT_FALSE(m.await_refresh);
            EXPECT_FALSE(m.put_aside);
        }
    }
    EXPECT_EQ(of(ending::refused).outcome, outcome::not_sent);
}

// ---- codes ----

const std::vector<std::int32_t> stored_codes{0, 10, 11, 12};
const std::vector<std::int32_t> tried_again{1, 2, 14, 16, 17, 204, 205, 1500};
const std::vector<std::int32_t> broker_faults{1, 2, 14};

bool in(const std::vector<std::int32_t>& list, std::int32_t code) { return std::find(list.begin(), list.end(), code) != list.end(); }

TEST(Classify, JudgesEveryCodeOfTheWireAsTheContractSays)
{
    for (std::int32_t code = -1; code <= 32767; ++code) {
        const meaning m = of_code(code, {}, rules::contract);
        ASSERT_EQ(is_stored(code), in(stored_codes, code)) << code;
        ASSERT_EQ(m.outcome, in(stored_codes, code) ? outcome::stored : outcome::rejected) << code;
        ASSERT_EQ(m.retry, in(tried_again, code)) << code;
        ASSERT_FALSE(m.refresh_route || m.await_refresh || m.put_aside) << "in scenarios nothing but steps changes the route: " << code;
        const std::optional<std::int32_t> feedback = in(stored_codes, code)    ? std::optional<std::int32_t>(SHUNT_FB_GOOD)
                                                     : in(broker_faults, code) ? std::optional<std::int32_t>(SHUNT_FB_FAILED)
                                                                               : std::nullopt;
        ASSERT_EQ(m.feedback, feedback) << code;
    }
}

TEST(Classify, JudgesACodeWithoutTextLiveAsInScenariosButForTheRoute)
{
    for (std::int32_t code = 0; code <= 2000; ++code) {
        const meaning contract = of_code(code, {}, rules::contract), live = of_code(code);
        ASSERT_EQ(live.outcome, contract.outcome) << code;
        ASSERT_EQ(live.feedback, contract.feedback) << code;
        ASSERT_EQ(live.retry, contract.retry || code == 501) << code;
        ASSERT_EQ(live.refresh_route, code == 17 || code == 501) << code;
        ASSERT_EQ(live.put_aside, code == 17) << code;
        ASSERT_EQ(live.await_refresh, code == 501) << code;
    }
}

// ---- texts of real brokers ----

struct text_row {
    std::int32_t code;
    const char* text;
    bool final;  // the message's or the caller's fault: no retry, no feedback
};

// Taken from brokers 4.x to 5.5.
constexpr text_row texts[] = {
    {1, "java.lang.NullPointerException: Cannot read the array length because \"<local8>\" is null, org.apache", true},
    {1, "java.lang.NumberFormatException: For input string: \"abc\", java.base/java.lang", true},
    {1, "java.lang.IllegalArgumentException: newPosition > limit: (1634495599 > 20), java.base", true},
    {1, "java.nio.BufferUnderflowException, java.base/java.nio", true},
    {1, "java.lang.RuntimeException: message body size exceeded, org.apache.rocketmq", true},
    {1, "org.apache.rocketmq.acl.common.AclException: No accessKey is configured, org", true},
    {1, "org.apache.rocketmq.acl.common.AclException: Check signature failed for accessKey=RocketMQ, org", true},
    {1, "accurate timer message is not enabled, timerWheelEnable is false", true},
    {1, "The specified topic is blank.", true},
    {1, "The specified topic[a b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$", true},
    {1, "broker unable to service, until 2026-11-30 11:05:41,207", false},
    {1, "", false},
    {1, "create mapped file failed, server is busy or broken.", false},
    {16, "username cannot be null.", true},
    {16, "User:nobody is not found.", true},
    {16, "check signature failed.", true},
    {16, "User:app has no permission to access Topic:AT from 127.0.0.1, no matched policies.", true},
    {16, "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden.", true},
    {16, "the broker[127.0.0.1] sending transaction message is forbidden", true},
    {16, "the broker[127.0.0.1] sending message is forbidden", false},
    {16, "", false},
    {2, "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 1ms, size of queue: 5", false},
    {2, "check signature failed.", false},
    {14, "service not available now. It may be caused by one of the following reasons: the broker's disk is full", false},
};

TEST(Classify, HeedsTextsThatBlameTheMessageOrTheCaller)
{
    for (const text_row& row : texts) {
        SCOPED_TRACE(row.text);
        const meaning m = of_code(row.code, row.text);
        EXPECT_EQ(blames_message(row.code, row.text), row.final);
        EXPECT_EQ(m.outcome, outcome::rejected);
        EXPECT_EQ(m.retry, !row.final);
        const bool of_the_broker = !row.final && row.code != 16;
        EXPECT_EQ(m.feedback, of_the_broker ? std::optional<std::int32_t>(SHUNT_FB_FAILED) : std::nullopt);
    }
}

TEST(Classify, HeedsNoTextsInScenarios)
{
    for (const text_row& row : texts) {
        const meaning m = of_code(row.code, row.text, rules::contract);
        EXPECT_TRUE(m.retry) << row.text;
    }
}

// ---- codes that say the route is old ----

TEST(Classify, PutsABrokerThatDoesNotKnowTheTopicAsideForItOnly)
{
    const meaning m = of_code(17, "topic[T] not exist, apply first please!");
    EXPECT_EQ(m.outcome, outcome::rejected);
    EXPECT_TRUE(m.retry);
    EXPECT_TRUE(m.put_aside);
    EXPECT_TRUE(m.refresh_route);
    EXPECT_FALSE(m.await_refresh) << "another broker may have it: no need to wait";
    EXPECT_EQ(m.feedback, std::nullopt) << "other topics of the broker are not concerned";
}

TEST(Classify, WaitsForTheNewRouteWhereTheQueueIsNotThereAnyMore)
{
    const std::pair<std::int32_t, const char*> rows[] = {
        {29, "request queueId[4] is illegal, TopicConfig [topicName=RT, readQueueNums=4, writeQueueNums=4] Producer: 127.0.0.1:1"},
        {1, "request queueId[4] is illegal, TopicConfig [topicName=RT, readQueueNums=4, writeQueueNums=4] Producer: 127.0.0.1:1"},
        {501, "logical queue 3 moved"},
    };
    for (const auto& [code, text] : rows) {
        SCOPED_TRACE(code);
        const meaning m = of_code(code, text);
        EXPECT_TRUE(m.retry);
        EXPECT_TRUE(m.refresh_route);
        EXPECT_TRUE(m.await_refresh);
        EXPECT_FALSE(m.put_aside);
        EXPECT_EQ(m.feedback, std::nullopt);
    }
}

TEST(Classify, DoesNotRepeatWhatA29SaysOfTheTopicsName)
{
    const meaning m = of_code(29, "The specified topic is longer than topic max length.");
    EXPECT_FALSE(m.retry);
    EXPECT_FALSE(m.refresh_route);
    EXPECT_EQ(m.feedback, std::nullopt);
}

TEST(Classify, RetriesWhatTheApplicationChose)
{
    const std::vector<std::int32_t> only{2, 13};
    const retry_rules chosen{.codes = only, .unknown = false, .flush_late = true};
    const auto retried = [&](const attempt_result& r) { return classify(r, rules::live, chosen).retry; };
    EXPECT_TRUE(retried({.how = ending::answered, .code = 2}));
    EXPECT_TRUE(retried({.how = ending::answered, .code = 13}));
    EXPECT_FALSE(retried({.how = ending::answered, .code = 14}));
    for (const ending how : {ending::dropped, ending::garbled, ending::expired})
        EXPECT_FALSE(retried({.how = how}));
    EXPECT_TRUE(retried({.how = ending::refused})) << "certainly not stored";
    EXPECT_TRUE(retried({.how = ending::answered, .code = 11}));
    EXPECT_FALSE(retried({.how = ending::answered, .code = 0}));
    EXPECT_EQ(classify({.how = ending::answered, .code = 11}, rules::live, chosen).outcome, outcome::stored);
    EXPECT_TRUE(retried({.how = ending::answered, .code = 501})) << "a queue that moved is always looked for";
}

TEST(Classify, TriesElsewhereWhenABrokerIsLeaving)
{
    const meaning m = of_code(1500, "the server is shutting down");
    EXPECT_TRUE(m.retry);
    EXPECT_EQ(m.feedback, std::nullopt) << "a restart is no fault";
}

}  // namespace
}  // namespace shunt::send
