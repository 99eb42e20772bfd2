#include <unit/wire/captured.hpp>
#include <wire/command.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

class CommandDecoder : public testing::Test {
protected:
    bool decode_json(std::string_view header) { return decoder.decode({header_format::json, header, {}}, got); }
    bool decode_binary(std::string_view header) { return decoder.decode({header_format::binary, header, {}}, got); }

    // The value of field "k" in a JSON header, `value` being JSON.
    std::string json_value(std::string_view value)
    {
        text = "{\"extFields\":{\"k\":" + std::string{value} + "}}";
        EXPECT_TRUE(decode_json(text)) << decoder.error();
        return std::string{got.find("k").value_or("(absent)")};
    }

    command_decoder decoder;
    command got;
    std::string text;
};

TEST_F(CommandDecoder, TakesDefaultsForWhatIsMissingOrNull)
{
    for (const auto header : {"{}"sv, R"({"extFields":null,"remark":null,"language":null,"version":null,"opaque":null})"sv}) {
        ASSERT_TRUE(decode_json(header)) << decoder.error();
        EXPECT_EQ(got.code, 0);
        EXPECT_EQ(got.opaque, 0);
        EXPECT_EQ(got.flag, 0);
        EXPECT_EQ(got.version, 0);
        EXPECT_EQ(got.language, "");
        EXPECT_EQ(got.remark, "");
        EXPECT_TRUE(got.fields.empty());
    }
}

TEST_F(CommandDecoder, TakesMembersInAnyOrderWithBlanksAndStrangersBetween)
{
    ASSERT_TRUE(decode_json("\t{ \"x\" : [1, {\"y\": [true, null, -1.5e+3, \"\\\"}\"]}] ,\r\n\"version\" : 477 , \"remark\":\"r\", "
                            "\"flag\":1,\"zz\":{},\"extFields\" : { \"a\" : \"1\" , \"b\":\"2\" } , \"opaque\":-2147483648, "
                            "\"serializeTypeCurrentRPC\":\"JSON\",\"language\":\"GO\",\"code\":2147483647} \n"))
        << decoder.error();
    EXPECT_EQ(got.code, 2147483647);
    EXPECT_EQ(got.opaque, INT32_MIN);
    EXPECT_EQ(got.flag, 1);
    EXPECT_EQ(got.version, 477);
    EXPECT_EQ(got.language, "GO");
    EXPECT_EQ(got.remark, "r");
    EXPECT_EQ(test::as_map(got.fields), (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}));
}

TEST_F(CommandDecoder, TakesFieldValuesThatAreNotText)
{
    EXPECT_EQ(json_value("12"), "12");
    EXPECT_EQ(json_value("-0.5e7"), "-0.5e7");
    EXPECT_EQ(json_value("true"), "true");
    EXPECT_EQ(json_value("null"), "(absent)");
    EXPECT_EQ(json_value("\"\""), "");
    EXPECT_EQ(json_value("{\"a\":[1]}"), "{\"a\":[1]}");
}

TEST_F(CommandDecoder, TakesANumberInQuotesForANumber)
{
    ASSERT_TRUE(decode_json(R"({"code":"310","opaque":"-7"})"));
    EXPECT_EQ(got.code, 310);
    EXPECT_EQ(got.opaque, -7);
}

TEST_F(CommandDecoder, UndoesEscapes)
{
    EXPECT_EQ(json_value(R"("a\u0001b\u0002c")"), "a\x01"s + "b\x02"s + "c");
    EXPECT_EQ(json_value(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(json_value(R"("\u00e9\u4E2D\u0000")"), "é中\0"s);
    EXPECT_EQ(json_value(R"("\uD83D\uDE00")"), "😀");
    EXPECT_EQ(json_value(R"("raw 😀 \u007F")"), "raw 😀 \x7f");
}

TEST_F(CommandDecoder, TakesHalfASurrogatePairForTheReplacementCharacter)
{
    EXPECT_EQ(json_value(R"("\uD83D")"), "\xef\xbf\xbd");
    EXPECT_EQ(json_value(R"("\uDE00x")"), "\xef\xbf\xbdx");
    EXPECT_EQ(json_value(R"("\uD83D\u0041")"), "\xef\xbf\xbd" "A");
    EXPECT_EQ(json_value(R"("\uD83D\uD83D\uDE00")"), "\xef\xbf\xbd😀");
}

TEST_F(CommandDecoder, UndoesEscapesInNames)
{
    ASSERT_TRUE(decode_json(R"({"c\u006fde":7,"extFields":{"\u0061":"\u0062"}})")) << decoder.error();
    EXPECT_EQ(got.code, 7);
    EXPECT_EQ(got.find("a"), "b");
}

TEST_F(CommandDecoder, KeepsAllViewsWhileManyValuesAreUnescaped)
{
    std::string header = "{\"remark\":\"\\u0041remark\",\"extFields\":{";
    for (int i = 0; i < 500; ++i)
        header += (i == 0 ? "" : ",") + "\"\\u0066"s + std::to_string(i) + "\":\"\\u0001" + std::string(100, 'x') + std::to_string(i) + "\"";
    header += "}}";
    ASSERT_TRUE(decode_json(header)) << decoder.error();
    EXPECT_EQ(got.remark, "Aremark");
    ASSERT_EQ(got.fields.size(), 500u);
    for (int i = 0; i < 500; ++i)
        EXPECT_EQ(got.find("f" + std::to_string(i)), "\x01" + std::string(100, 'x') + std::to_string(i));
}

TEST_F(CommandDecoder, TakesTheLastOfDoubles)
{
    ASSERT_TRUE(decode_json(R"({"code":1,"extFields":{"old":"x"},"code":2,"extFields":{"a":"1","b":"2","a":"3"}})"));
    EXPECT_EQ(got.code, 2);
    EXPECT_EQ(got.find("a"), "3");
    EXPECT_EQ(got.find("b"), "2");
    EXPECT_EQ(got.find("old"), std::nullopt);
}

TEST_F(CommandDecoder, ReadsNumbersOfFields)
{
    ASSERT_TRUE(decode_json(R"({"extFields":{"a":"9223372036854775807","b":"-9223372036854775808","c":"9223372036854775808",
        "d":"","e":"-","f":" 1","g":"1x","h":"007","i":"99999999999999999999","j":5}})"));
    EXPECT_EQ(got.number("a"), INT64_MAX);
    EXPECT_EQ(got.number("b"), INT64_MIN);
    for (const char* bad : {"c", "d", "e", "f", "g", "i", "absent"})
        EXPECT_EQ(got.number(bad), std::nullopt) << bad;
    EXPECT_EQ(got.number("h"), 7);
    EXPECT_EQ(got.number("j"), 5);
}

TEST_F(CommandDecoder, RefusesWhatIsNoJsonHeader)
{
    for (const auto header : {""sv,
                              " "sv,
                              "null"sv,
                              "[]"sv,
                              "\"{}\""sv,
                              "{"sv,
                              "{]"sv,
                              "{}x"sv,
                              "{}{}"sv,
                              "{,}"sv,
                              "{\"code\":1,}"sv,
                              "{\"code\" 1}"sv,
                              "{code:1}"sv,
                              "{\"code\":}"sv,
                              "{\"code\":1 \"flag\":1}"sv,
                              "{\"code\":01}"sv,
                              "{\"code\":1.5}"sv,
                              "{\"code\":1e2}"sv,
                              "{\"code\":+1}"sv,
                              "{\"code\":-}"sv,
                              "{\"code\":2147483648}"sv,
                              "{\"code\":-2147483649}"sv,
                              "{\"code\":99999999999999999999999999}"sv,
                              "{\"code\":\"x\"}"sv,
                              "{\"code\":true}"sv,
                              "{\"code\":{}}"sv,
                              "{\"code\":nul}"sv,
                              "{\"extFields\":[]}"sv,
                              "{\"extFields\":\"a\"}"sv,
                              "{\"extFields\":{\"a\":\"1\",}}"sv,
                              "{\"extFields\":{\"a\":\"1\" \"b\":\"2\"}}"sv,
                              "{\"extFields\":{,\"a\":\"1\"}}"sv,
                              "{\"extFields\":{\"a\"\"1\"}}"sv,
                              "{\"remark\":\"\\x41\"}"sv,
                              "{\"remark\":\"\\u12\"}"sv,
                              "{\"remark\":\"\\u12g4\"}"sv,
                              "{\"remark\":\"\\"sv,
                              "{\"remark\":\"a"sv,
                              "{\"x\":tru}"sv,
                              "{\"x\":1.}"sv,
                              "{\"x\":1e}"sv,
                              "{\"x\":[1 2]}"sv,
                              "{\"x\":[1,]}"sv,
                              "{\"x\":[}"sv}) {
        EXPECT_FALSE(decode_json(header)) << header;
        EXPECT_TRUE(decoder.error().starts_with("JSON header, byte ")) << decoder.error();
    }
}

TEST_F(CommandDecoder, SaysWhereAJsonHeaderIsWrong)
{
    ASSERT_FALSE(decode_json("{\"code\" 1}"));
    EXPECT_EQ(decoder.error(), "JSON header, byte 8: found '1'; a colon must follow the name");
    ASSERT_FALSE(decode_json("{\"code\":1"));
    EXPECT_EQ(decoder.error(), "JSON header, byte 9: found the end; a comma or the closing bracket must stand here");
}

TEST_F(CommandDecoder, BoundsNesting)
{
    const auto nested = [](std::size_t depth) {
        return "{\"x\":" + std::string(depth, '[') + std::string(depth, ']') + "}";
    };
    EXPECT_TRUE(decode_json(nested(32))) << decoder.error();
    EXPECT_FALSE(decode_json(nested(33)));
    EXPECT_NE(decoder.error().find("too deep"), std::string::npos);
    EXPECT_FALSE(decode_json("{\"extFields\":{\"x\":" + std::string(100000, '[')));
    const auto objects = [](std::size_t depth) {
        std::string open;
        for (std::size_t i = 0; i < depth; ++i)
            open += "{\"y\":";
        return open + "1" + std::string(depth, '}');
    };
    EXPECT_TRUE(decode_json(objects(33))) << decoder.error() << " (the header itself and 32 in it)";
    EXPECT_FALSE(decode_json(objects(34)));
    EXPECT_FALSE(decode_json(objects(10000)));
}

TEST_F(CommandDecoder, BoundsTheNumberOfFields)
{
    const auto many = [](int n) {
        std::string header = "{\"extFields\":{";
        for (int i = 0; i < n; ++i)
            header += (i == 0 ? "\"a\":\"1\"" : ",\"a\":\"1\"");
        return header + "}}";
    };
    EXPECT_TRUE(decode_json(many(4096)));
    EXPECT_FALSE(decode_json(many(4097)));
}

TEST_F(CommandDecoder, NamesOnlyLanguagesItKnows)
{
    ASSERT_TRUE(decode_json(R"({"language":"KLINGON"})"));
    EXPECT_EQ(got.language, "");
    ASSERT_TRUE(decode_json(R"({"language":"NODE_JS"})"));
    EXPECT_EQ(got.language, "NODE_JS");
}

// --- binary ------------------------------------------------------------------------------------------------------------

// code 105, JAVA, version 477, opaque -2, flag 1, remark "hi", one field k = v.
constexpr auto binary_header = "\x00\x69\x00\x01\xdd\xff\xff\xff\xfe\x00\x00\x00\x01\x00\x00\x00\x02hi"
                               "\x00\x00\x00\x08\x00\x01k\x00\x00\x00\x01v"sv;

TEST_F(CommandDecoder, ReadsABinaryHeader)
{
    ASSERT_TRUE(decode_binary(binary_header)) << decoder.error();
    EXPECT_EQ(got.code, 105);
    EXPECT_EQ(got.language, "JAVA");
    EXPECT_EQ(got.version, 477);
    EXPECT_EQ(got.opaque, -2);
    EXPECT_EQ(got.flag, 1);
    EXPECT_EQ(got.remark, "hi");
    ASSERT_EQ(got.fields.size(), 1u);
    EXPECT_EQ(got.find("k"), "v");
}

TEST_F(CommandDecoder, RefusesEachCutOfABinaryHeader)
{
    for (std::size_t size = 0; size < binary_header.size(); ++size)
        EXPECT_FALSE(decode_binary(binary_header.substr(0, size))) << size;
    EXPECT_FALSE(decode_binary(std::string{binary_header} + "x")) << "one byte more";
}

TEST_F(CommandDecoder, RefusesBinaryLengthsThatLie)
{
    const auto with = [](std::size_t at, std::string_view bytes) {
        std::string h{binary_header};
        h.replace(at, bytes.size(), bytes);
        return h;
    };
    const std::size_t remark = 13, fields = 19, name = 23, value = 26;
    EXPECT_FALSE(decode_binary(with(remark, "\x7f\xff\xff\xff"sv)));
    EXPECT_FALSE(decode_binary(with(remark, "\xff\xff\xff\xff"sv)));
    EXPECT_FALSE(decode_binary(with(fields, "\x00\x00\x00\x09"sv)));
    EXPECT_FALSE(decode_binary(with(fields, "\x00\x00\x00\x07"sv)));
    EXPECT_FALSE(decode_binary(with(fields, "\x80\x00\x00\x00"sv)));
    EXPECT_FALSE(decode_binary(with(name, "\xff\xff"sv)));
    EXPECT_FALSE(decode_binary(with(name, "\x00\x09"sv)));
    EXPECT_FALSE(decode_binary(with(value, "\x00\x00\x00\x02"sv)));
    EXPECT_FALSE(decode_binary(with(value, "\xff\xff\xff\xff"sv)));
}

TEST_F(CommandDecoder, TakesEmptyBinaryNamesAndValuesForAbsent)
{
    ASSERT_TRUE(decode_binary("\x00\x0a\x01\x01\xdf\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"
                              "\x00\x00\x00\x15\x00\x01"
                              "e\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01x\x00\x01"
                              "a\x00\x00\x00\x00"sv))
        << decoder.error();
    EXPECT_TRUE(got.fields.empty());
    EXPECT_EQ(got.language, "CPP");
}

TEST_F(CommandDecoder, TakesTheLastOfBinaryDoubles)
{
    ASSERT_TRUE(decode_binary("\x00\x0a\x63\x01\xdf\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"
                              "\x00\x00\x00\x10\x00\x01k\x00\x00\x00\x01"
                              "1\x00\x01k\x00\x00\x00\x01"
                              "2"sv))
        << decoder.error();
    EXPECT_EQ(got.find("k"), "2");
    EXPECT_EQ(got.language, "") << "no language has the number 99";
}

// --- encoding ----------------------------------------------------------------------------------------------------------

std::string header_text(const outgoing& head)
{
    buffer out;
    encode(out, header_format::json, head, "");
    return std::string{test::whole_frame(out.view()).header};
}

TEST(Encode, WritesCompactJson)
{
    const field fields[] = {{"a", "1"}, {"gone", ""}, {"b", "\x01\x02\x1f\"\\/é😀\x7f"}};
    EXPECT_EQ(header_text({.code = 2, .opaque = -1, .flag = 1, .language = "JAVA", .remark = "no \"room\"\n", .fields = fields}),
              R"({"code":2,"extFields":{"a":"1","b":"\u0001\u0002\u001f\"\\/é😀)"
              "\x7f"
              R"("},"flag":1,"language":"JAVA","opaque":-1,"remark":"no \"room\"\u000a","version":479})");
}

TEST(Encode, WritesAnEmptyObjectForNoFields)
{
    EXPECT_EQ(header_text({.code = 34}),
              R"({"code":34,"extFields":{},"flag":0,"language":"CPP","opaque":0,"version":479})");
}

TEST(Encode, WritesJsonForWhatTheBinaryFormCannotSay)
{
    const std::string long_name(32768, 'n');
    const field long_field[] = {{long_name, "v"}};
    const outgoing cases[] = {{.code = 200050}, {.code = 32768}, {.code = -32769}, {.version = 40000}, {.fields = long_field}};
    for (const outgoing& head : cases) {
        buffer out;
        encode(out, header_format::binary, head, "");
        EXPECT_EQ(test::whole_frame(out.view()).format, header_format::json);
    }
    buffer out;
    encode(out, header_format::binary, {.code = 32767}, "");
    EXPECT_EQ(test::whole_frame(out.view()).format, header_format::binary);
}

TEST(Encode, AppendsToWhatIsThere)
{
    buffer out;
    encode(out, header_format::json, {.code = 34}, "one");
    const std::size_t first = out.size();
    encode(out, header_format::binary, {.code = 35, .language = "KLINGON"}, "two");

    EXPECT_EQ(scan(out.view()).size, first);
    const frame second = test::whole_frame(out.view().substr(first));
    EXPECT_EQ(second.body, "two");
    EXPECT_EQ(second.header[2], 7) << "OTHER";
}

TEST(Buffer, IsEmptyAfterItWasMovedFrom)
{
    buffer a;
    a.put("text");
    buffer b = std::move(a);
    EXPECT_EQ(b.view(), "text");
    EXPECT_EQ(a.size(), 0u);  // NOLINT: looked at on purpose
    a.put("again");
    EXPECT_EQ(a.view(), "again");
}

TEST(Buffer, PutsNumbersHighByteFirstAndDecimalsAsText)
{
    buffer b;
    b.put_u16(0x0102);
    b.put_u32(0x01020304);
    b.put_u64(0x0102030405060708);
    EXPECT_EQ(test::to_hex(b.view()), "0102010203040102030405060708");
    b.patch_u32(2, 0xfffefdfc);
    EXPECT_EQ(test::to_hex(b.view()), "0102fffefdfc0102030405060708");
    b.clear();
    b.put_decimal(INT64_MIN);
    b.put(' ');
    b.put_decimal(0);
    EXPECT_EQ(b.view(), "-9223372036854775808 0");
    b.consume(21);
    EXPECT_EQ(b.view(), "0");
}

}  // namespace
}  // namespace shunt::wire
