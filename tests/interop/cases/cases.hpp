// One table of cases, run against the embedded cluster and against real brokers, so that each keeps the other honest.

#pragma once

#include <interop/cases/world.hpp>

#include <functional>
#include <string>
#include <vector>

namespace shunt::cases {

/// Which real brokers a case is run against, besides 5.3.2 and the embedded cluster.
enum class also : std::uint8_t { nothing_else, v550 };

struct one_case {
    std::string name;                          ///< a claim
    also where = also::nothing_else;           ///< v550: the answers may differ there, or it belongs to the smoke set
    std::function<void(world&, const std::string& topic)> run;  ///< `topic` is fresh and not created yet
};

[[nodiscard]] const std::vector<one_case>& all_cases();
/// Those of kinds.cpp; all_cases() has them too.
[[nodiscard]] const std::vector<one_case>& kind_cases();

/// Makes googletest tests of the cases that `wanted` names; all share one world, made by `make` when first needed.
void register_cases(const std::string& suite, std::function<std::unique_ptr<world>()> make, std::function<bool(const one_case&)> wanted);
/// Ends the shared world. After the tests.
void end_worlds();

}  // namespace shunt::cases
