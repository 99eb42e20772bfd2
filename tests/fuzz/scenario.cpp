// Scenario files: any text is read, or refused with the place and words; what was read has its steps in order.

#include <fuzz/fuzz.hpp>
#include <simulate/scenario.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::vector<config::problem> problems;
    const simulate::scenario s = simulate::read_scenario(fuzz::as_text(data, size), "scenario.toml", problems);
    for (const config::problem& p : problems) {
        SHUNT_FUZZ_CHECK(!p.found.empty() && !p.expected.empty());
        const std::string line = config::to_string(p);
        SHUNT_FUZZ_CHECK(line.find('\n') == std::string::npos && line.find('\x1b') == std::string::npos);
    }
    if (!problems.empty())
        return 0;
    SHUNT_FUZZ_CHECK(simulate::in_order_of_time(s).size() == s.steps.size());
    return 0;
}
