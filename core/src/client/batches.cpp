// Messages that travel together: lists made into batches by hand.

#include <client/core.hpp>
#include <wire/batch.hpp>
#include <wire/properties.hpp>

#include <utility>

namespace shunt::client {

namespace {

constexpr std::size_t most_messages = 32'768;  // of a batch: its answer lists an id for each

std::unique_ptr<special> batch_extra(std::shared_ptr<detail::batch_parts> shared)
{
    auto extra = std::make_unique<special>();
    extra->code = wire::code::send_batch_message;
    extra->batch = std::move(shared);
    return extra;
}

std::string number(std::size_t i) { return "message " + std::to_string(i) + " of the list"; }

}  // namespace

/// What keeps message `i` out of a batch with the first one; nothing: it fits.
std::optional<refusal> core::check_member(const std::vector<message>& all, std::size_t i, std::size_t max_body)
{
    const message& m = all[i];
    const auto bad = [&](errc why, const std::string& text) { return refusal{why, number(i) + " " + text}; };
    if (auto wrong = check_message(m, max_body))
        return refusal{wrong->why, number(i) + ": " + wrong->text};
    if (m.topic() != all.front().topic())
        return bad(errc::invalid_batch, "is for topic '" + m.topic() + "', the first for '" + all.front().topic() + "'; a batch has one topic");
    if (m.wait_store() != all.front().wait_store())
        return bad(errc::invalid_batch, "has another wait_store than the first; a batch has one for all");
    if (m.order_key() != all.front().order_key())
        return bad(errc::invalid_batch, "has another order key than the first; a batch goes to one queue");
    if (m.is_delayed())
        return bad(errc::invalid_batch, "has a delay; brokers deliver batches at once. Send it alone");
    if (m.priority())
        return bad(errc::invalid_batch, "has a priority, which a batch has not. Send it alone");
    if (m.topic().starts_with("%RETRY%"))
        return bad(errc::invalid_batch, "is for a retry topic, which takes no batches");
    return std::nullopt;
}

core::batch_plan core::plan_batch(std::vector<message>&& all, bool split)
{
    batch_plan plan;
    if (all.empty()) {
        plan.wrong = refusal{errc::invalid_batch, "the list is empty; a batch has at least one message"};
        return plan;
    }
    for (std::size_t i = 0; i < all.size() && !observers_.empty(); ++i)
        observe_before(all[i]);
    plan.topic = all.front().topic();
    const epoch_domain::reading mark(epochs_, slots_->mine().epoch);
    const producer_options& live = in_force_.load(std::memory_order_seq_cst)->table->options;
    const std::size_t limit = live.max_body;
    wire::buffer properties;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (auto wrong = check_member(all, i, limit)) {
            plan.wrong = std::move(wrong);
            return plan;
        }
        properties.clear();
        const auto id = put_properties(properties, all[i], live.write_order_key);
        if (properties.size() > live.max_properties) {
            plan.wrong = refusal{errc::properties_too_large, number(i) + ": its properties have " + std::to_string(properties.size()) +
                                                                 " bytes encoded; at most " + std::to_string(live.max_properties) +
                                                                 " are allowed (max_properties)"};
            return plan;
        }
        const wire::batch_item item{all[i].flag(), all[i].body(), properties.view()};
        const std::size_t size = wire::batch_item_size(item);
        if (size > limit) {
            plan.wrong = refusal{errc::batch_too_large, number(i) + " has " + std::to_string(size) + " bytes encoded, which no batch of at most " +
                                                            std::to_string(limit) + " bytes holds (max_body); send it alone"};
            return plan;
        }
        if (plan.batches.empty() || plan.batches.back().encoded.size() + size > limit ||
            plan.batches.back().parts->msg_ids.size() == most_messages) {
            if (!plan.batches.empty() && !split) {
                std::string text = "the batch holds at most " + std::to_string(limit) + " bytes (max_body) and " + std::to_string(most_messages) +
                                   " messages; the first " + std::to_string(i) + " of " + std::to_string(all.size()) + " messages have " +
                                   std::to_string(plan.batches.back().encoded.size()) + ", and " + number(i) + " with " +
                                   std::to_string(size) + " more does not fit";
                plan.wrong = refusal{errc::batch_too_large, std::move(text)};
                return plan;
            }
            one_batch& made = plan.batches.emplace_back();
            made.first = i;
            made.parts = std::make_shared<detail::batch_parts>();
        }
        one_batch& b = plan.batches.back();
        wire::put_batch_item(b.encoded, item);
        b.parts->msg_ids.push_back(id);
    }
    plan.order_key = all.front().order_key();
    plan.wait_store = all.front().wait_store();
    return plan;
}

/// The message that stands for a batch where queues are chosen; its body is the batch.
message core::batch_message(const batch_plan& plan, one_batch& b)
{
    message m(plan.topic, std::string(b.encoded.view()));
    b.encoded.release();
    m.set_wait_store(plan.wait_store);
    if (plan.order_key)
        m.set_order_key(*plan.order_key);
    return m;
}

batch_receipt core::refused_batch(const refusal& wrong)
{
    count_.sends.fetch_add(1, std::memory_order_relaxed);
    count_.not_sent.fetch_add(1, std::memory_order_relaxed);
    batch_receipt r;
    r.send.error = make_send_error(wrong.why, outcome::not_sent);
    r.send.reason = wrong.text;
    return r;
}

void core::observe_refused(const batch_plan& plan)
{
    if (observers_.empty())
        return;
    receipt r;
    r.error = make_send_error(plan.wrong->why, outcome::not_sent);
    r.reason = plan.wrong->text;
    const message m(plan.topic, {});
    observe_refused(m, r, send_kind::batch);
}

std::vector<batch_receipt> core::deliver_batches(std::vector<message>&& all, bool split, const send_options& options)
{
    batch_plan plan = plan_batch(std::move(all), split);
    std::vector<batch_receipt> receipts;
    if (plan.wrong) {
        observe_refused(plan);
        receipts.push_back(refused_batch(*plan.wrong));
        return receipts;
    }
    for (one_batch& b : plan.batches) {
        auto extra = batch_extra(b.parts);
        batch_receipt& r = receipts.emplace_back(deliver(false, batch_message(plan, b), send_options(options), std::move(extra)), *b.parts);
        r.first = b.first;
    }
    return receipts;
}

void core::start_batch(std::vector<message>&& all, send_options&& options, const std::shared_ptr<detail::batch_parts>& shared,
                       detail::completion&& done)
{
    batch_plan plan = plan_batch(std::move(all), false);
    if (plan.wrong) {
        observe_refused(plan);
        start_refused(plan.wrong->why, std::move(plan.wrong->text), std::move(done));
        return;
    }
    one_batch& b = plan.batches.front();
    *shared = std::move(*b.parts);
    start(false, batch_message(plan, b), std::move(options), std::move(done), batch_extra(shared));
}

/// The ids a broker answered, joined by commas: one for each message, or one for all.
void core::take_batch_ids(operation& op, std::string_view ids)
{
    auto& out = op.extra->batch->offset_msg_ids;
    out.clear();
    while (!ids.empty()) {
        const auto end = ids.find(',');
        out.emplace_back(ids.substr(0, end));
        ids = end == std::string_view::npos ? std::string_view{} : ids.substr(end + 1);
    }
    op.result.offset_msg_id = out.empty() ? short_text<56>{} : out.front();
}

}  // namespace shunt::client
