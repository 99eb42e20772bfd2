// Text that is no TOML, or no text: each is refused with its place and with words of its own, and reported alone.

#include "situation.hpp"

#include <config/text_scan.hpp>

namespace shunt::config {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

const char* const a_value = "a value";
const char* const once = "each key and table once";

std::string utf16(std::string_view text)
{
    std::string out = "\xff\xfe";
    for (const char c : text) {
        out += c;
        out += '\0';
    }
    return out;
}

const bad_row rows[] = {
    // A key or table twice.
    {"SameKeyTwice", "[producer]\nattempts = 1\n\n  attempts = 2\n", {at(4, 3, "", "'attempts' again", once, "it stands in line 2 already")}},
    {"SameKeyTwiceAtTheTop", "a = 1\na = 2\n", {at(2, 1, "", "'a' again", once, "it stands in line 1 already")}},
    {"SameTableTwice", "[producer]\nembedded = true\n\n[producer]\nattempts = 1\n", {at(4, 1, "", "'[producer]' again", once, "it stands in line 1 already")}},
    {"SameTableTwiceWithNothingBetween", "[producer]\n[producer]\n", {at(2, 1, "", "'[producer]' again", once, "it stands in line 1 already")}},
    {"DottedKeyThenItsTable", "log.level = \"off\"\n[log]\n", {at(2, 1, "", "'[log]' again", once, "it stands in line 1 already")}},
    {"TableThenItsDottedKey", "[a.b]\nc = 1\n[a]\nb.d = 2\n", {at(4, 1, "", "'b.d' again", once, "the table was made whole in line 1")}},
    {"ValueThenATableOfItsName", "[policies.default]\nselector = \"hash\"\n[policies.default.selector]\nuse = \"hash\"\n", {at(3, 1, "", "'[policies.default.selector]' again", once, "it stands in line 2 already")}},
    {"ValueThenATableInsideIt", "[policies.default]\nselector = \"hash\"\n[policies.default.selector.more]\nuse = \"hash\"\n", {at(3, 1, "", "'[policies.default.selector.more]' again", once, "it stands in line 2 already")}},
    {"InlineTableExtendedByATable", "[policies]\ndefault = { ordered = true }\n[policies.default.fault]\nuse = \"none\"\n", {at(3, 1, "", "'[policies.default.fault]' again", once, "the table was made whole in line 2")}},
    {"InlineTableExtendedByAKey", "[policies.default]\nfault = { use = \"none\" }\nfault.probe = \"1s\"\n", {at(3, 1, "", "'fault.probe' again", once, "the table was made whole in line 2")}},
    {"SameKeyTwiceInBraces", "[policies.default]\nfault = { use = \"none\", use = \"none\" }\n", {at(2, 25, "", "'use' again", once, "it stands in the same braces already")}},
    {"SameKeyTwiceInBracesAfterOtherLetters", "k = { \"ключ\" = 1, b = 2, b = 3 }\n", {at(1, 26, "", "'b' again", once, "it stands in the same braces already")}},
    {"ArrayThenArrayOfTables", "bindings = []\n[[bindings]]\n", {at(2, 1, "", "'[[bindings]]' again", once, "it stands in line 1 already")}},
    {"TableThenArrayOfTables", "[brokers]\nname = \"b\"\n[[brokers]]\n", {at(3, 1, "", "'[[brokers]]' again", once, "it stands in line 1 already")}},
    {"KeyTwiceInTheSecondOfATableArray", "[[brokers]]\nname = \"a\"\n[[brokers]]\nname = \"b\"\nname = \"c\"\n", {at(5, 1, "", "'name' again", once, "it stands in line 4 already")}},

    // No UTF-8 text.
    {"Utf16", utf16("[producer]\n"), {at(1, 1, "", "UTF-16 text", "UTF-8 text", "save the file as UTF-8")}},
    {"Utf16OfTheOtherOrder", "\xfe\xff\0["s, {at(1, 1, "", "UTF-16 text", "UTF-8 text", "save the file as UTF-8")}},
    {"Utf16WithoutMark", utf16("[producer]").substr(2), {at(1, 2, "", "a NUL byte", "UTF-8 text", "the file is not text, or is UTF-16")}},
    {"ByteOrderMarkInTheMiddle", "[producer]\n\xef\xbb\xbf" "embedded = true\n", {at(2, 1, "", "a byte order mark", "one at the very start of the file, or none")}},
    {"ByteOrderMarkInAString", "[producer]\ngroup = \"\xef\xbb\xbfg\"\n", {at(2, 10, "", "a byte order mark", "one at the very start of the file, or none")}},
    {"TwoByteOrderMarks", "\xef\xbb\xbf\xef\xbb\xbf[producer]\n", {at(1, 1, "", "a byte order mark", "one at the very start of the file, or none")}},
    {"NulByte", "[producer]\ngroup = \"a\0b\"\n"s, {at(2, 11, "", "a NUL byte", "UTF-8 text", "the file is not text, or is UTF-16")}},
    {"NulByteInAComment", "[producer] # \0\n"s, {at(1, 14, "", "a NUL byte", "UTF-8 text", "the file is not text, or is UTF-16")}},
    {"Latin1", "[producer]\ngroup = \"caf\xe9\"\n", {at(2, 13, "", "the byte 0xe9", "UTF-8 text", "save the file as UTF-8")}},
    {"OverlongUtf8", "[producer]\ngroup = \"\xc0\xaf\"\n", {at(2, 10, "", "the byte 0xc0", "UTF-8 text", "save the file as UTF-8")}},
    {"SurrogateInUtf8", "# ok\n# \xed\xa0\x80\n", {at(2, 3, "", "the byte 0xed", "UTF-8 text", "save the file as UTF-8")}},
    {"ColumnsCountCharacters", "# ключ\n# ключ \xff\n", {at(2, 8, "", "the byte 0xff", "UTF-8 text", "save the file as UTF-8")}},
    {"ControlCharacterInAString", "[producer]\ngroup = \"a\x01\"\n", {at(2, 11, "", "a control character in a string", "text", "write it as \\t, \\n or \\u00XX")}},
    {"ControlCharacterInAComment", "# a\x01\n[producer]\n", {at(1, 4, "", "a control character", "text")}},
    {"CarriageReturnAlone", "[producer]\nattempts = 1\rembedded = true\n", {at(2, 13, "", "a carriage return alone", "lines that end in LF or CRLF")}},

    // Nothing in it.
    {"Empty", "", {at(1, 1, "", "an empty file", "a [producer] table with name_servers, or with embedded = true")}},
    {"BlankLinesOnly", " \n\t\r\n", {at(1, 1, "", "an empty file", "a [producer] table with name_servers, or with embedded = true")}},
    {"ByteOrderMarkAlone", "\xef\xbb\xbf", {at(1, 1, "", "an empty file", "a [producer] table with name_servers, or with embedded = true")}},
    {"CommentsOnly", "# [producer]\n# embedded = true\n", {at(1, 1, "", "nothing but comments", "a [producer] table with name_servers, or with embedded = true")}},

    // Values without quotes, and other slips.
    {"WordWithoutQuotes", "[log]\nlevel = info\n", {at(2, 9, "", "info", a_value, "text, durations and sizes stand in quotes: \"info\"")}},
    {"DurationWithoutQuotes", "[producer]\nsend_timeout = 3s\n", {at(2, 16, "", "3s", a_value, "text, durations and sizes stand in quotes: \"3s\"")}},
    {"SizeWithoutQuotes", "[producer]\nmax_body = 4MiB # large\n", {at(2, 12, "", "4MiB", a_value, "text, durations and sizes stand in quotes: \"4MiB\"")}},
    {"AddressWithoutQuotes", "[producer]\nname_servers = [localhost:9876]\n", {at(2, 17, "", "localhost:9876", a_value, "text, durations and sizes stand in quotes: \"localhost:9876\"")}},
    {"YesForTrue", "[producer]\nembedded = yes\n", {at(2, 12, "", "yes", a_value, "did you mean true?")}},
    {"TrueInCapitals", "[producer]\nembedded = True\n", {at(2, 12, "", "True", a_value, "did you mean true?")}},
    {"OffForFalse", "[producer]\nembedded = off\n", {at(2, 12, "", "off", a_value, "did you mean false?")}},
    {"LeadingZero", "[producer]\nattempts = 03\n", {at(2, 12, "", "03", a_value, "a number has no leading zeroes")}},
    {"IntegerOverSixtyFourBits", "[producer]\nattempts = 9223372036854775808\n", {at(2, 12, "", "9223372036854775808", "a whole number from -9223372036854775808 to 9223372036854775807")}},
    {"IntegerOfManyDigits", "[producer]\nattempts = " + std::string(5000, '9') + "\n", {at(2, 12, "", std::string(60, '9') + "…", "a whole number from -9223372036854775808 to 9223372036854775807")}},
    {"HexOverSixtyFourBits", "[producer]\nattempts = 0x10000000000000000\n", {at(2, 12, "", "0x10000000000000000", "a whole number from -9223372036854775808 to 9223372036854775807")}},
    {"DateThatIsNone", "[producer]\nattempts = 2024-13-01\n", {at(2, 12, "", "2024-13-01", a_value, "expected month between 1 and 12 (inclusive)")}},
    {"NoValue", "[producer]\nattempts =\n", {at(2, 11, "", "the end of the line", a_value)}},
    {"NoEqualsSign", "[producer]\nattempts\n", {at(2, 9, "", "the end of the line", "'='")}},
    {"ColonForEqualsSign", "[producer]\nattempts: 3\n", {at(2, 9, "", "':'", "'='")}},
    {"TwoKeysInALine", "[producer]\nattempts = 3 embedded = true\n", {at(2, 14, "", "'e'", "the end of the line or a comment", "one key a line")}},
    {"KeyBehindATableHeader", "[producer] attempts = 3\n", {at(1, 12, "", "'a'", "the end of the line or a comment", "one key a line")}},
    {"TableHeaderLeftOpen", "[producer\nattempts = 3\n", {at(1, 10, "", "the end of the line", "']'")}},
    {"KeyOfOtherLetters", "[producer]\nключ = 1\n", {at(2, 1, "", "'к' without quotes", "text in quotes, or a comment", "bare keys are of A-Z a-z 0-9 - _")}},
    {"KeyWithAnotherLetter", "[producer]\ngr\xc3\xbcn = 1\n", {at(2, 3, "", "'ü' without quotes", "text in quotes, or a comment", "bare keys are of A-Z a-z 0-9 - _")}},
    {"ValueOfOtherLettersWithoutQuotes", "[log]\nlevel = выкл\n", {at(2, 9, "", "'в' without quotes", "text in quotes, or a comment", "bare keys are of A-Z a-z 0-9 - _")}},
    {"BlankOfAnotherKind", "[log]\nlevel\xc2\xa0= \"off\"\n", {at(2, 6, "", "'\xc2\xa0' without quotes", "text in quotes, or a comment", "bare keys are of A-Z a-z 0-9 - _")}},
    {"KeyThatIsAPunctuationMark", "[producer]\n!attempts = 1\n", {at(2, 1, "", "'!'", "a key, a table header or a comment", "keys are of A-Z a-z 0-9 - _, or stand in quotes")}},
    {"TableHeaderOfNoKey", "[producer]\nembedded = true\n[:log]\n[plugins]\n", {at(3, 1, "", "'[:log]'", "a table header", "keys are of A-Z a-z 0-9 - _, or stand in quotes")}},
    {"StringLeftOpen", "[producer]\ngroup = \"g1\nattempts = 3\n", {at(2, 12, "", "the end of the line in a string", "closing quotes")}},
    {"StringLeftOpenOnALineOfWindows", "[producer]\r\ngroup = 'g1\r\n", {at(2, 12, "", "the end of the line in a string", "closing quotes")}},
    {"StringOfManyLinesLeftOpen", "[producer]\ngroup = \"\"\"g1\nattempts = 3", {at(3, 13, "", "the end of the line in a string", "closing quotes")}},
    {"UnknownEscape", "[plugins]\npath = [\"C:\\plugins\"]\n", {at(2, 13, "", "unknown escape sequence '\\p'", "TOML syntax")}},
    {"ArrayLeftOpen", "[plugins]\npath = [\"a\",\n", {at(2, 13, "", "the end of the file", "a closing ']'")}},
    {"NoCommaInAnArray", "[plugins]\npath = [\"a\" \"b\"]\n", {at(2, 13, "", "'\"'", "comma or closing ']'")}},
    {"BracesOverTwoLines", "[policies.default]\nfault = { use = \"none\",\n  a = 1 }\n", {at(2, 24, "", "the end of the line", "key or closing '}'", "a table in braces stands on one line")}},
    {"CommaBeforeTheClosingBrace", "[policies.default]\nfault = { use = \"none\", }\n", {at(2, 25, "", "closing '}' (dangling comma)", "key-value pair")}},

    // Shapes no person writes.
    {"KeyOfManyParts", "[a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a]\n", {at(1, 33, "", "a key of many parts", "at most 16 parts between dots")}},
    {"KeyOfManyQuotedParts", "[\"a.b\".'c'.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a]\n", {at(1, 39, "", "a key of many parts", "at most 16 parts between dots")}},
    {"ArraysDeepInsideEachOther", "a = " + std::string(5000, '['), {at(1, 37, "", "arrays and tables deep inside each other", "at most 32 levels")}},
    {"LargerThanAConfiguration", std::string(max_file_bytes + 1, '#'), {at(0, 0, "", "1048577 bytes", "at most 1048576 bytes")}},
    {"LongLineIsNotRepeatedWhole", "[log]\nlevel = x" + std::string(100'000, 'y') + "\n", {at(2, 9, "", "x" + std::string(59, 'y') + "…", a_value, "text, durations and sizes stand in quotes")}},
    {"FirstSyntaxErrorAlone", "[producer]\nattempts = 99\nwhat = ever\nattempts = 1\n", {at(3, 8, "", "ever", a_value, "text, durations and sizes stand in quotes: \"ever\"")}},
};

class BrokenText : public testing::TestWithParam<bad_row> {};

TEST_P(BrokenText, IsRefusedWithItsPlaceAndAlone)
{
    EXPECT_EQ(problems_of(GetParam().text), GetParam().problems);
}

INSTANTIATE_TEST_SUITE_P(Rows, BrokenText, testing::ValuesIn(rows), claim_of);

TEST(ByteOrderMark, AtTheStartIsAcceptedAndNotCounted)
{
    EXPECT_EQ(good("\xef\xbb\xbf[producer]\ngroup = \"g1\"\nembedded = true\n").options.group, "g1");
    EXPECT_EQ(problems_of("\xef\xbb\xbf" "producer = 1\n"), std::vector{at(1, 12, "producer", "1", "a table")});
}

TEST(LineEnds, OfWindowsAreAccepted)
{
    EXPECT_EQ(good("[producer]\r\ngroup = \"g1\"\r\nembedded = true\r\n").options.group, "g1");
}

// However a file is cut or scrambled, it is read or refused in words: no crash, no exception, no problem without a place.
TEST(ScrambledText, IsReadOrRefusedInWords)
{
    const std::string whole =
        "[producer]\nname_servers = [\"h1:9876\", \"[::1]:9876\"] # é\n[policies.default]\nselector = { use = 'hash' }\n"
        "filters = [{ use = \"\"\"x\"\"\" }, { a.b = 1979-05-27T07:32:00Z }]\n[[bindings]]\ntopic = \"a*\"\npolicy = \"default\"\n";
    std::uint32_t state = 1;
    const auto next = [&](std::size_t below) {
        state = state * 1664525u + 1013904223u;
        return (state >> 8) % below;
    };
    const std::string_view bytes = "\"'[]{}=.,#\\\n\r\t \0\x01\xef\xbb\xbf\xff-+_09aeTZ:"sv;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = whole.substr(0, next(4) == 0 ? next(whole.size()) : whole.size());
        for (std::size_t i = next(4); i > 0 && !text.empty(); --i) {
            const std::size_t place = next(text.size());
            if (next(2) == 0)
                text[place] = bytes[next(bytes.size())];
            else
                text.insert(place, 1, bytes[next(bytes.size())]);
        }
        for (const problem& p : problems_of(text)) {
            ASSERT_NE(p.line, 0u) << text;
            ASSERT_NE(p.column, 0u) << text;
            ASSERT_FALSE(p.found.empty()) << text;
            ASSERT_FALSE(p.expected.empty()) << text;
        }
    }
}

}  // namespace
}  // namespace shunt::config
