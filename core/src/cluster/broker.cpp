#include <cluster/broker.hpp>

#include <wire/batch.hpp>
#include <wire/message_id.hpp>
#include <wire/properties.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace shunt::cluster {
namespace {

namespace code = wire::code;
namespace response = wire::response;
using wire::field;

// Requests that only servers know.
constexpr std::int32_t query_consumer_offset = 14, update_consumer_offset = 15, get_broker_config = 26,
                       get_consumer_list = 38, delete_topic_in_broker = 215;

constexpr std::array<field, 2> region{field{"TRACE_ON", "true"}, field{"MSG_REGION", "DefaultRegion"}};
constexpr std::int32_t sys_transaction_bits = 0xC, sys_commit = 0x8;
constexpr std::size_t max_properties = 32767;
constexpr std::size_t max_pull_bytes = 256 * 1024;

bool is_send(std::int32_t request) noexcept
{
    return request == code::send_message || request == code::send_message_v2 || request == code::send_batch_message ||
           request == code::send_reply_message || request == code::send_reply_message_v2;
}

bool is_stored(std::int32_t answer) noexcept
{
    return answer == response::success || answer == response::flush_disk_timeout ||
           answer == response::slave_not_available || answer == response::flush_slave_timeout;
}

bool has_prefix(std::string_view text, std::string_view prefix) noexcept
{
    return text.substr(0, prefix.size()) == prefix;
}

struct decimal {
    explicit decimal(std::int64_t v) noexcept
        : size(static_cast<std::size_t>(std::to_chars(digits.data(), digits.data() + digits.size(), v).ptr - digits.data()))
    {
    }
    [[nodiscard]] std::string_view view() const noexcept { return {digits.data(), size}; }
    std::array<char, 20> digits;
    std::size_t size;
};

void put_offset_id(std::string& out, std::string_view prefix, std::int64_t offset)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    out += prefix;
    for (int shift = 60; shift >= 0; shift -= 4)
        out += digits[static_cast<std::size_t>(offset >> shift) & 0xF];
}

/// What a broker says when it answers with the code for a reason of its own.
std::string usual_remark(std::int32_t answer, std::string_view topic, std::string_view host)
{
    switch (answer) {
    case response::system_error: return "store putMessage return null";
    case response::system_busy:
        return "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 206ms, size of queue: 5";
    case response::message_illegal:
        return "the message is illegal, maybe msg body or properties length not matched. msg body length limit 4194304B, "
               "msg properties length limit 32KB.";
    case response::service_not_available:
        return "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
               "[CL:  0.95 CQ:  0.95 INDEX:  0.95], messages are put to the slave, message store has been shut down, etc.";
    case response::no_permission: return fmt::format("the broker[{}] sending message is forbidden", host);
    case response::topic_not_exist:
        return fmt::format("topic[{}] not exist, apply first please!\nSee "
                           "https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.", topic);
    case response::go_away: return "please go away";
    default: return fmt::format("told to answer {}", answer);
    }
}

std::string illegal_message(std::size_t max_body)
{
    return fmt::format("the message is illegal, maybe msg body or properties length not matched. msg body length limit {}B, "
                       "msg properties length limit 32KB.", max_body);
}

std::optional<std::int64_t> number(std::string_view text) noexcept
{
    std::int64_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

/// The first of the three that is there counts; three days at most.
bool timer_is_fine(std::string_view delay_s, std::string_view delay_ms, std::string_view deliver_at, std::int64_t now_ms)
{
    constexpr std::int64_t most_ms = 259'200'000;
    if (!delay_s.empty()) {
        const auto value = number(delay_s);
        return value && *value <= most_ms / 1000;
    }
    if (!delay_ms.empty()) {
        const auto value = number(delay_ms);
        return value && *value <= most_ms;
    }
    if (!deliver_at.empty()) {
        const auto value = number(deliver_at);
        return value && *value <= now_ms + most_ms;
    }
    return true;
}

std::string perm_text(std::int32_t perm)
{
    std::string text;
    text += (perm & 4) != 0 ? 'R' : '-';
    text += (perm & 2) != 0 ? 'W' : '-';
    text += (perm & 1) != 0 ? 'X' : '-';
    return text;
}

/// Whether a subscription such as "*" or "TagA || TagB" takes a message with `tag`.
bool takes(std::string_view subscription, std::string_view tag)
{
    if (subscription.empty() || subscription == "*")
        return true;
    while (!subscription.empty()) {
        const auto end = subscription.find("||");
        std::string_view one = subscription.substr(0, end);
        subscription = end == std::string_view::npos ? std::string_view{} : subscription.substr(end + 2);
        const auto first = one.find_first_not_of(' ');
        if (first == std::string_view::npos)
            continue;
        one = one.substr(first, one.find_last_not_of(' ') - first + 1);
        if (one == tag)
            return true;
    }
    return false;
}

}  // namespace

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
    case code::recall_message:
        return put_answer(out, cluster_.style, request, response::no_permission, "recall failed, operation is forbidden",
                          std::array{region[1]});
    default:
        return put_answer(out, cluster_.style, request, response::request_code_not_supported,
                          fmt::format(" request type {} not supported", request.code));
    }
}

// ---- sending ----

const record& broker::put(topic_log& topic, const new_message& m)
{
    ++counts_.stored;
    return store_.append(topic, m, ++cluster_.sequence);
}

/// The topic a message goes to, created where that is allowed. Null: the answer says why not.
topic_log* broker::topic_for(const wire::command& request, const wire::send_head& head, wire::buffer& out)
{
    const auto fail = [&](std::int32_t code, std::string_view remark) {
        put_answer(out, cluster_.style, request, code, remark, region);
        return nullptr;
    };
    topic_log* topic = store_.find(head.topic);
    if (topic == nullptr) {
        if (const std::string problem = topic_problem(head.topic); !problem.empty())
            return fail(response::invalid_parameter, problem);
    }
    else if (topic->config.order && (perm_ & 2) == 0)
        return fail(response::no_permission, fmt::format("the broker[{}] sending message is forbidden", host_text_));
    if (is_forbidden_topic(head.topic))
        return fail(response::no_permission, fmt::format("Sending message to topic[{}] is forbidden.", head.topic));
    if (topic == nullptr) {
        const bool derived = has_prefix(head.topic, "%RETRY%") || has_prefix(head.topic, "%DLQ%");
        const topic_log* model = store_.find(head.default_topic);
        const bool may_create = cluster_.settings.auto_create && model != nullptr && (model->config.perm & 1) != 0;
        if (!derived && !may_create)
            return fail(response::topic_not_exist, usual_remark(response::topic_not_exist, head.topic, host_text_));
        const std::int32_t queues = derived ? 1
                                            : std::max(cluster_.settings.queues,
                                                       std::min(head.default_topic_queues, model->config.write_queues));
        cluster_.create_everywhere({.name = std::string(head.topic), .read_queues = queues, .write_queues = queues, .perm = 6});
        topic = store_.find(head.topic);
    }
    return topic;
}

void broker::send(peer& from, const wire::command& request, std::string_view body, wire::buffer& out, std::int64_t now_ms)
{
    wire::send_head head;
    std::string_view wrong;
    if (!wire::read_send_head(request, head, wrong)) {
        put_answer(out, cluster_.style, request, response::system_error,
                   fmt::format("java.lang.NullPointerException: header field {} is missing or not a number", wrong));
        return;
    }
    if (body.empty()) {
        put_answer(out, cluster_.style, request, response::system_error,
                   "java.lang.NullPointerException: Cannot read the array length because the return value of "
                   "\"org.apache.rocketmq.remoting.protocol.RemotingCommand.getBody()\" is null");
        return;
    }
    topic_log* topic = topic_for(request, head, out);
    if (topic == nullptr)
        return;

    const auto fail = [&](std::int32_t code, std::string_view remark) {
        put_answer(out, cluster_.style, request, code, remark, region);
    };
    const topic_config& plain = topic->config;
    std::int32_t read_queues = plain.read_queues, write_queues = plain.write_queues;
    if (!queue_counts_.empty()) {
        const topic_config now = effective(plain);
        read_queues = now.read_queues;
        write_queues = now.write_queues;
    }
    if (head.queue_id >= std::max(read_queues, write_queues))
        return fail(response::invalid_parameter,
                    fmt::format("request queueId[{}] is illegal, TopicConfig [topicName={}, readQueueNums={}, "
                                "writeQueueNums={}, perm={}, topicFilterType=SINGLE_TAG, topicSysFlag={}, order={}, "
                                "attributes={{}}] Producer: {}",
                                head.queue_id, plain.name, read_queues, write_queues, perm_text(plain.perm), plain.sys_flag,
                                plain.order, from.name()));
    if (head.queue_id < 0) {
        if (write_queues <= 0)
            return fail(response::system_error, "java.lang.IllegalArgumentException: bound must be positive");
        head.queue_id = static_cast<std::int32_t>(next_queue_++ % static_cast<std::uint32_t>(write_queues));
    }

    if (head.batch)
        return send_batch(from, request, head, body, *topic, out, now_ms);

    // One look at the properties for all that matters here.
    std::string_view unique_key, delay, delay_s, delay_ms, deliver_at;
    bool inner = false, half = false;
    wire::each_property(head.properties, [&](std::string_view name, std::string_view value) {
        if (name == "UNIQ_KEY")
            unique_key = value;
        else if (name == "DELAY")
            delay = value;
        else if (name == "INNER_NUM")
            inner = true;
        else if (name == "TRAN_MSG")
            half = value == "true";
        else if (name == "TIMER_DELAY_SEC")
            delay_s = value;
        else if (name == "TIMER_DELAY_MS")
            delay_ms = value;
        else if (name == "TIMER_DELIVER_MS")
            deliver_at = value;
    });
    std::string closed_properties;
    if (!head.properties.empty() && head.properties.back() != '\x02') {
        closed_properties = std::string(head.properties) + '\x02';
        head.properties = closed_properties;
    }
    wire::buffer half_properties;
    std::string_view more_properties = stored_properties_;
    if (half) {
        half_properties.put(stored_properties_);
        wire::put_property(half_properties, "REAL_TOPIC", head.topic);
        wire::put_property(half_properties, "REAL_QID", decimal(head.queue_id).view());
        more_properties = half_properties.view();
    }
    if (body.size() > cluster_.settings.max_body || inner || head.properties.size() + more_properties.size() > max_properties)
        return fail(response::message_illegal, illegal_message(cluster_.settings.max_body));
    if (!delay.empty()) {
        if (!number(delay))
            return put_answer(out, cluster_.style, request, response::system_error,
                              fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", delay));
    } else if (!timer_is_fine(delay_s, delay_ms, deliver_at, now_ms))
        return fail(response::message_illegal,
                    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if "
                    "set del msg, the delay time should be bigger than the current time");

    new_message m;
    m.queue_id = head.queue_id;
    m.flag = head.flag;
    m.sys_flag = head.sys_flag;
    m.born_ms = head.born_ms;
    m.stored_ms = now_ms;
    m.born_host = from.address();
    m.properties = head.properties;
    m.more_properties = more_properties;
    m.body = body;
    if (half) {
        topic = store_.find(half_topic);
        if (topic == nullptr)
            topic = &store_.put_topic({.name = std::string(half_topic), .read_queues = 1, .write_queues = 1, .perm = 6});
        m.queue_id = 0;
        m.sys_flag &= ~sys_transaction_bits;
    }
    const record& r = put(*topic, m);
    if (half)
        undecided_.insert(r.commit_log_offset);
    std::string id;
    id.reserve(56);
    put_offset_id(id, id_prefix_, r.commit_log_offset);
    stored_answer(out, request, id, head.queue_id, r.queue_offset, unique_key);
}

void broker::send_batch(peer& from, const wire::command& request, const wire::send_head& head, std::string_view body,
                        topic_log& topic, wire::buffer& out, std::int64_t now_ms)
{
    if (has_prefix(topic.config.name, "%RETRY%"))
        return put_answer(out, cluster_.style, request, response::message_illegal,
                          fmt::format("batch request does not support retry group {}", topic.config.name), region);
    if (!wire::find_property(head.properties, "DELAY").empty())
        return put_answer(out, cluster_.style, request, response::message_illegal,
                          illegal_message(cluster_.settings.max_body), region);
    if (body.size() > cluster_.settings.max_body)
        return put_answer(out, cluster_.style, request, response::system_error,
                          fmt::format("java.lang.RuntimeException: message body size exceeded, msg body size: {}, maxMessageSize: {}",
                                      body.size(), cluster_.settings.max_body));

    // Nothing is stored unless all of it can be read.
    std::vector<wire::batch_item> items;
    wire::batch_item item;
    std::string wrong;
    for (std::string_view rest = body; wire::read_batch_item(rest, item, wrong);)
        items.push_back(item);
    if (!wrong.empty() || items.empty())
        return put_answer(out, cluster_.style, request, response::system_error,
                          fmt::format("java.nio.BufferUnderflowException, {}", wrong));

    std::string ids;
    ids.reserve(items.size() * (id_prefix_.size() + 17));
    std::int64_t first = -1;
    for (const wire::batch_item& one : items) {
        new_message m;
        m.queue_id = head.queue_id;
        m.flag = one.flag;
        m.sys_flag = head.sys_flag;
        m.born_ms = head.born_ms;
        m.stored_ms = now_ms;
        m.born_host = from.address();
        m.properties = one.properties;
        m.body = one.body;
        const record& r = put(topic, m);
        if (first < 0)
            first = r.queue_offset;
        if (!ids.empty())
            ids += ',';
        put_offset_id(ids, id_prefix_, r.commit_log_offset);
    }
    stored_answer(out, request, ids, head.queue_id, first, wire::find_property(head.properties, "UNIQ_KEY"));
}

void broker::stored_answer(wire::buffer& out, const wire::command& request, std::string_view ids, std::int32_t queue_id,
                           std::int64_t queue_offset, std::string_view unique_key) const
{
    const decimal queue(queue_id), offset(queue_offset);
    const std::array<field, 6> fields{field{"queueId", queue.view()},    field{"transactionId", unique_key},
                                      field{"msgId", ids},               region[0],
                                      region[1],                         field{"queueOffset", offset.view()}};
    const std::int32_t code = behaviour_.what == behaviour::code ? behaviour_.code : response::success;
    put_answer(out, cluster_.style, request, code, behaviour_.what == behaviour::code ? behaviour_.text : std::string_view{},
               fields);
}

void broker::reply(peer& from, const wire::command& request, std::string_view body, wire::buffer& out, std::int64_t now_ms)
{
    wire::send_head head;
    std::string_view wrong;
    if (!wire::read_send_head(request, head, wrong))
        return put_answer(out, cluster_.style, request, response::system_error,
                          fmt::format("java.lang.NullPointerException: header field {} is missing or not a number", wrong));
    if (const std::string problem = topic_problem(head.topic); !problem.empty())
        return put_answer(out, cluster_.style, request, response::invalid_parameter, problem, region);
    if (body.size() > cluster_.settings.max_body || head.properties.size() + stored_properties_.size() > max_properties)
        return put_answer(out, cluster_.style, request, response::message_illegal,
                          illegal_message(cluster_.settings.max_body), region);
    const std::string_view to = wire::find_property(head.properties, "REPLY_TO_CLIENT");
    const auto it = clients_.find(to);
    const auto connection = it == clients_.end() ? nullptr : it->second.connection.lock();
    if (connection == nullptr)
        return put_answer(out, cluster_.style, request, response::system_error,
                          fmt::format("send reply message to producer fail: no connection of client '{}'", to), region);

    const decimal queues(head.default_topic_queues), queue(head.queue_id), sys(head.sys_flag), born(head.born_ms),
        flag(head.flag), now(now_ms);
    const std::string properties = std::string(head.properties) + "PUSH_REPLY_TIME\x01" + std::string(now.view()) + '\x02';
    const std::array<field, 14> fields{field{"producerGroup", head.group},
                                       field{"topic", head.topic},
                                       field{"defaultTopic", head.default_topic},
                                       field{"defaultTopicQueueNums", queues.view()},
                                       field{"queueId", queue.view()},
                                       field{"sysFlag", sys.view()},
                                       field{"bornTimestamp", born.view()},
                                       field{"flag", flag.view()},
                                       field{"properties", properties},
                                       field{"reconsumeTimes", "0"},
                                       field{"unitMode", "false"},
                                       field{"bornHost", from.name()},
                                       field{"storeHost", address_},
                                       field{"storeTimestamp", now.view()}};
    wire::outgoing push;
    push.code = code::push_reply_message;
    push.opaque = next_opaque_++;
    push.version = cluster_.style.version;
    push.language = "JAVA";
    push.fields = fields;
    wire::encode(connection->out(), cluster_.style.format, push, body);
    connection->flush();

    new_message m;
    m.queue_id = 0;
    m.flag = head.flag;
    m.sys_flag = head.sys_flag;
    m.born_ms = head.born_ms;
    m.stored_ms = now_ms;
    m.born_host = from.address();
    m.properties = head.properties;
    m.more_properties = stored_properties_;
    m.body = body;
    const topic_config config{.name = std::string(head.topic), .read_queues = 1, .write_queues = 1, .perm = 6};
    topic_log* topic = store_.find(head.topic);
    const record& r = put(topic != nullptr ? *topic : store_.put_topic(config), m);
    std::string id;
    put_offset_id(id, id_prefix_, r.commit_log_offset);
    stored_answer(out, request, id, 0, r.queue_offset, {});
}

// ---- clients and transactions ----

void broker::heart_beat(peer& from, const wire::command& request, std::string_view body, wire::buffer& out)
{
    boost::system::error_code ec;
    const boost::json::value parsed = boost::json::parse(body, ec);
    const auto* object = parsed.if_object();
    const auto* id = object == nullptr ? nullptr : object->if_contains("clientID");
    if (ec || id == nullptr || !id->is_string())
        return put_answer(out, cluster_.style, request, response::system_error,
                          "java.lang.NullPointerException: the heartbeat's body is not JSON with a clientID");
    client& entry = clients_[std::string(id->get_string())];
    entry.connection = from.weak_from_this();
    entry.key = &from;
    const auto groups = [object](std::string_view member, auto& into) {
        const auto* list = object->if_contains(member);
        if (list == nullptr || !list->is_array())
            return;
        for (const auto& one : list->get_array())
            if (const auto* o = one.if_object())
                if (const auto* name = o->if_contains("groupName"); name != nullptr && name->is_string())
                    into.emplace(name->get_string());
    };
    groups("producerDataSet", entry.producers);
    groups("consumerDataSet", entry.consumers);
    put_answer(out, cluster_.style, request, response::success, {},
               std::array{field{"IS_SUPPORT_HEART_BEAT_V2", "true"}, field{"IS_SUB_CHANGE", "true"}});
}

void broker::unregister(const wire::command& request, wire::buffer& out)
{
    if (const auto it = clients_.find(request.find("clientID").value_or("")); it != clients_.end()) {
        client& c = it->second;
        if (const auto group = c.producers.find(request.find("producerGroup").value_or("")); group != c.producers.end())
            c.producers.erase(group);
        if (const auto group = c.consumers.find(request.find("consumerGroup").value_or("")); group != c.consumers.end())
            c.consumers.erase(group);
        if (c.producers.empty() && c.consumers.empty())
            clients_.erase(it);
    }
    put_answer(out, cluster_.style, request, response::success);
}

void broker::consumers_of(const wire::command& request, wire::buffer& out)
{
    const std::string_view group = request.find("consumerGroup").value_or("");
    std::string list;
    for (const auto& [id, c] : clients_)
        if (c.consumers.find(group) != c.consumers.end()) {
            list += list.empty() ? "" : ",";
            put_json_string(list, id);
        }
    if (list.empty())
        return put_answer(out, cluster_.style, request, response::system_error,
                          fmt::format("no consumer for this group, {}", group));
    put_answer(out, cluster_.style, request, response::success, {}, {}, fmt::format(R"({{"consumerIdList":[{}]}})", list));
}

void broker::end_transaction(const wire::command& request, wire::buffer& out, std::int64_t now_ms)
{
    const std::int64_t decision = request.number("commitOrRollback").value_or(0);
    if (decision != 8 && decision != 12)
        return;  // undecided: brokers stay silent
    const std::int64_t at = request.number("commitLogOffset").value_or(-1);
    const record* half = undecided_.contains(at) ? store_.by_commit_log_offset(at) : nullptr;
    if (half == nullptr)
        return put_answer(out, cluster_.style, request, response::system_error, "Find prepared transaction message failed");
    if (wire::find_property(half->properties(), "PGROUP") != request.find("producerGroup").value_or(""))
        return put_answer(out, cluster_.style, request, response::system_error, "The producer group wrong");
    if (half->queue_offset != request.number("tranStateTableOffset").value_or(-1))
        return put_answer(out, cluster_.style, request, response::system_error, "The transaction state table offset wrong");
    undecided_.erase(at);
    if (decision == 8) {
        std::string_view topic_name, queue;
        wire::buffer kept;
        wire::each_property(half->properties(), [&](std::string_view name, std::string_view value) {
            if (name == "REAL_TOPIC")
                topic_name = value;
            else if (name == "REAL_QID")
                queue = value;
            else if (name != "TRAN_MSG")
                wire::put_property(kept, name, value);
        });
        if (topic_log* topic = store_.find(topic_name); topic != nullptr) {
            new_message m;
            std::from_chars(queue.data(), queue.data() + queue.size(), m.queue_id);
            m.flag = half->flag;
            m.sys_flag = (half->sys_flag & ~0x30) | sys_commit;
            m.born_ms = half->born_ms;
            m.stored_ms = now_ms;
            m.prepared_offset = at;
            m.born_host = half->born_host;
            m.properties = kept.view();
            m.body = half->body();
            put(*topic, m);
        }
    }
    put_answer(out, cluster_.style, request, response::success);
}

void broker::check_transactions()
{
    for (const std::int64_t at : undecided_) {
        const record* half = store_.by_commit_log_offset(at);
        if (half == nullptr)
            continue;
        const std::string_view group = wire::find_property(half->properties(), "PGROUP");
        std::shared_ptr<peer> producer;
        for (const auto& [id, c] : clients_)
            if (c.producers.find(group) != c.producers.end() && (producer = c.connection.lock()) != nullptr)
                break;
        if (producer == nullptr)
            continue;
        const std::string_view topic = wire::find_property(half->properties(), "REAL_TOPIC");
        const std::string_view queue = wire::find_property(half->properties(), "REAL_QID");
        wire::stored_message m;
        std::from_chars(queue.data(), queue.data() + queue.size(), m.queue_id);
        m.flag = half->flag;
        m.queue_offset = half->queue_offset;
        m.commit_log_offset = at;
        m.sys_flag = half->sys_flag;
        m.born_ms = half->born_ms;
        m.born_host = half->born_host;
        m.store_ms = half->stored_ms;
        m.store_host = store_.host();
        m.body = half->body();
        m.topic = topic;
        m.properties = half->properties();
        wire::buffer body;
        wire::put_stored(body, m);

        std::string id;
        put_offset_id(id, id_prefix_, at);
        const decimal offset(at), table(half->queue_offset);
        const std::string_view key = wire::find_property(half->properties(), "UNIQ_KEY");
        const std::array<field, 7> fields{field{"topic", half_topic},
                                          field{"tranStateTableOffset", table.view()},
                                          field{"commitLogOffset", offset.view()},
                                          field{"msgId", key},
                                          field{"transactionId", key},
                                          field{"offsetMsgId", id},
                                          field{"bname", name_}};
        wire::outgoing head;
        head.code = code::check_transaction_state;
        head.opaque = next_opaque_++;
        head.flag = wire::flag_oneway;
        head.version = cluster_.style.version;
        head.language = "JAVA";
        head.fields = fields;
        wire::encode(producer->out(), cluster_.style.format, head, body.view());
        producer->flush();
    }
}

// ---- reading back ----

void broker::pull(peer& from, const wire::command& request, wire::buffer& out)
{
    const std::string_view name = request.find("topic").value_or("");
    const topic_log* topic = store_.find(name);
    if (topic == nullptr)
        return put_answer(out, cluster_.style, request, response::topic_not_exist,
                          fmt::format("topic[{}] not exist, apply first please! See "
                                      "https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.", name));
    const topic_config config = effective(topic->config);
    if ((config.perm & 4) == 0)
        return put_answer(out, cluster_.style, request, response::no_permission,
                          fmt::format("the topic[{}] pulling message is forbidden", name));
    const std::int64_t queue = request.number("queueId").value_or(-1);
    if (queue < 0 || queue >= config.read_queues)
        return put_answer(out, cluster_.style, request, response::invalid_parameter,
                          fmt::format("queueId[{}] is illegal, topic:[{}] topicConfig.readQueueNums:[{}] consumer:[{}]", queue,
                                      name, config.read_queues, from.name()));

    const auto queue_id = static_cast<std::int32_t>(queue);
    const std::int64_t wanted = request.number("queueOffset").value_or(0);
    const std::int64_t end = store_.end(*topic, queue_id);
    const std::int64_t most = std::clamp<std::int64_t>(request.number("maxMsgNums").value_or(32), 1, 1024);
    const std::string_view subscription = request.find("subscription").value_or("*");
    const bool by_tag = request.find("expressionType").value_or("TAG") == "TAG";

    std::int32_t code = response::success;
    std::string_view remark = "FOUND";
    std::int64_t next = wanted;
    wire::buffer found;
    if (end == 0) {
        code = wanted == 0 ? response::pull_not_found : response::pull_offset_moved;
        remark = "NO_MESSAGE_IN_QUEUE";
        next = 0;
    }
    else if (wanted < 0) {
        code = response::pull_offset_moved;
        remark = "OFFSET_TOO_SMALL";
        next = 0;
    }
    else if (wanted == end) {
        code = response::pull_not_found;
        remark = "OFFSET_OVERFLOW_ONE";
    }
    else if (wanted > end) {
        code = response::pull_offset_moved;
        remark = "OFFSET_OVERFLOW_BADLY";
        next = end;
    }
    else {
        for (std::int64_t taken = 0; next < end && taken < most && found.size() < max_pull_bytes; ++next) {
            const record& r = *store_.at(*topic, queue_id, next);
            if (by_tag && !takes(subscription, wire::find_property(r.properties(), "TAGS")))
                continue;
            store_.encode(found, r);
            ++taken;
        }
        if (found.empty()) {
            code = response::pull_retry_immediately;
            remark = "NO_MATCHED_MESSAGE";
        }
    }

    const decimal next_text(next), end_text(end);
    const std::array<field, 6> fields{field{"suggestWhichBrokerId", "0"}, field{"groupSysFlag", "0"},
                                      field{"nextBeginOffset", next_text.view()}, field{"maxOffset", end_text.view()},
                                      field{"minOffset", "0"}, field{"topicSysFlag", "0"}};
    // A consumer that is ready to wait gets "nothing" a little later, so that it does not ask all the time.
    const bool waits = code == response::pull_not_found && (request.number("sysFlag").value_or(0) & 2) != 0;
    const std::int64_t patience = waits ? std::min<std::int64_t>(request.number("suspendTimeoutMillis").value_or(0), 50) : 0;
    if (patience > 0 && !request.is_oneway()) {
        wire::buffer late;
        put_answer(late, cluster_.style, request, code, remark, fields);
        from.later(latency_ + std::chrono::milliseconds(patience), std::string(late.view()), ending::none);
        return;
    }
    put_answer(out, cluster_.style, request, code, remark, fields, found.view());
}

void broker::offset(const wire::command& request, wire::buffer& out)
{
    std::int64_t value = 0;
    if (const topic_log* topic = store_.find(request.find("topic").value_or("")); topic != nullptr) {
        const auto queue = static_cast<std::int32_t>(request.number("queueId").value_or(-1));
        if (request.code == code::get_max_offset)
            value = store_.end(*topic, queue);
        else if (request.code == code::search_offset_by_timestamp) {
            const std::int64_t ms = request.number("timestamp").value_or(0);
            value = store_.offset_at(*topic, queue, ms);
            if (request.find("boundaryType").value_or("lower") == "upper") {
                const std::int64_t after = store_.offset_at(*topic, queue, ms + 1);
                value = after > value ? after - 1 : value;
            }
        }
    }
    const decimal text(value);
    put_answer(out, cluster_.style, request, response::success, {}, std::array{field{"offset", text.view()}});
}

void broker::consumer_offset(const wire::command& request, wire::buffer& out)
{
    const std::string key = fmt::format("{} {} {}", request.find("consumerGroup").value_or(""),
                                        request.find("topic").value_or(""), request.find("queueId").value_or(""));
    if (request.code == update_consumer_offset) {
        offsets_[key] = request.number("commitOffset").value_or(0);
        return put_answer(out, cluster_.style, request, response::success);
    }
    const auto it = offsets_.find(key);
    if (it == offsets_.end())
        return put_answer(out, cluster_.style, request, response::query_not_found,
                          "Not found, do not set to zero, maybe this group boot first");
    const decimal text(it->second);
    put_answer(out, cluster_.style, request, response::success, {}, std::array{field{"offset", text.view()}});
}

void broker::query(const wire::command& request, wire::buffer& out)
{
    const std::string_view key = request.find("key").value_or("");
    const bool unique = request.find("_UNIQUE_KEY_QUERY").value_or("false") == "true";
    const std::int64_t most = std::clamp<std::int64_t>(request.number("maxNum").value_or(32), 1, 1024);
    const std::int64_t from = request.number("beginTimestamp").value_or(0);
    const std::int64_t to = request.number("endTimestamp").value_or(INT64_MAX);
    wire::buffer found;
    std::int64_t taken = 0;
    if (const topic_log* topic = store_.find(request.find("topic").value_or("")); topic != nullptr)
        for (const record* r : store_.log()) {
            if (taken >= most || found.size() >= max_pull_bytes)
                break;
            if (r->topic != topic || r->stored_ms < from || r->stored_ms > to)
                continue;
            const std::string_view own = wire::find_property(r->properties(), unique ? "UNIQ_KEY" : "KEYS");
            bool hit = own == key;
            for (std::string_view rest = own; !unique && !hit && !rest.empty();)
                hit = next_word(rest) == key;
            if (!hit || key.empty())
                continue;
            store_.encode(found, *r);
            ++taken;
        }
    const std::array<field, 2> fields{field{"indexLastUpdateTimestamp", "0"}, field{"indexLastUpdatePhyoffset", "0"}};
    if (taken == 0)
        return put_answer(out, cluster_.style, request, response::query_not_found,
                          "can not find message, maybe time range not correct", fields);
    put_answer(out, cluster_.style, request, response::success, {}, fields, found.view());
}

void broker::view(const wire::command& request, wire::buffer& out)
{
    const std::int64_t at = request.number("offset").value_or(-1);
    const record* r = store_.by_commit_log_offset(at);
    if (r == nullptr)
        return put_answer(out, cluster_.style, request, response::system_error,
                          fmt::format("can not find message by the offset, {}", at));
    wire::buffer found;
    store_.encode(found, *r);
    put_answer(out, cluster_.style, request, response::success, {}, {}, found.view());
}

void broker::create_topic(const wire::command& request, wire::buffer& out)
{
    const std::string_view topic = request.find("topic").value_or("");
    std::string problem = topic_problem(topic);
    if (problem.empty() && is_system_topic(topic))
        problem = fmt::format("The topic[{}] is conflict with system topic.", topic);
    if (!problem.empty())
        return put_answer(out, cluster_.style, request, response::invalid_parameter, problem);
    topic_config config{.name = std::string(topic)};
    config.read_queues = static_cast<std::int32_t>(std::clamp<std::int64_t>(request.number("readQueueNums").value_or(4), 0, 65535));
    config.write_queues = static_cast<std::int32_t>(std::clamp<std::int64_t>(request.number("writeQueueNums").value_or(4), 0, 65535));
    config.perm = static_cast<std::int32_t>(request.number("perm").value_or(6) & 7);
    config.order = request.find("order").value_or("false") == "true";
    config.sys_flag = static_cast<std::int32_t>(request.number("topicSysFlag").value_or(0));
    store_.put_topic(config);
    // What brokers say when all went well: an answer is judged by its code.
    put_answer(out, cluster_.style, request, response::success, "not set any response code");
}

}  // namespace shunt::cluster
