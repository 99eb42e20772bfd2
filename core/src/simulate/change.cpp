#include <simulate/change.hpp>

#include <config/toml_text.hpp>
#include <config/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>
#include <variant>

namespace shunt::simulate {

namespace {

using config::add_problem;
using config::problem;
using part = std::variant<std::string, std::size_t>;  ///< a key, or an index

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// "at[3].send" to at, 3, send. Empty: it is no such thing.
std::vector<part> parts_of(std::string_view key)
{
    std::vector<part> out;
    while (!key.empty()) {
        const std::size_t end = std::min(key.find_first_of(".["), key.size());
        if (end == 0)
            return {};
        out.emplace_back(std::string(key.substr(0, end)));
        key.remove_prefix(end);
        while (!key.empty() && key.front() == '[') {
            std::size_t index = 0;
            const auto [stop, error] = std::from_chars(key.data() + 1, key.data() + key.size(), index);
            if (error != std::errc{} || stop == key.data() + key.size() || *stop != ']')
                return {};
            out.emplace_back(index);
            key.remove_prefix(static_cast<std::size_t>(stop - key.data()) + 1);
        }
        if (key.empty())
            break;
        if (key.front() != '.' || key.size() == 1)
            return {};
        key.remove_prefix(1);
    }
    return out;
}

/// Short keys made whole.
std::vector<part> whole_path(std::vector<part> path)
{
    static constexpr std::array<std::string_view, 4> tables{"scenario", "broker", "at", "plugins"};
    static constexpr std::array<std::string_view, 5> of_policy{"selector", "fault", "filters", "ordered", "when_no_queue"};
    if (path.empty())
        return path;
    const std::string first = std::get<std::string>(path.front());
    if (is_one_of(first, tables))
        return path;
    if (first == "policies" && path.size() > 2)  // as a configuration has it: there is one policy here
        path.erase(path.begin(), path.begin() + 2);
    else if (first == "policy")
        path.erase(path.begin());
    else if (!is_one_of(first, of_policy)) {
        path.insert(path.begin(), std::string("scenario"));
        return path;
    }
    path.insert(path.begin(), {std::string("scenario"), std::string("policy")});
    return path;
}

/// `node` with `value` at `path`. Tables that are missing are made; false: there is nothing that could hold it.
bool put(const setting& node, std::span<const part> path, const setting& value, setting& out)
{
    if (path.empty()) {
        out = value;
        return true;
    }
    setting changed;
    if (const auto* key = std::get_if<std::string>(&path.front())) {
        const auto* table = node.as<setting_table>();
        if (table == nullptr)
            return false;
        setting_table copy = *table;
        setting& child = copy[*key];
        if (!put(setting(child), path.subspan(1), value, child))
            return false;
        changed = setting(std::move(copy));
    } else {
        const auto* array = node.as<setting_array>();
        const std::size_t index = std::get<std::size_t>(path.front());
        if (array == nullptr || index >= array->size())
            return false;
        setting_array copy = *array;
        if (!put((*array)[index], path.subspan(1), value, copy[index]))
            return false;
        changed = setting(std::move(copy));
    }
    changed.where = node.where;
    changed.key_where = node.key_where;
    out = std::move(changed);
    return true;
}

/// All places in a value that was not written in the file are its source.
void place(setting& value, const source_position& where);

setting placed(const setting& value, const source_position& where)
{
    setting out;
    if (const auto* table = value.as<setting_table>()) {
        setting_table copy = *table;
        for (auto& [key, child] : copy)
            place(child, where);
        out = setting(std::move(copy));
    } else if (const auto* array = value.as<setting_array>()) {
        setting_array copy = *array;
        for (setting& child : copy)
            place(child, where);
        out = setting(std::move(copy));
    } else {
        out = value;
    }
    out.where = out.key_where = where;
    return out;
}

void place(setting& value, const source_position& where) { value = placed(value, where); }

const setting* child(const setting* node, std::string_view key)
{
    const auto* table = node == nullptr ? nullptr : node->as<setting_table>();
    const auto found = table == nullptr ? setting_table::const_iterator{} : table->find(key);
    return table == nullptr || found == table->end() ? nullptr : &found->second;
}

/// A configuration's policy as a scenario would have it: with the configuration's defaults written out.
setting as_scenario_policy(const setting& policy)
{
    const auto* table = policy.as<setting_table>();
    if (table == nullptr)
        return policy;
    setting_table copy = *table;
    copy.erase("key_from");  // a scenario's sends say their keys themselves
    copy.try_emplace("selector", setting_table{{"use", "best-queue"}});
    copy.try_emplace("fault", setting_table{{"use", "latency-fault"}});
    copy.try_emplace("when_no_queue", "wait");
    setting out(std::move(copy));
    out.where = policy.where;
    out.key_where = policy.key_where;
    return out;
}

}  // namespace

std::optional<setting> with_value(const setting& root, std::string_view key, std::string_view value, std::vector<problem>& problems)
{
    const source_position where{fmt::format("{}={}", key, config::printable(value, 60)), 0, 0};
    const std::vector<part> path = whole_path(parts_of(key));
    std::vector<problem> no_toml;
    const setting read = config::parse_toml(fmt::format("value = {}\n", value), "", no_toml);
    const setting* written = no_toml.empty() ? child(&read, "value") : nullptr;
    const setting fresh = placed(written != nullptr ? *written : setting(std::string(value)), where);
    setting out;
    if (!path.empty() && put(root, path, fresh, out))
        return out;
    add_problem(problems, where, "", fmt::format("the key {}", config::in_marks(key)),
                "a key of the scenario, as \"fault.failure_latency\", \"scenario.timeout\" or \"broker[0].latency\"");
    return std::nullopt;
}

std::optional<setting> with_policy(const setting& root, std::string_view text, const std::string& source, const std::string& name,
                                   std::vector<problem>& problems)
{
    static const std::array path{part("scenario"), part("policy")};
    const std::size_t before = problems.size();
    const bool inline_table = text.find_first_not_of(" \t\r\n") != text.npos && text[text.find_first_not_of(" \t\r\n")] == '{';
    const setting other = config::parse_toml(inline_table ? fmt::format("policy = {}\n", text) : std::string(text), source, problems);
    if (problems.size() != before)
        return std::nullopt;
    std::optional<setting> policy;
    if (const setting* written = child(&other, "policy"); inline_table && written != nullptr)
        policy = placed(*written, {source, 0, 0});
    else if (const setting* of_scenario = child(child(&other, "scenario"), "policy"))
        policy = *of_scenario;
    else if (const setting* named = child(child(&other, "policies"), name))
        policy = as_scenario_policy(*named);
    setting out;
    if (policy && put(root, path, *policy, out))
        return out;
    add_problem(problems, {source, 0, 0}, "", fmt::format("no policy {}", config::in_marks(name)),
                "a scenario with a policy, a configuration with that one, or { selector = { use = \"NAME\" }, fault = { use = \"NAME\" } }");
    return std::nullopt;
}

std::vector<std::string> split_values(std::string_view list)
{
    std::vector<std::string> out(1);
    int depth = 0;
    char quote = 0;
    for (const char c : list) {
        if (quote != 0)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '[' || c == '{')
            ++depth;
        else if (c == ']' || c == '}')
            --depth;
        if (c == ',' && depth == 0 && quote == 0)
            out.emplace_back();
        else
            out.back() += c;
    }
    return out;
}

}  // namespace shunt::simulate
