// Plugins that end their process or never come back, in each of their functions; and files that are no plugins at all.

#include <plugin/check/checking.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

namespace shunt::plugin::check::test {
namespace {

using namespace std::chrono_literals;
using plugin::test::scratch_folder;

struct death {
    std::string file, check, words;
    friend void PrintTo(const death& d, std::ostream* out) { *out << d.file; }
};

class Death : public testing::TestWithParam<death> {};

TEST_P(Death, IsReportedWithItsPlaceAndTheRunGoesOn)
{
    // A few checks stand for all: those before it, the one in which it dies, those after.
    const run_result r = check_file(gallery_file(GetParam().file), {"elf-file", "note", "loads", GetParam().check, "texts"}, 2s);

    ASSERT_EQ(r.trouble, "");
    bool told = false;
    for (const result& one : r.results) {
        if (one.of->name != GetParam().check)
            continue;
        told = true;
        EXPECT_EQ(one.what.result, verdict::crashed);
        EXPECT_NE(one.what.detail.find(GetParam().words), std::string::npos) << one.what.detail;
    }
    EXPECT_TRUE(told);
    EXPECT_EQ(r.results.front().what.result, verdict::passed) << r.results.front().what.detail;
    EXPECT_EQ(r.results.size(), 5u) << "a check is missing from the results";
}

INSTANTIATE_TEST_SUITE_P(In, Death,
                         testing::Values(death{"aborts_in_entry", "entry-answers", "killed by signal 6 (Aborted), in entry"},
                                         death{"aborts_in_create", "create-plain", "killed by signal 6 (Aborted), in create"},
                                         death{"aborts_in_select", "select-range", "killed by signal 6 (Aborted), in select"},
                                         death{"aborts_in_destroy", "create-plain", "killed by signal 6 (Aborted), in destroy"},
                                         death{"aborts_in_feedback", "fault-masks", "killed by signal 6 (Aborted), in on_feedback"},
                                         death{"exits_in_entry", "entry-answers", "exited with 0, in entry"},
                                         death{"exits_in_create", "create-plain", "exited with 0, in create"},
                                         death{"exits_in_select", "select-range", "exited with 0, in select"},
                                         death{"exits_in_destroy", "create-plain", "exited with 0, in destroy"},
                                         death{"hangs_in_create", "create-plain", "did not come back within 2000 ms, in create"},
                                         death{"hangs_in_select", "select-range", "did not come back within 2000 ms, in select"},
                                         death{"hangs_in_destroy", "create-plain", "did not come back within 2000 ms, in destroy"},
                                         death{"hangs_in_feedback", "fault-masks", "did not come back within 2000 ms, in on_feedback"}),
                         [](const auto& one) { return one.param.file; });

TEST(Death, BeforeAnyCheckCanBeginIsToldOnce)
{
    for (const auto& [name, most] : {std::pair{"dies_at_load", 2u}, {"aborts_in_entry", 1u}, {"aborts_in_create", 1u}}) {
        const run_result r = check_file(gallery_file(name));
        EXPECT_LE(r.count(verdict::crashed), most) << complaints(r);
        EXPECT_GE(r.count(verdict::crashed), 1u);
        EXPECT_NE(r.results.back().what.result, verdict::crashed);
    }
}

TEST(Hanging, CostsItsWholeTimeOnlyOnce)
{
    const auto begin = std::chrono::steady_clock::now();
    const run_result r = check_file(gallery_file("hangs_in_select"), {"select-range", "select-why", "select-one-queue"}, 5s);
    const auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_EQ(r.count(verdict::crashed), 3u);
    EXPECT_NE(r.results[1].what.detail.find("did not come back within 1000 ms"), std::string::npos) << r.results[1].what.detail;
    EXPECT_LT(took, 12s);
}

// One that hangs in every call: 60 checks and more, a second each.
TEST(Hanging, InEveryCheckIsEndedSoon)
{
    const run_result r = check_file(gallery_file("hangs_in_select"), {}, 3s);
    EXPECT_GE(r.count(verdict::crashed), 3u) << complaints(r);
    EXPECT_LE(r.count(verdict::crashed), 6u) << complaints(r);  // 3 s, and 1 s each up to 7 s
    for (const result& one : r.results)
        if (one.of->name == "unload") {
            EXPECT_EQ(one.what.result, verdict::skipped);
            EXPECT_NE(one.what.detail.find("6 checks hung or crashed, which took 8 s; the rest would take as long: see select-"), std::string::npos)
                << one.what.detail;
        }
    EXPECT_GT(r.results.size(), 70u) << "all are told";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which have limits of their own
TEST(Eating, AllMemoryEndsTheCheckAndSaysSo)
{
    run_options o;
    o.file = gallery_file("eats_memory");
    o.helper = helper();
    o.only = {"create-plain", "select-range"};
    o.limits.memory = std::uint64_t{256} << 20;
    const run_result r = run(o, {});
    EXPECT_EQ(r.count(verdict::passed), 1u);
    EXPECT_NE(complaints(r).find("killed by signal 11 (Segmentation fault), in select, after an allocation of 16777216 bytes failed"), std::string::npos)
        << complaints(r);
}
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which start processes themselves
TEST(Starting, AProcessEndsTheCheckBeforeThereIsOne)
{
    const run_result r = check_file(gallery_file("leave_process"), {"create-plain"});
    EXPECT_NE(complaints(r).find("its process was killed as it would have started another process, or sent it a signal, in create"), std::string::npos) << complaints(r);
}
#endif

TEST(Stopping, EndsTheCheckUnderWayAndLeavesNothing)
{
    const scratch_folder folder;
    ASSERT_EQ(setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1), 0);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    run_options o;
    o.file = gallery_file("hangs_in_select");
    o.helper = helper();
    o.only = {"elf-file", "note", "select-range", "texts"};
    o.limits.time = 10min;
    o.limits.stop_fd = ends[0];
    std::vector<std::string> told;
    const run_result r = run(o, [&](const result& one) {
        told.emplace_back(one.of->name);
        if (told.size() == 2) {  // what hangs is next
            EXPECT_EQ(::write(ends[1], "x", 1), 1);
        }
    });
    unsetenv("XDG_RUNTIME_DIR");
    EXPECT_TRUE(r.stopped);
    EXPECT_EQ(told, (std::vector<std::string>{"elf-file", "note"}));
    EXPECT_EQ(r.results.size(), 2u);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << *std::filesystem::directory_iterator(folder.path());
    for (const int fd : ends)
        ::close(fd);
}

// What one of them leaves behind and removes is nothing of another's.
TEST(Runs, ManyAtOnceDoNotMeet)
{
    const std::vector<std::string> only{"loads", "select-range", "no-files", "unload"};
    const run_result dies = check_file(gallery_file("aborts_in_select"), only), lives = check_file(gallery_file("bad_nothing"), only);
    EXPECT_EQ(dies.count(verdict::crashed), 3u) << complaints(dies);
    EXPECT_EQ(lives.count(verdict::passed), 4u) << complaints(lives);
    std::vector<std::string> found(6);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < found.size(); ++i)
        threads.emplace_back([&, i] { found[i] = complaints(check_file(gallery_file(i % 2 == 0 ? "aborts_in_select" : "bad_nothing"), only)); });
    for (std::thread& t : threads)
        t.join();
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(found[i], complaints(i % 2 == 0 ? dies : lives));
}

TEST(Meddling, WithTheFilesOfItsProcessHarmsNoneButItself)
{
    const run_result cut = check_file(gallery_file("cut_all_files"), {"create-plain"});
    EXPECT_EQ(cut.count(verdict::passed), 1u) << complaints(cut);
    const run_result closed = check_file(gallery_file("close_all_files"), {"create-plain"});
    EXPECT_NE(complaints(closed).find("the report of its process is lost"), std::string::npos) << complaints(closed);
}

TEST(Flooding, OfStdoutTakesNoMoreMemoryThanIsAllowed)
{
    const run_result r = check_file(gallery_file("flood_output"), {"create-plain"});
    EXPECT_NE(complaints(r).find("killed by signal 25 (File size limit exceeded), in create"), std::string::npos) << complaints(r);
}

TEST(Hanging, WhenAllIsDoneIsToldOnce)
{
    const run_result r = check_file(gallery_file("hang_at_exit"), {"create-plain", "select-range", "texts"}, 2s);
    EXPECT_EQ(r.count(verdict::crashed), 1u) << complaints(r);
    EXPECT_NE(complaints(r).find("did not come back within 2000 ms, after the check, when it ended"), std::string::npos) << complaints(r);
}

TEST(Dying, LeavesNoPrivateCopy)
{
    const scratch_folder folder;
    ASSERT_EQ(setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1), 0);
    const run_result r = check_file(gallery_file("aborts_in_select"), {"select-range"});
    unsetenv("XDG_RUNTIME_DIR");
    EXPECT_EQ(r.count(verdict::crashed), 1u);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << *std::filesystem::directory_iterator(folder.path());
}

TEST(File, ThatCannotBeReadIsNoRun)
{
    const scratch_folder folder;
    EXPECT_NE(check_file(folder.path() + "/nothing.so").trouble.find("nothing.so"), std::string::npos);
    EXPECT_NE(check_file(folder.path()).trouble.find("it is a folder"), std::string::npos);
    EXPECT_NE(check_file("/dev/zero").trouble.find("no regular file"), std::string::npos);
    const std::string huge = folder.put("huge.so", "");
    std::filesystem::resize_file(huge, std::uintmax_t{1} << 30);
    EXPECT_NE(check_file(huge).trouble.find("has 1073741824 bytes"), std::string::npos);
}

TEST(File, OfAnotherUserThatMayNotBeReadIsNoRun)
{
    const scratch_folder folder;
    const std::string file = folder.put("private.so", plugin::test::gallery("good"));
    ASSERT_EQ(::chmod(file.c_str(), ::geteuid() == 0 ? 0600 : 0), 0);
    ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
    const bool root = ::geteuid() == 0;
    ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);
    const run_result r = check_file(file);
    ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
    EXPECT_NE(r.trouble.find("private.so\": Permission denied; name a file that is there and can be read"), std::string::npos) << r.trouble;
    EXPECT_TRUE(r.results.empty());
}

TEST(File, ThatIsNoPluginFailsWithWords)
{
    const scratch_folder folder;
    std::string other_machine = plugin::test::gallery("good"), of_32_bits = other_machine;
    other_machine[18] = static_cast<char>(other_machine[18] == EM_S390 ? EM_PPC64 : EM_S390);  // e_machine
    of_32_bits[EI_CLASS] = ELFCLASS32;
    for (const auto& [name, bytes, words] :
         {std::tuple{"empty.so", std::string(), "the file is empty"}, {"text.so", std::string("selector"), "it is text"},
          {"cut.so", plugin::test::gallery("good").substr(0, 3000), "cut off"}, {"other.so", other_machine, "build it for this machine"},
          {"narrow.so", of_32_bits, "built for 32-bit"}}) {
        const run_result r = check_file(folder.put(name, bytes));
        EXPECT_FALSE(r.ok());
        EXPECT_EQ(r.results.size() - r.count(verdict::skipped), 2u) << "elf-file and permissions are all that can be told\n" << complaints(r);
        EXPECT_NE(complaints(r).find(words), std::string::npos) << complaints(r);
    }
}

TEST(Helper, ThatIsNotThereIsToldAndNothingRuns)
{
    run_options o;
    o.file = gallery_file("good");
    o.helper = "/nowhere/shunt-preflight";
    o.only = {"elf-file"};
    const run_result r = run(o, {});
    ASSERT_EQ(r.results.size(), 1u);
    EXPECT_EQ(r.results[0].what.result, verdict::crashed);
    EXPECT_NE(r.results[0].what.detail.find("cannot start \"/nowhere/shunt-preflight\": No such file"), std::string::npos) << r.results[0].what.detail;
}

}  // namespace
}  // namespace shunt::plugin::check::test
