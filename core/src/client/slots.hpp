// What each sender thread keeps for a producer: its own selectors, its own random numbers, its mark in the epoch.
//
// A slot outlives its thread: the next thread that comes takes it over, so that many short-lived threads go on with the
// rotation of those before them.

#pragma once

#include <client/epoch.hpp>
#include <shunt/producer.hpp>
#include <strategy/policy.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shunt::client {

class operation;

/// A topic under a policy: what a send is decided by.
struct target {
    std::string topic;
    std::string_view policy_name;                                   ///< interned
    std::shared_ptr<strategy::policy> pol;
    std::shared_ptr<strategy::policy::shared_instances> shared = std::make_shared<strategy::policy::shared_instances>();
    std::atomic<const strategy::snapshot*> current{nullptr};        ///< read under an epoch mark
    std::int64_t used_ns = 0;                                       ///< the I/O side's: when something was last sent

    target() = default;
    ~target();
    target(const target&) = delete;
    target& operator=(const target&) = delete;
};

struct thread_slot {
    struct cached {
        target* where = nullptr;
        const strategy::policy* made_for = nullptr;
        std::unique_ptr<strategy::selector_set> set;                ///< null: the plugin refused to make one
    };
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
    };

    explicit thread_slot(epoch_domain::slot& mark, std::uint64_t seed, std::uint32_t n) : number(n), epoch(mark), random_state(seed) {}
    [[nodiscard]] std::uint64_t random() noexcept
    {
        std::uint64_t z = (random_state += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    const std::uint32_t number;                                     ///< counts the producer's slots
    epoch_domain::slot& epoch;
    std::uint64_t random_state;
    cached* last = nullptr;
    std::string last_name;
    std::unordered_map<std::string, cached, text_hash, std::equal_to<>> by_name;  ///< topic, or topic NUL policy
    std::atomic<std::uint64_t> decisions{0};                        ///< one writer
    operation* pool = nullptr;

    // For a sync send of this thread. Each time it is handed to the I/O side it has a new number, and whoever changes
    // `handover` from "number, waiting" owns it from then on. It is kept here and not in the operation, which may long
    // serve another send when a caller gives up.
    static constexpr std::uint64_t waiting = 0, woken = 1, gone = 2;
    [[nodiscard]] static constexpr std::uint64_t state_of(std::uint64_t number, std::uint64_t state) noexcept { return number * 4 + state; }
    std::atomic<std::uint64_t> handover{0};
    std::uint64_t handovers = 0;
    shunt::outcome if_given_up = shunt::outcome::not_sent;          ///< what is known of the message at the last hand-over
    std::binary_semaphore wake{0};
    bool over = false;
    receipt result;
};

class slot_pool : public std::enable_shared_from_this<slot_pool> {
public:
    explicit slot_pool(epoch_domain& epochs, std::uint64_t seed);
    ~slot_pool();

    /// The calling thread's slot. Lock-free but for the first call of a thread.
    [[nodiscard]] thread_slot& mine();
    /// One for the I/O side.
    [[nodiscard]] thread_slot& make();
    [[nodiscard]] std::uint64_t decisions() const;
    /// Destroys all selectors. No thread may decide any more.
    void clear();
    void give_back(thread_slot& s);

private:
    epoch_domain& epochs_;
    const std::uint64_t id_;
    std::uint64_t seed_;
    mutable std::mutex lock_;
    std::vector<std::unique_ptr<thread_slot>> all_;
    std::vector<thread_slot*> free_;
};

}  // namespace shunt::client
