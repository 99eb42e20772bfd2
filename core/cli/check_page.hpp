// The report of `shunt plugin check` as one page, with nothing to load from elsewhere.

#pragma once

#include <string>
#include <string_view>

namespace shunt::cli {

/// `results`: the object that --json prints.
[[nodiscard]] std::string check_page(std::string_view results);

}  // namespace shunt::cli
