// Clients a broker knows, and the transactions it asks them about.

#include <cluster/broker_parts.hpp>

#include <boost/json.hpp>

namespace shunt::cluster {

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
    if (decision == 8)
        deliver(*half, now_ms, at);
    put_answer(out, cluster_.style, request, response::success);
}

void broker::check_transactions()
{
    for (auto& [at, c] : undecided_) {
        if (const record* half = store_.by_commit_log_offset(at); half != nullptr)
            ask_producer(*half);
    }
}

void broker::ask_producer(const record& half)
{
    const std::int64_t at = half.commit_log_offset;
    const std::string_view group = wire::find_property(half.properties(), "PGROUP");
    std::shared_ptr<peer> producer;
    for (const auto& [id, c] : clients_)
        if (c.producers.find(group) != c.producers.end() && (producer = c.connection.lock()) != nullptr)
            break;
    if (producer == nullptr)
        return;
    wire::stored_message m;
    m.queue_id = static_cast<std::int32_t>(number(wire::find_property(half.properties(), "REAL_QID")).value_or(0));
    m.flag = half.flag;
    m.queue_offset = half.queue_offset;
    m.commit_log_offset = at;
    m.sys_flag = half.sys_flag;
    m.born_ms = half.born_ms;
    m.born_host = half.born_host;
    m.store_ms = half.stored_ms;
    m.store_host = store_.host();
    m.body = half.body();
    m.topic = wire::find_property(half.properties(), "REAL_TOPIC");
    m.properties = half.properties();
    wire::buffer body;
    wire::put_stored(body, m);

    std::string id;
    put_offset_id(id, id_prefix_, at);
    const decimal offset(at), table(half.queue_offset);
    const std::string_view key = wire::find_property(half.properties(), "UNIQ_KEY");
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

}  // namespace shunt::cluster
