#include <client/gathering.hpp>

#include <client/core.hpp>
#include <wire/batch.hpp>
#include <wire/send.hpp>

#include <algorithm>
#include <utility>

namespace shunt::client {

gatherer::~gatherer() = default;

bool gatherer::takes(const operation& op) const noexcept
{
    return !op.oneway && op.extra == nullptr && !op.msg.is_delayed() && !op.msg.priority() && !op.msg.topic().starts_with("%RETRY%") &&
           size_of(op) <= owner_.options_.batch_bytes;
}

std::size_t gatherer::size_of(const operation& op) noexcept
{
    return wire::batch_item_size({0, op.msg.body(), op.properties.view()});
}

void gatherer::add(operation& op)
{
    auto& slot = places_[{op.where, op.broker, op.queue, op.msg.wait_store()}];
    if (slot == nullptr) {
        slot = std::make_unique<gathering>();
        slot->owner = this;
        slot->broker = op.broker;
        slot->queue = op.queue;
        slot->wait_store = op.msg.wait_store();
        slot->expired = [](net::timer_hook& hook) {
            auto& g = static_cast<gathering&>(hook);
            g.owner->depart(g);
        };
    }
    gathering& g = *slot;
    put(g, op);
    if (op.laned && !op.follows)
        bring_followers(g, op);
}

void gatherer::put(gathering& g, operation& op)
{
    const producer_options& o = owner_.options_;
    const std::size_t size = size_of(op);
    if (!g.waiting.empty() && g.bytes + size > o.batch_bytes)
        depart(g);
    g.waiting.push_back(&op);
    g.bytes += size;
    op.gathered = &g;
    if (g.bytes >= o.batch_bytes || g.waiting.size() >= o.batch_messages)
        depart(g);
    else if (g.under_way == 0)
        look_later(g);
    else if (!g.armed())
        owner_.links_->set_timer(g, owner_.links_->now_ns() + bounded_ns(o.batch_linger));
}

/// Only the head of a lane is under way, and what rides with it: they are stored in this order, or not at all.
void gatherer::bring_followers(gathering& g, operation& head)
{
    const std::int64_t now = owner_.links_->now_ns();
    const std::size_t most = owner_.options_.batch_messages;
    owner_.lanes_.each_waiting(head.msg.topic(), head.key, [&](operation* next) {
        operation& op = *next;
        if (head.gathered != &g || head.ride != nullptr || g.waiting.size() >= most || g.bytes + size_of(op) > owner_.options_.batch_bytes)
            return false;  // the head has left: what follows waits for it
        const bool elsewhere = op.ride != nullptr || op.gathered != nullptr || op.options.policy != head.options.policy || op.options.queue || op.options.select;
        if (elsewhere || !takes(op) || op.msg.wait_store() != g.wait_store || owner_.given_up(op))
            return false;
        const std::int64_t share = op.machine.share_at(now);
        if (share == 0)
            return false;
        if (op.goes_by == nullptr)
            owner_.pin(op);
        op.where = head.where;
        op.policy = head.policy;
        op.table = head.table;
        op.if_no_queue = head.if_no_queue;
        op.broker = head.broker;
        op.queue = head.queue;
        op.why = strategy::why::key;
        op.generation = head.generation;
        op.route_gen = head.route_gen;
        op.repeat_queue = true;
        op.follows = true;
        op.broker->add_inflight();
        op.machine.begin(op.broker->id);
        op.attempt_start_ns = now;
        op.share_ns = share;
        op.wanted = want::transmit;
        owner_.count_.attempts.fetch_add(1, std::memory_order_relaxed);
        owner_.links_->set_timer(op.timer, now + share);
        g.waiting.push_back(&op);
        g.bytes += size_of(op);
        op.gathered = &g;
        return true;
    });
}

void gatherer::look_later(gathering& g)
{
    if (!std::exchange(g.listed, true))
        changed_.push_back(&g);
}

void gatherer::turn_ends()
{
    while (!changed_.empty()) {
        for (gathering* g : std::exchange(changed_, {})) {
            g->listed = false;
            if (g->under_way == 0)
                depart(*g);
        }
    }
}

void gatherer::depart(gathering& g)
{
    owner_.links_->clear_timer(g);
    if (g.waiting.empty())
        return;
    if (free_.empty()) {
        all_.push_back(std::make_unique<carrier>(*this));
        free_.push_back(all_.back().get());
    }
    carrier& c = *free_.back();
    free_.pop_back();
    c.from = &g;
    c.over = false;
    c.members.swap(g.waiting);
    g.waiting.clear();
    g.bytes = 0;
    c.riding = c.members.size();
    c.body.clear();
    for (operation* op : c.members) {
        op->gathered = nullptr;
        op->ride = &c;
    }
    ++g.under_way;
    const std::string address = owner_.address_of_[g.broker->id];
    if (address.empty()) {
        net::reply r;
        r.how = send::ending::refused;
        r.text = "the broker left the route";
        arrived(c, r);
        return;
    }
    owner_.links_->to(owner_.send_address(address)).submit(c);
}

void carrier::encode(wire::buffer& out, std::int32_t opaque)
{
    core& own = owner_.owner_;
    std::erase(members, nullptr);  // those that got off while there was no connection are told that they were not sent
    const operation& any = *members.front();
    const bool batch = members.size() > 1;
    body.clear();
    for (const operation* op : members) {
        if (batch)
            wire::put_batch_item(body, {op->msg.flag(), op->msg.body(), op->properties.view()});
        else
            body.put(op->msg.body());
    }
    wire::send_head h;
    h.group = own.group_;
    h.topic = any.msg.topic();
    h.default_topic = own.options_.default_topic;
    h.default_topic_queues = static_cast<std::int32_t>(own.options_.default_topic_queues);
    h.queue_id = from->queue;
    h.born_ms = own.links_->wall_ms();
    h.flag = batch ? 0 : any.msg.flag();
    // Of the batch itself only this: ids, keys and tags would take the place of the messages' own.
    h.properties = !batch            ? any.properties.view()
                   : from->wait_store ? std::string_view("WAIT\x01true\x02")
                                      : std::string_view("WAIT\x01"
                                                         "false\x02");
    h.broker = from->broker->name;
    h.unit_mode = own.options_.unit_mode;
    h.extra = own.extra_fields_;
    h.batch = batch;
    wire::encode_send_head(out, own.format_, batch ? wire::code::send_batch_message : wire::code::send_message_v2, opaque, false, h, body.size());
}

void carrier::finished(const net::reply& r) { owner_.arrived(*this, r); }

void carrier::unpinned() noexcept
{
    if (over)
        owner_.give_back(*this);
}

void gatherer::arrived(carrier& c, const net::reply& r)
{
    gathering& g = *c.from;
    --g.under_way;
    look_later(g);
    const std::vector<operation*> members = std::exchange(c.members, {});
    c.over = true;
    if (!c.pinned())
        give_back(c);
    for (operation* op : members) {
        if (op != nullptr)
            op->ride = nullptr;
    }
    wire::send_answer answer;
    if (r.how == send::ending::answered && send::is_stored(r.answer->code) && wire::read_send_answer(*r.answer, answer)) {
        std::string_view ids = answer.offset_msg_id;
        const bool one_for_all = ids.find(',') == std::string_view::npos;
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto end = ids.find(',');
            const seat at{i, ids.substr(0, end)};
            if (members[i] != nullptr)
                owner_.attempt_over(*members[i], r, members.size() > 1 ? &at : nullptr);
            if (!one_for_all)
                ids = end == std::string_view::npos ? std::string_view{} : ids.substr(end + 1);
        }
        return;
    }
    // From the last to the first: a head that goes on takes those behind it along, and they must be ready for that.
    for (std::size_t i = members.size(); i-- != 0;) {
        const seat at{i, {}};
        if (members[i] != nullptr)
            owner_.attempt_over(*members[i], r, members.size() > 1 ? &at : nullptr);
    }
}

void gatherer::give_back(carrier& c) noexcept
{
    c.over = false;
    c.members.clear();
    if (c.body.capacity() > 1024 * 1024)
        c.body.release();
    free_.push_back(&c);
}

send::ending gatherer::take_off(operation& op)
{
    if (gathering* g = std::exchange(op.gathered, nullptr)) {
        std::erase(g->waiting, &op);
        g->bytes -= size_of(op);
        return send::ending::unconnected;
    }
    carrier& c = *std::exchange(op.ride, nullptr);
    std::replace(c.members.begin(), c.members.end(), &op, static_cast<operation*>(nullptr));
    net::connection* at = c.under_way();
    const bool unwritten = at == nullptr || !at->connected();
    if (--c.riding == 0 && at != nullptr) {
        (void)at->withdraw(c);
        --c.from->under_way;
        look_later(*c.from);
        c.over = true;
        if (!c.pinned())
            give_back(c);
    }
    return unwritten ? send::ending::unconnected : send::ending::expired;
}

}  // namespace shunt::client
