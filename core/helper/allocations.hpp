// Counts what this process allocates, and lets allocations fail on purpose.

#pragma once

#include <plugin/check/subject.hpp>

namespace shunt::helper {

[[nodiscard]] plugin::check::memory_meter allocations() noexcept;

}  // namespace shunt::helper
