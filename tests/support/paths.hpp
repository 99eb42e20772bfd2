// Where this tree and its build lie. In one small source, so that a clone elsewhere compiles nothing else anew.

#pragma once

#include <string>
#include <string_view>

namespace shunt::test {

/// A place in the source tree: in_source("/config").
[[nodiscard]] std::string in_source(std::string_view below);
/// A place in the build tree: in_build("/bin/shunt").
[[nodiscard]] std::string in_build(std::string_view below);

}  // namespace shunt::test
