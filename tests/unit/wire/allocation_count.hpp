// Counts allocations by replacing operator new for the whole program.

#pragma once

namespace shunt::wire::test {

[[nodiscard]] long allocations() noexcept;

}  // namespace shunt::wire::test
