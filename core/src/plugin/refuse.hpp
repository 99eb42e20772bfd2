// The one shape of a refusal: which file, what was found, what would be right.

#pragma once

#include <plugin/registry.hpp>
#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace shunt::plugin {

[[nodiscard]] inline load_error refuse(std::string_view file, refusal why, std::string_view found, std::string_view right)
{
    return {why, fmt::format("plugin {}: {}; {}", strategy::in_quotes(file), found, right)};
}

[[nodiscard]] inline std::string abi_text(unsigned major, unsigned minor) { return fmt::format("{}.{}", major, minor); }

/// What a user may call a strategy: [a-z0-9-], at most 64.
[[nodiscard]] inline bool is_strategy_name(std::string_view s) noexcept
{
    return !s.empty() && s.size() <= 64 &&
           s.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

}  // namespace shunt::plugin
