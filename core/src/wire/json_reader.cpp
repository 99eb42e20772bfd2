#include <wire/json_reader.hpp>

namespace shunt::wire {
namespace {

bool read_hex4(const char* p, const char* end, std::uint32_t& out) noexcept
{
    if (end - p < 4)
        return false;
    out = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = p[i];
        std::uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = static_cast<std::uint32_t>(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = static_cast<std::uint32_t>(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = static_cast<std::uint32_t>(c - 'A' + 10);
        else
            return false;
        out = out << 4 | digit;
    }
    return true;
}

void append_utf8(std::string& out, std::uint32_t c)
{
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xc0 | c >> 6);
        put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(0xe0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3f));
        put(0x80 | (c & 0x3f));
    } else {
        put(0xf0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3f));
        put(0x80 | (c >> 6 & 0x3f));
        put(0x80 | (c & 0x3f));
    }
}

}  // namespace

std::string json_reader::error() const
{
    std::string out = "byte " + std::to_string(at_ - begin_) + ": found ";
    if (at_ == end_)
        out += "the end";
    else if (*at_ >= 0x20 && *at_ < 0x7f)
        out.append("'").append(1, *at_).append("'");
    else
        out += "byte value " + std::to_string(static_cast<unsigned char>(*at_));
    return out.append("; ").append(wanted_ == nullptr ? "nothing is wrong" : wanted_);
}

bool json_reader::other_value(std::string_view& out)
{
    const char* const from = at_;
    if (!skip(0))
        return false;
    out = {from, static_cast<std::size_t>(at_ - from)};
    return true;
}

bool json_reader::escaped_string(const char* from, std::string_view& out)
{
    // Unescaped text is never longer than escaped text, so one reservation serves all strings of this header.
    if (scratch_.empty())
        scratch_.reserve(static_cast<std::size_t>(end_ - begin_));
    const std::size_t start = scratch_.size();
    for (;;) {
        scratch_.append(from, at_);
        if (at_ == end_)
            return fail("the string must end with a quote");
        if (*at_ == '"')
            break;
        if (!escape())
            return false;
        from = at_;
        at_ = find_string_stop(at_, end_);
    }
    ++at_;
    out = std::string_view{scratch_}.substr(start);
    return true;
}

bool json_reader::escape()
{
    static constexpr const char* unknown = "an escape must be one of \" \\ / b f n r t u";
    const char* const backslash = at_++;
    if (at_ == end_)
        return fail(unknown);
    switch (*at_++) {
    case '"': scratch_ += '"'; return true;
    case '\\': scratch_ += '\\'; return true;
    case '/': scratch_ += '/'; return true;
    case 'b': scratch_ += '\b'; return true;
    case 'f': scratch_ += '\f'; return true;
    case 'n': scratch_ += '\n'; return true;
    case 'r': scratch_ += '\r'; return true;
    case 't': scratch_ += '\t'; return true;
    case 'u': break;
    default: at_ = backslash; return fail(unknown);
    }
    std::uint32_t c;
    if (!read_hex4(at_, end_, c)) {
        at_ = backslash;
        return fail("\\u must be followed by four hex digits");
    }
    at_ += 4;
    if (c >= 0xd800 && c < 0xe000) {
        // Half a surrogate pair alone has no meaning in UTF-8: the replacement character stands for it.
        std::uint32_t low;
        const bool pair = c < 0xdc00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u' && read_hex4(at_ + 2, end_, low) &&
                          low >= 0xdc00 && low < 0xe000;
        if (pair) {
            at_ += 6;
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        } else {
            c = 0xfffd;
        }
    }
    append_utf8(scratch_, c);
    return true;
}

bool json_reader::number() noexcept
{
    const auto digits = [this] {
        const char* const from = at_;
        while (at_ != end_ && is_digit(*at_))
            ++at_;
        return at_ != from;
    };
    if (*at_ == '-')
        ++at_;
    const char* const first = at_;
    bool good = digits() && (*first != '0' || at_ - first == 1);
    if (good && at_ != end_ && *at_ == '.') {
        ++at_;
        good = digits();
    }
    if (good && at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
        ++at_;
        if (at_ != end_ && (*at_ == '+' || *at_ == '-'))
            ++at_;
        good = digits();
    }
    return good || fail("a number must stand here");
}

bool json_reader::word(std::string_view expected) noexcept
{
    if (std::string_view{at_, static_cast<std::size_t>(end_ - at_)}.substr(0, expected.size()) != expected)
        return fail("true, false or null must stand here");
    at_ += expected.size();
    return true;
}

bool json_reader::skip(int depth)
{
    std::string_view ignored;
    switch (peek()) {
    case kind::text: return string(ignored);
    case kind::number: return number();
    case kind::boolean: return word(*at_ == 't' ? "true" : "false");
    case kind::null: return word("null");
    case kind::object:
        if (depth == max_depth)
            return fail("nesting is too deep: at most 32 levels");
        if (!enter('{'))
            return false;
        while (next_member(ignored)) {
            if (!skip(depth + 1))
                return false;
        }
        return !failed();
    case kind::array:
        if (depth == max_depth)
            return fail("nesting is too deep: at most 32 levels");
        if (!enter('['))
            return false;
        while (next_element()) {
            if (!skip(depth + 1))
                return false;
        }
        return !failed();
    case kind::none: break;
    }
    return fail("a value must stand here");
}

}  // namespace shunt::wire
