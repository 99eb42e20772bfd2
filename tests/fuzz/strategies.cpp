// Bundled strategies, through the fuzzing entry of the SDK's test kit: bytes to routes, messages, verdicts, feedback and time;
// the first byte says which strategy. Whatever the contract rules out ends the run.

#include <shunt/sdk/testing.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kit = shunt::sdk::testing;

namespace {

struct subject {
    kit::plugin p;
    bool selects;
    kit::traps::options o;
};

const std::vector<subject>& subjects()
{
    static const std::vector<subject> all = [] {
        std::vector<std::string> files;
        for (const auto& file : std::filesystem::directory_iterator{SHUNT_TEST_PLUGINS})
            if (file.path().extension() == ".so")
                files.push_back(file.path().string());
        std::ranges::sort(files);  // the same byte, the same strategy
        std::vector<subject> found;
        for (const std::string& file : files) {
            const kit::plugin p{file};
            for (std::uint32_t i = 0; i < p.description().n_selectors; ++i) {
                const std::string name{shunt::sdk::text(p.description().selectors[i]->name)};
                subject s{p.named(name), true, {}};
                if (name == "machine-room")
                    s.o = {.settings = {{"rooms", {"hz-1"}}}, .route = "a*4 @hz-1, b*4 @hz-2, c*4"};
                found.push_back(s);
            }
            for (std::uint32_t i = 0; i < p.description().n_faults; ++i)
                found.push_back({p.named(std::string{shunt::sdk::text(p.description().faults[i]->name)}), false, {}});
        }
        if (found.empty())
            kit::misuse("there are no plugins in " SHUNT_TEST_PLUGINS);
        return found;
    }();
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const subject& s = subjects()[data[0] % subjects().size()];
    kit::require((s.selects ? kit::fuzz::selector : kit::fuzz::fault)(s.p, s.o, data + 1, size - 1));
    return 0;
}
