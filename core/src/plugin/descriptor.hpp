// A plugin's own description of itself, checked and copied into the host's shape.

#pragma once

#include <plugin/registry.hpp>
#include <strategy/strategy_class.hpp>

#include <shunt/sdk/abi.h>

#include <memory>
#include <string>
#include <vector>

namespace shunt::plugin {

/// Where a description comes from: what is the same for each strategy in it.
struct provenance {
    std::string file, sha256;
    strategy::strategy_origin origin = strategy::strategy_origin::file;
    std::shared_ptr<const void> image;
    const elf_facts* noted = nullptr;  ///< what the file's note says; null: linked, there is none
};

/// Calls `entry` and turns what it answers into classes. Everything is checked before anything is used.
[[nodiscard]] load_error describe_plugin(shunt_entry_fn entry, const provenance& from,
                                         std::vector<strategy::strategy_class_ptr>& out);

}  // namespace shunt::plugin
