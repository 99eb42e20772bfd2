#include <config/toml_text.hpp>

#include <config/text_scan.hpp>
#include <config/value.hpp>

#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <optional>
#include <sstream>
#include <utility>

namespace shunt::config {

// The parser's assertions fail on some broken texts ("[:a]"). They must end the parsing, not the program, and must not
// vanish in a release.
struct parser_confused : std::exception {};

constexpr void parser_assert(bool holds)
{
    if (!holds)
        throw parser_confused();
}

}  // namespace shunt::config

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(...) shunt::config::parser_assert(static_cast<bool>(__VA_ARGS__))
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

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

constexpr const char* key_hint = "keys are of A-Z a-z 0-9 - _, or stand in quotes";

// What stands without quotes at a column of a line, and the column it begins at.
struct token {
    std::string_view text;
    std::uint32_t column = 1;
};

// Columns count characters, from 1; `line` need not be ASCII.
std::size_t byte_of(std::string_view line, std::uint32_t column)
{
    std::size_t at = 0;
    for (std::uint32_t c = 1; c < column && at < line.size(); ++c)
        at += std::max<std::size_t>(strategy::utf8_length(line.substr(at)), 1);
    return std::min(at, line.size());
}

std::uint32_t column_of(std::string_view line, std::size_t byte)
{
    const auto is_first_byte = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; };
    return static_cast<std::uint32_t>(1 + std::count_if(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(byte), is_first_byte));
}

token token_at(std::string_view line, std::uint32_t column)
{
    std::size_t begin = byte_of(line, column);
    if (begin > 0 && (begin == line.size() || ends_token(line[begin])))
        --begin;  // the parser may stand one past the end of the token it means
    while (begin > 0 && !ends_token(line[begin - 1]))
        --begin;
    std::size_t end = begin;
    while (end < line.size() && !ends_token(line[end]))
        ++end;
    return {line.substr(begin, end - begin), column_of(line, begin)};
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

std::string_view trimmed(std::string_view text)
{
    const std::size_t begin = text.find_first_not_of(" \t");
    return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// The place where a key was set that line `line` sets again, found by reading the text before that line. `header`: the
// table header that the line stands under, or the line itself. Line 0: not found.
source_position first_place(std::string_view text, std::string_view header, std::string_view key, std::uint32_t line)
{
    try {
        const std::string_view last = line_of(text, line);
        const toml::table before = toml::parse(text.substr(0, static_cast<std::size_t>(last.data() - text.data())));
        const std::string alone = fmt::format("{}\n{}\n", header, key.empty() ? "" : fmt::format("{} = 0", key));
        if (scan_text(alone, "").wrong)
            return {};  // a line that stands inside a string of many lines
        const toml::table path = toml::parse(alone);
        const toml::node* known = &before;
        const toml::node* step = &path;
        source_position found;
        for (;;) {  // along the one path there is, as far as it is known
            if (const toml::array* list = step->as_array())
                step = list->get(0);
            if (const toml::array* list = known->as_array(); list != nullptr && !list->empty())
                known = list->get(list->size() - 1);
            const toml::table* names = step->as_table();
            const toml::table* entries = known->as_table();
            if (names == nullptr || names->empty() || entries == nullptr)
                return found;
            const auto entry = entries->find(names->begin()->first.str());
            if (entry == entries->end())
                return found;
            found = position("", entry->first.source());
            known = &entry->second;
            step = &names->begin()->second;
        }
    } catch (const toml::parse_error&) {
        return {};  // the line stands inside an array of many lines
    }
}

// The key or header as the parser's words quote it: "cannot redefine existing integer 'a'".
std::string_view quoted_name(std::string_view words)
{
    const std::size_t begin = words.find('\''), end = words.rfind('\'');
    return begin == end ? std::string_view() : words.substr(begin + 1, end - begin - 1);
}

problem key_twice(std::string_view text, const text_scan& scan, const std::string& file, source_position at,
                  std::string_view words, bool in_header)
{
    const std::string_view name = quoted_name(words);
    std::string_view header;
    for (const table_header& h : scan.headers)
        if (h.line <= at.line)
            header = line_of(text, h.line);
    if (in_header) {
        // The parser may have gone on to the next line already.
        for (auto h = scan.headers.rbegin(); h != scan.headers.rend(); ++h) {
            header = line_of(text, h->line);
            at.line = h->line;
            if (h->line <= at.line && header.find(name) != header.npos)
                break;
        }
    }
    const std::string_view line = line_of(text, at.line);
    const std::size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
    problem p{file, at.line, static_cast<std::uint32_t>(indent + 1), "", "", "each key and table once", ""};
    std::string_view key = in_header ? line.substr(0, line.rfind(']') + 1) : line.substr(0, line.find('='));
    key = trimmed(key);
    if (!in_header && !name.empty() && key != name) {  // in braces, not at the line's start
        const std::size_t place = line.rfind(name, byte_of(line, at.column));
        p.column = place == line.npos ? at.column : column_of(line, place);
        p.found = fmt::format("{} again", in_marks(name));
        p.hint = "it stands in the same braces already";
        return p;
    }
    p.found = fmt::format("{} again", in_marks(key));
    const source_position first = first_place(text, header, in_header ? std::string_view() : key, at.line);
    if (first.line != 0)
        p.hint = fmt::format("it stands in line {} already", first.line);
    if (words.find("inline table") != words.npos || words.find("dotted key-value") != words.npos)
        p.hint = fmt::format("the table was made whole in line {}", first.line);
    return p;
}

problem number_too_large(const std::string& file, std::uint32_t line, const token& word)
{
    return {file, line, word.column, "", printable(word.text, 60),
            "a whole number from -9223372036854775808 to 9223372036854775807", ""};
}

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != text.npos;
}

// A hint for text that stands without quotes where a value is wanted, or a number that is none.
std::string value_hint(std::string_view word, std::string_view parser_words)
{
    if (word == "yes" || word == "on" || word == "True" || word == "TRUE")
        return "did you mean true?";
    if (word == "no" || word == "off" || word == "False" || word == "FALSE")
        return "did you mean false?";
    if (has(parser_words, "leading zeroes"))
        return "a number has no leading zeroes";
    if (word.find_first_not_of("0123456789+-_.:xobeEabcdefABCDEF") == word.npos &&
        word.find_first_of("0123456789") != word.npos)
        return printable(parser_words.substr(0, parser_words.find(", saw ")), 60);
    if (word.size() > 60)
        return "text, durations and sizes stand in quotes";
    return fmt::format("text, durations and sizes stand in quotes: \"{}\"", printable(word));
}

// The parser's words are made for those who know its grammar; the common slips get words of their own.
problem syntax_problem(std::string_view text, const text_scan& scan, const std::string& file, const toml::parse_error& e)
{
    const std::uint32_t line = e.source().begin.line;
    const std::string_view content = line_of(text, line);
    const std::uint32_t column = std::min<std::uint32_t>(e.source().begin.column, column_of(content, content.size()));
    const std::string_view description = e.description();
    const std::string_view rest = after(description, ": ");
    const std::string_view words = rest.empty() ? description : rest;
    const std::string_view scope = rest.empty() ? rest : description.substr(0, description.size() - rest.size());
    const token word = token_at(content, column);
    if (is_key_twice(words))
        return key_twice(text, scan, file, {file, line, column}, words, has(scope, "table header"));
    if (has(words, "not representable in 64 bits") || has(words, "limit of") || has(words, "numeric value too long"))
        return number_too_large(file, line, word);

    problem p{file, line, column, "", "", "", ""};
    const bool at_line_end = byte_of(content, column) >= content.size();
    if (has(words, "nested value depth")) {
        p.found = "arrays and tables deep inside each other";
        p.expected = fmt::format("at most {} levels", TOML_MAX_NESTED_VALUES);
    } else if (has(scope, "string") && (has(words, "control character") || has(words, "end-of-file"))) {
        p.found = at_line_end ? "the end of the line in a string" : "a control character in a string";
        p.expected = at_line_end ? "closing quotes" : "text";
        p.hint = at_line_end ? "" : "write it as \\t, \\n or \\u00XX";
    } else if (has(words, "control character")) {
        p.found = "a control character";
        p.expected = "text";
    } else if (has(words, "end-of-file")) {
        p.found = "the end of the file";
        p.expected = has(scope, "array") ? "a closing ']'" : has(scope, "inline table") ? "a closing '}'" : "a value";
    } else if (has(words, "expected keys, tables") || has(words, "bare key starting character")) {
        p.found = printable(after(words, "saw "), 60);
        p.expected = "a key, a table header or a comment";
        p.hint = key_hint;
    } else if (!has(scope, "key") && !has(scope, "table") && !has(scope, "string") && !has(scope, "array") && !word.text.empty()) {
        p.column = word.column;
        p.found = printable(word.text, 60);
        p.expected = "a value";
        p.hint = value_hint(word.text, words);
    } else if (const std::size_t saw = words.find(", saw "); words.substr(0, 9) == "expected " && saw != words.npos) {
        p.found = printable(words.substr(saw + 6), 60);
        p.expected = printable(words.substr(9, saw - 9));
        if (p.found == "'\\n'" || p.found == "'\\r'")
            p.found = "the end of the line";
        if (has(p.expected, "comment or whitespace")) {
            p.expected = "the end of the line or a comment";
            p.hint = "one key a line";
        } else if (p.expected == "value") {
            p.expected = "a value";
        } else if (has(p.expected, "after '\\r'")) {
            p.found = "a carriage return alone";
            p.expected = "lines that end in LF or CRLF";
        } else if (has(p.expected, "closing '}'") && at_line_end) {
            p.hint = "a table in braces stands on one line";
        }
    } else {
        p.found = printable(words, 120);
        p.expected = "TOML syntax";
    }
    return p;
}

// The line that confuses the parser: the last of the shortest text that does.
std::uint32_t confusing_line(std::string_view text)
{
    std::uint32_t clear = 0, confused = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n') + 1);
    while (confused - clear > 1) {
        const std::uint32_t middle = clear + (confused - clear) / 2;
        const std::string_view last = line_of(text, middle);
        try {
            (void)toml::parse(text.substr(0, static_cast<std::size_t>(last.data() + last.size() - text.data())));
            clear = middle;
        } catch (const toml::parse_error&) {
            clear = middle;  // it came to an end in good order: the text was cut inside something
        } catch (const parser_confused&) {
            confused = middle;
        }
    }
    return confused;
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

// A value that cannot be read may be a secret all the same: nothing of its line is shown.
void hide_secret(std::string_view text, problem& p)
{
    const std::string_view line = line_of(text, p.line);
    for (const std::string_view name : {"secret_key", "security_token", "key_password"}) {
        if (!has(line, name))
            continue;
        p.found = not_shown;
        if (!p.hint.empty())
            p.hint = "text stands in quotes, one key a line";
    }
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
        hide_secret(text, problems.back());
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
        hide_secret(text, problems.back());
        return {};
    } catch (const parser_confused&) {
        const std::uint32_t line = confusing_line(text);
        const std::string_view content = trimmed(line_of(text, line));
        const bool header = content.substr(0, 1) == "[";
        add_problem(problems, {shown_file, line, 1}, "", in_marks(content), header ? "a table header" : "TOML syntax",
                    header ? key_hint : "");
        hide_secret(text, problems.back());
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
