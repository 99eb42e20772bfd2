// What a check of the kit answers: whether something holds, and if not, why. Fits every test framework.
//
//     ASSERT_TRUE(f) << f.why();          GoogleTest
//     REQUIRE_MESSAGE(f, f.why());        doctest
//     shunt::sdk::testing::require(f);    none: prints what is wrong and ends the program

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace shunt::sdk::testing {

class [[nodiscard]] finding {
public:
    finding() = default;  ///< it holds
    explicit finding(std::string why) : why_(std::move(why)) {}

    [[nodiscard]] explicit operator bool() const noexcept { return why_.empty(); }
    [[nodiscard]] const std::string& why() const noexcept { return why_; }  ///< empty: it holds

    /// Both hold; what is wrong with either is told, one a line.
    finding& also(const finding& other, std::string_view under = {})
    {
        if (other)
            return *this;
        if (!why_.empty())
            why_ += '\n';
        if (!under.empty())
            why_.append(under).append(": ");
        why_ += other.why_;
        return *this;
    }

private:
    std::string why_;
};

/// Ends the program with the reason, unless `f` holds.
inline void require(const finding& f)
{
    if (f)
        return;
    std::fprintf(stderr, "does not hold: %s\n", f.why().c_str());
    std::abort();
}

/// What the kit was asked cannot be done: a test is wrong, not a strategy. Throws std::logic_error (or ends the program,
/// where there are no exceptions).
[[noreturn]] inline void misuse(const std::string& what)
{
#ifdef __cpp_exceptions
    throw std::logic_error("shunt test kit: " + what);
#else
    std::fprintf(stderr, "shunt test kit: %s\n", what.c_str());
    std::abort();
#endif
}

namespace detail {

struct unit {
    std::string_view name;
    std::int64_t factor;
};
inline constexpr unit duration_units[] = {{"h", 3'600'000'000'000}, {"m", 60'000'000'000}, {"s", 1'000'000'000},
                                          {"ms", 1'000'000},        {"us", 1'000},         {"ns", 1}};
inline constexpr unit size_units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};

/// "250ms" by the units of a kind; nothing: not such a number.
template <std::size_t N>
std::optional<std::int64_t> parse_with_unit(std::string_view text, const unit (&units)[N])
{
    std::size_t digits = 0;
    std::int64_t number = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, text[digits] - '0', &number))
            return std::nullopt;
    for (const unit& u : units)
        if (digits > 0 && text.substr(digits) == u.name) {
            if (__builtin_mul_overflow(number, u.factor, &number))
                return std::nullopt;
            return number;
        }
    return std::nullopt;
}

template <std::size_t N>
std::string show_with_unit(std::int64_t n, const unit (&units)[N], std::string_view of_zero)
{
    if (n == 0)
        return "0" + std::string{of_zero};
    for (const unit& u : units)
        if (n % u.factor == 0)
            return std::to_string(n / u.factor).append(u.name);
    return std::to_string(n);
}

[[nodiscard]] inline std::string show(std::chrono::nanoseconds d) { return show_with_unit(d.count(), duration_units, "ms"); }

[[nodiscard]] inline std::string quoted(std::string_view s)
{
    std::string out = "\"";
    for (const char c : s) {
        char hex[8];
        if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
            out += c;
            continue;
        }
        std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += hex;
    }
    return out += '"';
}

/// The words of a line, parted by blanks and commas.
[[nodiscard]] inline std::string_view next_word(std::string_view& line)
{
    constexpr std::string_view gaps = " ,\t\n\r";
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(gaps)));
    const std::string_view word = line.substr(0, line.find_first_of(gaps));
    line.remove_prefix(word.size());
    return word;
}

}  // namespace detail
}  // namespace shunt::sdk::testing
