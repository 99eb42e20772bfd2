// Bundled strategies, through the fuzzing entry of the SDK's test kit: bytes to routes, messages, verdicts, feedback and time;
// the first byte says which strategy. Whatever the contract rules out ends the run.

#include <fuzz/subjects.hpp>

namespace kit = shunt::sdk::testing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const auto& all = shunt::fuzz::subjects();
    const shunt::fuzz::subject& s = all[data[0] % all.size()];
    kit::require((s.selects ? kit::fuzz::selector : kit::fuzz::fault)(s.p, s.o, data + 1, size - 1));
    return 0;
}
