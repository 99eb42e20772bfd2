// Scripts of faults.

#include <cluster/script.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace shunt::cluster {
namespace {

using namespace std::chrono_literals;

TEST(Script, IsReadLineByLineAndSortedByTime)
{
    const script s = parse_script("# a broker hangs, then all is well\n\n+2s broker-b hang  \r\n  +500ms\tbroker-a code 2 busy now\n+2s broker-c ok", "f");

    EXPECT_TRUE(s.errors.empty());
    ASSERT_EQ(s.steps.size(), 3U);
    EXPECT_EQ(s.steps[0].at, 500ms);
    EXPECT_EQ(s.steps[0].command, "broker-a code 2 busy now");
    EXPECT_EQ(s.steps[0].line, 4);
    EXPECT_EQ(s.steps[1].command, "broker-b hang");
    EXPECT_EQ(s.steps[2].command, "broker-c ok") << "same time: as they stand in the file";
}

TEST(Script, MayWriteTheLedgerAndQuit)
{
    const script s = parse_script("+1s ledger out.jsonl\n+1s ledger\n+2s quit\n", "f");

    EXPECT_TRUE(s.errors.empty());
    EXPECT_EQ(s.steps.size(), 3U);
}

TEST(Script, NamesEveryBadLine)
{
    const script s = parse_script("broker-a hang\n+1s broker-a hang\n+soon broker-a ok\n+1s broker-a expl\n+1s\n+1s quit now", "my.faults");

    ASSERT_EQ(s.errors.size(), 5U);
    EXPECT_EQ(s.errors[0], "my.faults:1: the line begins with 'broker-a'; it must begin with a time such as +2s or +500ms");
    EXPECT_EQ(s.errors[1], "my.faults:3: the line begins with '+soon'; it must begin with a time such as +2s or +500ms");
    EXPECT_EQ(s.errors[2].find("my.faults:4: 'expl' is not a command for a broker"), 0U);
    EXPECT_EQ(s.errors[3].find("my.faults:5: an empty command"), 0U);
    EXPECT_EQ(s.errors[4], "my.faults:6: 'now' after quit; nothing may follow it");
}

TEST(ScriptRunner, CarriesOutStepsInOrderAndNotBeforeTheirTime)
{
    std::mutex mutex;
    std::condition_variable done;
    std::vector<std::pair<std::string, std::chrono::steady_clock::duration>> ran;
    const auto start = std::chrono::steady_clock::now();

    script_runner runner({{0ms, "one", 1}, {50ms, "two", 2}, {50ms, "three", 3}}, [&](const script_step& step) {
        std::lock_guard lock(mutex);
        ran.emplace_back(step.command, std::chrono::steady_clock::now() - start);
        done.notify_one();
    });

    std::unique_lock lock(mutex);
    ASSERT_TRUE(done.wait_for(lock, 20s, [&] { return ran.size() == 3; }));
    EXPECT_EQ(ran[0].first, "one");
    EXPECT_EQ(ran[1].first, "two");
    EXPECT_EQ(ran[2].first, "three");
    EXPECT_GE(ran[1].second, 50ms);
}

TEST(ScriptRunner, CarriesOutNothingOnceItIsDestroyed)
{
    bool ran = false;
    {
        script_runner runner({{1h, "late", 1}}, [&](const script_step&) { ran = true; });
    }
    EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace shunt::cluster
