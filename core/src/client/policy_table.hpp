// The policies for all topics as one thing that can be put in force by exchanging one pointer.
//
// A table and all it refers to is made before it is published, and stays until no thread can look at it any more. What
// a send is decided by is read under one epoch mark: in_force -> table -> assignment -> snapshot.

#pragma once

#include <client/shadow.hpp>
#include <client/slots.hpp>
#include <plugin/registry.hpp>
#include <shunt/options.hpp>
#include <strategy/policy.hpp>
#include <swap/measures.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::observe {
struct policy_metrics;
}
namespace shunt::client {

/// One target under one table: the policy that decides its sends, and the selectors of each sender thread.
struct assignment {
    assignment(target& t, std::shared_ptr<strategy::policy> p, std::string_view name) : where(t), pol(std::move(p)), policy_name(name), foreign(pol->is_foreign()) {}
    ~assignment();
    assignment(const assignment&) = delete;
    assignment& operator=(const assignment&) = delete;

    target& where;
    const std::shared_ptr<strategy::policy> pol;
    const std::string_view policy_name;                             ///< interned
    const bool foreign;                                             ///< its selectors do not come with shunt: calls are watched
    std::atomic<const strategy::snapshot*> current{nullptr};        ///< read under an epoch mark
    observe::policy_metrics* seen = nullptr;                        ///< set before `current`; null: nobody looks

    /// The selectors of one thread; they are made by its first send. Null: the plugin refused, `error` says why.
    [[nodiscard]] strategy::selector_set* set_of(const thread_slot& thread, std::uint32_t start, std::string& error);
    /// For the snapshots.
    [[nodiscard]] const std::shared_ptr<strategy::policy::shared_instances>& shared() const noexcept { return shared_; }

private:
    std::shared_ptr<strategy::policy::shared_instances> shared_ = std::make_shared<strategy::policy::shared_instances>();
    std::mutex lock_;
    std::map<const thread_slot*, std::unique_ptr<strategy::selector_set>> sets_;
};

struct policy_table {
    std::uint64_t id = 0;                                           ///< never used again: caches are told apart by it
    producer_options options;                                       ///< what of them is live counts while the table is in force
    std::unique_ptr<plugin::registry> registry;
    std::map<std::string, std::shared_ptr<strategy::policy>, std::less<>> policies;
    /// The brokers' facts; two tables with equal facts share them, and so the views made with them.
    std::shared_ptr<const strategy::facts_table> facts;
    std::atomic<std::uint64_t> generation{0};                       ///< under which it was last put in force

    [[nodiscard]] const std::shared_ptr<strategy::policy>& policy_for(std::string_view topic, std::string_view named) const;
    /// Null: the target is not known here yet. Any thread.
    [[nodiscard]] assignment* find(const target& t) const;
    /// All there are now. Any thread; they stay as long as the table.
    [[nodiscard]] std::vector<assignment*> assignments() const;
    /// The I/O side's.
    assignment& assign(target& t);
    template <typename F>
    void each_assignment(F f) const  // the I/O side's: it is the only one that adds
    {
        for (const auto& [t, a] : assignments_)
            f(*a);
    }

    /// Every strategy of its policies; one may come several times.
    template <typename F>
    void each_class(F f) const
    {
        for (const auto& [name, pol] : policies)
            pol->each_class(f);
    }
    /// Calls of its strategies that failed.
    [[nodiscard]] std::uint64_t errors() const noexcept;
    /// A candidate's; null: it has not been one that only looks on. Made before anybody can see it.
    std::unique_ptr<shadow> beside;

    // The I/O side's.
    swap::measures measured;                                        ///< how the sends went that it decided
    std::size_t pinned = 0;                                         ///< ordered sends under way that go by it
    /// Which map from keys to queues each policy is; equal numbers, also in other tables, are equal maps.
    std::map<const strategy::policy*, std::uint64_t> maps;

private:
    mutable std::shared_mutex lock_;
    std::map<const target*, std::unique_ptr<assignment>> assignments_;
};

/// What decisions begin with. Immutable; replaced as a whole.
struct in_force {
    std::uint64_t generation = 1;
    policy_table* table = nullptr;
    // A candidate beside it: it decides a share of the sends (canary), or only looks on (shadow).
    policy_table* candidate = nullptr;
    std::uint64_t canary_generation = 0;
    std::uint64_t canary_below = 0;   ///< of 2^64: a draw, or a key's place, below it goes by the candidate
    std::uint64_t salt = 0;           ///< of the places of keys, one a swap
    std::uint64_t shadow_below = 0;   ///< of 2^64: so many decisions are also put to the candidate
};

}  // namespace shunt::client
