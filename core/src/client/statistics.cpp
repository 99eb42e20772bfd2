#include <client/statistics.hpp>

#include <client/core.hpp>

#include <utility>

namespace shunt::client {

void core::count_decision(const operation& op)
{
    observe::metrics& m = statistics_->counts;
    m.decided(op.where, op.where->topic, op.broker->id, op.broker->name, op.queue);
    m.policy(op.policy).whys[static_cast<std::size_t>(op.why)].add();
}

void core::count_attempt(const operation& op, const attempt& a, send::ending how)
{
    observe::broker_metrics& b = statistics_->counts.broker(op.broker->id, op.broker->name);
    b.attempts(a.outcome).add();
    if (how == send::ending::answered || how == send::ending::expired)
        b.latency.add(a.latency.count());
    const bool well = a.outcome == outcome::stored || how == send::ending::written;
    if (!well) {
        observe::failure f;
        f.at_ms = links_->wall_ms();
        f.latency_ns = a.latency.count();
        f.outcome = a.outcome;
        f.code = a.code;
        f.text = a.text;
        b.failed(std::move(f));
    }
    if (!statistics_->decisions.wants(well, links_->now_ns())) [[likely]]
        return;
    observe::seen_decision d;
    d.at_ms = links_->wall_ms();
    d.latency_ns = a.latency.count();
    d.topic = op.where->topic;
    d.broker = op.broker->name;
    d.policy = op.policy;
    d.why = a.why;
    d.generation = op.generation;
    d.attempt = op.machine.attempts();
    d.queue = op.queue;
    d.code = a.code;
    d.keyed = op.has_key;
    d.outcome = a.outcome;
    d.text = a.text;
    statistics_->decisions.put(std::move(d));
}

/// What the policy in force says of each broker of the topic.
void core::count_verdicts(assignment& a)
{
    const strategy::snapshot* s = a.current.load(std::memory_order_relaxed);
    if (s == nullptr)
        return;
    struct said {
        strategy::broker_entry* broker = nullptr;
        bool available = false, reachable = false;
    };
    std::vector<said> all;
    for (std::uint32_t q = 0; q < s->view.n_queues; ++q) {
        strategy::broker_entry* const broker = s->route->broker_of(q);
        if (all.empty() || all.back().broker != broker) {  // queues are sorted by broker, but for static topics
            const auto known = std::find_if(all.begin(), all.end(), [&](const said& b) { return b.broker == broker; });
            if (known == all.end())
                all.push_back({broker});
            else
                std::swap(*known, all.back());
        }
        const auto bit = [&](const std::vector<std::uint64_t>& mask) { return (mask[q / 64] >> (q % 64) & 1) != 0; };
        all.back().available = all.back().available || bit(s->masks.available);
        all.back().reachable = all.back().reachable || bit(s->masks.reachable);
    }
    if (a.seen == nullptr)
        a.seen = &statistics_->counts.policy(a.policy_name);
    for (const said& b : all)
        statistics_->counts.verdict(*a.seen, b.broker->id, b.broker->name, b.available, b.reachable, links_->wall_ms());
}

}  // namespace shunt::client
