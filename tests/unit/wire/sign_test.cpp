// Signatures: those of the official Java client can be told, and ours stand where brokers look for them.

#include <unit/wire/captured.hpp>
#include <unit/wire/worked_frames.hpp>
#include <wire/send.hpp>
#include <wire/sign.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace shunt::wire {
namespace {

using test::all_captured;
using test::captured;
using test::from_hex;
using test::to_hex;
using test::whole_frame;

std::vector<field> fields_of(const std::map<std::string, std::string, std::less<>>& all)
{
    std::vector<field> out;
    for (const auto& [name, value] : all)
        out.push_back({name, value});
    return out;
}

/// What a broker does: the fields as they came, the last of doubles, and the body.
std::string signature_of(std::string_view bytes, std::string_view secret)
{
    command_decoder decoder;
    command c;
    const frame f = whole_frame(bytes);
    EXPECT_TRUE(decoder.decode(f, c)) << decoder.error();
    std::map<std::string, std::string, std::less<>> last;
    for (const field& one : c.fields)
        last[std::string(one.name)] = one.value;
    std::vector<field> fields = fields_of(last);
    return signature_key(secret).sign(fields, f.body);
}

std::string field_of(std::string_view bytes, std::string_view name)
{
    command_decoder decoder;
    command c;
    EXPECT_TRUE(decoder.decode(whole_frame(bytes), c)) << decoder.error();
    return std::string(c.find(name).value_or(""));
}

TEST(Signature, OfTheJavaClientIsTheOneWeCompute)
{
    int seen = 0;
    for (const captured& c : all_captured()) {
        const std::string theirs = field_of(c.bytes, "Signature");
        if (!c.name.starts_with("acl-") || theirs.empty())
            continue;
        SCOPED_TRACE(c.name);
        EXPECT_EQ(signature_of(c.bytes, "rootSecret1"), theirs);
        EXPECT_NE(signature_of(c.bytes, "rootSecret2"), theirs);
        ++seen;
    }
    EXPECT_EQ(seen, 7);
}

TEST(Signature, IsOfTheKeyAfterManyOthers)
{
    const signature_key key("k");
    std::vector<field> one{{"b", "2"}, {"a", "1"}}, other{{"a", "1"}, {"Signature", "x"}, {"b", "2"}};
    const std::string first = key.sign(one, "body");
    EXPECT_EQ(first.size(), 28u);
    EXPECT_EQ(key.sign(other, "bo", "dy"), first) << "a signature there does not count, nor where the body is cut";
    EXPECT_NE(key.sign(other, "Body"), first);
    EXPECT_EQ(key.sign(one, "body"), first);
}

TEST(Signature, UnderAnEmptyKeyIsOneToo)
{
    std::vector<field> none;
    EXPECT_EQ(signature_key("").sign(none, ""), "+9sdGxiqbAgyS31ktx+3Y3BpDh0=");
}

struct Signer : testing::TestWithParam<header_format> {};

INSTANTIATE_TEST_SUITE_P(Form, Signer, testing::Values(header_format::json, header_format::binary),
                         [](const auto& of) { return of.param == header_format::json ? "Json" : "Binary"; });

TEST_P(Signer, AddsToAQuestionWhatABrokerChecks)
{
    const std::vector<field> own{{"topic", "T"}, {"remark", "quoted \"\\\x01 \xC3\xA4"}};
    outgoing head;
    head.code = 34;
    head.opaque = 7;
    head.fields = own;
    buffer out;
    out.put("before");
    const std::size_t start = out.size();
    encode(out, GetParam(), head, "{\"body\":1}");
    signer("ak", "secret", "token").sign(out, start, {});

    const std::string_view bytes = out.view().substr(start);
    EXPECT_EQ(out.view().substr(0, start), "before");
    EXPECT_EQ(field_of(bytes, "AccessKey"), "ak");
    EXPECT_EQ(field_of(bytes, "SecurityToken"), "token");
    EXPECT_EQ(field_of(bytes, "topic"), "T");
    EXPECT_EQ(field_of(bytes, "remark"), own[1].value);
    EXPECT_EQ(field_of(bytes, "Signature"), signature_of(bytes, "secret"));
    EXPECT_EQ(whole_frame(bytes).body, "{\"body\":1}");
}

TEST_P(Signer, SignsARequestWithoutFields)
{
    buffer out;
    encode(out, GetParam(), {.code = 106, .opaque = 1}, {});
    signer("ak", "secret", "").sign(out, 0, {});
    EXPECT_EQ(field_of(out.view(), "AccessKey"), "ak");
    EXPECT_EQ(field_of(out.view(), "SecurityToken"), "");
    EXPECT_EQ(field_of(out.view(), "Signature"), signature_of(out.view(), "secret"));
}

TEST_P(Signer, SignsABodyThatIsWrittenFromElsewhere)
{
    send_head head;
    head.group = "g";
    head.topic = "T";
    head.properties = "KEYS\x01k\x02";
    head.broker = "broker-a";
    const std::string body(10'000, 'b');
    buffer out;
    encode_send_head(out, GetParam(), code::send_message_v2, 3, false, head, body.size());
    signer("ak", "secret", "").sign(out, 0, body);
    out.put(body);
    EXPECT_EQ(whole_frame(out.view()).body, body);
    EXPECT_EQ(field_of(out.view(), "Signature"), signature_of(out.view(), "secret"));
    EXPECT_EQ(field_of(out.view(), "n"), "broker-a");
}

TEST(Signer, WritesTheWorkedFrame)
{
    send_head head;
    head.group = "PG_demo";
    head.topic = "TopicTest";
    head.queue_id = 2;
    head.born_ms = 1700000000000;
    head.properties = "KEYS\x01" "order-1\x02TAGS\x01TagA\x02UNIQ_KEY\x01" "0A00000512670A0B0C0D000186A00001\x02WAIT\x01true\x02";
    head.broker = "broker-a";
    buffer out;
    encode_send_head(out, header_format::binary, code::send_message_v2, 3, false, head, 5);
    signer("rocketmqAK", "rocketmqSK", "").sign(out, 0, "hello");
    out.put("hello");
    EXPECT_EQ(to_hex(out.view()), to_hex(from_hex(worked::send_signed_binary)));
}

}  // namespace
}  // namespace shunt::wire
