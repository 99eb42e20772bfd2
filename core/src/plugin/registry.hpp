// Finds strategies by name: in the folders of [plugins] path, in the files of [plugins.load], or linked in.
//
// Admission of a file, in this order, each step refusing with file, what was found, what would be right: path rules,
// bytes read once, sha256 pin, static ELF check (no code of the file runs), private copy under a fresh name, load,
// entry, ABI negotiation, descriptor checks. A loaded image is never unloaded by default.

#pragma once

#include <shunt/options.hpp>
#include <strategy/strategy_class.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::plugin {

enum class refusal : std::uint8_t {
    none, not_found, not_a_file, writable_by_others, sha256_differs, not_elf, truncated, other_machine, not_shared_object,
    damaged, no_note, bad_note, abi_major, host_too_old, exec_stack, writable_code, static_tls, text_relocations,
    missing_entry, sanitizer, missing_dependency, missing_version, undefined_symbol, load_failed, entry_elsewhere, entry_threw,
    null_descriptor, bad_descriptor, note_differs, bad_class, bad_name, bad_parameter, wrong_kind, wrong_name, unknown_strategy,
    duplicate_name, too_many_images, copy_failed,
};

struct load_error {
    refusal why = refusal::none;
    std::string text;  ///< whole: file, what was found, what would be right
    [[nodiscard]] explicit operator bool() const noexcept { return why != refusal::none; }
};

/// One strategy known from a file's ELF note (nothing of the file has run) or linked in.
struct known_strategy {
    std::string name;
    strategy::strategy_kind kind = strategy::strategy_kind::selector;
    std::string file;  ///< empty: linked in
    strategy::strategy_origin origin = strategy::strategy_origin::bundled;
};

/// What the static check of a file found; made without running any of its code.
struct elf_facts {
    std::vector<known_strategy> strategies;
    std::uint16_t abi_major = 0, abi_minor = 0, min_host_minor = 0;
    std::vector<std::string> needed;    ///< DT_NEEDED
    std::vector<std::string> exports;   ///< defined dynamic symbols
    std::vector<std::string> imports;   ///< undefined dynamic symbols
    std::vector<std::string> unique;    ///< STB_GNU_UNIQUE: variables shared with other files that have them
    std::string search_path;            ///< DT_RUNPATH or DT_RPATH
    std::vector<std::string> warnings;  ///< RPATH, GNU_UNIQUE, more than one export, ...
};

/// Reads `file` (or bytes) and checks them as an ELF plugin for this process. What was found out before a refusal, the
/// names first, is in `out`.
[[nodiscard]] load_error inspect_file(const std::string& file, elf_facts& out);
[[nodiscard]] load_error inspect_bytes(const std::string& name, std::string_view bytes, elf_facts& out);

class registry {
public:
    /// Looks at the folders and files of `options` (notes only); problems of single files in a folder go to warnings(),
    /// except two files of one folder that offer one name, which is an error told when that name is asked for.
    /// `default_folder`: used when options.path is empty; see bundled_folder().
    explicit registry(plugin_options options, std::string default_folder = {});
    ~registry();
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;

    /// The class called `name` of `kind`, loaded if it is not yet. Null: `error` says why. Thread-safe.
    [[nodiscard]] strategy::strategy_class_ptr find(strategy::strategy_kind kind, std::string_view name, load_error& error);
    /// All that could be found, loaded or not, by name; one entry for each (kind, name) that find() would use.
    [[nodiscard]] std::vector<known_strategy> known() const;
    [[nodiscard]] const std::vector<std::string>& warnings() const noexcept;
    /// Loads one file with everything in it, whatever it is called (for `plugin describe FILE`).
    [[nodiscard]] std::vector<strategy::strategy_class_ptr> load_file(const std::string& file, const std::string& sha256,
                                                                      load_error& error);

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// The bundled plugins' folder: of the build tree, else of the installation, found from where this program or library
/// lies. Empty: neither is there.
[[nodiscard]] std::string bundled_folder();

}  // namespace shunt::plugin
