#include <simulate/run.hpp>

#include <plugin/registry.hpp>
#include <send/classify.hpp>
#include <send/lanes.hpp>
#include <send/machine.hpp>
#include <send/penalty.hpp>
#include <strategy/policy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace shunt::simulate {

namespace {

using strategy::broker_entry;

constexpr std::uint32_t nobody = UINT32_MAX;

std::string fill_in(const std::string& key, std::uint64_t i)
{
    std::string out;
    std::size_t from = 0;
    for (std::size_t at; (at = key.find("{i}", from)) != std::string::npos; from = at + 3)
        out.append(key, from, at - from).append(std::to_string(i));
    return out.append(key, from);
}

// ---- events ----

/// What goes first among the events of one time.
enum class event_class : std::uint8_t { step, end, probe, attempt, send };

struct event {
    std::int64_t at_ns = 0;
    event_class cls = event_class::step;
    std::uint64_t order = 0;   ///< within the class: step, send number, broker by name
    std::uint32_t index = 0;   ///< step, slot of the send, broker
    std::uint32_t stamp = 0;   ///< differs from the subject's: called off

    friend bool operator>(const event& a, const event& b) noexcept
    {
        return std::tie(a.at_ns, a.cls, a.order) > std::tie(b.at_ns, b.cls, b.order);
    }
};

// ---- latencies, exactly and in bounded memory ----

class latency_counts {
public:
    void add(std::int64_t ms)
    {
        if (ms < static_cast<std::int64_t>(short_.size()))
            ++short_[static_cast<std::size_t>(ms)];
        else
            ++long_[ms];
        ++n_;
        sum_ms_ += ms;
    }

    [[nodiscard]] std::optional<percentiles> result() const
    {
        if (n_ == 0)
            return std::nullopt;
        return percentiles{nth(rank(500)), nth(rank(900)), nth(rank(990)), nth(rank(999)), nth(n_),
                           static_cast<double>(sum_ms_) / static_cast<double>(n_)};
    }

private:
    [[nodiscard]] std::uint64_t rank(std::uint64_t per_mille) const { return (n_ * per_mille + 999) / 1000; }

    /// The n-th smallest, n from 1.
    [[nodiscard]] std::int64_t nth(std::uint64_t n) const
    {
        std::uint64_t seen = 0;
        for (std::size_t ms = 0; ms < short_.size(); ++ms)
            if ((seen += short_[ms]) >= n)
                return static_cast<std::int64_t>(ms);
        for (const auto& [ms, count] : long_)
            if ((seen += count) >= n)
                return ms;
        return 0;
    }

    std::vector<std::uint64_t> short_ = std::vector<std::uint64_t>(4096);
    std::map<std::int64_t, std::uint64_t> long_;
    std::uint64_t n_ = 0;
    std::int64_t sum_ms_ = 0;
};

// ---- what the run is made of ----

/// A broker of the scenario, in the route or not. Its place among them, by name, is also its id.
struct site {
    broker is;                        ///< as the route has it now
    broker_entry* entry = nullptr;
    bool in_route = false;
    behaviour how = behaviour::answer;
    std::int32_t code = 0;
    std::int64_t latency_ms = 1;      ///< now; `is.latency_ms` is the usual one
    std::uint32_t probe_stamp = 0, penalties = 0;
    verdict said = verdict::away;     ///< what was told of it last
    std::uint64_t attempts = 0, stored = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> queues;  ///< attempts and stored, by queue id
};

/// A policy from the step that put it in force on.
struct epoch {
    std::string name;
    std::uint64_t generation = 1;
    std::shared_ptr<strategy::policy> pol;
    std::shared_ptr<strategy::policy::shared_instances> shared = std::make_shared<strategy::policy::shared_instances>();
    std::vector<std::unique_ptr<strategy::selector_set>> sets;  ///< by thread; made when needed

    epoch() = default;
    epoch(epoch&&) = delete;
    ~epoch()
    {
        sets.clear();
        if (pol != nullptr)
            pol->destroy_shared(*shared);
    }
};

enum class stage : std::uint8_t {
    free,
    in_lane,   ///< an earlier send of its key is under way
    no_queue,  ///< waits for a step that changes route or policy
    ready,     ///< its next attempt is an event of now
    flying,    ///< an attempt is under way
};

struct send_state {
    send::machine machine;
    std::uint64_t number = 0;
    std::uint32_t step = 0, thread = 0;
    stage at = stage::free;
    bool has_lane = false, has_deadline_event = false;
    std::optional<std::string> key;
    std::uint32_t stamp = 0;
    std::uint32_t waiting_at = 0;  ///< no_queue: place in the list of those
    // The attempt under way, or the last one.
    std::uint32_t broker = nobody, queue = 0;
    std::int64_t start_ns = 0, share_ns = 0;
    std::int32_t code = -1;
    send::meaning means;
    epoch* under = nullptr;
    std::uint64_t route_gen = 0;
};

/// A send step that is being carried out.
struct feed {
    std::uint64_t started = 0, allowed = 0;
    bool has_event = false;
};

struct stopped {
    std::string why;
};

class runner final : public strategy::environment {
public:
    runner(const scenario& s, plugin::registry& registry, observer& watcher)
        : s_(s), registry_(registry), watcher_(watcher), random_(s.seed), feeds_(s.steps.size())
    {
    }

    run_result run()
    {
        run_result out;
        try {
            begin();
            while (!events_.empty()) {
                const event e = events_.top();
                events_.pop();
                now_ns_ = e.at_ns;
                if (now_ns_ > max_time_ms * ns_per_ms)
                    throw stopped{fmt::format("the run goes on after {}h, and stops there", max_time_ms / 3'600'000)};
                happen(e);
            }
        } catch (const stopped& s) {
            out.error = s.why;
        }
        out.sum = sum_up();
        return out;
    }

    // ---- what strategies are lent ----

    std::int64_t now_ns() override { return now_ns_; }

    // SplitMix64: any seed will do, and every compiler gets the same.
    std::uint64_t random() override
    {
        std::uint64_t z = random_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }

    void log(std::int32_t level, std::string_view text) override { watcher_.log(now_ns_ / ns_per_ms, level, text); }

    void request_probe(std::string_view policy, std::uint32_t broker_id, std::int64_t at_ns) override
    {
        if (policy != policy_in_force_ || broker_id >= sites_.size())
            return;
        push(std::max(at_ns, now_ns_), event_class::probe, broker_id, broker_id, ++sites_[broker_id].probe_stamp);
    }

private:
    [[nodiscard]] epoch& in_force() noexcept { return *epochs_.back(); }

    void push(std::int64_t at_ns, event_class cls, std::uint64_t order, std::uint32_t index, std::uint32_t stamp)
    {
        events_.push({at_ns, cls, order, index, stamp});
    }

    void begin()
    {
        make_sites();
        rebuild_route();
        put_in_force(s_.policy, false);
        for (const step& one : s_.steps) {
            const auto i = static_cast<std::uint32_t>(&one - s_.steps.data());
            push(one.time_ms * ns_per_ms, event_class::step, i, i, 0);
        }
    }

    void happen(const event& e)
    {
        switch (e.cls) {
        case event_class::step: std::visit([&](const auto& what) { carry_out(what, e.index); }, s_.steps[e.index].what); break;
        case event_class::end:
            if (send_state& s = sends_[e.index]; s.stamp != e.stamp)
                break;
            else if (s.at == stage::flying)
                end_attempt(e.index);
            else
                expire(e.index);
            break;
        case event_class::probe:
            if (sites_[e.index].probe_stamp == e.stamp)
                probe(sites_[e.index]);
            break;
        case event_class::attempt:
            if (sends_[e.index].stamp == e.stamp && sends_[e.index].at == stage::ready)
                attempt(e.index);
            break;
        case event_class::send: start_send(e.index); break;
        }
    }

    // ---- brokers and route ----

    void make_sites()
    {
        std::set<std::string> names;
        for (const broker& b : s_.brokers)
            names.insert(b.name);
        for (const step& one : s_.steps)
            if (const auto* r = std::get_if<route_step>(&one.what))
                for (const broker& b : r->add)
                    names.insert(b.name);
        for (const std::string& name : names) {
            site& made = sites_.emplace_back();
            made.is.name = name;
            made.entry = &book_.entry(name);
        }
        for (const broker& b : s_.brokers)
            add_to_route(b);
    }

    [[nodiscard]] site& site_of(std::string_view name)
    {
        const auto at = std::lower_bound(sites_.begin(), sites_.end(), name, [](const site& a, std::string_view b) { return a.is.name < b; });
        return *at;  // read_scenario saw that it is there
    }

    void add_to_route(const broker& b)
    {
        site& s = site_of(b.name);
        s.is = b;
        s.in_route = true;
        s.how = behaviour::answer;
        s.code = 0;
        s.latency_ms = b.latency_ms;
    }

    void rebuild_route()
    {
        auto view = std::make_shared<strategy::route_view>();
        view->topic = s_.topic;
        view->route_gen = ++route_gen_;
        view->rooms.reserve(sites_.size());  // views point into the strings
        for (site& s : sites_) {
            if (!s.in_route)
                continue;
            const auto index = static_cast<std::uint32_t>(view->brokers.size());
            shunt_broker b{};
            b.id = s.entry->id;
            b.name = strategy::to_str(s.entry->name);
            b.room = strategy::to_str(view->rooms.emplace_back(s.is.room));
            b.weight = s.is.weight;
            b.first_queue = static_cast<std::uint32_t>(view->queues.size());
            b.n_queues = (s.is.perm & 2) != 0 ? s.is.queues : 0;
            b.flags = b.n_queues != 0 ? SHUNT_BROKER_WRITABLE : 0;
            b.load = &s.entry->load;
            for (std::uint32_t q = 0; q < b.n_queues; ++q)
                view->queues.push_back({index, q});
            view->brokers.push_back(b);
            view->entries.push_back(s.entry);
        }
        route_ = std::move(view);
        snapshot_.reset();
    }

    // ---- steps ----

    void carry_out(const send_step& what, std::uint32_t index)
    {
        feed& f = feeds_[index];
        f.allowed = what.every_ms ? what.count : std::min(what.count, what.inflight);
        next_send(index);
    }

    void carry_out(const broker_step& what, std::uint32_t)
    {
        site& s = site_of(what.name);
        if (what.how) {
            s.how = *what.how;
            s.code = what.code;
        }
        if (what.latency_ms)
            s.latency_ms = *what.latency_ms;
        else if (what.ok)
            s.latency_ms = s.is.latency_ms;
    }

    void carry_out(const route_step& what, std::uint32_t)
    {
        std::vector<bool> before;
        for (const site& s : sites_)
            before.push_back(s.in_route);
        for (const route_step::removal& r : what.remove)
            site_of(r.name).in_route = false;
        for (const broker_change& change : what.set) {
            broker& b = site_of(change.name).is;
            b.queues = change.queues.value_or(b.queues);
            b.perm = change.perm.value_or(b.perm);
            b.weight = change.weight.value_or(b.weight);
            b.room = change.room.value_or(b.room);
        }
        for (const broker& b : what.add)
            add_to_route(b);
        for (std::size_t i = 0; i < sites_.size(); ++i)
            if (before[i] && !sites_[i].in_route)
                forget(sites_[i]);
        rebuild_route();
        look_again();
    }

    void carry_out(const policy_step& what, std::uint32_t)
    {
        put_in_force(what.policy, what.carry_state);
        look_again();
    }

    void forget(site& s)
    {
        ++s.probe_stamp;
        shunt_feedback f = feedback_about(s, SHUNT_FB_LEFT);
        (void)in_force().pol->verdicts().feed({&f, 1});
    }

    void put_in_force(const policy_options& options, bool carry_state)
    {
        auto made = std::make_unique<epoch>();
        made->generation = epochs_.size() + 1;
        made->name = fmt::format("generation {}", made->generation);
        policy_in_force_ = made->name;  // it may ask for probes before it is
        for (site& s : sites_)
            ++s.probe_stamp;
        std::vector<strategy::setting_problem> problems;
        const auto find = [&](strategy::strategy_kind kind, std::string_view name, std::string& error) {
            plugin::load_error refused;
            auto cls = registry_.find(kind, name, refused);
            error = refused.text;
            return cls;
        };
        made->pol = strategy::policy::make(made->name, options, find, *this, s_.cursor, problems);
        if (made->pol == nullptr)
            throw stopped{fmt::format("{} is {}; it must be {}", problems.front().key, problems.front().found, problems.front().expected)};
        made->sets.resize(s_.threads);
        epochs_.push_back(std::move(made));
        if (carry_state)
            take_over(*epochs_[epochs_.size() - 2], in_force());
        snapshot_.reset();
    }

    void take_over(epoch& before, epoch& now)
    {
        const policy_options &old = before.pol->options(), &fresh = now.pol->options();
        if (old.fault.use == fresh.fault.use)
            (void)now.pol->verdicts().take_over(before.pol->verdicts());
        if (old.selector.use != fresh.selector.use)
            return;
        for (std::uint32_t thread = 0; thread < s_.threads; ++thread) {
            if (before.sets[thread] == nullptr)
                continue;
            strategy::selector_set &from = *before.sets[thread], &to = set_of(now, thread);
            to.fallback_cursor = from.fallback_cursor;
            // One that cannot be asked for its state may go on itself, where it was made from the same settings.
            if (!strategy::take_over(from.chooser, to.chooser) && old.selector.settings == fresh.selector.settings)
                std::swap(from.chooser, to.chooser);
        }
    }

    [[nodiscard]] strategy::selector_set& set_of(epoch& e, std::uint32_t thread)
    {
        auto& set = e.sets[thread];
        if (set == nullptr) {
            std::string error;
            set = e.pol->make_set(s_.cursor, *e.shared, error);
            if (set == nullptr)
                throw stopped{fmt::format("selector \"{}\" cannot be made: {}", e.pol->options().selector.use, error)};
            set->keep = e.pol;
        }
        return *set;
    }

    /// Sends without a queue try again.
    void look_again()
    {
        for (const std::uint32_t slot : waiting_)
            make_ready(slot);
        waiting_.clear();
    }

    // ---- sends ----

    void next_send(std::uint32_t step)
    {
        const auto& what = std::get<send_step>(s_.steps[step].what);
        feed& f = feeds_[step];
        if (f.has_event || f.started >= f.allowed)
            return;
        f.has_event = true;
        const std::int64_t at = what.every_ms ? (s_.steps[step].time_ms + static_cast<std::int64_t>(f.started) * *what.every_ms) * ns_per_ms
                                              : now_ns_;
        push(at, event_class::send, step, step, 0);
    }

    void start_send(std::uint32_t step)
    {
        const auto& what = std::get<send_step>(s_.steps[step].what);
        feed& f = feeds_[step];
        const std::uint64_t i = f.started++;
        f.has_event = false;
        next_send(step);

        const std::uint32_t slot = take_slot();
        send_state& s = sends_[slot];
        s.machine = send::machine({.timeout_ns = s_.timeout_ms * ns_per_ms, .attempts = s_.attempts, .resolution_ns = ns_per_ms}, now_ns_);
        s.number = n_sends_++;
        s.step = step;
        s.thread = what.thread.value_or(static_cast<std::uint32_t>(s.number % s_.threads));
        if (what.key)
            s.key = fill_in(*what.key, i);
        s.has_lane = s.key && in_force().pol->options().ordered;
        if (s.has_lane && !lanes_.enter(s_.topic, *s.key, slot)) {
            s.at = stage::in_lane;
            watch_deadline(slot);
            return;
        }
        attempt(slot);
    }

    [[nodiscard]] std::uint32_t take_slot()
    {
        if (free_.empty()) {
            sends_.emplace_back();
            return static_cast<std::uint32_t>(sends_.size() - 1);
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        return slot;
    }

    void watch_deadline(std::uint32_t slot)
    {
        send_state& s = sends_[slot];
        if (!std::exchange(s.has_deadline_event, true))
            push(s.machine.deadline_ns(), event_class::end, s.number, slot, s.stamp);
    }

    void make_ready(std::uint32_t slot)
    {
        send_state& s = sends_[slot];
        s.at = stage::ready;
        push(now_ns_, event_class::attempt, s.number, slot, s.stamp);
    }

    // ---- one attempt ----

    /// Where the next attempt goes. Without a place: `instead` says what becomes of the send.
    struct place {
        std::uint32_t index = SHUNT_NONE;  ///< of the queue in the route
        strategy::why why = strategy::why::plugin;
        when_no_queue instead = when_no_queue::fail;
    };

    [[nodiscard]] place find_place(const send_state& s)
    {
        const policy_options& policy = in_force().pol->options();
        if (const auto& wanted = std::get<send_step>(s_.steps[s.step].what).queue)
            return {route_->find_queue(wanted->broker, wanted->id).value_or(SHUNT_NONE), strategy::why::caller};
        if (policy.ordered && s.broker != nobody) {
            const auto same = route_->find_queue(sites_[s.broker].is.name, static_cast<std::int32_t>(s.queue));
            if (same)
                return {*same, strategy::why::key};
            if (policy.when_no_queue != when_no_queue::any)
                return {.instead = policy.when_no_queue};
        }
        return ask(s, policy);
    }

    [[nodiscard]] place ask(const send_state& s, const policy_options& policy)
    {
        strategy::selector_set& set = set_of(in_force(), s.thread);
        const strategy::question q{.has_key = s.key.has_value(),
                                   .key = s.key ? std::string_view(*s.key) : std::string_view{},
                                   .ordered = policy.ordered,
                                   .attempt = s.machine.next_attempt(),
                                   .random = random(),
                                   .now_ns = now_ns_,
                                   .tried = s.machine.tried()};
        const strategy::snapshot& seen = look();
        strategy::decision d = strategy::decide(seen, set, q);
        if (!d.picked && d.refused && policy.when_no_queue == when_no_queue::any)
            d = strategy::decide_fallback(seen, set, q);
        if (!d.picked)
            return {.instead = policy.when_no_queue == when_no_queue::wait ? when_no_queue::wait : when_no_queue::fail};
        return {d.queue, d.because};
    }

    /// Route, policy and verdicts as of now.
    [[nodiscard]] const strategy::snapshot& look()
    {
        drop_penalties();
        if (snapshot_ == nullptr) {
            snapshot_ = strategy::make_snapshot(route_, in_force().pol, in_force().shared, in_force().generation, ++verdict_gen_, now_ns_);
            tell_verdicts();
        } else if (judge_again_ || now_ns_ >= snapshot_->masks.valid_until_ns) {
            std::swap(judged_before_, snapshot_->masks);
            in_force().pol->verdicts().evaluate(*route_, now_ns_, snapshot_->masks);
            if (judged_before_.available != snapshot_->masks.available || judged_before_.reachable != snapshot_->masks.reachable) {
                snapshot_->view.verdict_gen = ++verdict_gen_;
                tell_verdicts();
            }
            snapshot_->view.available = snapshot_->masks.available.data();
            snapshot_->view.reachable = snapshot_->masks.reachable.data();
        }
        judge_again_ = false;
        return *snapshot_;
    }

    void tell_verdicts()
    {
        std::vector<verdict> now(sites_.size(), verdict::away);
        const auto has = [](const std::vector<std::uint64_t>& mask, std::uint32_t q) { return (mask[q / 64] >> (q % 64) & 1) != 0; };
        for (const shunt_broker& b : route_->brokers)
            if (b.n_queues != 0)
                now[b.id] = has(snapshot_->masks.available, b.first_queue)   ? verdict::available
                            : has(snapshot_->masks.reachable, b.first_queue) ? verdict::reachable
                                                                             : verdict::isolated;
        for (site& s : sites_)
            if (const verdict v = now[s.entry->id]; std::exchange(s.said, v) != v)
                watcher_.judged(now_ns_ / ns_per_ms, s.is.name, v);
    }

    /// A fault strategy that waits for a time may as well wait for an attempt to begin or to end (a trial, say).
    void load_changed() noexcept
    {
        if (snapshot_ != nullptr && snapshot_->masks.valid_until_ns != INT64_MAX)
            judge_again_ = true;
    }

    void attempt(std::uint32_t slot)
    {
        const std::int64_t share_ns = sends_[slot].machine.share_at(now_ns_);
        if (share_ns == 0)
            return end_without_attempt(slot, strategy::why::expired);
        const place p = find_place(sends_[slot]);
        if (p.index == SHUNT_NONE) {
            if (p.instead == when_no_queue::wait)
                return wait_for_queue(slot);
            return end_without_attempt(slot, strategy::why::no_queue);
        }

        send_state& s = sends_[slot];
        site& at = sites_[route_->brokers[route_->queues[p.index].broker].id];
        s.machine.begin(at.entry->id);
        ++s.stamp;
        s.has_deadline_event = false;
        s.at = stage::flying;
        s.broker = at.entry->id;
        s.queue = route_->queues[p.index].queue_id;
        s.start_ns = now_ns_;
        s.share_ns = share_ns;
        s.under = &in_force();
        s.route_gen = route_gen_;
        at.entry->add_inflight();
        load_changed();

        send::attempt_result will;
        const std::int64_t took_ns = fate(at, share_ns, will);
        s.means = send::classify(will, send::rules::contract);
        s.code = will.how == send::ending::answered ? will.code : -1;
        push(now_ns_ + took_ns, event_class::end, s.number, slot, s.stamp);

        count(at, s);
        line l = line_of(s);
        l.attempt = s.machine.attempts();
        l.broker = at.is.name;
        l.queue = s.queue;
        l.outcome = s.means.outcome;
        if (will.how == send::ending::answered)
            l.code = will.code;
        l.latency_ms = took_ns / ns_per_ms;
        l.why = p.why;
        watcher_.decided(l);
    }

    /// How an attempt that starts now will end, and after how long.
    [[nodiscard]] static std::int64_t fate(const site& at, std::int64_t share_ns, send::attempt_result& will) noexcept
    {
        if (at.how == behaviour::refuse) {
            will.how = send::ending::refused;
            return 0;
        }
        const std::int64_t latency_ns = at.latency_ms * ns_per_ms;
        if (at.how == behaviour::hang || latency_ns > share_ns) {
            will.how = send::ending::expired;
            return share_ns;
        }
        will.how = at.how == behaviour::drop ? send::ending::dropped : send::ending::answered;
        will.code = at.code;
        return latency_ns;
    }

    void end_attempt(std::uint32_t slot)
    {
        send_state& s = sends_[slot];
        site& at = sites_[s.broker];
        at.entry->sub_inflight();
        if (s.means.outcome == outcome::stored)
            book_.measured(*at.entry, now_ns_ - s.start_ns, now_ns_);
        load_changed();
        if (s.means.feedback)
            feed_back(s, at, *s.means.feedback);
        if (s.machine.ended(s.means, now_ns_))
            make_ready(slot);
        else
            finish(slot);
    }

    void feed_back(const send_state& s, site& at, std::int32_t result)
    {
        if (result != SHUNT_FB_GOOD)
            penalize(at);
        if (!at.in_route)
            return;
        shunt_feedback f = feedback_about(at, SHUNT_FB_SEND);
        f.result = result;
        f.queue_id = s.queue;
        f.attempt = s.machine.attempts();
        f.broker_code = s.code;
        f.start_ns = s.start_ns;
        f.latency_ns = now_ns_ - s.start_ns;
        f.share_ns = s.share_ns;
        f.generation = s.under->generation;
        f.route_gen = s.route_gen;
        if (s.under->pol->verdicts().feed({&f, 1}) && s.under == &in_force())
            judge_again_ = true;
    }

    [[nodiscard]] shunt_feedback feedback_about(const site& s, std::int32_t kind) const noexcept
    {
        shunt_feedback f{};
        f.struct_size = sizeof f;
        f.kind = kind;
        f.broker_id = s.entry->id;
        f.broker_code = -1;
        f.at_ns = f.start_ns = now_ns_;
        f.generation = epochs_.back()->generation;
        f.route_gen = route_gen_;
        return f;
    }

    void probe(site& s)
    {
        shunt_feedback f = feedback_about(s, SHUNT_FB_PROBE);
        f.result = s.how == behaviour::refuse ? SHUNT_FB_UNREACHABLE : SHUNT_FB_GOOD;
        if (in_force().pol->verdicts().feed({&f, 1}))
            judge_again_ = true;
    }

    void penalize(site& s)
    {
        if (s.penalties >= send::max_penalties)
            return;
        ++s.penalties;
        s.entry->add_inflight();
        penalties_.emplace_back(now_ns_ + send::penalty_ns, s.entry->id);
    }

    void drop_penalties()
    {
        while (!penalties_.empty() && penalties_.front().first <= now_ns_) {
            site& s = sites_[penalties_.front().second];
            --s.penalties;
            s.entry->sub_inflight();
            penalties_.pop_front();
            load_changed();
        }
    }

    // ---- ends ----

    void wait_for_queue(std::uint32_t slot)
    {
        send_state& s = sends_[slot];
        s.at = stage::no_queue;
        s.waiting_at = static_cast<std::uint32_t>(waiting_.size());
        waiting_.push_back(slot);
        watch_deadline(slot);
    }

    /// The deadline of a send that waits.
    void expire(std::uint32_t slot)
    {
        send_state& s = sends_[slot];
        if (s.at == stage::no_queue) {
            sends_[waiting_.back()].waiting_at = s.waiting_at;
            waiting_[s.waiting_at] = waiting_.back();
            waiting_.pop_back();
        } else if (s.at == stage::in_lane) {
            (void)lanes_.remove(s_.topic, *s.key, slot);
            s.has_lane = false;  // it never was its head
        }
        end_without_attempt(slot, strategy::why::expired);
    }

    void end_without_attempt(std::uint32_t slot, strategy::why why)
    {
        line l = line_of(sends_[slot]);
        l.attempt = sends_[slot].machine.next_attempt();
        l.why = why;
        watcher_.decided(l);
        finish(slot);
    }

    [[nodiscard]] line line_of(const send_state& s)
    {
        line l;
        l.t_ms = now_ns_ / ns_per_ms;
        l.send = s.number;
        l.thread = s.thread;
        if (s.key)
            l.key = *s.key;
        l.generation = in_force().generation;
        return l;
    }

    void finish(std::uint32_t slot)
    {
        send_state& s = sends_[slot];
        const outcome verdict = s.machine.verdict();
        if (s.has_lane)
            if (const auto next = lanes_.leave(s_.topic, *s.key, verdict == outcome::unknown))
                make_ready(*next);
        switch (verdict) {
        case outcome::stored: ++total_.stored; break;
        case outcome::not_sent: ++total_.not_sent; break;
        case outcome::unknown: ++total_.unknown; break;
        case outcome::rejected: ++total_.rejected; break;
        }
        latencies_.add((now_ns_ - s.machine.start_ns()) / ns_per_ms);
        total_.end_ms = now_ns_ / ns_per_ms;
        send_end end;
        end.send = s.number;
        end.start_ms = s.machine.start_ns() / ns_per_ms;
        end.end_ms = total_.end_ms;
        end.outcome = verdict;
        if (s.key)
            end.key = *s.key;
        if (s.broker != nobody)
            end.broker = sites_[s.broker].is.name;
        end.queue = s.queue;
        watcher_.ended(end);

        const std::uint32_t step = s.step;
        const std::uint32_t stamp = s.stamp + 1;
        s = {};
        s.stamp = stamp;
        free_.push_back(slot);
        if (const auto& what = std::get<send_step>(s_.steps[step].what); !what.every_ms) {
            feeds_[step].allowed = std::min(what.count, feeds_[step].allowed + 1);
            next_send(step);
        }
    }

    // ---- counts ----

    void count(site& at, const send_state& s)
    {
        const bool stored = s.means.outcome == outcome::stored;
        ++total_.attempts;
        ++at.attempts;
        at.stored += stored ? 1 : 0;
        if (at.queues.size() <= s.queue)
            at.queues.resize(s.queue + 1);
        ++at.queues[s.queue].first;
        at.queues[s.queue].second += stored ? 1 : 0;
    }

    [[nodiscard]] summary sum_up()
    {
        summary out = total_;
        out.sends = n_sends_;
        for (const site& s : sites_) {
            if (s.attempts == 0)
                continue;
            out.brokers.push_back({s.is.name, s.attempts, s.stored});
            for (std::size_t q = 0; q < s.queues.size(); ++q)
                if (s.queues[q].first != 0)
                    out.queues.push_back({s.is.name, static_cast<std::uint32_t>(q), s.queues[q].first, s.queues[q].second});
        }
        out.latency_ms = latencies_.result();
        out.generation = epochs_.size();
        return out;
    }

    const scenario& s_;
    plugin::registry& registry_;
    observer& watcher_;
    std::uint64_t random_;

    std::int64_t now_ns_ = 0;
    std::priority_queue<event, std::vector<event>, std::greater<>> events_;
    std::vector<feed> feeds_;  ///< by step

    std::vector<site> sites_;  ///< by name
    strategy::broker_book book_;
    std::shared_ptr<const strategy::route_view> route_;
    std::uint64_t route_gen_ = 0, verdict_gen_ = 0;
    std::deque<std::pair<std::int64_t, std::uint32_t>> penalties_;  ///< until when, broker

    std::vector<std::unique_ptr<epoch>> epochs_;  ///< the last one is in force
    std::string policy_in_force_;
    std::unique_ptr<strategy::snapshot> snapshot_;  ///< null: of another route or policy
    strategy::verdict_masks judged_before_;
    bool judge_again_ = false;

    std::vector<send_state> sends_;        ///< slots
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> waiting_;   ///< for a queue
    send::lanes<std::uint32_t> lanes_;
    std::uint64_t n_sends_ = 0;

    summary total_;
    latency_counts latencies_;
};

}  // namespace

run_result run(const scenario& s, plugin::registry& registry, observer& watcher) { return runner(s, registry, watcher).run(); }

}  // namespace shunt::simulate
