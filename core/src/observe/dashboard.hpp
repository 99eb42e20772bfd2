// The page of the admin endpoint: dashboard.html, whole and in one piece.

#pragma once

#include <string_view>

namespace shunt::observe {

extern const std::string_view dashboard_page;

}  // namespace shunt::observe
