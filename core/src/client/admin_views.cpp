// What the admin endpoint shows, as JSON.

#include <client/admin_desk.hpp>

#include <client/core.hpp>
#include <client/statistics.hpp>
#include <config/load.hpp>
#include <plugin/image.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>

namespace shunt::client {

namespace {

using observe::json;

std::int64_t ms_of(std::chrono::system_clock::time_point t)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

/// Settings of strategies of strangers whose names say that they are not for everybody.
bool is_secret(std::string_view key)
{
    static constexpr std::array<std::string_view, 5> words{"token", "password", "passwd", "secret", "credential"};
    const std::string_view last = key.substr(key.rfind('.') + 1);
    return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return last.find(w) != last.npos; });
}

std::string_view shown(std::string_view key, std::string_view value) { return is_secret(key) && value.size() > 2 ? "\"(hidden)\"" : value; }

void put_arm(json& out, std::string_view name, const swap_arm& a)
{
    out.key(name);
    if (a.attempts == 0 && a.plugin_errors == 0) {
        out.null();
        return;
    }
    out.object()
        .member("attempts", a.attempts)
        .member("stored", a.stored)
        .member("not_sent", a.not_sent)
        .member("rejected", a.rejected)
        .member("unknown", a.unknown)
        .member("plugin_errors", a.plugin_errors)
        .member("p50_us", a.p50.count() / 1000)
        .member("p99_us", a.p99.count() / 1000)
        .key("by_broker")
        .object();
    for (const auto& [broker, n] : a.by_broker)
        out.member(broker, n);
    out.end_object().end_object();
}

void put_shadow(json& out, const swap_shadow& s)
{
    out.key("shadow");
    if (s.decisions == 0 && s.dropped == 0) {
        out.null();
        return;
    }
    out.object()
        .member("decisions", s.decisions)
        .member("differ", s.differ)
        .member("keyed", s.keyed)
        .member("keyed_differ", s.keyed_differ)
        .member("no_queue", s.no_queue)
        .member("errors", s.errors)
        .member("dropped", s.dropped)
        .key("by_queue")
        .array();
    for (const auto& [queue, picks] : s.by_queue)
        out.object().member("broker", queue.first).member("queue", queue.second).member("in_force", picks.first).member("candidate", picks.second).end_object();
    out.end_array().key("by_broker").array();
    for (const auto& [broker, picks] : s.by_broker)
        out.object().member("broker", broker).member("in_force", picks.first).member("candidate", picks.second).end_object();
    out.end_array().end_object();
}

std::string_view word(when_no_queue w) noexcept
{
    return w == when_no_queue::wait ? "wait" : w == when_no_queue::any ? "any" : "fail";
}

std::string word(const key_source& k)
{
    return k.what == key_source::kind::order_key ? "order-key" : k.what == key_source::kind::keys ? "keys" : "property:" + k.property;
}

std::string_view word(strategy::strategy_origin o) noexcept
{
    return o == strategy::strategy_origin::bundled ? "bundled" : o == strategy::strategy_origin::file ? "file" : "static";
}

}  // namespace

std::string admin_desk::about() const
{
    const core& c = core_;
    return json()
        .object()
        .member("version", std::string_view(SHUNT_VERSION))
        .member("group", c.options_.group)
        .member("client_id", c.client_id_)
        .member("pid", static_cast<std::int64_t>(::getpid()))
        .member("started_ms", started_ms_)
        .member("now_ms", ms_of(std::chrono::system_clock::now()))
        .member("file", c.options_.file)
        .member("name_server", c.name_server())
        .member("verbs", c.options_.admin.verbs)
        .member("token", !c.options_.admin.token.empty())
        .member("generation", c.generation())
        .member("closing", c.closing_.load(std::memory_order_relaxed))
        .end_object()
        .take();
}

// ---- swaps ----

std::vector<admin_desk::standing> admin_desk::swaps() const
{
    std::vector<core::record_ptr> all;
    {
        const std::lock_guard lock(core_.tables_lock_);
        all = core_.swaps_;
    }
    const std::uint64_t previous = core_.previous_table_.load(std::memory_order_relaxed);
    std::vector<standing> out;
    for (const core::record_ptr& r : all) {
        standing& s = out.emplace_back();
        const std::lock_guard lock(r->lock);
        s.status = r->status;
        const std::uint64_t table = r->table.load();
        s.retained = table != 0;
        s.is_previous = table != 0 && table == previous;
    }
    return out;
}

admin_desk::roles::roles(const std::vector<standing>& all)
{
    for (const standing& s : all) {
        const swap_state st = s.status.state;
        if (st == swap_state::in_force || st == swap_state::probation)
            in_force = &s;
        if (st == swap_state::created || st == swap_state::shadow || st == swap_state::canary)
            candidate = &s;
        if (s.is_previous)
            previous = &s;
    }
}

void admin_desk::put_swap(json& out, const standing& of, bool may_go_back)
{
    const swap_status& s = of.status;
    out.object()
        .member("id", s.id)
        .member("state", to_string(s.state))
        .member("reason", s.reason)
        .member("generation", s.generation)
        .member("who", s.who)
        .member("what", s.what);
    if (s.deadline == std::chrono::system_clock::time_point{})
        out.key("deadline_ms").null();
    else
        out.member("deadline_ms", ms_of(s.deadline));
    out.key("steps").array();
    for (const swap_step& step : s.steps)
        out.object().member("state", to_string(step.state)).member("at_ms", ms_of(step.at)).member("reason", step.reason).end_object();
    out.end_array().key("changes").array();
    for (const swap_change& c : s.changes)
        out.object().member("key", c.key).member("from", shown(c.key, c.from)).member("to", shown(c.key, c.to)).member("live", c.live).end_object();
    out.end_array();
    put_shadow(out, s.shadow);
    put_arm(out, "before", s.before);
    put_arm(out, "after", s.after);
    out.member("verdict", s.verdict).member("keys_on_old_map", s.keys_on_old_map).key("can").array();
    switch (s.state) {
    case swap_state::created:
    case swap_state::shadow:
    case swap_state::canary: out.value("shadow").value("canary").value("promote").value("rollback"); break;
    case swap_state::staged:
    case swap_state::admitting: out.value("rollback"); break;
    case swap_state::probation:
    case swap_state::in_force:
        if (may_go_back)
            out.value("rollback");
        break;
    case swap_state::replaced:
    case swap_state::rolled_back:
        if (of.is_previous)
            out.value("promote");
        break;
    case swap_state::retired:
    case swap_state::refused: break;
    }
    out.end_array().end_object();
}

std::string admin_desk::swap(std::uint64_t id) const
{
    json out;
    const std::vector<standing> all = swaps();
    const roles now(all);
    for (const standing& s : all) {
        if (s.status.id == id)
            put_swap(out, s, now.may_go_back());
    }
    return out.take();
}

std::string admin_desk::policies() const
{
    const std::vector<standing> all = swaps();
    const roles now(all);
    json out;
    const auto id = [&](std::string_view name, const standing* s) {
        out.key(name);
        if (s == nullptr)
            out.null();
        else
            out.value(s->status.id);
    };
    out.object().member("generation", core_.generation());
    id("in_force", now.in_force);
    id("previous", now.previous);
    id("candidate", now.candidate);
    out.key("policies").array();
    {
        std::map<std::string, std::uint64_t, std::less<>> decisions;
        core_.statistics_->counts.each_policy([&](const observe::policy_metrics& p) {
            for (const observe::count& c : p.whys)
                decisions[p.name] += c.get();
        });
        const epoch_domain::reading mark(core_.epochs_, core_.slots_->mine().epoch);
        const policy_table& table = *core_.in_force_.load(std::memory_order_seq_cst)->table;
        for (const auto& [name, pol] : table.policies) {
            const policy_options& o = pol->options();
            out.object().member("name", name).member("selector", o.selector.use).key("filters").array();
            for (const strategy_options& f : o.filters)
                out.value(f.use);
            out.end_array()
                .member("fault", o.fault.use)
                .member("ordered", o.ordered)
                .member("key_from", word(o.key_from))
                .member("when_no_queue", word(o.when_no_queue))
                .member("decisions", decisions[name])
                .member("plugin_errors", pol->plugin_errors.load(std::memory_order_relaxed) + pol->verdicts().errors())
                .member("abstained", pol->abstained.load(std::memory_order_relaxed))
                .member("last_failure", pol->last_failure())
                .end_object();
        }
        out.end_array().key("bindings").array();
        for (const binding_options& b : table.options.bindings)
            out.object().member("topic", b.topic).member("policy", b.policy).end_object();
        out.end_array();
    }
    out.member("keys_on_old_map", now.in_force == nullptr ? 0 : now.in_force->status.keys_on_old_map).member("verbs", core_.options_.admin.verbs).key("swaps").array();
    for (const standing& s : all)
        put_swap(out, s, now.may_go_back());
    return out.end_array().end_object().take();
}

// ---- routes and brokers ----

std::string admin_desk::routes() const
{
    std::map<std::tuple<std::string, std::string, std::int32_t>, std::uint64_t> decided;
    const observe::metrics& counts = core_.statistics_->counts;
    counts.each_queue([&](const observe::queue_metrics& q) { decided[{q.topic, q.broker, q.queue}] = q.decisions.get(); });
    struct broker {
        strategy::broker_entry* entry = nullptr;
        std::string address;
    };
    std::map<std::string, broker> brokers;
    std::set<std::string, std::less<>> policies;
    json out;
    const epoch_domain::reading mark(core_.epochs_, core_.slots_->mine().epoch);
    const in_force& f = *core_.in_force_.load(std::memory_order_seq_cst);
    const policy_table& table = *f.table;
    for (const auto& [name, pol] : table.policies)
        policies.insert(name);
    out.object().member("at_ms", ms_of(std::chrono::system_clock::now())).key("latency_bounds_us").array();
    for (const std::int64_t ns : observe::send_bounds)
        out.value(ns / 1000);
    out.end_array().key("topics").array();
    std::vector<assignment*> all = table.assignments();
    std::sort(all.begin(), all.end(),
              [](const assignment* a, const assignment* b) { return std::tie(a->where.topic, a->where.policy) < std::tie(b->where.topic, b->where.policy); });
    for (const assignment* a : all) {
        const strategy::snapshot* s = a->current.load(std::memory_order_seq_cst);
        if (s == nullptr)
            continue;
        out.object().member("topic", a->where.topic).member("policy", a->policy_name).member("generation", f.generation).key("queues").array();
        for (std::uint32_t q = 0; q < s->view.n_queues; ++q) {
            const auto bit = [&](const std::vector<std::uint64_t>& mask) { return (mask[q / 64] >> (q % 64) & 1) != 0; };
            const auto id = static_cast<std::int32_t>(s->route->queues[q].queue_id);
            const std::string name(s->route->broker_name(q));
            const auto n = decided.find({a->where.topic, name, id});
            out.object()
                .member("broker", name)
                .member("queue", id)
                .member("available", bit(s->masks.available))
                .member("reachable", bit(s->masks.reachable))
                .member("decisions", n == decided.end() ? 0 : n->second)
                .end_object();
        }
        out.end_array().end_object();
        for (const auto& place : s->route->places) {
            broker& b = brokers[std::string(place.broker->name)];
            b.entry = place.broker;
            b.address = place.master;
        }
    }
    out.end_array();

    struct seen {
        const observe::broker_metrics* of = nullptr;
        std::vector<std::pair<std::string, const observe::verdict_metrics*>> verdicts;
    };
    std::map<std::string, seen> by_name;
    counts.each_broker([&](const observe::broker_metrics& b) { by_name[b.name].of = &b; });
    counts.each_verdict([&](const observe::policy_metrics& p, const observe::verdict_metrics& v) { by_name[v.broker->name].verdicts.emplace_back(p.name, &v); });
    out.key("brokers").array();
    for (const auto& [name, b] : brokers) {
        const seen& known = by_name[name];
        const auto fact = table.facts->find(name);
        out.object()
            .member("name", name)
            .member("address", b.address)
            .member("room", strategy::room_of(name, *table.facts))
            .member("weight", fact == table.facts->end() ? 1u : fact->second.weight)
            .member("in_flight", b.entry->inflight())
            .member("latency_us", b.entry->latency() / 1000)
            .key("attempts")
            .object();
        for (const outcome o : {outcome::stored, outcome::not_sent, outcome::rejected, outcome::unknown})
            out.member(to_string(o), known.of == nullptr ? 0 : known.of->attempts(o).get());
        const observe::histogram_counts latency = known.of == nullptr ? observe::histogram_counts{} : known.of->latency.counts();
        out.end_object()
            .member("p50_us", latency.quantile(observe::send_bounds, 0.5) / 1000)
            .member("p99_us", latency.quantile(observe::send_bounds, 0.99) / 1000)
            .key("latency_counts")
            .array();
        for (std::size_t i = 0; i <= observe::send_bounds.size(); ++i)
            out.value(i < latency.buckets.size() ? latency.buckets[i] : 0);
        out.end_array().key("verdicts").array();
        for (const auto& [policy, v] : known.verdicts) {
            const auto pol = table.policies.find(policy);
            if (pol == table.policies.end())
                continue;
            out.object()
                .member("policy", policy)
                .member("fault", pol->second->options().fault.use)
                .member("available", v->available.load(std::memory_order_relaxed))
                .member("reachable", v->reachable.load(std::memory_order_relaxed))
                .member("since_ms", v->since_ms.load(std::memory_order_relaxed))
                .member("isolations", v->isolations.get())
                .end_object();
        }
        out.end_array().key("last_failure");
        const auto failed = known.of == nullptr ? std::nullopt : known.of->last_failure();
        if (failed)
            out.object()
                .member("at_ms", failed->at_ms)
                .member("outcome", to_string(failed->outcome))
                .member("code", failed->code)
                .member("text", failed->text)
                .member("latency_us", failed->latency_ns / 1000)
                .end_object();
        else
            out.null();
        out.end_object();
    }
    return out.end_array().end_object().take();
}

// ---- the rest ----

std::string admin_desk::plugins() const
{
    struct used {
        const strategy::strategy_class* cls = nullptr;
        std::set<std::string> by;
        bool in_force = false;
    };
    std::map<std::tuple<std::string, strategy::strategy_kind, std::string>, used> all;
    const epoch_domain::reading mark(core_.epochs_, core_.slots_->mine().epoch);  // what is let go from here on stays until its end
    const policy_table* const now = core_.in_force_.load(std::memory_order_seq_cst)->table;
    std::vector<const policy_table*> tables;
    {
        const std::lock_guard lock(core_.tables_lock_);
        for (const auto& t : core_.tables_)
            tables.push_back(t.get());
    }
    for (const policy_table* t : tables) {
        for (const auto& [name, pol] : t->policies) {
            pol->each_class([&, &policy = name](const strategy::strategy_class& cls) {
                used& u = all[{cls.name, cls.kind, cls.sha256}];
                u.cls = &cls;
                u.by.insert(policy);
                u.in_force = u.in_force || t == now;
            });
        }
    }
    json out;
    out.object().member("images", plugin::loaded_images()).member("max_images", now->options.plugins.max_images).key("strategies").array();
    for (const auto& [key, u] : all) {
        const strategy::strategy_class& c = *u.cls;
        out.object()
            .member("name", c.name)
            .member("kind", strategy::to_string(c.kind))
            .member("version", c.version)
            .member("file", c.file)
            .member("sha256", c.sha256)
            .member("abi", std::to_string(c.abi_major) + "." + std::to_string(c.abi_minor))
            .member("origin", word(c.origin))
            .key("used_by")
            .array();
        for (const std::string& policy : u.by)
            out.value(policy);
        out.end_array().member("in_force", u.in_force).end_object();
    }
    return out.end_array().end_object().take();
}

std::string admin_desk::decisions(std::size_t most) const
{
    const observe::decision_sample& sample = core_.statistics_->decisions;
    json out;
    out.object()
        .member("seen", core_.counters().attempts)
        .member("kept", sample.kept())
        .member("per_second", observe::decision_sample::per_second)
        .key("decisions")
        .array();
    for (const observe::seen_decision& d : sample.newest(most)) {
        out.object()
            .member("at_ms", d.at_ms)
            .member("topic", d.topic)
            .member("policy", d.policy)
            .member("generation", d.generation)
            .member("attempt", d.attempt)
            .member("broker", d.broker)
            .member("queue", d.queue)
            .member("why", d.why)
            .member("keyed", d.keyed)
            .member("outcome", to_string(d.outcome))
            .member("code", d.code)
            .member("latency_us", d.latency_ns / 1000)
            .member("text", d.text)
            .end_object();
    }
    return out.end_array().end_object().take();
}

std::string admin_desk::config() const
{
    std::vector<std::pair<std::string, std::string>> values;
    {
        const epoch_domain::reading mark(core_.epochs_, core_.slots_->mine().epoch);
        values = config::effective_values(core_.in_force_.load(std::memory_order_seq_cst)->table->options);
    }
    json out;
    out.object().member("file", core_.options_.file).key("values").array();
    for (const auto& [key, value] : values)
        out.object().member("key", key).member("value", shown(key, value)).end_object();
    return out.end_array().end_object().take();
}

}  // namespace shunt::client
