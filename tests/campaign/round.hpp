// Carries a plan out, in real time, against a cluster in this process.

#pragma once

#include <campaign/history.hpp>
#include <campaign/plan.hpp>

namespace shunt::campaign {

/// `at_rest`: what this process has open between rounds; zeros: whatever it has now.
[[nodiscard]] history run(const plan& p, const resources& at_rest);

/// What is open now.
[[nodiscard]] resources count_resources();

}  // namespace shunt::campaign
