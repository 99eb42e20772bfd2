// Routes that change, verdicts that change, brokers that come and go: what makes the snapshots decisions read.

#include <client/core.hpp>

#include <client/statistics.hpp>
#include <net/probe.hpp>
#include <send/penalty.hpp>
#include <wire/heartbeat.hpp>
#include <wire/resource_name.hpp>

#include <algorithm>
#include <utility>

namespace shunt::client {

namespace {

constexpr std::int64_t route_retry_ns = 200'000'000;    // between questions while sends wait for a route
constexpr std::int64_t heartbeat_timeout_ns = 3'000'000'000;
constexpr std::chrono::milliseconds probe_limit{1000};
constexpr int missed_before_drop = 2;
constexpr std::int64_t topic_idle_ns = 600'000'000'000;  // a topic nothing was sent to for so long is not polled

}  // namespace

// ---- targets and their snapshots ----

void core::make_target(const std::string& topic, std::string_view policy)
{
    std::string name = topic;
    if (!policy.empty()) {
        name += '\0';
        name += policy;
    }
    if (targets_.contains(name))
        return;
    auto made = std::make_unique<target>();
    made->topic = topic;
    made->policy = policy;
    topics_[topic].targets.push_back(made.get());
    for (const auto& table : tables_)
        publish(*table, table->assign(*made));
    const std::unique_lock lock(targets_lock_);
    targets_.emplace(std::move(name), std::move(made));
}

std::vector<std::string> core::set_aside(topic_state& t) const
{
    std::vector<std::string> names;
    for (const auto& [name, until] : t.aside)
        names.push_back(name);
    return names;
}

/// Null: no route is known.
const std::shared_ptr<const strategy::route_view>& core::view_of(topic_state& t, const policy_table& table)
{
    auto& view = t.views[table.facts.get()];
    if (view == nullptr && t.route != nullptr)
        view = strategy::build_view(*t.route, *table.facts, book_, ++route_gen_, set_aside(t));
    return view;
}

void core::publish(const policy_table& table, assignment& a)
{
    const auto it = topics_.find(a.where.topic);
    if (it == topics_.end())
        return;
    const auto& view = view_of(it->second, table);
    if (view == nullptr)
        return;
    if (statistics_ != nullptr && a.seen == nullptr)
        a.seen = &statistics_->counts.policy(a.policy_name);
    auto fresh = [&] {
        const call_timer evaluating(a.seen == nullptr ? nullptr : &a.seen->evaluate);
        return strategy::make_snapshot(view, a.pol, a.shared(), table.generation.load(std::memory_order_relaxed), ++verdict_gen_, links_->now_ns());
    }();
    const strategy::snapshot* old = a.current.exchange(fresh.release(), std::memory_order_seq_cst);
    if (statistics_ != nullptr && &table == current_.get())
        count_verdicts(a);
    if (old != nullptr)
        epochs_.retire([old] { delete old; });
}

void core::publish_topic(const std::string& topic)
{
    const auto it = topics_.find(topic);
    if (it == topics_.end())
        return;
    for (target* t : it->second.targets)
        for (const auto& table : tables_)
            publish(*table, table->assign(*t));
    arm_verdicts();
}

void core::publish_policy(const policy_table& table, const strategy::policy& pol)
{
    table.each_assignment([&](assignment& a) {
        if (a.pol.get() == &pol)
            publish(table, a);
    });
}

// ---- routes ----

void core::ask_route(const std::string& topic, bool again, std::int64_t deadline_ns)
{
    auto heard = [this, topic](route_cache::answer a, std::string_view text) { route_answered(topic, a, text); };
    if (again)
        routes_->refresh(topic, deadline_ns, std::move(heard));
    else
        routes_->need(topic, deadline_ns, std::move(heard));
}

/// For those who ask while sends wait: see counters().
void core::note_route_error(std::string_view text)
{
    const std::lock_guard lock(route_error_lock_);
    route_error_ = text;
}

void core::route_answered(const std::string& topic, route_cache::answer a, std::string_view text)
{
    const auto it = topics_.find(topic);
    if (it == topics_.end())
        return;
    topic_state& t = it->second;
    const bool known = t.route != nullptr;
    std::vector<operation*> heard;
    while (operation* op = t.waiting.front()) {
        t.waiting.remove(*op);
        heard.push_back(op);
    }
    bool still_waiting = false;
    for (operation* op : heard) {
        if (op->wanted == want::refresh || known) {
            if (known)
                make_target(topic, op->options.policy);
            resume(*op);
        } else if (a == route_cache::answer::unknown_topic) {
            finish(*op, errc::no_route, std::string(text));
        } else if (const errc why = routes_->why_failed(topic); is_certificate_fault(why)) {
            finish(*op, why, "no route of topic '" + topic + "': " + std::string(text));
        } else {
            op->result.reason = text;
            t.waiting.push_back(*op);  // its deadline is still set
            still_waiting = true;
        }
    }
    note_route_error(still_waiting ? text : std::string_view{});
    // What went on above may have asked for this topic again, or forgotten it.
    const auto now = topics_.find(topic);
    if (now == topics_.end())
        return;
    if (still_waiting) {
        now->second.retry_armed = true;
        if (!route_timer_.armed())
            links_->set_timer(route_timer_, links_->now_ns() + route_retry_ns);
    }
    if (now->second.route == nullptr && now->second.waiting.size() == 0 && now->second.targets.empty() && topics_.size() > 1024)
        topics_.erase(now);
}

void core::ask_again_for_routes()
{
    std::vector<std::pair<std::string, std::int64_t>> wanted;
    for (auto& [topic, state] : topics_) {
        if (std::exchange(state.retry_armed, false) && state.waiting.front() != nullptr)
            wanted.emplace_back(topic, state.waiting.front()->machine.deadline_ns());
    }
    for (const auto& [topic, deadline_ns] : wanted)
        ask_route(topic, false, deadline_ns);
}

/// Sends wait for a queue: what the name server says may have changed, and nothing else would ask before the next poll.
void core::ask_again_for_queues()
{
    std::vector<std::string> topics;
    for (const operation* op = queue_waiting_.front(); op != nullptr; op = op->list_next) {
        if (std::find(topics.begin(), topics.end(), op->msg.topic()) == topics.end())
            topics.push_back(op->msg.topic());
    }
    if (topics.empty())
        return;
    for (const std::string& topic : topics)
        routes_->refresh(topic, 0, {});
    links_->set_timer(queue_timer_, links_->now_ns() + ask_for_queues_ns);
}

void core::route_changed(const std::shared_ptr<const route::topic_route>& r, const std::vector<std::string>& changes)
{
    topic_state& t = topics_[r->topic];
    const bool first = t.route == nullptr;
    t.route = r;
    if (!first) {
        count_.route_changes.fetch_add(1, std::memory_order_relaxed);
        for (const std::string& change : changes)
            note(observe::level::info, "topic '" + r->topic + "': " + change);
    }
    if (record::recording* kept = recorder_ != nullptr ? recorder_->begun(r->topic) : nullptr)
        kept->set_route(links_->now_ns(), *r, *current_->facts);
    std::erase_if(t.aside, [&](const auto& item) { return item.second <= links_->now_ns(); });
    t.views.clear();
    const auto& view = view_of(t, *current_);

    // Where brokers are now, and which are in no route any more.
    address_of_.resize(book_.size());
    std::vector<bool> seen(book_.size());
    for (const auto& [topic, state] : topics_) {
        const auto known = state.views.begin();  // all of them have the same places
        if (known == state.views.end() || known->second == nullptr)
            continue;
        for (const auto& place : known->second->places)
            seen[place.broker->id] = true;
    }
    for (const auto& place : view->places) {
        std::string& address = address_of_[place.broker->id];
        if (address == place.master)
            continue;
        const std::string old = std::exchange(address, place.master);
        const bool used = std::find(address_of_.begin(), address_of_.end(), old) != address_of_.end();
        if (net::connection* c = old.empty() || used ? nullptr : links_->find(old))
            c->retire();  // what is under way there may still be answered
    }
    for (std::uint32_t id = 0; id < seen.size(); ++id) {
        if (seen[id] || address_of_[id].empty())
            continue;
        const std::string old = std::exchange(address_of_[id], {});
        const bool used = std::find(address_of_.begin(), address_of_.end(), old) != address_of_.end();
        if (net::connection* c = used ? nullptr : links_->find(old))
            c->retire();
        shunt_feedback& f = feedback_.emplace_back();
        f.struct_size = sizeof f;
        f.kind = SHUNT_FB_LEFT;
        f.broker_id = id;
        f.broker_code = -1;
        f.at_ns = links_->now_ns();
    }
    feed();
    publish_topic(r->topic);
    for (const auto& answered : t.answered)
        pull_new_queues(answered, *r);
    wake_waiting_for_queues();
}

void core::put_aside(const std::string& topic, std::string_view broker)
{
    const auto it = topics_.find(topic);
    if (it == topics_.end() || it->second.route == nullptr)
        return;
    topic_state& t = it->second;
    t.aside[std::string(broker)] = links_->now_ns() + bounded_ns(options_.route_refresh);
    t.views.clear();
    publish_topic(topic);
    arm_aside();
}

void core::arm_aside()
{
    std::int64_t next = INT64_MAX;
    for (const auto& [topic, state] : topics_) {
        for (const auto& [name, until] : state.aside)
            next = std::min(next, until);
    }
    if (next != INT64_MAX)
        links_->set_timer(aside_timer_, next);
}

/// Brokers that did not know a topic are tried again, though the route did not change.
void core::end_aside()
{
    for (auto& [topic, state] : topics_) {
        const auto ended = std::erase_if(state.aside, [&](const auto& item) { return item.second <= links_->now_ns(); });
        if (ended == 0 || state.route == nullptr)
            continue;
        state.views.clear();
        publish_topic(topic);
    }
    arm_aside();
}

// ---- verdicts ----

void core::feed()
{
    if (feedback_.empty())
        return;
    feeding_.swap(feedback_);
    bool changed = false;
    for (const auto& table : tables_) {
        for (const auto& [name, pol] : table->policies) {
            {
                const call_timer feeding(statistics_ == nullptr ? nullptr : &statistics_->counts.policy(name).feed);
                if (!pol->verdicts().feed(feeding_))
                    continue;
            }
            changed = true;
            publish_policy(*table, *pol);
        }
    }
    feeding_.clear();
    if (changed)
        arm_verdicts();
}

void core::arm_verdicts()
{
    std::int64_t next = INT64_MAX;
    for (const auto& table : tables_) {
        table->each_assignment([&](const assignment& a) {
            if (const strategy::snapshot* s = a.current.load(std::memory_order_relaxed))
                next = std::min(next, s->masks.valid_until_ns);
        });
    }
    if (next == INT64_MAX) {
        links_->clear_timer(verdict_timer_);
        return;
    }
    if (!verdict_timer_.armed() || verdict_timer_.deadline_ns() != next)
        links_->set_timer(verdict_timer_, next);
}

void core::verdict_time()
{
    const std::int64_t now = links_->now_ns();
    for (const auto& table : tables_) {
        table->each_assignment([&](assignment& a) {
            const strategy::snapshot* s = a.current.load(std::memory_order_relaxed);
            if (s != nullptr && s->masks.valid_until_ns <= now)
                publish(*table, a);
        });
    }
    arm_verdicts();
}

void core::request_probe(std::string_view policy, std::uint32_t broker_id, std::int64_t at_ns)
{
    if (links_ == nullptr)
        return;  // the producer itself is being made: no broker is known yet
    if (!on_io_side_()) {  // a strategy that is being made asks for one
        boost::asio::post(executor_, [weak = weak_from_this(), name = std::string(policy), broker_id, at_ns] {
            const auto self = weak.lock();
            if (self != nullptr && !self->closed_io_)
                self->request_probe(name, broker_id, at_ns);
        });
        return;
    }
    auto& p = probes_[{std::string(policy), broker_id}];
    if (p == nullptr) {
        p = std::make_unique<probe_state>();
        p->owner = this;
        p->policy = policy;
        p->broker = broker_id;
        p->expired = [](net::timer_hook& hook) {
            auto& self = static_cast<probe_state&>(hook);
            self.owner->probe_now(self.policy, self.broker);
        };
    }
    links_->set_timer(*p, at_ns);
}

void core::probe_now(const std::string& policy, std::uint32_t broker_id)
{
    const std::string address = broker_id < address_of_.size() ? address_of_[broker_id] : std::string{};
    if (address.empty() || closed_io_)
        return;
    net::probe(*links_, address, probe_limit, [this, policy, broker_id](bool reached) {
        if (closed_io_)
            return;
        shunt_feedback f{};
        f.struct_size = sizeof f;
        f.kind = SHUNT_FB_PROBE;
        f.result = reached ? SHUNT_FB_GOOD : SHUNT_FB_UNREACHABLE;
        f.broker_id = broker_id;
        f.broker_code = -1;
        f.at_ns = links_->now_ns();
        f.start_ns = f.at_ns;
        for (const auto& table : tables_) {
            const auto it = table->policies.find(policy);
            if (it != table->policies.end() && it->second->verdicts().feed({&f, 1}))
                publish_policy(*table, *it->second);
        }
        arm_verdicts();
    });
}

// ---- load of those that fail ----

void core::penalize(strategy::broker_entry& b)
{
    std::uint32_t mine = 0;
    for (const auto& [until, entry] : penalties_)
        mine += entry == &b ? 1 : 0;
    if (mine >= send::max_penalties)
        return;
    b.add_inflight();
    penalties_.emplace_back(links_->now_ns() + send::penalty_ns, &b);
    if (!penalty_timer_.armed())
        links_->set_timer(penalty_timer_, penalties_.front().first);
}

void core::drop_penalties()
{
    while (!penalties_.empty() && penalties_.front().first <= links_->now_ns()) {
        penalties_.front().second->sub_inflight();
        penalties_.pop_front();
    }
    if (!penalties_.empty())
        links_->set_timer(penalty_timer_, penalties_.front().first);
}

// ---- heartbeats ----

/// `then`: when it was answered, or will not be.
void core::heartbeat(const std::string& address, std::function<void()> then)
{
    count_.heartbeats.fetch_add(1, std::memory_order_relaxed);
    net::question q;
    q.code = wire::code::heart_beat;
    wire::buffer body;
    const std::string_view group = group_;
    wire::put_heartbeat(body, client_id_, {&group, 1});
    q.body = body.view();
    net::ask(*links_, address, format_, std::move(q), links_->now_ns() + heartbeat_timeout_ns,
             [this, address, then = std::move(then)](const net::reply& r) {
        if (r.how == send::ending::answered)
            known_at_.insert(address);
        if (then)
            then();
        if (r.how == send::ending::answered) {
            missed_heartbeats_.erase(address);
            return;
        }
        if (r.how == send::ending::expired && ++missed_heartbeats_[address] >= missed_before_drop) {
            missed_heartbeats_.erase(address);
            links_->drop(address, "broker at " + address + " answered no heartbeat");
        }
    });
}

void core::heartbeat_all()
{
    std::vector<std::string> all;
    for (const std::string& address : address_of_) {
        if (!address.empty() && std::find(all.begin(), all.end(), address) == all.end())
            all.push_back(address);
    }
    for (const std::string& address : all)
        heartbeat(address);
    for (const std::string& topic : kept_topics_)
        routes_->used(topic);
    meet_brokers();
    epochs_.collect();
    for (const auto& [key, t] : targets_) {
        if (links_->now_ns() - t->used_ns < topic_idle_ns)
            routes_->used(t->topic);
    }
}

void core::arm_heartbeat()
{
    heartbeat_timer_->expires_after(options_.heartbeat);
    heartbeat_timer_->async_wait([self = shared_from_this(), this](const boost::system::error_code& ec) {
        if (ec || closed_io_)
            return;
        links_->refresh();
        heartbeat_all();
        links_->flush_all();
        arm_heartbeat();
    });
}

}  // namespace shunt::client
