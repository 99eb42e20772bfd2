#include <plugin/preflight.hpp>

#include <plugin/check/child.hpp>

#include <fmt/format.h>

#include <utility>

namespace shunt::plugin {

preflight_result preflight(const std::string& file, const preflight_limits& limits)
{
    preflight_result result;
    const auto problem = [&](std::string check, std::string strategy, std::string_view what) {
        const std::string whose = strategy.empty() ? "" : fmt::format("strategy {}: ", strategy::in_quotes(strategy));
        result.problems.push_back({std::move(check), std::move(strategy), fmt::format("plugin {}: {}{}", strategy::in_quotes(file), whose, what)});
    };
    const std::string helper = limits.helper.empty() ? check::find_helper() : limits.helper;
    if (helper.empty()) {
        problem({}, {}, "no preflight: there is no shunt-preflight beside the folder of the bundled plugins; install it there");
        return result;
    }
    check::errand errand;
    errand.file = file;
    errand.basics = true;
    std::string trouble;
    const check::child_end end = check::run_child(helper, errand, {limits.time, limits.memory}, trouble);
    if (!trouble.empty()) {
        problem({}, {}, "no preflight: " + trouble);
        return result;
    }
    result.ran = true;
    bool skipped = false;
    for (const check::report& r : end.reports) {
        if (r.what.result == check::verdict::failed || r.what.result == check::verdict::crashed)
            problem(r.rule, r.strategy, r.what.detail);
        else if (r.what.result == check::verdict::passed || r.what.result == check::verdict::warned)
            result.passed.push_back(r.rule);
        skipped = skipped || r.what.result == check::verdict::skipped;
    }
    if (!end.death.empty())
        problem(end.rule, end.strategy, fmt::format("its process {}, in {}", end.death, to_string(end.where)));
    if (end.lost())
        problem(end.rule, end.strategy, check::lost_report);
    if (end.refused_bytes > 0 && result.problems.empty())
        problem("no-leaks", {}, fmt::format("an allocation of {} bytes failed; its process has {} bytes in all", end.refused_bytes, limits.memory));
    // The file itself could not be read: every check was skipped, and says why.
    if (skipped && result.problems.empty() && result.passed.empty())
        problem(end.reports.front().rule, {}, end.reports.front().what.detail);
    return result;
}

}  // namespace shunt::plugin
