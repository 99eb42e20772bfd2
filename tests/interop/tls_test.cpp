// TLS to a real name server and real brokers, each broker with a certificate of another kind.

#include <interop/cases/situation.hpp>
#include <interop/support/real_cluster.hpp>
#include <support/certificates.hpp>

#include <shunt/producer.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>

namespace shunt::interop {
namespace {

using namespace std::chrono_literals;
using cases::shown;
using cases::started;
using test::authority;
using test::key_pair;

std::string text_of(const std::string& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// broker-a is as it should be, the certificate of broker-b is expired, that of broker-c for another name; broker-d wants one
/// of clients. The name server has its certificate from another authority than they.
struct situation {
    explicit situation(const std::string& version)
    {
        std::ofstream(ours.file("both.crt")) << text_of(ours.certificate()) << text_of(others.certificate());
        write("namesrv", others.sign("namesrv"));
        write("broker-a", ours.sign("broker-a"));
        write("broker-b", ours.sign("broker-b", "IP:127.0.0.1", -3, -1));
        write("broker-c", ours.sign("broker-c", "DNS:broker.example.com"));
        write("broker-d", ours.sign("broker-d"), ours.certificate());
        tls_options anything;
        anything.enabled = true;
        anything.verify = tls_verify::none;
        anything.certificate = client.certificate;
        anything.key = client.key;
        std::vector<tls::problem> problems;
        real_cluster_options o;
        o.broker_version = version;
        o.brokers = 4;
        o.broker_java = {"-Dtls.server.mode=enforcing", "-Dtls.config.file=" + ours.file("{name}.properties")};
        o.name_server_java = {"-Dtls.config.file=" + ours.file("namesrv.properties")};
        o.certificates = tls::context::client(anything, problems);
        cluster = std::make_unique<real_cluster>(o);
        cluster->create_topic("T");
    }
    void write(const std::string& name, const key_pair& k, const std::string& clients = {}) const
    {
        std::ofstream(ours.file(name + ".properties"))
            << "tls.test.mode.enable=false\ntls.server.certPath=" << k.certificate << "\ntls.server.keyPath=" << k.key
            << "\ntls.server.need.client.auth=" << (clients.empty() ? "none" : "require")
            << "\ntls.server.authClient=" << (clients.empty() ? "false" : "true")
            << (clients.empty() ? "" : "\ntls.server.trustCertPath=" + clients) << '\n';
    }

    authority ours{"Our Authority"}, others{"Other Authority"};
    key_pair client = ours.sign("client");
    std::unique_ptr<real_cluster> cluster;
};

std::map<std::string, std::unique_ptr<situation>>& situations()
{
    static std::map<std::string, std::unique_ptr<situation>> all;
    return all;
}

struct EndClusters : testing::Environment {
    void TearDown() override { situations().clear(); }
};
const auto* const end_clusters = testing::AddGlobalTestEnvironment(new EndClusters);

class RealTls : public testing::TestWithParam<std::string> {
protected:
    static situation& here()
    {
        auto& made = situations()[GetParam()];
        if (made == nullptr) {
            situations().clear();
            return *(situations()[GetParam()] = std::make_unique<situation>(GetParam()));
        }
        return *made;
    }
    static producer_options trusting_both()
    {
        producer_options o;
        o.group = "PG_tls";
        o.name_servers = {here().cluster->name_server()};
        o.send_timeout = 30s;
        o.attempts = 1;
        o.connect_timeout = 20s;
        o.tls.enabled = true;
        o.tls.ca = here().ours.file("both.crt");
        return o;
    }
    static send_options to(std::string broker)
    {
        send_options o;
        o.queue = {std::move(broker), 0};
        return o;
    }
};

// A suite for each version, so that all tests of one are run before the cluster of the other is started.
INSTANTIATE_TEST_SUITE_P(Brokers532, RealTls, testing::Values("5.3.2"));
INSTANTIATE_TEST_SUITE_P(Brokers550, RealTls, testing::Values("5.5.0"));

TEST_P(RealTls, CarriesMessagesOfEverySizeAndQuestions)
{
    for (const tls_version lowest : {tls_version::v1_2, tls_version::v1_3}) {
        producer_options o = trusting_both();
        o.tls.min_version = lowest;
        producer p = started(o);
        receipt last;
        for (const std::size_t size : {1U, 16384U, 1'000'000U}) {
            last = p.deliver(message("T", std::string(size, 'b')), to("broker-a"));
            ASSERT_EQ(last.outcome, outcome::stored) << shown(last);
        }
        EXPECT_TRUE(cases::eventually([&] { return p.view("T", last.offset_msg_id.str()).has_value(); }));
        EXPECT_GE(p.counters().tls_handshakes, 2u);
    }
}

TEST_P(RealTls, TellsEachWrongCertificateByItsOwnErrorAndWords)
{
    producer p = started(trusting_both());
    struct row {
        const char* broker;
        errc why;
        const char* text;
    };
    for (const row& one : {row{"broker-b", errc::certificate_expired, "its certificate expired at "},
                           row{"broker-c", errc::certificate_wrong_name, "its certificate is for DNS:broker.example.com, not for 127.0.0.1"},
                           row{"broker-d", errc::certificate_refused, "it refuses us, who have no certificate"}}) {
        const receipt r = p.deliver(message("T", "x"), to(one.broker));
        EXPECT_EQ(r.outcome, outcome::not_sent) << shown(r);
        EXPECT_EQ(r.error, one.why) << shown(r);
        EXPECT_NE(shown(r).find(one.text), std::string::npos) << shown(r);
    }
    producer_options o = trusting_both();
    o.tls.ca = here().others.certificate();
    producer distrustful = started(o);
    const receipt r = distrustful.deliver(message("T", "x"), to("broker-a"));
    EXPECT_EQ(r.error, errc::certificate_untrusted) << shown(r);
    EXPECT_NE(shown(r).find("its certificate, which CN = Our Authority signed, is not trusted"), std::string::npos) << shown(r);
}

TEST_P(RealTls, ShowsItsCertificateToABrokerThatAsks)
{
    producer_options o = trusting_both();
    o.tls.certificate = here().client.certificate;
    o.tls.key = here().client.key;
    producer p = started(o);
    const receipt r = p.deliver(message("T", "x"), to("broker-d"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
}

TEST_P(RealTls, TakesASessionUpAgain)
{
    std::vector<tls::problem> problems;
    const auto certificates = tls::context::client(trusting_both().tls, problems);
    ASSERT_TRUE(problems.empty());
    for (const bool again : {false, true}) {
        admin_client asking(here().cluster->broker_address(0));
        asking.use_tls(certificates);
        EXPECT_GE(asking.max_offset("T", 0), 0);
        EXPECT_EQ(asking.tls_resumed(), again);
    }
}

TEST_P(RealTls, IsNeverMetPlainlyWithoutBeingTold)
{
    producer_options o = trusting_both();
    o.tls = {};
    producer p = started(o);
    const receipt r = p.deliver(message("T", "x"), to("broker-a"));
    EXPECT_EQ(r.outcome, outcome::unknown) << shown(r);
    EXPECT_NE(shown(r).find("closed the connection without a word; it may want TLS"), std::string::npos) << shown(r);
    EXPECT_TRUE(here().cluster->ask_broker(0).call(wire::code::get_broker_runtime_info).code == 0);
}

TEST(RealPlainServer, MetUnderTlsIsToldSo)
{
    real_cluster plain({.brokers = 0, .name_server_java = {"-Dtls.server.mode=disabled"}});
    const authority ours("Our Authority");
    producer_options o;
    o.name_servers = {plain.name_server()};
    o.send_timeout = 10s;
    o.tls.enabled = true;
    o.tls.ca = ours.certificate();
    producer p = started(o);
    ASSERT_TRUE(plain.eventually([&] { return !plain.ask_name_server().route("NOPE"); }));
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent) << shown(r);
    EXPECT_NE(shown(r).find("no TLS with " + plain.name_server() + ": it closed the connection; it may not speak it"), std::string::npos) << shown(r);
}

}  // namespace
}  // namespace shunt::interop
