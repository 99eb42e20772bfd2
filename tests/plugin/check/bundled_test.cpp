// No bundled plugin fails a check or is warned of without reason, and checking one takes less than 20 s.

#include <plugin/check/checking.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

namespace shunt::plugin::check::test {
namespace {

std::vector<std::string> bundled()
{
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(shunt::test::in_build("/lib/shunt/plugins")))
        if (entry.path().extension() == ".so")
            files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

/// Of processor time, so that a busy machine is not held against a check.
double seconds_of_children()
{
    rusage u{};
    ::getrusage(RUSAGE_CHILDREN, &u);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
    return seconds(u.ru_utime) + seconds(u.ru_stime);
}

TEST(BundledPlugins, AreThere) { EXPECT_GE(bundled().size(), 13u); }

TEST(BundledPlugins, FailNoCheckAndTakeLessThanTwentySeconds)
{
    for (const std::string& file : bundled()) {
        const double before = seconds_of_children();
        const run_result r = check_file(file);
        const double seconds = seconds_of_children() - before;
        EXPECT_EQ(complaints(r), "") << file;
        EXPECT_GT(r.count(verdict::passed), 50u) << file;
        EXPECT_GT(seconds, 0.1) << file;
        EXPECT_LT(seconds, 20) << file;
        // round-robin ignores health on purpose, and says so in its first line; nobody else is warned of. (Time is the machine's.)
        for (const result& one : r.results)
            if (one.what.result == verdict::warned && one.of->name != "select-time" && !one.of->name.starts_with("imports-")) {
                EXPECT_EQ(std::string(one.of->name) + " of " + one.strategy, "select-health of round-robin") << one.what.detail;
            }
    }
}

TEST(BundledPlugins, FailNoCheckOfProbesWhereTheyAskForThem)
{
    run_options o;
    o.file = shunt::test::in_build("/lib/shunt/plugins/liblatency_fault.so");
    o.helper = helper();
    o.kind = strategy::strategy_kind::fault;
    o.settings = {"probe=\"10ms\""};
    const run_result r = run(o, {});
    EXPECT_EQ(complaints(r), "");
    for (const result& one : r.results)
        if (one.of->name == "fault-probes") {
            EXPECT_EQ(one.what.result, verdict::passed) << one.what.detail;
        }
}

}  // namespace
}  // namespace shunt::plugin::check::test
