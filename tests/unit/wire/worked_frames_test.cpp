// The encoders, byte for byte, against frames that were worked out without them.

#include <unit/wire/captured.hpp>
#include <unit/wire/worked_frames.hpp>
#include <wire/batch.hpp>
#include <wire/heartbeat.hpp>
#include <wire/properties.hpp>
#include <wire/send.hpp>
#include <wire/stored_message.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

using namespace std::string_view_literals;
using test::from_hex;
using test::to_hex;

constexpr auto uniq_key = "0A00000512670A0B0C0D000186A00001"sv;

std::string properties(std::initializer_list<std::pair<std::string_view, std::string_view>> all)
{
    buffer out;
    for (const auto& [name, value] : all)
        put_property(out, name, value);
    return std::string{out.view()};
}

send_head demo_head(std::string_view props)
{
    send_head h;
    h.group = "PG_demo";
    h.topic = "TopicTest";
    h.queue_id = 2;
    h.born_ms = 1700000000000;
    h.properties = props;
    h.broker = "broker-a";
    return h;
}

const std::string demo_properties =
    properties({{"KEYS", "order-1"}, {"TAGS", "TagA"}, {"UNIQ_KEY", uniq_key}, {"WAIT", "true"}});

TEST(WorkedFrame, RouteRequest)
{
    const field fields[] = {{"topic", "TopicTest"}, {"acceptStandardJsonOnly", "true"}};
    const outgoing head{.code = code::get_route_by_topic, .opaque = 1, .fields = fields};
    buffer json, binary;

    encode(json, header_format::json, head, "");
    encode(binary, header_format::binary, head, "");

    EXPECT_EQ(to_hex(json.view()), to_hex(from_hex(worked::route_request)));
    EXPECT_EQ(to_hex(binary.view()), to_hex(from_hex(worked::route_request_binary)));
}

TEST(WorkedFrame, Send)
{
    buffer out;

    encode_send_head(out, header_format::json, code::send_message_v2, 2, false, demo_head(demo_properties), 5);
    out.put("hello");

    EXPECT_EQ(to_hex(out.view()), to_hex(from_hex(worked::send)));
}

TEST(WorkedFrame, SignedSendWithABinaryHeader)
{
    const field credentials[] = {{"AccessKey", "rocketmqAK"}, {"Signature", "LIntal/X7U8shFL8rBE5y1PGok0="}};
    send_head head = demo_head(demo_properties);
    head.extra = credentials;
    buffer out;

    encode_send_head(out, header_format::binary, code::send_message_v2, 3, false, head, 5);
    out.put("hello");

    EXPECT_EQ(to_hex(out.view()), to_hex(from_hex(worked::send_signed_binary)));
}

TEST(WorkedFrame, SendAnswer)
{
    const std::string bytes = from_hex(worked::send_answer);
    command_decoder decoder;
    command c;

    ASSERT_TRUE(decoder.decode(test::whole_frame(bytes), c)) << decoder.error();

    EXPECT_EQ(c.code, response::success);
    EXPECT_EQ(c.opaque, 2);
    EXPECT_TRUE(c.is_response());
    EXPECT_EQ(c.language, "JAVA");
    EXPECT_EQ(c.version, 479);
    send_answer answer;
    ASSERT_TRUE(read_send_answer(c, answer));
    EXPECT_EQ(answer.offset_msg_id, "7F00000100002A9F0000000000001234");
    EXPECT_EQ(answer.queue_id, 2);
    EXPECT_EQ(answer.queue_offset, 57);
    EXPECT_EQ(answer.transaction_id, uniq_key);
    EXPECT_EQ(c.find("MSG_REGION"), "DefaultRegion");
    EXPECT_EQ(c.find("TRACE_ON"), "true");
}

TEST(WorkedFrame, HeartBeat)
{
    buffer body, out;
    put_heartbeat(body, "10.0.0.5@4711#123456789", std::array{"PG_demo"sv});

    encode(out, header_format::json, {.code = code::heart_beat, .opaque = 4}, body.view());

    EXPECT_EQ(to_hex(out.view()), to_hex(from_hex(worked::heart_beat)));
}

TEST(WorkedFrame, BatchWithABinaryHeader)
{
    const std::string first = properties({{"UNIQ_KEY", "0A00000512670A0B0C0D000186A00002"}, {"WAIT", "true"}});
    const std::string second = properties({{"UNIQ_KEY", "0A00000512670A0B0C0D000186A00003"}, {"WAIT", "true"}});
    const std::string whole = properties({{"UNIQ_KEY", "0A00000512670A0B0C0D000186A00004"}, {"WAIT", "true"}});
    const batch_item items[] = {{0, "m1", first}, {0, "m2!", second}};
    send_head head = demo_head(whole);
    head.batch = true;
    buffer out;

    encode_send_head(out, header_format::binary, code::send_batch_message, 5, false, head,
                     batch_item_size(items[0]) + batch_item_size(items[1]));
    for (const batch_item& item : items)
        put_batch_item(out, item);

    EXPECT_EQ(to_hex(out.view()), to_hex(from_hex(worked::send_batch_binary)));
}

TEST(WorkedFrame, EndTransaction)
{
    const field fields[] = {{"bname", "broker-a"},          {"commitLogOffset", "4660"},
                            {"commitOrRollback", "8"},      {"fromTransactionCheck", "false"},
                            {"msgId", uniq_key},            {"producerGroup", "PG_demo"},
                            {"topic", "TopicTest"},         {"tranStateTableOffset", "57"},
                            {"transactionId", uniq_key}};
    buffer out;

    encode(out, header_format::json,
           {.code = code::end_transaction, .opaque = 6, .flag = flag_oneway, .fields = fields}, "");

    EXPECT_EQ(to_hex(out.view()), to_hex(from_hex(worked::end_transaction)));
}

TEST(WorkedFrame, BusyAnswerWithoutFields)
{
    const std::string bytes = from_hex(worked::busy_answer);
    command_decoder decoder;
    command c;

    ASSERT_TRUE(decoder.decode(test::whole_frame(bytes), c)) << decoder.error();

    EXPECT_EQ(c.code, response::system_busy);
    EXPECT_EQ(c.remark, "[TIMEOUT_CLEAN_QUEUE]broker busy");
    EXPECT_TRUE(c.fields.empty());
    send_answer answer;
    EXPECT_FALSE(read_send_answer(c, answer));
}

TEST(WorkedFrame, StoredMessage)
{
    const std::string bytes = from_hex(worked::stored);
    std::string_view rest = bytes;
    stored_message m;
    std::string what;

    ASSERT_EQ(read_stored(rest, m, what), stored_status::message) << what;

    EXPECT_TRUE(rest.empty());
    EXPECT_EQ(m.topic, "TopicTest");
    EXPECT_EQ(m.body, "hello");
    EXPECT_EQ(m.body_crc, 0x3610a686u);
    EXPECT_EQ(m.queue_id, 2);
    EXPECT_EQ(m.queue_offset, 57);
    EXPECT_EQ(m.commit_log_offset, 4660);
    EXPECT_EQ(m.born_ms, 1700000000000);
    EXPECT_EQ(m.born_host.address[0], 10);
    EXPECT_EQ(m.born_host.address[3], 5);
    EXPECT_EQ(m.born_host.port, 40000u);
    EXPECT_EQ(m.store_ms, 1700000000123);
    EXPECT_EQ(m.store_host.address[0], 127);
    EXPECT_EQ(m.store_host.port, 10911u);
    EXPECT_EQ(m.properties, properties({{"TAGS", "TagA"}, {"UNIQ_KEY", uniq_key}}));

    buffer again;
    put_stored(again, m);
    EXPECT_EQ(to_hex(again.view()), to_hex(bytes));
}

TEST(WorkedFrame, LegacyRouteAnswer)
{
    const std::string bytes = from_hex(worked::legacy_route_answer);
    command_decoder decoder;
    command c;

    const frame f = test::whole_frame(bytes);
    ASSERT_TRUE(decoder.decode(f, c)) << decoder.error();

    EXPECT_EQ(c.version, 477);
    EXPECT_EQ(c.opaque, 1);
    EXPECT_EQ(f.body.size(), 280u);
}

}  // namespace
}  // namespace shunt::wire
