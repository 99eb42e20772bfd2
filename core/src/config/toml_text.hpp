// TOML text to a tree of settings with positions. The only user of toml++; everything else works on the tree.

#pragma once

#include <config/problem.hpp>

#include <shunt/setting.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace shunt::config {

/// The tree of `text`. On a problem (not text, a syntax error, a key twice) the first one is appended and the tree is
/// empty: what follows a syntax error cannot be trusted. Text without a single key is no problem here.
[[nodiscard]] setting parse_toml(std::string_view text, const std::string& file, std::vector<problem>& problems);

/// `value` as TOML text on one line: "\"3s\"", "[1, 2]", "{ use = \"hash\" }".
[[nodiscard]] std::string to_toml(const setting& value);

}  // namespace shunt::config
