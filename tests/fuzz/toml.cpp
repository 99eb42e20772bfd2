// Configuration files: any text is read, or refused with the place and words; what was read keeps its own rules and can be shown.

#include <config/load.hpp>
#include <fuzz/fuzz.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::vector<config::problem> problems;
    const config::loaded read = config::load_text(fuzz::as_text(data, size), "shunt.toml", problems);
    for (const config::problem& p : problems) {
        SHUNT_FUZZ_CHECK(!p.found.empty() && !p.expected.empty());
        const std::string line = config::to_string(p);
        SHUNT_FUZZ_CHECK(line.find('\n') == std::string::npos && line.find('\x1b') == std::string::npos);
    }
    if (!problems.empty())
        return 0;
    SHUNT_FUZZ_CHECK(config::check_options(read.options).empty());
    SHUNT_FUZZ_CHECK(config::differences(read.options, read.options).empty());
    SHUNT_FUZZ_CHECK(!config::effective_values(read.options).empty());
    return 0;
}
