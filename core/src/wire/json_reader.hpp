// Walks over JSON text front to back, without a tree and without memory of its own.
//
// Made for command headers and heartbeats: small objects of strings and numbers from peers that are not trusted. Raw
// control characters inside strings are let through, as Java's decoder does; everything else is strict JSON.

#pragma once

#include <cstddef>
#include <cstdint>
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
    [[nodiscard]] kind peek() noexcept;

    /// Steps into an object or array. False, and failed: something else stands here.
    [[nodiscard]] bool enter(char bracket) noexcept;
    /// Inside an object: reads the next name and its colon. False at the end of the object, or failed.
    [[nodiscard]] bool next_member(std::string_view& name);
    /// Inside an array: true when an element follows. False at the end of the array, or failed.
    [[nodiscard]] bool next_element() noexcept;

    /// Reads a value as text: strings unescaped, everything else as it is written. Objects and arrays are checked, at
    /// most `max_depth` deep.
    [[nodiscard]] bool value(std::string_view& out);
    /// After the outermost value: nothing but blanks may follow.
    [[nodiscard]] bool finish() noexcept;

    [[nodiscard]] bool failed() const noexcept { return wanted_ != nullptr; }
    /// "byte 17: found 'x'; a name in quotes must stand here".
    [[nodiscard]] std::string error() const;
    /// Makes the reader fail at the value just read, for callers that want another kind.
    bool fail(const char* wanted) noexcept;

    static constexpr int max_depth = 32;

private:
    void skip_blanks() noexcept;
    bool string(std::string_view& out);
    bool escape();
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
