// One send, from the call to its completion: everything it needs, in memory that is used again.

#pragma once

#include <shunt/batch.hpp>
#include <shunt/detail/completion.hpp>
#include <shunt/message.hpp>
#include <shunt/producer.hpp>
#include <shunt/receipt.hpp>
#include <net/request.hpp>
#include <client/op_list.hpp>
#include <send/machine.hpp>
#include <send/room.hpp>
#include <strategy/decide.hpp>
#include <wire/buffer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace shunt::client {

class carrier;
class core;
struct gathering;
struct policy_table;
struct target;

/// What a send asks of the I/O side when its thread cannot go on by itself.
enum class want : std::uint8_t {
    room,      ///< in the limits of what may be in flight
    route,     ///< of its topic
    lane,      ///< to become the head of its lane
    transmit,  ///< the attempt that was decided
    pause,     ///< until `wake_at_ns`
    queue,     ///< to be woken when the route or the policy changes
    refresh,   ///< a new route, before the next attempt
    finish,    ///< to be completed: it is over
    release,   ///< to be forgotten: its handler has run
};

/// Where a send stands: what its thread does when it goes on.
enum class stage : std::uint8_t { room, lane, decide };

struct held_room;
struct thread_slot;

using topic_room = send::limited_topic<op_list>;

/// What a send is besides one plain message.
struct special {
    std::int32_t code = wire::code::send_message_v2;
    std::int32_t sys_flag = 0;
    std::string properties;                      ///< encoded, after those of the message
    std::string packed;                          ///< the body, compressed; empty: it goes as it is
    std::shared_ptr<detail::batch_parts> batch;  ///< the body is a batch
    std::shared_ptr<held_room> room;             ///< no send, but who waits for room for one
    bool own = false;                            ///< the producer's own: no observer and no counter of sends knows it
};

/// What observers will be told at the end of a send.
struct watched {
    std::string address, region;
    bool traces = true;  ///< what the broker says
};

/// A message's place in a batch that was answered as a whole.
struct seat {
    std::size_t nth = 0;
    std::string_view offset_id;  ///< stored only
};

class operation final : public net::request {
public:
    struct hook : net::timer_hook {
        operation* owner = nullptr;
    };

    operation() { timer.owner = this; }

    void encode(wire::buffer& out, std::int32_t opaque) override;
    [[nodiscard]] std::string_view tail() const noexcept override
    {
        return extra == nullptr || extra->packed.empty() ? std::string_view(msg.body()) : std::string_view(extra->packed);
    }
    void finished(const net::reply& r) override;
    void unpinned() noexcept override;

    core* owner = nullptr;
    message msg;
    send_options options;
    wire::buffer properties;  // encoded
    std::unique_ptr<special> extra;  // null: a plain message
    std::unique_ptr<watched> watch;  // null: no observer
    receipt result;
    detail::completion done;  // async only
    thread_slot* caller = nullptr;  // sync only: whom to wake
    std::uint32_t thread = 0;       // that sent it: its slot's number
    send::machine machine;

    error_code doubt, rejection;    // of the last attempt that ended unknown, rejected

    // The present attempt, as it was decided. No pointer into a plugin or a snapshot.
    target* where = nullptr;
    std::string_view policy;      // interned
    std::uint64_t table = 0;      // id of the policy table that decided; 0: the caller did
    shunt::when_no_queue if_no_queue = shunt::when_no_queue::wait;
    strategy::broker_entry* broker = nullptr;
    std::int32_t queue = -1;
    std::int64_t attempt_start_ns = 0, share_ns = 0;
    std::uint64_t generation = 0, route_gen = 0;
    strategy::why why = strategy::why::plugin;

    std::string key;              // what selectors and lanes take as the key
    carrier* ride = nullptr;      // auto-batching: what it travels with,
    gathering* gathered = nullptr;  // or where it waits for that
    bool follows = false;         // in a lane, under way with the head of it

    bool has_key = false;
    bool laned = false;           // in a lane: its head, or waiting
    bool ordered = false;
    policy_table* goes_by = nullptr;  // ordered: every attempt goes by it; the I/O side sees that it stays
    std::uint64_t map_key = 0;    // of the key, in key_maps
    send::holds holds = send::holds::nothing;  // of what may be in flight
    bool completed = false;       // over, its receipt is final
    bool told = false;            // nobody waits for it any more; a write may still read its body
    bool live = false;            // known to the I/O side
    bool repeat_queue = false;    // ordered: every later attempt goes where the first went
    std::size_t cost = 0;
    client::topic_room* topic_room = nullptr;  // where the topic has limits of its own
    std::int64_t wake_at_ns = 0;
    client::stage stage = client::stage::room;
    client::want wanted = client::want::route;

    std::uint64_t handover = 0;   // sync: the number of the last hand-over, see thread_slot

    hook timer;
    operation* next = nullptr;    // in the inbox, the pool, the callback queue
    operation* live_prev = nullptr;
    operation* live_next = nullptr;
    op_list* list = nullptr;      // what it waits in
    operation* list_prev = nullptr;
    operation* list_next = nullptr;
};

void op_list::push_back(operation& op) noexcept
{
    op.list = this;
    op.list_next = nullptr;
    op.list_prev = last_;
    (last_ != nullptr ? last_->list_next : first_) = &op;
    last_ = &op;
    ++size_;
}

void op_list::remove(operation& op) noexcept
{
    (op.list_prev != nullptr ? op.list_prev->list_next : first_) = op.list_next;
    (op.list_next != nullptr ? op.list_next->list_prev : last_) = op.list_prev;
    op.list = nullptr;
    op.list_prev = op.list_next = nullptr;
    --size_;
}

}  // namespace shunt::client
