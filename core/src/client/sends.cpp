// The sender's side: what a thread does with a message until it is handed over to the network.

#include <client/core.hpp>

#include <client/statistics.hpp>
#include <swap/plan.hpp>
#include <wire/compress.hpp>
#include <wire/properties.hpp>
#include <wire/resource_name.hpp>

#include <boost/asio/post.hpp>

#include <ctime>
#include <memory>
#include <utility>

namespace shunt::client {

namespace {

/// To a few milliseconds, for a few nanoseconds: ids differ by their counter anyway.
std::int64_t coarse_wall_ms() noexcept
{
    timespec t{};
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return static_cast<std::int64_t>(t.tv_sec) * 1000 + t.tv_nsec / 1'000'000;
}

/// As if made anew: cheaper than to assign a new one.
template <typename T>
void renew(T& value) noexcept
{
    std::destroy_at(&value);
    std::construct_at(&value);
}

void encode_delay(wire::buffer& out, const message& m)
{
    using std::chrono::milliseconds;
    if (m.delay_level() > 0)
        wire::put_property(out, "DELAY", std::to_string(m.delay_level()));
    else if (const auto delay = m.delay())
        wire::put_property(out, "TIMER_DELAY_MS", std::to_string(delay->count()));
    else if (const auto at = m.deliver_at())
        wire::put_property(out, "TIMER_DELIVER_MS",
                           std::to_string(std::chrono::duration_cast<milliseconds>(at->time_since_epoch()).count()));
}

constexpr std::int64_t grace_ns = 50'000'000;  // for the I/O side to tell a sync send of its end

}  // namespace

operation* core::new_operation(thread_slot& slot)
{
    if (slot.pool == nullptr)
        slot.pool = pool_.exchange(nullptr, std::memory_order_acquire);
    operation* op = slot.pool;
    if (op != nullptr)
        slot.pool = op->next;
    else
        op = new operation;
    op->owner = this;
    op->thread = slot.number;
    op->next = nullptr;
    return op;
}

void core::recycle(operation& op) noexcept
{
    renew(op.msg);
    renew(op.options);
    op.properties.clear();
    op.extra.reset();
    op.watch.reset();
    renew(op.result);
    op.doubt = op.rejection = {};
    op.done.reset();
    op.caller = nullptr;
    op.where = nullptr;
    op.goes_by = nullptr;
    op.policy = {};
    op.broker = nullptr;
    op.queue = -1;
    op.key.clear();
    op.has_key = op.follows = op.laned = op.ordered = op.completed = op.told = op.live = op.repeat_queue = op.oneway = false;
    op.holds = send::holds::nothing;
    op.stage = stage::room;
    operation* head = pool_.load(std::memory_order_relaxed);
    do {
        op.next = head;
    } while (!pool_.compare_exchange_weak(head, &op, std::memory_order_release, std::memory_order_relaxed));
}

/// After an attempt, its own outcome and error stand: why there is no further one is the reason.
void core::refuse(operation& op, errc why, std::string text)
{
    op.result.reason = std::move(text);
    if (!op.result.attempts.empty())
        return;
    op.result.outcome = outcome::not_sent;
    op.result.error = make_send_error(why, outcome::not_sent);
}

bool core::prepare(operation& op, thread_slot& slot, bool oneway, message&& m, send_options&& options)
{
    op.msg = std::move(m);
    op.options = std::move(options);
    op.oneway = oneway;
    if (!observers_.empty() && (op.extra == nullptr || !op.extra->own)) [[unlikely]] {
        op.watch = std::make_unique<watched>();
        if (op.extra == nullptr || op.extra->batch == nullptr)  // its messages were shown already
            observe_before(op.msg);
    }
    const epoch_domain::reading mark(epochs_, slot.epoch);
    const policy_table& table = *in_force_.load(std::memory_order_seq_cst)->table;
    const producer_options& live = table.options;
    send::limits lim;
    const auto timeout = op.options.timeout.count() > 0 ? op.options.timeout : live.send_timeout;
    lim.timeout_ns = bounded_ns(timeout);
    lim.attempts = std::min(op.options.attempts != 0 ? op.options.attempts : live.attempts, send::max_attempts);
    lim.attempt_ns = live.attempt_timeout.count() > 0 ? bounded_ns(live.attempt_timeout) : 0;
    lim.backoff_ns = bounded_ns(live.retry_backoff);
    lim.backoff_max_ns = bounded_ns(live.retry_backoff_max);
    op.machine = send::machine(lim, net::monotonic_ns());

    const bool reply = op.extra != nullptr && op.extra->code == wire::code::send_reply_message_v2;
    if (!options_.namespace_v1.empty() && !reply) [[unlikely]]
        op.msg.set_topic(wire_topic(op.msg.topic()));
    if (auto bad = check_message(op.msg, live.max_body)) {
        refuse(op, bad->why, std::move(bad->text));
        return false;
    }
    if (op.msg.is_delayed()) {
        if (auto bad = check_delay(op.msg, live.max_delay, coarse_wall_ms())) {
            refuse(op, bad->why, std::move(bad->text));
            return false;
        }
    }
    if (!op.options.policy.empty() && !table.policies.contains(op.options.policy)) {
        std::string known;
        for (const auto& [name, p] : table.policies)
            known += (known.empty() ? "" : ", ") + name;
        refuse(op, errc::unknown_policy, "policy '" + op.options.policy + "' is not there; there are " + known);
        return false;
    }
    op.cost = cost_of(op.msg.body().size());
    if (!room_.all.fits_ever(op.cost)) {
        refuse(op, errc::larger_than_limit, "the message needs " + std::to_string(op.cost) + " bytes; max_in_flight_bytes is " +
                                                std::to_string(live.max_in_flight_bytes));
        return false;
    }
    if (live.compress != compression::none && op.msg.body().size() >= live.compress_from)
        pack(op, live);
    return encode_properties(op, live);
}

/// Compresses the body, if it shrinks by that.
void core::pack(operation& op, const producer_options& live)
{
    if (op.extra != nullptr && op.extra->batch != nullptr)
        return;
    const auto by = live.compress == compression::lz4    ? wire::codec::lz4
                    : live.compress == compression::zstd ? wire::codec::zstd
                                                         : wire::codec::zlib;
    std::string packed;
    if (!wire::compress(by, live.compress_level, op.msg.body(), packed))
        return;
    if (op.extra == nullptr)
        op.extra = std::make_unique<special>();
    op.extra->packed = std::move(packed);
    op.extra->sys_flag |= wire::codec_flag(by);
}

std::string core::wire_topic(std::string_view topic) const { return wire::in_namespace(options_.namespace_v1, topic); }

/// What a call has altogether that names no timeout.
std::chrono::milliseconds core::live_timeout()
{
    const epoch_domain::reading mark(epochs_, slots_->mine().epoch);
    return in_force_.load(std::memory_order_seq_cst)->table->options.send_timeout;
}

bool core::encode_properties(operation& op, const producer_options& live)
{
    wire::buffer& out = op.properties;
    if (op.extra != nullptr && op.extra->batch != nullptr)
        // Ids, keys and tags of the batch itself would take the place of the messages' own.
        wire::put_property(out, "WAIT", op.msg.wait_store() ? "true" : "false");
    else
        op.result.msg_id = put_properties(out, op.msg, live.write_order_key);
    if (op.extra != nullptr)
        out.put(op.extra->properties);
    if (out.size() > live.max_properties) {
        refuse(op, errc::properties_too_large, "the properties have " + std::to_string(out.size()) + " bytes encoded; at most " +
                                                   std::to_string(live.max_properties) + " are allowed (max_properties)");
        return false;
    }
    return true;
}

/// Encodes all that a message carries. What came back: its id.
short_text<56> core::put_properties(wire::buffer& out, const message& m, bool write_order_key)
{
    std::array<char, wire::uniq_key_size_v6> id;
    const std::size_t id_size = wire::write_uniq_key(ids_, coarse_wall_ms() - month_start_ms_,
                                                     id_counter_.fetch_add(1, std::memory_order_relaxed), id);
    if (m.has_keys())
        wire::put_property(out, "KEYS", m.keys());
    if (!m.tag().empty())
        wire::put_property(out, "TAGS", m.tag());
    wire::put_property(out, "UNIQ_KEY", {id.data(), id_size});
    wire::put_property(out, "WAIT", m.wait_store() ? "true" : "false");
    if (m.is_delayed())
        encode_delay(out, m);
    if (m.priority())
        wire::put_property(out, "_SYS_MSG_PRIORITY_", std::to_string(*m.priority()));
    if (write_order_key && m.order_key() && !m.order_key()->empty())
        wire::put_property(out, "__SHARDINGKEY", *m.order_key());
    for (const auto& [name, value] : m.properties())
        wire::put_property(out, name, value);
    if (!options_.namespace_v1.empty())
        wire::put_property(out, "INSTANCE_ID", options_.namespace_v1);
    return short_text<56>({id.data(), id_size});
}

/// Counts an async send as open. False: the producer is closed, and its handler will be told.
bool core::open(operation& op)
{
    open_.fetch_add(1, std::memory_order_seq_cst);
    if (!closing_.load(std::memory_order_seq_cst))
        return true;
    // The I/O side may be gone. No handler runs inside this call: it is the callback thread that tells.
    open_.fetch_sub(1, std::memory_order_seq_cst);
    if (op.extra == nullptr || !op.extra->own)
        count_.not_sent.fetch_add(1, std::memory_order_relaxed);
    refuse(op, errc::closed, "the producer is closed");
    callbacks_.push(shared_from_this(), op, op);
    return false;
}

/// A send that is refused before it became one.
void core::start_refused(errc why, std::string text, detail::completion&& done)
{
    count_.sends.fetch_add(1, std::memory_order_relaxed);
    operation& op = *new_operation(slots_->mine());
    op.done = std::move(done);
    if (!open(op))
        return;
    refuse(op, why, std::move(text));
    hand_over(op, want::finish, false);
}

void core::start(bool oneway, message&& m, send_options&& options, detail::completion&& done, std::unique_ptr<special> extra)
{
    count_.sends.fetch_add(1, std::memory_order_relaxed);
    thread_slot& slot = slots_->mine();
    operation& op = *new_operation(slot);
    op.done = std::move(done);
    op.extra = std::move(extra);
    if (!open(op))
        return;
    if (!prepare(op, slot, oneway, std::move(m), std::move(options))) {
        hand_over(op, want::finish, false);
        return;
    }
    drive(op, slot, false);
}

receipt core::deliver(bool oneway, message&& m, send_options&& options, std::unique_ptr<special> extra)
{
    count_.sends.fetch_add(1, std::memory_order_relaxed);
    thread_slot& slot = slots_->mine();
    operation& op = *new_operation(slot);
    op.extra = std::move(extra);
    const auto refused_here = [&] {
        if (op.watch != nullptr)
            observe_after(op);
        receipt r = std::move(op.result);
        count_.not_sent.fetch_add(1, std::memory_order_relaxed);
        recycle(op);
        return r;
    };
    if (on_io_side_()) {
        refuse(op, errc::would_deadlock, "a sync send on the producer's own I/O thread would wait for itself; use async_send");
        return refused_here();
    }
    open_.fetch_add(1, std::memory_order_seq_cst);
    if (closing_.load(std::memory_order_seq_cst)) {
        refuse(op, errc::closed, "the producer is closed");
        open_.fetch_sub(1, std::memory_order_seq_cst);
        return refused_here();
    }
    if (!prepare(op, slot, oneway, std::move(m), std::move(options))) {
        open_.fetch_sub(1, std::memory_order_seq_cst);
        return refused_here();
    }
    op.caller = &slot;
    const auto id = op.result.msg_id;
    const auto give_up = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(op.machine.deadline_ns() + grace_ns));
    for (;;) {
        drive(op, slot, false);  // from its hand-over on `op` is the I/O side's, and may be gone
        if (!slot.wake.try_acquire_until(give_up)) {
            // Nobody runs the executor, or it is far behind.
            std::uint64_t expected = thread_slot::state_of(slot.handovers, thread_slot::waiting);
            if (slot.handover.compare_exchange_strong(expected, thread_slot::state_of(slot.handovers, thread_slot::gone),
                                                      std::memory_order_acq_rel)) {
                receipt r;
                r.msg_id = id;
                r.outcome = slot.if_given_up;
                r.error = make_send_error(r.outcome == outcome::unknown ? errc::response_timeout : errc::expired_waiting, r.outcome);
                r.reason = "the producer's executor did not get to the send in time";
                return r;
            }
            slot.wake.acquire();
        }
        if (std::exchange(slot.over, false))
            return std::move(slot.result);
    }
}

// ---- going on ----

void core::hand_over(operation& op, want w, bool io)
{
    op.wanted = w;
    if (w == want::room)
        room_.announce();
    if (io) {
        service(op);
        return;
    }
    if (op.caller != nullptr) {
        thread_slot& caller = *op.caller;
        caller.if_given_up = w == want::transmit ? outcome::unknown : op.machine.verdict();
        op.handover = ++caller.handovers;
        caller.handover.store(thread_slot::state_of(op.handover, thread_slot::waiting), std::memory_order_release);
    }
    operation* head = inbox_.load(std::memory_order_relaxed);
    do {
        op.next = head;
    } while (!inbox_.compare_exchange_weak(head, &op, std::memory_order_seq_cst, std::memory_order_relaxed));
    if (head == nullptr)
        wake_io_side();
}

/// It will look for what there is to do. However many ask for it, one post is under way.
void core::wake_io_side()
{
    if (wake_posted_.exchange(true, std::memory_order_seq_cst))
        return;
    // Not the owner of the core: what waits in an executor that nobody runs any more would own itself.
    const auto look = [weak = weak_from_this()] {
        if (const auto self = weak.lock())
            self->run_inbox();
    };
    if (own_loop_ != nullptr)
        own_loop_->post(look);
    else
        boost::asio::post(executor_, look);
}

thread_slot::cached* core::find_assignment(const policy_table& table, operation& op, thread_slot& slot)
{
    const std::string& topic = op.msg.topic();
    const bool named = !op.options.policy.empty();
    thread_slot::lookups& known = slot.lookups_for(table.id);
    if (!named && known.last != nullptr && known.last_name == topic)
        return known.last;
    std::string name;
    if (named) {
        name.reserve(topic.size() + 1 + op.options.policy.size());
        name.append(topic).push_back('\0');
        name.append(op.options.policy);
    }
    const std::string_view wanted = named ? std::string_view(name) : std::string_view(topic);
    auto it = known.by_name.find(wanted);
    if (it == known.by_name.end()) {
        target* where = nullptr;
        {
            const std::shared_lock lock(targets_lock_);
            if (const auto t = targets_.find(wanted); t != targets_.end())
                where = t->second.get();
        }
        assignment* const found = where == nullptr ? nullptr : table.find(*where);
        if (found == nullptr)
            return nullptr;
        it = known.by_name.emplace(std::string(wanted), thread_slot::cached{.by = found}).first;
    }
    if (!named) {
        known.last = &it->second;
        known.last_name = topic;
    }
    return &it->second;
}

/// What the policy takes as the key, and whether the message needs a lane.
void core::take_key(operation& op, const policy_options& p)
{
    switch (p.key_from.what) {
    case key_source::kind::order_key:
        op.has_key = op.msg.order_key().has_value();
        if (op.has_key)
            op.key.assign(*op.msg.order_key());
        break;
    case key_source::kind::keys:
        op.has_key = op.msg.has_keys();
        if (op.has_key)
            op.key.assign(op.msg.keys());
        break;
    case key_source::kind::property:
        for (const auto& [name, value] : op.msg.properties()) {
            if (name == p.key_from.property) {
                op.has_key = true;
                op.key.assign(value);
            }
        }
        break;
    }
    op.ordered = p.ordered && op.has_key;
}

void core::drive(operation& op, thread_slot& slot, bool io)
{
    for (;;) {
        switch (op.stage) {
        case stage::room:
            // Those that wait go first.
            if (room_.take(op) || take_room(op, slot)) {
                op.stage = stage::lane;
                break;
            }
            if (refuse_when_full(op, slot)) {
                hand_over(op, want::finish, io);
                return;
            }
            hand_over(op, want::room, io);
            return;

        case stage::lane:
        case stage::decide: {
            const std::int64_t now = io ? links_->now_ns() : net::monotonic_ns();
            const std::int64_t share = op.machine.share_at(now);
            if (share == 0) {
                refuse(op, errc::expired_waiting, "the deadline passed before an attempt could be made");
                hand_over(op, want::finish, io);
                return;
            }
            std::string text;
            const choice made = choose(op, slot, io, now, text);
            if (made == choice::in_its_lane) {
                hand_over(op, want::lane, io);
                return;
            }
            if (made == choice::elsewhere) {
                decide_elsewhere(op);
                return;
            }
            if (made == choice::taken_over) {
                recycle(op);
                return;
            }
            if (made != choice::picked) {
                no_queue(op, io, made, std::move(text));
                return;
            }
            if (const std::int64_t pause = op.machine.pause_before(op.broker->id, slot.random()); pause > 0) {
                op.broker->sub_inflight();
                op.wake_at_ns = now + pause;
                hand_over(op, want::pause, io);
                return;
            }
            op.machine.begin(op.broker->id);
            op.attempt_start_ns = now;
            op.share_ns = share;
            hand_over(op, want::transmit, io);
            return;
        }
        }
    }
}

/// Takes the table in force and its snapshot, asks, and leaves in `op` what was chosen, with no pointer into either.
core::choice core::choose(operation& op, thread_slot& slot, bool io, std::int64_t now, std::string& text)
{
    const epoch_domain::reading mark(epochs_, slot.epoch);
    const in_force& f = *in_force_.load(std::memory_order_seq_cst);
    const policy_table* table = f.table;
    std::uint64_t generation = f.generation;
    thread_slot::cached* c = nullptr;
    if (op.stage == stage::lane) {
        c = find_assignment(*table, op, slot);
        if (c == nullptr)
            return choice::no_route;
        take_key(op, c->by->pol->options());
        op.stage = stage::decide;
        if (op.ordered)
            return choice::in_its_lane;
    }
    if (op.goes_by != nullptr) {
        if (op.goes_by != table) {
            table = op.goes_by;
            generation = table == f.candidate ? f.canary_generation : table->generation.load(std::memory_order_relaxed);
        }
    } else if (f.canary_below != 0) [[unlikely]] {
        const std::uint64_t draw = op.has_key ? swap::place_of(swap::key_maps::hash(op.msg.topic(), op.key), f.salt) : slot.random();
        if (draw < f.canary_below) {
            table = f.candidate;
            generation = f.canary_generation;
        }
    }
    if (c == nullptr || table != f.table)
        c = find_assignment(*table, op, slot);
    if (c == nullptr)
        return choice::no_route;
    const strategy::snapshot* s = c->by->current.load(std::memory_order_seq_cst);
    if (s == nullptr)
        return choice::no_route;
    op.where = &c->by->where;
    op.policy = c->by->policy_name;
    op.if_no_queue = c->by->pol->options().when_no_queue;
    op.table = 0;
    op.generation = generation;
    op.route_gen = s->route->route_gen;
    const auto take = [&](std::uint32_t queue_index, strategy::why why) {
        const shunt_queue& q = s->route->queues[queue_index];
        op.broker = s->route->broker_of(queue_index);
        op.queue = static_cast<std::int32_t>(q.queue_id);
        op.why = why;
        op.broker->add_inflight();
        return choice::picked;
    };

    if (op.options.queue) {
        const auto found = s->route->find_queue(op.options.queue->first, op.options.queue->second);
        if (!found) {
            text = "queue " + op.options.queue->first + "/" + std::to_string(op.options.queue->second) + " of topic '" + op.msg.topic() +
                   "' is not there or not writable";
            return choice::bad_queue;
        }
        return take(*found, strategy::why::caller);
    }
    if (op.repeat_queue && op.broker != nullptr) {
        if (const auto found = s->route->find_queue(op.broker->name, op.queue))
            return take(*found, strategy::why::key);
        if (s->pol->options().when_no_queue != when_no_queue::any) {
            text = "queue " + std::string(op.broker->name) + "/" + std::to_string(op.queue) + ", which this key goes to, is not writable any more";
            return choice::no_queue;
        }
    }
    if (s->view.n_queues == 0) {
        text = "no queue of topic '" + op.msg.topic() + "' is writable";
        return choice::no_queue;
    }
    if (op.options.select) {
        std::vector<queue_ref> queues;
        queues.reserve(s->view.n_queues);
        for (std::uint32_t q = 0; q < s->view.n_queues; ++q)
            queues.emplace_back(s->route->broker_name(q), static_cast<std::int32_t>(s->view.queues[q].queue_id),
                                (s->view.available[q / 64] >> (q % 64) & 1) != 0);
        std::size_t picked = queues.size();
        try {
            picked = op.options.select(queues, op.msg, op.machine.next_attempt());
        } catch (const std::exception& e) {
            text = std::string("the selector function threw: ") + e.what();
            return choice::selector_threw;
        } catch (...) {
            text = "the selector function threw";
            return choice::selector_threw;
        }
        if (picked >= queues.size()) {
            text = "the selector function answered " + std::to_string(picked) + "; it must be below " + std::to_string(queues.size());
            return choice::selector_threw;
        }
        return take(static_cast<std::uint32_t>(picked), strategy::why::caller);
    }

    if (io && c->by->foreign && !c->by->pol->out_of_use.load(std::memory_order_relaxed))
        return choice::elsewhere;  // a call that hangs must not take the I/O side with it
    op.table = table->id;
    strategy::decision d;
    if (!c->by->foreign) [[likely]]
        d = ask(op, slot, *c, *s, now);
    else if (const auto answered = ask_watched(op, slot, *c, *s, now))
        d = *answered;
    else
        return choice::taken_over;
    if (!d.picked) {
        text = "the selector found no queue of topic '" + op.msg.topic() + "' for this message";
        return choice::no_queue;
    }
    op.repeat_queue = op.ordered;
    const choice made = take(d.queue, d.because);
    if (f.shadow_below != 0 && table == f.table && slot.random() < f.shadow_below) [[unlikely]]
        offer_to_shadow(op, *f.candidate->beside, slot.random(), now);
    return made;
}

/// What was just decided, for the candidate to decide as well.
void core::offer_to_shadow(const operation& op, shadow& beside, std::uint64_t random, std::int64_t now)
{
    shadow::decision d;
    d.where = op.where;
    d.key = op.key;
    d.has_key = op.has_key;
    d.ordered = op.ordered;
    d.attempt = op.machine.next_attempt();
    d.body_len = static_cast<std::uint32_t>(op.msg.body().size());
    d.random = random;
    d.now_ns = now;
    d.tried.assign(op.machine.tried().begin(), op.machine.tried().end());
    d.broker = op.broker->name;
    d.queue = op.queue;
    if (beside.wants_properties) {
        d.properties.set_tag(op.msg.tag());
        if (op.msg.has_keys())
            d.properties.add_key(op.msg.keys());
        for (const auto& [name, value] : op.msg.properties())
            d.properties.set_property(name, value);
    }
    beside.offer(std::move(d));
}

strategy::question core::question_of(const operation& op, thread_slot& slot, std::int64_t now)
{
    slot.decisions.store(slot.decisions.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    strategy::question q;
    q.has_key = op.has_key;
    q.key = op.key;
    q.ordered = op.ordered;
    q.attempt = op.machine.next_attempt();
    q.body_len = static_cast<std::uint32_t>(op.msg.body().size());
    q.random = slot.random();
    q.now_ns = now;
    q.tried = op.machine.tried();
    q.properties_of = &op.msg;
    return q;
}

strategy::decision core::ask(const operation& op, thread_slot& slot, thread_slot::cached& c, const strategy::snapshot& s, std::int64_t now)
{
    if (c.set == nullptr && !c.refused) [[unlikely]] {
        std::string error;
        c.set = c.by->set_of(slot, static_cast<std::uint32_t>(slot.random()) & 0x7fffffff, error);
        c.refused = c.set == nullptr;
        if (c.refused)
            log_.write(observe::level::error, "policy '" + s.pol->name() + "': " + error + "; best-queue's rule stands in");
    }
    if (c.set == nullptr) [[unlikely]]
        return ask_nobody(op, slot, c, s, now);
    const strategy::question q = question_of(op, slot, now);
    const bool timed = c.by->seen != nullptr && slot.decisions.load(std::memory_order_relaxed) % observe::policy_metrics::select_every == 0;
    const std::int64_t began = timed ? net::monotonic_ns() : 0;
    const strategy::decision d = strategy::decide(s, *c.set, q);
    if (timed) [[unlikely]]
        c.by->seen->select.add(net::monotonic_ns() - began);
    if (!d.picked && s.pol->options().when_no_queue == when_no_queue::any) [[unlikely]]
        return strategy::decide_fallback(s, *c.set, q);
    return d;
}

strategy::decision core::ask_nobody(const operation& op, thread_slot& slot, const thread_slot::cached& c, const strategy::snapshot& s,
                                    std::int64_t now)
{
    const strategy::question q = question_of(op, slot, now);
    if (c.set != nullptr)
        return strategy::decide_fallback(s, *c.set, q);
    s.pol->plugin_errors.fetch_add(1, std::memory_order_relaxed);
    strategy::selector_set stand_in;
    stand_in.fallback_cursor = static_cast<std::uint32_t>(slot.random()) & 0x7fffffff;
    return strategy::decide_fallback(s, stand_in, q);
}

std::optional<strategy::decision> core::ask_watched(operation& op, thread_slot& slot, thread_slot::cached& c, const strategy::snapshot& s,
                                                    std::int64_t now)
{
    if (s.pol->out_of_use.load(std::memory_order_relaxed))
        return ask_nobody(op, slot, c, s, now);  // it hung before
    const std::uint64_t call = (slot.call.load(std::memory_order_relaxed) / 4 + 1) * 4;
    slot.asked_for = &op;
    slot.asked_of = c.by;
    slot.call.store(call + thread_slot::asking, std::memory_order_release);
    const strategy::decision d = ask(op, slot, c, s, now);
    std::uint64_t expected = call + thread_slot::asking;
    if (slot.call.compare_exchange_strong(expected, call + thread_slot::idle, std::memory_order_acq_rel))
        return d;
    slot.call.store(call + thread_slot::idle, std::memory_order_release);
    return std::nullopt;
}

void core::no_queue(operation& op, bool io, choice why, std::string text)
{
    switch (why) {
    case choice::picked:
    case choice::in_its_lane:
    case choice::elsewhere:
    case choice::taken_over: return;
    case choice::no_route: hand_over(op, want::route, io); return;
    case choice::bad_queue: refuse(op, errc::queue_not_writable, std::move(text)); break;
    case choice::selector_threw: refuse(op, errc::selector_failed, std::move(text)); break;
    case choice::no_queue:
        if (op.if_no_queue == when_no_queue::wait) {
            op.result.reason = std::move(text);
            hand_over(op, want::queue, io);
            return;
        }
        refuse(op, errc::no_queue, std::move(text));
        break;
    }
    hand_over(op, want::finish, io);
}

}  // namespace shunt::client
