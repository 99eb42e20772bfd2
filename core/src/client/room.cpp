// Room for what is in flight: the limits of single topics, those that wait, and room that is taken ahead of a send.

#include <client/core.hpp>

#include <config/names.hpp>
#include <wire/resource_name.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace shunt::client {

namespace {

constexpr std::size_t no_limit = SIZE_MAX;

/// The limits of a topic; null: it has none of its own.
const limit_options* limit_of(const producer_options& o, std::string_view topic)
{
    std::string own;  // limits name topics without their namespace
    if (!o.namespace_v1.empty())
        topic = own = wire::without_namespace(o.namespace_v1, topic);
    for (const limit_options& l : o.limits) {
        if (config::matches_pattern(topic, l.topic))
            return &l;
    }
    return nullptr;
}

std::size_t or_none(std::size_t limit) { return limit != 0 ? limit : no_limit; }

std::string shown_limit(std::size_t limit) { return limit != 0 ? std::to_string(limit) : "no limit"; }

/// "max_in_flight_messages (10) or max_in_flight_bytes (no limit)".
std::string shown_limits(std::size_t messages, std::size_t bytes)
{
    return "max_in_flight_messages (" + shown_limit(messages) + ") or max_in_flight_bytes (" + shown_limit(bytes) + ")";
}

}  // namespace

held_room::~held_room()
{
    if (holds == send::holds::nothing)
        return;
    if (const auto c = owner.lock())
        c->give_back(*this);
}

/// Null: the topic has no limits of its own.
topic_room* core::room_of(const std::string& topic, thread_slot& slot)
{
    {
        const std::shared_lock lock(topic_rooms_lock_);
        if (const auto it = topic_rooms_.find(topic); it != topic_rooms_.end())
            return it->second.get();
    }
    const std::unique_lock lock(topic_rooms_lock_);
    const epoch_domain::reading mark(epochs_, slot.epoch);
    const limit_options* l = limit_of(in_force_.load(std::memory_order_seq_cst)->table->options, topic);
    if (l == nullptr)
        return nullptr;
    auto& made = topic_rooms_[topic];
    if (made == nullptr)
        made = std::make_unique<topic_room>(or_none(l->max_in_flight_messages), or_none(l->max_in_flight_bytes));
    return made.get();
}

/// The limits from now on. What is in flight stays so, though it may be more.
void core::limit_room(const producer_options& live)
{
    room_.all.limit(live.max_in_flight_messages, live.max_in_flight_bytes);
    const std::unique_lock lock(topic_rooms_lock_);
    for (const auto& [topic, r] : topic_rooms_) {
        const limit_options* l = limit_of(live, topic);
        r->counts.limit(l != nullptr ? or_none(l->max_in_flight_messages) : no_limit, l != nullptr ? or_none(l->max_in_flight_bytes) : no_limit);
    }
    room_.limit_topics(!live.limits.empty() || !topic_rooms_.empty());
}

/// The way of all where topics have limits of their own.
bool core::take_room(operation& op, thread_slot& slot)
{
    return room_.topics_are_limited() && room_.take_where_limited(op, room_of(op.msg.topic(), slot));
}

bool core::refuse_when_full(operation& op, thread_slot& slot)
{
    topic_room* const of = room_.topics_are_limited() ? room_of(op.msg.topic(), slot) : nullptr;
    const epoch_domain::reading mark(epochs_, slot.epoch);
    const producer_options& live = in_force_.load(std::memory_order_seq_cst)->table->options;
    const limit_options* l = of != nullptr ? limit_of(live, op.msg.topic()) : nullptr;
    const std::string of_topic = l != nullptr ? " of topics '" + l->topic + "'" : std::string{};
    if (of != nullptr && !of->counts.fits_ever(op.cost)) {
        refuse(op, errc::larger_than_limit, "the message needs " + std::to_string(op.cost) + " bytes; max_in_flight_bytes" + of_topic + " is " +
                                                (l != nullptr ? std::to_string(l->max_in_flight_bytes) : "less"));
        return true;
    }
    if (live.when_full != when_full::refuse)
        return false;
    std::string text = shown_limits(live.max_in_flight_messages, live.max_in_flight_bytes);
    if (l != nullptr)
        text += ", or " + shown_limits(l->max_in_flight_messages, l->max_in_flight_bytes) + of_topic + ",";
    refuse(op, errc::full, text + " is met");
    return true;
}

// ---- waiting ----

void core::wait_for_room(operation& op)
{
    if (close_deadline_ns_ != 0 && op.extra != nullptr && op.extra->room != nullptr) {
        room_.withdraw();
        finish(op, errc::closed, "the producer is closing");
        return;
    }
    links_->set_timer(op.timer, op.machine.deadline_ns());
    room_.enter(op, room_.topics_are_limited() ? room_of(op.msg.topic(), *io_slot_) : nullptr);
    admit_waiting();
}

void core::admit_waiting()
{
    room_.admit([this](operation& op) {
        if (op.extra != nullptr && op.extra->room != nullptr) {
            held_room& held = *op.extra->room;
            held.holds = std::exchange(op.holds, send::holds::nothing);
            held.topic_room = op.topic_room;
            held.cost = op.cost;
            held.waiting = nullptr;
            complete(op);
            return;
        }
        op.stage = stage::lane;
        resume(op);
    });
}

/// Room became free away from the I/O side.
void core::wake_those_who_wait()
{
    if (room_.anybody_waits())
        wake_io_side();
}

// ---- room ahead of a send ----

void core::start_room(std::string&& topic, std::size_t body, std::chrono::milliseconds timeout, const std::shared_ptr<held_room>& held,
                      detail::completion&& done)
{
    thread_slot& slot = slots_->mine();
    operation& op = *new_operation(slot);
    op.done = std::move(done);
    op.extra = std::make_unique<special>();
    op.extra->own = true;
    op.extra->room = held;
    if (!open(op))
        return;
    send::limits lim;
    lim.timeout_ns = bounded_ns(timeout.count() > 0 ? timeout : live_timeout());
    op.machine = send::machine(lim, net::monotonic_ns());
    op.msg.set_topic(options_.namespace_v1.empty() ? std::move(topic) : wire_topic(topic));
    op.cost = cost_of(body);
    const topic_room* const of = room_.topics_are_limited() ? room_of(op.msg.topic(), slot) : nullptr;
    if (auto bad = check_topic(op.msg.topic())) {
        refuse(op, bad->why, std::move(bad->text));
        hand_over(op, want::finish, false);
    } else if (!room_.all.fits_ever(op.cost) || (of != nullptr && !of->counts.fits_ever(op.cost))) {
        refuse(op, errc::larger_than_limit, "a message of " + std::to_string(body) + " bytes needs " + std::to_string(op.cost) +
                                                ", which is more than may be in flight of topic '" + op.msg.topic() + "'");
        hand_over(op, want::finish, false);
    } else {
        held->waiting = &op;
        hand_over(op, want::room, false);
    }
}

void core::cancel_room(const std::shared_ptr<held_room>& held)
{
    const auto c = held->owner.lock();
    if (c == nullptr)
        return;
    boost::asio::post(c->executor_, [weak = held->owner, held] {
        const auto self = weak.lock();
        if (self == nullptr || self->closed_io_)
            return;
        self->links_->refresh();
        self->on_turn();  // it may be on its way here
        if (operation* op = held->waiting) {
            held->waiting = nullptr;
            self->room_.leave(*op);
            op->result.error = boost::asio::error::operation_aborted;
            self->complete(*op);
        }
        self->on_turn();
        self->links_->flush_all();
    });
}

void core::start_in_room(std::shared_ptr<held_room>&& held, message&& m, send_options&& options, detail::completion&& done)
{
    count_.sends.fetch_add(1, std::memory_order_relaxed);
    thread_slot& slot = slots_->mine();
    operation& op = *new_operation(slot);
    op.done = std::move(done);
    if (!open(op))
        return;
    if (!prepare(op, slot, false, std::move(m), std::move(options))) {
        hand_over(op, want::finish, false);
        return;
    }
    topic_room* const of = room_.topics_are_limited() ? room_of(op.msg.topic(), slot) : nullptr;
    if (held != nullptr && held->holds != send::holds::nothing && held->cost >= op.cost && held->owner.lock().get() == this &&
        (of == nullptr || (held->holds == send::holds::of_both && held->topic_room == of))) {
        op.holds = std::exchange(held->holds, send::holds::nothing);
        op.topic_room = held->topic_room;
        op.cost = held->cost;
        op.stage = stage::lane;
    }
    held.reset();  // what does not fit goes back before the send looks for its own
    drive(op, slot, false);
}

void core::give_back(held_room& held) noexcept
{
    room_.give_back(held);
    wake_those_who_wait();
}

/// New sends are refused from now on: nobody needs room for one.
void core::end_waits_for_room()
{
    std::vector<operation*> ended;
    for (operation* op = live_; op != nullptr; op = op->live_next) {
        if (op->wanted == want::room && op->extra != nullptr && op->extra->room != nullptr)
            ended.push_back(op);
    }
    for (operation* op : ended)
        finish(*op, errc::closed, "the producer is closing");
}

}  // namespace shunt::client
