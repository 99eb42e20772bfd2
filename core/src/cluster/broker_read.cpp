// Reading back, and topics.

#include <cluster/broker_parts.hpp>

namespace shunt::cluster {

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
