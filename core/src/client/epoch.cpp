#include <client/epoch.hpp>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace shunt::client {

namespace {

bool register_membarrier() noexcept
{
#if defined(__SANITIZE_THREAD__)
    return false;  // the sanitizer knows nothing of it
#else
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

}  // namespace

epoch_domain::epoch_domain() : asymmetric_(register_membarrier()) {}

epoch_domain::slot& epoch_domain::make_slot()
{
    const std::lock_guard lock(slots_lock_);
    return *slots_.emplace_back(std::make_unique<slot>());
}

void epoch_domain::retire(std::function<void()> free)
{
    retired_.push_back({epoch_.fetch_add(1, std::memory_order_seq_cst), std::move(free)});
    collect();
}

void epoch_domain::lose(slot& s)
{
    s.lost = s.marked.load(std::memory_order_seq_cst);
    if (s.lost == 0)
        return;
    const auto seen = std::stable_partition(retired_.begin(), retired_.end(), [&](const garbage& g) { return g.epoch < s.lost; });
    std::move(seen, retired_.end(), std::back_inserter(kept_));
    retired_.erase(seen, retired_.end());
    epoch_.fetch_add(1, std::memory_order_seq_cst);  // whoever comes in now is marked otherwise
}

void epoch_domain::collect()
{
    if (retired_.empty())
        return;
    if (asymmetric_)
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
    {
        const std::lock_guard lock(slots_lock_);
        for (const auto& s : slots_) {
            const std::uint64_t marked = s->marked.load(std::memory_order_seq_cst);
            if (marked != s->lost)
                s->lost = 0;
            if (marked != 0 && marked != s->lost && marked < oldest)
                oldest = marked;
        }
    }
    // A reader marked at epoch e may see what was retired at e or later (it was still published when it looked).
    std::vector<garbage> left;
    for (garbage& g : retired_) {
        if (g.epoch < oldest)
            g.free();
        else
            left.push_back(std::move(g));
    }
    retired_ = std::move(left);
}

}  // namespace shunt::client
