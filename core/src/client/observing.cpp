// Observers: told of sends, and kept from harming them.

#include <client/core.hpp>
#include <client/tracer.hpp>
#include <wire/send.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>

namespace shunt::client {

template <typename F>
void core::tell_observers(F&& f) noexcept
{
    for (const auto& o : observers_) {
        try {
            f(*o);
        } catch (const std::exception& e) {
            threw("an observer", e.what());
        } catch (...) {
            threw("an observer", "something that is no std::exception");
        }
    }
}

void core::observe_before(message& m)
{
    tell_observers([&](send_observer& o) { o.before(m); });
}

void core::observe_attempt(operation& op, std::string_view address, const wire::command* answer)
{
    watched& w = *op.watch;
    w.address = address;
    if (answer != nullptr) {
        w.region = answer->find("MSG_REGION").value_or("");
        w.traces = answer->find("TRACE_ON").value_or("true") != "false";
    }
    const observed_attempt told{op.msg, op.result.attempts.back(), op.result.attempts.size(), w.address};
    tell_observers([&](send_observer& o) { o.attempted(told); });
}

void core::observe_after(operation& op)
{
    const auto watch = std::move(op.watch);
    observed_send told(op.msg, op.result);
    const special* extra = op.extra.get();
    told.kind = extra != nullptr && extra->batch != nullptr                                   ? send_kind::batch
                : extra != nullptr && (extra->sys_flag & wire::sys_prepared) != 0             ? send_kind::half
                : extra != nullptr && extra->code == wire::code::send_reply_message_v2        ? send_kind::reply
                : op.oneway                                                                   ? send_kind::oneway
                : op.msg.is_delayed()                                                         ? send_kind::delayed
                                                                                              : send_kind::normal;
    if (told.kind == send_kind::batch)
        for (const auto& id : extra->batch->msg_ids)
            told.msg_ids.push_back(id.view());
    else if (!op.result.msg_id.empty())
        told.msg_ids.push_back(op.result.msg_id.view());
    told.body_bytes = op.tail().size();
    told.address = watch->address;
    told.region = watch->region;
    told.broker_traces = watch->traces;
    tell_observers([&](send_observer& o) { o.after(told); });
}

void core::observe_refused(const message& m, const receipt& r, send_kind kind)
{
    observed_send told(m, r);
    told.kind = kind;
    tell_observers([&](send_observer& o) { o.after(told); });
}

/// Any thread: the end is told on the I/O side.
void core::observe_end(const message& half, std::string_view msg_id, std::string_view address, std::string_view broker, transaction_end end,
                       bool by_check, bool confirmed)
{
    if (observers_.empty())
        return;
    boost::asio::post(executor_, [self = shared_from_this(), this, topic = half.topic(), tag = half.tag(), keys = half.keys(), id = std::string(msg_id),
                                  where = std::string(address), broker = std::string(broker), end, by_check, confirmed]() mutable {
        links_->refresh();
        if (const auto r = where.empty() ? routes_->find(wire_topic(topic)) : nullptr) {
            const route::broker* b = r->find(broker);
            if (b != nullptr && b->master() != nullptr)
                where = *b->master();
        }
        const observed_end told{topic, id, tag, keys, where, end, by_check, confirmed};
        tell_observers([&](send_observer& o) { o.ended(told); });
        links_->flush_all();
    });
}

/// The producer's own message: no observer hears of it and no counter of sends counts it. The I/O side's; `done` runs there.
void core::start_own(message&& m, std::chrono::milliseconds timeout, std::function<void(const receipt&)> done)
{
    send_options options;
    options.timeout = timeout;
    operation& op = *new_operation(*io_slot_);
    op.done = detail::completion(boost::asio::bind_executor(executor_, [done = std::move(done)](const error_code&, const receipt& r) { done(r); }));
    op.extra = std::make_unique<special>();
    op.extra->own = true;
    open_.fetch_add(1, std::memory_order_seq_cst);
    if (prepare(op, *io_slot_, false, std::move(m), std::move(options)))
        drive(op, *io_slot_, true);
    else
        complete(op);
}

}  // namespace shunt::client
