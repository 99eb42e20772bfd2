// Plugins that end their process or never come back, in each of their functions; and files that are no plugins at all.

#include <plugin/check/checking.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

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

TEST(File, ThatIsNoPluginFailsWithWords)
{
    const scratch_folder folder;
    for (const auto& [name, bytes, words] :
         {std::tuple{"empty.so", std::string(), "the file is empty"}, {"text.so", std::string("selector"), "it is text"},
          {"cut.so", plugin::test::gallery("good").substr(0, 3000), "cut off"}}) {
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
