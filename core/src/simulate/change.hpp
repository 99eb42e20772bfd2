// Variants of a scenario: one value of its file changed, or its policy replaced by another.

#pragma once

#include <shunt/setting.hpp>

#include <config/problem.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::simulate {

/// The scenario's tree with `value` at `key`. Keys are as in the file ("scenario.timeout", "broker[1].latency"); of the first
/// policy also "fault.probe", "selector.rooms", of [scenario] also "timeout". `value` is TOML, or plain text where it is none ("5s").
/// Nothing: `problems` says what is wrong with the key; whether the value is right shows when the tree is read.
[[nodiscard]] std::optional<setting> with_value(const setting& root, std::string_view key, std::string_view value,
                                                std::vector<config::problem>& problems);

/// The tree with another first policy: TOML of a policy "{ selector = ... }", a scenario's text, or a configuration's, of which
/// the policy `name` is taken. `source` is told in problems.
[[nodiscard]] std::optional<setting> with_policy(const setting& root, std::string_view text, const std::string& source,
                                                 const std::string& name, std::vector<config::problem>& problems);

/// "0.1,[1, 2],x" at its outer commas.
[[nodiscard]] std::vector<std::string> split_values(std::string_view list);

}  // namespace shunt::simulate
