// A stored message as one line of JSON, the way `shunt tail --json` writes it.

#include <cluster/broker.hpp>
#include <cluster/embedded_cluster.hpp>
#include <wire/base64.hpp>
#include <wire/compress.hpp>
#include <wire/send.hpp>
#include <wire/utf8.hpp>

#include <fmt/format.h>

#include <optional>

namespace shunt::cluster {

std::string_view stored_record::property(std::string_view name) const noexcept
{
    std::string_view value;
    for (const auto& [own, text] : properties)
        if (own == name)
            value = text;
    return value;
}

std::string to_json(const stored_record& r)
{
    std::string line = R"({"broker":)";
    put_json_string(line, r.broker);
    line += fmt::format(R"(,"topic":"{}","queue":{},"offset":{},"msg_id":)", r.topic, r.queue, r.offset);
    put_json_string(line, r.msg_id);
    line += R"(,"key":)";
    put_json_string(line, r.key);
    line += R"(,"tag":)";
    put_json_string(line, r.tag);
    line += R"(,"properties":{)";
    std::map<std::string_view, std::string_view> once;  // of doubles the last wins, as for a consumer
    for (const auto& [name, value] : r.properties)
        once[name] = value;
    for (const auto& [name, value] : once) {
        if (line.back() != '{')
            line += ',';
        put_json_string(line, name);
        line += ':';
        put_json_string(line, value);
    }
    line += "},";
    std::optional<std::string> plain;
    if ((r.sys_flag & wire::sys_compressed) != 0)
        plain = wire::plain_body(r.sys_flag, r.body, max_inflated);
    const std::string_view body = plain ? std::string_view(*plain) : std::string_view(r.body);
    if (wire::is_utf8(body)) {
        line += R"("body":)";
        put_json_string(line, body);
    }
    else
        line += R"("body_base64":")" + wire::to_base64(body) + '"';
    line += fmt::format(R"(,"born_ms":{},"stored_ms":{}}})", r.born_ms, r.stored_ms);
    return line;
}

}  // namespace shunt::cluster
