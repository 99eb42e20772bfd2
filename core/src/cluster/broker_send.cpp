// Messages that come in: single ones, batches, replies.

#include <cluster/broker_parts.hpp>

#include <wire/batch.hpp>
#include <wire/recall.hpp>

namespace shunt::cluster {

namespace {

/// What `from` sent, to be stored as it came.
new_message received(const peer& from, const wire::send_head& head, std::string_view body, std::int64_t now_ms)
{
    new_message m;
    m.queue_id = head.queue_id;
    m.flag = head.flag;
    m.sys_flag = head.sys_flag;
    m.born_ms = head.born_ms;
    m.stored_ms = now_ms;
    m.born_host = from.address();
    m.properties = head.properties;
    m.body = body;
    return m;
}

}  // namespace

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
    std::optional<std::int64_t> level;
    std::int64_t due_ms = now_ms;
    if (!delay.empty()) {
        if (level = number(delay); !level)
            return put_answer(out, cluster_.style, request, response::system_error,
                              fmt::format("java.lang.NumberFormatException: For input string: \"{}\"", delay));
    } else if (const auto due = timer_due(delay_s, delay_ms, deliver_at, now_ms))
        due_ms = *due;
    else
        return fail(response::message_illegal,
                    "timer message illegal, the delay time should not be bigger than the max delay 259200000ms; or if "
                    "set del msg, the delay time should be bigger than the current time");

    new_message m = received(from, head, body, now_ms);
    m.more_properties = more_properties;
    const record* r = nullptr;
    std::string handle;
    if (half) {
        m.queue_id = 0;
        m.sys_flag &= ~sys_transaction_bits;
        r = &put(internal(half_topic, 1), m);
        std::int64_t first = now_ms + cluster_.settings.transaction_timeout.count();
        if (const auto own = number(wire::find_property(head.properties, "CHECK_IMMUNITY_TIME_IN_SECONDS")))
            first = std::max(first, now_ms + *own * 1000);
        undecided_[r->commit_log_offset].next_ms = first;
        wake_at(first);
    } else if (level && *level > 0) {
        const std::int64_t at = std::min<std::int64_t>(*level, delay_seconds.size());
        r = &hold(delay_topic, static_cast<std::int32_t>(at - 1), *topic, m,
                  now_ms + delay_seconds[static_cast<std::size_t>(at - 1)] * 1000);
    } else if (due_ms > now_ms) {
        r = &hold(timer_topic, 0, *topic, m, due_ms);
        if (cluster_.settings.recall)
            handle = wire::recall_handle(topic->config.name, name_, due_ms + 1, unique_key);
    } else {
        r = &put(*topic, m);
    }
    std::string id;
    id.reserve(56);
    put_offset_id(id, id_prefix_, r->commit_log_offset);
    stored_answer(out, request, id, head.queue_id, r->queue_offset, unique_key, handle);
}

// ---- messages that are held back ----

topic_log& broker::internal(std::string_view topic, std::int32_t queues)
{
    topic_log* found = store_.find(topic);
    return found != nullptr ? *found
                            : store_.put_topic({.name = std::string(topic), .read_queues = queues, .write_queues = queues, .perm = 6});
}

void broker::wake_at(std::int64_t ms) const
{
    if (cluster_.wake_at)
        cluster_.wake_at(ms);
}

/// As brokers do: it lies in a topic of their own until its time, and tells where it belongs.
const record& broker::hold(std::string_view in, std::int32_t queue, const topic_log& wanted, new_message m, std::int64_t due_ms)
{
    wire::buffer more;
    more.put(m.more_properties);
    wire::put_property(more, "REAL_TOPIC", wanted.config.name);
    wire::put_property(more, "REAL_QID", decimal(m.queue_id).view());
    m.more_properties = more.view();
    m.queue_id = queue;
    const record& r = put(internal(in, static_cast<std::int32_t>(delay_seconds.size())), m);
    held_.emplace(due_ms, &r);
    wake_at(due_ms);
    return r;
}

/// To the topic it tells of. `prepared`: where its half lies; -1: it was only held back.
void broker::deliver(const record& held, std::int64_t now_ms, std::int64_t prepared)
{
    std::string_view topic_name, queue;
    wire::buffer kept;
    wire::each_property(held.properties(), [&](std::string_view name, std::string_view value) {
        if (name == "REAL_TOPIC")
            topic_name = value;
        else if (name == "REAL_QID")
            queue = value;
        else if (prepared < 0 || name != "TRAN_MSG")
            wire::put_property(kept, name, value);
    });
    topic_log* topic = store_.find(topic_name);
    if (topic == nullptr)
        return;
    new_message m;
    m.queue_id = static_cast<std::int32_t>(number(queue).value_or(0));
    m.flag = held.flag;
    m.sys_flag = (held.sys_flag & ~0x30) | (prepared >= 0 ? sys_commit : 0);
    m.prepared_offset = std::max<std::int64_t>(prepared, 0);
    m.born_ms = held.born_ms;
    m.stored_ms = now_ms;
    m.born_host = held.born_host;
    m.properties = kept.view();
    m.body = held.body();
    put(*topic, m);
}

void broker::due(std::int64_t now_ms)
{
    while (!held_.empty() && held_.begin()->first <= now_ms) {
        const record& next = *held_.begin()->second;
        held_.erase(held_.begin());
        deliver(next, now_ms);
    }
    if (!held_.empty())
        wake_at(held_.begin()->first);
    for (auto it = undecided_.begin(); it != undecided_.end();) {
        check& c = it->second;
        if (c.next_ms <= now_ms) {
            const record* half = store_.by_commit_log_offset(it->first);
            if (half == nullptr || c.asked >= cluster_.settings.transaction_checks) {
                it = undecided_.erase(it);
                continue;
            }
            ++c.asked;
            c.next_ms = now_ms + cluster_.settings.transaction_interval.count();
            ask_producer(*half);
        }
        wake_at(c.next_ms);
        ++it;
    }
}

void broker::recall(const wire::command& request, wire::buffer& out, std::int64_t now_ms)
{
    const auto fail = [&](std::int32_t code, std::string_view remark) {
        put_answer(out, cluster_.style, request, code, remark, std::array{region[1]});
    };
    if (!cluster_.settings.recall)
        return fail(response::no_permission, "recall failed, operation is forbidden");
    const std::string_view topic = request.find("topic").value_or("");
    if (store_.find(topic) == nullptr)
        return fail(response::topic_not_exist, "recall failed, the topic[" + std::string(topic) + "] not exist");
    const auto handle = wire::read_recall_handle(request.find("recallHandle").value_or(""));
    if (!handle)
        return fail(response::illegal_operation, "recall failed, recall handle is invalid");
    if (handle->topic != topic)
        return fail(response::illegal_operation, "recall failed, topic not match");
    if (handle->broker != name_)
        return fail(response::illegal_operation, "recall failed, broker service not available");
    if (handle->time_ms <= now_ms)
        return fail(response::illegal_operation, "recall failed, timestamp invalid");
    for (auto it = held_.begin(); it != held_.end(); ++it) {
        if (wire::find_property(it->second->properties(), "UNIQ_KEY") == handle->unique_key) {
            held_.erase(it);
            break;
        }
    }
    put_answer(out, cluster_.style, request, response::success, "not set any response code",
               std::array{field{"msgId", handle->unique_key}, region[1]});
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
        new_message m = received(from, head, one.body, now_ms);
        m.flag = one.flag;
        m.properties = one.properties;
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
                           std::int64_t queue_offset, std::string_view unique_key, std::string_view recall_handle) const
{
    const decimal queue(queue_id), offset(queue_offset);
    const std::array<field, 7> fields{field{"queueId", queue.view()},    field{"transactionId", unique_key},
                                      field{"msgId", ids},               region[0],
                                      region[1],                         field{"queueOffset", offset.view()},
                                      field{"recallHandle", recall_handle}};
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

    new_message m = received(from, head, body, now_ms);
    m.queue_id = 0;
    m.more_properties = stored_properties_;
    const topic_config config{.name = std::string(head.topic), .read_queues = 1, .write_queues = 1, .perm = 6};
    topic_log* topic = store_.find(head.topic);
    const record& r = put(topic != nullptr ? *topic : store_.put_topic(config), m);
    std::string id;
    put_offset_id(id, id_prefix_, r.commit_log_offset);
    stored_answer(out, request, id, 0, r.queue_offset, {});
}

}  // namespace shunt::cluster
