#include <config/toml_text.hpp>

#include <config/text_scan.hpp>

#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <sstream>
#include <utility>

namespace shunt::config {

namespace {

// ---- the tree ----

source_position position(const std::string& file, const toml::source_region& region)
{
    return {file, region.begin.line, region.begin.column};
}

setting to_setting(const toml::node& node, const std::string& file);

setting_table to_table(const toml::table& table, const std::string& file)
{
    setting_table out;
    for (const auto& [key, node] : table) {
        setting value = to_setting(node, file);
        value.key_where = position(file, key.source());
        out.emplace(std::string(key.str()), std::move(value));
    }
    return out;
}

setting_array to_array(const toml::array& array, const std::string& file)
{
    setting_array out;
    out.reserve(array.size());
    for (const toml::node& node : array)
        out.push_back(to_setting(node, file));
    return out;
}

template <typename T>
setting_date to_date(const T& value)
{
    std::ostringstream text;
    text << value;
    return {text.str()};
}

setting to_setting(const toml::node& node, const std::string& file)
{
    setting out = node.visit([&](const auto& n) -> setting {
        using type = std::remove_cvref_t<decltype(n)>;
        if constexpr (toml::is_table<type>)
            return to_table(n, file);
        else if constexpr (toml::is_array<type>)
            return to_array(n, file);
        else if constexpr (toml::is_chronological<type>)
            return to_date(n.get());
        else
            return setting(n.get());
    });
    out.where = position(file, node.source());
    out.key_where = out.where;
    return out;
}

// ---- a syntax error, told in words ----

bool ends_token(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '=' || c == '[' || c == ']' || c == '{' || c == '}' || c == '#';
}

// What stands without quotes at a column of a line, and the column it begins at.
struct token {
    std::string_view text;
    std::uint32_t column = 1;
};

token token_at(std::string_view line, std::uint32_t column)
{
    // Columns count characters; the tokens looked for here are ASCII, but text before them need not be.
    std::size_t at = 0;
    for (std::uint32_t c = 1; c < column && at < line.size(); ++c)
        at += std::max<std::size_t>(strategy::utf8_length(line.substr(at)), 1);
    while (at > 0 && (at >= line.size() || ends_token(line[at])) && !ends_token(line[at - 1])) {
        --at;  // the parser may stand one past the end of the token it means
        break;
    }
    std::size_t begin = std::min(at, line.size());
    while (begin > 0 && !ends_token(line[begin - 1]))
        --begin;
    std::size_t end = begin;
    while (end < line.size() && !ends_token(line[end]))
        ++end;
    std::uint32_t begin_column = 1;
    for (std::size_t i = 0; i < begin; ++i)
        begin_column += (static_cast<unsigned char>(line[i]) & 0xc0u) != 0x80u ? 1 : 0;
    return {line.substr(begin, end - begin), begin_column};
}

std::string_view after(std::string_view text, std::string_view mark)
{
    const std::size_t at = text.find(mark);
    return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

bool is_key_twice(std::string_view words)
{
    return words.find("cannot redefine existing") != words.npos || words.find("into existing inline table") != words.npos;
}

// The place where a key that line `line` sets again was set first, found by reading the text before that line.
// `header`: the table header that the line stands under, or the line itself. Line 0: not found.
source_position first_place(std::string_view text, std::string_view header, std::string_view key, std::uint32_t line)
{
    try {
        const std::string_view last = line_of(text, line);
        const toml::table before = toml::parse(text.substr(0, static_cast<std::size_t>(last.data() - text.data())));
        const toml::table path = toml::parse(fmt::format("{}\n{}\n", header, key.empty() ? "" : fmt::format("{} = 0", key)));
        const toml::node* known = &before;
        const toml::node* step = &path;
        source_position found;
        for (;;) {
            if (const toml::array* list = step->as_array())
                step = list->get(0);
            const toml::table* names = step->as_table();
            if (names == nullptr || names->empty())
                return found;
            if (const toml::array* list = known->as_array())
                known = list->empty() ? known : list->get(list->size() - 1);
            const toml::table* entries = known->as_table();
            if (entries == nullptr)
                return found;
            const auto entry = entries->find(names->begin()->first.str());
            if (entry == entries->end())
                return {};
            found = position("", entry->first.source());
            known = &entry->second;
            step = &names->begin()->second;
        }
    } catch (const toml::parse_error&) {
        return {};  // the line stands inside an array of many lines
    }
}

problem key_twice(std::string_view text, const text_scan& scan, const std::string& file, std::uint32_t line)
{
    const std::string_view content = line_of(text, line);
    const std::size_t indent = std::min(content.find_first_not_of(" \t"), content.size());
    std::string_view header;
    for (const table_header& h : scan.headers)
        if (h.line <= line)
            header = line_of(text, h.line);
    const bool is_header = content.substr(indent, 1) == "[";
    std::string_view key = is_header ? content.substr(indent) : content.substr(indent, content.find('=') - indent);
    key = key.substr(0, key.find('#'));
    while (!key.empty() && (key.back() == ' ' || key.back() == '\t'))
        key.remove_suffix(1);
    const source_position first = first_place(text, header, is_header ? std::string_view() : key, line);
    problem p{file, line, static_cast<std::uint32_t>(indent + 1), "", fmt::format("{} again", in_marks(key)),
              "each key and table once", ""};
    if (first.line != 0)
        p.hint = fmt::format("it stands in line {} already", first.line);
    return p;
}

problem number_too_large(const std::string& file, std::uint32_t line, const token& word)
{
    return {file, line, word.column, "", printable(word.text, 60),
            "a whole number from -9223372036854775808 to 9223372036854775807", ""};
}

// The parser's words are made for those who know its grammar; the common slips get words of their own.
problem syntax_problem(std::string_view text, const text_scan& scan, const std::string& file, const toml::parse_error& e)
{
    const std::uint32_t line = e.source().begin.line, column = e.source().begin.column;
    const std::string_view description = e.description();
    const std::string_view rest = after(description, ": ");
    const std::string_view words = rest.empty() ? description : rest;
    const std::string_view content = line_of(text, line);
    if (is_key_twice(words))
        return key_twice(text, scan, file, line);
    const token word = token_at(content, column);
    if (words.find("not representable in 64 bits") != words.npos)
        return number_too_large(file, line, word);

    const std::string_view scope = after(description, "while parsing ").substr(0, description.size() - words.size());
    const auto scope_is = [&](std::string_view s) { return scope.substr(0, s.size()) == s; };
    const bool in_key = scope_is("key") || scope_is("root") || scope_is("table");
    const bool in_string = scope_is("string");
    problem p{file, line, column, "", "", "", ""};
    if (words.find("limit of") != words.npos || words.find("numeric value too long") != words.npos)
        return number_too_large(file, line, word);
    if (in_string && (words.find("control character") != words.npos || words.find("end-of-file") != words.npos)) {
        p.found = words.find("end-of-file") != words.npos || column > content.size() ? "the end of the line in a string"
                                                                                     : "a control character in a string";
        p.expected = p.found.front() == 't' ? "closing quotes" : "text";
        if (p.found.front() == 'a')
            p.hint = "write it as \\t, \\n or \\u00XX";
        return p;
    }
    if (!in_key && !in_string && !scope_is("array") && !scope_is("inline") && !word.text.empty() &&
        words.find("nested value depth") == words.npos) {
        p.column = word.column;
        p.found = printable(word.text, 60);
        p.expected = "a value";
        const bool number = std::isdigit(static_cast<unsigned char>(word.text.front())) != 0;
        if (word.text.front() == '\'' || word.text.front() == '"')
            p.hint = std::string(words);
        else if (number && words.find("leading zeroes") != words.npos)
            p.hint = "a number has no leading zeroes";
        else if (word.text == "yes" || word.text == "on" || word.text == "True" || word.text == "TRUE")
            p.hint = "did you mean true?";
        else if (word.text == "no" || word.text == "off" || word.text == "False" || word.text == "FALSE")
            p.hint = "did you mean false?";
        else
            p.hint = fmt::format("text, durations and sizes stand in quotes: \"{}\"", printable(word.text, 60));
        return p;
    }
    if (words.find("expected keys, tables") != words.npos || words.find("bare key starting character") != words.npos) {
        p.found = words.find("saw") != words.npos ? printable(after(words, "saw "), 60) : "something else";
        p.expected = "a key, a table header or a comment";
        p.hint = "keys are of A-Z a-z 0-9 - _, or stand in quotes";
        return p;
    }
    const std::size_t saw = words.find(", saw ");
    if (words.substr(0, 9) == "expected " && saw != words.npos) {
        p.found = printable(words.substr(saw + 6), 60);
        p.expected = printable(words.substr(9, saw - 9));
        if (p.found == "'\\n'" || p.found == "'\\r'")
            p.found = "the end of the line";
        if (p.expected.find("comment or whitespace") != p.expected.npos)
            p.hint = "one key a line";
    } else {
        p.found = printable(words, 120);
        p.expected = "TOML";
    }
    return p;
}

// ---- back to text ----

std::string toml_string(std::string_view text)
{
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\')
            out += fmt::format("\\{}", c);
        else if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else if (byte < 0x20 || byte == 0x7f)
            out += fmt::format("\\u{:04x}", byte);
        else
            out += c;
    }
    return out + '"';
}

std::string toml_key(std::string_view key)
{
    const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
    return bare ? std::string(key) : toml_string(key);
}

std::string toml_float(double value)
{
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

}  // namespace

setting parse_toml(std::string_view text, const std::string& file, std::vector<problem>& problems)
{
    const std::string shown_file = printable(file);
    if (text.size() > max_file_bytes) {
        add_problem(problems, {shown_file, 0, 0}, "", fmt::format("{} bytes", text.size()),
                    fmt::format("at most {} bytes", max_file_bytes));
        return {};
    }
    text = without_byte_order_mark(text);
    const text_scan scan = scan_text(text, shown_file);
    if (scan.wrong) {
        problems.push_back(*scan.wrong);
        return {};
    }
    try {
        const toml::table root = toml::parse(text);
        setting out{to_table(root, shown_file)};
        out.where = {shown_file, 1, 1};
        out.key_where = out.where;
        return out;
    } catch (const toml::parse_error& e) {
        problems.push_back(syntax_problem(text, scan, shown_file, e));
        return {};
    }
}

std::string to_toml(const setting& value)
{
    return std::visit(
        [](const auto& v) -> std::string {
            using type = std::remove_cvref_t<decltype(v)>;
            if constexpr (std::is_same_v<type, bool>)
                return v ? "true" : "false";
            else if constexpr (std::is_same_v<type, double>)
                return toml_float(v);
            else if constexpr (std::is_same_v<type, std::string>)
                return toml_string(v);
            else if constexpr (std::is_same_v<type, setting_date>)
                return v.text;
            else if constexpr (std::is_same_v<type, setting_array>) {
                std::string out = "[";
                for (const setting& element : v)
                    out += (out.size() == 1 ? "" : ", ") + to_toml(element);
                return out + "]";
            } else if constexpr (std::is_same_v<type, setting_table>) {
                std::string out = "{";
                for (const auto& [key, element] : v)
                    out += fmt::format("{} {} = {}", out.size() == 1 ? "" : ",", toml_key(key), to_toml(element));
                return out.size() == 1 ? "{}" : out + " }";
            } else
                return fmt::format("{}", v);
        },
        value.value());
}

}  // namespace shunt::config
