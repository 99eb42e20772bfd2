// Strategies made of functions, routes made of rows, and a host whose time and randomness a test sets.

#pragma once

#include <route/route.hpp>
#include <strategy/decide.hpp>
#include <strategy/policy.hpp>
#include <strategy/view.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shunt::strategy::test {

/// A host that does as told.
struct host : environment {
    std::int64_t now_ns() override { return now; }
    std::uint64_t random() override { return next_random++; }
    void log(std::int32_t, std::string_view text) override
    {
        const std::lock_guard guard(lock);
        lines.emplace_back(text);
    }
    void request_probe(std::string_view policy, std::uint32_t broker, std::int64_t at) override { probes.emplace_back(policy, broker, at); }

    std::int64_t now = 0;
    std::uint64_t next_random = 0;
    std::mutex lock;
    std::vector<std::string> lines;
    std::vector<std::tuple<std::string, std::uint32_t, std::int64_t>> probes;
};

/// What a selector of a test does. One of each name; tests run one after another.
struct selector_behaviour {
    std::function<shunt_status(const shunt_view&, const shunt_msg&, shunt_pick&)> select;
    std::function<shunt_status(const shunt_view&, const shunt_msg&, std::uint32_t level, std::uint64_t* mask)> filter;
    std::function<shunt_status(const shunt_host&)> create;
    std::uint32_t flags = 0;
    std::optional<std::uint32_t> wants;  // nothing: it has no such function
    int made = 0, destroyed = 0;
    std::vector<std::uint32_t> starts;
};
struct fault_behaviour {
    std::function<shunt_status(const shunt_broker*, std::uint32_t n, std::int64_t now, std::uint64_t* available, std::uint64_t* reachable,
                               std::int64_t* until)> evaluate;
    std::function<shunt_status(const shunt_feedback*, std::uint32_t n)> on_feedback;
    std::function<shunt_status(const shunt_host&)> create;
    int made = 0, destroyed = 0;
};

inline std::map<std::string, selector_behaviour>& selectors()
{
    static std::map<std::string, selector_behaviour> all;
    return all;
}
inline std::map<std::string, fault_behaviour>& faults()
{
    static std::map<std::string, fault_behaviour> all;
    return all;
}

}  // namespace shunt::strategy::test

// The instances of the C tables.
struct shunt_selector {
    shunt::strategy::test::selector_behaviour* does;
};
struct shunt_fault {
    shunt::strategy::test::fault_behaviour* does;
};

namespace shunt::strategy::test {

/// C functions know no name, so each class of a test has a number of its own.
template <int N>
struct tables {
    static inline std::string name;
    static strategy_class_ptr selector_class(const std::string& as)
    {
        name = as;
        auto cls = std::make_shared<strategy_class>();
        cls->kind = strategy_kind::selector;
        cls->name = as;
        shunt_selector_class t{};
        t.struct_size = sizeof t;
        t.flags = selectors()[as].flags | (selectors()[as].filter ? SHUNT_F_FILTER : 0u);
        t.create = [](const shunt_host* h, const shunt_config*, const shunt_instance* i, shunt_selector** out) -> shunt_status {
            auto& b = selectors()[name];
            if (b.create)
                if (const shunt_status s = b.create(*h); s != SHUNT_OK)
                    return s;
            ++b.made;
            b.starts.push_back(i->start);
            *out = new shunt_selector{&b};
            return SHUNT_OK;
        };
        t.destroy = [](shunt_selector* s) {
            ++s->does->destroyed;
            delete s;
        };
        t.select = [](shunt_selector* s, const shunt_view* v, const shunt_msg* m, shunt_pick* p) { return s->does->select(*v, *m, *p); };
        if (selectors()[as].wants)
            t.wants = [](const shunt_selector* s) { return *s->does->wants; };
        if (selectors()[as].filter)
            t.filter = [](shunt_selector* s, const shunt_view* v, const shunt_msg* m, std::uint32_t level, std::uint64_t* mask) {
                return s->does->filter(*v, *m, level, mask);
            };
        cls->table = t;
        return cls;
    }
    static strategy_class_ptr fault_class(const std::string& as)
    {
        name = as;
        auto cls = std::make_shared<strategy_class>();
        cls->kind = strategy_kind::fault;
        cls->name = as;
        shunt_fault_class t{};
        t.struct_size = sizeof t;
        t.create = [](const shunt_host* h, const shunt_config*, const shunt_instance*, shunt_fault** out) -> shunt_status {
            auto& b = faults()[name];
            if (b.create)
                if (const shunt_status s = b.create(*h); s != SHUNT_OK)
                    return s;
            ++b.made;
            *out = new shunt_fault{&b};
            return SHUNT_OK;
        };
        t.destroy = [](shunt_fault* f) {
            ++f->does->destroyed;
            delete f;
        };
        t.evaluate = [](shunt_fault* f, const shunt_broker* b, std::uint32_t, std::uint32_t n, std::int64_t now, std::uint64_t* a,
                        std::uint64_t* r, std::int64_t* until) -> shunt_status {
            if (f->does->evaluate)
                return f->does->evaluate(b, n, now, a, r, until);
            for (std::uint32_t i = 0; i < n; ++i)
                a[i / 64] |= std::uint64_t{1} << (i % 64);
            return SHUNT_OK;
        };
        t.on_feedback = [](shunt_fault* f, const shunt_feedback* fb, std::uint32_t, std::uint32_t n) -> shunt_status {
            return f->does->on_feedback ? f->does->on_feedback(fb, n) : 0;
        };
        cls->table = t;
        return cls;
    }
};

/// "chooser", "filter-1", "filter-2" and "fault": whatever of them a test describes in selectors() and faults().
inline class_finder finder()
{
    return [](strategy_kind kind, std::string_view name, std::string& error) -> strategy_class_ptr {
        if (kind == strategy_kind::selector && selectors().contains(std::string(name))) {
            if (name == "filter-1")
                return tables<1>::selector_class("filter-1");
            if (name == "filter-2")
                return tables<2>::selector_class("filter-2");
            return tables<3>::selector_class(std::string(name));
        }
        if (kind == strategy_kind::fault && faults().contains(std::string(name)))
            return tables<4>::fault_class(std::string(name));
        error = "no such strategy";
        return nullptr;
    };
}

struct broker_row {
    std::string name;
    int queues = 4;
    int perm = 6;
    bool master = true;
};

inline route::topic_route route_of(const std::vector<broker_row>& rows)
{
    route::topic_route r;
    r.topic = "T";
    for (const broker_row& row : rows) {
        route::broker b;
        b.name = row.name;
        b.cluster = "C";
        b.addresses[row.master ? 0 : 1] = "10.0.0.1:10911";
        b.perm = row.perm;
        b.read_queues = b.write_queues = row.queues;
        b.has_queue_data = true;
        r.brokers.push_back(b);
    }
    route::finish(r);
    return r;
}

/// A policy of "chooser", "fault" and filters, over a route, at one moment.
struct situation {
    test::host env;
    broker_book book;
    std::shared_ptr<policy> pol;
    std::shared_ptr<policy::shared_instances> shared = std::make_shared<policy::shared_instances>();
    std::unique_ptr<selector_set> set;
    std::unique_ptr<snapshot> s;

    explicit situation(const std::vector<broker_row>& rows = {{"a"}, {"b"}, {"c"}}, std::vector<std::string> filters = {},
                       const facts_table& facts = {})
    {
        policy_options o;
        o.selector.use = "chooser";
        o.fault.use = "fault";
        for (const std::string& f : filters)
            o.filters.push_back({.use = f, .settings = {}, .where = {}});
        std::vector<setting_problem> problems;
        pol = policy::make("p", o, finder(), env, 0, problems);
        EXPECT_TRUE(problems.empty());
        std::string error;
        if (pol != nullptr) {
            set = pol->make_set(7, *shared, error);
            s = make_snapshot(build_view(route_of(rows), facts, book, 1), pol, shared, 1, 1, env.now);
        }
    }
    ~situation()
    {
        s.reset();
        set.reset();
        if (pol != nullptr)
            pol->destroy_shared(*shared);
    }
    [[nodiscard]] std::uint32_t id(std::string_view broker) { return book.entry(broker).id; }
    /// The broker and queue of a decision, or "none".
    [[nodiscard]] std::string named(const decision& d) const
    {
        if (!d.picked)
            return d.refused ? "refused" : "none";
        return std::string(s->route->broker_name(d.queue)) + "-" + std::to_string(s->route->queues[d.queue].queue_id);
    }
};

/// A fresh table of behaviours for each test.
struct Strategies : testing::Test {
    Strategies()
    {
        selectors().clear();
        faults().clear();
        selectors()["chooser"].select = [](const shunt_view& v, const shunt_msg&, shunt_pick& p) -> shunt_status {
            for (std::uint32_t q = 0; q < v.n_queues; ++q)
                if (v.candidates == nullptr || (v.candidates[q / 64] >> (q % 64) & 1) != 0) {
                    p.queue_index = q;
                    return SHUNT_OK;
                }
            return SHUNT_NO_QUEUE;
        };
        faults()["fault"];
    }
};

}  // namespace shunt::strategy::test
