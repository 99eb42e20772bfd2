// What the tests of the checks share: a run over a file, with the helper of this build.

#pragma once

#include <plugin/check/run.hpp>
#include <plugin/host/scratch.hpp>

#include <support/paths.hpp>

#include <chrono>
#include <ostream>
#include <string>
#include <vector>

namespace shunt::plugin::check {

inline void PrintTo(verdict v, std::ostream* out) { *out << to_string(v); }

namespace test {

using plugin::test::gallery_file;

inline std::string helper() { return shunt::test::in_build("/lib/shunt/shunt-preflight"); }

inline run_result check_file(const std::string& file, std::vector<std::string> only = {}, std::chrono::milliseconds time = std::chrono::seconds(30))
{
    run_options o;
    o.file = file;
    o.only = std::move(only);
    o.helper = helper();
    o.limits.time = time;
    return run(o, {});
}

/// All that is not well, a line each.
inline std::string complaints(const run_result& r, bool warnings = false)
{
    std::string all = r.trouble;
    for (const result& one : r.results)
        if (one.what.result == verdict::failed || one.what.result == verdict::crashed || (warnings && one.what.result == verdict::warned))
            all += std::string(to_string(one.what.result)) + " " + std::string(one.of->name) + " " + one.strategy + ": " + one.what.detail + "\n";
    return all;
}

}  // namespace test
}  // namespace shunt::plugin::check
