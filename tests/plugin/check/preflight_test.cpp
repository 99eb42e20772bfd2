// The preflight of a swap: one process for a file, all basic checks, bounded, and this process none the worse for it.

#include <plugin/check/checking.hpp>
#include <plugin/preflight.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shunt::plugin {
namespace {

using namespace std::chrono_literals;
using check::test::gallery_file;

preflight_limits limits(std::chrono::milliseconds time, std::string helper = check::test::helper())
{
    preflight_limits l;
    l.time = time;
    l.helper = std::move(helper);
    return l;
}

preflight_result try_out(const std::string& name, std::chrono::milliseconds time = 30s)
{
    return preflight(gallery_file(name), limits(time));
}

std::string text_of(const preflight_result& r)
{
    std::string all;
    for (const preflight_problem& p : r.problems)
        all += p.check + "|" + p.strategy + "|" + p.text + "\n";
    return all;
}

TEST(Preflight, PassesEveryBundledPlugin)
{
    for (const char* const name : {"best_queue", "consistent_hash", "machine_room", "latency_fault", "none"}) {
        const std::string file = shunt::test::in_build(std::string("/lib/shunt/plugins/lib") + name + ".so");
        const preflight_result r = preflight(file, limits(30s));
        EXPECT_TRUE(r.ok()) << text_of(r);
        EXPECT_GT(r.passed.size(), 15u);
    }
}

TEST(Preflight, FindsItsHelperBesideTheBundledPlugins) { EXPECT_TRUE(preflight(gallery_file("bad_nothing"), limits(30s, "")).ok()); }

TEST(Preflight, TellsWhatIsWrongByCheckAndStrategy)
{
    EXPECT_NE(text_of(try_out("no_note")).find("note||plugin \""), std::string::npos);
    EXPECT_NE(text_of(try_out("exec_stack")).find("executable-stack||"), std::string::npos);
    EXPECT_NE(text_of(try_out("undefined_symbol")).find("symbols-found||"), std::string::npos);
    EXPECT_NE(text_of(try_out("names_differ")).find("note-agrees||"), std::string::npos);
    EXPECT_NE(text_of(try_out("never_initialises")).find("create-plain|never-initialises|"), std::string::npos);
    EXPECT_NE(text_of(try_out("out_of_range")).find("select-range|out-of-range|"), std::string::npos);
    EXPECT_NE(text_of(try_out("bad_fault_masks")).find("fault-masks|bad-fault|"), std::string::npos);
}

TEST(Preflight, OutlivesWhatKillsItsProcess)
{
    for (const auto& [name, words] : {std::pair{"dies_at_load", "killed by signal 6 (Aborted), in load"},
                                      {"aborts_in_entry", "killed by signal 6 (Aborted), in entry"},
                                      {"exits_in_create", "exited with 0, in create"},
                                      {"aborts_in_select", "killed by signal 6 (Aborted), in select"},
                                      {"aborts_in_destroy", "killed by signal 6 (Aborted), in destroy"},
                                      {"aborts_in_feedback", "killed by signal 6 (Aborted), in on_feedback"}}) {
        const preflight_result r = try_out(name);
        EXPECT_FALSE(r.ok());
        EXPECT_TRUE(r.ran);
        EXPECT_NE(text_of(r).find(words), std::string::npos) << text_of(r);
    }
}

TEST(Preflight, IsBoundedInTime)
{
    const preflight_result r = try_out("hangs_in_create", 1s);
    EXPECT_NE(text_of(r).find("did not come back within 1000 ms, in create"), std::string::npos) << text_of(r);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which have limits of their own
TEST(Preflight, IsBoundedInMemory)
{
    EXPECT_NE(text_of(try_out("hogs_memory")).find("killed by signal 11 (Segmentation fault), in create"), std::string::npos);
    EXPECT_NE(text_of(try_out("select_leak")).find("no-leaks||"), std::string::npos);
    EXPECT_NE(text_of(try_out("select_leak")).find("an allocation of 1048576 bytes failed; its process has 1073741824 bytes in all"), std::string::npos);
    preflight_limits more = limits(30s);
    more.memory = 0;
    EXPECT_TRUE(preflight(gallery_file("hogs_memory"), more).ok());
}
#endif

TEST(Preflight, RefusesAFileThatCannotBeRead)
{
    const preflight_result r = preflight("/nowhere/libx.so", limits(30s));
    EXPECT_FALSE(r.ok());
    EXPECT_NE(text_of(r).find("/nowhere/libx.so"), std::string::npos) << text_of(r);
}

TEST(Preflight, WithoutItsHelperSaysSo)
{
    const preflight_result r = preflight(gallery_file("good"), limits(30s, "/nowhere/shunt-preflight"));
    EXPECT_FALSE(r.ran);
    EXPECT_FALSE(r.ok());
    EXPECT_NE(text_of(r).find("no preflight: cannot start"), std::string::npos) << text_of(r);
}

// Nothing here may depend on how the program treats its children.
TEST(Preflight, WorksWhereTheProgramIgnoresItsChildren)
{
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    const preflight_result good = try_out("bad_nothing"), bad = try_out("aborts_in_create");
    std::signal(SIGCHLD, before);
    EXPECT_TRUE(good.ok()) << text_of(good);
    EXPECT_FALSE(bad.ok());
}

TEST(Preflight, RunsOnManyThreadsAtOnce)
{
    std::vector<std::thread> threads;
    std::vector<int> ok(6, 0);
    for (std::size_t i = 0; i < ok.size(); ++i)
        threads.emplace_back([&ok, i] { ok[i] = try_out(i % 2 == 0 ? "bad_nothing" : "aborts_in_select").ok() ? 1 : 0; });
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(ok, (std::vector<int>{1, 0, 1, 0, 1, 0}));
}

}  // namespace
}  // namespace shunt::plugin
