#include <client/shadow.hpp>

#include <client/core.hpp>
#include <swap/plan.hpp>

namespace shunt::client {

void shadow::offer(decision&& d)
{
    const std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock() || waiting_.size() >= max_waiting) {
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    waiting_.push_back(std::move(d));
    if (waiting_.size() == 1)
        more_.notify_one();
}

bool shadow::take(std::vector<decision>& out)
{
    out.clear();
    std::unique_lock lock(lock_);
    more_.wait(lock, [&] { return !waiting_.empty() || stopped.load(); });
    out.swap(waiting_);
    return !stopped.load();
}

void shadow::stop()
{
    {
        const std::lock_guard lock(lock_);
        stopped = true;
    }
    more_.notify_all();
}

void shadow::count(const decision& d, std::string_view broker, std::int32_t queue, bool failed)
{
    const std::lock_guard lock(lock_);
    const bool differs = broker != d.broker || queue != d.queue;
    ++counts_.decisions;
    counts_.differ += differs ? 1 : 0;
    counts_.keyed += d.has_key ? 1 : 0;
    counts_.keyed_differ += d.has_key && differs ? 1 : 0;
    counts_.errors += failed ? 1 : 0;
    ++counts_.by_queue[{std::string(d.broker), d.queue}].first;
    ++counts_.by_broker[std::string(d.broker)].first;
    if (broker.empty()) {
        ++counts_.no_queue;
        return;
    }
    ++counts_.by_queue[{std::string(broker), queue}].second;
    ++counts_.by_broker[std::string(broker)].second;
}

swap_shadow shadow::counts() const
{
    const std::lock_guard lock(lock_);
    swap_shadow c = counts_;
    c.dropped = dropped_.load(std::memory_order_relaxed);
    return c;
}

// ---- in the producer ----

void core::start_shadow(double share)
{
    if (candidate_->beside == nullptr) {
        bool properties = false;
        candidate_->each_class([&](const strategy::strategy_class& cls) {
            properties = properties || (cls.kind == strategy::strategy_kind::selector && (cls.selector().flags & SHUNT_F_WANTS_PROPS) != 0);
        });
        candidate_->beside = std::make_unique<shadow>(properties);
        helpers_.start([self = shared_from_this(), table = candidate_] { self->run_shadow(*table); });
    }
    in_force next = *in_force_.load(std::memory_order_relaxed);
    next.candidate = candidate_.get();
    next.shadow_below = swap::below(share);
    set_in_force(next);
}

/// On a thread of its own. `table` is the candidate's.
void core::run_shadow(policy_table& table)
{
    thread_slot& slot = slots_->mine();
    shadow& beside = *table.beside;
    std::vector<shadow::decision> all;
    while (beside.take(all)) {
        for (const shadow::decision& d : all) {
            if (beside.stopped.load(std::memory_order_relaxed))
                return;
            std::string_view broker;
            std::int32_t queue = -1;
            bool failed = false;
            {
                const epoch_domain::reading mark(epochs_, slot.epoch);
                assignment* const by = table.find(*d.where);
                const strategy::snapshot* s = by == nullptr ? nullptr : by->current.load(std::memory_order_seq_cst);
                if (s == nullptr)
                    continue;
                std::string error;
                beside.asked_at_ns.store(net::monotonic_ns(), std::memory_order_relaxed);
                strategy::selector_set* const set = by->set_of(slot, static_cast<std::uint32_t>(slot.random()) & 0x7fffffff, error);
                strategy::question q;
                q.has_key = d.has_key;
                q.key = d.key;
                q.ordered = d.ordered;
                q.attempt = d.attempt;
                q.body_len = d.body_len;
                q.random = d.random;
                q.now_ns = d.now_ns;
                q.tried = d.tried;
                q.properties_of = &d.properties;
                const strategy::decision said = set == nullptr ? strategy::decision{} : strategy::decide(*s, *set, q);
                beside.asked_at_ns.store(0, std::memory_order_relaxed);
                failed = set == nullptr || said.because == strategy::why::fallback;
                if (said.picked) {
                    broker = s->route->broker_of(said.queue)->name;
                    queue = static_cast<std::int32_t>(s->route->queues[said.queue].queue_id);
                }
            }
            beside.count(d, broker, queue, failed);
        }
    }
}

}  // namespace shunt::client
