// Reads the tables that a configuration and a scenario share: policies and plugins.

#pragma once

#include <config/problem.hpp>
#include <config/value.hpp>

#include <shunt/options.hpp>
#include <shunt/setting.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace shunt::config {

/// What a policy table may and must say, which differs between the files.
struct policy_rules {
    bool both_required = false;     ///< selector and fault must be named
    bool key_from_allowed = true;
    shunt::when_no_queue when_no_queue = shunt::when_no_queue::wait;  ///< the default
};

/// Reads `{ selector = { use = "best-queue" }, ... }`. `path`: "policies.default". Strategies' own settings are taken
/// as they are: check_strategies() judges them.
[[nodiscard]] policy_options policy_from(const setting& table, const std::string& path, const policy_rules& rules,
                                         std::vector<problem>& problems, std::vector<origin>* origins = nullptr);

/// Reads `[plugins]`. Relative paths are taken to be in `folder` (empty: left as they are).
[[nodiscard]] plugin_options plugins_from(const setting& table, const std::string& folder, std::vector<problem>& problems,
                                          std::vector<origin>* origins = nullptr);

/// "order-key", "keys", "property:NAME".
[[nodiscard]] std::string to_string(const key_source&);

/// The same rules for policies and plugins made in code.
void check_policy(const policy_options& policy, const std::string& path, std::vector<problem>& problems);
void check_plugins(const plugin_options& plugins, std::vector<problem>& problems);

}  // namespace shunt::config
