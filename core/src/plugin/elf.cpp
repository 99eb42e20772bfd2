// Reads an ELF file as bytes and judges it as a plugin for this process, before the loader may touch it: the loader runs
// constructors, dies of SIGBUS on a cut file, and makes the whole program's stack executable if a file asks for it.
//
// Nothing in the bytes is believed: every offset is checked against the size. What the loader does not read (sections,
// their names) is not used, so a stripped file is as good as another.

#include <plugin/refuse.hpp>
#include <plugin/registry.hpp>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace shunt::plugin {

namespace {

constexpr std::uint16_t this_machine =
#if defined(__x86_64__)
    EM_X86_64;
#elif defined(__aarch64__)
    EM_AARCH64;
#elif defined(__riscv)
    EM_RISCV;
#elif defined(__powerpc64__)
    EM_PPC64;
#elif defined(__s390x__)
    EM_S390;
#else
    EM_NONE;  // not known here: left to the loader
#endif
constexpr unsigned char this_data = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

const char* name_of_machine(std::uint16_t machine) noexcept
{
    switch (machine) {
    case EM_386: return "i386";
    case EM_X86_64: return "x86-64";
    case EM_ARM: return "ARM";
    case EM_AARCH64: return "AArch64";
    case EM_RISCV: return "RISC-V";
    case EM_PPC: return "PowerPC";
    case EM_PPC64: return "PowerPC64";
    case EM_S390: return "IBM Z";
    case EM_MIPS: return "MIPS";
    case EM_SPARCV9: return "SPARC64";
    case EM_IA_64: return "Itanium";
    case 258: return "LoongArch";
    default: return nullptr;
    }
}

std::string machine_text(unsigned char file_class, unsigned char data, std::uint16_t machine)
{
    std::string text;
    if (data == ELFDATA2MSB && machine != EM_S390)
        text += "big-endian ";
    if (file_class == ELFCLASS32)
        text += "32-bit ";
    const char* const name = name_of_machine(machine);
    return text + (name != nullptr ? name : fmt::format("machine number {}", machine));
}

// What the first bytes look like, for someone who named the wrong file.
std::string look_of(std::string_view bytes)
{
    struct look {
        std::string_view start, name;
    };
    using namespace std::string_view_literals;
    static constexpr std::array looks{
        look{"MZ"sv, "a Windows program or DLL (PE)"},
        look{"\xfe\xed\xfa\xce"sv, "a macOS library (Mach-O)"},
        look{"\xfe\xed\xfa\xcf"sv, "a macOS library (Mach-O)"},
        look{"\xce\xfa\xed\xfe"sv, "a macOS library (Mach-O)"},
        look{"\xcf\xfa\xed\xfe"sv, "a macOS library (Mach-O)"},
        look{"\xca\xfe\xba\xbe"sv, "a universal macOS library (Mach-O) or a Java class"},
        look{"!<arch>\n"sv, "a static library (.a)"},
        look{"#!"sv, "a script"},
        look{"PK\x03\x04"sv, "a zip or jar archive"},
        look{"\x1f\x8b"sv, "a gzip archive"},
        look{"BC\xc0\xde"sv, "LLVM bitcode"},
        look{"\0asm"sv, "WebAssembly"},
        look{"version https://git-lfs"sv, "a Git LFS pointer, not the file itself"},
    };
    if (bytes.empty())
        return "the file is empty";
    for (const look& l : looks)
        if (bytes.starts_with(l.start))
            return fmt::format("it is {}", l.name);
    const std::string_view head = bytes.substr(0, 256);
    if (std::all_of(head.begin(), head.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t' || (c >= ' ' && c <= '~'); }))
        return fmt::format("it is text, beginning {}", strategy::in_quotes(head.substr(0, std::min(head.find('\n'), std::size_t{24}))));
    std::string hex;
    for (const char c : bytes.substr(0, 4))
        hex += fmt::format(" {:02x}", static_cast<unsigned char>(c));
    return fmt::format("it begins with the bytes{}", hex);
}

class reader {
public:
    reader(const std::string& file, std::string_view bytes, elf_facts& out) : file_(file), bytes_(bytes), out_(out) {}

    load_error judge()
    {
        using step = load_error (reader::*)();
        // The note comes early: a file that is refused for its flags is still known by the names it offers.
        for (const step s : {&reader::read_header, &reader::read_segments, &reader::read_dynamic, &reader::judge_kind,
                             &reader::read_note, &reader::judge_abi, &reader::judge_segments, &reader::judge_flags,
                             &reader::read_symbols, &reader::judge_symbols, &reader::judge_needed})
            if (load_error e = (this->*s)())
                return e;
        return {};
    }

private:
    // ---- bytes ----

    [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t count) const noexcept
    {
        return offset <= bytes_.size() && count <= bytes_.size() - offset;
    }

    template <typename T>
    [[nodiscard]] bool read(std::uint64_t offset, T& out) const noexcept
    {
        if (!has(offset, sizeof(T)))
            return false;
        std::memcpy(&out, bytes_.data() + offset, sizeof(T));
        return true;
    }

    // Where the loader's address lies in the file, with `count` bytes behind it.
    [[nodiscard]] std::optional<std::uint64_t> offset_of(std::uint64_t address, std::uint64_t count) const noexcept
    {
        for (const Elf64_Phdr& s : segments_) {
            if (s.p_type != PT_LOAD || address < s.p_vaddr || address - s.p_vaddr >= s.p_filesz)
                continue;
            const std::uint64_t in = address - s.p_vaddr;
            if (count <= s.p_filesz - in)
                return s.p_offset + in;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::optional<std::string_view> text_at(std::uint64_t index) const noexcept
    {
        if (index >= strings_.size())
            return std::nullopt;
        const std::string_view rest = strings_.substr(index);
        const std::size_t end = rest.find('\0');
        return end == std::string_view::npos ? std::nullopt : std::optional(rest.substr(0, end));
    }

    // ---- refusals ----

    [[nodiscard]] load_error no(refusal why, std::string_view found, std::string_view right) const
    {
        return refuse(file_, why, found, right);
    }
    [[nodiscard]] load_error cut(std::string_view what) const
    {
        return no(refusal::truncated, fmt::format("cut off: {} lies past its end at {} bytes", what, bytes_.size()),
                  "copy the whole file");
    }
    [[nodiscard]] load_error damaged(std::string_view what) const
    {
        return no(refusal::damaged, fmt::format("damaged: {}", what), "copy or build the file again");
    }

    // ---- steps ----

    load_error read_header()
    {
        if (!bytes_.starts_with(ELFMAG)) {
            if (!bytes_.empty() && std::string_view(ELFMAG).starts_with(bytes_))
                return cut("the ELF header");
            return no(refusal::not_elf, look_of(bytes_), "a plugin is an ELF shared object");
        }
        std::uint16_t type = 0, machine = 0;
        if (!read(EI_NIDENT, type) || !read(EI_NIDENT + 2, machine))
            return cut("the ELF header");
        const auto file_class = static_cast<unsigned char>(bytes_[EI_CLASS]);
        const auto data = static_cast<unsigned char>(bytes_[EI_DATA]);
        if (file_class != ELFCLASS32 && file_class != ELFCLASS64)
            return damaged(fmt::format("its ELF class is {}", file_class));
        if (data != ELFDATA2LSB && data != ELFDATA2MSB)
            return damaged(fmt::format("its ELF byte order is {}", data));
        if (data != this_data) {
            const auto swapped = static_cast<std::uint16_t>(machine << 8 | machine >> 8);
            if (name_of_machine(swapped) != nullptr)
                machine = swapped;
        }
        if (file_class != ELFCLASS64 || data != this_data || (this_machine != EM_NONE && machine != this_machine))
            return no(refusal::other_machine,
                      fmt::format("built for {}, this process is {}", machine_text(file_class, data, machine),
                                  machine_text(ELFCLASS64, this_data, this_machine)),
                      "build it for this machine");
        if (!read(0, header_))
            return cut("the ELF header");
        switch (header_.e_type) {
        case ET_DYN: break;
        case ET_EXEC: return no(refusal::not_shared_object, "it is a program, not a library", "link it with -shared");
        case ET_REL: return no(refusal::not_shared_object, "it is an object file (.o)", "link it with -shared");
        case ET_CORE: return no(refusal::not_shared_object, "it is a core dump", "a plugin is an ELF shared object");
        default: return damaged(fmt::format("its ELF type is {}", header_.e_type));
        }
        if (header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT)
            return damaged(fmt::format("its ELF version is {}", header_.e_version));
        return {};
    }

    load_error read_segments()
    {
        if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0)
            return damaged(fmt::format("it has {} program headers of {} bytes", header_.e_phnum, header_.e_phentsize));
        for (std::uint64_t i = 0; i < header_.e_phnum; ++i) {
            Elf64_Phdr s;
            if (header_.e_phoff > bytes_.size() || !read(header_.e_phoff + i * sizeof s, s))
                return cut("a program header");
            segments_.push_back(s);
        }
        // The loader reads no sections, but linkers put their table last, so it tells best whether the end is there.
        if (header_.e_shoff != 0 &&
            !has(header_.e_shoff, std::uint64_t{header_.e_shnum} * header_.e_shentsize))
            return cut("the section table");

        constexpr std::uint64_t page = 4096, largest = std::uint64_t{1} << 30;
        std::uint64_t last_end = 0;
        bool any = false;
        for (const Elf64_Phdr& s : segments_) {
            if (s.p_type != PT_LOAD)
                continue;
            if (!has(s.p_offset, s.p_filesz))
                return cut("a segment");
            if (s.p_filesz > s.p_memsz || s.p_memsz > largest || s.p_vaddr > largest || (any && s.p_vaddr < last_end))
                return damaged("its segments overlap or are too large");
            if (s.p_align > 1 && (!std::has_single_bit(s.p_align) || (s.p_vaddr - s.p_offset) % s.p_align != 0))
                return damaged("a segment's alignment does not fit its place");
            if ((s.p_vaddr - s.p_offset) % page != 0)
                return damaged("a segment does not lie on a page");
            last_end = s.p_vaddr + s.p_memsz;
            any = true;
        }
        return any ? load_error{} : damaged("it has no segment to load");
    }

    load_error read_dynamic()
    {
        const auto segment = std::find_if(segments_.begin(), segments_.end(), [](const Elf64_Phdr& s) { return s.p_type == PT_DYNAMIC; });
        if (segment == segments_.end())
            return no(refusal::not_shared_object, "it is linked statically, not a library", "link it with -shared");
        const auto start = offset_of(segment->p_vaddr, segment->p_filesz);
        if (!start)
            return damaged("its dynamic section lies outside its segments");
        bool ended = false;
        for (std::uint64_t i = 0; !ended && (i + 1) * sizeof(Elf64_Dyn) <= segment->p_filesz; ++i) {
            Elf64_Dyn d;
            (void)read(*start + i * sizeof d, d);
            ended = d.d_tag == DT_NULL;
            dynamic_.push_back(d);
        }
        if (!ended)
            return damaged("its dynamic section has no end");

        const auto table = entry(DT_STRTAB), size = entry(DT_STRSZ), symbols = entry(DT_SYMTAB);
        if (!table || !size || !symbols)
            return damaged("its dynamic section names no symbols");
        const auto at = offset_of(*table, *size);
        if (!at)
            return damaged("its string table lies outside its segments");
        strings_ = bytes_.substr(*at, *size);
        for (const Elf64_Dyn& d : dynamic_) {
            if (d.d_tag != DT_NEEDED && d.d_tag != DT_RUNPATH && d.d_tag != DT_RPATH)
                continue;
            const auto text = text_at(d.d_un.d_val);
            if (!text)
                return damaged("a name in its dynamic section lies outside its string table");
            if (d.d_tag == DT_NEEDED)
                out_.needed.emplace_back(*text);
            else
                out_.search_path = *text;
        }
        return {};
    }

    [[nodiscard]] std::optional<std::uint64_t> entry(std::int64_t tag) const noexcept
    {
        for (const Elf64_Dyn& d : dynamic_)
            if (d.d_tag == tag)
                return d.d_un.d_val;
        return std::nullopt;
    }

    load_error judge_kind()
    {
        const std::uint64_t flags_1 = entry(DT_FLAGS_1).value_or(0);
        const bool interpreted = std::any_of(segments_.begin(), segments_.end(), [](const Elf64_Phdr& s) { return s.p_type == PT_INTERP; });
        if ((flags_1 & DF_1_PIE) != 0 || (interpreted && entry(DT_DEBUG)))
            return no(refusal::not_shared_object, "it is a program, not a library", "link it with -shared");
        if ((flags_1 & DF_1_NOOPEN) != 0)
            return no(refusal::not_shared_object, "it forbids to be loaded at run time", "link it without -Wl,-z,nodlopen");
        return {};
    }

    load_error read_note()
    {
        bool has_ours = false;
        std::optional<shunt_note> other;
        for (const Elf64_Phdr& s : segments_) {
            if (s.p_type != PT_NOTE)
                continue;
            if (!has(s.p_offset, s.p_filesz))
                return cut("a note");
            const std::uint64_t end = s.p_offset + s.p_filesz, align = s.p_align == 8 ? 8 : 4;
            const auto padded = [&](std::uint64_t n) { return (n + align - 1) / align * align; };
            for (std::uint64_t at = s.p_offset; at + sizeof(Elf64_Nhdr) <= end;) {
                Elf64_Nhdr head;
                (void)read(at, head);
                const std::uint64_t owner = at + sizeof head, body = owner + padded(head.n_namesz);
                const std::uint64_t next = body + padded(head.n_descsz);
                if (body > end || head.n_descsz > end - body)
                    return damaged("a note is longer than its segment");
                if (bytes_.substr(owner, head.n_namesz) == std::string_view(SHUNT_NOTE_OWNER, sizeof SHUNT_NOTE_OWNER)) {
                    if (head.n_type != SHUNT_NOTE_TYPE)
                        return bad_note(fmt::format("is of type {}; it must be of type {}", head.n_type, SHUNT_NOTE_TYPE));
                    shunt_note n;
                    if (head.n_descsz < sizeof n || !read(body, n))
                        return bad_note(fmt::format("has {} bytes; it must have at least {}", head.n_descsz, sizeof n));
                    // A file may serve several majors, with a note and an entry for each.
                    if (n.abi_major != SHUNT_ABI_MAJOR) {
                        other = n;
                    } else if (has_ours) {
                        return bad_note(fmt::format("for ABI {} is there twice; it must be there once", SHUNT_ABI_MAJOR));
                    } else {
                        has_ours = true;
                        if (load_error e = take_note(n, bytes_.substr(body + sizeof n, head.n_descsz - sizeof n)))
                            return e;
                    }
                }
                at = next;
            }
        }
        if (has_ours)
            return {};
        if (other)
            return no(refusal::abi_major,
                      fmt::format("built for shunt ABI {}, this shunt speaks {}", abi_text(other->abi_major, other->abi_minor),
                                  abi_text(SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR)),
                      fmt::format("rebuild it with the {}.x sdk", SHUNT_ABI_MAJOR));
        return no(refusal::no_note, "it has no SHUNT note, so it is no shunt plugin",
                  "build it with shunt_add_plugin(), and do not strip notes");
    }

    load_error take_note(const shunt_note& n, std::string_view names)
    {
        out_.abi_major = n.abi_major;
        out_.abi_minor = n.abi_minor;
        out_.min_host_minor = n.min_host_minor;
        const bool newer = n.abi_minor > SHUNT_ABI_MINOR;
        if (n.reserved0 != 0 && !newer)
            return bad_note(fmt::format("has a reserved member of {}; it must be 0", n.reserved0));
        if (n.names_len > names.size())
            return bad_note(fmt::format("says {} bytes of names and has {}", n.names_len, names.size()));
        names = names.substr(0, n.names_len);
        while (!names.empty()) {
            const std::size_t end = names.find('\n');
            const std::string_view line = names.substr(0, end);
            if (end == std::string_view::npos)
                return bad_note(fmt::format("has a last line {} without an end; each line must end in a line feed",
                                            strategy::in_quotes(line)));
            names.remove_prefix(end + 1);
            const std::size_t colon = line.find(':');
            const std::string_view kind = line.substr(0, colon);
            const std::string_view name = colon == std::string_view::npos ? "" : line.substr(colon + 1);
            if (!is_strategy_name(name) || (kind != "selector" && kind != "fault" && !newer))
                return bad_note(fmt::format("has a line {}; it must be 'selector:' or 'fault:' and a name of a-z, 0-9 and '-'",
                                            strategy::in_quotes(line)));
            if (kind != "selector" && kind != "fault") {
                warn(fmt::format("offers {}, which this shunt does not know", strategy::in_quotes(line)));
                continue;
            }
            const auto k = kind == "selector" ? strategy::strategy_kind::selector : strategy::strategy_kind::fault;
            for (const known_strategy& s : out_.strategies)
                if (s.kind == k && s.name == name)
                    return bad_note(fmt::format("names {} twice; each name must be there once", strategy::in_quotes(line)));
            out_.strategies.push_back({std::string(name), k, file_, strategy::strategy_origin::file});
        }
        if (out_.strategies.empty())
            return bad_note("names no strategy; it must name what the file offers");
        return {};
    }

    load_error bad_note(std::string_view what) const
    {
        return no(refusal::bad_note, fmt::format("its SHUNT note {}", what), "rebuild it with the sdk");
    }

    load_error judge_abi()
    {
        if (out_.min_host_minor > SHUNT_ABI_MINOR)
            return no(refusal::host_too_old,
                      fmt::format("built for shunt ABI {} and needs {} or later, this shunt speaks {}",
                                  abi_text(out_.abi_major, out_.abi_minor), abi_text(out_.abi_major, out_.min_host_minor),
                                  abi_text(SHUNT_ABI_MAJOR, SHUNT_ABI_MINOR)),
                      "update shunt, or rebuild the plugin with an older sdk");
        return {};
    }

    load_error judge_segments()
    {
        bool stack_told = false;
        for (const Elf64_Phdr& s : segments_) {
            if (s.p_type == PT_GNU_STACK) {
                stack_told = true;
                if ((s.p_flags & PF_X) != 0)
                    return no(refusal::exec_stack, "asks for an executable stack, for the whole program",
                              "link it with -Wl,-z,noexecstack");
            }
            if (s.p_type == PT_LOAD && (s.p_flags & PF_W) != 0 && (s.p_flags & PF_X) != 0)
                return no(refusal::writable_code, "has a segment that is both writable and executable",
                          "link it without -N or --omagic, data and code apart");
        }
        if (!stack_told)
            return no(refusal::exec_stack, "does not say that its stack is not executable, so the loader makes it executable",
                      "link it with -Wl,-z,noexecstack");
        return {};
    }

    load_error judge_flags()
    {
        const std::uint64_t flags = entry(DT_FLAGS).value_or(0);
        if (entry(DT_TEXTREL) || (flags & DF_TEXTREL) != 0)
            return no(refusal::text_relocations, "has relocations in its code", "compile it with -fPIC");
        if ((flags & DF_STATIC_TLS) != 0)
            return no(refusal::static_tls,
                      "uses thread-local variables of the static model, for which a running program has hardly any room",
                      "compile it without -ftls-model=initial-exec");
        if (!out_.search_path.empty())
            warn(fmt::format("has a search path for libraries, {}", strategy::in_quotes(out_.search_path)));
        return {};
    }

    // How many dynamic symbols there are is told only by the hash tables.
    [[nodiscard]] std::optional<std::uint64_t> count_symbols() const noexcept
    {
        if (const auto hash = entry(DT_HASH)) {
            std::uint32_t n = 0;
            const auto at = offset_of(*hash, 8);
            if (!at || !read(*at + 4, n))
                return std::nullopt;
            return n;
        }
        const auto hash = entry(DT_GNU_HASH);
        std::array<std::uint32_t, 4> head{};  // buckets, first symbol, words of the filter, shift
        const auto at = hash ? offset_of(*hash, sizeof head) : std::nullopt;
        if (!at || !read(*at, head))
            return std::nullopt;
        const std::uint64_t buckets = *at + sizeof head + std::uint64_t{head[2]} * 8;
        const std::uint64_t chains = buckets + std::uint64_t{head[0]} * 4;
        std::uint64_t last = 0;
        for (std::uint64_t i = 0; i < head[0]; ++i) {
            std::uint32_t first = 0;
            if (!read(buckets + i * 4, first))
                return std::nullopt;
            last = std::max<std::uint64_t>(last, first);
        }
        if (last < head[1])
            return head[1];  // nothing is exported
        for (;; ++last) {
            std::uint32_t link = 0;
            if (!read(chains + (last - head[1]) * 4, link))
                return std::nullopt;
            if ((link & 1) != 0)
                return last + 1;
        }
    }

    load_error read_symbols()
    {
        const auto count = count_symbols();
        const auto size = entry(DT_SYMENT);
        if (!count || (size && *size != sizeof(Elf64_Sym)))
            return damaged("its symbols cannot be counted");
        const auto table = *count > bytes_.size() ? std::nullopt : offset_of(*entry(DT_SYMTAB), *count * sizeof(Elf64_Sym));
        if (!table)
            return damaged("its symbols lie outside its segments");
        for (std::uint64_t i = 1; i < *count; ++i) {
            Elf64_Sym s;
            (void)read(*table + i * sizeof s, s);
            const auto name = text_at(s.st_name);
            if (!name)
                return damaged("a symbol's name lies outside its string table");
            const unsigned bind = ELF64_ST_BIND(s.st_info), visibility = ELF64_ST_VISIBILITY(s.st_other);
            if (bind == STB_LOCAL || name->empty())
                continue;
            if (s.st_shndx == SHN_UNDEF) {
                out_.imports.emplace_back(*name);
                continue;
            }
            if (visibility == STV_HIDDEN || visibility == STV_INTERNAL)
                continue;
            out_.exports.emplace_back(*name);
            if (bind == STB_GNU_UNIQUE)
                out_.unique.emplace_back(*name);
            if (*name == SHUNT_ENTRY_NAME)
                entry_ = s;
        }
        return {};
    }

    load_error judge_symbols()
    {
        const auto imports = [&](std::string_view name) {
            return std::find(out_.imports.begin(), out_.imports.end(), name) != out_.imports.end();
        };
        if (!entry_) {
            const auto other = std::find_if(out_.exports.begin(), out_.exports.end(),
                                            [](const std::string& s) { return s.find("shunt_plugin_entry") != std::string::npos; });
            return no(refusal::missing_entry,
                      fmt::format("does not export {}{}", SHUNT_ENTRY_NAME,
                                  other != out_.exports.end() ? fmt::format(" (but {})", *other) : ""),
                      "name the entry exactly so, in C or as extern \"C\", visible");
        }
        const bool code = std::any_of(segments_.begin(), segments_.end(), [&](const Elf64_Phdr& s) {
            return s.p_type == PT_LOAD && (s.p_flags & PF_X) != 0 && entry_->st_value >= s.p_vaddr &&
                   entry_->st_value - s.p_vaddr < s.p_filesz;
        });
        if (ELF64_ST_TYPE(entry_->st_info) != STT_FUNC || !code)
            return no(refusal::missing_entry, fmt::format("its {} is no function", SHUNT_ENTRY_NAME), "the entry is a C function");

        for (const auto& [symbol, what] : {std::pair{"__asan_init", "AddressSanitizer"}, {"__tsan_init", "ThreadSanitizer"},
                                           {"__msan_init", "MemorySanitizer"}})
            if (imports(symbol) && dlsym(RTLD_DEFAULT, symbol) == nullptr)
                return no(refusal::sanitizer, fmt::format("built with {}, this process is not", what),
                          "build both the same way");

        if (!out_.unique.empty())
            warn(fmt::format("has variables shared with other versions of itself ({}); build it with shunt_add_plugin() or "
                             "-fno-gnu-unique", some(out_.unique)));
        std::vector<std::string> more;
        for (const std::string& s : out_.exports)
            if (!s.starts_with("shunt_plugin_entry_v") && s != "_init" && s != "_fini" && s != "_end" && s != "_edata" &&
                s != "__bss_start")
                more.push_back(s);
        if (!more.empty())
            warn(fmt::format("exports more than its entry ({}); build it with shunt_add_plugin() or a version script", some(more)));
        std::vector<std::string> rude;
        for (const char* const s : {"pthread_create", "thrd_create", "pthread_key_create", "__cxa_thread_atexit", "sigaction",
                                    "signal", "fork", "vfork", "execve", "posix_spawn", "system", "dlopen", "dlmopen",
                                    "socket", "connect", "exit", "_exit", "quick_exit", "sleep", "usleep", "nanosleep",
                                    "clock_nanosleep"})
            if (imports(s))
                rude.emplace_back(s);
        if (!rude.empty())
            warn(fmt::format("calls {}: a strategy does no I/O, starts no threads and does not sleep", some(rude)));
        return {};
    }

    static std::string some(const std::vector<std::string>& names)
    {
        constexpr std::size_t shown = 5;
        std::string text;
        for (std::size_t i = 0; i < names.size() && i < shown; ++i)
            text += (i > 0 ? ", " : "") + names[i];
        return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
    }

    load_error judge_needed()
    {
        for (const std::string& library : out_.needed)
            if (!can_be_found(library))
                return no(refusal::missing_dependency, fmt::format("needs {}, which is not on this system", strategy::in_quotes(library)),
                          out_.search_path.find("$ORIGIN") == std::string::npos
                              ? "install it where the loader looks, or link it into the plugin"
                              : "what lies beside the plugin is not found, because a private copy is loaded; install it where "
                                "the loader looks, or link it into the plugin");
        return {};
    }

    static bool is_loaded(const std::string& library)
    {
        return ::dl_iterate_phdr(
                   [](dl_phdr_info* loaded, std::size_t, void* wanted) {
                       const std::string_view path = loaded->dlpi_name == nullptr ? "" : loaded->dlpi_name;
                       return path.substr(path.rfind('/') + 1) == *static_cast<const std::string*>(wanted) ? 1 : 0;
                   },
                   const_cast<std::string*>(&library)) != 0;
    }

    // Asks the loader without loading: it answers with a handle (is loaded), nothing (was found), or an error.
    [[nodiscard]] bool can_be_found(const std::string& library) const
    {
        struct ::stat st {};
        if (library.find('/') != std::string::npos)
            return ::stat(library.c_str(), &st) == 0;
        if (is_loaded(library))
            return true;
        (void)::dlerror();
        if (void* const loaded = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
            ::dlclose(loaded);
            return true;
        }
        const char* const text = ::dlerror();
        if (text == nullptr || std::strstr(text, "cannot open shared object file") == nullptr)
            return true;
        for (std::string_view rest = out_.search_path; !rest.empty();) {
            const std::size_t end = std::min(rest.find(':'), rest.size());
            const std::string folder(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (folder.find("$ORIGIN") == std::string::npos && folder.find("${ORIGIN}") == std::string::npos &&
                (folder.find('$') != std::string::npos || ::stat((folder + "/" + library).c_str(), &st) == 0))
                return true;  // with another $WORD it is left to the loader
        }
        return false;
    }

    void warn(std::string_view what) { out_.warnings.push_back(fmt::format("plugin {}: {}", strategy::in_quotes(file_), what)); }

    const std::string& file_;
    const std::string_view bytes_;
    elf_facts& out_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    std::vector<Elf64_Dyn> dynamic_;
    std::string_view strings_;
    std::optional<Elf64_Sym> entry_;
};

}  // namespace

load_error inspect_bytes(const std::string& name, std::string_view bytes, elf_facts& out)
{
    out = {};
    return reader(name, bytes, out).judge();
}

}  // namespace shunt::plugin
