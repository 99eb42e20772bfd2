#include <plugin/check/rule.hpp>

#include <algorithm>
#include <vector>

namespace shunt::plugin::check {

std::string_view to_string(verdict v) noexcept
{
    switch (v) {
    case verdict::passed: return "passed";
    case verdict::warned: return "warned";
    case verdict::failed: return "failed";
    case verdict::skipped: return "skipped";
    case verdict::crashed: break;
    }
    return "crashed";
}

std::string_view to_string(scope s) noexcept
{
    switch (s) {
    case scope::file: return "file";
    case scope::code: return "code";
    case scope::strategy: return "strategy";
    case scope::selector: return "selector";
    case scope::fault: break;
    }
    return "fault";
}

std::span<const rule> rules()
{
    static const std::vector<rule> all = [] {
        std::vector<rule> put;
        for (const auto part : {file_rules(), code_rules(), create_rules(), select_rules(), fault_rules(), state_rules(), manners_rules()})
            put.insert(put.end(), part.begin(), part.end());
        return put;
    }();
    return all;
}

const rule* find_rule(std::string_view name)
{
    const auto all = rules();
    const auto found = std::find_if(all.begin(), all.end(), [&](const rule& r) { return r.name == name; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace shunt::plugin::check
