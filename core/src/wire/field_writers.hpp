// How one extField is written, in both header formats. The encoders list their fields once and are compiled for each.
//
// A writer works on memory the caller grabbed: each call needs at most the room its `room` function states.

#pragma once

#include <wire/bytes.hpp>
#include <wire/text.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace shunt::wire {

/// The name of a field, known when compiling: its bytes and what stands around it become one constant.
struct field_name {
    char text[24]{};
    std::size_t size = 0;

    consteval field_name() = default;
    template <std::size_t N>
    consteval field_name(const char (&name)[N]) : size(N - 1)  // NOLINT: converts on purpose, as a template argument
    {
        for (std::size_t i = 0; i < size; ++i)
            text[i] = name[i];
    }
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, size}; }
};

/// "name":"value", with a comma after each; the encoder takes the last one back.
struct json_field_writer {
    char* p;

    static constexpr std::size_t room(std::size_t name, std::size_t value) noexcept
    {
        return json_text_room(name) + json_text_room(value) + 6;
    }

    template <field_name Name>
    void text(std::string_view value) noexcept
    {
        begin<Name>();
        p = put_json_text(p, value);
        end();
    }
    template <field_name Name>
    void number(std::int64_t value) noexcept
    {
        begin<Name>();
        p = put_decimal(p, value);
        end();
    }
    template <field_name Name>
    void boolean(bool value) noexcept
    {
        begin<Name>();
        p = value ? put_literal(p, "true") : put_literal(p, "false");
        end();
    }
    /// For names that are not known when compiling.
    void any(std::string_view name, std::string_view value) noexcept
    {
        *p++ = '"';
        p = put_json_text(p, name);
        p = put_literal(p, "\":\"");
        p = put_json_text(p, value);
        end();
    }

private:
    template <field_name Name>
    void begin() noexcept
    {
        static constexpr auto lead = [] {
            std::array<char, Name.size + 4> out{};
            out[0] = '"';
            for (std::size_t i = 0; i < Name.size; ++i)
                out[i + 1] = Name.text[i];
            out[Name.size + 1] = '"';
            out[Name.size + 2] = ':';
            out[Name.size + 3] = '"';
            return out;
        }();
        std::memcpy(p, lead.data(), lead.size());
        p += lead.size();
    }
    void end() noexcept { p = put_literal(p, "\","); }
};

/// i16 length and name, i32 length and value.
struct binary_field_writer {
    char* p;

    static constexpr std::size_t room(std::size_t name, std::size_t value) noexcept { return name + value + 6; }

    template <field_name Name>
    void text(std::string_view value) noexcept
    {
        any(Name.view(), value);
    }
    template <field_name Name>
    void number(std::int64_t value) noexcept
    {
        begin(Name.view());
        char* const end = put_decimal(p + 4, value);
        store_u32(p, static_cast<std::uint32_t>(end - (p + 4)));
        p = end;
    }
    template <field_name Name>
    void boolean(bool value) noexcept
    {
        any(Name.view(), value ? "true" : "false");
    }
    void any(std::string_view name, std::string_view value) noexcept
    {
        begin(name);
        p = store_u32(p, static_cast<std::uint32_t>(value.size()));
        p = put_literal(p, value);
    }

private:
    void begin(std::string_view name) noexcept
    {
        p = store_u16(p, static_cast<std::uint16_t>(name.size()));
        p = put_literal(p, name);
    }
};

}  // namespace shunt::wire
