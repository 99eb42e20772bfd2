#include <config/text_scan.hpp>

#include <strategy/settings_check.hpp>

#include <fmt/format.h>

namespace shunt::config {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

// Walks over TOML just closely enough to know keys from strings and comments. What it gets wrong in a broken file does
// not matter: the parser refuses such a file after it.
class scanner {
public:
    scanner(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    text_scan run()
    {
        if (text_.substr(0, 2) == "\xff\xfe" || text_.substr(0, 2) == "\xfe\xff")
            refuse("UTF-16 text", "UTF-8 text", "save the file as UTF-8");
        while (!result_.wrong && at_ < text_.size())
            step();
        return std::move(result_);
    }

private:
    enum class state { plain, comment, basic, literal, long_basic, long_literal };

    void refuse(std::string found, std::string expected, std::string hint)
    {
        result_.wrong = problem{file_, line_, column_, "", std::move(found), std::move(expected), std::move(hint)};
    }

    void step()
    {
        const std::string_view rest = text_.substr(at_);
        const std::size_t bytes = strategy::utf8_length(rest);
        const char c = rest.front();
        if (bytes == 0)
            return refuse(fmt::format("the byte 0x{:02x}", static_cast<unsigned char>(c)), "UTF-8 text",
                          "save the file as UTF-8");
        if (c == '\0')
            return refuse("a NUL byte", "UTF-8 text", "the file is not text, or is UTF-16");
        if (rest.substr(0, 3) == byte_order_mark)
            return refuse("a byte order mark", "one at the very start of the file, or none", "");
        if (c == '\n' && (state_ == state::basic || state_ == state::literal)) {
            column_ -= text_[at_ - 1] == '\r' ? 1 : 0;
            return refuse("the end of the line in a string", "closing quotes", "");
        }
        // TOML forbids it; this says it better than the parser.
        if (bytes > 1 && state_ == state::plain)
            return refuse(fmt::format("'{}' without quotes", rest.substr(0, bytes)), "text in quotes, or a comment",
                          "bare keys are of A-Z a-z 0-9 - _");
        std::size_t taken = bytes;
        switch (state_) {
        case state::plain: taken = plain(rest, bytes); break;
        case state::comment: break;
        case state::basic: taken = inside(rest, bytes, "\"", true); break;
        case state::literal: taken = inside(rest, bytes, "'", false); break;
        case state::long_basic: taken = inside(rest, bytes, "\"\"\"", true); break;
        case state::long_literal: taken = inside(rest, bytes, "'''", false); break;
        }
        column_ += static_cast<std::uint32_t>(bytes > 1 ? 1 : taken);
        at_ += taken;
        if (c == '\n')
            new_line();
    }

    std::size_t plain(std::string_view rest, std::size_t bytes)
    {
        const char c = rest.front();
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
            return 1;
        if (c == '#') {
            state_ = state::comment;
            return 1;
        }
        if (line_is_new_ && depth_ == 0 && c == '[') {
            result_.headers.push_back({line_, at_});
            in_header_ = true;
        }
        line_is_new_ = false;
        switch (c) {
        case '"': return open(rest, "\"\"\"", state::basic, state::long_basic);
        case '\'': return open(rest, "'''", state::literal, state::long_literal);
        case '.':
            if (++dots_ >= max_key_parts)
                refuse("a key of many parts", fmt::format("at most {} parts between dots", max_key_parts), "");
            return 1;
        case '[':
        case '{': depth_ += in_header_ ? 0 : 1; break;
        case ']':
        case '}': depth_ -= in_header_ || depth_ == 0 ? 0 : 1; break;
        case '=':
        case ',': break;
        default: return bytes;
        }
        dots_ = 0;
        return 1;
    }

    std::size_t open(std::string_view rest, std::string_view long_mark, state one_line, state many_lines)
    {
        if (rest.substr(0, 3) == long_mark) {
            state_ = many_lines;
            return 3;
        }
        state_ = one_line;
        return 1;
    }

    std::size_t inside(std::string_view rest, std::size_t bytes, std::string_view end, bool escapes)
    {
        if (escapes && rest.front() == '\\' && rest.size() > 1 && (rest[1] == '"' || rest[1] == '\\'))
            return 2;
        if (rest.substr(0, end.size()) == end) {
            state_ = state::plain;
            return end.size();
        }
        return bytes;
    }

    void new_line()
    {
        ++line_;
        column_ = 1;
        line_is_new_ = true;
        in_header_ = false;
        dots_ = 0;
        if (state_ == state::comment)
            state_ = state::plain;
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
    std::uint32_t line_ = 1, column_ = 1;
    state state_ = state::plain;
    bool line_is_new_ = true;  // nothing but blanks yet
    bool in_header_ = false;
    std::size_t depth_ = 0;  // of open arrays and inline tables
    std::size_t dots_ = 0;   // in the key under way
    text_scan result_;
};

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) noexcept
{
    return text.substr(0, 3) == byte_order_mark ? text.substr(3) : text;
}

text_scan scan_text(std::string_view text, const std::string& file)
{
    return scanner(text, file).run();
}

std::string_view line_of(std::string_view text, std::uint32_t line) noexcept
{
    for (; line > 1; --line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos)
            return {};
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace shunt::config
