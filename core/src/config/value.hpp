// Rules for single values, and a reader of tables: right type, in range, known key. Nothing is ever converted.
//
// A rule is a small struct: `value` is what it reads, expected() says in words what would be right, fits() tells
// whether a value of that type is, show() writes one as TOML. The same rules check files and options made in code.

#pragma once

#include <config/problem.hpp>

#include <shunt/setting.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::config {

/// Effective value of a key, as TOML, and where it came from: "shunt.toml:3", or "default".
struct origin {
    std::string key, value, from;

    friend bool operator==(const origin&, const origin&) = default;
};

struct flag {
    using value = bool;
    [[nodiscard]] std::string expected() const { return "true or false"; }
    [[nodiscard]] bool fits(bool) const { return true; }
    [[nodiscard]] std::string show(bool) const;
    [[nodiscard]] std::optional<bool> read(const setting&) const;
    [[nodiscard]] std::string hint(const setting&) const;
};

struct whole_number {
    using value = std::int64_t;
    std::int64_t min, max;
    [[nodiscard]] std::string expected() const;
    [[nodiscard]] bool fits(std::integral auto v) const { return !std::cmp_less(v, min) && !std::cmp_greater(v, max); }
    [[nodiscard]] std::string show(std::integral auto v) const { return std::to_string(v); }
    [[nodiscard]] std::optional<std::int64_t> read(const setting&) const;
    [[nodiscard]] std::string hint(const setting&) const;
};

/// In whole milliseconds.
struct duration {
    using value = std::chrono::milliseconds;
    value min, max;
    [[nodiscard]] std::string expected() const;
    [[nodiscard]] bool fits(value v) const { return v >= min && v <= max; }
    [[nodiscard]] std::string show(value v) const;
    [[nodiscard]] std::optional<value> read(const setting&) const;
    [[nodiscard]] std::string hint(const setting&) const;
};

struct byte_size {
    using value = std::int64_t;
    std::int64_t min, max;
    [[nodiscard]] std::string expected() const;
    [[nodiscard]] bool fits(std::integral auto v) const { return !std::cmp_less(v, min) && !std::cmp_greater(v, max); }
    [[nodiscard]] std::string show(std::integral auto v) const { return show_bytes(static_cast<std::uint64_t>(v)); }
    [[nodiscard]] std::optional<std::int64_t> read(const setting&) const;
    [[nodiscard]] std::string hint(const setting&) const;

private:
    [[nodiscard]] static std::string show_bytes(std::uint64_t);
};

/// Codes brokers answer with: a list without repeats.
struct code_list {
    using value = std::vector<std::int32_t>;
    static constexpr std::size_t most = 64;
    [[nodiscard]] std::string expected() const { return "a list of at most 64 different codes from 1 to 32767 that do not mean stored (10, 11, 12), such as [2, 14]"; }
    [[nodiscard]] bool fits(const value& v) const;
    [[nodiscard]] std::string show(const value& v) const;
    [[nodiscard]] std::optional<value> read(const setting&) const;
    [[nodiscard]] std::string hint(const setting&) const;
};

/// Text that `valid` accepts; `what` is the rest of "it must be ...".
struct plain_text {
    using value = std::string;
    bool (*valid)(std::string_view);
    std::string_view what;
    std::string (*advice)(std::string_view) = nullptr;  ///< a hint for text that `valid` refuses
    std::string_view pattern = "";  ///< for the schema: a regular expression that all valid text, and little else, matches; empty: none
    [[nodiscard]] std::string expected() const { return std::string(what); }
    [[nodiscard]] bool fits(std::string_view v) const { return valid(v); }
    [[nodiscard]] std::string show(const std::string& v) const;
    [[nodiscard]] std::optional<std::string> read(const setting&) const;
    [[nodiscard]] std::string hint(const setting&) const;
};

/// Text that is never shown, but for whether it is there.
struct secret_text : plain_text {
    [[nodiscard]] std::string show(const std::string& v) const { return v.empty() ? "\"\"" : "\"(hidden)\""; }
    [[nodiscard]] std::string hint(const setting&) const { return {}; }
    [[nodiscard]] static std::string shown(const setting& v);
};

/// One of a few words.
struct choice {
    using value = std::string;
    std::vector<std::string> words;
    [[nodiscard]] std::string expected() const;
    [[nodiscard]] bool fits(std::string_view v) const;
    [[nodiscard]] std::string show(const std::string& v) const;
    [[nodiscard]] std::optional<std::string> read(const setting&) const;
    [[nodiscard]] std::string hint(const setting&) const;
};

/// One of a few words, each standing for an enumerator: the words in the enumerators' order, from 0.
template <typename E>
struct enumerated {
    using value = E;
    choice words;
    [[nodiscard]] std::string expected() const { return words.expected(); }
    [[nodiscard]] bool fits(E v) const { return static_cast<std::size_t>(v) < words.words.size(); }
    [[nodiscard]] std::string show(E v) const
    {
        const auto n = static_cast<std::size_t>(v);
        return fits(v) ? words.show(words.words[n]) : std::to_string(n);
    }
    [[nodiscard]] std::optional<E> read(const setting& v) const
    {
        const auto word = words.read(v);
        if (!word || !words.fits(*word))
            return std::nullopt;
        return static_cast<E>(std::find(words.words.begin(), words.words.end(), *word) - words.words.begin());
    }
    [[nodiscard]] std::string hint(const setting& v) const { return words.hint(v); }
};

/// A value as messages show it: 'three', 3.0, true, "an array", "the date 2024-01-01".
[[nodiscard]] std::string shown(const setting&);
/// The same for a value that stands in a file as this TOML: its quotes become '...'.
[[nodiscard]] std::string shown_toml(const std::string& toml);

/// What is said instead of a secret.
inline constexpr std::string_view not_shown = "a value that is not shown";

/// Reads `value` by `rule`. Nothing: a problem about `key` was appended.
template <typename Rule>
std::optional<typename Rule::value> read(const setting& value, const std::string& key, const Rule& rule,
                                         std::vector<problem>& problems)
{
    auto out = rule.read(value);
    if (out && rule.fits(*out))
        return out;
    if constexpr (std::same_as<Rule, secret_text>)
        add_problem(problems, value.where, key, Rule::shown(value), rule.expected());
    else
        add_problem(problems, value.where, key, shown(value), rule.expected(), rule.hint(value));
    return std::nullopt;
}

/// Checks a value made in code by the rule for files.
template <typename Rule, typename T>
void check_value(const T& value, const Rule& rule, const std::string& key, const source_position& where,
                 std::vector<problem>& problems)
{
    if (rule.fits(value))
        return;
    if constexpr (std::same_as<Rule, secret_text>)
        add_problem(problems, where, key, Rule::shown(setting(value)), rule.expected());
    else if constexpr (std::convertible_to<T, std::string>)
        add_problem(problems, where, key, in_marks(value), rule.expected(), rule.hint(setting(std::string(value))));
    else
        add_problem(problems, where, key, shown_toml(rule.show(value)), rule.expected());
}

enum class presence : std::uint8_t { absent, right, wrong };

/// Reads a table key by key; finish() then refuses the keys nobody asked for, with a suggestion.
class table_reader {
public:
    /// `path`: "policies.default"; empty for the root. If `table` is no table, that is one problem and all is absent.
    table_reader(const setting& table, std::string path, std::vector<problem>& problems,
                 std::vector<origin>* origins = nullptr);
    /// The table is not there: all is absent.
    table_reader(std::string path, std::vector<problem>& problems, std::vector<origin>* origins);

    /// Sets `out` if the key is there and right, tells a problem if it is wrong, and notes where the value came from.
    template <typename Rule, typename T>
    presence read(std::string_view key, const Rule& rule, T& out)
    {
        const setting* found = find(key);
        if (found == nullptr) {
            note(key, rule.show(out), nullptr);
            return presence::absent;
        }
        auto value = config::read(*found, path_of(key), rule, *problems_);
        if (!value)
            return presence::wrong;
        if constexpr (std::integral<T>)
            out = static_cast<T>(*value);
        else
            out = *value;
        note(key, rule.show(out), found);
        return presence::right;
    }

    /// The value of a key, which is thereby a known one. Null: absent.
    [[nodiscard]] const setting* find(std::string_view key);
    /// As find, for a key that must be there: its absence is a problem.
    [[nodiscard]] const setting* require(std::string_view key, std::string expected);
    /// As find, for a key whose value is an array; anything else is a problem, and null.
    [[nodiscard]] const setting_array* find_array(std::string_view key, std::string_view expected);

    /// Notes the origin of a key: `value` as TOML; `from` null: the default.
    void note(std::string_view key, std::string value, const setting* from);
    /// The keys that misspelt ones look like are returned: nothing more need be said about these.
    std::vector<std::string> finish();

    [[nodiscard]] std::string path_of(std::string_view key) const;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const source_position& where() const noexcept { return where_; }
    [[nodiscard]] bool present() const noexcept { return table_ != nullptr; }
    [[nodiscard]] std::vector<problem>& problems() const noexcept { return *problems_; }
    [[nodiscard]] std::vector<origin>* origins() const noexcept { return origins_; }
    /// What is in the table, known or not.
    [[nodiscard]] const setting_table& entries() const noexcept;

private:
    const setting_table* table_ = nullptr;
    source_position where_;
    std::string path_;
    std::vector<problem>* problems_;
    std::vector<origin>* origins_;
    std::vector<std::string> known_;
};

/// "shunt.toml:3".
[[nodiscard]] std::string to_string(const source_position&);
/// "did you mean 'attempts'?", or the known words if none is close, or nothing if they are too many.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& known);
/// "a, b and c".
[[nodiscard]] std::string listed(const std::vector<std::string>& words, std::string_view last_word = "and");

}  // namespace shunt::config
