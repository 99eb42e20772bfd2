// What a configuration may say, as a JSON Schema: for editors, made of the same keys and rules as the reader.

#pragma once

#include <string>

namespace shunt::config {

/// A JSON Schema (2020-12) of shunt.toml, indented, with a newline at its end; the same bytes each time. It knows less than
/// the reader: nothing of strategies, and nothing of what fits together.
[[nodiscard]] std::string json_schema();

}  // namespace shunt::config
