// What a failed attempt costs its broker in the eyes of selectors that go by load.

#pragma once

#include <cstdint>

namespace shunt::send {

/// A failed attempt counts as one in flight for so long: a broker that fails at once is not idle.
inline constexpr std::int64_t penalty_ns = 1'000'000'000;
/// At most so many of them count at a time, for each broker.
inline constexpr std::uint32_t max_penalties = 64;

}  // namespace shunt::send
