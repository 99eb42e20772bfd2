#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace shunt::strategy {

namespace {

struct unit {
    std::string_view name;
    std::int64_t factor;
};

// Largest first: formatting takes the first that divides.
constexpr std::array<unit, 6> duration_units{{
    {"h", 3'600'000'000'000}, {"m", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}}};
constexpr std::array<unit, 4> size_units{{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}};

template <std::size_t N>
bool parse_with_unit(std::string_view text, const std::array<unit, N>& units, std::int64_t& out) noexcept
{
    const char* const end = text.data() + text.size();
    std::uint64_t number = 0;
    const auto [rest, failure] = std::from_chars(text.data(), end, number);  // no sign, no blank: it is unsigned
    if (failure != std::errc{})
        return false;
    const std::string_view name(rest, static_cast<std::size_t>(end - rest));
    const auto* const u = std::find_if(units.begin(), units.end(), [&](const unit& x) { return x.name == name; });
    if (u == units.end() || number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / u->factor))
        return false;
    out = static_cast<std::int64_t>(number) * u->factor;
    return true;
}

template <std::size_t N>
std::string format_with_unit(std::int64_t n, const std::array<unit, N>& units, std::string_view of_zero)
{
    if (n == 0)
        return fmt::format("0{}", of_zero);
    const auto* const u = std::find_if(units.begin(), units.end(), [&](const unit& x) { return n % x.factor == 0; });
    return fmt::format("{}{}", n / u->factor, u->name);
}

bool is_scalar(std::int32_t type) noexcept
{
    return type == SHUNT_T_BOOL || type == SHUNT_T_I64 || type == SHUNT_T_F64 || type == SHUNT_T_STR ||
           type == SHUNT_T_DURATION_NS || type == SHUNT_T_SIZE;
}

bool has_range(std::int32_t type) noexcept
{
    return type == SHUNT_T_I64 || type == SHUNT_T_F64 || type == SHUNT_T_DURATION_NS || type == SHUNT_T_SIZE;
}

// A bound past what 64 bits hold is no bound.
bool bounds_below(double min) noexcept { return min > -9.2e18; }
bool bounds_above(double max) noexcept { return max < 9.2e18; }

std::string format_double(double v)
{
    std::string text = fmt::format("{}", v);
    if (std::isfinite(v) && text.find_first_not_of("-0123456789") == std::string::npos)
        text += ".0";
    return text;
}

std::string format_bound(std::int32_t type, double v)
{
    switch (type) {
    case SHUNT_T_DURATION_NS: return format_duration(std::llround(v));
    case SHUNT_T_SIZE: return format_size(std::llround(v));
    case SHUNT_T_I64: return fmt::format("{}", std::llround(v));
    default: return fmt::format("{}", v);
    }
}

std::string range_text(const parameter& p, std::int32_t type)
{
    if (!has_range(type) || (p.min == 0 && p.max == 0))
        return {};
    if (bounds_below(p.min) && bounds_above(p.max))
        return fmt::format(" from {} to {}", format_bound(type, p.min), format_bound(type, p.max));
    if (bounds_below(p.min))
        return fmt::format(" of at least {}", format_bound(type, p.min));
    if (bounds_above(p.max))
        return fmt::format(" of at most {}", format_bound(type, p.max));
    return {};
}

std::string choice_text(const std::vector<std::string>& choices)
{
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (i > 0)
            text += i + 1 == choices.size() ? " or " : ", ";
        text += fmt::format("'{}'", choices[i]);
    }
    return text;
}

std::string type_text(const parameter& p, std::int32_t type, bool many)
{
    const auto noun = [&](std::string_view one, std::string_view more) {
        const bool counts = !p.unit.empty() && (type == SHUNT_T_I64 || type == SHUNT_T_F64);
        return fmt::format("{}{}{}", many ? more : one, range_text(p, type), counts ? fmt::format(" ({})", p.unit) : "");
    };
    switch (type) {
    case SHUNT_T_BOOL: return many ? "true or false each" : "true or false";
    case SHUNT_T_I64: return noun("a whole number", "whole numbers");
    case SHUNT_T_F64: return noun("a number", "numbers");
    case SHUNT_T_DURATION_NS: return noun("a duration", "durations");
    case SHUNT_T_SIZE: return noun("a size", "sizes");
    case SHUNT_T_STR:
        if (!p.choices.empty())
            return (many ? "strings out of " : "") + choice_text(p.choices);
        return many ? "strings" : "a string";
    default: return "a value";
    }
}

std::string found_text(const setting& s)
{
    struct visitor {
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
        std::string operator()(double v) const { return format_double(v); }
        std::string operator()(const std::string& v) const { return in_quotes(v, '\''); }
        std::string operator()(const setting_array& v) const
        {
            return v.empty() ? "an empty array" : fmt::format("an array of {}", v.size());
        }
        std::string operator()(const setting_table&) const { return "a table"; }
        std::string operator()(const setting_date& v) const { return fmt::format("the date {}", v.text); }
    };
    return std::visit(visitor{}, s.value());
}

// ---- a TOML value, for defaults ----

class value_reader {
public:
    explicit value_reader(std::string_view text) : text_(text) {}

    bool read_whole(setting& out) { return value(out, 0) && (skip_blanks(), at_ == text_.size()); }

private:
    [[nodiscard]] char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
    void skip_blanks() noexcept
    {
        while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n'))
            ++at_;
    }

    bool value(setting& out, int depth)
    {
        skip_blanks();
        switch (peek()) {
        case '"': return basic_string(out);
        case '\'': return literal_string(out);
        case '[': return depth < 4 && array(out, depth);
        default: return word(out);
        }
    }

    bool basic_string(setting& out)
    {
        std::string s;
        for (++at_; at_ < text_.size(); ++at_) {
            char c = text_[at_];
            if (c == '"') {
                ++at_;
                out = setting(std::move(s));
                return true;
            }
            if (c == '\\') {
                ++at_;
                switch (peek()) {
                case '"': c = '"'; break;
                case '\\': c = '\\'; break;
                case 'n': c = '\n'; break;
                case 't': c = '\t'; break;
                case 'r': c = '\r'; break;
                default: return false;
                }
            }
            s += c;
        }
        return false;
    }

    bool literal_string(setting& out)
    {
        const std::size_t end = text_.find('\'', at_ + 1);
        if (end == std::string_view::npos)
            return false;
        out = setting(std::string(text_.substr(at_ + 1, end - at_ - 1)));
        at_ = end + 1;
        return true;
    }

    bool array(setting& out, int depth)
    {
        setting_array elements;
        ++at_;
        for (;;) {
            skip_blanks();
            if (peek() == ']')
                break;
            setting element;
            if (!value(element, depth + 1))
                return false;
            elements.push_back(std::move(element));
            skip_blanks();
            if (peek() == ',')
                ++at_;
            else if (peek() != ']')
                return false;
        }
        ++at_;
        out = setting(std::move(elements));
        return true;
    }

    bool word(setting& out)
    {
        const std::size_t end = std::min(text_.find_first_of(" \t\n,]", at_), text_.size());
        std::string w(text_.substr(at_, end - at_));
        at_ = end;
        if (w == "true" || w == "false") {
            out = setting(w == "true");
            return true;
        }
        std::erase(w, '_');
        if (!w.empty() && w.front() == '+')
            w.erase(0, 1);
        if (w.empty())
            return false;
        const char* const last = w.data() + w.size();
        std::int64_t i = 0;
        if (const auto r = std::from_chars(w.data(), last, i); r.ec == std::errc{} && r.ptr == last) {
            out = setting(i);
            return true;
        }
        double d = 0;
        if (const auto r = std::from_chars(w.data(), last, d);
            r.ec == std::errc{} && r.ptr == last && (std::isdigit(static_cast<unsigned char>(w.back())) != 0)) {
            out = setting(d);
            return true;
        }
        return false;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

// ---- checking one value ----

struct node {
    shunt_value value{};
    std::string text;
    std::vector<node> elements;
};

// An array's elements move while it grows, so what points into a node is set when all stand.
void settle(node& n)
{
    n.value.str = {n.text.c_str(), n.text.size()};
    n.value.count = static_cast<std::uint32_t>(n.elements.size());
    n.value.node = n.value.type == SHUNT_T_ARRAY ? &n : nullptr;
    for (node& e : n.elements)
        settle(e);
}

struct misfit {
    std::string found, expected, hint;
};

bool in_range(const parameter& p, long double v) noexcept
{
    return (p.min == 0 && p.max == 0) || (v >= p.min && v <= p.max);
}

// A value that is no array. Nothing: it fits, and is in `out`.
std::optional<misfit> check_scalar(const parameter& p, std::int32_t type, const setting& s, node& out)
{
    const auto wrong = [&](std::string hint = {}) {
        return misfit{found_text(s), type_text(p, type, false), std::move(hint)};
    };
    const auto* const text = s.as<std::string>();
    const auto unquoted = [&]() -> std::string {
        setting inside;
        const bool plain = text != nullptr && parse_value(*text, inside) && !inside.as<std::string>() && !inside.as<setting_array>();
        return plain ? fmt::format("write {} without quotes", *text) : "";
    };
    out.value.type = type;
    switch (type) {
    case SHUNT_T_BOOL: {
        const auto* const b = s.as<bool>();
        if (b == nullptr)
            return wrong(unquoted());
        out.value.i64 = *b ? 1 : 0;
        return {};
    }
    case SHUNT_T_I64: {
        const auto* const i = s.as<std::int64_t>();
        if (i == nullptr || !in_range(p, static_cast<long double>(*i)))
            return wrong(unquoted());
        out.value.i64 = *i;
        return {};
    }
    case SHUNT_T_F64: {
        const auto* const i = s.as<std::int64_t>();
        const auto* const d = s.as<double>();
        if (i == nullptr && d == nullptr)
            return wrong(unquoted());
        out.value.f64 = d != nullptr ? *d : static_cast<double>(*i);
        if (!std::isfinite(out.value.f64) || !in_range(p, out.value.f64))
            return wrong();
        return {};
    }
    case SHUNT_T_DURATION_NS:
        if (text == nullptr || !parse_duration(*text, out.value.i64))
            return wrong("a duration is a whole number and a unit in quotes, like \"250ms\" or \"3s\"");
        return in_range(p, static_cast<long double>(out.value.i64)) ? std::nullopt : std::optional(wrong());
    case SHUNT_T_SIZE:
        if (text == nullptr || !parse_size(*text, out.value.i64))
            return wrong("a size is a whole number and a unit in quotes, like \"64KiB\" or \"4MiB\"");
        return in_range(p, static_cast<long double>(out.value.i64)) ? std::nullopt : std::optional(wrong());
    case SHUNT_T_STR: {
        if (text == nullptr)
            return wrong();
        if (!p.choices.empty() && std::find(p.choices.begin(), p.choices.end(), *text) == p.choices.end()) {
            const std::string near = closest(*text, p.choices);
            return wrong(near.empty() ? "" : fmt::format("did you mean '{}'?", near));
        }
        out.text = *text;
        return {};
    }
    default: return misfit{found_text(s), fmt::format("of a type this shunt knows, not {}", type), {}};
    }
}

void check_value(const parameter& p, const setting& s, const source_position& where,
                 std::vector<setting_problem>& problems, node& out)
{
    const auto place = [&](const setting& x) -> const source_position& { return x.where.line != 0 ? x.where : where; };
    if (p.type != SHUNT_T_ARRAY) {
        if (auto m = check_scalar(p, p.type, s, out))
            problems.push_back({place(s), p.name, std::move(m->found), std::move(m->expected), std::move(m->hint)});
        return;
    }
    out.value.type = SHUNT_T_ARRAY;
    const auto* const elements = s.as<setting_array>();
    if (elements == nullptr || elements->size() < p.min_count) {
        problems.push_back({place(s), p.name, found_text(s), describe(p), {}});
        return;
    }
    out.elements.resize(elements->size());
    for (std::size_t i = 0; i < elements->size(); ++i) {
        const setting& element = (*elements)[i];
        const source_position& at = element.where.line != 0 ? element.where : place(s);
        if (auto m = check_scalar(p, p.element_type, element, out.elements[i]))
            problems.push_back({at, fmt::format("{}[{}]", p.name, i), std::move(m->found), std::move(m->expected),
                                std::move(m->hint)});
    }
}

bool is_parameter_name(std::string_view s) noexcept
{
    return !s.empty() && s.size() <= 64 && s.front() >= 'a' && s.front() <= 'z' &&
           s.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

}  // namespace

// ---- the settings a plugin's create() reads ----

struct checked_settings::data {
    std::map<std::string, node, std::less<>> values;
    shunt_config config{};

    data()
    {
        config.struct_size = sizeof config;
        config.root = this;
        config.get = &get;
        config.at = &at;
    }

    static shunt_status get(const void* root, shunt_str name, shunt_value* out) noexcept
    {
        if (root == nullptr || out == nullptr || (name.ptr == nullptr && name.len != 0))
            return SHUNT_E_INVALID;
        const auto& values = static_cast<const data*>(root)->values;
        const auto found = values.find(std::string_view(name.ptr, name.len));
        if (found == values.end())
            return SHUNT_UNSUPPORTED;
        *out = found->second.value;
        return SHUNT_OK;
    }

    static shunt_status at(const void* array, std::uint32_t index, shunt_value* out) noexcept
    {
        const auto* const n = static_cast<const node*>(array);
        if (n == nullptr || out == nullptr || index >= n->elements.size())
            return SHUNT_E_INVALID;
        *out = n->elements[index].value;
        return SHUNT_OK;
    }
};

checked_settings::checked_settings() : data_(std::make_unique<data>()) {}
checked_settings::~checked_settings() = default;
checked_settings::checked_settings(checked_settings&&) noexcept = default;
checked_settings& checked_settings::operator=(checked_settings&&) noexcept = default;

const shunt_config& checked_settings::config() const noexcept { return data_->config; }

checked_settings check_settings(const strategy_class& cls, const setting_table& settings, const source_position& where,
                                std::vector<setting_problem>& problems)
{
    checked_settings result;
    std::vector<std::string> names;
    for (const parameter& p : cls.parameters)
        names.push_back(p.name);

    for (const auto& [key, value] : settings) {
        if (std::find(names.begin(), names.end(), key) != names.end())
            continue;
        const std::string near = closest(key, names);
        problems.push_back({value.key_where.line != 0 ? value.key_where : where, key, "an unknown setting",
                            names.empty() ? fmt::format("left out: {} has no settings", cls.name)
                                          : fmt::format("one of {}", fmt::join(names, ", ")),
                            near.empty() ? "" : fmt::format("did you mean '{}'?", near)});
    }

    for (const parameter& p : cls.parameters) {
        node n;
        if (const auto given = settings.find(p.name); given != settings.end()) {
            check_value(p, given->second, where, problems, n);
        } else if (!p.default_text.empty()) {
            setting by_default;
            if (parse_value(p.default_text, by_default))
                check_value(p, by_default, where, problems, n);
            else
                problems.push_back({where, p.name, fmt::format("the default {}", in_quotes(p.default_text, '\'')),
                                    describe(p), "the plugin's declaration is wrong; set a value yourself"});
        } else {
            if (p.required)
                problems.push_back({where, p.name, "not set", describe(p), p.help});
            continue;
        }
        settle(result.data_->values.insert_or_assign(p.name, std::move(n)).first->second);
    }
    return result;
}

// ---- declarations ----

std::string describe(const parameter& p)
{
    if (p.type != SHUNT_T_ARRAY)
        return type_text(p, p.type, false);
    const std::string elements = type_text(p, p.element_type, true);
    return p.min_count == 0   ? fmt::format("an array of {}", elements)
           : p.min_count == 1 ? fmt::format("a non-empty array of {}", elements)
                              : fmt::format("an array of at least {} {}", p.min_count, elements);
}

std::string wrong_with(const parameter& p)
{
    const bool array = p.type == SHUNT_T_ARRAY;
    const std::int32_t type = array ? p.element_type : p.type;
    if (!is_parameter_name(p.name))
        return fmt::format("its name is {}; it must be a small letter, then small letters, digits and '_'", in_quotes(p.name, '\''));
    if (p.name == "use")
        return "its name is 'use', which says which strategy is meant; it must be called otherwise";
    if (!array && !is_scalar(p.type))
        return fmt::format("its type is {}; it must be one of {} to {}", p.type, SHUNT_T_BOOL, SHUNT_T_SIZE);
    if (array && !is_scalar(p.element_type))
        return fmt::format("its element type is {}; it must be a type that is no array", p.element_type);
    if (!array && (p.element_type != 0 || p.min_count != 0))
        return "it has an element type or a fewest count; only arrays have these";
    if (std::isnan(p.min) || std::isnan(p.max) || p.min > p.max)
        return fmt::format("its range is {} to {}; the first must not be larger", p.min, p.max);
    if ((p.min != 0 || p.max != 0) && !has_range(type))
        return "it has a range; only numbers, durations and sizes have one";
    if (!p.choices.empty() && type != SHUNT_T_STR)
        return "it has choices; only strings have these";
    if (std::find(p.choices.begin(), p.choices.end(), "") != p.choices.end())
        return "one of its choices is empty; each must be a word";
    if (p.default_text.empty())
        return {};
    if (p.required)
        return "it is required and has a default; it can be only one of these";
    setting by_default;
    if (!parse_value(p.default_text, by_default))
        return fmt::format("its default is {}; it must be a value as TOML writes it, text in quotes", in_quotes(p.default_text, '\''));
    std::vector<setting_problem> problems;
    node n;
    check_value(p, by_default, {}, problems, n);
    if (!problems.empty())
        return fmt::format("its default is {}; it must be {}", problems.front().found, problems.front().expected);
    return {};
}

bool parse_value(std::string_view text, setting& out) { return value_reader(text).read_whole(out); }

// ---- words and numbers ----

bool parse_duration(std::string_view text, std::int64_t& ns) noexcept { return parse_with_unit(text, duration_units, ns); }
bool parse_size(std::string_view text, std::int64_t& bytes) noexcept { return parse_with_unit(text, size_units, bytes); }
std::string format_duration(std::int64_t ns) { return format_with_unit(ns, duration_units, "ms"); }
std::string format_size(std::int64_t bytes) { return format_with_unit(bytes, size_units, "B"); }

std::string closest(std::string_view word, const std::vector<std::string>& known)
{
    constexpr std::size_t longest = 128;  // the work is quadratic, and no name is longer
    const auto lower = [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); };
    if (word.empty() || word.size() > longest)
        return {};
    std::string best;
    std::size_t best_distance = std::numeric_limits<std::size_t>::max();
    for (const std::string& k : known) {
        if (k.size() > longest)
            continue;
        // Edits, a swap of neighbours counting as one; three rows of the usual table.
        std::vector<std::size_t> before(k.size() + 1), above(k.size() + 1), row(k.size() + 1);
        std::iota(above.begin(), above.end(), std::size_t{0});
        for (std::size_t i = 1; i <= word.size(); ++i) {
            row[0] = i;
            for (std::size_t j = 1; j <= k.size(); ++j) {
                const bool same = lower(word[i - 1]) == lower(k[j - 1]);
                row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
                if (i > 1 && j > 1 && lower(word[i - 1]) == lower(k[j - 2]) && lower(word[i - 2]) == lower(k[j - 1]))
                    row[j] = std::min(row[j], before[j - 2] + 1);
            }
            std::swap(before, above);
            std::swap(above, row);
        }
        const std::size_t distance = above.back();
        if (distance < best_distance && distance * 3 <= std::max(word.size(), k.size())) {
            best = k;
            best_distance = distance;
        }
    }
    return best;
}

std::size_t utf8_length(std::string_view s) noexcept
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    if (s.empty())
        return 0;
    const unsigned char first = byte(0);
    if (first < 0x80)
        return 1;
    const std::size_t n = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || s.size() < n)
        return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool outside = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
    return overlong || outside ? 0 : n;
}

std::string in_quotes(std::string_view text, char quote)
{
    constexpr std::size_t longest = 200;
    std::string out(1, quote);
    for (std::size_t i = 0; i < text.size();) {
        if (out.size() > longest) {
            out += "...";
            break;
        }
        const std::size_t n = utf8_length(text.substr(i));
        const auto c = static_cast<unsigned char>(text[i]);
        if (n == 0 || c < 0x20 || c == 0x7f)
            out += fmt::format("\\x{:02x}", c);
        else
            out += text.substr(i, n);
        i += n == 0 ? 1 : n;
    }
    return out += quote;
}

}  // namespace shunt::strategy
