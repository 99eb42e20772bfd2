// What one decision costs: snapshot read under an epoch mark, plugin call, checks. With the real plugins.

#include <client/policy_table.hpp>
#include <plugin/registry.hpp>
#include <strategy/decide.hpp>

#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

namespace strategy = shunt::strategy;

class quiet final : public strategy::environment {
public:
    std::int64_t now_ns() override { return 0; }
    std::uint64_t random() override { return ++state_ * 0x9e3779b97f4a7c15ULL; }
    void log(std::int32_t, std::string_view) override {}
    void request_probe(std::string_view, std::uint32_t, std::int64_t) override {}

private:
    std::uint64_t state_ = 1;
};

/// `queues` queues on brokers of 4 (or 8 brokers, if that is fewer queues each), half of the brokers isolated if asked.
struct situation {
    situation(const char* selector, int queues, bool half_isolated)
    {
        shunt::policy_options o;
        o.selector.use = selector;
        if (o.selector.use == "machine-room")
            o.selector.settings["rooms"] = shunt::setting_array{"nowhere"};
        o.fault.use = "latency-fault";
        std::vector<strategy::setting_problem> problems;
        pol = strategy::policy::make("bench", o,
                                     [this](strategy::strategy_kind kind, std::string_view name, std::string& error) {
                                         shunt::plugin::load_error e;
                                         auto cls = plugins.find(kind, name, e);
                                         error = e.text;
                                         return cls;
                                     },
                                     env, 0, problems);
        if (pol == nullptr)
            throw std::runtime_error(problems.front().expected);
        shunt::route::topic_route r;
        r.topic = "T";
        const int brokers = std::max(2, queues / 4);
        for (int b = 0; b < brokers; ++b) {
            auto& broker = r.brokers.emplace_back();
            broker.name = "broker-" + std::to_string(1000 + b);
            broker.addresses[0] = "127.0.0.1:1";
            broker.perm = 6;
            broker.read_queues = broker.write_queues = queues / brokers;
            broker.has_queue_data = true;
        }
        shunt::route::finish(r);
        auto view = strategy::build_view(r, {}, book, 1);
        if (half_isolated) {
            for (std::uint32_t b = 0; b < view->brokers.size(); b += 2) {
                shunt_feedback f{};
                f.struct_size = sizeof f;
                f.kind = SHUNT_FB_SEND;
                f.result = SHUNT_FB_FAILED;
                f.broker_id = view->brokers[b].id;
                (void)pol->verdicts().feed({&f, 1});
            }
        }
        current = strategy::make_snapshot(view, pol, shared, 1, 1, 0).release();
        std::string error;
        set = pol->make_set(0, *shared, error);
        if (set == nullptr)
            throw std::runtime_error(error);
    }
    ~situation()
    {
        set.reset();
        delete current.load();
        pol->destroy_shared(*shared);
    }

    quiet env;
    shunt::plugin::registry plugins{{}, shunt::plugin::bundled_folder()};
    strategy::broker_book book;
    std::shared_ptr<strategy::policy> pol;
    std::shared_ptr<strategy::policy::shared_instances> shared = std::make_shared<strategy::policy::shared_instances>();
    std::unique_ptr<strategy::selector_set> set;
    std::atomic<const strategy::snapshot*> current{nullptr};
    shunt::client::epoch_domain epochs;
};

void decide(benchmark::State& state, const char* selector)
{
    situation s(selector, static_cast<int>(state.range(0)), state.range(1) != 0);
    auto& slot = s.epochs.make_slot();
    strategy::question q;
    q.has_key = true;
    q.key = "order-1234";
    std::uint64_t random = 0;
    benchmark::DoNotOptimize(strategy::decide(*s.current.load(), *s.set, q));  // what is made once for a route is made
    for (auto _ : state) {
        q.random = random += 0x9e3779b97f4a7c15ULL;
        const shunt::client::epoch_domain::reading mark(s.epochs, slot);
        const auto d = strategy::decide(*s.current.load(std::memory_order_acquire), *s.set, q);
        benchmark::DoNotOptimize(d.queue);
    }
}

// What is paid for policies that can be exchanged: from the mark to the snapshot, as a send goes, against one pointer that
// nobody may ever free what is behind.

void read_raw(benchmark::State& state)
{
    const situation s("best-queue", 8, false);
    for (auto _ : state) {
        const strategy::snapshot* const now = s.current.load(std::memory_order_acquire);
        benchmark::DoNotOptimize(now->view.n_queues);
    }
}

void read_in_force(benchmark::State& state)
{
    namespace client = shunt::client;
    const situation s("best-queue", 8, false);
    client::epoch_domain epochs;
    client::thread_slot slot(epochs.make_slot(), 1, 0);
    client::target topic{.topic = "T", .policy = {}};
    client::policy_table table;
    table.id = 1;
    table.policies.emplace("default", s.pol);
    client::assignment& made = table.assign(topic);
    made.current = strategy::make_snapshot(s.current.load()->route, s.pol, made.shared(), 1, 1, 0).release();
    const client::in_force first{.generation = 1, .table = &table};
    const std::atomic<const client::in_force*> in_force{&first};
    client::thread_slot::lookups& known = slot.lookups_for(table.id);
    known.last = &known.by_name.emplace("T", client::thread_slot::cached{.by = &made}).first->second;
    for (auto _ : state) {
        const client::epoch_domain::reading mark(epochs, slot.epoch);
        const client::in_force& f = *in_force.load(std::memory_order_seq_cst);
        const strategy::snapshot* const now = slot.lookups_for(f.table->id).last->by->current.load(std::memory_order_seq_cst);
        benchmark::DoNotOptimize(now->view.n_queues);
    }
}

void sizes(benchmark::internal::Benchmark* b)
{
    for (const int queues : {8, 256, 4096}) {
        b->Args({queues, 0});
        b->Args({queues, 1});
    }
    b->ArgNames({"queues", "half_isolated"});
}

BENCHMARK(read_raw);
BENCHMARK(read_in_force);
BENCHMARK_CAPTURE(decide, best_queue, "best-queue")->Apply(sizes);
BENCHMARK_CAPTURE(decide, round_robin, "round-robin")->Apply(sizes);
BENCHMARK_CAPTURE(decide, random, "random")->Apply(sizes);
BENCHMARK_CAPTURE(decide, hash, "hash")->Apply(sizes);
BENCHMARK_CAPTURE(decide, power_of_two, "power-of-two")->Apply(sizes);
BENCHMARK_CAPTURE(decide, least_inflight, "least-inflight")->Apply(sizes);
BENCHMARK_CAPTURE(decide, weighted_round_robin, "weighted-round-robin")->Apply(sizes);
BENCHMARK_CAPTURE(decide, weighted_random, "weighted-random")->Apply(sizes);
BENCHMARK_CAPTURE(decide, consistent_hash, "consistent-hash")->Apply(sizes);
BENCHMARK_CAPTURE(decide, machine_room, "machine-room")->Apply(sizes);

}  // namespace

BENCHMARK_MAIN();
