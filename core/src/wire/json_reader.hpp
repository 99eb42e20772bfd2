// Walks over JSON text front to back, without a tree and without memory of its own.
//
// Made for command headers and heartbeats: small objects of strings and numbers from peers that are not trusted. Raw
// control characters inside strings are let through, as Java's decoder does; everything else is strict JSON.

#pragma once

#include <wire/text.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace shunt::wire {

class json_reader {
public:
    enum class kind : std::uint8_t { none, text, number, boolean, null, object, array };

    /// `scratch` takes the strings that had to be unescaped. It is reserved once, for all of `text`, so views into it
    /// stay valid while nobody else touches it.
    json_reader(std::string_view text, std::string& scratch) noexcept
        : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), scratch_(scratch)
    {
    }

    /// What stands here; none at the end or at a character no value begins with.
    [[nodiscard]] kind peek() noexcept
    {
        skip_blanks();
        if (at_ == end_)
            return kind::none;
        switch (*at_) {
        case '"': return kind::text;
        case '{': return kind::object;
        case '[': return kind::array;
        case 't':
        case 'f': return kind::boolean;
        case 'n': return kind::null;
        default: return is_digit(*at_) || *at_ == '-' ? kind::number : kind::none;
        }
    }

    /// Steps into an object ('{') or array ('['). False, and failed: something else stands here.
    [[nodiscard]] bool enter(char bracket) noexcept
    {
        if (!take(bracket))
            return fail(bracket == '{' ? "an object must stand here" : "an array must stand here");
        first_ = true;
        return true;
    }

    /// Inside an object: reads the next name and its colon. False at the end of the object, or failed.
    [[nodiscard]] bool next_member(std::string_view& name)
    {
        if (!next_item('}'))
            return false;
        skip_blanks();
        if (at_ == end_ || *at_ != '"')
            return fail("a name in quotes must stand here");
        if (!string(name))
            return false;
        return take(':') || fail("a colon must follow the name");
    }

    /// Inside an object, the short way: reads "name":"value" if it stands here without blanks and escapes, as all known
    /// peers write it. False: it does not; nothing was read, next_member() can tell.
    [[nodiscard]] bool plain_member(std::string_view& name, std::string_view& text) noexcept
    {
        if (end_ - at_ < 8 || (!first_ && *at_ != ','))
            return false;
        const char* const from = at_ + (first_ ? 1 : 2);
        if (from[-1] != '"')
            return false;
        const char* const name_end = find_string_stop(from, end_);
        if (end_ - name_end < 4 || std::memcmp(name_end, "\":\"", 3) != 0)
            return false;
        const char* const text_end = find_string_stop(name_end + 3, end_);
        if (text_end == end_ || *text_end != '"')
            return false;
        name = {from, static_cast<std::size_t>(name_end - from)};
        text = {name_end + 3, static_cast<std::size_t>(text_end - (name_end + 3))};
        at_ = text_end + 1;
        first_ = false;
        return true;
    }
    /// The short way for a whole number of at most nine digits. False: something else stands here; nothing was read.
    [[nodiscard]] bool plain_number(std::int32_t& out) noexcept
    {
        const char* p = at_;
        const char* const most = end_ - p > 10 ? p + 10 : end_;  // nine digits and what follows
        std::int32_t v = 0;
        for (; p + 1 < most && is_digit(*p); ++p)
            v = v * 10 + (*p - '0');
        if (p == at_ || p == most || (*at_ == '0' && p - at_ > 1) || (*p != ',' && *p != '}'))
            return false;
        out = v;
        at_ = p;
        return true;
    }

    /// Inside an array: true when an element follows. False at the end of the array, or failed.
    [[nodiscard]] bool next_element() noexcept { return next_item(']'); }

    /// Reads a value as text: strings unescaped, everything else as it is written. Objects and arrays are checked, at
    /// most `max_depth` deep. `was` tells what it was.
    [[nodiscard]] bool value(std::string_view& out, kind& was)
    {
        was = peek();
        return was == kind::text ? string(out) : other_value(out);
    }
    [[nodiscard]] bool value(std::string_view& out)
    {
        kind ignored;
        return value(out, ignored);
    }

    /// After the outermost value: nothing but blanks may follow.
    [[nodiscard]] bool finish() noexcept
    {
        if (failed())
            return false;
        skip_blanks();
        return at_ == end_ || fail("nothing may follow");
    }

    [[nodiscard]] bool failed() const noexcept { return wanted_ != nullptr; }
    /// "byte 17: found 'x'; a name in quotes must stand here".
    [[nodiscard]] std::string error() const;
    /// Makes the reader fail after the value just read, for callers that want another kind. Always false.
    bool fail(const char* wanted) noexcept
    {
        if (wanted_ == nullptr)
            wanted_ = wanted;
        return false;
    }

    static constexpr int max_depth = 32;

private:
    static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
    void skip_blanks() noexcept
    {
        while (at_ != end_ && *at_ <= ' ' && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t'))
            ++at_;
    }
    bool take(char c) noexcept
    {
        skip_blanks();
        if (at_ == end_ || *at_ != c)
            return false;
        ++at_;
        return true;
    }
    bool next_item(char bracket) noexcept
    {
        if (failed())
            return false;
        skip_blanks();
        const char c = at_ == end_ ? '\0' : *at_;
        if (c == bracket) {
            ++at_;
            first_ = false;
            return false;
        }
        if (first_) {
            first_ = false;
            return true;
        }
        if (c != ',')
            return fail("a comma or the closing bracket must stand here");
        ++at_;
        return true;
    }

    /// At a quote. Most strings have no escapes: those are views of the text itself.
    bool string(std::string_view& out)
    {
        const char* const from = ++at_;
        at_ = find_string_stop(from, end_);
        if (at_ == end_ || *at_ != '"') [[unlikely]]
            return escaped_string(from, out);
        out = {from, static_cast<std::size_t>(at_ - from)};
        ++at_;
        return true;
    }
    bool escaped_string(const char* from, std::string_view& out);
    bool escape();
    bool other_value(std::string_view& out);
    bool number() noexcept;
    bool word(std::string_view expected) noexcept;
    bool skip(int depth);

    const char* begin_;
    const char* at_;
    const char* end_;
    std::string& scratch_;
    const char* wanted_ = nullptr;  ///< set once failed
    bool first_ = false;            ///< just entered: no comma before the next item
};

}  // namespace shunt::wire
