// The harness of the interop tests, itself: a real cluster starts, keeps what it was sent, dies, comes back, and says so.

#include <interop/support/real_cluster.hpp>

#include <wire/properties.hpp>
#include <wire/send.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>

namespace {

using namespace std::chrono_literals;
using namespace shunt::interop;
namespace wire = shunt::wire;

class RealCluster : public testing::Test {
protected:
    static void SetUpTestSuite() { cluster_ = std::make_unique<real_cluster>(); }
    static void TearDownTestSuite() { cluster_.reset(); }

    static real_cluster& cluster() { return *cluster_; }

private:
    static inline std::unique_ptr<real_cluster> cluster_;
};

// Sends by hand, and returns what the broker answers.
answer send_raw(admin_client& broker, std::string_view topic, std::int32_t queue, std::string_view id, std::string_view body)
{
    wire::buffer properties;
    wire::put_property(properties, "UNIQ_KEY", id);
    wire::put_property(properties, "KEYS", "k1");
    wire::put_property(properties, "WAIT", "true");
    wire::buffer frame;
    wire::send_head head;
    head.group = "PG_harness";
    head.topic = topic;
    head.queue_id = queue;
    head.born_ms = 1700000000000;
    head.properties = properties.view();
    wire::encode_send_head(frame, wire::header_format::json, wire::code::send_message_v2, 7001, false, head, body.size());
    frame.put(body);
    return broker.exchange(frame.view(), 7001);
}

TEST_F(RealCluster, RegistersEachMasterUnderItsName)
{
    const auto masters = cluster().ask_name_server().masters();

    ASSERT_EQ(masters.size(), 2u);
    EXPECT_EQ(masters.at("broker-a"), cluster().broker_address(0));
    EXPECT_EQ(masters.at("broker-b"), cluster().broker_address(1));
}

TEST_F(RealCluster, GivesBackWhatItWasSent)
{
    cluster().create_topic("Sent", {.queues = 3});

    const answer a = send_raw(cluster().ask_broker(1), "Sent", 2, "7F00000100010A0B0C0D2C20EFB30E27", "read me back");

    ASSERT_EQ(a.code, 0) << a.remark;
    EXPECT_EQ(a.fields.at("queueId"), "2");
    EXPECT_EQ(cluster().ask_broker(1).max_offset("Sent", 2), 1);
    const auto all = cluster().messages("Sent");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].broker, "broker-b");
    EXPECT_EQ(all[0].queue, 2);
    EXPECT_EQ(all[0].offset, 0);
    EXPECT_EQ(all[0].body, "read me back");
    EXPECT_EQ(all[0].born_ms, 1700000000000);
    EXPECT_EQ(all[0].msg_id(), "7F00000100010A0B0C0D2C20EFB30E27");
    EXPECT_EQ(all[0].properties.at("KEYS"), "k1");
}

TEST_F(RealCluster, KeepsMessagesOverKillAndRestartAndJavaSeesThem)
{
    cluster().create_topic("Kept", {.queues = 1});
    ASSERT_EQ(send_raw(cluster().ask_broker(0), "Kept", 0, "7F00000100010A0B0C0D2C20EFB30E28", "\xC3\xA4 \"quoted\"").code, 0);

    cluster().kill_broker(0);

    EXPECT_THROW((void)cluster().ask_broker(0).max_offset("Kept", 0), std::runtime_error);
    EXPECT_TRUE(cluster().eventually([] { return !cluster().ask_name_server().masters().contains("broker-a"); }, 10s));
    EXPECT_TRUE(cluster().messages("Kept").empty()) << "broker-b has none of them";

    cluster().restart_broker(0);

    ASSERT_EQ(cluster().messages("Kept").size(), 1u);
    const auto lines = cluster().java_reader("Kept");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_NE(lines[0].find(R"("broker":"broker-a","queue":0,"offset":0)"), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find("\"body\":\"\xC3\xA4 \\\"quoted\\\"\""), std::string::npos) << lines[0];
}

TEST_F(RealCluster, StoppedBrokerConnectsButDoesNotAnswer)
{
    cluster().create_topic("Hung");
    cluster().stop_broker(1);

    admin_client impatient(cluster().broker_address(1), 300ms);
    EXPECT_THROW((void)impatient.max_offset("Hung", 0), std::runtime_error);

    cluster().continue_broker(1);
    EXPECT_EQ(cluster().ask_broker(1).max_offset("Hung", 0), 0);
}

TEST_F(RealCluster, SettingsOfARunningBrokerChangeAtOnce)
{
    cluster().create_topic("Config", {.queues = 1, .order = true});
    cluster().ask_name_server().put_order_conf("Config", "broker-a:1");

    cluster().configure(0, "brokerPermission=4\n");
    const answer refused = send_raw(cluster().ask_broker(0), "Config", 0, "7F00000100010A0B0C0D2C20EFB30E29", "x");
    cluster().configure(0, "brokerPermission=6\n");
    const answer taken = send_raw(cluster().ask_broker(0), "Config", 0, "7F00000100010A0B0C0D2C20EFB30E30", "x");

    EXPECT_EQ(refused.code, 16) << refused.remark;
    EXPECT_EQ(taken.code, 0) << taken.remark;
    EXPECT_EQ(cluster().ask_name_server().route("Config")->order_conf, "broker-a:1");
}

TEST(RealClusterVersions, Broker550StartsWithTheSameSettings)
{
    real_cluster newer({.broker_version = "5.5.0", .brokers = 1, .auto_create_topics = true});
    newer.create_topic("Sent", {.queues = 1});

    ASSERT_EQ(send_raw(newer.ask_broker(0), "Sent", 0, "7F00000100010A0B0C0D2C20EFB30E31", "x").code, 0);

    EXPECT_EQ(newer.messages("Sent").size(), 1u);
    EXPECT_TRUE(newer.ask_name_server().route("TBW102").has_value()) << "the template of topics that are created by sending";
}

TEST(RealClusterErrors, UnknownTopicHasNoRoute)
{
    real_cluster one({.brokers = 1});

    EXPECT_FALSE(one.ask_name_server().route("NOPE").has_value());
    EXPECT_THROW((void)one.messages("NOPE"), std::runtime_error);
    EXPECT_THROW((void)one.java_reader("NOPE"), std::runtime_error);
}

TEST(RealClusterErrors, BrokerThatCannotStartIsNamedWithItsLog)
{
    try {
        real_cluster broken({.brokers = 1, .broker_conf = "brokerIP1=127.0.0.1\nstorePathRootDir=/proc/nothing\nstorePathCommitLog=/proc/nothing"});
        FAIL() << "it started";
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string_view(e.what()).find("broker-a ended"), std::string_view::npos) << e.what();
        EXPECT_NE(std::string_view(e.what()).find("out.log"), std::string_view::npos) << e.what();
    }
}

TEST(Child, DiesWithItsOwnerAndReportsHowItEnded)
{
    const auto scratch = make_scratch("child");
    pid_t pid = 0;
    {
        child sleeper({"sleep", "600"}, scratch / "out", scratch / "out");
        pid = sleeper.pid();
        EXPECT_EQ(sleeper.wait(0ms), std::nullopt);
    }
    EXPECT_EQ(::kill(pid, 0), -1) << "still there";

    child shell({"sh", "-c", "echo said; exit 3"}, scratch / "out", scratch / "out");
    EXPECT_EQ(shell.wait(10s), 3);
    EXPECT_NE(tail_of(scratch / "out").find("said"), std::string::npos);
    EXPECT_THROW(child({"no-such-program"}, scratch / "out", scratch / "out"), std::runtime_error);
    EXPECT_THROW(child({"/etc/passwd"}, scratch / "out", scratch / "out"), std::runtime_error);
    remove_all(scratch);
}

}  // namespace
