// The settings of an instance: names and values, checked against what the strategy declares, defaults filled in, as a host does.
//
//     settings s{{"run", 50}, {"function", "java"}, {"pins", {"acme=broker-a"}}, {"probe", 250ms}, {"buffer", "4MiB"}};

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/testing/finding.hpp>
#include <shunt/sdk/view.hpp>

#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shunt::sdk::testing {

class setting;
using setting_array = std::vector<setting>;

/// One value. Durations may be given as such or as a file writes them ("250ms"), sizes as "4MiB".
class setting {
public:
    setting(bool b) : v_(b) {}
    setting(std::integral auto i) : v_(static_cast<std::int64_t>(i)) {}
    setting(double d) : v_(d) {}
    setting(const char* s) : v_(std::string{s}) {}
    setting(std::string s) : v_(std::move(s)) {}
    setting(std::string_view s) : v_(std::string{s}) {}
    template <class Rep, class Period>
    setting(std::chrono::duration<Rep, Period> d) : v_(nanoseconds{d})
    {
    }
    setting(setting_array a) : v_(std::move(a)) {}
    setting(std::initializer_list<setting> a) : v_(setting_array(a)) {}

    template <class T>
    [[nodiscard]] const T* as() const noexcept
    {
        return std::get_if<T>(&v_);
    }

private:
    std::variant<bool, std::int64_t, double, std::string, nanoseconds, setting_array> v_;
};

using settings = std::map<std::string, setting>;

/// Hands settings to create() as they are, undeclared and wrong ones too: for tests of what a strategy does with these.
struct unchecked_t {
    explicit constexpr unchecked_t(int) noexcept {}
};
inline constexpr unchecked_t unchecked{0};

/// What else an instance is told.
struct start_at {
    std::uint32_t start = 0;  ///< where a rotation begins, 0..2147483647
};

/// Settings in the form of the border.
class config {
public:
    config(const settings& given, const shunt_param* params, std::uint32_t n, std::uint32_t stride, bool checked)
    {
        table_.struct_size = sizeof table_;
        table_.root = this;
        table_.get = [](const void* root, shunt_str name, shunt_value* out) -> shunt_status {
            const auto& values = static_cast<const config*>(root)->values_;
            const auto found = values.find(std::string{text(name)});
            if (found == values.end())
                return SHUNT_UNSUPPORTED;
            *out = found->second.value;
            return SHUNT_OK;
        };
        table_.at = [](const void* array, std::uint32_t i, shunt_value* out) -> shunt_status {
            const auto& elements = static_cast<const node*>(array)->elements;
            if (i >= elements.size())
                return SHUNT_E_INVALID;
            *out = elements[i].value;
            return SHUNT_OK;
        };

        std::map<std::string, const shunt_param*> declared;
        std::string names;
        for (std::uint32_t i = 0; i < n; ++i) {
            const auto& p = *reinterpret_cast<const shunt_param*>(reinterpret_cast<const char*>(params) + std::size_t{stride} * i);
            declared.emplace(text(p.name), &p);
            names.append(names.empty() ? "" : ", ").append(text(p.name));
        }
        for (const auto& [name, value] : given)
            if (const auto d = declared.find(name); !checked)
                values_.emplace(name, plain(value));
            else if (d == declared.end())
                problem(name + " is an unknown setting; it must be " + (names.empty() ? "left out, there are none" : "one of " + names));
            else
                take(*d->second, value, "");
        for (const auto& [name, p] : declared) {
            if (given.count(name) > 0)
                continue;
            if (p->default_text.len > 0)
                take_default(*p);
            else if (checked && (p->flags & SHUNT_P_REQUIRED) != 0)
                problem(name + " is not set; it must be " + describe(*p));
        }
        for (auto& [name, value] : values_)
            settle(value);
    }
    config(const config&) = delete;
    config& operator=(const config&) = delete;

    /// What is wrong with the settings; empty: nothing.
    [[nodiscard]] const std::string& problems() const noexcept { return problems_; }
    [[nodiscard]] const shunt_config* table() const noexcept { return &table_; }

private:
    struct node {
        shunt_value value{};
        std::string text{};
        std::vector<node> elements{};
    };

    void problem(const std::string& one) { problems_.append(problems_.empty() ? "" : "; ").append(one); }

    // Elements move while an array grows, so what points into a node is set when all stand.
    static void settle(node& n)
    {
        n.value.str = str(n.text);
        n.value.count = static_cast<std::uint32_t>(n.elements.size());
        n.value.node = n.value.type == SHUNT_T_ARRAY ? &n : nullptr;
        for (node& e : n.elements)
            settle(e);
    }

    static node scalar(std::int32_t type, std::int64_t i64, double f64 = 0, std::string text = {})
    {
        node n;
        n.value.type = type;
        n.value.i64 = i64;
        n.value.f64 = f64;
        n.text = std::move(text);
        return n;
    }

    /// The value by its own type.
    static node plain(const setting& s)
    {
        if (const auto* b = s.as<bool>())
            return scalar(SHUNT_T_BOOL, *b ? 1 : 0);
        if (const auto* i = s.as<std::int64_t>())
            return scalar(SHUNT_T_I64, *i);
        if (const auto* d = s.as<double>())
            return scalar(SHUNT_T_F64, 0, *d);
        if (const auto* t = s.as<std::string>())
            return scalar(SHUNT_T_STR, 0, 0, *t);
        if (const auto* d = s.as<nanoseconds>())
            return scalar(SHUNT_T_DURATION_NS, d->count());
        node n;
        n.value.type = SHUNT_T_ARRAY;
        for (const setting& e : *s.as<setting_array>())
            n.elements.push_back(plain(e));
        return n;
    }

    /// The value as the declared type; nothing is converted but what a file can write. False: it does not fit.
    static bool fits(const shunt_param& p, std::int32_t type, const setting& s, node& out)
    {
        const auto in_range = [&](double v) { return (p.min == 0 && p.max == 0) || (v >= p.min && v <= p.max); };
        const auto number = [&](std::int64_t v) {
            out = scalar(type, v);
            return in_range(static_cast<double>(v));
        };
        const auto* const words = s.as<std::string>();
        switch (type) {
        case SHUNT_T_BOOL:
            out = plain(s);
            return s.as<bool>() != nullptr;
        case SHUNT_T_I64: {
            const auto* i = s.as<std::int64_t>();
            return i != nullptr && number(*i);
        }
        case SHUNT_T_F64: {
            const auto* i = s.as<std::int64_t>();
            const auto* d = s.as<double>();
            if (i == nullptr && d == nullptr)
                return false;
            const double v = d != nullptr ? *d : static_cast<double>(*i);
            out = scalar(type, 0, v);
            return std::isfinite(v) && in_range(v);
        }
        case SHUNT_T_DURATION_NS: {
            if (const auto* d = s.as<nanoseconds>())
                return number(d->count());
            const auto ns = words == nullptr ? std::nullopt : detail::parse_with_unit(*words, detail::duration_units);
            return ns && number(*ns);
        }
        case SHUNT_T_SIZE: {
            const auto bytes = words == nullptr ? std::nullopt : detail::parse_with_unit(*words, detail::size_units);
            return bytes && number(*bytes);
        }
        default:
            if (words == nullptr)
                return false;
            out = plain(s);
            for (std::string_view all = text(p.choices); !all.empty();) {
                const std::string_view one = all.substr(0, all.find('|'));
                if (one == *words)
                    return true;
                all.remove_prefix(std::min(all.size(), one.size() + 1));
            }
            return p.choices.len == 0;
        }
    }

    void take(const shunt_param& p, const setting& s, std::string_view prefix)
    {
        const std::string name{text(p.name)};
        node n;
        if (p.type != SHUNT_T_ARRAY) {
            if (!fits(p, p.type, s, n))
                return problem(std::string{prefix} + name + " is " + show(s) + "; it must be " + describe(p));
        } else {
            const auto* const elements = s.as<setting_array>();
            if (elements == nullptr || elements->size() < p.min_count)
                return problem(std::string{prefix} + name + " is " + show(s) + "; it must be " + describe(p));
            n.value.type = SHUNT_T_ARRAY;
            for (const setting& e : *elements)
                if (!fits(p, p.element_type, e, n.elements.emplace_back()))
                    return problem(std::string{prefix} + name + "[" + std::to_string(n.elements.size() - 1) + "] is " + show(e) +
                                   "; it must be " + describe(p, p.element_type));
        }
        values_.insert_or_assign(name, std::move(n));
    }

    void take_default(const shunt_param& p)
    {
        std::string_view rest = text(p.default_text);
        setting value{false};
        if (!read(rest, value) || !detail::next_word(rest).empty())
            return problem("the declared default of " + std::string{text(p.name)} + " is " + detail::quoted(text(p.default_text)) +
                           "; it must be a value as TOML writes it, text in quotes");
        take(p, value, "the declared default of ");
    }

    // ---- a value as TOML writes it ----

    static void skip_blanks(std::string_view& s) { s.remove_prefix(std::min(s.size(), s.find_first_not_of(" \t\n"))); }

    static bool read(std::string_view& s, setting& out)
    {
        skip_blanks(s);
        if (s.empty())
            return false;
        if (s.front() == '"' || s.front() == '\'')
            return read_string(s, out);
        if (s.front() == '[') {
            setting_array all;
            for (s.remove_prefix(1); skip_blanks(s), !s.empty() && s.front() != ']';) {
                setting one{false};
                if (!read(s, one))
                    return false;
                all.push_back(std::move(one));
                skip_blanks(s);
                if (!s.empty() && s.front() == ',')
                    s.remove_prefix(1);
            }
            if (s.empty())
                return false;
            s.remove_prefix(1);
            out = setting(std::move(all));
            return true;
        }
        std::string word{s.substr(0, s.find_first_of(" \t\n,]"))};
        s.remove_prefix(word.size());
        std::erase(word, '_');
        if (word == "true" || word == "false") {
            out = setting(word == "true");
            return true;
        }
        std::int64_t i = 0;
        double d = 0;
        const char* const end = word.data() + word.size();
        if (std::from_chars(word.data(), end, i).ptr == end && !word.empty())
            out = setting(i);
        else if (std::from_chars(word.data(), end, d).ptr == end && !word.empty())
            out = setting(d);
        else
            return false;
        return true;
    }

    static bool read_string(std::string_view& s, setting& out)
    {
        const char quote = s.front();
        std::string text;
        for (s.remove_prefix(1); !s.empty(); s.remove_prefix(1)) {
            if (s.front() == quote) {
                s.remove_prefix(1);
                out = setting(std::move(text));
                return true;
            }
            if (s.front() == '\\' && quote == '"') {
                s.remove_prefix(1);
                constexpr std::string_view written = "\"\\ntr", meant = "\"\\\n\t\r";
                const std::size_t which = s.empty() ? std::string_view::npos : written.find(s.front());
                if (which == std::string_view::npos)
                    return false;
                text += meant[which];
            } else {
                text += s.front();
            }
        }
        return false;
    }

    // ---- words ----

    static std::string real(double d)
    {
        char text[32];
        std::snprintf(text, sizeof text, "%g", d);
        return text;
    }

    static std::string show(const setting& s)
    {
        if (const auto* b = s.as<bool>())
            return *b ? "true" : "false";
        if (const auto* i = s.as<std::int64_t>())
            return std::to_string(*i);
        if (const auto* d = s.as<double>())
            return real(*d);
        if (const auto* t = s.as<std::string>())
            return detail::quoted(*t);
        if (const auto* d = s.as<nanoseconds>())
            return detail::quoted(detail::show(*d));
        const auto n = s.as<setting_array>()->size();
        return n == 0 ? "an empty array" : "an array of " + std::to_string(n);
    }

    static std::string describe(const shunt_param& p)
    {
        if (p.type != SHUNT_T_ARRAY)
            return describe(p, p.type);
        const std::string least = p.min_count == 0 ? "" : " at least " + std::to_string(p.min_count);
        return "an array of" + least + (least.empty() ? " elements" : p.min_count == 1 ? " element" : " elements") + ", each " +
               describe(p, p.element_type);
    }

    static std::string describe(const shunt_param& p, std::int32_t type)
    {
        std::string range;
        const auto bound = [&](double v) {
            const auto whole = static_cast<std::int64_t>(v);
            return type == SHUNT_T_DURATION_NS ? detail::show(nanoseconds{whole})
                   : type == SHUNT_T_SIZE      ? detail::show_with_unit(whole, detail::size_units, "B")
                   : type == SHUNT_T_I64       ? std::to_string(whole)
                                               : real(v);
        };
        if (p.min != 0 || p.max != 0) {
            if (p.min > -9.2e18)
                range = p.max < 9.2e18 ? " from " + bound(p.min) + " to " + bound(p.max) : " of at least " + bound(p.min);
            else if (p.max < 9.2e18)
                range = " of at most " + bound(p.max);
        }
        switch (type) {
        case SHUNT_T_BOOL: return "true or false";
        case SHUNT_T_I64: return "a whole number" + range;
        case SHUNT_T_F64: return "a number" + range;
        case SHUNT_T_DURATION_NS: return "a duration" + range + ", as \"250ms\"";
        case SHUNT_T_SIZE: return "a size" + range + ", as \"4MiB\"";
        default: return p.choices.len == 0 ? "a string" : "one of " + std::string{text(p.choices)};
        }
    }

    std::map<std::string, node> values_;
    std::string problems_;
    shunt_config table_{};
};

}  // namespace shunt::sdk::testing
