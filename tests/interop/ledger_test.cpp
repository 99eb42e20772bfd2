// The program `shunt` against two real masters: 100,000 messages, once in peace and once with a master killed in the middle.

#include <interop/support/real_cluster.hpp>

#include <support/paths.hpp>

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <thread>

namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

constexpr int count = 100'000;

class Ledger : public testing::Test {
protected:
    static void SetUpTestSuite() { cluster_ = std::make_unique<shunt::interop::real_cluster>(shunt::interop::real_cluster_options{.brokers = 2}); }
    static void TearDownTestSuite() { cluster_.reset(); }

    void SetUp() override
    {
        folder_ = shunt::interop::make_scratch("ledger");
        std::ofstream(folder_ / "shunt.toml") << "[producer]\ngroup = \"ledger\"\nname_servers = [\"" << cluster_->name_server()
                                              << "\"]\n[policies.default]\nselector = { use = \"best-queue\" }\n"
                                                 "fault = { use = \"latency-fault\", probe = \"500ms\" }\n";
    }
    void TearDown() override { fs::remove_all(folder_); }

    /// Runs the program; its standard output goes to a file of the given name.
    int run(const std::string& arguments, const std::string& out) const
    {
        const std::string command = shunt::test::in_build("/bin/shunt ") + arguments + " > " + (folder_ / out).string() + " 2> " +
                                    (folder_ / (out + ".err")).string() + " < /dev/null";
        const int status = std::system(command.c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] std::string text(const std::string& name) const
    {
        std::ifstream in(folder_ / name);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    template <typename F>
    void each_line(const std::string& name, F f) const
    {
        std::ifstream in(folder_ / name);
        for (std::string line; std::getline(in, line);)
            f(json::parse(line).as_object());
    }
    /// How often each message lies there, by what `tail` finds.
    [[nodiscard]] std::map<std::string, int> tail(const std::string& topic) const
    {
        EXPECT_EQ(run("tail -c " + file("shunt.toml") + " -t " + topic + " --json", "tail"), 0) << text("tail.err");
        std::map<std::string, int> there;
        each_line("tail", [&](const json::object& m) { ++there[std::string(m.at("msg_id").as_string())]; });
        return there;
    }

    static inline std::unique_ptr<shunt::interop::real_cluster> cluster_;
    fs::path folder_;
};

TEST_F(Ledger, HoldsEachOfAHundredThousandAsyncMessagesExactlyOnce)
{
    cluster_->create_topic("peace", {.queues = 4});

    ASSERT_EQ(run("send -c " + file("shunt.toml") + " -t peace --body 'm {i}' --count " + std::to_string(count) + " --mode async --receipts " +
                      file("receipts") + " --json",
                  "send"),
              0)
        << text("send.err");

    const auto summary = json::parse(text("send")).as_object();
    EXPECT_EQ(summary.at("sent").as_int64(), count);
    EXPECT_EQ(summary.at("stored").as_int64(), count);
    const auto there = tail("peace");
    ASSERT_EQ(there.size(), static_cast<std::size_t>(count));
    int receipts = 0;
    each_line("receipts", [&](const json::object& r) {
        EXPECT_EQ(r.at("i").as_int64(), receipts++);
        EXPECT_EQ(r.at("outcome").as_string(), "stored");
        const auto it = there.find(std::string(r.at("msg_id").as_string()));
        ASSERT_NE(it, there.end());
        EXPECT_EQ(it->second, 1);
    });
    EXPECT_EQ(receipts, count);
    std::map<std::string, int> java;
    for (const std::string& line : cluster_->java_reader("peace"))
        ++java[std::string(json::parse(line).at("msg_id").as_string())];
    EXPECT_EQ(java.size(), static_cast<std::size_t>(count));
}

TEST_F(Ledger, AgreesWithTheReceiptsWhenAMasterIsKilledInTheMiddleAndComesBack)
{
    cluster_->create_topic("war", {.queues = 4});
    int status = -1;
    std::thread sender([&] {
        status = run("send -c " + file("shunt.toml") + " -t war --body 'm {i}' --count " + std::to_string(count) +
                         " --mode async --in-flight 256 --rate 12000/s --receipts " + file("receipts") + " --json",
                     "send");
    });
    const bool began = cluster_->eventually([&] { return cluster_->messages("war").size() > static_cast<std::size_t>(count / 20); });
    cluster_->kill_broker(1);
    cluster_->restart_broker(1);
    sender.join();
    ASSERT_TRUE(began);

    const auto there = tail("war");
    int receipts = 0, stored = 0, retried = 0;
    std::size_t explained = 0;
    each_line("receipts", [&](const json::object& r) {
        EXPECT_EQ(r.at("i").as_int64(), receipts++) << "a receipt is missing or out of order";
        const std::string outcome(r.at("outcome").as_string());
        const auto it = there.find(std::string(r.at("msg_id").as_string()));
        const int copies = it == there.end() ? 0 : it->second;
        int doubtful = 0;
        for (const auto& a : r.at("attempts").as_array())
            doubtful += a.at("outcome").as_string() == "unknown" ? 1 : 0;
        retried += r.at("attempts").as_array().size() > 1 ? 1 : 0;
        stored += outcome == "stored" ? 1 : 0;
        explained += static_cast<std::size_t>(copies);
        if (outcome == "stored") {
            EXPECT_GE(copies, 1) << json::serialize(r);
        } else if (outcome != "unknown") {
            EXPECT_EQ(copies, 0) << json::serialize(r);
        }
        EXPECT_LE(copies, doubtful + 1) << json::serialize(r);
    });
    EXPECT_EQ(receipts, count);
    EXPECT_GT(retried, 0) << "the kill met no send: this run shows nothing";
    std::size_t total = 0;
    for (const auto& [id, copies] : there)
        total += static_cast<std::size_t>(copies);
    EXPECT_EQ(total, explained) << "messages lie there that no receipt tells of";
    const auto summary = json::parse(text("send")).as_object();
    EXPECT_EQ(summary.at("stored").as_int64(), stored);
    EXPECT_EQ(status, stored == count ? 0 : 1);
    std::printf("stored %d of %d, %d met the kill, %zu copies in all\n", stored, count, retried, total);
}

}  // namespace
