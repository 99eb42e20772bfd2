// What the record of a run is told; only where one is kept, on the I/O side.

#include <client/core.hpp>

#include <algorithm>
#include <utility>

namespace shunt::client {

/// Null: none is kept of the topic, or nothing is known to begin it with.
record::recording* core::recording_of(const operation& op)
{
    const std::string& topic = op.msg.topic();
    const auto state = topics_.find(topic);
    if (state == topics_.end() || state->second.route == nullptr)
        return nullptr;
    record::recording* r = recorder_->of(topic, op.machine.start_ns());
    if (r != nullptr && r->policy_name().empty()) {
        const auto& pol = current_->policy_for(topic, op.options.policy);
        r->set_policy(op.machine.start_ns(), pol->name(), pol->options());
        r->set_route(op.machine.start_ns(), *state->second.route, *current_->facts);
    }
    return r;
}

void core::record_attempt(const operation& op, const send::attempt_result& ended, std::int64_t latency_ns)
{
    record::tried t;
    switch (ended.how) {
    case send::ending::answered:
        // What is wrong with a message says nothing about the broker.
        t.code = send::blames_message(ended.code, ended.text) ? 0 : ended.code;
        break;
    case send::ending::written: break;
    case send::ending::refused:
        if (address_of_[op.broker->id].empty())
            return;  // it left the route, nobody asked it
        t.how = record::behaviour::refuse;
        break;
    case send::ending::unconnected:
    case send::ending::expired: t.how = record::behaviour::hang; break;
    case send::ending::dropped:
    case send::ending::garbled: t.how = record::behaviour::drop; break;
    case send::ending::cancelled: return;
    }
    if (cancelling_ && t.how != record::behaviour::answer)
        return;  // it was us who ended it
    t.broker = op.broker->name;
    t.start_ns = op.attempt_start_ns;
    t.latency_ns = latency_ns;
    if (record::recording* r = recording_of(op))
        r->attempt(t);
}

void core::record_send(const operation& op)
{
    if (op.stage != stage::decide)
        return;  // refused before it could be decided
    record::recording* r = recording_of(op);
    if (r == nullptr)
        return;
    record::sent s;
    s.start_ns = op.machine.start_ns();
    if (op.has_key)
        s.key = op.key;
    s.queue = op.options.queue;
    s.thread = op.thread;
    s.timeout_ms = (op.options.timeout.count() > 0 ? op.options.timeout : current_->options.send_timeout).count();
    s.attempts = std::min(op.options.attempts != 0 ? op.options.attempts : current_->options.attempts, send::max_attempts);
    s.policy = !op.policy.empty() ? op.policy : std::string_view(r->policy_name());
    s.outcome = op.result.outcome;
    s.oneway = op.oneway;
    s.by_function = static_cast<bool>(op.options.select);
    r->send(s);
}

void core::write_record()
{
    if (recorder_ == nullptr)
        return;
    std::string wrong = recorder_->write();
    recorder_.reset();
    if (!wrong.empty())
        note(observe::level::error, wrong);
    const std::lock_guard lock(closed_lock_);
    record_error_ = std::move(wrong);
}

}  // namespace shunt::client
