#include <unit/wire/captured.hpp>
#include <wire/properties.hpp>
#include <wire/send.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

using namespace std::string_view_literals;
using test::as_map;
using test::whole_frame;
using map = std::map<std::string, std::string>;

map sent_fields(const send_head& head, std::int32_t code, header_format format)
{
    buffer out;
    encode_send_head(out, format, code, 1, false, head, 0);
    command_decoder decoder;
    command got;
    EXPECT_TRUE(decoder.decode(whole_frame(out.view()), got)) << decoder.error();
    return as_map(got.fields);
}

send_head everything()
{
    send_head h;
    h.group = "g\"\\";
    h.topic = "t";
    h.default_topic = "D";
    h.default_topic_queues = 16;
    h.queue_id = -1;
    h.sys_flag = sys_zlib | sys_compressed;
    h.born_ms = 1;
    h.flag = INT32_MIN;
    h.properties = "K\x01v\x02";
    h.broker = "b";
    h.batch = true;
    h.unit_mode = true;
    return h;
}

TEST(SendHead, HasOneLetterNames)
{
    for (const auto format : {header_format::json, header_format::binary}) {
        EXPECT_EQ(sent_fields(everything(), code::send_message_v2, format),
                  (map{{"a", "g\"\\"}, {"b", "t"}, {"c", "D"}, {"d", "16"}, {"e", "-1"}, {"f", "769"}, {"g", "1"},
                       {"h", "-2147483648"}, {"i", "K\x01v\x02"}, {"j", "0"}, {"k", "true"}, {"m", "true"}, {"n", "b"}}));
    }
}

TEST(SendHead, HasLongNamesForTheOldCodes)
{
    for (const auto code : {code::send_message, code::send_reply_message}) {
        EXPECT_EQ(sent_fields(everything(), code, header_format::json),
                  (map{{"producerGroup", "g\"\\"}, {"topic", "t"}, {"defaultTopic", "D"}, {"defaultTopicQueueNums", "16"},
                       {"queueId", "-1"}, {"sysFlag", "769"}, {"bornTimestamp", "1"}, {"flag", "-2147483648"},
                       {"properties", "K\x01v\x02"}, {"reconsumeTimes", "0"}, {"unitMode", "true"}, {"batch", "true"},
                       {"bname", "b"}}));
    }
}

TEST(SendHead, LeavesOutWhatIsEmpty)
{
    send_head h = everything();
    h.properties = {};
    h.broker = {};
    const field extra[] = {{"ns", ""}, {"nsd", "true"}};
    h.extra = extra;
    const map got = sent_fields(h, code::send_message_v2, header_format::json);
    EXPECT_FALSE(got.contains("i"));
    EXPECT_FALSE(got.contains("n"));
    EXPECT_FALSE(got.contains("ns"));
    EXPECT_EQ(got.at("nsd"), "true");
}

TEST(SendHead, CountsTheBodyThatFollows)
{
    buffer out;
    encode_send_head(out, header_format::json, code::send_message_v2, 1, true, everything(), 1000);
    EXPECT_EQ(scan(out.view()).status, scan_status::need_more);
    EXPECT_EQ(scan(out.view()).size, out.size() + 1000);
    std::memset(out.grab(1000), 'x', 1000);
    out.advance(1000);
    command_decoder decoder;
    command got;
    ASSERT_TRUE(decoder.decode(whole_frame(out.view()), got));
    EXPECT_TRUE(got.is_oneway());
}

TEST(SendHead, HasRoomForTextsThatAreAllEscapes)
{
    const std::string control(32767, '\x01');
    send_head h = everything();
    h.group = h.topic = h.default_topic = h.broker = h.properties = control;
    const field extra[] = {{control, control}};
    h.extra = extra;
    EXPECT_EQ(sent_fields(h, code::send_message_v2, header_format::json).at("i"), control);
    EXPECT_EQ(sent_fields(h, code::send_message, header_format::binary).at(control), control);
}

TEST(SendHead, IsReadBackAsItWasWritten)
{
    for (const auto code : {code::send_message, code::send_message_v2, code::send_batch_message, code::send_reply_message_v2}) {
        buffer out;
        encode_send_head(out, header_format::binary, code, 9, false, everything(), 0);
        command_decoder decoder;
        command request;
        ASSERT_TRUE(decoder.decode(whole_frame(out.view()), request));
        send_head got;
        std::string_view what;
        ASSERT_TRUE(read_send_head(request, got, what)) << what;
        const send_head e = everything();
        EXPECT_EQ(got.group, e.group);
        EXPECT_EQ(got.topic, e.topic);
        EXPECT_EQ(got.default_topic, e.default_topic);
        EXPECT_EQ(got.default_topic_queues, e.default_topic_queues);
        EXPECT_EQ(got.queue_id, e.queue_id);
        EXPECT_EQ(got.sys_flag, e.sys_flag);
        EXPECT_EQ(got.born_ms, e.born_ms);
        EXPECT_EQ(got.flag, e.flag);
        EXPECT_EQ(got.properties, e.properties);
        EXPECT_EQ(got.broker, e.broker);
        EXPECT_EQ(got.batch, e.batch);
        EXPECT_EQ(got.unit_mode, e.unit_mode);
    }
}

std::string wrong_field(std::vector<field> fields, std::int32_t code)
{
    command request;
    request.code = code;
    request.fields = fields;
    send_head head;
    std::string_view what;
    return read_send_head(request, head, what) ? "" : std::string{what};
}

TEST(SendHead, NamesTheFieldThatIsMissingOrBad)
{
    const std::vector<field> enough = {{"b", "t"}, {"e", "0"}, {"f", "0"}, {"g", "1"}, {"h", "0"}};
    EXPECT_EQ(wrong_field(enough, code::send_message_v2), "");
    for (std::size_t i = 0; i < enough.size(); ++i) {
        auto fields = enough;
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_EQ(wrong_field(fields, code::send_message_v2), enough[i].name);
    }
    auto bad = enough;
    bad[1].value = "abc";
    EXPECT_EQ(wrong_field(bad, code::send_message_v2), "e");
    bad[1].value = "2147483648";
    EXPECT_EQ(wrong_field(bad, code::send_message_v2), "e");
    EXPECT_EQ(wrong_field(enough, code::send_message), "topic") << "long names are wanted";
}

command answer_with(std::span<const field> fields)
{
    command c;
    c.fields = fields;
    return c;
}

TEST(SendAnswer, HasAllThatBrokersTell)
{
    const field fields[] = {{"batchUniqId", "u"},   {"msgId", "A,B"},         {"queueId", "7"},     {"queueOffset", "-1"},
                            {"recallHandle", "r"}, {"transactionId", "t"}, {"TRACE_ON", "true"}};
    send_answer a;
    ASSERT_TRUE(read_send_answer(answer_with(fields), a));
    EXPECT_EQ(a.offset_msg_id, "A,B");
    EXPECT_EQ(a.queue_id, 7);
    EXPECT_EQ(a.queue_offset, -1);
    EXPECT_EQ(a.recall_handle, "r");
    EXPECT_EQ(a.transaction_id, "t");
    EXPECT_EQ(a.batch_uniq_id, "u");
}

TEST(SendAnswer, IsRefusedWithoutItsPlace)
{
    const field all[] = {{"msgId", "A"}, {"queueId", "7"}, {"queueOffset", "1"}};
    send_answer a;
    EXPECT_TRUE(read_send_answer(answer_with(all), a));
    EXPECT_FALSE(read_send_answer(answer_with(std::span{all}.first(2)), a));
    EXPECT_FALSE(read_send_answer(answer_with(std::span{all}.last(2)), a));
    for (const auto bad : {""sv, "x"sv, "1x"sv, "99999999999999999999"sv}) {
        const field queue[] = {{"msgId", "A"}, {"queueId", bad}, {"queueOffset", "1"}};
        const field offset[] = {{"msgId", "A"}, {"queueId", "1"}, {"queueOffset", bad}};
        EXPECT_FALSE(read_send_answer(answer_with(queue), a)) << bad;
        EXPECT_FALSE(read_send_answer(answer_with(offset), a)) << bad;
    }
}

}  // namespace
}  // namespace shunt::wire
