// What each sender thread keeps for a producer: its own selectors, its own random numbers, its mark in the epoch.
//
// A slot outlives its thread: the next thread that comes takes it over, so that many short-lived threads go on with the
// rotation of those before them.

#pragma once

#include <client/epoch.hpp>
#include <shunt/producer.hpp>
#include <strategy/policy.hpp>

#include <array>
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

struct assignment;
struct policy_table;

/// A topic, or a topic with a policy that its sends name. It stays as long as the producer.
struct target {
    std::string topic;
    std::string policy;            ///< as sends name it; empty: the binding decides
    std::int64_t used_ns = 0;      ///< the I/O side's: when something was last sent
};

struct thread_slot {
    struct cached {
        assignment* by = nullptr;
        strategy::selector_set* set = nullptr;                      ///< null: not made yet, or the plugin refused
        bool refused = false;
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

    // A selector that does not come with shunt is asked under a number that no other call of the thread has, and its state
    // beside it. Whoever changes it from "number, asking" owns the send from then on: the thread, when the call came back,
    // or the watchdog, when it did not.
    static constexpr std::uint64_t idle = 0, asking = 1, taken = 2;
    std::atomic<std::uint64_t> call{0};
    operation* asked_for = nullptr;                                 ///< written before `call`
    assignment* asked_of = nullptr;
    std::uint64_t seen_call = 0;                                    ///< the watchdog's
    int seen_times = 0;

    const std::uint32_t number;                                     ///< counts the producer's slots
    epoch_domain::slot& epoch;
    std::uint64_t random_state;
    /// What this thread looked up in one table. It is not looked at under another table's id, so nothing in it dangles.
    struct lookups {
        std::uint64_t table = 0;
        cached* last = nullptr;
        std::string last_name;
        std::unordered_map<std::string, cached, text_hash, std::equal_to<>> by_name;  ///< topic, or topic NUL policy
        void forget() noexcept
        {
            table = 0;
            last = nullptr;
            last_name.clear();
            by_name.clear();
        }
    };
    /// Of the table in force, the candidate, and those that ordered keys are still on.
    std::array<lookups, 4> tables;
    std::uint32_t next_lookups = 0;
    [[nodiscard]] lookups& lookups_for(std::uint64_t table)
    {
        for (lookups& l : tables) {
            if (l.table == table) [[likely]]
                return l;
        }
        lookups& l = tables[next_lookups++ % tables.size()];
        l.forget();
        l.table = table;
        return l;
    }
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
    template <typename F>
    void each(F f) const
    {
        const std::lock_guard lock(lock_);
        for (const auto& s : all_)
            f(*s);
    }
    /// Empties what the threads have. No thread may decide any more.
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
