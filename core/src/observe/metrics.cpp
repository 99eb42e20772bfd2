#include <observe/metrics.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace shunt::observe {

std::uint64_t histogram_counts::count() const noexcept { return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0}); }

std::int64_t histogram_counts::quantile(std::span<const std::int64_t> bounds, double q) const noexcept
{
    const std::uint64_t all = count();
    if (all == 0 || bounds.empty())
        return 0;
    const double rank = q * static_cast<double>(all);
    double seen = 0;
    for (std::size_t i = 0; i < buckets.size() && i < bounds.size(); ++i) {
        const auto here = static_cast<double>(buckets[i]);
        if (here > 0 && seen + here >= rank) {
            const auto from = static_cast<double>(i == 0 ? 0 : bounds[i - 1]), to = static_cast<double>(bounds[i]);
            return static_cast<std::int64_t>(from + (to - from) * std::max(0.0, rank - seen) / here);
        }
        seen += here;
    }
    return bounds.back();
}

histogram_counts histogram_counts::since(const histogram_counts& before) const
{
    histogram_counts out = *this;
    for (std::size_t i = 0; i < out.buckets.size() && i < before.buckets.size(); ++i)
        out.buckets[i] -= before.buckets[i];
    out.sum_ns -= before.sum_ns;
    return out;
}

void broker_metrics::failed(failure f)
{
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (lock.owns_lock())
        last_ = std::move(f);
}

std::optional<failure> broker_metrics::last_failure() const
{
    const std::lock_guard lock(lock_);
    return last_;
}

metrics::metrics() { brokers_.resize(max_brokers); }

queue_metrics& metrics::new_queue(std::string_view topic, std::string_view broker, std::int32_t queue)
{
    auto made = std::make_unique<queue_metrics>();
    made->topic = topic;
    made->broker = broker;
    made->queue = queue;
    const std::lock_guard lock(lock_);
    return *queues_.emplace_back(std::move(made));
}

void metrics::decided(const void* of, std::string_view topic, std::uint32_t broker_id, std::string_view broker, std::int32_t queue)
{
    const place here{of, broker_id, queue};
    if (const auto it = by_place_.find(here); it != by_place_.end()) [[likely]] {
        it->second->decisions.add();
        return;
    }
    std::tuple name{std::string(topic), std::string(broker), queue};
    queue_metrics* row = nullptr;
    if (const auto known = by_name_.find(name); known != by_name_.end()) {
        row = known->second;
    } else if (by_name_.size() < max_queues) {
        row = &new_queue(topic, broker, queue);
        by_name_.emplace(std::move(name), row);
    } else {
        if (other_queue_ == nullptr)
            other_queue_ = &new_queue(other, other, -1);
        row = other_queue_;
    }
    if (by_place_.size() < 4 * max_queues)
        by_place_.emplace(here, row);
    row->decisions.add();
}

broker_metrics& metrics::broker(std::uint32_t id, std::string_view name)
{
    const bool is_other = id >= max_brokers - 1;
    std::unique_ptr<broker_metrics>& row = brokers_[is_other ? max_brokers - 1 : id];
    if (row == nullptr) [[unlikely]] {
        auto made = std::make_unique<broker_metrics>();
        made->name = is_other ? other : name;
        const std::lock_guard lock(lock_);
        row = std::move(made);
    }
    return *row;
}

policy_metrics& metrics::policy(std::string_view name)
{
    if (last_policy_ != nullptr && last_policy_->name == name)
        return *last_policy_;
    const auto find = [&](std::string_view wanted) {
        const auto it = std::find_if(policies_.begin(), policies_.end(), [&](const auto& p) { return p->name == wanted; });
        return it == policies_.end() ? nullptr : it->get();
    };
    policy_metrics* found = find(name);
    if (found == nullptr && policies_.size() >= max_policies) {
        name = other;
        found = find(name);
    }
    if (found == nullptr) {
        auto made = std::make_unique<policy_metrics>();
        made->name = name;
        const std::lock_guard lock(lock_);
        found = policies_.emplace_back(std::move(made)).get();
    }
    last_policy_ = found;
    return *found;
}

void metrics::verdict(policy_metrics& by, std::uint32_t broker_id, std::string_view name, bool available, bool reachable, std::int64_t now_ms)
{
    if (broker_id >= max_brokers - 1)
        return;
    const auto known = by.verdicts_.find(broker_id);
    verdict_metrics* v = known == by.verdicts_.end() ? nullptr : known->second.get();
    if (v == nullptr) {
        auto made = std::make_unique<verdict_metrics>();
        made->broker = &broker(broker_id, name);
        made->since_ms = now_ms;
        const std::lock_guard lock(lock_);
        v = by.verdicts_.emplace(broker_id, std::move(made)).first->second.get();
    }
    if (v->available.exchange(available, std::memory_order_relaxed) != available) {
        v->since_ms.store(now_ms, std::memory_order_relaxed);
        if (!available)
            v->isolations.add();
    }
    v->reachable.store(reachable, std::memory_order_relaxed);
}

}  // namespace shunt::observe
