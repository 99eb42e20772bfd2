// How one extField is written, in both header formats. The encoders list their fields once and are compiled for each.
//
// A writer works on memory the caller grabbed: each call needs at most the room its `room` function states.

#pragma once

#include <wire/bytes.hpp>
#include <wire/text.hpp>

#include <cstdint>
#include <string_view>

namespace shunt::wire {

/// "name":"value", with a comma after each; the encoder takes the last one back.
struct json_field_writer {
    char* p;

    static constexpr std::size_t room(std::size_t name, std::size_t value) noexcept
    {
        return json_text_room(name) + json_text_room(value) + 6;
    }

    /// `name` is known to need no escapes.
    void text(std::string_view name, std::string_view value) noexcept
    {
        begin(name);
        p = put_json_text(p, value);
        end();
    }
    void number(std::string_view name, std::int64_t value) noexcept
    {
        begin(name);
        p = put_decimal(p, value);
        end();
    }
    /// For names and values of unknown origin.
    void any(std::string_view name, std::string_view value) noexcept
    {
        *p++ = '"';
        p = put_json_text(p, name);
        p = put_literal(p, "\":\"");
        p = put_json_text(p, value);
        end();
    }

private:
    void begin(std::string_view name) noexcept
    {
        *p++ = '"';
        p = put_literal(p, name);
        p = put_literal(p, "\":\"");
    }
    void end() noexcept { p = put_literal(p, "\","); }
};

/// i16 length and name, i32 length and value.
struct binary_field_writer {
    char* p;

    static constexpr std::size_t room(std::size_t name, std::size_t value) noexcept { return name + value + 6; }

    void text(std::string_view name, std::string_view value) noexcept
    {
        begin(name);
        p = store_u32(p, static_cast<std::uint32_t>(value.size()));
        p = put_literal(p, value);
    }
    void number(std::string_view name, std::int64_t value) noexcept
    {
        begin(name);
        char* const end = put_decimal(p + 4, value);
        store_u32(p, static_cast<std::uint32_t>(end - (p + 4)));
        p = end;
    }
    void any(std::string_view name, std::string_view value) noexcept { text(name, value); }

private:
    void begin(std::string_view name) noexcept
    {
        p = store_u16(p, static_cast<std::uint16_t>(name.size()));
        p = put_literal(p, name);
    }
};

}  // namespace shunt::wire
