// A broker's life: topics, faults, and which piece of it answers what.

#include <cluster/broker_parts.hpp>

#include <wire/message_id.hpp>

namespace shunt::cluster {

broker* shared_state::find(std::string_view name) const noexcept
{
    for (const auto& one : brokers)
        if (one->name() == name)
            return one.get();
    return nullptr;
}

void shared_state::create_everywhere(const topic_config& config)
{
    for (const auto& one : brokers)
        if (one->messages().find(config.name) == nullptr)
            one->messages().put_topic(config);
}

std::string topic_problem(std::string_view topic)
{
    if (topic.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return "The specified topic is blank.";
    const bool legal = std::all_of(topic.begin(), topic.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '%' || c == '|';
    });
    if (!legal)
        return "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$";
    const bool derived = has_prefix(topic, "%RETRY%") || has_prefix(topic, "%DLQ%");
    if (topic.size() > (derived ? 255U : 127U))
        return "The specified topic is longer than topic max length.";
    return {};
}

bool is_forbidden_topic(std::string_view topic) noexcept
{
    constexpr std::array<std::string_view, 6> forbidden{"SCHEDULE_TOPIC_XXXX", half_topic, "RMQ_SYS_TRANS_OP_HALF_TOPIC",
                                                        "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT"};
    return std::find(forbidden.begin(), forbidden.end(), topic) != forbidden.end();
}

bool is_system_topic(std::string_view topic) noexcept
{
    constexpr std::array<std::string_view, 4> others{default_topic, "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC", "CHECKPOINT_TOPIC"};
    return is_forbidden_topic(topic) || has_prefix(topic, "rmq_sys_") ||
           std::find(others.begin(), others.end(), topic) != others.end();
}

broker::broker(std::string name, wire::host_address host, std::string host_text, shared_state& cluster)
    : name_(std::move(name)), host_text_(std::move(host_text)), cluster_(cluster), store_(host, cluster.settings.keep_bodies)
{
    set_port(static_cast<std::uint16_t>(host.port));
    const options& o = cluster_.settings;
    if (o.auto_create) {
        // Clients take min(their own default, usually 4; this count) queues for a topic that is not there yet.
        const std::int32_t queues = o.queues < 4 ? o.queues : std::max(8, o.queues);
        store_.put_topic({.name = std::string(default_topic), .read_queues = queues, .write_queues = queues, .perm = 7});
    }
    store_.put_topic({.name = o.cluster_name + "_REPLY_TOPIC", .read_queues = 1, .write_queues = 1, .perm = 6});
    wire::buffer added;
    wire::put_property(added, "MSG_REGION", "DefaultRegion");
    wire::put_property(added, "TRACE_ON", "true");
    wire::put_property(added, "CLUSTER", o.cluster_name);
    stored_properties_ = added.view();
}

void broker::set_port(std::uint16_t port)
{
    store_.set_port(port);
    const wire::host_address& host = store_.host();
    address_ = host.ipv6 ? fmt::format("[{}]:{}", host_text_, port) : fmt::format("{}:{}", host_text_, port);
    const std::size_t size = host.ipv6 ? 16 : 4;
    id_prefix_ = wire::offset_id({host.address.data(), size}, port, 0);
    id_prefix_.resize(id_prefix_.size() - 16);
}

void broker::apply(const set_perm& perm)
{
    if (perm.topic.empty())
        perm_ = perm.perm;
    else
        topic_perms_[perm.topic] = perm.perm;
}

void broker::undo_faults()
{
    latency_ = {};
    behaviour_ = {};
    perm_ = 7;
    topic_perms_.clear();
    queue_counts_.clear();
    registered = true;
}

topic_config broker::effective(const topic_config& config) const
{
    topic_config c = config;
    if (!topic_perms_.empty())
        if (const auto it = topic_perms_.find(c.name); it != topic_perms_.end())
            c.perm = it->second;
    if (!queue_counts_.empty())
        if (const auto it = queue_counts_.find(c.name); it != queue_counts_.end())
            c.read_queues = c.write_queues = it->second;
    c.perm &= perm_;
    return c;
}

void broker::opened(peer&)
{
    ++counts_.accepted;
    ++counts_.open;
}

void broker::closed(peer& from)
{
    --counts_.open;
    std::erase_if(clients_, [&from](const auto& entry) { return entry.second.key == &from; });
}

void broker::request(peer& from, const wire::frame& frame, std::int64_t now_ms)
{
    wire::command request;
    if (!decoder_.decode(frame, request)) {
        from.end(ending::finish);
        return;
    }
    if (request.is_response())
        return;  // to a pushed reply
    ++counts_.requests;
    ++counts_.by_code[request.code];
    if (is_send(request.code))
        ++counts_.sends;

    if (behaviour_.what != behaviour::well && (behaviour_.what == behaviour::hang || is_send(request.code))) {
        misbehave(from, request, frame.body, now_ms);
        return;
    }
    if (latency_.count() == 0) {
        const std::size_t before = from.out().size();
        answer(from, request, frame.body, from.out(), now_ms);
        if (request.is_oneway())
            from.out().truncate(before);
        return;
    }
    scratch_.clear();
    answer(from, request, frame.body, scratch_, now_ms);
    if (!request.is_oneway() && !scratch_.empty())
        from.later(latency_, std::string(scratch_.view()), ending::none);
}

void broker::misbehave(peer& from, const wire::command& request, std::string_view body, std::int64_t now_ms)
{
    const behaviour what = behaviour_.what;
    scratch_.clear();
    if (what == behaviour::code && !is_stored(behaviour_.code))
        refuse_with_code(request, scratch_);
    else if (what == behaviour::hang || what == behaviour::drop) {
        if (behaviour_.stored && is_send(request.code))
            answer(from, request, body, scratch_, now_ms);
        scratch_.clear();
    }
    else if (what != behaviour::close)
        answer(from, request, body, scratch_, now_ms);

    if (request.is_oneway())
        scratch_.clear();
    std::string bytes{scratch_.view()};
    ending then = ending::none;
    switch (what) {
    case behaviour::drop: then = ending::finish; break;
    case behaviour::close: then = ending::reset; break;
    case behaviour::half:
        bytes.resize(bytes.size() / 2);
        then = ending::finish;
        break;
    case behaviour::garbage: bytes = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"; break;
    case behaviour::twice: bytes += bytes; break;
    case behaviour::hang:
    case behaviour::code:
    case behaviour::well: break;
    }
    if (latency_.count() != 0 && (!bytes.empty() || then != ending::none)) {
        from.later(latency_, std::move(bytes), then);
        return;
    }
    from.out().put(bytes);
    if (then != ending::none)
        from.end(then);
}

void broker::refuse_with_code(const wire::command& request, wire::buffer& out) const
{
    std::string_view topic = request.find("b").value_or(request.find("topic").value_or(""));
    const std::string remark =
        behaviour_.text.empty() ? usual_remark(behaviour_.code, topic, host_text_) : behaviour_.text;
    // Refused before the message was looked at, as busy and departing brokers do: no region in the answer.
    const bool early = behaviour_.code == response::system_busy || behaviour_.code == response::go_away;
    put_answer(out, cluster_.style, request, behaviour_.code, remark,
               early ? std::span<const field>{} : std::span<const field>{region});
}

void broker::answer(peer& from, const wire::command& request, std::string_view body, wire::buffer& out, std::int64_t now_ms)
{
    const std::string_view from_port = from.name();
    const acl_form form = cluster_.settings.acl;
    const std::string refused = cluster_.access.refusal(request, body, from_port.substr(0, from_port.rfind(':')), form);
    if (!refused.empty())
        return put_answer(out, cluster_.style, request, form == acl_form::v1 ? response::system_error : response::no_permission, refused);
    switch (request.code) {
    case code::send_message:
    case code::send_message_v2:
    case code::send_batch_message: return send(from, request, body, out, now_ms);
    case code::send_reply_message:
    case code::send_reply_message_v2: return reply(from, request, body, out, now_ms);
    case code::heart_beat: return heart_beat(from, request, body, out);
    case code::unregister_client: return unregister(request, out);
    case code::end_transaction: return end_transaction(request, out, now_ms);
    case code::pull_message: return pull(from, request, out);
    case code::get_max_offset:
    case code::get_min_offset:
    case code::search_offset_by_timestamp: return offset(request, out);
    case query_consumer_offset:
    case update_consumer_offset: return consumer_offset(request, out);
    case code::query_message: return query(request, out);
    case code::view_message_by_id: return view(request, out);
    case code::update_and_create_topic: return create_topic(request, out);
    case get_consumer_list: return consumers_of(request, out);
    case delete_topic_in_broker:
        store_.erase_topic(request.find("topic").value_or(""));
        return put_answer(out, cluster_.style, request, response::success);
    case get_broker_config: {
        const std::string text = fmt::format("brokerName={}\nbrokerClusterName={}\nbrokerId=0\nautoCreateTopicEnable={}\n"
                                             "maxMessageSize={}\nbrokerPermission={}\n",
                                             name_, cluster_.settings.cluster_name, cluster_.settings.auto_create,
                                             cluster_.settings.max_body, perm_ & 6);
        return put_answer(out, cluster_.style, request, response::success, {}, {}, text);
    }
    case code::get_broker_runtime_info: {
        const std::string text = fmt::format(R"({{"table":{{"brokerVersionDesc":"embedded","msgPutTotalTodayNow":"{}"}}}})",
                                             counts_.stored);
        return put_answer(out, cluster_.style, request, response::success, {}, {}, text);
    }
    case code::recall_message: return recall(request, out, now_ms);
    default:
        return put_answer(out, cluster_.style, request, response::request_code_not_supported,
                          fmt::format(" request type {} not supported", request.code));
    }
}

}  // namespace shunt::cluster
