// What is counted while the producer has an admin endpoint, and how long calls of plugins take.

#pragma once

#include <net/links.hpp>
#include <observe/decisions.hpp>
#include <observe/metrics.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace shunt::client {

struct statistics {
    observe::metrics counts;
    observe::decision_sample decisions;
    std::array<std::atomic<std::uint64_t>, 11> swap_steps{};  ///< by state
};

/// From here to the end of the block; null: nobody wants to know.
class call_timer {
public:
    using histogram = observe::histogram<observe::call_bounds>;
    explicit call_timer(histogram* into) noexcept : into_(into), began_ns_(into == nullptr ? 0 : net::monotonic_ns()) {}
    ~call_timer()
    {
        if (into_ != nullptr)
            into_->add(net::monotonic_ns() - began_ns_);
    }
    call_timer(const call_timer&) = delete;
    call_timer& operator=(const call_timer&) = delete;

private:
    histogram* const into_;
    const std::int64_t began_ns_;
};

}  // namespace shunt::client
