#include <client/tracer.hpp>

#include <client/core.hpp>
#include <config/names.hpp>
#include <wire/trace.hpp>

#include <algorithm>
#include <utility>

namespace shunt::client {

namespace {

constexpr std::size_t most_records = 2048;     // gathered and under way; more are dropped, and counted
constexpr std::size_t flush_records = 10;
constexpr std::size_t flush_bytes = 128'000;
constexpr std::int64_t flush_after_ns = 5'000'000'000;
constexpr std::chrono::milliseconds timeout{5000};

wire::trace_type type_of(send_kind k)
{
    return k == send_kind::half ? wire::trace_type::half : k == send_kind::delayed ? wire::trace_type::delay : wire::trace_type::normal;
}

}  // namespace

tracer::tracer(core& owner) : owner_(owner)
{
    timer_.owner = this;
    timer_.expired = [](net::timer_hook& hook) {
        tracer& t = *static_cast<flush_hook&>(hook).owner;
        t.flush();
        t.owner_.links_->flush_all();
    };
}

tracer::~tracer() = default;

bool tracer::traces(std::string_view topic) const
{
    return !topic.starts_with(owner_.options_.trace_topic) && config::matches_pattern(topic, owner_.options_.trace);
}

bool tracer::has_room()
{
    if (!stopped_ && gathered_ + under_way_ < most_records)
        return true;
    owner_.count_.trace_dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
}

void tracer::add(std::string_view msg_id, std::string_view keys)
{
    keys_.emplace(msg_id);
    while (!keys.empty()) {
        const auto end = keys.find(' ');
        if (end != 0)
            keys_.emplace(keys.substr(0, end));
        keys = end == std::string_view::npos ? std::string_view{} : keys.substr(end + 1);
    }
    if (++gathered_ >= flush_records || records_.size() >= flush_bytes)
        flush();
    else if (!timer_.armed())
        owner_.links_->set_timer(timer_, owner_.links_->now_ns() + flush_after_ns);
}

// Unlike the Java client's, sends that failed are traced too; those that never met a broker have nothing to tell.
void tracer::after(const observed_send& s)
{
    if (s.receipt.attempts.empty() || !s.broker_traces || !traces(s.message.topic()) || !has_room())
        return;
    if (!s.region.empty())
        region_ = s.region;
    std::string ids;
    for (const std::string_view id : s.msg_ids)
        (ids += ids.empty() ? "" : ",") += id;
    wire::trace_send t;
    t.cost_ms = std::chrono::duration_cast<std::chrono::milliseconds>(s.receipt.attempts.back().latency).count();
    t.time_ms = owner_.links_->wall_ms() - t.cost_ms;
    t.region = region_;
    t.group = owner_.options_.group;
    t.topic = s.message.topic();
    t.msg_id = ids;
    t.tag = s.message.tag();
    t.keys = s.message.keys();
    t.address = s.address;
    t.body_bytes = s.body_bytes;
    t.type = type_of(s.kind);
    t.offset_id = s.receipt.offset_msg_id.view();
    t.stored = s.receipt.outcome == outcome::stored;
    wire::put_trace(records_, t);
    for (const std::string_view id : s.msg_ids)
        keys_.emplace(id);
    add(s.msg_ids.empty() ? std::string_view{} : s.msg_ids.front(), s.message.keys());
}

void tracer::ended(const observed_end& e)
{
    if (!traces(e.topic) || !has_room())
        return;
    wire::trace_end t;
    t.time_ms = owner_.links_->wall_ms();
    t.region = region_;
    t.group = owner_.options_.group;
    t.topic = e.topic;
    t.msg_id = t.transaction_id = e.msg_id;
    t.tag = e.tag;
    t.keys = e.keys;
    t.address = e.address;
    t.state = e.end == transaction_end::commit ? "COMMIT_MESSAGE" : e.end == transaction_end::rollback ? "ROLLBACK_MESSAGE" : "UNKNOW";
    t.by_check = e.by_check;
    wire::put_trace(records_, t);
    add(e.msg_id, e.keys);
}

bool tracer::flush()
{
    owner_.links_->clear_timer(timer_);
    if (gathered_ == 0)
        return false;
    const std::size_t count = std::exchange(gathered_, 0);
    message m(owner_.options_.trace_topic, std::string(records_.view()));
    records_.clear();
    for (const std::string& key : std::exchange(keys_, {}))
        m.add_key(key);
    under_way_ += count;
    owner_.start_own(std::move(m), timeout, [this, count](const receipt& r) {
        under_way_ -= count;
        if (r.outcome == outcome::stored) {
            noted_ = false;
            return;
        }
        owner_.count_.trace_dropped.fetch_add(count, std::memory_order_relaxed);
        if (!std::exchange(noted_, true))
            owner_.note(observe::level::warn, "trace records cannot be stored in topic '" + owner_.options_.trace_topic +
                                                  "': " + (r.reason.empty() ? r.error.message() : r.reason));
    });
    return true;
}

void tracer::stop()
{
    stopped_ = true;
    owner_.links_->clear_timer(timer_);
    owner_.count_.trace_dropped.fetch_add(std::exchange(gathered_, 0), std::memory_order_relaxed);
    records_.clear();
    keys_.clear();
}

}  // namespace shunt::client
