// What a run writes: a JSON object a line for each attempt, and one for the whole.

#pragma once

#include <simulate/run.hpp>

#include <string>

namespace shunt::simulate {

/// Appends the line and its line end.
void append_json(std::string& out, const line& l);

[[nodiscard]] std::string to_json(const summary& s);

}  // namespace shunt::simulate
