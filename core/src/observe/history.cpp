#include <observe/history.hpp>

#include <algorithm>
#include <utility>

namespace shunt::observe {

void history::step(const metrics& m, std::uint64_t generation, std::int64_t now_ms)
{
    one_step s;
    s.at_ms = now_ms;
    s.generation = generation;
    std::size_t i = 0;
    m.each_queue([&](const queue_metrics& q) {
        if (queues_before_.size() <= i)
            queues_before_.push_back(0);
        const std::uint64_t now = q.decisions.get();
        s.queues.push_back(now - std::exchange(queues_before_[i++], now));
    });
    m.each_broker([&](const broker_metrics& b) {
        broker_total now;
        now.stored = b.attempts(outcome::stored).get();
        for (const outcome o : {outcome::not_sent, outcome::unknown, outcome::rejected})
            now.failed += b.attempts(o).get();
        now.latency = b.latency.counts();
        broker_total& before = brokers_before_[b.name];
        const histogram_counts since = now.latency.since(before.latency);
        broker_step& out = s.brokers[b.name];
        out.stored = now.stored - before.stored;
        out.failed = now.failed - before.failed;
        out.p50_ns = since.quantile(send_bounds, 0.5);
        out.p99_ns = since.quantile(send_bounds, 0.99);
        before = std::move(now);
    });
    if (steps_.size() == max_steps)
        steps_.pop_front();
    steps_.push_back(std::move(s));
}

void history::put(json& out, const metrics& m) const
{
    out.object().member("step_seconds", step_seconds);
    out.key("at_ms").array();
    for (const one_step& s : steps_)
        out.value(s.at_ms);
    out.end_array().key("generation").array();
    for (const one_step& s : steps_)
        out.value(s.generation);
    out.end_array();

    struct row {
        std::size_t place = 0;
        std::uint64_t sum = 0;
        std::string topic, broker;
        std::int32_t queue = -1;
    };
    std::vector<row> rows;
    m.each_queue([&](const queue_metrics& q) {
        row& r = rows.emplace_back();
        r.place = rows.size() - 1;
        for (const one_step& s : steps_)
            r.sum += r.place < s.queues.size() ? s.queues[r.place] : 0;
        r.topic = q.topic;
        r.broker = q.broker;
        r.queue = q.queue;
    });
    if (rows.size() > max_queues) {
        std::nth_element(rows.begin(), rows.begin() + max_queues, rows.end(), [](const row& a, const row& b) { return a.sum > b.sum; });
        rows.resize(max_queues);
    }
    std::sort(rows.begin(), rows.end(),
              [](const row& a, const row& b) { return std::tie(a.topic, a.broker, a.queue) < std::tie(b.topic, b.broker, b.queue); });
    out.key("queues").array();
    for (const row& r : rows) {
        out.object().member("topic", r.topic).member("broker", r.broker).member("queue", r.queue).key("decisions").array();
        for (const one_step& s : steps_)
            out.value(r.place < s.queues.size() ? s.queues[r.place] : 0);
        out.end_array().end_object();
    }
    out.end_array().key("brokers").array();
    for (const auto& [name, total] : brokers_before_) {
        const auto series = [&, &of = name](std::string_view key, const auto& value) {
            out.key(key).array();
            for (const one_step& s : steps_) {
                const auto it = s.brokers.find(of);
                out.value(it == s.brokers.end() ? 0 : value(it->second));
            }
            out.end_array();
        };
        out.object().member("broker", name);
        series("stored", [](const broker_step& b) { return static_cast<std::int64_t>(b.stored); });
        series("failed", [](const broker_step& b) { return static_cast<std::int64_t>(b.failed); });
        series("p50_us", [](const broker_step& b) { return b.p50_ns / 1000; });
        series("p99_us", [](const broker_step& b) { return b.p99_ns / 1000; });
        out.end_object();
    }
    out.end_array().end_object();
}

}  // namespace shunt::observe
