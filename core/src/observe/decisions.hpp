// A sample of recent decisions, for those who ask why a message went where it went.
//
// So many a second of those that stored, and as many of the others: what is rare and matters is not lost in the crowd,
// and what it costs does not grow with the load.

#pragma once

#include <shunt/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::observe {

struct seen_decision {
    std::int64_t at_ms = 0, latency_ns = 0;
    std::string topic, broker;
    std::string_view policy, why;  ///< kept for ever
    std::uint64_t generation = 0;
    std::uint32_t attempt = 1;
    std::int32_t queue = -1, code = -1;
    bool keyed = false;
    shunt::outcome outcome = shunt::outcome::unknown;
    std::string text;
};

class decision_sample {
public:
    static constexpr std::size_t max_kept = 1024;
    static constexpr std::int64_t per_second = 100;

    /// The one writer's: is this one to be kept? Then put() follows.
    [[nodiscard]] bool wants(bool stored, std::int64_t now_ns) noexcept
    {
        std::int64_t& next = stored ? next_stored_ns_ : next_other_ns_;
        if (now_ns < next)
            return false;
        next = now_ns + 1'000'000'000 / per_second;
        return true;
    }
    /// Not kept when somebody just looks.
    void put(seen_decision d)
    {
        const std::unique_lock lock(lock_, std::try_to_lock);
        if (!lock.owns_lock())
            return;
        if (kept_.size() == max_kept)
            kept_.pop_front();
        kept_.push_back(std::move(d));
    }

    /// Any thread's: the newest `most`, the newest first.
    [[nodiscard]] std::vector<seen_decision> newest(std::size_t most) const
    {
        const std::lock_guard lock(lock_);
        std::vector<seen_decision> out;
        for (auto it = kept_.rbegin(); it != kept_.rend() && out.size() < most; ++it)
            out.push_back(*it);
        return out;
    }
    [[nodiscard]] std::size_t kept() const
    {
        const std::lock_guard lock(lock_);
        return kept_.size();
    }

private:
    std::int64_t next_stored_ns_ = 0, next_other_ns_ = 0;
    mutable std::mutex lock_;
    std::deque<seen_decision> kept_;
};

}  // namespace shunt::observe
