#include <unit/wire/captured.hpp>
#include <wire/text.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

std::string decimal(std::int64_t v)
{
    char out[decimal_room];
    return {out, put_decimal(out, v)};
}

TEST(Decimal, HasEveryLengthRight)
{
    std::uint64_t power = 1;
    for (int digits = 1; digits <= 19; ++digits, power *= 10) {
        const auto v = static_cast<std::int64_t>(power);
        for (const std::int64_t n : {v, v - 1, v + 1, v + v / 3, -v, v / 7})
            EXPECT_EQ(decimal(n), std::to_string(n));
    }
    EXPECT_EQ(decimal(INT64_MAX), "9223372036854775807");
    EXPECT_EQ(decimal(INT64_MIN), "-9223372036854775808");
    EXPECT_EQ(decimal(100000000), "100000000");
    EXPECT_EQ(decimal(10000000000000001), "10000000000000001");
}

// The plain way, a character at a time.
std::string escaped(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        char hex[8];
        std::snprintf(hex, sizeof hex, "\\u%04x", static_cast<unsigned>(c));
        if (c == '"' || c == '\\')
            out.append(1, '\\').append(1, c);
        else if (c >= 0 && c < 0x20)
            out += hex;
        else
            out += c;
    }
    return out;
}

std::string json_text(std::string_view text)
{
    // Memory of exactly the stated sizes, on both sides.
    const auto in = std::make_unique<char[]>(text.size());
    std::copy(text.begin(), text.end(), in.get());
    const auto out = std::make_unique<char[]>(json_text_room(text.size()));
    return {out.get(), put_json_text(out.get(), {in.get(), text.size()})};
}

TEST(JsonText, EscapesEachByteWhereverItStands)
{
    for (int byte = 0; byte < 256; ++byte) {
        for (std::size_t size = 1; size <= 40; ++size) {
            for (std::size_t at = 0; at < size; ++at) {
                std::string text(size, 'x');
                text[at] = static_cast<char>(byte);
                ASSERT_EQ(json_text(text), escaped(text)) << byte << " at " << at << " of " << size;
            }
        }
    }
}

TEST(JsonText, EscapesRunsOfNothingElse)
{
    for (std::size_t size = 0; size < 70; ++size) {
        EXPECT_EQ(json_text(std::string(size, '\x01')), escaped(std::string(size, '\x01')));
        EXPECT_EQ(json_text(std::string(size, '"')), escaped(std::string(size, '"')));
    }
}

TEST(StringStop, IsTheFirstQuoteOrBackslash)
{
    for (std::size_t size = 0; size <= 40; ++size) {
        const std::string plain(size, 'x');
        EXPECT_EQ(find_string_stop(plain.data(), plain.data() + size), plain.data() + size);
        for (std::size_t at = 0; at < size; ++at) {
            for (const char stop : {'"', '\\'}) {
                std::string text(size, '#');  // one below a quote: a borrow must not reach it
                text[at] = stop;
                text.back() = at + 1 == size ? stop : '"';
                ASSERT_EQ(find_string_stop(text.data(), text.data() + size) - text.data(), static_cast<std::ptrdiff_t>(at));
            }
        }
    }
}

}  // namespace
}  // namespace shunt::wire
