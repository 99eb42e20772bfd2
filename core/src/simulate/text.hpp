// What a run writes: a JSON object a line for each attempt, and one for the whole.

#pragma once

#include <simulate/run.hpp>

#include <string>
#include <string_view>

namespace shunt::simulate {

/// Appends UTF-8 text as a JSON string.
void append_quoted(std::string& out, std::string_view text);

/// Appends the line and its line end.
void append_json(std::string& out, const line& l);

[[nodiscard]] std::string to_json(const summary& s);

}  // namespace shunt::simulate
