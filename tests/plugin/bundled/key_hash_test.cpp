// Hashes of keys, against numbers of the clients they must agree with.

#include <plugin/bundled/vectors.hpp>

#include <shunt/sdk/hash.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace shunt::sdk {
namespace {

using namespace std::string_view_literals;

TEST(JavaHash, AgreesWithJavaOnEveryKindOfText)
{
    for (const auto& row : test::vectors::hashes) {
        SCOPED_TRACE(row.key);
        EXPECT_EQ(java_hash(row.key), row.hash);
        EXPECT_EQ(abs_mod(row.hash, 1), row.of_1);
        EXPECT_EQ(abs_mod(row.hash, 3), row.of_3);
        EXPECT_EQ(abs_mod(row.hash, 4), row.of_4);
        EXPECT_EQ(abs_mod(row.hash, 8), row.of_8);
        EXPECT_EQ(abs_mod(row.hash, 12), row.of_12);
        EXPECT_EQ(abs_mod(row.hash, 1000), row.of_1000);
    }
}

TEST(JavaHash, AgreesOnLongText)
{
    std::string ab;
    for (int i = 0; i < 1000; ++i)
        ab += "ab";
    EXPECT_EQ(java_hash(ab), 1895982568);
}

// Eight bytes at a time or one by one, at whatever place the text turns from ASCII to something else and back.
TEST(JavaHash, DoesNotDependOnWhereTheFastPathEnds)
{
    for (std::size_t before = 0; before < 20; ++before)
        for (std::size_t after = 0; after < 20; ++after) {
            const std::string ascii_before(before, 'x'), ascii_after(after, 'y');
            std::uint32_t expected = 0;
            for (const char c : ascii_before)
                expected = 31 * expected + static_cast<std::uint32_t>(c);
            expected = 31 * expected + 0xE9;
            for (const char c : ascii_after)
                expected = 31 * expected + static_cast<std::uint32_t>(c);
            EXPECT_EQ(java_hash(ascii_before + "\xC3\xA9" + ascii_after), static_cast<std::int32_t>(expected)) << before << ' ' << after;
        }
}

// What is not UTF-8 is hashed as if U+FFFD stood for each part that could have begun a character.
TEST(JavaHash, TakesInvalidBytesForReplacementCharacters)
{
    const auto as_if = [](std::initializer_list<std::uint32_t> units) {
        std::uint32_t h = 0;
        for (const std::uint32_t u : units)
            h = 31 * h + u;
        return static_cast<std::int32_t>(h);
    };
    constexpr std::uint32_t bad = 0xFFFD;
    struct {
        std::string_view bytes;
        std::int32_t hash;
    } const rows[] = {
        {"\xFF"sv, as_if({bad})},
        {"\x80\xBF"sv, as_if({bad, bad})},
        {"\xC0\x80"sv, as_if({bad, bad})},                              // overlong NUL
        {"\xE4\xB8"sv, as_if({bad})},                                   // cut short: one part
        {"\xE4\xB8z"sv, as_if({bad, 'z'})},
        {"\xE0\x80\x80"sv, as_if({bad, bad, bad})},                     // overlong
        {"\xED\xA0\xBD"sv, as_if({bad, bad, bad})},                     // a lone surrogate
        {"\xF0\x9F\x98"sv, as_if({bad})},
        {"\xF0\x80\x80\x80"sv, as_if({bad, bad, bad, bad})},
        {"\xF4\x90\x80\x80"sv, as_if({bad, bad, bad, bad})},            // beyond U+10FFFF
        {"\xF5\x80"sv, as_if({bad, bad})},
        {"a\xC3"sv, as_if({'a', bad})},
        {"\xC3\xC3\xA9"sv, as_if({bad, 0xE9})},
        {"\xEF\xBF\xBD"sv, as_if({bad})},                               // the character itself, well formed
    };
    for (const auto& row : rows)
        EXPECT_EQ(java_hash(row.bytes), row.hash) << testing::PrintToString(row.bytes);
}

TEST(AbsMod, IsTheAbsoluteValueOfTheRemainder)
{
    for (const auto& row : test::vectors::folds)
        EXPECT_EQ(abs_mod(row.hash, row.n), row.queue) << row.hash << " % " << row.n;
}

TEST(AbsMod, KeepsThePatternOfIdsInSteps)
{
    std::map<std::uint32_t, std::map<std::uint32_t, int>> counts;
    for (int id = 0; id < 8000; id += 8)
        for (const std::uint32_t n : {3u, 4u, 8u, 12u})
            ++counts[n][abs_mod(id, n)];  // a Long's hash code, as long as it is small
    using c = std::map<std::uint32_t, int>;
    EXPECT_EQ(counts[3], (c{{0, 334}, {1, 333}, {2, 333}}));
    EXPECT_EQ(counts[4], (c{{0, 1000}}));
    EXPECT_EQ(counts[8], (c{{0, 1000}}));
    EXPECT_EQ(counts[12], (c{{0, 334}, {4, 333}, {8, 333}}));
}

TEST(JavaHash, SpreadsAThousandOrderKeysAsComputed)
{
    const auto spread = [](std::uint32_t n) {
        std::vector<int> all(n);
        for (int i = 0; i < 1000; ++i)
            ++all[abs_mod(java_hash("order-" + std::to_string(i)), n)];
        return all;
    };
    EXPECT_EQ(spread(3), (std::vector{334, 333, 333}));
    EXPECT_EQ(spread(4), (std::vector{248, 249, 252, 251}));
    EXPECT_EQ(spread(8), (std::vector{124, 124, 124, 124, 124, 125, 128, 127}));
    EXPECT_EQ(spread(12), (std::vector{83, 83, 84, 84, 83, 83, 84, 83, 82, 83, 84, 84}));
}

TEST(JavaHash, MovesAsManyKeysAsComputedWhenTheNumberOfQueuesChanges)
{
    const auto moved = [](std::uint32_t from, std::uint32_t to) {
        int n = 0;
        for (int i = 0; i < 1000; ++i) {
            const std::int32_t h = java_hash("order-" + std::to_string(i));
            n += abs_mod(h, from) != abs_mod(h, to) ? 1 : 0;
        }
        return n;
    };
    EXPECT_EQ(moved(8, 12), 663);
    EXPECT_EQ(moved(12, 8), 663);
    EXPECT_EQ(moved(12, 11), 920);
    EXPECT_EQ(moved(4, 8), 504);
    EXPECT_EQ(moved(8, 9), 888);
    EXPECT_EQ(moved(16, 16), 0);
    EXPECT_EQ(moved(3, 4), 750);
}

TEST(Fnv1a, AgreesWithTheGoClient)
{
    for (const auto& row : test::vectors::fnvs) {
        EXPECT_EQ(fnv1a(row.key), row.hash) << row.key;
        EXPECT_EQ(fnv1a(row.key) % 4, row.of_4) << row.key;
        EXPECT_EQ(fnv1a(row.key) % 12, row.of_12) << row.key;
    }
    EXPECT_EQ(fnv1a("foobar"), 0xbf9cf968u);
}

TEST(Murmur2, AgreesWithOtherPartitioners)
{
    struct {
        std::string_view key;
        std::int32_t hash;
    } const rows[] = {
        {"", 275646681},           {"21", -973932308},
        {"abc", 479470107},        {"foobar", -790332482},
        {"a-little-bit-long-string", -985981536},
        {"a-little-bit-longer-string", -1486304829},
        {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
    };
    for (const auto& row : rows)
        EXPECT_EQ(static_cast<std::int32_t>(murmur2(row.key)), row.hash) << row.key;
}

}  // namespace
}  // namespace shunt::sdk
