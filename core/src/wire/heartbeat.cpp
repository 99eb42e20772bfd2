#include <wire/heartbeat.hpp>
#include <wire/json_reader.hpp>
#include <wire/text.hpp>

namespace shunt::wire {
namespace {

// A client speaks for a handful of groups; the bound keeps a hostile one from filling the memory.
constexpr std::size_t max_groups = 4096;

void put_json(buffer& out, std::string_view text)
{
    char* const p = out.grab(json_text_room(text.size()));
    out.advance(static_cast<std::size_t>(put_json_text(p, text) - p));
}

bool read_groups(json_reader& json, std::vector<std::string>& groups)
{
    std::string_view name, value;
    if (json.peek() == json_reader::kind::null)
        return json.value(value);
    if (!json.enter('['))
        return false;
    while (json.next_element()) {
        if (!json.enter('{'))
            return false;
        while (json.next_member(name)) {
            const bool text = json.peek() == json_reader::kind::text;
            if (!json.value(value))
                return false;
            if (name != "groupName" || !text)
                continue;
            if (groups.size() == max_groups)
                return json.fail("a heartbeat may name at most 4096 groups");
            groups.emplace_back(value);
        }
    }
    return !json.failed();
}

}  // namespace

void put_heartbeat(buffer& out, std::string_view client_id, std::span<const std::string_view> producer_groups)
{
    out.put("{\"clientID\":\"");
    put_json(out, client_id);
    out.put("\",\"consumerDataSet\":[],\"heartbeatFingerprint\":0,\"producerDataSet\":[");
    for (std::size_t i = 0; i < producer_groups.size(); ++i) {
        out.put(i == 0 ? "{\"groupName\":\"" : ",{\"groupName\":\"");
        put_json(out, producer_groups[i]);
        out.put("\"}");
    }
    out.put("],\"withoutSub\":false}");
}

bool read_heartbeat(std::string_view body, heartbeat& out, std::string& what)
{
    out = {};
    std::string scratch;
    json_reader json{body, scratch};
    std::string_view value;
    const auto read_member = [&](std::string_view name) {
        if (name == "producerDataSet")
            return read_groups(json, out.producer_groups);
        const bool text = json.peek() == json_reader::kind::text;
        if (!json.value(value))
            return false;
        if (name == "clientID" && text)
            out.client_id = value;
        return true;
    };
    bool good = json.enter('{');
    for (std::string_view name; good && json.next_member(name);)
        good = read_member(name);
    if (!good || !json.finish()) {
        what = "heartbeat, " + json.error();
        return false;
    }
    if (out.client_id.empty()) {
        what = "heartbeat: it has no clientID; brokers know a client by it";
        return false;
    }
    return true;
}

}  // namespace shunt::wire
