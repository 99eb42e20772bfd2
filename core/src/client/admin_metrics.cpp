// What the admin endpoint tells Prometheus. Names and meanings are told again in core/README.md and used in config/alerts.yml.

#include <client/admin_desk.hpp>

#include <client/core.hpp>
#include <client/statistics.hpp>
#include <observe/exposition.hpp>
#include <plugin/image.hpp>

#include <iterator>
#include <map>
#include <mutex>
#include <set>

namespace shunt::client {

namespace {

double number(std::uint64_t n) noexcept { return static_cast<double>(n); }

}  // namespace

std::string admin_desk::metrics() const
{
    core& c = core_;
    const statistics& seen = *c.statistics_;
    const observe::metrics& m = seen.counts;
    const shunt::counters n = c.counters();
    observe::exposition out;

    out.gauge("shunt_build_info", "The version of shunt; always 1").add(1, {{"version", SHUNT_VERSION}});
    out.gauge("shunt_start_time_seconds", "When the producer was made, in seconds since 1970").add(static_cast<double>(started_ms_) / 1e3);

    out.counter("shunt_sends_started_total", "Sends that were called").add(number(n.sends));
    out.counter("shunt_sends_total", "Sends that ended, by outcome")
        .add(number(n.stored), {{"outcome", "stored"}})
        .add(number(n.not_sent), {{"outcome", "not_sent"}})
        .add(number(n.rejected), {{"outcome", "rejected"}})
        .add(number(n.unknown), {{"outcome", "unknown"}});
    out.histogram("shunt_send_duration_seconds", "Whole sends, from the call to the end").add(m.sends.counts(), observe::send_bounds);

    out.counter("shunt_attempts_total", "Attempts that ended, by broker and outcome");
    m.each_broker([&](const observe::broker_metrics& b) {
        for (const outcome o : {outcome::stored, outcome::not_sent, outcome::rejected, outcome::unknown})
            out.add(number(b.attempts(o).get()), {{"broker", b.name}, {"outcome", to_string(o)}});
    });
    out.histogram("shunt_attempt_duration_seconds", "Attempts from the write to the answer, or to when their time was over");
    m.each_broker([&](const observe::broker_metrics& b) { out.add(b.latency.counts(), observe::send_bounds, {{"broker", b.name}}); });

    out.counter("shunt_decisions_total", "Attempts by the queue that was decided for");
    m.each_queue([&](const observe::queue_metrics& q) {
        const std::string id = q.queue < 0 ? std::string(observe::metrics::other) : std::to_string(q.queue);
        out.add(number(q.decisions.get()), {{"topic", q.topic}, {"broker", q.broker}, {"queue", id}});
    });
    out.counter("shunt_decision_reasons_total", "Attempts by policy and by why their queue was picked");
    m.each_policy([&](const observe::policy_metrics& p) {
        for (std::size_t w = 0; w < p.whys.size(); ++w) {
            if (const std::uint64_t count = p.whys[w].get(); count != 0)
                out.add(number(count), {{"policy", p.name}, {"why", strategy::to_string(static_cast<strategy::why>(w))}});
        }
    });

    {
        std::set<std::string, std::less<>> policies;  // verdicts of those that are gone say nothing
        const epoch_domain::reading mark(c.epochs_, c.slots_->mine().epoch);
        const policy_table& table = *c.in_force_.load(std::memory_order_seq_cst)->table;
        for (const auto& [name, pol] : table.policies)
            policies.insert(name);
        const auto verdicts = [&](const auto& value) {
            m.each_verdict([&](const observe::policy_metrics& p, const observe::verdict_metrics& v) {
                if (policies.contains(p.name))
                    out.add(value(v), {{"policy", p.name}, {"broker", v.broker->name}});
            });
        };
        out.gauge("shunt_broker_available", "1: the policy's fault strategy lets the broker be used; 0: it is isolated");
        verdicts([](const observe::verdict_metrics& v) { return v.available.load(std::memory_order_relaxed) ? 1.0 : 0.0; });
        out.gauge("shunt_broker_reachable", "1: the policy's fault strategy says that the broker can be reached");
        verdicts([](const observe::verdict_metrics& v) { return v.reachable.load(std::memory_order_relaxed) ? 1.0 : 0.0; });
        out.counter("shunt_broker_isolations_total", "How often the broker was isolated by the policy in force");
        verdicts([](const observe::verdict_metrics& v) { return number(v.isolations.get()); });

        std::map<std::string_view, strategy::broker_entry*> brokers;
        for (const assignment* a : table.assignments()) {
            if (const strategy::snapshot* s = a->current.load(std::memory_order_seq_cst)) {
                for (const auto& place : s->route->places)
                    brokers[place.broker->name] = place.broker;
            }
        }
        while (brokers.size() > observe::metrics::max_brokers)
            brokers.erase(std::prev(brokers.end()));
        out.gauge("shunt_broker_in_flight", "Attempts that are under way to the broker; just after failures some more");
        for (const auto& [name, b] : brokers)
            out.add(b->inflight(), {{"broker", name}});
        out.gauge("shunt_broker_latency_seconds", "Moving average of attempts that stored, as selectors see it");
        for (const auto& [name, b] : brokers)
            out.add(static_cast<double>(b->latency()) / 1e9, {{"broker", name}});
    }

    {
        std::map<std::string, core::past_counts, std::less<>> by_policy;
        {
            const std::lock_guard lock(c.tables_lock_);
            by_policy = c.past_;
            for (const auto& table : c.tables_) {
                for (const auto& [name, pol] : table->policies) {
                    core::past_counts& sum = by_policy[name];
                    sum.plugin_errors += pol->plugin_errors.load(std::memory_order_relaxed) + pol->verdicts().errors();
                    sum.abstained += pol->abstained.load(std::memory_order_relaxed);
                }
            }
        }
        out.counter("shunt_plugin_errors_total", "Calls of the policy's strategies that failed, each answered by the fallback");
        for (const auto& [name, sum] : by_policy)
            out.add(number(sum.plugin_errors), {{"policy", name}});
        out.counter("shunt_selector_abstained_total", "Calls of the policy's selector that left the choice to the fallback");
        for (const auto& [name, sum] : by_policy)
            out.add(number(sum.abstained), {{"policy", name}});
    }
    out.histogram("shunt_plugin_call_seconds", "How long calls of strategies take: feed and evaluate each, select one of 256");
    m.each_policy([&](const observe::policy_metrics& p) {
        out.add(p.select.counts(), observe::call_bounds, {{"policy", p.name}, {"call", "select"}});
        out.add(p.feed.counts(), observe::call_bounds, {{"policy", p.name}, {"call", "feed"}});
        out.add(p.evaluate.counts(), observe::call_bounds, {{"policy", p.name}, {"call", "evaluate"}});
    });
    out.gauge("shunt_plugin_images", "Plugin files in the process").add(number(plugin::loaded_images()));

    const std::vector<standing> all = swaps();
    out.gauge("shunt_policy_generation", "Generation of the policies in force").add(number(c.generation()));
    out.counter("shunt_swaps_total", "Swaps that came to this state");
    for (const swap_state s : {swap_state::in_force, swap_state::probation, swap_state::refused, swap_state::rolled_back})
        out.add(number(seen.swap_steps[static_cast<std::size_t>(s)].load(std::memory_order_relaxed)), {{"state", to_string(s)}});
    out.gauge("shunt_swap_candidate", "1 for the state of the swap that is looked at or on probation");
    std::size_t on_old_map = 0;
    std::set<std::string_view> states;
    for (const standing& s : all) {
        states.insert(to_string(s.status.state));
        if (s.status.state == swap_state::in_force || s.status.state == swap_state::probation)
            on_old_map = s.status.keys_on_old_map;
    }
    for (const swap_state s : {swap_state::created, swap_state::shadow, swap_state::canary, swap_state::probation})
        out.add(states.contains(to_string(s)) ? 1 : 0, {{"state", to_string(s)}});
    out.gauge("shunt_keys_on_old_map", "Keys of ordered topics that still go by policies before those in force").add(number(on_old_map));

    std::size_t most_messages = 0, most_bytes = 0;
    {
        const epoch_domain::reading mark(c.epochs_, c.slots_->mine().epoch);
        const producer_options& live = c.in_force_.load(std::memory_order_seq_cst)->table->options;
        most_messages = live.max_in_flight_messages;
        most_bytes = live.max_in_flight_bytes;
    }
    out.gauge("shunt_in_flight_messages", "Messages that are on their way").add(number(n.in_flight_messages));
    out.gauge("shunt_in_flight_messages_limit", "How many may be").add(number(most_messages));
    out.gauge("shunt_in_flight_bytes", "Memory of messages that are on their way").add(number(n.in_flight_bytes));
    out.gauge("shunt_in_flight_bytes_limit", "How much may be").add(number(most_bytes));
    out.gauge("shunt_lanes", "Order keys with messages on their way").add(number(n.lanes));

    out.gauge("shunt_connections", "Connections to brokers and name servers").add(number(n.connections));
    out.counter("shunt_connects_total", "Connections that came up").add(number(n.connects));
    out.counter("shunt_connect_failures_total", "Connections that could not be made").add(number(n.connects_failed));
    out.counter("shunt_connections_lost_total", "Connections that ended").add(number(n.connections_lost));
    out.counter("shunt_writes_total", "Writes to sockets").add(number(n.writes));
    out.counter("shunt_written_bytes_total", "Bytes of them").add(number(n.bytes_written));
    out.counter("shunt_late_answers_total", "Answers that nobody waited for any more").add(number(n.late_answers));
    out.counter("shunt_bad_frames_total", "Bytes from brokers and name servers that are no answer").add(number(n.bad_frames));
    out.counter("shunt_route_queries_total", "Questions for routes").add(number(n.route_queries));
    out.counter("shunt_route_changes_total", "Routes that changed").add(number(n.route_changes));
    out.gauge("shunt_route_missing", "1: sends wait for a route that cannot be had").add(n.route_error.empty() ? 0 : 1);
    out.counter("shunt_heartbeats_total", "Heartbeats to brokers").add(number(n.heartbeats));
    out.counter("shunt_handler_exceptions_total", "Completion handlers that threw").add(number(n.callbacks_threw));

    const observe::admin_counts own = server_->counts();
    out.gauge("shunt_admin_connections", "Connections to this endpoint").add(number(own.connections));
    out.counter("shunt_admin_requests_total", "Requests to it, by status");
    for (const auto& [status, count] : own.requests)
        out.add(number(count), {{"code", std::to_string(status)}});
    return out.text();
}

}  // namespace shunt::client
