#include <config/schema.hpp>

#include <config/keys.hpp>

#include <boost/json.hpp>

#include <fmt/format.h>

#include <string_view>

namespace shunt::config {

namespace {

namespace json = boost::json;

// ---- a rule as a schema; `description` is what the key is ----

json::object described(json::object schema, std::string_view description)
{
    if (!description.empty())
        schema["description"] = description;
    return schema;
}

json::object as_schema(const flag&, std::string_view description)
{
    return described({{"type", "boolean"}}, description);
}

json::object as_schema(const whole_number& rule, std::string_view description)
{
    return described({{"type", "integer"}, {"minimum", rule.min}, {"maximum", rule.max}}, description);
}

// A schema cannot compare "1s" with "500ms", so people are told.
json::object as_schema(const duration& rule, std::string_view description)
{
    return described({{"$ref", "#/$defs/duration"}}, fmt::format("{}; {}", description, rule.expected()));
}

json::object as_schema(const code_list& rule, std::string_view description)
{
    json::object one{{"type", "integer"}, {"minimum", 1}, {"maximum", 32767}, {"not", {{"enum", {10, 11, 12}}}}};
    return {{"type", "array"}, {"items", std::move(one)}, {"maxItems", rule.most}, {"uniqueItems", true}, {"description", description}};
}

json::object as_schema(const byte_size& rule, std::string_view description)
{
    return described({{"$ref", "#/$defs/size"}}, fmt::format("{}; {}", description, rule.expected()));
}

json::object as_schema(const choice& rule, std::string_view description)
{
    return described({{"enum", json::array(rule.words.begin(), rule.words.end())}}, description);
}

template <typename E>
json::object as_schema(const enumerated<E>& rule, std::string_view description)
{
    return as_schema(rule.words, description);
}

json::object as_schema(const plain_text& rule, std::string_view description)
{
    json::object schema{{"type", "string"}};
    if (!rule.pattern.empty())
        schema["pattern"] = rule.pattern;
    return described(std::move(schema), description.empty() ? rule.expected() : fmt::format("{}; {}", description, rule.expected()));
}

template <typename Rule, typename T>
json::object as_schema(const Rule& rule, std::string_view description, const T& normally)
{
    json::object schema = as_schema(rule, description);
    schema["default"] = json::parse(rule.show(normally));  // a plain value is written alike in TOML and in JSON
    return schema;
}

// ---- tables ----

json::object table(json::object keys, json::array required = {})
{
    json::object schema{{"type", "object"}, {"additionalProperties", false}, {"properties", std::move(keys)}};
    if (!required.empty())
        schema["required"] = std::move(required);
    return schema;
}

json::object tables_by_name(const plain_text& name, json::object one)
{
    return {{"type", "object"}, {"propertyNames", {{"pattern", name.pattern}}}, {"additionalProperties", std::move(one)}};
}

json::object list_of(json::object one) { return {{"type", "array"}, {"items", std::move(one)}}; }

json::object list_of_some(json::object one)
{
    json::object schema = list_of(std::move(one));
    schema["minItems"] = 1;
    schema["uniqueItems"] = true;
    return schema;
}

json::object producer_table()
{
    const json::object address = as_schema(address_rule(), "");
    const producer_options normally;
    json::object keys;
    each_producer_key([&](std::string_view key, const auto& rule, auto member, std::string_view description) {
        if (key == "name_server_url")  // in the order of config/shunt.toml
            keys["name_servers"] = {{"oneOf", {list_of_some(address), {{"type", "string"}}}},
                                    {"description", "HOST:PORT or [IPV6]:PORT; in one string separated by ;"}};
        keys[key] = as_schema(rule, description, normally.*member);
    });
    return table(std::move(keys));
}

json::object acl_table()
{
    json::object keys;
    const acl_options normally;
    each_credential_key([&](std::string_view key, const auto& rule, auto member, std::string_view description) {
        keys[key] = as_schema(rule, description, normally.keys.*member);
    });
    each_acl_key([&](std::string_view key, const auto& rule, auto member, std::string_view description) {
        keys[key] = as_schema(rule, description, normally.*member);
    });
    return table(std::move(keys));
}

/// A table whose keys are the members of one struct, each(f) telling them.
template <typename Options, typename Each>
json::object table_of(const Options& normally, Each&& each)
{
    json::object keys;
    each([&](std::string_view key, const auto& rule, auto member, std::string_view description) {
        keys[key] = as_schema(rule, description, normally.*member);
    });
    return table(std::move(keys));
}

json::object plugins_table()
{
    const json::object file = table({{"file", as_schema(path_rule(), "the plugin's file")},
                                     {"sha256", as_schema(sha256_rule(), "only exactly this file is loaded")}},
                                    {"file"});
    return table({{"path", described(list_of_some(as_schema(path_rule(), "")),
                                     "in the place of the bundled folder; searched in order, the first that offers a name wins")},
                  {"max_images", as_schema(max_images_rule, "loaded files kept in the process", plugin_options().max_images)},
                  {"load", tables_by_name(strategy_name_rule(), file)}});
}

json::object policy_table()
{
    const json::object strategy{{"$ref", "#/$defs/strategy"}};
    const policy_options normally;
    return table({{"selector", strategy},
                  {"fault", strategy},
                  {"filters", described(list_of(strategy), "narrow what the selector picks from, in this order")},
                  {"ordered", as_schema(flag{}, "messages of one key keep their order; a retry stays on its queue", normally.ordered)},
                  {"key_from", as_schema(key_source_rule(), "the key selectors see", std::string("order-key"))},
                  {"when_no_queue", as_schema(no_queue_rule(), "no queue to send to: wait for one, any writable queue, fail at once",
                                              normally.when_no_queue)}});
}

json::object bindings_list()
{
    return list_of(table({{"topic", as_schema(topic_pattern_rule(), "")}, {"policy", as_schema(policy_name_rule(), "")}}, {"topic", "policy"}));
}

json::object limits_list()
{
    return list_of(table({{"topic", as_schema(topic_pattern_rule(), "")},
                          {"max_in_flight_messages", as_schema(messages_rule, "of each such topic on their way at once")},
                          {"max_in_flight_bytes", as_schema(bytes_rule, "of each such topic on their way at once")}},
                         {"topic"}));
}

json::object brokers_list()
{
    const broker_options normally;
    return list_of(table({{"name", as_schema(broker_name_rule(), "")},
                          {"room", as_schema(room_rule(), "", normally.room)},
                          {"weight", as_schema(weight_rule, "for the weighted strategies", normally.weight)}},
                         {"name"}));
}

json::object definitions()
{
    return {{"duration", {{"type", "string"}, {"pattern", "^[0-9]+(ns|us|ms|s|m|h)$"}}},
            {"size", {{"type", "string"}, {"pattern", "^[0-9]+(B|KiB|MiB|GiB)$"}}},
            {"strategy",
             {{"type", "object"},
              {"properties", {{"use", as_schema(strategy_name_rule(), "")}}},
              {"required", json::array{"use"}},
              {"additionalProperties", true},
              {"description", "a strategy by name, with its own settings beside it"}}}};
}

void indent(const json::value& v, std::size_t depth, std::string& out)
{
    const auto lines = [&](char open, char close, const auto& members, const auto& one) {
        out += open;
        bool first = true;
        for (const auto& member : members) {
            out += first ? "\n" : ",\n";
            out.append(2 * (depth + 1), ' ');
            one(member);
            first = false;
        }
        if (!first)
            out.append("\n").append(2 * depth, ' ');
        out += close;
    };
    if (const json::object* object = v.if_object())
        lines('{', '}', *object, [&](const json::key_value_pair& member) {
            out += json::serialize(member.key()) + ": ";
            indent(member.value(), depth + 1, out);
        });
    else if (const json::array* array = v.if_array())
        lines('[', ']', *array, [&](const json::value& element) { indent(element, depth + 1, out); });
    else
        out += json::serialize(v);
}

}  // namespace

std::string json_schema()
{
    const json::object schema{
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"title", "shunt.toml"},
        {"description",
         "What a configuration of shunt may say. `shunt config check` tells more: it knows the strategies and what fits together."},
        {"type", "object"},
        {"additionalProperties", false},
        {"properties",
         {{"producer", producer_table()},
          {"acl", acl_table()},
          {"tls", table_of(tls_options(), [](auto&& f) { each_tls_key(f); })},
          {"log", table({{"level", as_schema(log_level_rule(), "what is told on standard error", producer_options().log_level)}})},
          {"swap", table_of(swap_options(), [](auto&& f) { each_swap_key(f); })},
          {"admin", table_of(admin_options(), [](auto&& f) { each_admin_key(f); })},
          {"plugins", plugins_table()},
          {"policies", tables_by_name(policy_name_rule(), policy_table())},
          {"bindings", bindings_list()},
          {"limits", limits_list()},
          {"brokers", brokers_list()}}},
        {"$defs", definitions()}};
    std::string out;
    indent(schema, 0, out);
    return out + '\n';
}

}  // namespace shunt::config
