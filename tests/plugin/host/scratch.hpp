// What the tests of the plugin host share: the gallery's files as bytes, a folder to put changed copies into, and the few
// places in an ELF file that they change.

#pragma once

#include <support/paths.hpp>

#include <gtest/gtest.h>

#include <elf.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace shunt::plugin::test {

inline std::string read_bytes(const std::string& file)
{
    std::ifstream in(file, std::ios::binary);
    if (!in)
        throw std::runtime_error("cannot read " + file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline std::string gallery_file(const std::string& name) { return shunt::test::in_build("/tests/gallery/") + name + ".so"; }
inline std::string gallery(const std::string& name) { return read_bytes(gallery_file(name)); }

/// A folder that only this user can enter; gone with its content at the end of the test.
class scratch_folder {
public:
    scratch_folder()
    {
        std::string name = testing::TempDir() + "shunt-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no scratch folder");
        path_ = name;
    }
    ~scratch_folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Writes a file (over the old one, if there is one), readable for all and writable for its owner; its whole path.
    std::string put(const std::string& name, std::string_view bytes) const
    {
        std::string file = path_ + "/" + name;
        std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
        ::chmod(file.c_str(), 0644);
        return file;
    }
    std::string folder(const std::string& name) const
    {
        std::string made = path_ + "/" + name;
        ::mkdir(made.c_str(), 0755);
        return made;
    }

private:
    std::string path_;
};

// ---- a shared object's bytes, to be changed ----

inline Elf64_Ehdr& header(std::string& elf) { return *reinterpret_cast<Elf64_Ehdr*>(elf.data()); }

inline Elf64_Phdr& segment(std::string& elf, std::uint32_t type)
{
    auto* const all = reinterpret_cast<Elf64_Phdr*>(elf.data() + header(elf).e_phoff);
    for (int i = 0; i < header(elf).e_phnum; ++i)
        if (all[i].p_type == type)
            return all[i];
    throw std::runtime_error("no such segment");
}

inline Elf64_Dyn& dynamic(std::string& elf, std::int64_t tag)
{
    auto* d = reinterpret_cast<Elf64_Dyn*>(elf.data() + segment(elf, PT_DYNAMIC).p_offset);
    for (; d->d_tag != DT_NULL; ++d)
        if (d->d_tag == tag)
            return *d;
    throw std::runtime_error("no such dynamic entry");
}

/// Writes `text` over the first place that begins with `start`.
inline std::string with_text(std::string bytes, std::string_view start, std::string_view text)
{
    const std::size_t at = bytes.find(start);
    if (at == std::string::npos)
        throw std::runtime_error("no such text");
    return bytes.replace(at, text.size(), text);
}

}  // namespace shunt::plugin::test
