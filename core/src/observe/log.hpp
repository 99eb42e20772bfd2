// The log: silent unless told, to stderr, one line per change of state.

#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace shunt::observe {

enum class level : int { debug = 1, info = 2, warn = 3, error = 4, off = 5 };

/// Thread-safe.
class log {
public:
    /// `threshold`: "off", "error", "warn", "info", "debug".
    explicit log(std::string_view threshold);
    ~log();
    [[nodiscard]] bool on(level l) const noexcept { return l >= threshold_; }
    void write(level l, std::string_view text);

private:
    struct sink;
    level threshold_;
    std::unique_ptr<sink> sink_;
};

}  // namespace shunt::observe
