// What is right in a scenario and yet hardly meant.

#pragma once

#include <simulate/scenario.hpp>

#include <config/problem.hpp>

#include <vector>

namespace shunt::simulate {

/// Rooms that a machine-room is told to keep to, and that no broker of the scenario is ever in.
[[nodiscard]] std::vector<config::problem> doubts(const scenario& s);

}  // namespace shunt::simulate
