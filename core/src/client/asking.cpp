// Questions besides sending, and what they come to: recall, topics, offsets, stored messages.

#include <client/asking.hpp>

#include <client/core.hpp>
#include <wire/compress.hpp>
#include <wire/message_id.hpp>
#include <wire/properties.hpp>
#include <wire/recall.hpp>
#include <wire/stored_message.hpp>
#include <wire/text.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>

namespace shunt::client {

namespace {

constexpr std::chrono::milliseconds late{100};  // for the I/O side to tell of a deadline

ask_error asking_failed(errc why, std::string text) { return {make_error_code(why), -1, std::move(text)}; }

std::string host_text(const wire::host_address& h)
{
    const auto id = wire::parse_offset_id(wire::offset_id({h.address.data(), h.ipv6 ? 16U : 4U}, h.port, 0));
    return (h.ipv6 ? "[" + id->address + "]:" : id->address + ":") + std::to_string(h.port);
}

std::chrono::system_clock::time_point time_of(std::int64_t ms)
{
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(ms));
}

}  // namespace

kept_answer::kept_answer(const net::reply& r) : how(r.how), why(r.why), text(r.text), body(r.body)
{
    if (r.how != send::ending::answered)
        return;
    code = r.answer->code;
    text = r.answer->remark;
    for (const wire::field& f : r.answer->fields)
        fields.emplace_back(f.name, f.value);
}

std::string_view kept_answer::field(std::string_view name) const noexcept
{
    for (const auto& [own, value] : fields) {
        if (own == name)
            return value;
    }
    return {};
}

std::optional<std::int64_t> kept_answer::number(std::string_view name) const noexcept
{
    std::int64_t value = 0;
    return wire::read_decimal(field(name), value) ? std::optional(value) : std::nullopt;
}

ask_error kept_answer::error(std::string_view what) const
{
    ask_error e;
    if (answered()) {
        e.code = make_error_code(code == wire::response::success ? errc::bad_response : errc::broker_error);
        e.broker_code = code;
        e.text = std::string(what) + ": answered " + std::to_string(code) + (text.empty() ? "" : " '" + text + "'");
    } else {
        e.code = make_error_code(how == send::ending::expired ? errc::response_timeout
                                 : how == send::ending::dropped ? errc::connection_lost
                                 : how == send::ending::garbled ? errc::bad_response
                                                                : why);
        e.text = std::string(what) + ": " + text;
    }
    return e;
}

// ---- asking, from any thread ----

template <typename T>
asked<T> core::ask_and_wait(std::chrono::milliseconds timeout,
                            const std::function<void(std::int64_t deadline_ns, std::shared_ptr<one_answer<T>>)>& begin)
{
    if (on_io_side_())
        return asking_failed(errc::would_deadlock, "a blocking call on the producer's own I/O thread");
    if (closing_.load(std::memory_order_seq_cst))
        return asking_failed(errc::closed, "the producer is closed");
    const std::int64_t deadline_ns = net::monotonic_ns() + bounded_ns(timeout);
    auto answer = std::make_shared<one_answer<T>>();
    boost::asio::post(executor_, [self = shared_from_this(), begin, deadline_ns, answer] {
        self->links_->refresh();
        if (self->closed_io_ || self->saying_goodbye_) {
            (*answer)(asking_failed(errc::closed, "the producer is closed"));
            return;
        }
        begin(deadline_ns, answer);
        self->links_->flush_all();
    });
    return answer->wait_until(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns) + late));
}

template asked<bool> core::ask_and_wait(std::chrono::milliseconds,
                                        const std::function<void(std::int64_t, std::shared_ptr<one_answer<bool>>)>&);  // transactions.cpp

void core::with_route(const std::string& topic, std::int64_t deadline_ns,
                      std::function<void(std::shared_ptr<const route::topic_route>, ask_error)> then)
{
    topics_[topic];
    routes_->need(topic, deadline_ns, [this, topic, then = std::move(then)](route_cache::answer heard, std::string_view text) {
        const auto r = routes_->find(topic);
        if (heard == route_cache::answer::known && r != nullptr)
            return then(r, {});
        const bool unknown = heard == route_cache::answer::unknown_topic;
        then(nullptr, asking_failed(unknown ? errc::no_route : routes_->why_failed(topic),
                                    unknown ? "no name server knows topic '" + topic + "'"
                                            : "no route of topic '" + topic + "': " + std::string(text)));
    });
}

void core::ask_address(const std::string& address, net::question q, std::int64_t deadline_ns, std::function<void(kept_answer)> then)
{
    const bool read = q.code == wire::code::pull_message;  // not served on the second port
    net::ask(*links_, read ? address : send_address(address), format_, std::move(q), deadline_ns,
             [then = std::move(then)](const net::reply& r) { then(kept_answer(r)); });
}

void core::ask_broker(const std::string& topic, const std::string& broker, net::question q, std::int64_t deadline_ns,
                      std::function<void(kept_answer)> then)
{
    with_route(topic, deadline_ns,
               [this, topic, broker, q = std::move(q), deadline_ns, then = std::move(then)](const auto& route, const ask_error& e) mutable {
        const route::broker* found = route != nullptr ? route->find(broker) : nullptr;
        const std::string* address = found != nullptr ? found->master() : nullptr;
        if (address == nullptr) {
            kept_answer a;
            a.text = route == nullptr ? e.text : "the route of topic '" + topic + "' has no master of broker '" + broker + "'";
            then(std::move(a));
            return;
        }
        q.fields.emplace_back("bname", broker);
        ask_address(*address, std::move(q), deadline_ns, std::move(then));
    });
}

// ---- recall ----

asked<std::string> core::recall(const std::string& topic, const std::string& handle, std::chrono::milliseconds timeout)
{
    if (auto bad = check_topic(topic))
        return asking_failed(bad->why, std::move(bad->text));
    const auto place = wire::read_recall_handle(handle);
    if (!place)
        return asking_failed(errc::not_recallable, "the handle is none a broker gave; it must be the recall_handle of a receipt");
    if (place->topic != wire_topic(topic))
        return asking_failed(errc::not_recallable, "the handle is of topic '" + place->topic + "', not of '" + topic + "'");
    return ask_and_wait<std::string>(timeout, [this, topic = wire_topic(topic), handle, broker = place->broker](std::int64_t deadline_ns, auto answer) {
        net::question q;
        q.code = wire::code::recall_message;
        q.fields = {{"producerGroup", group_}, {"topic", topic}, {"recallHandle", handle}};
        ask_broker(topic, broker, std::move(q), deadline_ns, [answer, broker](const kept_answer& a) {
            if (a.success())
                (*answer)(std::string(a.field("msgId")));
            else
                (*answer)(a.error("recall on " + broker));
        });
    });
}

// ---- topics ----

asked<std::vector<std::string>> core::create_topic(const std::string& topic, const topic_settings& settings, std::chrono::milliseconds timeout)
{
    if (auto bad = check_topic(topic))
        return asking_failed(bad->why, std::move(bad->text));
    if (settings.queues < 1 || settings.queues > 65535)
        return asking_failed(errc::invalid_settings, std::to_string(settings.queues) + " queues; it must be a number from 1 to 65535");
    if (settings.perm < 0 || settings.perm > 7 || (settings.perm & 6) == 0)
        return asking_failed(errc::invalid_settings, "permission " + std::to_string(settings.perm) + "; it must be 2 (write), 4 (read) or 6 (both)");
    return ask_and_wait<std::vector<std::string>>(timeout, [this, topic = wire_topic(topic), settings](std::int64_t deadline_ns, auto answer) {
        net::question cluster;
        cluster.code = wire::code::get_cluster_info;
        servers_->ask(std::move(cluster), deadline_ns, deadline_ns, [this, topic, settings, deadline_ns, answer](const route_answer& heard) {
            if (heard.what != route_answer::kind::found)
                return (*answer)(asking_failed(errc::route_timeout, "the brokers of the cluster: " + heard.text));
            std::string error;
            const std::vector<route::broker> brokers = route::parse_cluster(heard.body, error);
            if (!error.empty())
                return (*answer)(asking_failed(errc::bad_response, error));
            std::vector<const route::broker*> wanted;
            std::string known;
            for (const route::broker& b : brokers) {
                known += (known.empty() ? "" : ", ") + b.name;
                const bool named = std::find(settings.brokers.begin(), settings.brokers.end(), b.name) != settings.brokers.end();
                if (b.master() != nullptr && (settings.brokers.empty() || named))
                    wanted.push_back(&b);
            }
            for (const std::string& name : settings.brokers) {
                if (std::none_of(wanted.begin(), wanted.end(), [&](const route::broker* b) { return b->name == name; }))
                    return (*answer)(asking_failed(errc::invalid_settings, "there is no master of broker '" + name + "'; there are " + known));
            }
            if (wanted.empty())
                return (*answer)(asking_failed(errc::no_route, "the name server knows no broker"));
            struct progress {
                std::size_t left = 0;
                std::vector<std::string> done;
            };
            auto state = std::make_shared<progress>();
            state->left = wanted.size();
            static constexpr std::array<std::string_view, 6> kinds{"", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "PRIORITY"};
            for (const route::broker* b : wanted) {
                net::question q;
                q.code = wire::code::update_and_create_topic;
                q.fields = {{"topic", topic}, {"defaultTopic", options_.default_topic},
                            {"readQueueNums", std::to_string(settings.queues)}, {"writeQueueNums", std::to_string(settings.queues)},
                            {"perm", std::to_string(settings.perm)}, {"topicFilterType", "SINGLE_TAG"}, {"topicSysFlag", "0"},
                            {"order", settings.ordered ? "true" : "false"}, {"bname", b->name}};
                if (settings.kind != topic_kind::unspecified)
                    q.fields.emplace_back("attributes", "+message.type=" + std::string(kinds.at(static_cast<std::size_t>(settings.kind))));
                ask_address(*b->master(), std::move(q), deadline_ns, [this, topic, state, answer, name = b->name](const kept_answer& a) {
                    if (!a.success())
                        return (*answer)(a.error("topic '" + topic + "' on " + name));
                    state->done.push_back(name);
                    if (--state->left != 0)
                        return;
                    routes_->refresh(topic, links_->now_ns() + 3'000'000'000, {});
                    std::sort(state->done.begin(), state->done.end());
                    (*answer)(state->done);
                });
            }
        });
    });
}

asked<std::int64_t> core::offset(const std::string& topic, const std::string& broker, int queue, offset_kind kind, std::int64_t time_ms,
                                 std::chrono::milliseconds timeout)
{
    if (auto bad = check_topic(topic))
        return asking_failed(bad->why, std::move(bad->text));
    return ask_and_wait<std::int64_t>(timeout, [=, this, topic = wire_topic(topic)](std::int64_t deadline_ns, auto answer) {
        net::question q;
        q.code = kind == offset_kind::min   ? wire::code::get_min_offset
                 : kind == offset_kind::max ? wire::code::get_max_offset
                                            : wire::code::search_offset_by_timestamp;
        q.fields = {{"topic", topic}, {"queueId", std::to_string(queue)}};
        if (kind == offset_kind::max)
            q.fields.emplace_back("committed", "true");
        if (kind == offset_kind::at_time) {
            q.fields.emplace_back("timestamp", std::to_string(time_ms));
            q.fields.emplace_back("boundaryType", "lower");
        }
        ask_broker(topic, broker, std::move(q), deadline_ns, [answer, where = broker + "/" + std::to_string(queue)](const kept_answer& a) {
            if (const auto found = a.success() ? a.number("offset") : std::nullopt)
                (*answer)(*found);
            else
                (*answer)(a.error("offset of " + where));
        });
    });
}

// ---- stored messages ----

bool core::take_stored(std::string_view bytes, const std::string& broker, std::vector<stored_message>& out, std::string& what) const
{
    for (;;) {
        wire::stored_message m;
        const auto status = wire::read_stored(bytes, m, what);
        if (status == wire::stored_status::end)
            return true;
        if (status == wire::stored_status::bad)
            return false;
        if (status == wire::stored_status::blank)
            continue;
        if (wire::body_crc(m.body) != m.body_crc) {
            what = "the body of the message at " + std::to_string(m.queue_offset) + " does not match its checksum";
            return false;
        }
        stored_message& s = out.emplace_back();
        s.topic = m.topic;
        s.broker = broker;
        s.queue = m.queue_id;
        s.offset = m.queue_offset;
        s.flag = m.flag;
        s.sys_flag = m.sys_flag;
        s.reconsume_times = m.reconsume_times;
        s.born = time_of(m.born_ms);
        s.stored = time_of(m.store_ms);
        s.born_host = host_text(m.born_host);
        s.store_host = host_text(m.store_host);
        s.offset_msg_id = wire::offset_id({m.store_host.address.data(), m.store_host.ipv6 ? 16U : 4U}, m.store_host.port, m.commit_log_offset);
        wire::each_property(m.properties, [&](std::string_view name, std::string_view value) {
            const auto same = std::find_if(s.properties.begin(), s.properties.end(), [&](const auto& p) { return p.first == name; });
            if (same != s.properties.end())
                same->second = value;
            else
                s.properties.emplace_back(name, value);
        });
        s.msg_id = s.property("UNIQ_KEY");
        if (s.msg_id.empty())
            s.msg_id = s.offset_msg_id;
        const auto plain = wire::plain_body(m.sys_flag, m.body, options_.max_inflated);
        s.body = plain ? *plain : std::string(m.body);
    }
}

asked<stored_message> core::view(const std::string& topic, const std::string& id, std::chrono::milliseconds timeout)
{
    if (auto bad = check_topic(topic))
        return asking_failed(bad->why, std::move(bad->text));
    const auto place = wire::parse_offset_id(id);
    if (!place)
        return asking_failed(errc::invalid_settings, "'" + id.substr(0, 64) + "' is no message id; it must be 32 or 56 hexadecimal digits");
    // An id made by a client looks like one made by a broker: it is the latter if a broker of the route is at its address.
    using list = std::vector<stored_message>;
    auto found = ask_and_wait<list>(timeout, [this, topic = wire_topic(topic), place](std::int64_t deadline_ns, auto answer) {
        with_route(topic, deadline_ns, [this, topic, place, deadline_ns, answer](const auto& route, const ask_error& e) {
            if (route == nullptr)
                return (*answer)(e);
            const bool v6 = place->address.find(':') != std::string::npos;
            const std::string address = (v6 ? "[" + place->address + "]:" : place->address + ":") + std::to_string(place->port);
            for (const route::broker& b : route->brokers) {
                for (const auto& [broker_id, own] : b.addresses) {
                    if (own != address)
                        continue;
                    net::question q;
                    q.code = wire::code::view_message_by_id;
                    q.fields = {{"topic", topic}, {"offset", std::to_string(place->offset)}, {"bname", b.name}};
                    return ask_address(own, std::move(q), deadline_ns, [this, answer, name = b.name](const kept_answer& a) {
                        list all;
                        std::string what;
                        if (!a.success())
                            (*answer)(a.error("message on " + name));
                        else if (!take_stored(a.body, name, all, what))
                            (*answer)(asking_failed(errc::bad_response, "the answer of " + name + ": " + what));
                        else
                            (*answer)(std::move(all));
                    });
                }
            }
            (*answer)(list{});
        });
    });
    if (!found)
        return found.error();
    if (found->empty()) {
        found = query(topic, id, 1, 0, INT64_MAX, true, timeout);
        if (!found)
            return found.error();
        if (found->empty())
            return asking_failed(errc::not_found, "no broker of topic '" + topic + "' has a message " + id);
    }
    return std::move(found->front());
}

asked<std::vector<stored_message>> core::query(const std::string& topic, const std::string& key, int most, std::int64_t from_ms,
                                               std::int64_t to_ms, bool unique, std::chrono::milliseconds timeout)
{
    if (auto bad = check_topic(topic))
        return asking_failed(bad->why, std::move(bad->text));
    if (key.empty() || most < 1)
        return asking_failed(errc::invalid_settings, key.empty() ? "the key is empty" : "at most " + std::to_string(most) + " messages; it must be 1 or more");
    using list = std::vector<stored_message>;
    return ask_and_wait<list>(timeout, [=, this, topic = wire_topic(topic)](std::int64_t deadline_ns, auto answer) {
        with_route(topic, deadline_ns, [=, this](const auto& route, const ask_error& e) {
            if (route == nullptr)
                return (*answer)(e);
            struct progress {
                std::size_t left = 0;
                list found;
                std::optional<ask_error> error;
            };
            auto state = std::make_shared<progress>();
            std::vector<const route::broker*> masters;
            for (const route::broker& b : route->brokers) {
                if (b.master() != nullptr)
                    masters.push_back(&b);
            }
            state->left = masters.size();
            if (masters.empty())
                return (*answer)(asking_failed(errc::no_route, "topic '" + topic + "' has no broker with a master"));
            for (const route::broker* b : masters) {
                net::question q;
                q.code = wire::code::query_message;
                q.fields = {{"topic", topic}, {"key", key}, {"maxNum", std::to_string(most)}, {"beginTimestamp", std::to_string(from_ms)},
                            {"endTimestamp", std::to_string(to_ms)}, {"_UNIQUE_KEY_QUERY", unique ? "true" : "false"}, {"bname", b->name}};
                ask_address(*b->master(), std::move(q), deadline_ns, [this, answer, state, key, unique, name = b->name](const kept_answer& a) {
                    std::string what;
                    if (a.success()) {
                        if (!take_stored(a.body, name, state->found, what))
                            state->error = asking_failed(errc::bad_response, "the answer of " + name + ": " + what);
                    } else if (!a.answered() || a.code != wire::response::query_not_found) {
                        state->error = a.error("query on " + name);
                    }
                    if (--state->left != 0)
                        return;
                    // The index goes by hashes: what it gives may be of another key.
                    std::erase_if(state->found, [&](const stored_message& m) {
                        if (unique)
                            return m.msg_id != key;
                        const std::string keys = " " + std::string(m.property("KEYS")) + " ";
                        return keys.find(" " + key + " ") == std::string::npos;
                    });
                    std::sort(state->found.begin(), state->found.end(), [](const auto& x, const auto& y) { return x.stored < y.stored; });
                    if (state->found.empty() && state->error)
                        (*answer)(*state->error);
                    else
                        (*answer)(std::move(state->found));
                });
            }
        });
    });
}

}  // namespace shunt::client
