// The words of fault commands, and what is said when they are wrong.

#include <cluster/fault.hpp>

#include <gtest/gtest.h>

#include <string>

namespace shunt::cluster {
namespace {

using namespace std::chrono_literals;

template <typename Change>
Change parsed(std::string_view line)
{
    fault_command command;
    const std::string wrong = parse_fault(line, command);
    EXPECT_EQ(wrong, "") << line;
    const Change* found = std::get_if<Change>(&command.what);
    EXPECT_NE(found, nullptr) << line;
    return found == nullptr ? Change{} : *found;
}

std::string wrong(std::string_view line)
{
    fault_command command;
    return parse_fault(line, command);
}

TEST(FaultCommand, IsReadWithItsParts)
{
    fault_command command;
    ASSERT_EQ(parse_fault("  broker-b \t latency   800ms \r", command), "");
    EXPECT_EQ(command.subject, "broker-b");
    EXPECT_EQ(std::get<set_latency>(command.what).value, 800ms);

    EXPECT_EQ(parsed<set_behaviour>("broker-a code 2").code, 2);
    EXPECT_EQ(parsed<set_behaviour>("broker-a code 1 out of paper").text, "out of paper");
    EXPECT_EQ(parsed<set_behaviour>("broker-a hang").what, behaviour::hang);
    EXPECT_FALSE(parsed<set_behaviour>("broker-a hang").stored);
    EXPECT_TRUE(parsed<set_behaviour>("broker-a hang stored").stored);
    EXPECT_TRUE(parsed<set_behaviour>("broker-a drop stored").stored);
    EXPECT_EQ(parsed<set_behaviour>("broker-a half").what, behaviour::half);
    EXPECT_EQ(parsed<set_behaviour>("broker-a close").what, behaviour::close);
    EXPECT_EQ(parsed<set_behaviour>("broker-a garbage").what, behaviour::garbage);
    EXPECT_EQ(parsed<set_behaviour>("broker-a twice").what, behaviour::twice);
    EXPECT_EQ(parsed<set_perm>("broker-a perm 4").topic, "");
    EXPECT_EQ(parsed<set_perm>("broker-a perm 4 T").topic, "T");
    EXPECT_EQ(parsed<set_queues>("broker-a queues 0 T").queues, 0);
    EXPECT_EQ(parsed<set_move>("broker-a move 10911").port, 10911);
    (void)parsed<set_refuse>("broker-a refuse");
    (void)parsed<set_gone>("broker-a gone");
    (void)parsed<check_transactions>("broker-a check");
    (void)parsed<set_ok>("broker-a ok");
    (void)parsed<set_forget>("name-server forget");
    (void)parsed<set_refuse>("name-server refuse");
    EXPECT_EQ(parsed<set_behaviour>("name-server hang").what, behaviour::hang);
}

TEST(FaultCommand, SaysWhatWasFoundAndWhatWouldBeRight)
{
    EXPECT_EQ(wrong(""), "an empty command; it must be BROKER COMMAND, for example: broker-b latency 800ms");
    EXPECT_EQ(wrong("broker-a latency soon"), "latency is 'soon'; it must be a duration such as 800ms or 2s");
    EXPECT_EQ(wrong("broker-a latency"), "latency: nothing follows; it must be a duration such as 800ms or 2s");
    EXPECT_EQ(wrong("broker-a code two"), "code is 'two'; it must be a response code from 0 to 32767");
    EXPECT_EQ(wrong("broker-a code 32768"), "code is '32768'; it must be a response code from 0 to 32767");
    EXPECT_EQ(wrong("broker-a perm 8"), "perm is '8'; it must be a number from 0 to 7 (4 read, 2 write)");
    EXPECT_EQ(wrong("broker-a perm 4 T U"), "'U' after perm N TOPIC; nothing may follow it");
    EXPECT_EQ(wrong("broker-a queues 3"), "queues N without a topic; it must be queues N TOPIC");
    EXPECT_EQ(wrong("broker-a move 70000"), "move is '70000'; it must be a port from 0 to 65535 (0: a free one)");
    EXPECT_EQ(wrong("broker-a hang up"), "'up' after hang; only 'stored' may follow it");
    EXPECT_EQ(wrong("broker-a ok now"), "'now' after ok; nothing may follow it");
    EXPECT_EQ(wrong("name-server ok now"), "'now' after ok; nothing may follow it");
    EXPECT_EQ(wrong("name-server gone"), "'gone' is not a command for the name server; there are hang, refuse, forget, stale, ok");
    EXPECT_EQ(wrong("broker-a explode").find("'explode' is not a command for a broker; there are latency D, code N"), 0U);
    EXPECT_EQ(wrong("broker-a").find("nothing follows 'broker-a'; there are latency D"), 0U);
}

TEST(Duration, NeedsANumberAndAUnit)
{
    std::chrono::microseconds d{};
    EXPECT_TRUE(parse_duration("250us", d) && d == 250us);
    EXPECT_TRUE(parse_duration("1.5s", d) && d == 1500ms);
    EXPECT_TRUE(parse_duration("2m", d) && d == 2min);
    EXPECT_TRUE(parse_duration("1h", d) && d == 1h);
    EXPECT_TRUE(parse_duration("0ms", d) && d == 0ms);
    for (const char* bad : {"", "5", "ms", "-1s", "+1s", "1 s", "1sec", "1e3s", "inf", "nan", "99999999999999h"})
        EXPECT_FALSE(parse_duration(bad, d)) << bad;
}

}  // namespace
}  // namespace shunt::cluster
