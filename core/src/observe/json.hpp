// Writes JSON into a string, member by member, without building a tree.

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace shunt::observe {

class json {
public:
    json& object() { return open('{'); }
    json& array() { return open('['); }
    json& end_object() { return close('}'); }
    json& end_array() { return close(']'); }

    json& key(std::string_view name)
    {
        comma();
        quoted(name);
        out_ += ':';
        first_ = true;
        return *this;
    }

    json& value(std::string_view text)
    {
        comma();
        quoted(text);
        return *this;
    }
    json& value(const char* text) { return value(std::string_view(text)); }
    json& value(bool v) { return plain(v ? "true" : "false"); }
    json& value(std::integral auto v) { return plain(std::to_string(v)); }
    json& null() { return plain("null"); }
    /// With `digits` after the point.
    json& value(double v, int digits = 3);

    template <typename T>
    json& member(std::string_view name, const T& v)
    {
        return key(name).value(v);
    }

    [[nodiscard]] const std::string& text() const noexcept { return out_; }
    [[nodiscard]] std::string take() noexcept { return std::move(out_); }

private:
    json& open(char c)
    {
        comma();
        out_ += c;
        first_ = true;
        return *this;
    }
    json& close(char c)
    {
        out_ += c;
        first_ = false;
        return *this;
    }
    json& plain(std::string_view text)
    {
        comma();
        out_ += text;
        return *this;
    }
    void comma()
    {
        if (!first_)
            out_ += ',';
        first_ = false;
    }
    /// Bytes that are not UTF-8 become U+FFFD, one each.
    void quoted(std::string_view text);

    std::string out_;
    bool first_ = true;
};

}  // namespace shunt::observe
