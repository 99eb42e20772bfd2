// Readers that take no lock, and a writer that frees what they read once none of them can still look at it.
//
// A reader marks its own slot, loads the pointer, reads, unmarks. The writer swaps the pointer, then waits (without
// blocking: what is retired is looked at again later) until every slot was seen unmarked or marked later. The ordering a
// reader would need a full fence for is brought about by the writer, with membarrier(2), where the system has it.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace shunt::client {

class epoch_domain {
public:
    struct alignas(64) slot {
        std::atomic<std::uint64_t> marked{0};  ///< 0: outside
        std::uint64_t lost = 0;                ///< the writer's: with this mark its reader does not come back; 0: it does
    };

    epoch_domain();

    /// Any thread. The slot lives as long as the domain.
    [[nodiscard]] slot& make_slot();

    class reading {
    public:
        /// May be nested: the outermost mark counts.
        reading(const epoch_domain& d, slot& s) noexcept : slot_(s), before_(s.marked.load(std::memory_order_relaxed))
        {
            if (before_ != 0)
                return;
            if (d.asymmetric_) {
                s.marked.store(d.epoch_.load(std::memory_order_acquire), std::memory_order_release);
                std::atomic_signal_fence(std::memory_order_seq_cst);
            } else {
                s.marked.store(d.epoch_.load(std::memory_order_acquire), std::memory_order_seq_cst);
            }
        }
        ~reading() { slot_.marked.store(before_, std::memory_order_release); }
        reading(const reading&) = delete;
        reading& operator=(const reading&) = delete;

    private:
        slot& slot_;
        const std::uint64_t before_;
    };

    /// One thread at a time: `free` is called when no reader can see any more what was unpublished before this call.
    void retire(std::function<void()> free);
    /// The reader of `s` may never unmark. What it can see, all of which must be retired by now, is kept for good; what is
    /// retired later is freed without waiting for it.
    void lose(slot& s);
    /// Frees what can be freed now.
    void collect();
    [[nodiscard]] std::size_t retired() const noexcept { return retired_.size(); }

private:
    struct garbage {
        std::uint64_t epoch;
        std::function<void()> free;
    };
    std::atomic<std::uint64_t> epoch_{1};
    bool asymmetric_ = false;
    std::mutex slots_lock_;
    std::vector<std::unique_ptr<slot>> slots_;
    std::vector<garbage> retired_, kept_;
};

}  // namespace shunt::client
