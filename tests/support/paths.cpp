#include <support/paths.hpp>

namespace shunt::test {

std::string in_source(std::string_view below) { return std::string(SHUNT_TEST_SOURCE_DIR).append(below); }
std::string in_build(std::string_view below) { return std::string(SHUNT_TEST_BINARY_DIR).append(below); }

}  // namespace shunt::test
