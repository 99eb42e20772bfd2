// Settings as written against the parameters a strategy declares: every problem told, defaults filled in.

#pragma once

#include <shunt/setting.hpp>
#include <strategy/strategy_class.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::strategy {

/// One thing that is wrong: where, what was found, what would be right.
struct setting_problem {
    source_position where;
    std::string key;       ///< "latency_max[2]"
    std::string found;     ///< "'three'"
    std::string expected;  ///< "a duration from 0ms to 1h"
    std::string hint;      ///< "did you mean 'latency_max'?"; may be empty
};

/// Settings that passed, as the border shows them. Owns everything the shunt_config points to.
class checked_settings {
public:
    checked_settings();
    ~checked_settings();
    checked_settings(checked_settings&&) noexcept;
    checked_settings& operator=(checked_settings&&) noexcept;

    /// For create(); valid while this object lives.
    [[nodiscard]] const shunt_config& config() const noexcept;

    struct data;

private:
    friend checked_settings check_settings(const strategy_class&, const setting_table&, const source_position&,
                                           std::vector<setting_problem>&);
    std::unique_ptr<data> data_;
};

/// Checks `settings` against what `cls` declares: unknown names (with a suggestion), types, ranges, choices, counts,
/// required ones (told at `where`). Problems are appended; with any, the result must not be used. Wrong types are never
/// converted: "3" is not 3, 1 is not true, 3.0 is not 3 (but an integer may stand where a float is wanted).
[[nodiscard]] checked_settings check_settings(const strategy_class& cls, const setting_table& settings,
                                              const source_position& where, std::vector<setting_problem>& problems);

/// "250ms", "3s", "5m", "2h", "10us", "7ns" to nanoseconds; a whole number and a unit, no sign, no blanks. False: not one.
[[nodiscard]] bool parse_duration(std::string_view text, std::int64_t& ns) noexcept;
/// "512B", "64KiB", "4MiB", "1GiB" to bytes. False: not one.
[[nodiscard]] bool parse_size(std::string_view text, std::int64_t& bytes) noexcept;
/// The shortest exact form: "250ms", "2h".
[[nodiscard]] std::string format_duration(std::int64_t ns);
[[nodiscard]] std::string format_size(std::int64_t bytes);

/// What `p` takes, for people: "a duration from 0ms to 1h", "'java' or 'murmur2'", "an array of at least 2 whole numbers".
[[nodiscard]] std::string describe(const parameter& p);
/// What is wrong with the declaration itself, its default included, and what would be right; empty: nothing.
[[nodiscard]] std::string wrong_with(const parameter& p);
/// One value as TOML writes it: a boolean, a number, a string of one line, an array of these. False: not one.
[[nodiscard]] bool parse_value(std::string_view text, setting& out);

/// The name in `known` that `word` most looks like (at most a third of it differs), or empty.
[[nodiscard]] std::string closest(std::string_view word, const std::vector<std::string>& known);

/// `text` for a message: in quotes, control characters and what is not UTF-8 as \xNN, cut when very long.
[[nodiscard]] std::string in_quotes(std::string_view text, char quote = '"');
/// Bytes of the first character of `s`; 0: `s` does not begin with UTF-8.
[[nodiscard]] std::size_t utf8_length(std::string_view s) noexcept;

}  // namespace shunt::strategy
