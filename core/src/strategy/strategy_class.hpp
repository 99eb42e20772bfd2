// What the rest of shunt knows of a strategy: a C table in the host's own shape, and where it came from.
//
// However small or large the plugin's structs were, these have every member: what the plugin lacks is NULL or zero.

#pragma once

#include <shunt/sdk/abi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shunt::strategy {

enum class strategy_kind : std::uint8_t { selector, fault };
enum class strategy_origin : std::uint8_t { bundled, file, linked };  ///< linked: static in the program

[[nodiscard]] constexpr std::string_view to_string(strategy_kind k) noexcept
{
    return k == strategy_kind::selector ? "selector" : "fault";
}

/// A parameter a strategy declares, copied.
struct parameter {
    std::string name, help, default_text, unit;
    std::vector<std::string> choices;
    std::int32_t type = 0;          ///< SHUNT_T_*
    std::int32_t element_type = 0;  ///< of an array
    bool required = false;
    std::uint32_t min_count = 0;
    double min = 0, max = 0;        ///< both 0: any
};

struct strategy_class {
    strategy_kind kind = strategy_kind::selector;
    std::string name, summary;
    std::string plugin_id, version, license, vendor, build_info;
    std::uint16_t abi_major = 0, abi_minor = 0;
    std::string file;    ///< as found; empty when linked
    std::string sha256;  ///< lower-case hex of the file's bytes; empty when linked
    strategy_origin origin = strategy_origin::file;
    std::vector<parameter> parameters;
    std::variant<shunt_selector_class, shunt_fault_class> table{};
    std::shared_ptr<const void> image;  ///< keeps the code mapped

    [[nodiscard]] const shunt_selector_class& selector() const { return std::get<shunt_selector_class>(table); }
    [[nodiscard]] const shunt_fault_class& fault() const { return std::get<shunt_fault_class>(table); }
    /// A selector that says it goes by the key: it asks for its hash, or declares that equal keys get equal queues.
    [[nodiscard]] bool goes_by_key() const
    {
        return (selector().flags & (SHUNT_F_DETERMINISTIC | SHUNT_F_WANTS_HASH64 | SHUNT_F_WANTS_JAVA_HASH)) != 0;
    }
};

using strategy_class_ptr = std::shared_ptr<const strategy_class>;

}  // namespace shunt::strategy
