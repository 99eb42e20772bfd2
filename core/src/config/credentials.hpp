// Credentials from wherever the options say they are: keys, a file, the environment, a function.

#pragma once

#include <config/problem.hpp>

#include <shunt/options.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace shunt::config {

/// Nothing, without a problem: none are wanted. Nothing with problems, none of which shows a secret: they cannot be had.
/// Reads the file, or the environment, or calls the function, which may throw nothing beyond this.
[[nodiscard]] std::optional<credentials> read_credentials(const acl_options& from, std::vector<problem>& problems);

/// An access key and a secret key are there, and all are what can be sent. `prefix` goes before the keys: "acl.".
void check_credentials(const credentials& c, const source_position& where, std::string_view prefix, std::vector<problem>& problems);

}  // namespace shunt::config
