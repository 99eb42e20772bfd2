// `shunt simulate` as a program: its exit status, and what is written where.

#include <boost/json.hpp>
#include <support/paths.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

const std::string scenarios = shunt::test::in_source("/tests/data/scenarios/");

struct run_of_program {
    int status = -1;
    std::string out, err;
};

class Simulate : public testing::Test {
protected:
    Simulate()
    {
        std::string name = (std::filesystem::temp_directory_path() / "shunt-simulate-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            ADD_FAILURE() << "no temporary folder";
        folder_ = name + "/";
    }
    ~Simulate() override
    {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    static std::string text_of(const std::string& file)
    {
        std::ifstream in(file, std::ios::binary);
        std::ostringstream out;
        out << in.rdbuf();
        return out.str();
    }

    run_of_program simulate(const std::string& arguments) const
    {
        const std::string command = std::string(SHUNT_PROGRAM) + " simulate " + arguments + " >" + folder_ + "out 2>" + folder_ + "err";
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(folder_ + "out"), text_of(folder_ + "err")};
    }

    std::string folder_;
};

TEST_F(Simulate, WritesDecisionsIntoTheFileAndTheSumToStdout)
{
    const auto r = simulate(scenarios + "isolation.toml --decisions " + folder_ + "d.jsonl --json");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(text_of(folder_ + "d.jsonl"), text_of(scenarios + "isolation.expected.jsonl"));
    const auto sum = boost::json::parse(r.out).as_object();
    EXPECT_EQ(sum.at("sends").as_int64(), 63);
    EXPECT_EQ(sum.at("brokers").as_array().size(), 3u);
}

TEST_F(Simulate, EndsWellWhateverBecameOfTheSends)
{
    const auto r = simulate(scenarios + "no-queue.toml --json");
    EXPECT_EQ(r.status, 0);
    EXPECT_GT(boost::json::parse(r.out).at("failed").at("not_sent").as_int64(), 0);
}

TEST_F(Simulate, TellsPeopleSharesAndLatencies)
{
    const auto r = simulate(scenarios + "retry-avoids-tried.toml");
    EXPECT_EQ(r.status, 0);
    EXPECT_NE(r.out.find("12 sends in 14 ms: 12 stored"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("latency of a send: p50 1 ms"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("b3            12"), std::string::npos) << r.out;
}

TEST_F(Simulate, RefusesABadFileAndLeavesTheDecisionsFileAlone)
{
    std::ofstream(folder_ + "d.jsonl") << "as it was\n";
    const auto r = simulate(scenarios + "bad-file.toml --decisions " + folder_ + "d.jsonl --json");
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(text_of(folder_ + "d.jsonl"), "as it was\n");
    for (const char* place : {":3:11:", ":4:12:", ":5:1:", ":10:10:", ":12:1:", ":19:10:"})
        EXPECT_NE(r.err.find("bad-file.toml" + std::string(place)), std::string::npos) << place << r.err;
}

TEST_F(Simulate, RefusesWrongUsage)
{
    EXPECT_EQ(simulate("").status, 2);
    EXPECT_EQ(simulate(scenarios + "rotation.toml --no-such-thing").status, 2);
    const auto missing = simulate(folder_ + "none.toml");
    EXPECT_EQ(missing.status, 2);
    EXPECT_NE(missing.err.find("cannot be read"), std::string::npos) << missing.err;
    EXPECT_EQ(simulate(folder_).status, 2);
    const auto nowhere = simulate(scenarios + "rotation.toml --decisions " + folder_ + "no/such/folder/d");
    EXPECT_EQ(nowhere.status, 2);
    EXPECT_NE(nowhere.err.find("cannot be written"), std::string::npos) << nowhere.err;
    EXPECT_EQ(nowhere.out, "");
}

TEST_F(Simulate, SaysThatTheDecisionsCouldNotBeWritten)
{
    const auto full = simulate(scenarios + "rotation.toml --decisions /dev/full");
    EXPECT_EQ(full.status, 1);
    EXPECT_NE(full.err.find("failed"), std::string::npos) << full.err;
}

// ---- several runs ----

const std::string shipped = shunt::test::in_source("/config/scenarios/");

TEST_F(Simulate, ComparesTwoPoliciesSideBySide)
{
    const auto r = simulate(shipped + "scale-out.toml --against '{ selector = { use = \"hash\" }, fault = { use = \"none\" } }'");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("consistent-hash + none   hash + none"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("keys moved"), std::string::npos) << r.out;
    const auto j = simulate(shipped + "scale-out.toml --json --against '{ selector = { use = \"hash\" }, fault = { use = \"none\" } }'");
    const auto runs = boost::json::parse(j.out).at("runs").as_array();
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_LT(runs[0].at("keys_moved").as_int64(), runs[1].at("keys_moved").as_int64());
    EXPECT_EQ(runs[1].at("summary").at("sends").as_int64(), 2000);
}

TEST_F(Simulate, TakesTheOtherPolicyFromAScenarioOrAConfiguration)
{
    const auto scenario = simulate(shipped + "one-slow.toml --against " + shipped + "flapping.toml");
    EXPECT_NE(scenario.out.find("best-queue + circuit-breaker"), std::string::npos) << scenario.out << scenario.err;
    std::ofstream(folder_ + "c.toml") << "[producer]\nembedded = true\n[policies.x]\nselector = { use = \"random\" }\nfault = { use = \"none\" }\n";
    const auto configured = simulate(shipped + "one-slow.toml --against " + folder_ + "c.toml:x");
    EXPECT_NE(configured.out.find("random + none"), std::string::npos) << configured.out << configured.err;
    const auto wrong = simulate(shipped + "one-slow.toml --against " + folder_ + "c.toml:y");
    EXPECT_EQ(wrong.status, 2);
    EXPECT_NE(wrong.err.find("no policy 'y'"), std::string::npos) << wrong.err;
}

TEST_F(Simulate, SweepsAValue)
{
    const auto r = simulate(shipped + "one-slow.toml --json --sweep selector.use=round-robin,least-inflight");
    EXPECT_EQ(r.status, 0) << r.err;
    const auto runs = boost::json::parse(r.out).at("runs").as_array();
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].at("name").as_string(), "round-robin");
    EXPECT_GT(runs[0].at("summary").at("latency_ms").at("p99").as_int64(), runs[1].at("summary").at("latency_ms").at("p99").as_int64());
    EXPECT_EQ(simulate(shipped + "one-slow.toml --sweep selector.use=round-robin,none").status, 2);
    EXPECT_EQ(simulate(shipped + "one-slow.toml --sweep seed=1,2 --decisions " + folder_ + "d").status, 2);
}

// ---- all policies there are ----

TEST_F(Simulate, RanksAllPoliciesTheBestFirst)
{
    const auto r = simulate(shipped + "one-slow.toml --rank --json");
    EXPECT_EQ(r.status, 0) << r.err;
    const auto ranked = boost::json::parse(r.out).as_object();
    const auto& runs = ranked.at("runs").as_array();
    ASSERT_EQ(runs.size(), 7u * 3u) << "selectors without a key and without a setting they need, by fault strategies";
    const auto p99 = [](const boost::json::value& run) { return run.at("summary").at("latency_ms").at("p99").as_int64(); };
    int own = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        own += runs[i].at("of_the_file").as_bool() ? 1 : 0;
        if (i > 0) {
            EXPECT_LE(p99(runs[i - 1]), p99(runs[i]));
        }
    }
    EXPECT_EQ(own, 1);
    EXPECT_EQ(ranked.at("left_out"), boost::json::parse(R"([{"name":"consistent-hash","why":"no message has a key"},{"name":"hash","why":"no message has a key"},
        {"name":"machine-room","why":"needs rooms"}])"));
    const auto text = simulate(shipped + "one-slow.toml --rank");
    EXPECT_NE(text.out.find("best-queue + latency-fault *"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("Left out: machine-room (needs rooms)."), std::string::npos) << text.out;
}

TEST_F(Simulate, RanksKeyedMessagesByWhatBecomesOfTheirOrder)
{
    const auto runs = boost::json::parse(simulate(shipped + "hot-key.toml --rank --json").out).at("runs").as_array();
    EXPECT_EQ(runs.size(), 9u * 3u);
    EXPECT_EQ(runs.front().at("out_of_order").as_int64(), 0);
    EXPECT_GT(runs.back().at("out_of_order").as_int64(), 0);
    EXPECT_NE(std::string(runs.front().at("policy").as_string()).find("hash"), std::string::npos);
}

TEST_F(Simulate, RanksWithTheSettingsOfTheFile)
{
    const auto r = simulate(shipped + "room-lost.toml --rank");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("machine-room + latency-fault *"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("machine-room + none"), std::string::npos) << "its rooms are those of the file: " << r.out;
    EXPECT_EQ(r.out.find("needs rooms"), std::string::npos);
    EXPECT_EQ(simulate(shipped + "room-lost.toml --rank --sweep seed=1,2").status, 2);
    EXPECT_EQ(simulate(shipped + "room-lost.toml --rank --decisions " + folder_ + "d").status, 2);
}

TEST_F(Simulate, WarnsOfRoomsThatNoBrokerIsIn)
{
    const auto r = simulate(shipped + "room-lost.toml --rank --json --set selector.spill=[\\\"wset\\\"]");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.err.find("warning: "), std::string::npos) << r.err;
    EXPECT_NE(r.err.find("'wset'; it must be a room that some broker is in (did you mean 'west'?)"), std::string::npos) << r.err;
    EXPECT_EQ(r.err.find("warning: "), r.err.rfind("warning: ")) << "once, however many runs there are";
}

TEST_F(Simulate, ChangesValuesAndTellsWhichChangeIsWrong)
{
    const auto r = simulate(shipped + "one-slow.toml --json --set at[0].send=10 --set at[0].every=1ms");
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(boost::json::parse(r.out).at("sends").as_int64(), 10);
    const auto wrong = simulate(shipped + "one-slow.toml --set broker[9].queues=1");
    EXPECT_EQ(wrong.status, 2);
    EXPECT_NE(wrong.err.find("broker[9].queues"), std::string::npos) << wrong.err;
    EXPECT_EQ(simulate(shipped + "one-slow.toml --set timeout").status, 2);
}

TEST_F(Simulate, WritesAPageOfOneRunOrOfMore)
{
    const auto one = simulate(shipped + "one-slow.toml --report " + folder_ + "one.html");
    EXPECT_EQ(one.status, 0) << one.err;
    EXPECT_EQ(text_of(folder_ + "one.html").substr(0, 15), "<!DOCTYPE html>");
    const auto two = simulate(shipped + "one-slow.toml --against " + shipped + "flapping.toml --report " + folder_ + "two.html");
    EXPECT_EQ(two.status, 0) << two.err;
    EXPECT_NE(text_of(folder_ + "two.html").find("best-queue + circuit-breaker"), std::string::npos);
    EXPECT_EQ(simulate(shipped + "one-slow.toml --report " + folder_ + "no/such/folder").status, 2);
    EXPECT_EQ(simulate(shipped + "one-slow.toml --report /dev/full").status, 1);
}

}  // namespace
