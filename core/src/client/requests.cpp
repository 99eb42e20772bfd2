// Requests and their replies, and the answering side.

#include <client/core.hpp>
#include <wire/compress.hpp>
#include <wire/properties.hpp>
#include <wire/send.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

namespace shunt::client {

namespace {

constexpr std::int64_t pull_patience_ns = 20'000'000'000;
constexpr std::string_view pull_suspend_ms = "10000";

std::string reply_topic(std::string_view cluster) { return std::string(cluster) + "_REPLY_TOPIC"; }

}  // namespace

/// Random, in the shape of a UUID, as other clients have it.
std::string core::correlation_id()
{
    const std::uint64_t a = random(), b = random();
    char text[37];
    std::snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(a >> 32), static_cast<unsigned>(a >> 16 & 0xFFFF),
                  static_cast<unsigned>(a & 0xFFF), static_cast<unsigned>(b >> 48 & 0x3FFF) | 0x8000U,
                  static_cast<unsigned long long>(b & 0xFFFFFFFFFFFFULL));
    return text;
}

void core::start_request(message&& m, send_options&& options, bool on_callback_thread, std::function<void(reply_receipt&&)> done)
{
    auto r = std::make_shared<pending_request>();
    r->owner = this;
    r->id = correlation_id();
    r->done = std::move(done);
    r->on_callback_thread = on_callback_thread;
    r->start_ns = net::monotonic_ns();
    const auto timeout = options.timeout.count() != 0 ? options.timeout : live_timeout();
    r->deadline_ns = r->start_ns + bounded_ns(timeout);
    const auto refused = [&](errc why, std::string text) {
        r->result.send.error = make_send_error(why, outcome::not_sent);
        r->result.send.reason = text;
        r->result.error = r->result.send.error;
        r->result.reason = std::move(text);
        callbacks_.post(shared_from_this(), [this, r] {
            r->done(std::move(r->result));
            run_own_leftovers();
        });
    };
    if (timeout.count() <= 0)
        return refused(errc::invalid_settings, "a request's timeout is " + std::to_string(timeout.count()) + " ms; it must be 1 ms or more");
    if (auto bad = check_topic(wire_topic(m.topic())))  // before brokers are told of this client for its sake
        return refused(bad->why, std::move(bad->text));
    open_.fetch_add(1, std::memory_order_seq_cst);
    if (closing_.load(std::memory_order_seq_cst)) {
        open_.fetch_sub(1, std::memory_order_seq_cst);
        return refused(errc::closed, "the producer is closed");
    }
    boost::asio::post(executor_, [self = shared_from_this(), this, r, m = std::move(m), options = std::move(options)]() mutable {
        links_->refresh();
        r->expired = [](net::timer_hook& hook) {
            auto& late = static_cast<pending_request&>(hook);
            late.owner->request_expired(late);
        };
        requests_.emplace(r->id, r);
        links_->set_timer(*r, r->deadline_ns);
        std::string topic = wire_topic(m.topic());
        reach_repliers(topic, r->deadline_ns, [this, r, m = std::make_shared<message>(std::move(m)), options = std::move(options)]() mutable {
            if (r->over)
                return;
            r->started = true;
            const std::int64_t left_ms = (r->deadline_ns - links_->now_ns() + 999'999) / 1'000'000;
            options.timeout = std::chrono::milliseconds(std::max<std::int64_t>(left_ms, 1));
            auto extra = std::make_unique<special>();
            wire::buffer properties;
            wire::put_property(properties, "CORRELATION_ID", r->id);
            wire::put_property(properties, "REPLY_TO_CLIENT", client_id_);
            wire::put_property(properties, "TTL", std::to_string(options.timeout.count()));
            extra->properties = properties.view();
            start(false, std::move(*m), std::move(options),
                  detail::completion(boost::asio::bind_executor(executor_, [this, r](const error_code& ec, receipt sent) {
                      if (r->over)
                          return;
                      r->result.send = std::move(sent);
                      r->sent = true;
                      if (ec.failed())
                          end_request(r, ec, r->result.send.reason);
                      else if (r->replied)
                          end_request(r, r->reply_error, r->result.reason);
                      else if (links_->now_ns() >= r->deadline_ns)
                          request_expired(*r);
                  })),
                  std::move(extra));
        });
        on_turn();
        links_->flush_all();
    });
}

void core::request_expired(pending_request& late)
{
    const auto it = requests_.find(late.id);
    if (it == requests_.end())
        return;
    if (late.started && !late.sent)
        return;  // its send ends now, and tells
    const auto waited = (links_->now_ns() - late.start_ns) / 1'000'000;
    if (late.sent)
        end_request(it->second, make_error_code(errc::reply_timeout), "stored, but no reply in " + std::to_string(waited) + " ms");
    else
        end_request(it->second, make_error_code(errc::expired_waiting), "the deadline passed before the brokers of the replies were met");
}

void core::end_request(std::shared_ptr<pending_request> r, const error_code& ec, std::string reason)
{
    if (std::exchange(r->over, true))
        return;
    links_->clear_timer(*r);
    requests_.erase(r->id);
    r->result.error = ec;
    r->result.reason = std::move(reason);
    r->result.latency = std::chrono::nanoseconds(links_->now_ns() - r->start_ns);
    open_.fetch_sub(1, std::memory_order_seq_cst);
    if (r->on_callback_thread) {
        callbacks_.post(shared_from_this(), [this, r] {
            try {
                r->done(std::move(r->result));
            } catch (const std::exception& e) {
                handler_threw(e.what());
            } catch (...) {
                handler_threw("something that is no std::exception");
            }
        });
    } else {
        r->done(std::move(r->result));
    }
}

/// The producer closes and its deadline has passed: those that only wait for their reply end.
void core::cancel_requests()
{
    std::vector<std::shared_ptr<pending_request>> all;
    for (const auto& [id, r] : requests_) {
        if (r->sent || !r->started)
            all.push_back(r);
    }
    for (const auto& r : all)
        end_request(r, make_send_error(errc::cancelled, r->sent ? outcome::unknown : outcome::not_sent), "the producer closed before a reply came");
}

/// Replies come from whichever broker the answering side sends them to: all of them must know this client first.
void core::reach_repliers(const std::string& topic, std::int64_t deadline_ns, std::function<void()> then)
{
    struct progress {
        std::size_t left = 1;
        std::set<std::string> addresses;
        std::function<void()> then;
    };
    auto state = std::make_shared<progress>();
    state->then = std::move(then);
    const auto gather = [state](const route::topic_route& r) {
        for (const route::broker& b : r.brokers) {
            if (b.master() != nullptr)
                state->addresses.insert(*b.master());
        }
    };
    const auto meet = [this, state] {
        if (--state->left != 0)
            return;
        std::erase_if(state->addresses, [this](const std::string& a) { return known_at_.contains(a); });
        if (state->addresses.empty())
            return state->then();
        state->left = state->addresses.size();
        for (const std::string& address : state->addresses)
            heartbeat(address, [state] {
                if (--state->left == 0)
                    state->then();
            });
    };
    with_route(topic, deadline_ns, [=, this](const auto& route, const ask_error&) {
        if (route == nullptr)
            return state->then();  // the send tells what is wrong
        gather(*route);
        std::set<std::string> clusters;
        for (const route::broker& b : route->brokers)
            clusters.insert(b.cluster);
        state->left = clusters.size() + 1;
        for (const std::string& cluster : clusters) {
            with_route(reply_topic(cluster), std::min(deadline_ns, links_->now_ns() + 1'000'000'000),
                       [gather, meet](const auto& r, const ask_error&) {
                           if (r != nullptr)
                               gather(*r);
                           meet();
                       });
        }
        meet();
    });
}

void core::take_reply(net::connection& from, const wire::command& request, std::string_view body)
{
    if (!request.is_oneway())
        from.answer(request, wire::response::success, {});
    const std::string_view properties = request.find("properties").value_or("");
    const auto it = requests_.find(wire::find_property(properties, "CORRELATION_ID"));
    if (it == requests_.end() || it->second->replied) {
        links_->counts().late_answers.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const std::shared_ptr<pending_request> r = it->second;
    r->replied = true;
    wire::each_property(properties, [&](std::string_view name, std::string_view value) { r->result.properties.emplace_back(name, value); });
    const auto sys_flag = static_cast<std::int32_t>(request.number("sysFlag").value_or(0));
    if ((sys_flag & wire::sys_compressed) == 0) {
        r->result.body = body;
    } else {
        const auto how = wire::inflate(sys_flag, body, options_.max_inflated, r->result.body);
        if (how != wire::inflated::whole) {
            r->result.body.clear();
            r->reply_error = make_error_code(errc::bad_reply);
            r->result.reason = how == wire::inflated::too_large
                                   ? "the reply of " + std::to_string(body.size()) + " bytes would have more than " +
                                         std::to_string(options_.max_inflated) + " when inflated (max_inflated)"
                                   : "the reply is said to be compressed, and is not";
        }
    }
    if (r->sent)
        end_request(r, r->reply_error, r->result.reason);
}

reply_receipt core::deliver_request(message&& m, send_options&& options)
{
    if (on_io_side_() || callbacks_.is_this_thread()) {
        reply_receipt r;
        r.error = make_error_code(errc::would_deadlock);
        r.reason = "a request on the producer's own threads would wait for itself; use async_request";
        r.send.error = r.error;
        return r;
    }
    auto promise = std::make_shared<std::promise<reply_receipt>>();
    auto future = promise->get_future();
    const auto timeout = options.timeout.count() != 0 ? options.timeout : live_timeout();
    start_request(std::move(m), std::move(options), false, [promise](reply_receipt&& r) { promise->set_value(std::move(r)); });
    if (future.wait_for(std::max(timeout, std::chrono::milliseconds(0)) + std::chrono::milliseconds(500)) == std::future_status::ready)
        return future.get();
    reply_receipt r;  // nobody runs the executor
    r.error = make_send_error(errc::response_timeout, outcome::unknown);
    r.reason = "the producer's executor did not get to the request in time";
    r.send.outcome = outcome::unknown;
    r.send.error = r.error;
    return r;
}

// ---- the answering side ----

receipt core::reply(const stored_message& request, message&& m, send_options&& options)
{
    const auto refused = [&](std::string text) { return refused_batch({errc::invalid_reply, std::move(text)}).send; };
    const std::string_view cluster = request.property("CLUSTER"), id = request.property("CORRELATION_ID"), to = request.property("REPLY_TO_CLIENT");
    if (cluster.empty() || id.empty() || to.empty())
        return refused("message " + request.msg_id + " is no request: it has no property " +
                       (id.empty() ? "CORRELATION_ID" : to.empty() ? "REPLY_TO_CLIENT" : "CLUSTER"));
    auto extra = std::make_unique<special>();
    extra->code = wire::code::send_reply_message_v2;
    wire::buffer properties;
    wire::put_property(properties, "MSG_TYPE", "reply");
    wire::put_property(properties, "CORRELATION_ID", id);
    wire::put_property(properties, "REPLY_TO_CLIENT", to);
    if (const std::string_view ttl = request.property("TTL"); !ttl.empty())
        wire::put_property(properties, "TTL", ttl);
    extra->properties = properties.view();
    m.set_topic(reply_topic(cluster));
    if (!options.queue && !request.broker.empty())
        options.queue = {request.broker, 0};  // the broker the request came by knows who asks
    return deliver(false, std::move(m), std::move(options), std::move(extra));
}

void core::answer_requests(const std::string& topic, request_answerer answer)
{
    auto a = std::make_shared<answering>();
    a->topic = wire_topic(topic);
    a->answer = std::move(answer);
    boost::asio::post(executor_, [self = shared_from_this(), this, a] {
        links_->refresh();
        a->since_ms = links_->wall_ms();
        topics_[a->topic].answered.push_back(a);
        begin_answering(a);
        links_->flush_all();
    });
}

void core::begin_answering(const std::shared_ptr<answering>& a)
{
    if (closed_io_)
        return;
    with_route(a->topic, links_->now_ns() + 3'000'000'000, [this, a](const auto& route, const ask_error& e) {
        if (route == nullptr) {
            note(observe::level::warn, "requests of topic '" + a->topic + "' cannot be answered yet: " + e.text);
            return answer_later([this, a] { begin_answering(a); });
        }
        pull_new_queues(a, *route);
    });
}

/// The queues of the route that are not pulled: of the first route all, of later ones those that came or came back.
void core::pull_new_queues(const std::shared_ptr<answering>& a, const route::topic_route& r)
{
    for (const route::queue& q : r.subscribe) {
        const std::string& broker = r.brokers[q.broker].name;
        answering::place& place = a->places[{broker, q.queue_id}];
        if (std::exchange(place.pulled, true))
            continue;
        if (place.next >= 0)
            pull_requests(a, broker, q.queue_id);
        else
            begin_pulling(a, broker, q.queue_id);
    }
    a->begun = true;
}

/// False: the queue is in the route no more, and is not pulled any longer.
bool core::goes_on(answering& a, const std::string& broker, std::int32_t queue) const
{
    if (closed_io_ || closing_.load())
        return false;
    const auto route = routes_->find(a.topic);
    const bool there = route == nullptr || std::any_of(route->subscribe.begin(), route->subscribe.end(), [&](const route::queue& q) {
                           return q.queue_id == queue && route->brokers[q.broker].name == broker;
                       });
    if (!there)
        a.places[{broker, queue}].pulled = false;
    return there;
}

void core::answer_later(std::function<void()> then)
{
    auto timer = std::make_shared<boost::asio::steady_timer>(executor_, std::chrono::milliseconds(200));
    timer->async_wait([self = shared_from_this(), timer, then = std::move(then)](const boost::system::error_code&) {
        self->links_->refresh();
        if (!self->closed_io_ && !self->closing_.load())
            then();
        self->links_->flush_all();
    });
}

void core::begin_pulling(const std::shared_ptr<answering>& a, const std::string& broker, std::int32_t queue)
{
    if (!goes_on(*a, broker, queue))
        return;
    net::question q;
    q.fields = {{"topic", a->topic}, {"queueId", std::to_string(queue)}};
    if (a->begun) {  // a queue that came later: requests may lie there already
        q.code = wire::code::search_offset_by_timestamp;
        q.fields.emplace_back("timestamp", std::to_string(a->since_ms));
        q.fields.emplace_back("boundaryType", "lower");
    } else {
        q.code = wire::code::get_max_offset;
        q.fields.emplace_back("committed", "true");
    }
    ask_broker(a->topic, broker, std::move(q), links_->now_ns() + 3'000'000'000, [=, this](const kept_answer& told) {
        if (const auto end = told.success() ? told.number("offset") : std::nullopt) {
            a->places[{broker, queue}].next = *end;
            return pull_requests(a, broker, queue);
        }
        answer_later([=, this] { begin_pulling(a, broker, queue); });
    });
}

void core::pull_requests(const std::shared_ptr<answering>& a, const std::string& broker, std::int32_t queue)
{
    if (!goes_on(*a, broker, queue))
        return;
    const std::int64_t offset = a->places[{broker, queue}].next;
    net::question q;
    q.code = wire::code::pull_message;
    q.fields = {{"consumerGroup", "TOOLS_CONSUMER"}, {"topic", a->topic}, {"queueId", std::to_string(queue)},
                {"queueOffset", std::to_string(offset)}, {"maxMsgNums", "32"}, {"sysFlag", "6"}, {"commitOffset", "0"},
                {"suspendTimeoutMillis", std::string(pull_suspend_ms)}, {"subscription", "*"}, {"subVersion", "0"}, {"expressionType", "TAG"}};
    ask_broker(a->topic, broker, std::move(q), links_->now_ns() + pull_patience_ns, [=, this](const kept_answer& told) {
        using namespace wire::response;
        if (!told.answered() ||
            (told.code != success && told.code != pull_not_found && told.code != pull_retry_immediately && told.code != pull_offset_moved))
            return answer_later([=, this] { pull_requests(a, broker, queue); });
        std::vector<stored_message> found;
        std::string what;
        if (told.code == success && !take_stored(told.body, broker, found, what))
            note(observe::level::warn, "requests from " + broker + " cannot be read: " + what);
        for (stored_message& m : found) {
            if (m.offset < offset || m.property("CORRELATION_ID").empty())
                continue;
            callbacks_.post(shared_from_this(), [this, a, m = std::make_shared<stored_message>(std::move(m))] {
                try {
                    if (auto body = a->answer(*m))
                        if (const receipt r = reply(*m, message({}, std::move(*body)), {}); r.outcome != outcome::stored)
                            note(observe::level::warn, "a reply is not delivered: " + (r.reason.empty() ? r.error.message() : r.reason));
                } catch (const std::exception& e) {
                    handler_threw(e.what());
                } catch (...) {
                    handler_threw("something that is no std::exception");
                }
            });
        }
        a->places[{broker, queue}].next = told.number("nextBeginOffset").value_or(offset);
        pull_requests(a, broker, queue);
    });
}

}  // namespace shunt::client
