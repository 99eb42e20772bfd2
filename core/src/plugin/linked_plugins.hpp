// Plugins that are part of the program itself (SHUNT_STATIC_PLUGINS), for programs that may not load files.

#pragma once

#include <shunt/sdk/abi.h>

#include <span>

namespace shunt::plugin {

struct linked_plugin {
    const char* name;  ///< the target's, for messages
    shunt_entry_fn entry;
};

/// Made by the build from all plugins that shunt_add_plugin() linked in. Weak: a program may bring its own list.
[[nodiscard]] std::span<const linked_plugin> linked_plugins() noexcept;

}  // namespace shunt::plugin
