#include <config/tables.hpp>

#include <config/keys.hpp>
#include <config/names.hpp>
#include <config/toml_text.hpp>

#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace shunt::config {

namespace {

// ---- key_from ----

constexpr std::string_view property_prefix = "property:";

bool parse_key_source(std::string_view text, key_source& out)
{
    if (text == "order-key" || text == "keys") {
        out = {text == "keys" ? key_source::kind::keys : key_source::kind::order_key, ""};
        return true;
    }
    if (text.substr(0, property_prefix.size()) != property_prefix)
        return false;
    const std::string_view name = text.substr(property_prefix.size());
    if (name.empty() || name == "KEYS" || name.size() > 255 || printable(name) != name || name.find(' ') != name.npos)
        return false;
    out = {key_source::kind::property, std::string(name)};
    return true;
}

bool is_key_source(std::string_view text)
{
    key_source ignored;
    return parse_key_source(text, ignored);
}

std::string key_source_advice(std::string_view text)
{
    if (text == "property:KEYS" || text == "key" || text == "KEYS")
        return "did you mean 'keys'?";
    if (text == "order_key" || text == "orderkey")
        return "did you mean 'order-key'?";
    if (text.substr(0, property_prefix.size()) == property_prefix)
        return "a property's name has no blanks and no control characters, and is not empty";
    return "";
}

// ---- strategies ----

void note_settings(const setting_table& settings, const std::string& path, std::vector<origin>& origins)
{
    for (const auto& [key, value] : settings)
        origins.push_back({fmt::format("{}.{}", path, printable(key, 60)), to_toml(value), to_string(value.where)});
}

// `{ use = "hash", function = "java" }`: nothing if it is no such table.
std::optional<strategy_options> strategy_from(const setting& table, const std::string& path,
                                              std::vector<problem>& problems, std::vector<origin>* origins)
{
    if (const std::string* name = table.as<std::string>()) {
        add_problem(problems, table.where, path, shown(table), "a table that names a strategy",
                    is_strategy_name(*name) ? fmt::format("write {{ use = \"{}\" }}", *name) : "write { use = \"NAME\" }");
        return std::nullopt;
    }
    if (table.as<setting_table>() == nullptr) {
        add_problem(problems, table.where, path, shown(table), "a table that names a strategy", "write { use = \"NAME\" }");
        return std::nullopt;
    }
    table_reader reader(table, path, problems, origins);
    const setting* use = reader.find("use");
    if (use == nullptr) {
        std::string hint;
        for (const auto& [key, value] : reader.entries())
            if (!strategy::closest(key, {"use", "name", "strategy"}).empty())
                hint = fmt::format("did you mean 'use' by '{}'?", printable(key, 60));
        add_problem(problems, table.where, reader.path_of("use"), "not set", "a strategy's name", hint);
        return std::nullopt;
    }
    const auto name = read(*use, reader.path_of("use"), strategy_name_rule(), problems);
    if (!name)
        return std::nullopt;
    reader.note("use", strategy_name_rule().show(*name), use);
    strategy_options out{*name, reader.entries(), use->where};
    out.settings.erase("use");
    if (origins != nullptr)
        note_settings(out.settings, path, *origins);
    return out;
}

void read_strategy(table_reader& policy, std::string_view key, bool required, strategy_options& out)
{
    const setting* table = required ? policy.require(key, "a table that names a strategy: { use = \"NAME\" }") : policy.find(key);
    if (table == nullptr) {
        if (policy.origins() != nullptr)
            policy.origins()->push_back({policy.path_of(key) + ".use", strategy_name_rule().show(out.use), "default"});
        out.where = policy.where();
        return;
    }
    if (auto strategy = strategy_from(*table, policy.path_of(key), policy.problems(), policy.origins()))
        out = *std::move(strategy);
}

void check_strategy(const strategy_options& strategy, const std::string& path, std::vector<problem>& problems)
{
    check_value(strategy.use, strategy_name_rule(), path + ".use", strategy.where, problems);
}

// ---- plugins ----

std::string in_folder(const std::string& folder, const std::string& path)
{
    if (folder.empty() || path.empty() || path.front() == '/')
        return path;
    return (std::filesystem::path(folder) / path).string();
}

void read_search_path(table_reader& plugins, const std::string& folder, std::vector<std::string>& out)
{
    static constexpr std::string_view expected = "an array of one or more folders";
    const setting* value = plugins.find("path");
    if (value == nullptr)
        return plugins.note("path", "[]", nullptr);
    const setting_array* list = value->as<setting_array>();
    if (list == nullptr || list->empty()) {
        const std::string* one = value->as<std::string>();
        add_problem(plugins.problems(), value->where, plugins.path_of("path"), shown(*value), std::string(expected),
                    one != nullptr ? fmt::format("write [\"{}\"]", printable(*one, 60))
                                   : (list != nullptr ? "leave the key out for the bundled plugins" : ""));
        return;
    }
    setting_array shown_list;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const setting& element = (*list)[i];
        const std::string key = fmt::format("{}[{}]", plugins.path_of("path"), i);
        const auto folder_name = read(element, key, path_rule(), plugins.problems());
        if (!folder_name)
            continue;
        std::string whole = in_folder(folder, *folder_name);
        if (std::find(out.begin(), out.end(), whole) != out.end()) {
            add_problem(plugins.problems(), element.where, key, shown(element), "a folder not named before");
            continue;
        }
        shown_list.emplace_back(whole);
        out.push_back(std::move(whole));
    }
    plugins.note("path", to_toml(setting(std::move(shown_list))), value);
}

void read_load(table_reader& plugins, const std::string& folder, std::map<std::string, plugin_file>& out)
{
    const setting* value = plugins.find("load");
    if (value == nullptr)
        return;
    table_reader load(*value, plugins.path_of("load"), plugins.problems(), plugins.origins());
    for (const auto& [name, table] : load.entries()) {
        const std::string path = load.path_of(name);
        if (!is_strategy_name(name)) {
            add_problem(plugins.problems(), table.key_where, path, in_marks(name), strategy_name_rule().expected(),
                        strategy_name_rule().hint(setting(name)));
            continue;
        }
        table_reader reader(table, path, plugins.problems(), plugins.origins());
        plugin_file file;
        file.where = table.where;
        if (const setting* given = reader.require("file", path_rule().expected())) {
            if (auto text = read(*given, reader.path_of("file"), path_rule(), plugins.problems())) {
                file.file = in_folder(folder, *text);
                reader.note("file", path_rule().show(file.file), given);
            }
        }
        if (reader.find("sha256") != nullptr) {
            (void)reader.read("sha256", sha256_rule(), file.sha256);
            for (char& c : file.sha256)
                c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        (void)reader.finish();
        out.emplace(name, std::move(file));
    }
}

}  // namespace

// ---- policies ----

plain_text key_source_rule()
{
    return {is_key_source, "'order-key', 'keys' or 'property:NAME'", key_source_advice, "^(order-key|keys|property:[^ ]{1,255})$"};
}

std::string to_string(const key_source& k)
{
    switch (k.what) {
    case key_source::kind::keys: return "keys";
    case key_source::kind::property: return fmt::format("{}{}", property_prefix, k.property);
    case key_source::kind::order_key: break;
    }
    return "order-key";
}

policy_options policy_from(const setting& table, const std::string& path, const policy_rules& rules,
                           std::vector<problem>& problems, std::vector<origin>* origins)
{
    policy_options out;
    out.where = table.where;
    out.when_no_queue = rules.when_no_queue;
    table_reader reader(table, path, problems, origins);
    if (!reader.present())
        return out;
    read_strategy(reader, "selector", rules.both_required, out.selector);
    read_strategy(reader, "fault", rules.both_required, out.fault);

    if (reader.entries().find("filters") == reader.entries().end())
        reader.note("filters", "[]", nullptr);
    if (const setting_array* filters = reader.find_array("filters", "an array of tables that name strategies"))
        for (std::size_t i = 0; i < filters->size(); ++i)
            if (auto filter = strategy_from((*filters)[i], fmt::format("{}[{}]", reader.path_of("filters"), i), problems, origins))
                out.filters.push_back(*std::move(filter));

    (void)reader.read("ordered", flag{}, out.ordered);
    if (rules.key_from_allowed) {
        std::string key = to_string(out.key_from);
        if (reader.read("key_from", key_source_rule(), key) == presence::right)
            (void)parse_key_source(key, out.key_from);
    }
    (void)reader.read("when_no_queue", no_queue_rule(), out.when_no_queue);
    (void)reader.finish();
    return out;
}

void check_policy(const policy_options& policy, const std::string& path, std::vector<problem>& problems)
{
    check_strategy(policy.selector, path + ".selector", problems);
    check_strategy(policy.fault, path + ".fault", problems);
    for (std::size_t i = 0; i < policy.filters.size(); ++i)
        check_strategy(policy.filters[i], fmt::format("{}.filters[{}]", path, i), problems);
    check_value(to_string(policy.key_from), key_source_rule(), path + ".key_from", policy.where, problems);
    check_value(policy.when_no_queue, no_queue_rule(), path + ".when_no_queue", policy.where, problems);
}

// ---- plugins ----

plugin_options plugins_from(const setting& table, const std::string& folder, std::vector<problem>& problems,
                            std::vector<origin>* origins)
{
    plugin_options out;
    table_reader reader(table, "plugins", problems, origins);
    if (!reader.present())
        return out;
    read_search_path(reader, folder, out.path);
    (void)reader.read("max_images", max_images_rule, out.max_images);
    read_load(reader, folder, out.load);
    (void)reader.finish();
    return out;
}

void check_plugins(const plugin_options& plugins, std::vector<problem>& problems)
{
    for (std::size_t i = 0; i < plugins.path.size(); ++i)
        check_value(plugins.path[i], path_rule(), fmt::format("plugins.path[{}]", i), {}, problems);
    check_value(plugins.max_images, max_images_rule, "plugins.max_images", {}, problems);
    for (const auto& [name, file] : plugins.load) {
        const std::string key = fmt::format("plugins.load.{}", printable(name, 60));
        check_value(name, strategy_name_rule(), key, file.where, problems);
        check_value(file.file, path_rule(), key + ".file", file.where, problems);
        if (!file.sha256.empty())
            check_value(file.sha256, sha256_rule(), key + ".sha256", file.where, problems);
    }
}

}  // namespace shunt::config
