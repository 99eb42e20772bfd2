// A plugin under test: a built file, or a class, either through its C table as a host sees it.

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/testing/finding.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace shunt::sdk::testing {

class plugin {
public:
    /// The built file. Stays loaded until the program ends: leak reports keep their names, and tests are short.
    explicit plugin(const std::string& file) : from_(file)
    {
        // A name without a slash would be looked for in the system's folders.
        const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
        void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle == nullptr)
            misuse(dlerror());
        entry_ = reinterpret_cast<shunt_entry_fn>(dlsym(handle, SHUNT_ENTRY_NAME));
        if (entry_ == nullptr)
            misuse(from_ + " exports no " SHUNT_ENTRY_NAME);
        shake_hands();
    }

    /// Through an entry function: of a plugin linked into the test, or written in C beside it.
    plugin(shunt_entry_fn function, std::string from) : from_(std::move(from)), entry_(function) { shake_hands(); }

    /// Another strategy of the same plugin.
    [[nodiscard]] plugin named(std::string strategy) const
    {
        plugin p = *this;
        p.name_ = std::move(strategy);
        return p;
    }

    [[nodiscard]] const shunt_plugin& description() const noexcept { return *description_; }
    [[nodiscard]] shunt_entry_fn entry() const noexcept { return entry_; }
    [[nodiscard]] const std::string& path() const noexcept { return from_; }

    /// The table of the strategy asked for by named(), else of the only one of the kind.
    [[nodiscard]] const shunt_selector_class& selector() const
    {
        return find(description_->selectors, description_->n_selectors, "selector");
    }
    [[nodiscard]] const shunt_fault_class& fault() const { return find(description_->faults, description_->n_faults, "fault strategy"); }

private:
    void shake_hands()
    {
        const shunt_handshake hello{sizeof hello, SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR, str("test kit " SHUNT_SDK_VERSION)};
        description_ = entry_(&hello);
        if (description_ == nullptr)
            misuse(from_ + " answers null: it is not for a host of version " + std::to_string(SHUNT_ABI_MAJOR) + "." +
                   std::to_string(SHUNT_ABI_MINOR));
        const shunt_plugin& d = *description_;
        if (d.magic != SHUNT_MAGIC || d.struct_size < sizeof(shunt_plugin) || d.abi_major != SHUNT_ABI_MAJOR || d.abi_minor > SHUNT_ABI_MINOR)
            misuse(from_ + " describes itself as version " + std::to_string(d.abi_major) + "." + std::to_string(d.abi_minor) + " of the border, with " +
                   std::to_string(d.struct_size) + " bytes; this kit is of version " + std::to_string(SHUNT_ABI_MAJOR) + "." +
                   std::to_string(SHUNT_ABI_MINOR));
        if ((d.n_selectors > 0 && d.selectors == nullptr) || (d.n_faults > 0 && d.faults == nullptr))
            misuse(from_ + " counts strategies that it does not list");
    }

    template <class Table>
    [[nodiscard]] const Table& find(const Table* const* all, std::uint32_t n, const char* kind) const
    {
        std::string known;
        for (std::uint32_t i = 0; i < n; ++i) {
            if (text(all[i]->name) == name_ || (name_.empty() && n == 1))
                return *all[i];
            known.append(known.empty() ? "" : ", ").append(text(all[i]->name));
        }
        misuse(from_ + ": no " + kind + (name_.empty() ? " is named" : " " + detail::quoted(name_)) + "; it has " + (known.empty() ? "none" : known));
    }

    std::string from_, name_;
    shunt_entry_fn entry_ = nullptr;
    const shunt_plugin* description_ = nullptr;
};

/// Classes written for SHUNT_PLUGIN, without a file: through the same table.
template <class... Strategy>
[[nodiscard]] plugin of()
{
    static constexpr shunt_plugin description = sdk::detail::plugin<Strategy...>::describe("test.classes", "1.0.0", "none");
    return {[](const shunt_handshake*) { return &description; }, "the classes under test"};
}

}  // namespace shunt::sdk::testing
