// What the tests of bundled strategies share, on top of the test kit that every author of a strategy has.

#pragma once

#include <shunt/sdk/testing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::test {

using namespace sdk::testing;
using namespace std::chrono_literals;
using sdk::nanoseconds, sdk::str, sdk::text;

/// The built strategy of that name in a folder of plugins.
inline plugin built(const std::string& folder, const std::string& name)
{
    std::string file = name;
    std::ranges::replace(file, '-', '_');
    return plugin{folder + "/lib" + file + ".so"}.named(name);
}
inline plugin bundled(const std::string& name) { return built(SHUNT_TEST_PLUGINS, name); }

inline std::vector<std::string> words(std::string_view line)
{
    std::istringstream in{std::string{line}};
    std::vector<std::string> all;
    for (std::string w; in >> w;)
        all.push_back(w);
    return all;
}

}  // namespace shunt::test
