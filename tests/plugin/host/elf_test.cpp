// The ELF reader on files cut and changed at every place: it never reads outside of them, and what it takes is right.

#include <plugin/registry.hpp>

#include "scratch.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::plugin {
namespace {

using namespace test;

// Memory between two pages that cannot be read: one byte too far, before or behind, ends the test.
class guarded_memory {
public:
    guarded_memory()
        : all_(static_cast<char*>(::mmap(nullptr, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
    {
        if (all_ == MAP_FAILED || ::mprotect(all_ + page, room, PROT_READ | PROT_WRITE) != 0)
            throw std::runtime_error("no memory");
    }
    ~guarded_memory() { ::munmap(all_, room + 2 * page); }
    guarded_memory(const guarded_memory&) = delete;
    guarded_memory& operator=(const guarded_memory&) = delete;

    std::string_view first(std::string_view bytes) { return put(all_ + page, bytes); }
    std::string_view last(std::string_view bytes) { return put(all_ + page + room - bytes.size(), bytes); }

private:
    static constexpr std::size_t page = 65536, room = 64 * page;
    static std::string_view put(char* at, std::string_view bytes)
    {
        std::copy(bytes.begin(), bytes.end(), at);
        return {at, bytes.size()};
    }
    char* all_;
};

load_error inspect(std::string_view bytes, elf_facts& facts)
{
    static guarded_memory memory;
    const load_error once = inspect_bytes("p.so", memory.first(bytes), facts);
    load_error again = inspect_bytes("p.so", memory.last(bytes), facts);
    EXPECT_EQ(once.text, again.text);
    return again;
}

TEST(InspectBytes, TellsWhatAPluginOffers)
{
    elf_facts facts;
    const load_error error = inspect(gallery("later_minor"), facts);
    ASSERT_FALSE(error) << error.text;
    ASSERT_EQ(facts.strategies.size(), 1u);
    EXPECT_EQ(facts.strategies[0].name, "later-minor");
    EXPECT_EQ(facts.strategies[0].kind, strategy::strategy_kind::selector);
    EXPECT_EQ(facts.strategies[0].file, "p.so");
    EXPECT_EQ(facts.abi_major, 1);
    EXPECT_EQ(facts.abi_minor, 9);
    EXPECT_EQ(facts.min_host_minor, 0);
    EXPECT_NE(std::find(facts.exports.begin(), facts.exports.end(), SHUNT_ENTRY_NAME), facts.exports.end());
    ASSERT_EQ(facts.warnings.size(), 1u);
    EXPECT_NE(facts.warnings[0].find("\"codec:later\", which this shunt does not know"), std::string::npos) << facts.warnings[0];
}

TEST(InspectBytes, TellsWhatAPluginNeedsAndCalls)
{
    elf_facts facts;
    const load_error error = inspect(gallery("finds_library"), facts);
    ASSERT_FALSE(error) << error.text;
    EXPECT_NE(std::find(facts.needed.begin(), facts.needed.end(), "libshunt_gallery_dependency.so"), facts.needed.end());
    EXPECT_NE(std::find(facts.imports.begin(), facts.imports.end(), "gallery_dependency"), facts.imports.end());
}

TEST(InspectBytes, KnowsTheNamesInAFileItRefuses)
{
    elf_facts facts;
    EXPECT_EQ(inspect(gallery("exec_stack"), facts).why, refusal::exec_stack);
    ASSERT_EQ(facts.strategies.size(), 1u);
    EXPECT_EQ(facts.strategies[0].name, "good");
}

TEST(InspectBytes, WarnsOfWhatIsUnwise)
{
    const auto warned = [](const std::string& file, std::string_view words) {
        elf_facts facts;
        const load_error error = inspect(gallery(file), facts);
        EXPECT_FALSE(error) << error.text;
        return std::any_of(facts.warnings.begin(), facts.warnings.end(),
                           [&](const std::string& w) { return w.find(words) != std::string::npos; });
    };
    EXPECT_TRUE(warned("own_symbols_1", "variables shared with other versions of itself"));
    EXPECT_TRUE(warned("own_symbols_1", "exports more than its entry"));
    EXPECT_TRUE(warned("starts_thread", "calls pthread_create"));
    EXPECT_TRUE(warned("finds_library", "a search path for libraries"));
    EXPECT_FALSE(warned("sdk/libown_symbols_1", "variables shared"));
    EXPECT_FALSE(warned("sdk/libown_symbols_1", "exports more"));
    EXPECT_FALSE(warned("good", ""));
}

TEST(InspectBytes, RefusesAFileCutAtEachByte)
{
    const std::string whole = gallery("good");
    elf_facts facts;
    for (std::size_t size = 0; size < whole.size(); ++size)
        ASSERT_TRUE(inspect(std::string_view(whole).substr(0, size), facts)) << "cut at " << size << " of " << whole.size();
}

// Without the section table, which the loader does not read, a file may be cut behind its last segment and still be whole.
TEST(InspectBytes, TakesAFileWithoutSectionsOnlyIfAllSegmentsAreThere)
{
    std::string whole = gallery("good");
    header(whole).e_shoff = 0;
    header(whole).e_shnum = 0;
    std::uint64_t end = 0;
    const auto* const all = reinterpret_cast<const Elf64_Phdr*>(whole.data() + header(whole).e_phoff);
    for (int i = 0; i < header(whole).e_phnum; ++i)
        end = std::max(end, all[i].p_offset + all[i].p_filesz);
    elf_facts facts;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        const load_error error = inspect(std::string_view(whole).substr(0, size), facts);
        ASSERT_EQ(!error, size >= end) << "cut at " << size << ", segments end at " << end << ": " << error.text;
    }
}

// What decides lies in the headers, the notes, the dynamic section and the symbols: one byte of it changed at a time.
TEST(InspectBytes, StandsAnyChangedByte)
{
    const std::string whole = gallery("parameters");
    std::string bytes = whole;
    elf_facts facts;
    std::size_t taken = 0, size = segment(bytes, PT_DYNAMIC).p_offset + segment(bytes, PT_DYNAMIC).p_filesz;
    for (std::size_t at = 0; at < size; ++at) {
        for (const int change : {0x00, 0xff, 0x01 ^ static_cast<unsigned char>(whole[at])}) {
            bytes[at] = static_cast<char>(change);
            if (!inspect(bytes, facts)) {
                ++taken;
                ASSERT_EQ(facts.strategies.size(), 1u) << "byte " << at;
            }
        }
        bytes[at] = whole[at];
    }
    EXPECT_GT(taken, 0u);
    EXPECT_LT(taken, 3 * size);
}

TEST(InspectBytes, StandsLengthsThatLie)
{
    const std::string whole = gallery("good");
    elf_facts facts;
    for (const std::int64_t tag : {DT_STRTAB, DT_STRSZ, DT_SYMTAB, DT_SYMENT, DT_GNU_HASH, DT_SONAME}) {
        for (const std::uint64_t lie : {0ull, 1ull, 0xfffull, 0x7fffffffull, 0xffffffffull, 1ull << 63, ~0ull, ~0ull - 7}) {
            std::string bytes = whole;
            auto* d = reinterpret_cast<Elf64_Dyn*>(bytes.data() + segment(bytes, PT_DYNAMIC).p_offset);
            while (d->d_tag != tag && d->d_tag != DT_NULL)
                ++d;
            d->d_un.d_val = lie;
            (void)inspect(bytes, facts);
        }
    }
    for (const std::uint32_t type : {PT_LOAD, PT_DYNAMIC, PT_NOTE}) {
        for (const std::uint64_t lie : {0ull, 1ull, 0xfffull, 0xffffffffull, 1ull << 63, ~0ull, ~0ull - 7}) {
            for (std::uint64_t Elf64_Phdr::*const member :
                 {&Elf64_Phdr::p_offset, &Elf64_Phdr::p_vaddr, &Elf64_Phdr::p_filesz, &Elf64_Phdr::p_memsz, &Elf64_Phdr::p_align}) {
                std::string bytes = whole;
                segment(bytes, type).*member = lie;
                (void)inspect(bytes, facts);
            }
        }
    }
}

}  // namespace
}  // namespace shunt::plugin
