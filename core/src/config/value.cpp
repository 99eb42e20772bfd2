#include <config/value.hpp>

#include <config/other_clients.hpp>
#include <config/toml_text.hpp>

#include <strategy/settings_check.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace shunt::config {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

std::string in_quotes(const std::string& text)
{
    return to_toml(setting(text));
}

bool all_digits(std::string_view text)
{
    return !text.empty() && text.size() <= 19 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Something that is not text stands where text is wanted.
std::string quotes_hint(const setting& v)
{
    if (v.as<setting_array>() != nullptr || v.as<setting_table>() != nullptr)
        return "";
    return fmt::format("text stands in quotes: \"{}\"", to_toml(v));
}

std::optional<std::string> read_text(const setting& v)
{
    const std::string* found = v.as<std::string>();
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

}  // namespace

// ---- rules ----

std::string flag::show(bool v) const
{
    return v ? "true" : "false";
}

bool code_list::fits(const value& v) const
{
    const auto good = [&](const std::int32_t& code) {
        return code >= 1 && code <= 32767 && (code < 10 || code > 12) && std::find(v.data(), &code, code) == &code;
    };
    return v.size() <= most && std::all_of(v.begin(), v.end(), good);
}

std::string code_list::show(const value& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }

std::optional<code_list::value> code_list::read(const setting& v) const
{
    const setting_array* all = v.as<setting_array>();
    if (all == nullptr)
        return std::nullopt;
    value codes;
    for (const setting& one : *all) {
        const std::int64_t* code = one.as<std::int64_t>();
        if (code == nullptr || *code < 1 || *code > 32767)
            return std::nullopt;
        codes.push_back(static_cast<std::int32_t>(*code));
    }
    return codes;
}

std::string code_list::hint(const setting& v) const
{
    const setting_array* all = v.as<setting_array>();
    if (all == nullptr)
        return v.as<std::int64_t>() != nullptr ? fmt::format("in brackets: [{}]", *v.as<std::int64_t>()) : "";
    for (const setting& one : *all) {
        const std::int64_t* code = one.as<std::int64_t>();
        if (code == nullptr)
            return "each a number, without quotes";
        if (*code >= 10 && *code <= 12)
            return fmt::format("{} means stored; see retry_flush_late", *code);
        if (*code < 1 || *code > 32767)
            return fmt::format("{} is no code", *code);
        if (std::count(all->begin(), all->end(), one) > 1)
            return fmt::format("{} stands there twice", *code);
    }
    return "";
}

std::optional<bool> flag::read(const setting& v) const
{
    const bool* found = v.as<bool>();
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

std::string flag::hint(const setting& v) const
{
    if (const std::string* s = v.as<std::string>(); s != nullptr && (*s == "true" || *s == "false"))
        return fmt::format("a string: write {} without quotes", *s);
    if (const std::int64_t* i = v.as<std::int64_t>(); i != nullptr && (*i == 0 || *i == 1))
        return fmt::format("write {}", *i == 1 ? "true" : "false");
    return "";
}

std::string whole_number::expected() const
{
    return fmt::format("a whole number from {} to {}", min, max);
}

std::optional<std::int64_t> whole_number::read(const setting& v) const
{
    const std::int64_t* found = v.as<std::int64_t>();
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

std::string whole_number::hint(const setting& v) const
{
    if (const std::string* s = v.as<std::string>(); s != nullptr && all_digits(*s))
        return fmt::format("a string: write {} without quotes", *s);
    if (const double* d = v.as<double>()) {
        if (std::floor(*d) == *d && std::abs(*d) < 1e15)
            return fmt::format("a float: write {}", static_cast<std::int64_t>(*d));
        return "a float";
    }
    return "";
}

std::string duration::expected() const
{
    return fmt::format("a duration from {} to {}", strategy::format_duration(min.count() * ns_per_ms),
                       strategy::format_duration(max.count() * ns_per_ms));
}

std::string duration::show(value v) const
{
    constexpr auto limit = std::numeric_limits<std::int64_t>::max() / ns_per_ms;
    return in_quotes(strategy::format_duration(std::clamp<std::int64_t>(v.count(), -limit, limit) * ns_per_ms));
}

std::optional<std::chrono::milliseconds> duration::read(const setting& v) const
{
    const std::string* found = v.as<std::string>();
    std::int64_t ns = 0;
    if (found == nullptr || !strategy::parse_duration(*found, ns) || ns % ns_per_ms != 0)
        return std::nullopt;
    return value(ns / ns_per_ms);
}

std::string duration::hint(const setting& v) const
{
    if (const std::int64_t* i = v.as<std::int64_t>())
        return fmt::format("a unit is missing: \"{0}ms\", \"{0}s\"", *i);
    if (const double* d = v.as<double>(); d != nullptr && std::floor(*d) == *d && std::abs(*d) < 1e15)
        return fmt::format("a unit is missing: \"{0}ms\", \"{0}s\"", static_cast<std::int64_t>(*d));
    const std::string* s = v.as<std::string>();
    if (s == nullptr)
        return v.as<double>() != nullptr ? "a whole number and a unit in quotes: \"250ms\", \"3s\"" : "";
    std::int64_t ns = 0;
    if (strategy::parse_duration(*s, ns))
        return ns % ns_per_ms != 0 ? "whole milliseconds only" : "";
    if (all_digits(*s))
        return fmt::format("a unit is missing: \"{0}ms\", \"{0}s\"", *s);
    return "a whole number and a unit: ms, s, m, h";
}

std::string byte_size::expected() const
{
    return fmt::format("a size from {} to {}", strategy::format_size(min), strategy::format_size(max));
}

std::string byte_size::show_bytes(std::uint64_t v)
{
    constexpr std::uint64_t limit = std::numeric_limits<std::int64_t>::max();
    return in_quotes(strategy::format_size(static_cast<std::int64_t>(std::min(v, limit))));
}

std::optional<std::int64_t> byte_size::read(const setting& v) const
{
    const std::string* found = v.as<std::string>();
    std::int64_t bytes = 0;
    if (found == nullptr || !strategy::parse_size(*found, bytes))
        return std::nullopt;
    return bytes;
}

std::string byte_size::hint(const setting& v) const
{
    if (const std::int64_t* i = v.as<std::int64_t>())
        return fmt::format("a unit is missing: \"{}B\"", *i);
    const std::string* s = v.as<std::string>();
    if (s == nullptr)
        return "";
    std::int64_t bytes = 0;
    if (strategy::parse_size(*s, bytes))
        return "";
    return all_digits(*s) ? fmt::format("a unit is missing: \"{}B\"", *s) : "a whole number and a unit: B, KiB, MiB, GiB";
}

std::string plain_text::show(const std::string& v) const
{
    return in_quotes(v);
}

std::optional<std::string> plain_text::read(const setting& v) const
{
    return read_text(v);
}

std::string plain_text::hint(const setting& v) const
{
    const std::string* s = v.as<std::string>();
    if (s == nullptr)
        return quotes_hint(v);
    return advice != nullptr ? advice(*s) : "";
}

std::string secret_text::shown(const setting& v)
{
    const std::string* s = v.as<std::string>();
    return s == nullptr ? std::string(not_shown) : fmt::format("a text of {} bytes", s->size());
}

std::string choice::expected() const
{
    std::vector<std::string> quoted_words;
    for (const std::string& word : words)
        quoted_words.push_back(fmt::format("'{}'", word));
    return listed(quoted_words, "or");
}

bool choice::fits(std::string_view v) const
{
    return std::find(words.begin(), words.end(), v) != words.end();
}

std::string choice::show(const std::string& v) const
{
    return in_quotes(v);
}

std::optional<std::string> choice::read(const setting& v) const
{
    return read_text(v);
}

std::string choice::hint(const setting& v) const
{
    const std::string* s = v.as<std::string>();
    if (s == nullptr)
        return quotes_hint(v);
    const std::string close = strategy::closest(*s, words);
    return close.empty() ? "" : fmt::format("did you mean '{}'?", close);
}

// ---- what was found ----

std::string shown(const setting& v)
{
    if (const std::string* s = v.as<std::string>())
        return in_marks(*s);
    if (const setting_array* a = v.as<setting_array>())
        return a->empty() ? "an empty array" : fmt::format("an array of {}", a->size());
    if (v.as<setting_table>() != nullptr)
        return "a table";
    if (const setting_date* d = v.as<setting_date>())
        return fmt::format("the {} {}", d->text.find('-') != std::string::npos ? "date" : "time", d->text);
    return to_toml(v);
}

std::string shown_toml(const std::string& toml)
{
    if (toml.size() >= 2 && toml.front() == '"')
        return in_marks(std::string_view(toml).substr(1, toml.size() - 2));
    return printable(toml, 60);
}

// ---- tables ----

table_reader::table_reader(const setting& table, std::string path, std::vector<problem>& problems,
                           std::vector<origin>* origins)
    : table_(table.as<setting_table>()), where_(table.where), path_(std::move(path)), problems_(&problems),
      origins_(origins)
{
    if (table_ == nullptr)
        add_problem(problems, table.where, path_, shown(table), "a table");
}

table_reader::table_reader(std::string path, std::vector<problem>& problems, std::vector<origin>* origins)
    : path_(std::move(path)), problems_(&problems), origins_(origins)
{
}

const setting* table_reader::find(std::string_view key)
{
    known_.emplace_back(key);
    if (table_ == nullptr)
        return nullptr;
    const auto found = table_->find(key);
    return found == table_->end() ? nullptr : &found->second;
}

const setting* table_reader::require(std::string_view key, std::string expected)
{
    const setting* found = find(key);
    if (found == nullptr && present())
        add_problem(*problems_, where_, path_of(key), "not set", std::move(expected));
    return found;
}

const setting_array* table_reader::find_array(std::string_view key, std::string_view expected)
{
    const setting* found = find(key);
    if (found == nullptr)
        return nullptr;
    const setting_array* array = found->as<setting_array>();
    if (array == nullptr)
        add_problem(*problems_, found->where, path_of(key), shown(*found), std::string(expected));
    return array;
}

void table_reader::note(std::string_view key, std::string value, const setting* from)
{
    if (origins_ != nullptr)
        origins_->push_back({path_of(key), std::move(value), from != nullptr ? to_string(from->where) : "default"});
}

std::vector<std::string> table_reader::finish()
{
    std::vector<std::string> meant;
    const bool has_index = path_.find('[') != path_.npos;
    const std::string table = path_.empty() ? "a key or table of the file" : fmt::format("a key of {}", has_index ? path_ : fmt::format("[{}]", path_));
    for (const auto& [key, value] : entries()) {
        if (std::find(known_.begin(), known_.end(), key) != known_.end())
            continue;
        if (auto other = meaning_elsewhere(key, value, path_)) {
            add_problem(*problems_, value.key_where, path_of(key), "an unknown key", table, std::move(other->hint));
            meant.push_back(std::move(other->ours));
            continue;
        }
        add_problem(*problems_, value.key_where, path_of(key), "an unknown key", table, suggestion(key, known_));
        if (std::string close = strategy::closest(key, known_); !close.empty())
            meant.push_back(path_of(close));
    }
    return meant;
}

std::string table_reader::path_of(std::string_view key) const
{
    const std::string part = printable(key, 60);
    return path_.empty() ? part : fmt::format("{}.{}", path_, part);
}

const setting_table& table_reader::entries() const noexcept
{
    static const setting_table none;
    return table_ != nullptr ? *table_ : none;
}

// ---- words ----

std::string to_string(const source_position& p)
{
    if (p.line == 0)
        return p.file.empty() ? "program" : p.file;
    return fmt::format("{}:{}", p.file, p.line);
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known)
{
    const std::string close = strategy::closest(word, known);
    if (!close.empty())
        return fmt::format("did you mean '{}'?", close);
    if (known.empty() || known.size() > 12)
        return "";
    return fmt::format("known: {}", fmt::join(known, ", "));
}

std::string listed(const std::vector<std::string>& words, std::string_view last_word)
{
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i != 0)
            out += i + 1 == words.size() ? fmt::format(" {} ", last_word) : ", ";
        out += words[i];
    }
    return out;
}

}  // namespace shunt::config
