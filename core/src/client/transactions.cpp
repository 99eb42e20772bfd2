// Transactions: the half message, its end, and the questions of brokers that never heard it.

#include <client/core.hpp>
#include <wire/message_id.hpp>
#include <wire/properties.hpp>
#include <wire/send.hpp>
#include <wire/stored_message.hpp>

#include <boost/asio/post.hpp>

#include <utility>

namespace shunt::client {

namespace {

constexpr std::int32_t commit_value = 8, rollback_value = 12;
constexpr std::uint32_t most_checks = 2000;        // waiting for their answer; more are dropped, and asked again
constexpr std::int64_t between_ends_ns = 100'000'000;
constexpr int most_ends = 3;

std::string value_of(transaction_end e) { return std::to_string(e == transaction_end::commit ? commit_value : rollback_value); }

}  // namespace

transaction_receipt core::deliver_transaction(message&& m, const transaction_branch& branch, const send_options& options)
{
    transaction_receipt t;
    const auto refused = [&](errc why, std::string text) {
        t.half = refused_batch({why, std::move(text)}).send;
        t.reason = t.half.reason;
        return t;
    };
    if (m.is_delayed())
        return refused(errc::invalid_delay, "a transaction's message has no delay; it is delivered when it is committed");
    if (!branch)
        return refused(errc::invalid_settings, "a transaction needs a branch: a function that says commit, rollback or unknown");
    auto half = std::make_unique<special>();
    half->sys_flag = wire::sys_prepared;
    wire::buffer properties;
    wire::put_property(properties, "TRAN_MSG", "true");
    wire::put_property(properties, "PGROUP", group_);
    half->properties = properties.view();
    const message kept = m;
    t.half = deliver(false, std::move(m), send_options(options), std::move(half));
    if (t.half.outcome != outcome::stored) {
        t.reason = "the half message is not known to be stored, so the branch did not run";
        return t;
    }
    if (t.half.status != store_status::ok) {
        t.reason = "the half message is stored as '" + std::string(to_string(t.half.status)) + "' and may get lost, so the branch did not run";
    } else {
        try {
            t.end = branch(kept, t.half);
        } catch (const std::exception& e) {
            t.end = transaction_end::unknown;
            t.reason = std::string("the branch threw: ") + e.what();
        } catch (...) {
            t.end = transaction_end::unknown;
            t.reason = "the branch threw";
        }
    }
    if (t.end == transaction_end::unknown) {
        if (t.reason.empty())
            t.reason = "not decided; the broker will ask";
        return t;
    }
    const auto timeout = options.timeout.count() > 0 ? options.timeout : live_timeout();
    const auto ended = end_transaction(wire_topic(kept.topic()), t.half, t.end, timeout);
    t.confirmed = ended.has_value();
    observe_end(kept, t.half.msg_id.view(), {}, t.half.broker, t.end, false, t.confirmed);
    if (!ended)
        t.reason += (t.reason.empty() ? "" : "; ") + ended.error().text + "; the broker will ask";
    return t;
}

/// Confirmed, unlike the Java client's: a commit that gets lost waits for the broker's question otherwise.
asked<bool> core::end_transaction(const std::string& topic, const receipt& half, transaction_end end, std::chrono::milliseconds timeout)
{
    const auto place = wire::parse_offset_id(half.offset_msg_id.view());
    if (!place)
        return ask_error{make_error_code(errc::bad_response), -1, "the broker's id of the half message cannot be read"};
    net::question q;
    q.code = wire::code::end_transaction;
    q.fields = {{"producerGroup", group_},
                {"commitLogOffset", std::to_string(place->offset)},
                {"topic", topic},
                {"msgId", half.msg_id.str()},
                {"tranStateTableOffset", std::to_string(half.offset)},
                {"commitOrRollback", value_of(end)},
                {"transactionId", half.msg_id.str()},
                {"fromTransactionCheck", "false"}};
    return ask_and_wait<bool>(timeout, [this, q, topic, broker = std::string(half.broker)](std::int64_t deadline_ns, auto answer) {
        try_end(topic, broker, q, deadline_ns, most_ends, answer);
    });
}

void core::try_end(const std::string& topic, const std::string& broker, const net::question& q, std::int64_t deadline_ns, int left,
                   const std::shared_ptr<one_answer<bool>>& answer)
{
    const std::int64_t now = links_->now_ns();
    const std::int64_t share = left > 1 ? (deadline_ns - now) / 2 : deadline_ns - now;
    ask_broker(topic, broker, q, now + share, [=, this](const kept_answer& a) {
        if (a.success())
            return (*answer)(true);
        if (a.answered() || left <= 1 || closed_io_ || links_->now_ns() + between_ends_ns >= deadline_ns)
            return (*answer)(a.error("end of the transaction on " + broker));
        auto timer = std::make_shared<boost::asio::steady_timer>(executor_, std::chrono::nanoseconds(between_ends_ns));
        timer->async_wait([=, self = shared_from_this()](const boost::system::error_code&) {
            self->links_->refresh();
            if (self->closed_io_)
                return (*answer)(a.error("end of the transaction on " + broker));
            self->try_end(topic, broker, q, deadline_ns, left - 1, answer);
            self->links_->flush_all();
        });
    });
}

// ---- questions of brokers ----

void core::answer_checks(const std::vector<std::string>& topics, transaction_checker checker)
{
    auto kept = std::make_shared<const transaction_checker>(std::move(checker));
    boost::asio::post(executor_, [self = shared_from_this(), this, topics, kept] {
        links_->refresh();
        checker_ = *kept ? kept : nullptr;
        for (const std::string& name : topics) {
            const std::string topic = wire_topic(name);
            if (std::find(kept_topics_.begin(), kept_topics_.end(), topic) == kept_topics_.end())
                kept_topics_.push_back(topic);
        }
        meet_brokers();
        links_->flush_all();
    });
}

/// Brokers ask only those they know: each of these topics' brokers hears of this client.
void core::meet_brokers()
{
    for (const std::string& topic : kept_topics_) {
        with_route(topic, links_->now_ns() + 3'000'000'000, [this](const auto& route, const ask_error&) {
            if (route == nullptr || closed_io_)
                return;
            for (const route::broker& b : route->brokers) {
                if (b.master() != nullptr && !known_at_.contains(*b.master()))
                    heartbeat(*b.master(), {});
            }
        });
    }
}

bool core::heard_request(net::connection& from, const wire::command& request, std::string_view body)
{
    switch (request.code) {
    case wire::code::check_transaction_state: check_transaction(from, request, body); return true;
    case wire::code::push_reply_message: take_reply(from, request, body); return true;
    default: return false;
    }
}

void core::check_transaction(net::connection& from, const wire::command& request, std::string_view body)
{
    std::vector<stored_message> half;
    std::string what;
    const auto field = [&](std::string_view name) { return std::string(request.find(name).value_or("")); };
    if (!take_stored(body, field("bname"), half, what) || half.size() != 1) {
        note(observe::level::warn, "a broker asks about a transaction, but its message cannot be read: " + what);
        return;
    }
    if (half.front().property("PGROUP") != group_)
        return;
    if (checker_ == nullptr) {
        if (!std::exchange(noted_no_checker_, true))
            note(observe::level::warn, "a broker asks about transaction " + half.front().msg_id +
                                           ", but no function answers: see producer::answer_checks");
        return;
    }
    if (checks_waiting_.load(std::memory_order_relaxed) >= most_checks)
        return;
    checks_waiting_.fetch_add(1, std::memory_order_relaxed);
    net::question q;
    q.code = wire::code::end_transaction;
    q.oneway = true;
    q.fields = {{"producerGroup", group_},
                {"bname", field("bname")},
                {"commitLogOffset", field("commitLogOffset")},
                {"topic", field("topic")},
                {"msgId", field("msgId")},
                {"tranStateTableOffset", field("tranStateTableOffset")},
                {"transactionId", field("transactionId")},
                {"fromTransactionCheck", "true"}};
    callbacks_.post(shared_from_this(), [this, weak = weak_from_this(), checker = checker_, q = std::move(q), address = from.address(),
                                         half = std::make_shared<stored_message>(std::move(half.front()))]() mutable {
        transaction_end end = transaction_end::unknown;
        try {
            end = (*checker)(*half);
        } catch (const std::exception& e) {
            handler_threw(e.what());
        } catch (...) {
            handler_threw("something that is no std::exception");
        }
        checks_waiting_.fetch_sub(1, std::memory_order_relaxed);
        if (end == transaction_end::unknown)
            return;  // brokers ignore it
        q.fields.emplace_back("commitOrRollback", value_of(end));
        boost::asio::post(executor_, [weak, address, q, end, half]() mutable {
            const auto self = weak.lock();
            if (self == nullptr || self->closed_io_)
                return;
            self->links_->refresh();
            net::ask(*self->links_, address, self->format_, std::move(q), self->links_->now_ns() + 3'000'000'000,
                     [weak, address, end, half](const net::reply& r) {
                         if (const auto still = weak.lock(); still != nullptr && !still->observers_.empty()) {
                             message told(half->topic, {});
                             told.set_tag(std::string(half->property("TAGS")));
                             if (const auto keys = half->property("KEYS"); !keys.empty())
                                 told.add_key(keys);
                             still->observe_end(told, half->msg_id, address, half->broker, end, true, r.how == send::ending::answered);
                         }
                     });
            self->links_->flush_all();
        });
    });
}

}  // namespace shunt::client
