// From a path to running code: a file's bytes, read once and judged; a private copy of them; the loaded image.

#pragma once

#include <plugin/registry.hpp>

#include <shunt/sdk/abi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace shunt::plugin {

struct file_content {
    std::string file;    ///< as the user named it: what messages show
    std::string real;    ///< absolute, without links
    std::string bytes;
    std::string sha256;  ///< lower-case hex
};

enum class path_rules : std::uint8_t {
    readable,  ///< only a regular file that can be read: to look at it
    strict,    ///< and nobody but root, this user and the program's owner may write it or its folder: to run it
};

/// Reads a file once. Everything later works on these bytes, so that there is no gap between check and use.
[[nodiscard]] load_error read_file(const std::string& file, path_rules rules, file_content& out);
/// `pin`: hex, any case; empty: nothing is pinned.
[[nodiscard]] load_error check_pin(const file_content& content, const std::string& pin);

/// A shared object in this process. It stays until the process ends.
class image;
/// Loads a private copy of `content`, whose static check has passed; the same bytes are loaded once. Thread-safe.
[[nodiscard]] load_error load_image(const file_content& content, std::size_t max_images, std::shared_ptr<const image>& out);
/// How many there are.
[[nodiscard]] std::size_t loaded_images();
/// From now on a private copy is removed as soon as it is loaded: for processes that may be killed at any time.
void keep_no_copies() noexcept;
/// A new folder that only this user can enter and that code can be loaded from. Who made it removes it; where that process
/// was killed, remove_left_folders() does. `file`: what it is for, in the words of a refusal.
[[nodiscard]] load_error make_private_folder(const std::string& file, std::string& path);
/// Removes the private folders, with the copies in them, that processes of this user left because they were killed.
void remove_left_folders();
/// The image's entry; it lies in the image itself and not in a library the image needs.
[[nodiscard]] load_error entry_of(const image& loaded, const std::string& file, shunt_entry_fn& out);

/// What plugins are told about this host.
[[nodiscard]] shunt_handshake host_handshake() noexcept;

}  // namespace shunt::plugin
