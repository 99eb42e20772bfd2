// What a staged configuration changes, and whether it can be exchanged while the producer runs. Pure.

#pragma once

#include <shunt/options.hpp>
#include <shunt/swap.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace shunt::swap {

/// Can a change of this key take effect without a restart?
[[nodiscard]] bool is_live(std::string_view key) noexcept;

struct plan {
    std::vector<swap_change> changes;  ///< by key
    /// The keys that need a restart, as a reason to refuse: "producer.group needs a restart of the program". Empty: none does.
    [[nodiscard]] std::string needs_restart() const;
    [[nodiscard]] bool empty() const noexcept { return changes.empty(); }
};

[[nodiscard]] plan make_plan(const producer_options& in_force, const producer_options& wanted);

/// Do both policies send a key to the same queue, whatever the key? Told from what they are made of: the same selector of the
/// same file with the same settings and filters, and the same source of keys.
[[nodiscard]] bool maps_alike(const policy_options& a, const policy_options& b);

/// May a swap go from one state to the other?
[[nodiscard]] bool may_follow(swap_state from, swap_state to) noexcept;

/// Where in 0..2^64-1 a key lies, for a canary: stable for one swap (`salt`), unlike that of another.
[[nodiscard]] std::uint64_t place_of(std::uint64_t key_hash, std::uint64_t salt) noexcept;
/// A share of 0..1 as an upper bound of such places.
[[nodiscard]] std::uint64_t below(double share) noexcept;

}  // namespace shunt::swap
