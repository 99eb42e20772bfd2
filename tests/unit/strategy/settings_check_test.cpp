#include <strategy/settings_check.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::strategy {
namespace {

// ---- words with units ----

TEST(Duration, IsAWholeNumberAndAUnit)
{
    const std::vector<std::pair<std::string_view, std::int64_t>> good = {
        {"7ns", 7}, {"10us", 10'000}, {"250ms", 250'000'000}, {"3s", 3'000'000'000}, {"5m", 300'000'000'000},
        {"2h", 7'200'000'000'000}, {"0ms", 0}, {"007s", 7'000'000'000}, {"9223372036854775807ns", INT64_MAX},
        {"2562047h", 2562047LL * 3'600'000'000'000}};
    for (const auto& [text, expected] : good) {
        std::int64_t ns = -1;
        EXPECT_TRUE(parse_duration(text, ns)) << text;
        EXPECT_EQ(ns, expected) << text;
    }
    for (const std::string_view text : {"", "5", "s", "-5s", "+5s", " 5s", "5s ", "5 s", "1.5s", "5S", "5sec", "5ms5", "1e3ms", "0x5s",
                                        "9223372036854775808ns", "2562048h", "99999999999999999999s", "5\0s"}) {
        std::int64_t ns = 0;
        EXPECT_FALSE(parse_duration(text, ns)) << text;
    }
}

TEST(Duration, IsWrittenInTheLargestUnitThatIsExact)
{
    EXPECT_EQ(format_duration(0), "0ms");
    EXPECT_EQ(format_duration(250'000'000), "250ms");
    EXPECT_EQ(format_duration(90'000'000'000), "90s");
    EXPECT_EQ(format_duration(60'000'000'000), "1m");
    EXPECT_EQ(format_duration(7'200'000'000'000), "2h");
    EXPECT_EQ(format_duration(1), "1ns");
    EXPECT_EQ(format_duration(1'500), "1500ns");
}

TEST(Size, IsAWholeNumberAndAUnit)
{
    const std::vector<std::pair<std::string_view, std::int64_t>> good = {
        {"512B", 512}, {"64KiB", 65536}, {"4MiB", 4194304}, {"1GiB", 1073741824}, {"0B", 0}};
    for (const auto& [text, expected] : good) {
        std::int64_t bytes = -1;
        EXPECT_TRUE(parse_size(text, bytes)) << text;
        EXPECT_EQ(bytes, expected) << text;
        EXPECT_EQ(format_size(expected), text);
    }
    for (const std::string_view text : {"", "4", "4MB", "4mib", "4 MiB", "-4MiB", "0.5GiB", "9223372036854775807KiB"}) {
        std::int64_t bytes = 0;
        EXPECT_FALSE(parse_size(text, bytes)) << text;
    }
}

TEST(Closest, FindsTheNameThatWasMeantAndNothingElse)
{
    const std::vector<std::string> names = {"best-queue", "round-robin", "random", "hash", "none"};
    EXPECT_EQ(closest("round-robbin", names), "round-robin");
    EXPECT_EQ(closest("bestqueue", names), "best-queue");
    EXPECT_EQ(closest("hsah", names), "hash");  // two neighbours swapped
    EXPECT_EQ(closest("Random", names), "random");
    EXPECT_EQ(closest("hash", names), "hash");
    EXPECT_EQ(closest("sticky", names), "");
    EXPECT_EQ(closest("has", names), "hash");
    EXPECT_EQ(closest("h", names), "");
    EXPECT_EQ(closest("noxy", names), "");  // half of it differs
    EXPECT_EQ(closest("", names), "");
    EXPECT_EQ(closest(std::string(10000, 'x'), names), "");
    EXPECT_EQ(closest("x", {}), "");
}

TEST(InQuotes, ShowsWhatCannotBePrintedAsBytes)
{
    EXPECT_EQ(in_quotes("orders"), "\"orders\"");
    EXPECT_EQ(in_quotes("a\nb\x7f", '\''), "'a\\x0ab\\x7f'");
    EXPECT_EQ(in_quotes("ключ"), "\"ключ\"");
    EXPECT_EQ(in_quotes("\xff\xc0\xaf\xed\xa0\x80"), "\"\\xff\\xc0\\xaf\\xed\\xa0\\x80\"");
    EXPECT_EQ(in_quotes(std::string("a\0b", 3)), "\"a\\x00b\"");
    EXPECT_LT(in_quotes(std::string(100000, 'x')).size(), 220u);
}

TEST(ParseValue, ReadsOneValueAsTomlWritesIt)
{
    const std::vector<std::pair<std::string_view, setting>> good = {
        {"true", true}, {"false", false}, {"10", 10}, {"-3", -3}, {"+3", 3}, {"1_000", 1000}, {"0.5", 0.5}, {"3.0", 3.0}, {"1e3", 1e3},
        {"\"10s\"", "10s"}, {"'a\\b'", "a\\b"}, {"\"a\\\"b\\n\"", "a\"b\n"}, {"\"\"", ""}, {"[]", setting_array{}},
        {"[1, 2,]", setting_array{1, 2}}, {" [\"50ms\", \"3s\"] ", setting_array{"50ms", "3s"}},
        {"[[1], []]", setting_array{setting_array{1}, setting_array{}}}};
    for (const auto& [text, expected] : good) {
        setting out;
        EXPECT_TRUE(parse_value(text, out)) << text;
        EXPECT_TRUE(out == expected) << text;
    }
    for (const std::string_view text : {"", " ", "yes", "\"open", "'open", "[1", "[1 2]", "1 2", "\"a\" b", "1.", "9223372036854775808", "[[[[[1]]]]]",
                                        "\"\\q\"", "10s", "inf", "nan"}) {
        setting out;
        EXPECT_FALSE(parse_value(text, out) && out.as<std::int64_t>() != nullptr) << text;
        EXPECT_FALSE(parse_value(text, out) && text != "9223372036854775808") << text;
    }
}

// ---- settings ----

parameter of_type(std::string name, std::int32_t type, double min = 0, double max = 0)
{
    parameter p;
    p.name = std::move(name);
    p.type = type;
    p.min = min;
    p.max = max;
    return p;
}

parameter array_of(std::string name, std::int32_t element, std::uint32_t min_count = 0, double min = 0, double max = 0)
{
    parameter p = of_type(std::move(name), SHUNT_T_ARRAY, min, max);
    p.element_type = element;
    p.min_count = min_count;
    return p;
}

parameter with_choices(parameter p, std::vector<std::string> choices)
{
    p.choices = std::move(choices);
    return p;
}

parameter with_default(parameter p, std::string text)
{
    p.default_text = std::move(text);
    return p;
}

strategy_class strategy(std::vector<parameter> parameters)
{
    strategy_class c;
    c.name = "best-queue";
    c.parameters = std::move(parameters);
    return c;
}

std::vector<setting_problem> problems_of(const parameter& p, const setting& value)
{
    std::vector<setting_problem> problems;
    (void)check_settings(strategy({p}), {{p.name, value}}, {"shunt.toml", 3, 1}, problems);
    return problems;
}

shunt_str str(std::string_view s) { return {s.data(), s.size()}; }

shunt_value get(const checked_settings& s, std::string_view name)
{
    shunt_value v{};
    EXPECT_EQ(s.config().get(s.config().root, str(name), &v), SHUNT_OK) << name;
    return v;
}

struct refused {
    parameter p;
    setting value;
    std::string found, expected;
};

TEST(CheckSettings, RefusesWrongTypesRangesAndChoices)
{
    constexpr double none = std::numeric_limits<double>::infinity();
    const std::vector<refused> all = {
        // no type is ever converted
        {of_type("n", SHUNT_T_I64), "3", "'3'", "a whole number"},
        {of_type("n", SHUNT_T_I64), 3.0, "3.0", "a whole number"},
        {of_type("n", SHUNT_T_I64), true, "true", "a whole number"},
        {of_type("n", SHUNT_T_F64), "0.5", "'0.5'", "a number"},
        {of_type("n", SHUNT_T_F64), false, "false", "a number"},
        {of_type("b", SHUNT_T_BOOL), 1, "1", "true or false"},
        {of_type("b", SHUNT_T_BOOL), "true", "'true'", "true or false"},
        {of_type("s", SHUNT_T_STR), 5, "5", "a string"},
        {of_type("s", SHUNT_T_STR), setting_date{"2024-01-01"}, "the date 2024-01-01", "a string"},
        {of_type("d", SHUNT_T_DURATION_NS), 30, "30", "a duration"},
        {of_type("d", SHUNT_T_DURATION_NS), "30", "'30'", "a duration"},
        {of_type("d", SHUNT_T_DURATION_NS), "-1s", "'-1s'", "a duration"},
        {of_type("z", SHUNT_T_SIZE), "4MB", "'4MB'", "a size"},
        {of_type("a", SHUNT_T_STR), setting_array{"x"}, "an array of 1", "a string"},
        {of_type("a", SHUNT_T_STR), setting_table{}, "a table", "a string"},
        {array_of("a", SHUNT_T_I64), 5, "5", "an array of whole numbers"},
        // ranges
        {of_type("n", SHUNT_T_I64, 1, 16), 0, "0", "a whole number from 1 to 16"},
        {of_type("n", SHUNT_T_I64, 1, 16), 17, "17", "a whole number from 1 to 16"},
        {of_type("n", SHUNT_T_I64, 1, none), -1, "-1", "a whole number of at least 1"},
        {of_type("n", SHUNT_T_I64, -none, 5), 6, "6", "a whole number of at most 5"},
        {of_type("n", SHUNT_T_I64, 0, 9007199254740992.0), std::int64_t{9007199254740993}, "9007199254740993",
         "a whole number from 0 to 9007199254740992"},
        {of_type("f", SHUNT_T_F64, 0, 1), 1.5, "1.5", "a number from 0 to 1"},
        {of_type("f", SHUNT_T_F64), std::numeric_limits<double>::quiet_NaN(), "nan", "a number"},
        {of_type("f", SHUNT_T_F64), none, "inf", "a number"},
        {of_type("d", SHUNT_T_DURATION_NS, 0, 3.6e12), "2h", "'2h'", "a duration from 0ms to 1h"},
        {of_type("z", SHUNT_T_SIZE, 1024, 1 << 20), "1B", "'1B'", "a size from 1KiB to 1MiB"},
        // choices and counts
        {with_choices(of_type("s", SHUNT_T_STR), {"java", "murmur2", "xxh3"}), "md5", "'md5'", "'java', 'murmur2' or 'xxh3'"},
        {array_of("a", SHUNT_T_I64, 2), setting_array{1}, "an array of 1", "an array of at least 2 whole numbers"},
        {array_of("a", SHUNT_T_I64, 1), setting_array{}, "an empty array", "a non-empty array of whole numbers"},
    };
    for (const refused& r : all) {
        const auto problems = problems_of(r.p, r.value);
        ASSERT_EQ(problems.size(), 1u) << r.found << " for " << r.expected;
        EXPECT_EQ(problems[0].key, r.p.name);
        EXPECT_EQ(problems[0].found, r.found);
        EXPECT_EQ(problems[0].expected, r.expected);
        EXPECT_EQ(problems[0].where.line, 3u);
    }
}

TEST(CheckSettings, TellsTheElementThatIsWrongAndItsPlace)
{
    setting third("three");
    third.where = {"shunt.toml", 14, 30};
    const auto problems = problems_of(array_of("latency_max", SHUNT_T_DURATION_NS, 0, 0, 3.6e12), setting_array{"50ms", "2h", third});
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0].key, "latency_max[1]");
    EXPECT_EQ(problems[0].found, "'2h'");
    EXPECT_EQ(problems[0].expected, "a duration from 0ms to 1h");
    EXPECT_EQ(problems[1].key, "latency_max[2]");
    EXPECT_EQ(problems[1].where.line, 14u);
    EXPECT_EQ(problems[1].where.column, 30u);
}

TEST(CheckSettings, HintsAtWhatWasMeant)
{
    EXPECT_EQ(problems_of(of_type("n", SHUNT_T_I64), "3")[0].hint, "write 3 without quotes");
    EXPECT_EQ(problems_of(of_type("n", SHUNT_T_BOOL), "true")[0].hint, "write true without quotes");
    EXPECT_EQ(problems_of(of_type("n", SHUNT_T_I64), "x")[0].hint, "");
    EXPECT_NE(problems_of(of_type("d", SHUNT_T_DURATION_NS), 3)[0].hint.find("\"250ms\""), std::string::npos);
    EXPECT_EQ(problems_of(with_choices(of_type("s", SHUNT_T_STR), {"java", "murmur2"}), "murmur")[0].hint, "did you mean 'murmur2'?");
}

TEST(CheckSettings, ReportsAnUnknownSettingWithASuggestion)
{
    setting value(5);
    value.where = {"shunt.toml", 9, 20};
    value.key_where = {"shunt.toml", 9, 7};
    std::vector<setting_problem> problems;
    (void)check_settings(strategy({of_type("latency_max", SHUNT_T_I64), of_type("probe", SHUNT_T_BOOL)}),
                         {{"latency_mux", value}, {"zzz", 1}}, {"shunt.toml", 3, 1}, problems);
    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0].key, "latency_mux");
    EXPECT_EQ(problems[0].found, "an unknown setting");
    EXPECT_EQ(problems[0].expected, "one of latency_max, probe");
    EXPECT_EQ(problems[0].hint, "did you mean 'latency_max'?");
    EXPECT_EQ(problems[0].where.column, 7u);
    EXPECT_EQ(problems[1].hint, "");
    EXPECT_EQ(problems[1].where.line, 3u);

    problems.clear();
    (void)check_settings(strategy({}), {{"start", 1}}, {}, problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].expected, "left out: best-queue has no settings");
}

TEST(CheckSettings, ReportsARequiredSettingThatIsMissingWhereTheStrategyStands)
{
    parameter p = array_of("rooms", SHUNT_T_STR, 1);
    p.required = true;
    std::vector<setting_problem> problems;
    (void)check_settings(strategy({p}), {}, {"shunt.toml", 12, 5}, problems);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].key, "rooms");
    EXPECT_EQ(problems[0].found, "not set");
    EXPECT_EQ(problems[0].expected, "a non-empty array of strings");
    EXPECT_EQ(problems[0].where.line, 12u);
}

TEST(CheckSettings, ShowsAPluginItsSettings)
{
    std::vector<setting_problem> problems;
    const checked_settings s = check_settings(
        strategy({of_type("n", SHUNT_T_I64, 1, 16), of_type("f", SHUNT_T_F64), of_type("whole", SHUNT_T_F64), of_type("b", SHUNT_T_BOOL),
                  of_type("s", SHUNT_T_STR), of_type("d", SHUNT_T_DURATION_NS), of_type("z", SHUNT_T_SIZE),
                  array_of("a", SHUNT_T_STR), array_of("t", SHUNT_T_DURATION_NS), of_type("unset", SHUNT_T_I64)}),
        {{"n", 16}, {"f", 0.5}, {"whole", 3}, {"b", true}, {"s", std::string("a\0b", 3)}, {"d", "250ms"}, {"z", "4MiB"},
         {"a", setting_array{"first", "second, longer than any small string could be"}}, {"t", setting_array{"50ms"}}},
        {}, problems);
    ASSERT_TRUE(problems.empty()) << problems[0].key;
    const checked_settings moved = [](checked_settings from) { return from; }(check_settings(strategy({of_type("n", SHUNT_T_I64)}), {{"n", 5}}, {}, problems));
    EXPECT_EQ(get(moved, "n").i64, 5);

    EXPECT_EQ(s.config().struct_size, sizeof(shunt_config));
    EXPECT_EQ(get(s, "n").type, SHUNT_T_I64);
    EXPECT_EQ(get(s, "n").i64, 16);
    EXPECT_EQ(get(s, "f").f64, 0.5);
    EXPECT_EQ(get(s, "whole").type, SHUNT_T_F64);
    EXPECT_EQ(get(s, "whole").f64, 3.0);
    EXPECT_EQ(get(s, "b").i64, 1);
    EXPECT_EQ(std::string_view(get(s, "s").str.ptr, get(s, "s").str.len), std::string_view("a\0b", 3));
    EXPECT_EQ(get(s, "s").str.ptr[3], '\0');
    EXPECT_EQ(get(s, "d").type, SHUNT_T_DURATION_NS);
    EXPECT_EQ(get(s, "d").i64, 250'000'000);
    EXPECT_EQ(get(s, "z").i64, 4194304);

    const shunt_value a = get(s, "a");
    ASSERT_EQ(a.type, SHUNT_T_ARRAY);
    ASSERT_EQ(a.count, 2u);
    shunt_value element{};
    ASSERT_EQ(s.config().at(a.node, 1, &element), SHUNT_OK);
    EXPECT_EQ(std::string_view(element.str.ptr, element.str.len), "second, longer than any small string could be");
    ASSERT_EQ(s.config().at(get(s, "t").node, 0, &element), SHUNT_OK);
    EXPECT_EQ(element.type, SHUNT_T_DURATION_NS);
    EXPECT_EQ(element.i64, 50'000'000);
}

TEST(CheckSettings, AnswersAPluginThatAsksForWhatIsNotThere)
{
    std::vector<setting_problem> problems;
    const checked_settings s = check_settings(strategy({array_of("a", SHUNT_T_I64), of_type("n", SHUNT_T_I64)}),
                                              {{"a", setting_array{1}}, {"n", 1}}, {}, problems);
    const shunt_config& c = s.config();
    shunt_value v{};
    EXPECT_EQ(c.get(c.root, str("other"), &v), SHUNT_UNSUPPORTED);
    EXPECT_EQ(c.get(c.root, {nullptr, 0}, &v), SHUNT_UNSUPPORTED);
    EXPECT_EQ(c.get(nullptr, str("n"), &v), SHUNT_E_INVALID);
    EXPECT_EQ(c.get(c.root, str("n"), nullptr), SHUNT_E_INVALID);
    EXPECT_EQ(c.get(c.root, {nullptr, 3}, &v), SHUNT_E_INVALID);
    EXPECT_EQ(c.at(get(s, "a").node, 1, &v), SHUNT_E_INVALID);
    EXPECT_EQ(c.at(get(s, "n").node, 0, &v), SHUNT_E_INVALID) << "no array";
    const checked_settings none;
    EXPECT_EQ(none.config().get(none.config().root, str("n"), &v), SHUNT_UNSUPPORTED);
}

TEST(CheckSettings, FillsInDefaults)
{
    std::vector<setting_problem> problems;
    const checked_settings s =
        check_settings(strategy({with_default(of_type("pause", SHUNT_T_DURATION_NS), "\"10s\""), with_default(of_type("n", SHUNT_T_I64), "10"),
                                 with_default(array_of("t", SHUNT_T_DURATION_NS), "[\"50ms\", \"3s\"]"),
                                 with_default(of_type("given", SHUNT_T_I64), "1")}),
                       {{"given", 2}}, {}, problems);
    ASSERT_TRUE(problems.empty());
    EXPECT_EQ(get(s, "pause").i64, 10'000'000'000);
    EXPECT_EQ(get(s, "n").i64, 10);
    EXPECT_EQ(get(s, "t").count, 2u);
    EXPECT_EQ(get(s, "given").i64, 2);
}

// ---- declarations ----

TEST(Declaration, IsRefusedForWhatNoUserCouldHelp)
{
    const auto changed = [](parameter p, auto change) {
        change(p);
        return p;
    };
    const parameter n = of_type("n", SHUNT_T_I64, 1, 16), s = of_type("s", SHUNT_T_STR);
    const std::vector<std::pair<parameter, std::string>> all = {
        {of_type("", SHUNT_T_I64), "its name is ''"},
        {of_type("Size", SHUNT_T_I64), "its name is 'Size'"},
        {of_type("a-b", SHUNT_T_I64), "its name is 'a-b'"},
        {of_type("use", SHUNT_T_I64), "its name is 'use'"},
        {of_type("n", 0), "its type is 0; it must be one of 1 to 7"},
        {of_type("n", 8), "its type is 8"},
        {array_of("a", SHUNT_T_ARRAY), "its element type is 6"},
        {array_of("a", 0), "its element type is 0"},
        {changed(n, [](parameter& p) { p.element_type = SHUNT_T_I64; }), "only arrays have these"},
        {changed(n, [](parameter& p) { p.min_count = 1; }), "only arrays have these"},
        {of_type("n", SHUNT_T_I64, 5, 4), "its range is 5 to 4"},
        {of_type("n", SHUNT_T_F64, std::numeric_limits<double>::quiet_NaN(), 4), "its range is nan to 4"},
        {of_type("s", SHUNT_T_STR, 1, 4), "it has a range"},
        {with_choices(n, {"a"}), "it has choices"},
        {with_choices(s, {"a", ""}), "one of its choices is empty"},
        {with_default(n, "ten"), "its default is 'ten'; it must be a value as TOML writes it, text in quotes"},
        {with_default(n, "17"), "its default is 17; it must be a whole number from 1 to 16"},
        {with_default(of_type("d", SHUNT_T_DURATION_NS), "10"), "its default is 10; it must be a duration"},
        {with_default(with_choices(s, {"a", "b"}), "\"c\""), "its default is 'c'; it must be 'a' or 'b'"},
        {with_default(array_of("a", SHUNT_T_I64, 2), "[1]"), "its default is an array of 1"},
        {changed(with_default(n, "5"), [](parameter& p) { p.required = true; }), "it is required and has a default"},
    };
    for (const auto& [p, words] : all)
        EXPECT_NE(wrong_with(p).find(words), std::string::npos) << "no '" << words << "' in: " << wrong_with(p);
}

TEST(Declaration, IsTakenWhenItIsRight)
{
    for (const parameter& p :
         {of_type("n", SHUNT_T_I64), of_type("n_2", SHUNT_T_I64, -5, 5), with_default(of_type("b", SHUNT_T_BOOL), "true"),
          with_default(with_choices(of_type("s", SHUNT_T_STR), {"java", "murmur2"}), "\"java\""), with_default(array_of("a", SHUNT_T_STR), "[]"),
          with_default(of_type("f", SHUNT_T_F64, 0, 1), "1"), with_choices(array_of("w", SHUNT_T_STR, 1), {"x", "y"})})
        EXPECT_EQ(wrong_with(p), "") << p.name;
}

TEST(Declaration, IsDescribedInWords)
{
    parameter p = of_type("n", SHUNT_T_I64, 1, 16);
    p.unit = "messages";
    EXPECT_EQ(describe(p), "a whole number from 1 to 16 (messages)");
    EXPECT_EQ(describe(with_choices(of_type("s", SHUNT_T_STR), {"java", "murmur2"})), "'java' or 'murmur2'");
    EXPECT_EQ(describe(array_of("a", SHUNT_T_DURATION_NS, 2, 0, 3.6e12)), "an array of at least 2 durations from 0ms to 1h");
    EXPECT_EQ(describe(with_choices(array_of("a", SHUNT_T_STR), {"x", "y"})), "an array of strings out of 'x' or 'y'");
}

}  // namespace
}  // namespace shunt::strategy
