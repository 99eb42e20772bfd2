// Plugin files: a good one with bytes of the input written over it and its end cut off, and the input alone, are refused with
// words or described, without any of their code being run.
//
// Input: pairs of a place (two bytes, in 1/65536 of the file) and a byte. The first pair says how much is left of the file.

#include <fuzz/fuzz.hpp>
#include <plugin/registry.hpp>

#include <fstream>
#include <iterator>
#include <string>

using namespace shunt;

namespace {

void look(std::string_view bytes)
{
    plugin::elf_facts facts;
    const plugin::load_error e = plugin::inspect_bytes("fuzzed.so", bytes, facts);
    SHUNT_FUZZ_CHECK(static_cast<bool>(e) != e.text.empty());
    if (!e)
        SHUNT_FUZZ_CHECK(!facts.strategies.empty());
    for (const auto& one : facts.strategies)
        SHUNT_FUZZ_CHECK(!one.name.empty() && one.name.size() <= 256);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const std::string good = [] {
        std::ifstream in(SHUNT_FUZZ_PLUGIN, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }();
    SHUNT_FUZZ_CHECK(!good.empty());
    look(fuzz::as_text(data, size));
    std::string bytes = good;
    fuzz::pieces in{fuzz::as_text(data, size)};
    const auto place = [&] {
        const std::size_t high = in.byte();
        return (high << 8 | in.byte()) * good.size() / 65536;
    };
    const std::size_t cut = place();
    if (in.byte() % 4 == 0)
        bytes.resize(good.size() - cut);
    while (!in.empty() && !bytes.empty()) {
        const std::size_t at = place() % bytes.size();
        bytes[at] = static_cast<char>(in.byte());
    }
    look(bytes);
    return 0;
}
