// The bundled strategies, each with the settings and the route it needs.

#pragma once

#include <shunt/sdk/testing.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace shunt::fuzz {

struct subject {
    sdk::testing::plugin p;
    bool selects;
    sdk::testing::traps::options o;
};

inline const std::vector<subject>& subjects()
{
    namespace kit = sdk::testing;
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
                const std::string name{sdk::text(p.description().selectors[i]->name)};
                subject s{p.named(name), true, {}};
                if (name == "machine-room")
                    s.o = {.settings = {{"rooms", {"hz-1"}}}, .route = "a*4 @hz-1, b*4 @hz-2, c*4"};
                found.push_back(s);
            }
            for (std::uint32_t i = 0; i < p.description().n_faults; ++i)
                found.push_back({p.named(std::string{sdk::text(p.description().faults[i]->name)}), false, {}});
        }
        if (found.empty())
            kit::misuse("there are no plugins in " SHUNT_TEST_PLUGINS);
        return found;
    }();
    return all;
}

}  // namespace shunt::fuzz
