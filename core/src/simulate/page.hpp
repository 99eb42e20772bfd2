// The page that report.hpp fills in: all of it but the numbers.

#pragma once

#include <string_view>

namespace shunt::simulate {

/// The page is the one, a JSON object, the other.
extern const std::string_view page_before_data, page_after_data;

}  // namespace shunt::simulate
