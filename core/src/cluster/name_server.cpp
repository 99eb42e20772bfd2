// The name server: routes, the list of brokers, key-value settings.

#include <cluster/broker.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace shunt::cluster {
namespace {

namespace code = wire::code;
namespace response = wire::response;

constexpr std::int32_t get_kv_config = 101, delete_kv_config = 102, get_all_topics = 206, delete_topic = 216;
/// From this version on (4.9.4) clients read strict JSON only.
constexpr std::int32_t strict_json_version = 401;

void put_broker(std::string& out, const broker& b, const std::string& cluster, bool strict)
{
    out += strict ? R"({"brokerAddrs":{"0":)" : R"({"brokerAddrs":{0:)";
    put_json_string(out, b.address());
    out += R"(},"brokerName":)";
    put_json_string(out, b.name());
    out += R"(,"cluster":)";
    put_json_string(out, cluster);
    out += R"(,"enableActingMaster":false})";
}

}  // namespace

void put_json_string(std::string& out, std::string_view text)
{
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        }
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
        else
            out += c;
    }
    out += '"';
}

void name_server::opened(peer&)
{
    ++counts_.accepted;
    ++counts_.open;
}

void name_server::closed(peer&)
{
    --counts_.open;
}

void name_server::request(peer& from, const wire::frame& frame, std::int64_t)
{
    wire::command request;
    if (!decoder_.decode(frame, request)) {
        from.end(ending::finish);
        return;
    }
    if (request.is_response())
        return;
    ++counts_.requests;
    ++counts_.by_code[request.code];
    if (hangs)
        return;

    wire::buffer& out = from.out();
    const std::size_t before = out.size();
    switch (request.code) {
    case code::get_route_by_topic: route(request, out); break;
    case code::get_cluster_info: brokers(request, out); break;
    case code::put_kv_config:
    case get_kv_config:
    case delete_kv_config: kv(request, out); break;
    case get_all_topics: topics(request, out); break;
    case delete_topic:
        for (const auto& one : cluster_.brokers)
            one->messages().erase_topic(request.find("topic").value_or(""));
        put_answer(out, cluster_.style, request, response::success);
        break;
    default:
        put_answer(out, cluster_.style, request, response::request_code_not_supported,
                   fmt::format(" request type {} not supported", request.code));
    }
    if (request.is_oneway())
        out.truncate(before);
}

void name_server::keep_routes()
{
    kept_.emplace();
    for (const auto& one : cluster_.brokers)
        for (const auto& [topic, log] : one->messages().topics())
            for (const bool strict : {false, true})
                (*kept_)[{topic, strict}] = route_body(topic, strict);
}

void name_server::route(const wire::command& request, wire::buffer& out) const
{
    const std::string_view topic = request.find("topic").value_or("");
    const bool strict = request.version >= strict_json_version || request.find("acceptStandardJsonOnly").value_or("") == "true";
    std::string body;
    if (kept_) {
        if (const auto it = kept_->find({std::string(topic), strict}); it != kept_->end() && !forgot)
            body = it->second;
    } else
        body = route_body(topic, strict);
    if (body.empty()) {
        put_answer(out, cluster_.style, request, response::topic_not_exist,
                   fmt::format("No topic route info in name server for the topic: {}\nSee "
                               "https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.", topic));
        return;
    }
    put_answer(out, cluster_.style, request, response::success, {}, {}, body);
}

/// Empty: it has none.
std::string name_server::route_body(std::string_view topic, bool strict) const
{
    std::string broker_datas, queue_datas;
    for (const auto& one : cluster_.brokers) {
        const topic_log* log = std::as_const(*one).messages().find(topic);
        if (forgot || !one->registered || log == nullptr)
            continue;
        const topic_config config = one->effective(log->config);
        if (!broker_datas.empty()) {
            broker_datas += ',';
            queue_datas += ',';
        }
        put_broker(broker_datas, *one, cluster_.settings.cluster_name, strict);
        queue_datas += R"({"brokerName":)";
        put_json_string(queue_datas, one->name());
        queue_datas += fmt::format(R"(,"perm":{},"readQueueNums":{},"topicSysFlag":{},"writeQueueNums":{}}})", config.perm,
                                   config.read_queues, config.sys_flag, config.write_queues);
    }
    if (broker_datas.empty())
        return {};
    std::string body = R"({"brokerDatas":[)" + broker_datas + R"(],"filterServerTable":{})";
    if (const auto it = cluster_.kv.find({std::string(order_namespace), std::string(topic)}); it != cluster_.kv.end()) {
        body += R"(,"orderTopicConf":)";
        put_json_string(body, it->second);
    }
    return body + R"(,"queueDatas":[)" + queue_datas + "]}";
}

void name_server::brokers(const wire::command& request, wire::buffer& out) const
{
    std::string table, names;
    for (const auto& one : cluster_.brokers) {
        if (forgot || !one->registered)
            continue;
        if (!table.empty()) {
            table += ',';
            names += ',';
        }
        put_json_string(table, one->name());
        table += ':';
        put_broker(table, *one, cluster_.settings.cluster_name, false);
        put_json_string(names, one->name());
    }
    std::string body = R"({"brokerAddrTable":{)" + table + R"(},"clusterAddrTable":{)";
    if (!names.empty()) {
        put_json_string(body, cluster_.settings.cluster_name);
        body += ":[" + names + ']';
    }
    body += "}}";
    put_answer(out, cluster_.style, request, response::success, {}, {}, body);
}

void name_server::topics(const wire::command& request, wire::buffer& out) const
{
    std::set<std::string_view> all;
    for (const auto& one : cluster_.brokers)
        if (!forgot && one->registered)
            for (const auto& [name, log] : one->messages().topics())
                all.insert(name);
    std::string body = R"({"topicList":[)";
    for (const std::string_view name : all) {
        if (body.back() != '[')
            body += ',';
        put_json_string(body, name);
    }
    body += "]}";
    put_answer(out, cluster_.style, request, response::success, {}, {}, body);
}

void name_server::kv(const wire::command& request, wire::buffer& out)
{
    const std::pair key{std::string(request.find("namespace").value_or("")), std::string(request.find("key").value_or(""))};
    if (request.code == code::put_kv_config)
        cluster_.kv[key] = request.find("value").value_or("");
    else if (request.code == delete_kv_config)
        cluster_.kv.erase(key);
    else {
        const auto it = cluster_.kv.find(key);
        if (it == cluster_.kv.end()) {
            put_answer(out, cluster_.style, request, response::query_not_found,
                       fmt::format("No config item, Namespace: {} Key: {}", key.first, key.second));
            return;
        }
        put_answer(out, cluster_.style, request, response::success, {}, std::array{wire::field{"value", it->second}});
        return;
    }
    put_answer(out, cluster_.style, request, response::success);
}

}  // namespace shunt::cluster
