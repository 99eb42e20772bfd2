// What the tests of bundled strategies share.

#pragma once

#include <support/strategy_driver.hpp>

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::test {

/// The built strategy of that name.
inline plugin bundled(const std::string& name) { return plugin{SHUNT_TEST_PLUGINS, name}; }

inline std::vector<std::string> words(std::string_view line)
{
    std::istringstream in{std::string{line}};
    std::vector<std::string> all;
    for (std::string w; in >> w;)
        all.push_back(w);
    return all;
}

inline std::string broker_part(const std::string& queue) { return queue.substr(0, queue.rfind('-')); }

/// Counts per broker out of counts per queue.
inline std::map<std::string, int> by_broker(const std::map<std::string, int>& queues)
{
    std::map<std::string, int> all;
    for (const auto& [q, n] : queues)
        all[broker_part(q)] += n;
    return all;
}

}  // namespace shunt::test
