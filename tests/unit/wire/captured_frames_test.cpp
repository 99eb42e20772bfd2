// Frames of the real client and servers: read as the text beside them says, and written again with the same content.

#include <unit/wire/captured.hpp>
#include <wire/batch.hpp>
#include <wire/bytes.hpp>
#include <wire/heartbeat.hpp>
#include <wire/send.hpp>
#include <wire/stored_message.hpp>

#include <gtest/gtest.h>

#include <set>

namespace shunt::wire {
namespace {

using test::all_captured;
using test::as_map;
using test::captured;
using test::captured_frame;
using test::to_hex;
using test::whole_frame;

TEST(CapturedFrames, AreAllThere)
{
    EXPECT_EQ(all_captured().size(), 218u);
}

TEST(CapturedFrames, ReadAsTheTextBesideThemSays)
{
    command_decoder decoder;
    for (const captured& c : all_captured()) {
        SCOPED_TRACE(c.name);
        const frame f = whole_frame(c.bytes);
        EXPECT_EQ(static_cast<int>(f.format), c.serialize_type);
        EXPECT_EQ(f.header.size(), c.header_size);
        EXPECT_EQ(f.body.size(), c.body_size);
        command got;
        ASSERT_TRUE(decoder.decode(f, got)) << decoder.error();
        EXPECT_EQ(got.code, c.code);
        EXPECT_EQ(got.opaque, c.opaque);
        EXPECT_EQ(got.flag, c.flag);
        EXPECT_EQ(got.version, c.version);
        EXPECT_EQ(got.language, c.language);
        EXPECT_EQ(got.remark, c.remark);
        EXPECT_EQ(as_map(got.fields), c.fields);
        // The Java client writes the fields of a signed send twice into a binary header: the last ones count.
        EXPECT_EQ(got.fields.size() > c.fields.size(), c.name == "acl-bin-send.req");
        for (const auto& [name, value] : c.fields)
            EXPECT_EQ(got.find(name), value);
    }
}

TEST(CapturedFrames, ArePartOfAStreamWhereverTheyAreCut)
{
    for (const captured& c : all_captured()) {
        SCOPED_TRACE(c.name);
        for (std::size_t size = 0; size < c.bytes.size(); ++size) {
            const scan_result r = scan(std::string_view{c.bytes}.substr(0, size));
            ASSERT_EQ(r.status, scan_status::need_more) << size << ": " << r.what;
            ASSERT_EQ(r.size, size < 4 ? 0 : c.bytes.size()) << size;
        }
    }
}

TEST(CapturedFrames, AreRefusedWhenTheirHeaderIsCut)
{
    command_decoder decoder;
    command got;
    for (const captured& c : all_captured()) {
        SCOPED_TRACE(c.name);
        frame f = whole_frame(c.bytes);
        const std::string_view header = f.header;
        for (std::size_t size = 0; size < header.size(); ++size) {
            // In memory of exactly this size, so that a sanitizer sees one byte too many.
            const auto copy = std::make_unique<char[]>(size);
            std::copy_n(header.begin(), size, copy.get());
            f.header = {copy.get(), size};
            ASSERT_FALSE(decoder.decode(f, got)) << size;
            ASSERT_FALSE(decoder.error().empty());
            ASSERT_TRUE(got.fields.empty());
        }
    }
}

TEST(CapturedFrames, AreWrittenAgainWithTheSameContent)
{
    command_decoder decoder;
    for (const captured& c : all_captured()) {
        SCOPED_TRACE(c.name);
        std::vector<field> fields;
        for (const auto& [name, value] : c.fields)
            fields.push_back({name, value});
        const outgoing head{.code = static_cast<std::int32_t>(c.code),
                            .opaque = static_cast<std::int32_t>(c.opaque),
                            .flag = static_cast<std::int32_t>(c.flag),
                            .version = static_cast<std::int32_t>(c.version),
                            .language = c.language,
                            .remark = c.remark,
                            .fields = fields};
        const std::string_view body = std::string_view{c.bytes}.substr(c.bytes.size() - c.body_size);
        for (const header_format format : {header_format::json, header_format::binary}) {
            buffer out;
            encode(out, format, head, body);
            const frame f = whole_frame(out.view());
            EXPECT_EQ(f.format, format);
            EXPECT_EQ(f.body, body);
            command got;
            ASSERT_TRUE(decoder.decode(f, got)) << decoder.error();
            EXPECT_EQ(got.code, c.code);
            EXPECT_EQ(got.opaque, c.opaque);
            EXPECT_EQ(got.flag, c.flag);
            EXPECT_EQ(got.version, c.version);
            EXPECT_EQ(got.language, c.language);
            EXPECT_EQ(got.remark, c.remark);
            EXPECT_EQ(as_map(got.fields), c.fields);
        }
    }
}

bool is_send(std::int64_t code)
{
    return code == code::send_message || code == code::send_message_v2 || code == code::send_batch_message ||
           code == code::send_reply_message_v2;
}

// What a send carries beside the fields of its own.
std::vector<field> extra_fields(const captured& c)
{
    static const std::set<std::string> extra{"AccessKey", "SecurityToken", "Signature", "ns", "nsd"};
    std::vector<field> out;
    for (const auto& [name, value] : c.fields) {
        if (extra.contains(name))
            out.push_back({name, value});
    }
    return out;
}

TEST(CapturedFrames, SendsAreWrittenFieldByFieldAndByteByByte)
{
    command_decoder decoder, again;
    int sends = 0;
    for (const captured& c : all_captured()) {
        if (!is_send(c.code) || (c.flag & flag_response) != 0)
            continue;
        SCOPED_TRACE(c.name);
        ++sends;
        const frame original = whole_frame(c.bytes);
        command request;
        ASSERT_TRUE(decoder.decode(original, request));
        send_head head;
        std::string_view what;
        ASSERT_TRUE(read_send_head(request, head, what)) << what;
        const std::vector<field> extra = extra_fields(c);
        head.extra = extra;
        for (const header_format format : {header_format::json, header_format::binary}) {
            buffer out;
            encode_send_head(out, format, request.code, request.opaque, request.is_oneway(), head, original.body.size());
            out.put(original.body);
            const frame f = whole_frame(out.view());
            EXPECT_EQ(f.format, format);
            EXPECT_EQ(to_hex(f.body), to_hex(original.body));
            command got;
            ASSERT_TRUE(again.decode(f, got)) << again.error();
            EXPECT_EQ(got.code, c.code);
            EXPECT_EQ(got.opaque, c.opaque);
            EXPECT_EQ(got.flag, c.flag);
            EXPECT_EQ(got.version, our_version);
            EXPECT_EQ(got.language, "CPP");
            EXPECT_EQ(as_map(got.fields), c.fields);
        }
    }
    EXPECT_GT(sends, 60);
}

TEST(CapturedFrames, BinarySendsAreTheSameBytesButForLanguageAndVersion)
{
    // Field order is ours to choose; the Java client happens to write these in the order we do.
    for (const char* name : {"bin-send.req", "bin-send-props.req", "bin-send-batch.req"}) {
        SCOPED_TRACE(name);
        const captured c = captured_frame(name);
        const frame original = whole_frame(c.bytes);
        command_decoder decoder;
        command request;
        ASSERT_TRUE(decoder.decode(original, request));
        send_head head;
        std::string_view what;
        ASSERT_TRUE(read_send_head(request, head, what)) << what;
        buffer out;
        encode_send_head(out, header_format::binary, request.code, request.opaque, false, head, original.body.size());
        out.put(original.body);

        std::string expected = c.bytes;
        expected[10] = 1;                     // language: CPP
        expected[11] = '\x01';
        expected[12] = static_cast<char>(0xdf);  // version 479
        EXPECT_EQ(to_hex(out.view()), to_hex(expected));
    }
}

TEST(CapturedFrames, StoredAnswersCarryWhereTheMessageLies)
{
    command_decoder decoder;
    int answers = 0;
    for (const captured& c : all_captured()) {
        if (!c.name.ends_with(".resp") || !c.fields.contains("queueOffset"))
            continue;
        SCOPED_TRACE(c.name);
        ++answers;
        command got;
        ASSERT_TRUE(decoder.decode(whole_frame(c.bytes), got));
        send_answer answer;
        ASSERT_TRUE(read_send_answer(got, answer));
        EXPECT_EQ(answer.offset_msg_id, c.fields.at("msgId"));
        EXPECT_EQ(std::to_string(answer.queue_id), c.fields.at("queueId"));
        EXPECT_EQ(std::to_string(answer.queue_offset), c.fields.at("queueOffset"));
        const auto given = [&c](const char* name) { return c.fields.contains(name) ? c.fields.at(name) : ""; };
        EXPECT_EQ(answer.transaction_id, given("transactionId"));
        EXPECT_EQ(answer.recall_handle, given("recallHandle"));
    }
    EXPECT_GT(answers, 30);
}

TEST(CapturedFrames, BatchBodiesAreReadAndWrittenAgain)
{
    struct item {
        int flag;
        std::string_view body;
        std::size_t properties;
    };
    const captured c = captured_frame("send-batch.req");
    const frame f = whole_frame(c.bytes);
    const item expected[] = {{0, "item 0", 96}, {1, "item 1 世界", 96}, {2, "item 2", 100}};
    std::string_view rest = f.body;
    batch_item got;
    std::string what;
    buffer again;
    for (const item& e : expected) {
        ASSERT_TRUE(read_batch_item(rest, got, what)) << what;
        EXPECT_EQ(got.flag, e.flag);
        EXPECT_EQ(got.body, e.body);
        EXPECT_EQ(got.properties.size(), e.properties);
        put_batch_item(again, got);
    }
    EXPECT_FALSE(read_batch_item(rest, got, what));
    EXPECT_EQ(what, "");
    EXPECT_EQ(to_hex(again.view()), to_hex(f.body));
}

TEST(CapturedFrames, ABodyThatIsNoBatchIsRefused)
{
    const captured c = captured_frame("err-1-batch-garbage.req");
    std::string_view rest = whole_frame(c.bytes).body;
    batch_item item;
    std::string what;

    EXPECT_FALSE(read_batch_item(rest, item, what));
    EXPECT_NE(what, "");
}

TEST(CapturedFrames, StoredMessagesAreReadAndWrittenAgain)
{
    const captured pull = captured_frame("read-11-pull-found.resp");
    const captured check = captured_frame("tx-check-from-broker");
    for (const captured* c : {&pull, &check}) {
        SCOPED_TRACE(c->name);
        const std::string_view body = whole_frame(c->bytes).body;
        std::string_view rest = body;
        stored_message m;
        std::string what;
        ASSERT_EQ(read_stored(rest, m, what), stored_status::message) << what;
        EXPECT_EQ(read_stored(rest, m, what), stored_status::end);
        EXPECT_EQ(body_crc(m.body), m.body_crc);
        buffer again;
        put_stored(again, m);
        EXPECT_EQ(to_hex(again.view()), to_hex(body));
    }
    std::string_view rest = whole_frame(pull.bytes).body;
    stored_message m;
    std::string what;
    ASSERT_EQ(read_stored(rest, m, what), stored_status::message) << what;
    EXPECT_EQ(m.body, "read me back");
    EXPECT_EQ(m.body_crc, 0x6be8bc2du);
    EXPECT_EQ(m.topic, "RT");
    EXPECT_EQ(m.queue_id, 3);
    EXPECT_EQ(m.queue_offset, 0);
    EXPECT_EQ(m.commit_log_offset, 4349002);
    EXPECT_EQ(m.born_ms, 1796036685747);
    EXPECT_EQ(m.born_host.port, 38254u);
    EXPECT_EQ(m.store_ms, 1796036685750);
    EXPECT_EQ(m.store_host.port, 20911u);
    EXPECT_EQ(m.properties.size(), 119u);
}

TEST(CapturedFrames, HeartbeatsNameTheirClientAndGroups)
{
    const captured c = captured_frame("heartbeat.req");
    const std::string_view body = whole_frame(c.bytes).body;
    heartbeat got;
    std::string what;

    ASSERT_TRUE(read_heartbeat(body, got, what)) << what;

    EXPECT_EQ(got.client_id, "192.0.2.2@frames");
    EXPECT_EQ(got.producer_groups, (std::vector<std::string>{"CLIENT_INNER_PRODUCER", "PG_frames"}));
    buffer again;
    put_heartbeat(again, got.client_id, std::array<std::string_view, 2>{"CLIENT_INNER_PRODUCER", "PG_frames"});
    EXPECT_EQ(again.view(), body);
}

}  // namespace
}  // namespace shunt::wire
