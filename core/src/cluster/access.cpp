#include <cluster/access.hpp>

#include <cluster/broker_parts.hpp>

namespace shunt::cluster {

namespace {

std::string in_form(acl_form form, std::string_view v1, std::string_view v2)
{
    return form == acl_form::v2 ? std::string(v2) : fmt::format("org.apache.rocketmq.acl.common.AclException: {}", v1);
}

/// What the request signs: the last of fields that came twice, as Java's client writes them into binary headers.
std::vector<field> fields_of(const wire::command& request)
{
    std::map<std::string_view, std::string_view> last;
    for (const field& f : request.fields)
        last[f.name] = f.value;
    std::vector<field> out;
    for (const auto& [name, value] : last)
        out.push_back({name, value});
    return out;
}

std::string_view topic_of(const wire::command& request)
{
    return request.find("topic").value_or(request.find("b").value_or(""));
}

}  // namespace

void access_control::set(const std::vector<account>& accounts)
{
    accounts_.clear();
    for (const account& a : accounts)
        accounts_.insert_or_assign(a.access_key, entry{a.topics, wire::signature_key(a.secret_key)});
}

std::string access_control::refusal(const wire::command& request, std::string_view body, std::string_view from, acl_form form) const
{
    if (accounts_.empty())
        return {};
    const std::string_view name = request.find("AccessKey").value_or("");
    if (name.empty())
        return in_form(form, "No accessKey is configured", "username cannot be null.");
    const auto found = accounts_.find(name);
    if (found == accounts_.end())
        return in_form(form, fmt::format("No acl config for {}", name), fmt::format("User:{} is not found.", name));
    const entry& who = found->second;
    std::vector<field> fields = fields_of(request);
    if (request.find("Signature").value_or("") != who.key.sign(fields, body))
        return in_form(form, fmt::format("Check signature failed for accessKey={}", name), "check signature failed.");
    const std::string_view topic = topic_of(request);
    if (who.topics.empty() || topic.empty() || std::find(who.topics.begin(), who.topics.end(), topic) != who.topics.end())
        return {};
    return in_form(form, fmt::format("No default permission for topic:{}", topic),
                   fmt::format("User:{} has no permission to access Topic:{} from {}, no matched policies.", name, topic, from));
}

}  // namespace shunt::cluster
