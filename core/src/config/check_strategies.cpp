// Judges the policies by the strategies they name: those are found and loaded, and say which settings they take.

#include <config/load.hpp>

#include <config/toml_text.hpp>

#include <plugin/registry.hpp>
#include <strategy/host.hpp>
#include <strategy/settings_check.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace shunt::config {

namespace {

using strategy::strategy_kind;

// Every strategy named in a policy: f(kind, options, path, is_filter).
template <typename Policies, typename F>
void each_strategy(Policies& policies, F f)
{
    for (auto& [name, policy] : policies) {
        const std::string path = fmt::format("policies.{}", printable(name, 60));
        f(strategy_kind::selector, policy.selector, path + ".selector", false);
        f(strategy_kind::fault, policy.fault, path + ".fault", false);
        for (std::size_t i = 0; i < policy.filters.size(); ++i)
            f(strategy_kind::selector, policy.filters[i], fmt::format("{}.filters[{}]", path, i), true);
    }
}

std::string kind_words(strategy_kind kind)
{
    return kind == strategy_kind::selector ? "a selector" : "a fault strategy";
}

std::vector<std::string> names_of(strategy_kind kind, const plugin::registry& registry)
{
    std::set<std::string> names;
    for (const plugin::known_strategy& s : registry.known())
        if (s.kind == kind)
            names.insert(s.name);
    return {names.begin(), names.end()};
}

void tell_not_found(strategy_kind kind, const strategy_options& wanted, const std::string& path,
                    const plugin::registry& registry, const plugin::load_error& error, std::vector<problem>& problems)
{
    const std::vector<std::string> names = names_of(kind, registry);
    const strategy_kind other = kind == strategy_kind::selector ? strategy_kind::fault : strategy_kind::selector;
    const std::vector<std::string> others = names_of(other, registry);
    const bool is_other = std::find(others.begin(), others.end(), wanted.use) != others.end();
    const bool is_known = std::find(names.begin(), names.end(), wanted.use) != names.end();
    std::string found = in_marks(wanted.use), expected = kind_words(kind), hint;
    if (error.why == plugin::refusal::wrong_name)
        hint = error.text;
    else if (is_other && !is_known)
        hint = fmt::format("'{}' is {}", wanted.use, kind_words(other));
    else if (const std::string close = strategy::closest(wanted.use, names); !is_known && !close.empty())
        hint = fmt::format("did you mean '{}'?", close);
    else if (names.empty() && !registry.warnings().empty())
        hint = registry.warnings().front();  // "/nowhere": no such folder
    else if (names.empty() || error.why != plugin::refusal::unknown_strategy)
        hint = error.text;
    if (!names.empty() && !is_known)
        expected += fmt::format(" that is there: {}", listed(names, "or"));
    else
        expected += " that can be loaded";
    add_problem(problems, wanted.where, path + ".use", std::move(found), std::move(expected), std::move(hint));
}

// Lends a strategy what it needs for the moment of a trial, and nothing of the world.
class trial_environment final : public strategy::environment {
public:
    std::int64_t now_ns() override { return 0; }
    std::uint64_t random() override { return 0; }
    void log(std::int32_t, std::string_view) override {}
    void request_probe(std::string_view, std::uint32_t, std::int64_t) override {}
};

// Makes an instance and destroys it: some rules, as two arrays of one length, only the strategy itself knows.
// Empty: it was made; else the strategy's own words.
template <typename Instance, typename Class>
std::string try_out(const Class& table, const shunt_host& host, const shunt_config& settings)
{
    const shunt_instance info{sizeof(shunt_instance), 0};
    Instance* made = nullptr;
    (void)strategy::host_table::take_error();
    const shunt_status status = table.create(&host, &settings, &info, &made);
    if (status == SHUNT_OK && made != nullptr) {
        table.destroy(made);
        return {};
    }
    const std::string words = strategy::host_table::take_error();
    return words.empty() ? fmt::format("it failed with status {}", status) : words;
}

std::string try_out(const strategy::strategy_class& cls, const strategy::checked_settings& settings)
{
    trial_environment nowhere;
    const strategy::host_table host(nowhere, "", cls.name);
    if (cls.kind == strategy_kind::selector)
        return try_out<shunt_selector>(cls.selector(), host.table(), settings.config());
    return try_out<shunt_fault>(cls.fault(), host.table(), settings.config());
}

}  // namespace

void check_strategies(const producer_options& options, plugin::registry& registry, std::vector<problem>& problems)
{
    std::vector<problem> found;
    each_strategy(options.policies, [&](strategy_kind kind, const strategy_options& s, const std::string& path, bool filter) {
        plugin::load_error error;
        const strategy::strategy_class_ptr cls = registry.find(kind, s.use, error);
        if (cls == nullptr)
            return tell_not_found(kind, s, path, registry, error, found);
        if (filter && cls->selector().filter == nullptr)
            add_problem(found, s.where, path + ".use", in_marks(s.use), "a selector that can filter",
                        "it only picks; name it as the policy's selector");
        std::vector<strategy::setting_problem> wrong;
        const auto settings = strategy::check_settings(*cls, s.settings, s.where, wrong);
        if (wrong.empty()) {
            if (std::string refusal = try_out(*cls, settings); !refusal.empty())
                add_problem(found, s.where, path, fmt::format("{} with these settings", in_marks(s.use)),
                            "a strategy that accepts its settings", std::move(refusal));
        }
        for (strategy::setting_problem& w : wrong)
            add_problem(found, w.where, fmt::format("{}.{}", path, w.key), w.found, w.expected, w.hint);
    });
    sort_by_place(found);
    problems.insert(problems.end(), found.begin(), found.end());
}

void warn_of_strategies(const producer_options& options, plugin::registry& registry, std::vector<problem>& warnings)
{
    std::vector<problem> found;
    for (const auto& [name, policy] : options.policies) {
        plugin::load_error error;
        const auto cls = policy.ordered ? registry.find(strategy_kind::selector, policy.selector.use, error) : nullptr;
        if (cls != nullptr && !cls->goes_by_key())
            add_problem(found, policy.selector.where, fmt::format("policies.{}.selector.use", printable(name, 60)), in_marks(policy.selector.use),
                        "a selector that goes by the key, since ordered = true", "messages of one key may go to several queues; hash keeps them in one");
    }
    sort_by_place(found);
    warnings.insert(warnings.end(), found.begin(), found.end());
}

void add_strategy_defaults(loaded& config, plugin::registry& registry)
{
    std::vector<origin>& origins = config.origins;
    each_strategy(config.options.policies, [&](strategy_kind kind, const strategy_options& s, const std::string& path, bool) {
        plugin::load_error error;
        const strategy::strategy_class_ptr cls = registry.find(kind, s.use, error);
        if (cls == nullptr)
            return;
        // After the last origin of this strategy.
        const auto last = std::find_if(origins.rbegin(), origins.rend(), [&](const origin& o) {
            return o.key.substr(0, path.size() + 1) == path + ".";
        });
        auto at = last.base();
        for (const strategy::parameter& p : cls->parameters)
            if (s.settings.find(p.name) == s.settings.end() && !p.default_text.empty())
                at = origins.insert(at, {fmt::format("{}.{}", path, p.name), p.default_text, "default"}) + 1;
    });
}

}  // namespace shunt::config
