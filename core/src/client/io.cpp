// The I/O side: carries out what sends want, hears how it went, completes them.

#include <client/core.hpp>

#include <client/statistics.hpp>
#include <wire/send.hpp>
#include <wire/text.hpp>

#include <boost/asio/post.hpp>

#include <utility>
#include <vector>

namespace shunt::client {

namespace {

// What a receipt keeps of a broker's remark.
constexpr std::size_t max_text = 512;

// A topic that was quiet for so long may not be polled any more: it is told that it is in use again.
constexpr std::int64_t idle_before_poll_ns = 60'000'000'000;

errc errc_of(const send::attempt_result& r, errc refused) noexcept
{
    switch (r.how) {
    case send::ending::answered: return errc::broker_error;
    case send::ending::refused: return refused;
    case send::ending::unconnected: return errc::connect_timeout;
    case send::ending::dropped: return errc::connection_lost;
    case send::ending::expired: return errc::response_timeout;
    case send::ending::garbled: return errc::bad_response;
    case send::ending::written:
    case send::ending::cancelled: return errc::cancelled;
    }
    return errc::cancelled;
}

/// The messages of its lane that travel with it, behind it.
std::vector<operation*> riding_behind(const operation& op, const send::lanes<operation*>& lanes)
{
    std::vector<operation*> found;
    bool behind = !op.follows;
    lanes.each_waiting(op.msg.topic(), op.key, [&](operation* next) {
        if (behind && next->follows && next->ride == op.ride && next->gathered == op.gathered)
            found.push_back(next);
        behind = behind || next == &op;
        return true;
    });
    return found;
}

}  // namespace

// ---- the operation as a request ----

void operation::encode(wire::buffer& out, std::int32_t opaque)
{
    wire::send_head h;
    h.group = owner->group_;
    h.topic = msg.topic();
    h.default_topic = owner->options_.default_topic;
    h.default_topic_queues = static_cast<std::int32_t>(owner->options_.default_topic_queues);
    h.queue_id = queue;
    h.born_ms = owner->links_->wall_ms();
    h.flag = msg.flag();
    h.properties = properties.view();
    h.broker = broker->name;
    h.unit_mode = owner->options_.unit_mode;
    h.extra = owner->extra_fields_;
    std::int32_t code = wire::code::send_message_v2;
    if (extra != nullptr) [[unlikely]] {
        code = extra->code;
        h.sys_flag = extra->sys_flag;
        h.batch = extra->batch != nullptr;
    }
    wire::encode_send_head(out, owner->format_, code, opaque, oneway, h, tail().size());
}

void operation::finished(const net::reply& r) { owner->attempt_over(*this, r); }

void operation::unpinned() noexcept
{
    if (told)
        owner->recycle(*this);
}

// ---- the inbox ----

void core::run_inbox()
{
    wake_posted_.exchange(false, std::memory_order_seq_cst);  // what came before is seen below; what comes from here on posts anew
    links_->refresh();
    on_turn();
    links_->flush_all();
}

void core::on_turn()
{
    if (in_turn_)
        return;
    in_turn_ = true;
    // What came in is taken as it came: the list is last-in first-out, so it is turned round.
    for (operation* taken = inbox_.exchange(nullptr, std::memory_order_seq_cst); taken != nullptr;
         taken = inbox_.exchange(nullptr, std::memory_order_seq_cst)) {
        operation* in_order = nullptr;
        while (taken != nullptr) {
            operation* next = taken->next;
            taken->next = in_order;
            in_order = taken;
            taken = next;
        }
        while (in_order != nullptr) {
            operation& op = *std::exchange(in_order, in_order->next);
            op.next = nullptr;
            service(op);
        }
    }
    do {
        while (operation* op = ready_.front()) {
            ready_.remove(*op);
            resume(*op);
        }
        admit_waiting();  // here, and not where a send ends: a long row of them would grow the stack
        if (gatherer_ != nullptr)
            gatherer_->turn_ends();
    } while (ready_.front() != nullptr);
    feed();
    flush_callbacks();
    in_turn_ = false;
    maybe_closed();
}

void core::wait_in(op_list& list, operation& op)
{
    list.push_back(op);
    links_->set_timer(op.timer, op.machine.deadline_ns());
}

void core::service(operation& op)
{
    if (op.wanted == want::release) {
        release(op);
        return;
    }
    if (!op.live) {
        op.live = true;
        op.timer.expired = [](net::timer_hook& hook) {
            operation& o = *static_cast<operation::hook&>(hook).owner;
            o.owner->timer_expired(o);
        };
        op.live_prev = nullptr;
        op.live_next = live_;
        if (live_ != nullptr)
            live_->live_prev = &op;
        live_ = &op;
    }
    const bool too_late = given_up(op);
    if ((cancelling_ || too_late) && op.wanted != want::finish) {
        if (op.wanted == want::transmit)
            op.broker->sub_inflight();
        if (op.wanted == want::room) {
            room_.withdraw();
            op.wanted = want::finish;
        }
        finish(op, errc::cancelled, too_late ? "its caller had given up waiting" : "the producer closed before the send had ended");
        return;
    }
    switch (op.wanted) {
    case want::room: wait_for_room(op); return;
    case want::route: {
        topic_state& t = topics_[op.msg.topic()];
        wait_in(t.waiting, op);
        if (t.route == nullptr && t.waiting.size() == 1) {
            std::string asked;
            for (const std::string& a : servers_->addresses())
                asked += (asked.empty() ? "" : ", ") + a;
            note_route_error(asked.empty() ? "no name server is known yet" : "no name server has answered yet: " + asked);
        }
        ask_route(op.msg.topic(), false, op.machine.deadline_ns());
        return;
    }
    case want::refresh: {
        topic_state& t = topics_[op.msg.topic()];
        wait_in(t.waiting, op);
        ask_route(op.msg.topic(), true, op.machine.deadline_ns());
        return;
    }
    case want::lane:
        op.laned = true;
        if (lanes_.enter(op.msg.topic(), op.key, &op)) {
            count_.lanes.store(lanes_.size(), std::memory_order_relaxed);
            pin(op);
            resume(op);
        } else {
            links_->set_timer(op.timer, op.machine.deadline_ns());
        }
        return;
    case want::transmit: transmit(op); return;
    case want::pause: links_->set_timer(op.timer, std::min(op.wake_at_ns, op.machine.deadline_ns())); return;
    case want::queue:
        wait_in(queue_waiting_, op);
        if (!queue_timer_.armed())
            links_->set_timer(queue_timer_, links_->now_ns() + ask_for_queues_ns);
        ask_route(op.msg.topic(), true, op.machine.deadline_ns());
        return;
    case want::finish: complete(op); return;
    case want::release: return;
    }
}

void core::resume(operation& op)
{
    links_->clear_timer(op.timer);
    if (op.list != nullptr)
        op.list->remove(op);
    if (op.caller != nullptr) {
        forget_live(op);  // close() must leave it alone while its thread decides
        thread_slot& caller = *op.caller;
        if (claim(op))
            caller.wake.release();
        else
            finish(op, errc::cancelled, "its caller had given up waiting");
        return;
    }
    drive(op, *io_slot_, true);
}

/// True: the caller of a sync send still waits, and will wake up to what we do now.
bool core::claim(operation& op) noexcept
{
    std::uint64_t expected = thread_slot::state_of(op.handover, thread_slot::waiting);
    return op.caller->handover.compare_exchange_strong(expected, thread_slot::state_of(op.handover, thread_slot::woken),
                                                       std::memory_order_acq_rel);
}

bool core::given_up(const operation& op) const noexcept
{
    return op.caller != nullptr &&
           op.caller->handover.load(std::memory_order_acquire) != thread_slot::state_of(op.handover, thread_slot::waiting);
}

void core::forget_live(operation& op) noexcept
{
    if (!op.live)
        return;
    op.live = false;
    (op.live_prev != nullptr ? op.live_prev->live_next : live_) = op.live_next;
    if (op.live_next != nullptr)
        op.live_next->live_prev = op.live_prev;
    op.live_prev = op.live_next = nullptr;
}

void core::timer_expired(operation& op)
{
    switch (op.wanted) {
    case want::transmit: attempt_expired(op); return;
    case want::pause: resume(op); return;
    case want::lane:
        lanes_.remove(op.msg.topic(), op.key, &op);
        op.laned = op.follows = false;
        finish(op, errc::expired_waiting, "the deadline passed while waiting for the messages before it of key '" + op.key + "'");
        return;
    case want::route: {
        const std::string& why = servers_->addresses().empty() ? servers_->why_none() : op.result.reason;
        finish(op, routes_->why_failed(op.msg.topic()), "timed out while looking up the route of topic '" + op.msg.topic() + "'" + (why.empty() ? "" : ": " + why));
        return;
    }
    case want::room: finish(op, errc::expired_waiting, "the deadline passed while waiting for room in max_in_flight_*"); return;
    case want::queue: {
        const std::string text = op.result.reason;
        finish(op, errc::no_queue, text + "; none came by the deadline");
        return;
    }
    case want::refresh: finish(op, errc::expired_waiting, "the deadline passed while asking for a new route"); return;
    case want::finish:
    case want::release: return;
    }
}

// ---- attempts ----

void core::transmit(operation& op)
{
    count_.attempts.fetch_add(1, std::memory_order_relaxed);
    if (statistics_ != nullptr)
        count_decision(op);
    const std::int64_t idle = links_->now_ns() - op.where->used_ns;
    op.where->used_ns = links_->now_ns();
    if (idle > idle_before_poll_ns)
        routes_->used(op.where->topic);
    links_->set_timer(op.timer, op.attempt_start_ns + op.share_ns);
    const std::string& address = address_of_[op.broker->id];
    if (address.empty()) {
        net::reply r;
        r.how = send::ending::refused;
        r.text = "the broker left the route";
        attempt_over(op, r);
        return;
    }
    if (gatherer_ != nullptr && gatherer_->takes(op)) {
        gatherer_->add(op);
        return;
    }
    net::connection& to = options_.vip_channel ? links_->to(send_address(address)) : links_->to(address);
    to.submit(op);
}

/// Where sends and questions go to, of a broker at `address`.
std::string core::send_address(const std::string& address) const
{
    if (!options_.vip_channel)
        return address;
    const auto colon = address.rfind(':');
    std::int64_t port = 0;
    if (colon == std::string::npos || !wire::read_decimal(std::string_view(address).substr(colon + 1), port) || port <= 2)
        return address;
    return address.substr(0, colon + 1) + std::to_string(port - 2);
}

void core::attempt_expired(operation& op)
{
    net::reply r;
    r.how = send::ending::expired;
    const std::string& address = address_of_[op.broker->id];
    net::connection* c = op.under_way();
    if (op.ride != nullptr || op.gathered != nullptr) {
        const std::vector<operation*> behind = op.laned ? riding_behind(op, lanes_) : std::vector<operation*>();
        r.how = gatherer_->take_off(op);
        if (r.how == send::ending::unconnected) {
            // What left before it was written comes later: those behind it in its lane must not go ahead.
            for (auto it = behind.rbegin(); it != behind.rend(); ++it) {
                net::reply left;
                left.how = gatherer_->take_off(**it);
                left.text = "the message before it of its key had left";
                const seat not_the_first{1, {}};
                attempt_over(**it, left, &not_the_first);
            }
        }
    } else if (c != nullptr && c->withdraw(op))
        r.how = send::ending::unconnected;
    const std::string text = std::string(r.how == send::ending::expired ? "no answer from " : "no connection to ") + address + " in " +
                             std::to_string(op.share_ns / 1'000'000) + " ms";
    r.text = text;
    r.latency_ns = links_->now_ns() - op.attempt_start_ns;
    attempt_over(op, r);
}

void core::attempt_over(operation& op, const net::reply& r, const seat* at)
{
    links_->clear_timer(op.timer);
    send::attempt_result ended;
    ended.how = r.how;
    ended.text = r.text;
    wire::send_answer stored;
    if (r.how == send::ending::answered) {
        ended.code = r.answer->code;
        ended.text = r.answer->remark;
        if (send::is_stored(ended.code) && !wire::read_send_answer(*r.answer, stored)) {
            ended.how = send::ending::garbled;
            ended.text = "the answer says stored, but not where";
        } else if (at != nullptr) {
            stored.offset_msg_id = at->offset_id;
            stored.queue_offset += static_cast<std::int64_t>(at->nth);
        }
    }
    const producer_options& live = current_->options;
    const send::meaning m = send::classify(ended, send::rules::live, {live.retry_codes, live.retry_unknown, live.retry_flush_late});
    op.broker->sub_inflight();
    const std::int64_t now = links_->now_ns();
    const bool written = r.how == send::ending::written;

    receipt& rec = op.result;
    attempt& a = rec.attempts.emplace_back();
    a.broker = op.broker->name;
    a.queue = op.queue;
    a.outcome = m.outcome;
    a.code = ended.how == send::ending::answered ? ended.code : -1;
    if (m.outcome != outcome::stored && !written)
        a.text = ended.text.substr(0, max_text);
    a.latency = std::chrono::nanoseconds(r.latency_ns > 0 ? r.latency_ns : now - op.attempt_start_ns);
    a.why = strategy::to_string(op.why);
    if (m.outcome == outcome::stored || !op.machine.stored()) {  // else the receipt tells where it lies, as it did
        rec.broker = op.broker->name;
        rec.queue = op.queue;
        rec.generation = op.generation;
        rec.policy = op.policy;
    }
    if (m.outcome == outcome::stored) {
        rec.status = static_cast<store_status>(ended.code == 0 ? 0 : ended.code - 9);
        rec.queue = stored.queue_id;
        rec.offset = stored.queue_offset;
        if (op.extra != nullptr && op.extra->batch != nullptr) [[unlikely]]
            take_batch_ids(op, stored.offset_msg_id);
        else
            rec.offset_msg_id.assign(stored.offset_msg_id);
        if (!stored.recall_handle.empty()) [[unlikely]]
            rec.recall_handle = stored.recall_handle;
        rec.error = {};
        book_.measured(*op.broker, r.latency_ns, now);
    } else if (written) {
        rec.error = {};
    } else {
        const bool by_close = cancelling_ && ended.how != send::ending::answered;
        const errc why = by_close ? errc::cancelled : errc_of(ended, r.why);
        rec.error = make_send_error(why, m.outcome);
        if (m.outcome == outcome::unknown)
            op.doubt = rec.error;
        else if (m.outcome == outcome::rejected)
            op.rejection = rec.error;
    }

    if (op.watch != nullptr) [[unlikely]]
        observe_attempt(op, address_of_[op.broker->id], r.how == send::ending::answered ? r.answer : nullptr);
    if (recorder_ != nullptr)
        record_attempt(op, ended, a.latency.count());
    if (statistics_ != nullptr)
        count_attempt(op, a, ended.how);
    if (policy_table* table = table_with(op.table); table != nullptr && !written)
        table->measured.add(now, m.outcome, r.latency_ns, op.broker->id);
    if (m.feedback && (at == nullptr || at->nth == 0)) {  // of a batch once
        shunt_feedback& f = feedback_.emplace_back();
        f.struct_size = sizeof f;
        f.kind = SHUNT_FB_SEND;
        f.result = *m.feedback;
        f.broker_id = op.broker->id;
        f.queue_id = static_cast<std::uint32_t>(op.queue);
        f.attempt = op.machine.attempts();
        f.broker_code = a.code;
        f.at_ns = now;
        f.start_ns = op.attempt_start_ns;
        f.latency_ns = r.latency_ns;
        f.share_ns = op.share_ns;
        f.generation = op.generation;
        f.route_gen = op.route_gen;
        if (*m.feedback != SHUNT_FB_GOOD) {
            penalize(*op.broker);
            feed();  // before the retry is decided
        }
    }
    if (m.put_aside)
        put_aside(op.msg.topic(), op.broker->name);
    const bool again = op.machine.ended(m, now) && !cancelling_;
    if (m.refresh_route && !(again && m.await_refresh))
        routes_->refresh(op.msg.topic(), now + 3'000'000'000, {});
    if (!again) {
        complete(op);
        return;
    }
    if (op.follows) {  // it goes on when the messages before it have ended, or along with them
        op.wanted = want::lane;
        op.stage = stage::decide;
        links_->set_timer(op.timer, op.machine.deadline_ns());
        return;
    }
    if (m.await_refresh) {
        op.stage = stage::decide;
        op.repeat_queue = false;
        op.wanted = want::refresh;
        service(op);
        return;
    }
    resume(op);
}

// ---- the end ----

void core::finish(operation& op, errc why, std::string text)
{
    if (op.wanted == want::room && op.list != nullptr)
        room_.leave(op);
    if (op.extra != nullptr && op.extra->room != nullptr)
        op.extra->room->waiting = nullptr;
    if (!op.result.attempts.empty()) {
        // The attempts' own outcome and error stand; why there was no further one is the reason.
        op.result.reason = std::move(text);
        if (why == errc::cancelled && op.result.error.failed())
            op.result.error = make_send_error(errc::cancelled, op.machine.verdict());
    } else {
        refuse(op, why, std::move(text));
    }
    complete(op);
}

void core::complete(operation& op)
{
    links_->clear_timer(op.timer);
    if (op.list != nullptr)
        op.list->remove(op);
    receipt& r = op.result;
    r.outcome = r.attempts.empty() ? outcome::not_sent : op.machine.verdict();
    if (r.outcome == outcome::stored)
        r.error = {};
    else if (r.error.failed() && outcome_of(r.error) != r.outcome)
        r.error = r.outcome == outcome::unknown ? op.doubt : op.rejection;  // of the attempt that the outcome comes from
    r.latency = std::chrono::nanoseconds(std::max<std::int64_t>(0, links_->now_ns() - op.machine.start_ns()));
    auto& outcome_count = r.outcome == outcome::stored   ? count_.stored
                        : r.outcome == outcome::unknown  ? count_.unknown
                        : r.outcome == outcome::rejected ? count_.rejected
                                                         : count_.not_sent;
    const bool own = op.extra != nullptr && op.extra->own;
    if (!own)
        outcome_count.fetch_add(1, std::memory_order_relaxed);
    if (recorder_ != nullptr && !own)
        record_send(op);
    if (statistics_ != nullptr && !own)
        statistics_->counts.sends.add(r.latency.count());
    forget_live(op);
    unpin(op);
    if (op.follows) {
        lanes_.remove(op.msg.topic(), op.key, &op);
        op.follows = op.laned = false;
    } else if (op.laned) {
        r.after_unknown = lanes_.after_doubt(op.msg.topic(), op.key);
        leave_lane(op);
    }
    if (op.watch != nullptr) [[unlikely]]
        observe_after(op);
    tell(op);
}

/// The next of the lane goes on when this turn's work is done, so that a long lane does not grow the stack.
void core::leave_lane(operation& op)
{
    op.laned = false;
    const bool in_doubt = op.result.outcome == outcome::unknown;
    if (const auto next = lanes_.leave(op.msg.topic(), op.key, in_doubt)) {
        operation& head = **next;
        head.follows = false;
        if (head.goes_by == nullptr)  // else it came along with a head
            pin(head);
        if (head.ride == nullptr && head.gathered == nullptr) {  // else it is under way already
            links_->clear_timer(head.timer);
            ready_.push_back(head);
        }
    }
    count_.lanes.store(lanes_.size(), std::memory_order_relaxed);
}

void core::tell(operation& op)
{
    op.completed = true;
    open_.fetch_sub(1, std::memory_order_seq_cst);
    if (op.caller != nullptr) {
        room_.give_back(op);  // before anybody hears of the end: who then looks, or sends anew, finds it free
        if (claim(op)) {
            thread_slot& caller = *op.caller;
            caller.result = std::move(op.result);
            caller.over = true;
            caller.wake.release();
        }
    } else if (op.done.unbound()) {
        op.next = nullptr;
        (callback_last_ != nullptr ? callback_last_->next : callback_first_) = &op;
        callback_last_ = &op;
        return;  // the callback thread gives it back: see run_callback()
    } else {
        room_.give_back(op);
        const error_code ec = op.result.error;
        try {
            op.done(ec, std::move(op.result));
        } catch (const std::exception& e) {
            handler_threw(e.what());
        } catch (...) {
            handler_threw("something that is no std::exception");
        }
    }
    release(op);
}

/// Everything is told: what the operation held is free again.
void core::release(operation& op)
{
    op.told = true;
    if (!op.pinned())
        recycle(op);
}

/// On the callback thread. What waits for its handler is in flight until that is run, so that slow ones hold up the senders.
void core::run_callback(operation& op)
{
    room_.give_back(op);
    wake_those_who_wait();
    try {
        const error_code ec = op.result.error;
        op.done(ec, std::move(op.result));
    } catch (const std::exception& e) {
        handler_threw(e.what());
    } catch (...) {
        handler_threw("something that is no std::exception");
    }
    op.done.reset();
    run_own_leftovers();
    if (op.stage == stage::room) {  // it never got further: nothing of it is anywhere else
        recycle(op);
        return;
    }
    hand_over(op, want::release, false);
    if (io_over_.load(std::memory_order_seq_cst))
        release_what_is_left();
}

/// On the callback thread. A handler may be bound to our own executor, whose thread ends with close(): what is sent later
/// ends all the same, and its handler is then run here.
void core::run_own_leftovers()
{
    if (own_loop_ == nullptr || (!own_thread_over_ && !own_loop_->context.stopped()))
        return;
    if (!std::exchange(own_thread_over_, true)) {
        const std::lock_guard lock(join_lock_);
        if (own_thread_.joinable())
            own_thread_.join();
    }
    for (bool more = true; more;) {
        try {
            own_loop_->context.restart();
            more = own_loop_->context.poll() != 0;
        } catch (const std::exception& e) {
            handler_threw(e.what());
        } catch (...) {
            handler_threw("something that is no std::exception");
        }
    }
}

/// The I/O side has ended and does not look into its inbox any more. Operations stay until the core goes: a write that
/// was cut off may still know them.
void core::release_what_is_left()
{
    operation* taken = inbox_.exchange(nullptr, std::memory_order_seq_cst);
    while (taken != nullptr) {
        operation& op = *std::exchange(taken, taken->next);
        room_.give_back(op);
        operation* head = ended_.load(std::memory_order_relaxed);
        do {
            op.next = head;
        } while (!ended_.compare_exchange_weak(head, &op, std::memory_order_release, std::memory_order_relaxed));
    }
}

void core::handler_threw(const char* what) { threw("a completion handler", what); }

void core::threw(std::string_view who, std::string_view what)
{
    count_.callbacks_threw.fetch_add(1, std::memory_order_relaxed);
    note(observe::level::error, std::string(who) + " threw: " + std::string(what));
}

void core::flush_callbacks()
{
    if (callback_first_ == nullptr)
        return;
    operation* first = std::exchange(callback_first_, nullptr);
    operation* last = std::exchange(callback_last_, nullptr);
    callbacks_.push(shared_from_this(), *first, *last);
}

}  // namespace shunt::client
