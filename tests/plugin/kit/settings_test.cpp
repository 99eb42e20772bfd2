// Settings are checked against what a strategy declares, and what is not given gets its default, as in a host.

#include <plugin/kit/kit.hpp>

namespace shunt::test {
namespace {

class declares : public planted::named {
public:
    static constexpr sdk::param params[] = {
        {.name = "run", .type = sdk::type::integer, .default_text = "100", .min = 1, .max = 1000},
        {.name = "share", .type = sdk::type::real, .default_text = "0.25", .min = 0, .max = 1},
        {.name = "flag", .type = sdk::type::boolean, .default_text = "true"},
        {.name = "mode", .default_text = "\"java\"", .choices = "java|murmur2"},
        {.name = "after", .type = sdk::type::duration, .default_text = "\"1500ms\"", .min = 1 * sdk::milliseconds, .max = 60 * sdk::seconds},
        {.name = "buffer", .type = sdk::type::size, .default_text = "\"4KiB\"", .max = 1 << 20},
        {.name = "pins", .array = true, .default_text = "[ \"a=b\", 'c' ]"},
        {.name = "steps", .type = sdk::type::duration, .array = true, .default_text = "[\"1s\", \"2m\"]", .min_count = 1},
        {.name = "room", .required = true},
        {.name = "extra", .type = sdk::type::integer},
    };

    explicit declares(const sdk::settings& s)
    {
        std::string all = std::to_string(s.get<int>("run")) + ' ' + std::to_string(s.get<double>("share")) + ' ' + (s.get<bool>("flag") ? "yes" : "no");
        all += ' ' + s.get<std::string>("mode") + ' ' + std::to_string(s.get<sdk::nanoseconds>("after").count()) + ' ' + std::to_string(s.get<std::int64_t>("buffer"));
        for (const auto& p : s.get<std::vector<std::string>>("pins"))
            all += ' ' + p;
        for (const auto t : s.get<std::vector<sdk::nanoseconds>>("steps"))
            all += ' ' + std::to_string(t.count());
        s.refuse(all + ' ' + s.get<std::string>("room") + ' ' + (s.find<int>("extra") ? "extra" : "none"));
    }
    sdk::pick select(sdk::view, sdk::message) noexcept { return 0u; }
};

std::string with(settings given)
{
    given.try_emplace("room", "hz");
    return selector{of<declares>(), given}.refusal();
}

TEST(Settings, FillsInTheDeclaredDefaults)
{
    EXPECT_EQ(with({}), "100 0.250000 yes java 1500000000 4096 a=b c 1000000000 120000000000 hz none");
}

TEST(Settings, AreGivenAsNamesAndValues)
{
    EXPECT_EQ(with({{"run", 3}, {"share", 1}, {"flag", false}, {"mode", "murmur2"}, {"after", 2s}, {"buffer", "1MiB"}, {"pins", {"x", "y"}}, {"steps", {5ms}},
                    {"extra", 1}}),
              "3 1.000000 no murmur2 2000000000 1048576 x y 5000000 hz extra");
    EXPECT_EQ(with({{"after", "250ms"}, {"steps", {"1us"}}, {"pins", setting_array{}}}), "100 0.250000 yes java 250000000 4096 1000 hz none");
}

TEST(Settings, SaysWhatDoesNotFitAndWhatWould)
{
    const struct {
        settings given;
        std::string_view words;
    } rows[] = {
        {{{"rum", 1}}, "rum is an unknown setting; it must be one of run, share, flag, mode, after, buffer, pins, steps, room, extra"},
        {{{"run", 0}}, "run is 0; it must be a whole number from 1 to 1000"},
        {{{"run", 1.5}}, "run is 1.5; it must be a whole number from 1 to 1000"},
        {{{"run", "3"}}, "run is \"3\"; it must be a whole number from 1 to 1000"},
        {{{"share", 2}}, "share is 2; it must be a number from 0 to 1"},
        {{{"flag", 1}}, "flag is 1; it must be true or false"},
        {{{"mode", "jav"}}, "mode is \"jav\"; it must be one of java|murmur2"},
        {{{"after", 5}}, "after is 5; it must be a duration from 1ms to 1m, as \"250ms\""},
        {{{"after", 2min}}, "after is \"2m\"; it must be a duration from 1ms to 1m, as \"250ms\""},
        {{{"after", "2 s"}}, "after is \"2 s\"; it must be a duration from 1ms to 1m, as \"250ms\""},
        {{{"buffer", "2MiB"}}, "buffer is \"2MiB\"; it must be a size from 0B to 1MiB, as \"4MiB\""},
        {{{"pins", "x"}}, "pins is \"x\"; it must be an array of elements, each a string"},
        {{{"pins", {"x", 1}}}, "pins[1] is 1; it must be a string"},
        {{{"steps", setting_array{}}}, "steps is an empty array; it must be an array of at least 1 element, each a duration, as \"250ms\""},
    };
    for (const auto& row : rows)
        EXPECT_EQ(with(row.given), row.words);
    EXPECT_EQ((selector{of<declares>(), {{"run", 0}}}.refusal()), "run is 0; it must be a whole number from 1 to 1000; room is not set; it must be a string")
        << "all problems at once";
}

TEST(Settings, MayBeHandedOverUnchecked)
{
    EXPECT_EQ((selector{of<declares>(), unchecked, {{"run", 0}, {"room", "hz"}, {"extra", 4}}}.refusal().substr(0, 2)), "0 ");
    EXPECT_EQ((selector{of<declares>(), unchecked, {{"room", 1}}}.refusal().substr(0, 4)), "room") << "the strategy says itself what it cannot read";
}

class wrong_default : public planted::named {
public:
    static constexpr sdk::param params[] = {{.name = "run", .type = sdk::type::integer, .default_text = "0", .min = 1, .max = 9},
                                            {.name = "text", .default_text = "no quotes"}};
    sdk::pick select(sdk::view, sdk::message) noexcept { return 0u; }
};

TEST(Settings, RefusesADeclaredDefaultThatDoesNotFit)
{
    EXPECT_EQ(selector{of<wrong_default>()}.refusal(), "the declared default of run is 0; it must be a whole number from 1 to 9; the declared default of text "
                                                       "is \"no quotes\"; it must be a value as TOML writes it, text in quotes");
}

}  // namespace
}  // namespace shunt::test
