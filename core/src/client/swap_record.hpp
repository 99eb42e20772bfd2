// What is known of one swap, for whoever asks: written by the I/O side, read by any thread.

#pragma once

#include <shunt/swap.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace shunt {

struct swap_handle::record {
    std::mutex lock;
    std::condition_variable changed;
    swap_status status;  // under the lock

    // The I/O side writes it.
    std::atomic<std::uint64_t> table{0};  ///< id of its policy table; 0: there is none (yet, or any more)
    stage_options how;
    std::int64_t deadline_ns = 0;  ///< of the present step; 0: none
};

}  // namespace shunt
