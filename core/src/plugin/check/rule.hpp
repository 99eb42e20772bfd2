// The conformance checks as one table: name, what it looks at, the rule in one line, why the rule is there, and the function
// that finds out. `plugin check`, --list, --explain, the preflight of swaps and the tests are made from this table.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shunt::plugin::check {

class subject;

enum class verdict : std::uint8_t { passed, warned, failed, skipped, crashed };
[[nodiscard]] std::string_view to_string(verdict v) noexcept;

/// What came of one check. Rules may also throw it, from however deep.
struct outcome {
    verdict result = verdict::passed;
    std::string detail;  ///< what was found; for skipped: why
};
[[nodiscard]] inline outcome failed(std::string detail) { return {verdict::failed, std::move(detail)}; }
[[nodiscard]] inline outcome warned(std::string detail) { return {verdict::warned, std::move(detail)}; }
[[nodiscard]] inline outcome skipped(std::string detail) { return {verdict::skipped, std::move(detail)}; }

enum class scope : std::uint8_t {
    file,      ///< the bytes: none of its code runs
    code,      ///< the loaded file as a whole
    strategy,  ///< each strategy in it
    selector,  ///< each selector
    fault,     ///< each fault strategy
};
[[nodiscard]] std::string_view to_string(scope s) noexcept;

struct rule {
    std::string_view name;         ///< [a-z0-9-]; what --only takes
    scope of;
    bool basic;                    ///< part of the preflight of a swap
    std::string_view reason;       ///< the rule, in one line
    std::string_view explanation;  ///< what goes wrong without it, and what to do
    outcome (*run)(subject&);
    bool mild = false;             ///< who breaks it is warned, and has not failed
};

/// All of them, in the order in which they run.
[[nodiscard]] std::span<const rule> rules();
[[nodiscard]] const rule* find_rule(std::string_view name);

// A file each; rules() puts them together.
[[nodiscard]] std::span<const rule> file_rules();
[[nodiscard]] std::span<const rule> code_rules();
[[nodiscard]] std::span<const rule> create_rules();
[[nodiscard]] std::span<const rule> select_rules();
[[nodiscard]] std::span<const rule> fault_rules();
[[nodiscard]] std::span<const rule> state_rules();
[[nodiscard]] std::span<const rule> manners_rules();

}  // namespace shunt::plugin::check
