// One wrong file for each kind of fault: each is refused for its own reason, and the text says which file, what was found
// and what would be right.

#include <plugin/registry.hpp>

#include "scratch.hpp"

#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace shunt::plugin {

static void PrintTo(refusal why, std::ostream* out) { *out << "refusal " << static_cast<int>(why); }

namespace {

using namespace test;

struct wrong_file {
    std::string name;
    std::function<std::string()> bytes;
    refusal why;
    std::vector<std::string> words;  // what was found, then what would be right

    friend void PrintTo(const wrong_file& f, std::ostream* out) { *out << f.name; }
};

wrong_file of_gallery(std::string name, refusal why, std::vector<std::string> words)
{
    return {name, [name] { return gallery(name); }, why, std::move(words)};
}

wrong_file changed(std::string name, std::function<void(std::string&)> change, refusal why, std::vector<std::string> words)
{
    return {std::move(name),
            [change = std::move(change)] {
                std::string bytes = gallery("good");
                change(bytes);
                return bytes;
            },
            why, std::move(words)};
}

wrong_file text_file(std::string name, std::string bytes, std::vector<std::string> words)
{
    return {std::move(name), [bytes = std::move(bytes)] { return bytes; }, refusal::not_elf, std::move(words)};
}

std::string padded(std::string start) { return start + std::string(100, '\0'); }

const std::vector<wrong_file>& wrong_files()
{
    static const std::vector<wrong_file> all = {
        // not ELF at all
        text_file("empty", "", {"the file is empty", "an ELF shared object"}),
        text_file("text", "selector = best-queue\nmore\n", {"it is text, beginning \"selector = best-queue\""}),
        text_file("script", "#!/bin/sh\nexit 1\n", {"a script"}),
        text_file("windows", padded("MZ\x90"), {"a Windows program or DLL (PE)"}),
        text_file("macos", padded("\xcf\xfa\xed\xfe"), {"a macOS library (Mach-O)"}),
        text_file("static_library", padded("!<arch>\n"), {"a static library (.a)"}),
        text_file("jar", padded("PK\x03\x04"), {"a zip or jar archive"}),
        text_file("rubbish", "\x01\x02\xfe\xff\x05", {"begins with the bytes 01 02 fe ff"}),
        // cut
        changed("cut_in_magic", [](std::string& s) { s.resize(3); }, refusal::truncated, {"cut off", "at 3 bytes", "copy the whole file"}),
        changed("cut_in_header", [](std::string& s) { s.resize(40); }, refusal::truncated, {"the ELF header", "at 40 bytes"}),
        changed("cut_in_half", [](std::string& s) { s.resize(s.size() / 2); }, refusal::truncated, {"cut off"}),
        changed("cut_by_one_byte", [](std::string& s) { s.pop_back(); }, refusal::truncated, {"the section table"}),
        changed("cut_in_segment", [](std::string& s) { header(s).e_shoff = 0; s.resize(segment(s, PT_DYNAMIC).p_offset + 16); },
                refusal::truncated, {"a segment lies past its end"}),
        // for another machine
        changed("other_machine", [](std::string& s) { header(s).e_machine = EM_AARCH64; }, refusal::other_machine,
                {"built for AArch64, this process is x86-64", "build it for this machine"}),
        changed("other_class", [](std::string& s) { s[EI_CLASS] = ELFCLASS32; header(s).e_machine = EM_386; }, refusal::other_machine,
                {"built for 32-bit i386, this process is x86-64"}),
        changed("other_byte_order", [](std::string& s) { s[EI_DATA] = ELFDATA2MSB; header(s).e_machine = EM_PPC64 << 8; },
                refusal::other_machine, {"built for big-endian PowerPC64, this process is x86-64"}),
        // ELF, but no library
        changed("program", [](std::string& s) { header(s).e_type = ET_EXEC; }, refusal::not_shared_object,
                {"it is a program, not a library", "link it with -shared"}),
        {"position_independent_program", [] { return read_bytes("/proc/self/exe"); }, refusal::not_shared_object,
         {"it is a program, not a library"}},
        changed("object_file", [](std::string& s) { header(s).e_type = ET_REL; }, refusal::not_shared_object, {"an object file (.o)"}),
        changed("core_dump", [](std::string& s) { header(s).e_type = ET_CORE; }, refusal::not_shared_object, {"a core dump"}),
        of_gallery("forbids_loading", refusal::not_shared_object, {"forbids to be loaded", "without -Wl,-z,nodlopen"}),
        // damaged
        changed("unknown_type", [](std::string& s) { header(s).e_type = 77; }, refusal::damaged, {"its ELF type is 77", "copy or build"}),
        changed("unknown_class", [](std::string& s) { s[EI_CLASS] = 9; }, refusal::damaged, {"its ELF class is 9"}),
        changed("no_segments", [](std::string& s) { header(s).e_phnum = 0; }, refusal::damaged, {"0 program headers"}),
        changed("segments_far_away", [](std::string& s) { header(s).e_phoff = UINT64_MAX - 8; }, refusal::truncated, {"a program header"}),
        changed("segment_misaligned", [](std::string& s) { segment(s, PT_LOAD).p_vaddr += 8; }, refusal::damaged, {"a segment"}),
        changed("symbols_outside", [](std::string& s) { dynamic(s, DT_SYMTAB).d_un.d_ptr = 1ull << 40; }, refusal::damaged, {"its symbols"}),
        changed("strings_outside", [](std::string& s) { dynamic(s, DT_STRSZ).d_un.d_val = 1ull << 40; }, refusal::damaged, {"its string table"}),
        // the note
        of_gallery("no_note", refusal::no_note, {"no SHUNT note", "build it with shunt_add_plugin()"}),
        of_gallery("odd_note", refusal::bad_note, {"its SHUNT note is of type 7", "rebuild it with the sdk"}),
        of_gallery("note_without_names", refusal::bad_note, {"names no strategy"}),
        of_gallery("note_of_other_things", refusal::bad_note, {"\"codec:gallery\"", "'selector:' or 'fault:'"}),
        of_gallery("note_reserved", refusal::bad_note, {"a reserved member of 5", "it must be 0"}),
        of_gallery("bad_note_name", refusal::bad_note, {"\"selector:Bad_Name\"", "a name of a-z, 0-9 and '-'"}),
        of_gallery("later_major", refusal::abi_major, {"built for shunt ABI 2.0, this shunt speaks 1.0", "rebuild it with the 1.x sdk"}),
        of_gallery("needs_later_minor", refusal::host_too_old,
                   {"built for shunt ABI 1.9 and needs 1.9 or later, this shunt speaks 1.0", "update shunt, or rebuild the plugin"}),
        // what the loader would do with it
        of_gallery("exec_stack", refusal::exec_stack, {"an executable stack", "-Wl,-z,noexecstack"}),
        changed("silent_about_stack", [](std::string& s) { segment(s, PT_GNU_STACK).p_type = PT_NULL; }, refusal::exec_stack,
                {"does not say that its stack is not executable", "-Wl,-z,noexecstack"}),
        changed("writable_code", [](std::string& s) { segment(s, PT_LOAD).p_flags = PF_R | PF_W | PF_X; }, refusal::writable_code,
                {"both writable and executable", "data and code apart"}),
        changed("text_relocations", [](std::string& s) { dynamic(s, DT_RELACOUNT).d_tag = DT_TEXTREL; }, refusal::text_relocations,
                {"relocations in its code", "-fPIC"}),
        of_gallery("static_tls", refusal::static_tls, {"thread-local variables of the static model", "without -ftls-model=initial-exec"}),
        // symbols
        of_gallery("no_entry", refusal::missing_entry, {"does not export shunt_plugin_entry_v1", "extern \"C\""}),
        of_gallery("entry_is_data", refusal::missing_entry, {"its shunt_plugin_entry_v1 is no function", "a C function"}),
        of_gallery("undefined_symbol", refusal::undefined_symbol, {"calls \"gallery_missing_function\"", "-Wl,-z,defs"}),
        of_gallery("sanitized", refusal::sanitizer, {"built with MemorySanitizer, this process is not", "build both the same way"}),
        of_gallery("needs_library", refusal::missing_dependency,
                   {"needs \"libshunt_gallery_dependency.so\"", "install it where the loader looks"}),
        of_gallery("needs_neighbour", refusal::missing_dependency,
                   {"needs \"libshunt_gallery_dependency.so\"", "what lies beside the plugin is not found"}),
        {"later_libc", [] { return with_text(gallery("starts_thread"), "GLIBC_2.", "GLIBC_9."); }, refusal::missing_version,
         {"needs the version \"GLIBC_9.", "libc.so.6", "no newer than this one"}},
        // the descriptor
        of_gallery("null_descriptor", refusal::null_descriptor, {"refuses this host, which speaks shunt ABI 1.0", "ask its author"}),
        of_gallery("entry_throws", refusal::entry_threw, {"its entry threw an exception", "no exception may leave a plugin"}),
        of_gallery("wrong_magic", refusal::bad_descriptor, {"begins with 0x000000000000002a, not 0x53484e5450475631", "rebuild it"}),
        of_gallery("short_descriptor", refusal::bad_descriptor, {"its descriptor is 112 bytes", "at least 120"}),
        of_gallery("later_major_inside", refusal::abi_major, {"its descriptor speaks shunt ABI 2.0, this shunt speaks 1.0", "1.x sdk"}),
        of_gallery("minor_differs", refusal::note_differs, {"its note speaks of ABI 1.3, its descriptor of 1.0"}),
        of_gallery("null_tables", refusal::bad_descriptor, {"says 1 selector tables and gives none", "it must give each"}),
        of_gallery("null_table", refusal::bad_descriptor, {"its selector table 0 is NULL"}),
        of_gallery("no_strategies", refusal::bad_descriptor, {"describes no strategy"}),
        of_gallery("names_differ", refusal::note_differs, {"its note names selector:promised, its descriptor selector:kept"}),
        // a class
        of_gallery("short_struct", refusal::bad_class, {"its selector table 0 is 80 bytes", "it must be at least 88"}),
        of_gallery("ragged_struct", refusal::bad_class, {"its selector table 0 is 92 bytes", "whole members"}),
        of_gallery("class_reserved", refusal::bad_class, {"its selector \"gallery\" has a reserved member of 5", "it must be 0"}),
        of_gallery("unknown_flag", refusal::bad_class, {"its selector \"gallery\" has flags 0x40000000"}),
        of_gallery("no_select", refusal::bad_class, {"has no function select", "it must have one"}),
        of_gallery("no_filter", refusal::bad_class, {"has no function filter", "it must have one"}),
        of_gallery("bad_name", refusal::bad_name, {"is called \"Bad_Name\"", "a-z, 0-9 and '-'"}),
        of_gallery("bad_parameter", refusal::bad_parameter,
                   {"declares a parameter \"size\" badly: its default is 17; it must be a whole number from 1 to 16"}),
        of_gallery("parameter_twice", refusal::bad_parameter, {"declares the parameter \"size\" twice", "correct the declaration"}),
        of_gallery("small_stride", refusal::bad_parameter, {"the param_stride of selector \"gallery\" is 64 bytes", "at least 112"}),
    };
    return all;
}

class WrongFile : public testing::TestWithParam<wrong_file> {};

TEST_P(WrongFile, IsRefusedWithFileFoundAndExpected)
{
    const wrong_file& wrong = GetParam();
    const scratch_folder folder;
    const std::string file = folder.put(wrong.name + ".so", wrong.bytes());
    registry r({.path = {}, .load = {}, .max_images = 1000});

    load_error error;
    const auto classes = r.load_file(file, "", error);

    EXPECT_EQ(error.why, wrong.why) << error.text;
    EXPECT_TRUE(classes.empty());
    EXPECT_NE(error.text.find('"' + file + '"'), std::string::npos) << error.text;
    for (const std::string& w : wrong.words)
        EXPECT_NE(error.text.find(w), std::string::npos) << "no '" << w << "' in: " << error.text;
    EXPECT_EQ(error.text.find('\n'), std::string::npos) << "one problem, one line";
}

INSTANTIATE_TEST_SUITE_P(Gallery, WrongFile, testing::ValuesIn(wrong_files()),
                         [](const auto& wrong) { return wrong.param.name; });

TEST(WrongFiles, IsRefusedBeforeAnyOfItsCodeRuns)
{
    const scratch_folder folder;
    registry r({.path = {}, .load = {}, .max_images = 1000});
    load_error error;
    ::unsetenv("SHUNT_GALLERY_RAN");

    (void)r.load_file(folder.put("later.so", gallery("runs_at_load_2")), "", error);
    EXPECT_EQ(error.why, refusal::abi_major) << error.text;
    EXPECT_EQ(std::getenv("SHUNT_GALLERY_RAN"), nullptr);

    (void)r.load_file(folder.put("now.so", gallery("runs_at_load")), std::string(64, '0'), error);
    EXPECT_EQ(error.why, refusal::sha256_differs) << error.text;
    EXPECT_EQ(std::getenv("SHUNT_GALLERY_RAN"), nullptr);

    (void)r.load_file(folder.put("now.so", gallery("runs_at_load")), "", error);
    EXPECT_FALSE(error) << error.text;
    EXPECT_NE(std::getenv("SHUNT_GALLERY_RAN"), nullptr) << "the trace itself must work, or this test shows nothing";
}

TEST(WrongFiles, CutAnywhereNeverReachesTheLoader)
{
    const scratch_folder folder;
    const std::string whole = gallery("good");
    registry r({.path = {}, .load = {}, .max_images = 1000});
    for (std::size_t size = 0; size < whole.size(); size += 97) {
        load_error error;
        (void)r.load_file(folder.put("cut.so", whole.substr(0, size)), "", error);
        EXPECT_TRUE(error.why == refusal::truncated || (size == 0 && error.why == refusal::not_elf)) << size << ": " << error.text;
    }
}

// ---- path rules and the pin ----

load_error load(const std::string& file, const std::string& sha256 = {})
{
    registry r({.path = {}, .load = {}, .max_images = 1000});
    load_error error;
    (void)r.load_file(file, sha256, error);
    return error;
}

void expect_refused(const load_error& error, refusal why, const std::vector<std::string>& words)
{
    EXPECT_EQ(error.why, why) << error.text;
    for (const std::string& w : words)
        EXPECT_NE(error.text.find(w), std::string::npos) << "no '" << w << "' in: " << error.text;
}

TEST(PathRules, RefuseAFileThatOthersCanWrite)
{
    const scratch_folder folder;
    const std::string file = folder.put("p.so", gallery("good"));
    EXPECT_FALSE(load(file)) << load(file).text;

    ::chmod(file.c_str(), 0646);
    expect_refused(load(file), refusal::writable_by_others, {file, "the file can be written by everyone (mode 0646)", "mode go-w"});
    ::chmod(file.c_str(), 0644);
    EXPECT_FALSE(load(file)) << load(file).text;
}

TEST(PathRules, RefuseAFileInAFolderThatOthersCanWrite)
{
    const scratch_folder folder;
    const std::string inner = folder.folder("inner");
    const std::string file = folder.put("inner/p.so", gallery("good"));
    EXPECT_FALSE(load(file)) << load(file).text;

    ::chmod(inner.c_str(), 0777);
    expect_refused(load(file), refusal::writable_by_others, {file, "its folder \"" + inner + "\" can be written by everyone (mode 0777)"});
    ::chmod(inner.c_str(), 01777);
    expect_refused(load(file), refusal::writable_by_others, {"(mode 1777)"});
    ::chmod(inner.c_str(), 0755);
    EXPECT_FALSE(load(file)) << load(file).text;
}

TEST(PathRules, JudgeWhatALinkPointsTo)
{
    const scratch_folder folder;
    const std::string open = folder.folder("open"), closed = folder.folder("closed");
    const std::string file = folder.put("open/p.so", gallery("good")), link = closed + "/p.so";
    std::filesystem::create_symlink(file, link);
    EXPECT_FALSE(load(link)) << load(link).text;

    ::chmod(open.c_str(), 0777);
    expect_refused(load(link), refusal::writable_by_others, {link, open});
}

TEST(PathRules, RefuseFilesOfOtherUsersAndForOtherGroups)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give files away";
    const scratch_folder folder;
    const std::string file = folder.put("p.so", gallery("good"));

    ASSERT_EQ(::chown(file.c_str(), 12345, 0), 0);
    expect_refused(load(file), refusal::writable_by_others, {"the file belongs to user 12345", "it must belong to root, to this user"});
    ASSERT_EQ(::chown(file.c_str(), 0, 12345), 0);
    EXPECT_FALSE(load(file)) << load(file).text;
    ::chmod(file.c_str(), 0664);
    expect_refused(load(file), refusal::writable_by_others, {"the file can be written by group 12345 (mode 0664)"});
}

TEST(PathRules, RefuseWhatIsNoFile)
{
    const scratch_folder folder;
    expect_refused(load(folder.path() + "/nothing.so"), refusal::not_found, {"nothing.so", "No such file", "name a file that is there"});
    expect_refused(load(folder.folder("folder.so")), refusal::not_a_file, {"it is a folder", "name a file"});
    const std::string pipe = folder.path() + "/pipe.so";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    expect_refused(load(pipe), refusal::not_a_file, {"it is no regular file"});
    expect_refused(load("/dev/zero"), refusal::not_a_file, {"it is no regular file"});
    std::filesystem::create_symlink("loop.so", folder.path() + "/loop.so");
    expect_refused(load(folder.path() + "/loop.so"), refusal::not_found, {"loop.so"});
}

TEST(PathRules, ShowOddNamesEscaped)
{
    const scratch_folder folder;
    const load_error error = load(folder.path() + "/a\nb\xff.so");
    EXPECT_NE(error.text.find("a\\x0ab\\xff.so"), std::string::npos) << error.text;
}

TEST(PathRules, TakeOddNames)
{
    const scratch_folder folder;
    for (const std::string& name : {std::string("with blank.so"), std::string("\"quote\".so"), std::string("\xff.so"),
                                    std::string("\xd0\xba\xd0\xbb.so"), std::string(252, 'x') + ".so"})
        EXPECT_FALSE(load(folder.put(name, gallery("good")))) << name;
}

TEST(Pin, AcceptsTheFileItNamesAndNoOther)
{
    const scratch_folder folder;
    const std::string file = folder.put("p.so", gallery("good"));
    registry r({.path = {}, .load = {}, .max_images = 1000});
    load_error error;
    const auto classes = r.load_file(file, "", error);
    ASSERT_EQ(classes.size(), 1u) << error.text;
    const std::string sha256 = classes[0]->sha256;
    EXPECT_EQ(sha256.size(), 64u);

    EXPECT_FALSE(load(file, sha256));
    std::string upper = sha256;
    for (char& c : upper)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_FALSE(load(file, upper));
    const std::string other(64, 'a');
    expect_refused(load(file, other), refusal::sha256_differs, {file, "its sha256 is " + sha256 + ", pinned is " + other, "before you pin"});
    expect_refused(load(file, "9f2c"), refusal::sha256_differs, {"pinned to \"9f2c\", which is no sha256", "64 hex digits"});
}

}  // namespace
}  // namespace shunt::plugin
