// Judges the policies by the strategies they name: those are found and loaded, and say which settings they take.

#include <config/load.hpp>

#include <config/toml_text.hpp>

#include <plugin/registry.hpp>
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

void tell_not_found(strategy_kind kind, const strategy_options& strategy, const std::string& path,
                    const plugin::registry& registry, const plugin::load_error& error, std::vector<problem>& problems)
{
    const std::vector<std::string> names = names_of(kind, registry);
    const strategy_kind other = kind == strategy_kind::selector ? strategy_kind::fault : strategy_kind::selector;
    const std::vector<std::string> others = names_of(other, registry);
    const bool is_other = std::find(others.begin(), others.end(), strategy.use) != others.end();
    const bool is_known = std::find(names.begin(), names.end(), strategy.use) != names.end();
    std::string found = in_marks(strategy.use), expected = kind_words(kind), hint;
    if (is_other && !is_known)
        hint = fmt::format("'{}' is {}", strategy.use, kind_words(other));
    else if (error.why == plugin::refusal::unknown_strategy || error.why == plugin::refusal::not_found)
        hint = suggestion(strategy.use, names);
    else
        hint = error.text;
    if (!names.empty() && !is_known)
        expected += fmt::format(" that is there: {}", listed(names, "or"));
    else
        expected += " that can be loaded";
    if (hint.empty())
        hint = error.text;
    add_problem(problems, strategy.where, path + ".use", std::move(found), std::move(expected), std::move(hint));
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
        (void)strategy::check_settings(*cls, s.settings, s.where, wrong);
        for (strategy::setting_problem& w : wrong)
            add_problem(found, w.where, fmt::format("{}.{}", path, w.key), w.found, w.expected, w.hint);
    });
    sort_by_place(found);
    problems.insert(problems.end(), found.begin(), found.end());
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
