// How sends are steered where only real servers can tell: name servers that go and come, and brokers' second port.

#include <interop/support/real_cluster.hpp>

#include <support/producer_situation.hpp>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>

namespace shunt::test {
namespace {

struct Steering : testing::Test {
    static void SetUpTestSuite()
    {
        cluster = std::make_unique<interop::real_cluster>(
            interop::real_cluster_options{.brokers = 2, .name_servers = 2, .broker_conf = "enableShutdownGracefully=true"});
    }
    static void TearDownTestSuite() { cluster.reset(); }

    static producer_options asking(std::vector<std::string> name_servers)
    {
        producer_options o = with_policy(options_for(name_servers.front()), "round-robin");
        o.name_servers = std::move(name_servers);
        o.send_timeout = 60s;
        return o;
    }

    static std::unique_ptr<interop::real_cluster> cluster;
};
std::unique_ptr<interop::real_cluster> Steering::cluster;

/// Connections of this machine to a port of loopback that are up.
std::size_t connections_to(int port)
{
    // "0: 0100007F:9C40 0100007F:2A9F 01 ...": local, remote, state.
    std::ifstream table("/proc/self/net/tcp");
    std::ostringstream wanted;
    wanted << ':' << std::uppercase << std::hex << port;
    std::string line;
    std::size_t n = 0;
    while (std::getline(table, line)) {
        std::istringstream words(line);
        std::string number, local, remote, state;
        words >> number >> local >> remote >> state;
        n += remote.ends_with(wanted.str()) && state == "01" ? 1 : 0;
    }
    return n;
}

TEST_F(Steering, SendsGoToTheSecondPortByTheVipChannel)
{
    cluster->create_topic("vip");
    const auto second_port = [](std::size_t broker) {
        const std::string& address = cluster->broker_address(broker);
        return std::stoi(address.substr(address.rfind(':') + 1)) - 2;
    };
    producer_options o = asking({cluster->name_server()});
    {
        producer plain = started(o);
        ASSERT_EQ(plain.deliver(message("vip", "plain")).outcome, outcome::stored);
        EXPECT_EQ(connections_to(second_port(0)) + connections_to(second_port(1)), 0u);
    }
    o.vip_channel = true;
    producer p = started(o);
    const receipt r = p.deliver(message("vip", "by the second port"));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(connections_to(second_port(r.broker == cluster->broker_name(0) ? 0 : 1)), 1u);
    EXPECT_EQ(p.max_offset("vip", std::string(r.broker), r.queue).value(), r.offset + 1) << "questions as well";
    const auto found = p.view("vip", r.offset_msg_id.str());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->body, "by the second port");
}

// A broker that shuts down in an orderly way says so (GO_AWAY), and its connection takes nothing new.
TEST_F(Steering, ABrokerThatLeavesCostsNoMessage)
{
    cluster->create_topic("leaving");
    producer_options o = asking({cluster->name_server()});
    o.route_refresh = 500ms;
    producer p = started(o);
    ASSERT_EQ(p.deliver(message("leaving", "x")).outcome, outcome::stored);
    cluster->end_broker(1);
    std::size_t sent = 1, go_away = 0;
    while (!cluster->broker_left(1)) {
        const receipt r = p.deliver(message("leaving", std::to_string(sent++)));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        for (const attempt& a : r.attempts)
            go_away += a.code == 1500 ? 1 : 0;
    }
    for (int i = 0; i < 20; ++i, ++sent) {
        const receipt r = p.deliver(message("leaving", std::to_string(sent)));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.broker, cluster->broker_name(0));
    }
    EXPECT_GE(go_away, 1u) << "of " << sent;
    cluster->restart_broker(1);
    std::set<std::string> there;
    for (const interop::stored& m : cluster->messages("leaving"))
        EXPECT_TRUE(there.insert(m.msg_id()).second) << "twice: " << m.body;
    EXPECT_EQ(there.size(), sent);
}

// The list is changed while the program runs; then the server that was on it is killed, while others have both.
TEST_F(Steering, NameServersChangeAndDieWhileMessagesGoOut)
{
    cluster->create_topic("before");
    cluster->create_topic("after");
    producer_options o = asking({cluster->name_server(0)});
    o.swap.probation = 0ms;
    o.route_refresh = 200ms;
    producer moved = started(o);
    producer both = started(asking({cluster->name_server(0), cluster->name_server(1)}));
    producer stays = started(o);
    for (producer* p : {&moved, &both, &stays})
        ASSERT_EQ(p->deliver(message("before", "x")).outcome, outcome::stored);

    o.name_servers = {cluster->name_server(1)};
    ASSERT_TRUE(moved.stage(o).wait_for(swap_state::in_force, patience));
    EXPECT_EQ(moved.name_server(), cluster->name_server(1));
    cluster->kill_name_server(0);

    for (producer* p : {&moved, &both}) {
        const receipt known = p->deliver(message("before", "x")), unknown = p->deliver(message("after", "x"));
        EXPECT_EQ(known.outcome, outcome::stored) << shown(known);
        EXPECT_EQ(unknown.outcome, outcome::stored) << shown(unknown);
    }
    EXPECT_EQ(stays.deliver(message("before", "x")).outcome, outcome::stored) << "what is known of a route stays";
    send_options soon;
    soon.timeout = 500ms;
    const receipt lost = stays.deliver(message("after", "x"), soon);
    EXPECT_EQ(lost.error, errc::route_timeout) << shown(lost);
    EXPECT_NE(lost.reason.find(cluster->name_server(0)), std::string::npos) << lost.reason;
    o.name_servers = {cluster->name_server(0), cluster->name_server(1)};
    ASSERT_TRUE(stays.stage(o).wait_for(swap_state::in_force, patience));
    EXPECT_EQ(stays.deliver(message("after", "x")).outcome, outcome::stored);
}

}  // namespace
}  // namespace shunt::test
