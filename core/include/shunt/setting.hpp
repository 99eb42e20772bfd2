// A strategy's settings as written: a small tree of values, each with the place it was written at.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shunt {

/// Where something was written. Line and column count from 1; 0: not from a file.
struct source_position {
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

/// A date or time, which TOML has and no setting of shunt takes: kept as text so that messages can show it.
struct setting_date {
    std::string text;
    friend bool operator==(const setting_date&, const setting_date&) = default;
};

class setting;
using setting_array = std::vector<setting>;
using setting_table = std::map<std::string, setting, std::less<>>;

/// A value of a strategy's settings. Durations and sizes are strings ("250ms", "4MiB") until the strategy's declared
/// parameters say what they mean.
class setting {
public:
    using value_type = std::variant<bool, std::int64_t, double, std::string, setting_array, setting_table, setting_date>;

    setting() : value_(setting_table{}) {}
    setting(bool v) : value_(v) {}
    setting(std::int64_t v) : value_(v) {}
    setting(int v) : value_(std::int64_t{v}) {}
    setting(double v) : value_(v) {}
    setting(const char* v) : value_(std::string(v)) {}
    setting(std::string v) : value_(std::move(v)) {}
    setting(setting_array v) : value_(std::move(v)) {}
    setting(setting_table v) : value_(std::move(v)) {}
    setting(setting_date v) : value_(std::move(v)) {}

    [[nodiscard]] const value_type& value() const noexcept { return value_; }
    template <typename T>
    [[nodiscard]] const T* as() const noexcept
    {
        return std::get_if<T>(&value_);
    }

    source_position where;      ///< of the value; of a table: its header or first key
    source_position key_where;  ///< of the key in front of it; of an array's element: as `where`

    /// Equal values, wherever they were written.
    friend bool operator==(const setting& a, const setting& b) { return a.value_ == b.value_; }

private:
    value_type value_;
};

}  // namespace shunt
