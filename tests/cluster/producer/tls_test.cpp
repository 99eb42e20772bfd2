// TLS to the embedded cluster: what is sent arrives, what is wrong with a certificate is told, files that change are taken over.

#include <config/certificates.hpp>
#include <net/probe.hpp>
#include <support/certificates.hpp>
#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace shunt::test {
namespace {

struct keys {
    authority ours{"Our Authority"}, others{"Other Authority"};
    key_pair server = ours.sign("server"), client = ours.sign("client"), expired = ours.sign("expired", "IP:127.0.0.1", -3, -1),
             elsewhere = ours.sign("elsewhere", "DNS:broker.example.com"), foreign = others.sign("foreign");
};

keys& made()
{
    static keys all;
    return all;
}

cluster::tls_settings served(const key_pair& k, const std::string& ca = {}) { return {k.certificate, k.key, ca}; }

cluster::options secured(const key_pair& k)
{
    cluster::options o;
    o.brokers = 2;
    o.tls = served(k);
    return o;
}

producer_options trusting(const cluster::embedded_cluster& c)
{
    producer_options o = options_for(c);
    o.tls.enabled = true;
    o.tls.ca = made().ours.certificate();
    return o;
}

struct Tls : testing::Test {
    cluster::embedded_cluster cluster{secured(made().server)};
    producer_options options = trusting(cluster);
};

TEST_F(Tls, CarriesMessagesOfEverySize)
{
    producer p = started(options);
    for (const std::size_t size : {1U, 4096U, 16384U, 100'000U, 4'000'000U}) {
        std::string body(size, 'b');
        body.back() = 'e';
        const receipt r = p.deliver(message("T", body));
        ASSERT_EQ(r.outcome, outcome::stored) << size << ": " << r.error.message();
        EXPECT_EQ(cluster.snapshot("T").back().body, body);
    }
    EXPECT_GE(p.counters().tls_handshakes, 2u);
}

TEST_F(Tls, CarriesManyAtOnceEachOnce)
{
    producer p = started(options);
    collector all;
    constexpr int count = 2000;
    for (int i = 0; i < count; ++i)
        p.async_send(message("T", std::string(static_cast<std::size_t>(i * 7 % 9000 + 1), 'b')), all.handler(i));
    ASSERT_TRUE(all.wait(count));
    for (const auto& [i, r] : all.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << i << ": " << r.error.message();
    EXPECT_EQ(cluster.stored(), static_cast<std::uint64_t>(count));
    expect_quiet(p);
}

TEST_F(Tls, TakesASessionUpAgain)
{
    options.attempts = 1;
    producer p = started(options);
    send_options to;
    to.queue = {"broker-a", 0};
    ASSERT_EQ(p.deliver(message("T", "x"), to).outcome, outcome::stored);
    ASSERT_FALSE(cluster.command("broker-a refuse"));
    ASSERT_TRUE(eventually([&] { return p.counters().connections_lost > 0; }));
    EXPECT_EQ(p.deliver(message("T", "x"), to).outcome, outcome::not_sent);
    ASSERT_FALSE(cluster.command("broker-a ok"));
    ASSERT_EQ(p.deliver(message("T", "x"), to).outcome, outcome::stored);
    EXPECT_GE(p.counters().tls_resumed, 1u);
}

TEST_F(Tls, AnswersQuestionsAndTransactions)
{
    producer p = started(options);
    ASSERT_TRUE(p.create_topic("NEW"));
    const auto t = p.send_transaction(message("NEW", "t"), [](const message&, const receipt&) { return transaction_end::commit; });
    EXPECT_TRUE(t.confirmed) << t.reason;
}

// ---- certificates that are wrong ----

struct wrong_row {
    const char* claim;
    key_pair keys::*which;
    errc why;
    std::string text;
};

struct Wrong : testing::TestWithParam<wrong_row> {};

INSTANTIATE_TEST_SUITE_P(Certificate, Wrong,
                         testing::Values(wrong_row{"Expired", &keys::expired, errc::certificate_expired, "its certificate expired at "},
                                         wrong_row{"OfAnotherName", &keys::elsewhere, errc::certificate_wrong_name,
                                                   "its certificate is for DNS:broker.example.com, not for 127.0.0.1"},
                                         wrong_row{"OfAnUnknownAuthority", &keys::foreign, errc::certificate_untrusted,
                                                   "its certificate, which CN = Other Authority signed, is not trusted"}),
                         [](const auto& of) { return std::string(of.param.claim); });

TEST_P(Wrong, EndsASendWithItsOwnErrorAndWords)
{
    cluster::embedded_cluster c(secured(made().server));
    producer_options o = trusting(c);
    o.send_timeout = 2s;
    producer p = started(o);
    ASSERT_TRUE(p.route("TBW102", patience));  // the name server is met with its right certificate
    ASSERT_FALSE(c.set_tls(served(made().*GetParam().which)));
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent);
    EXPECT_EQ(r.error, GetParam().why) << r.error.message();
    ASSERT_FALSE(r.attempts.empty());
    EXPECT_NE(r.attempts[0].text.find(GetParam().text), std::string::npos) << r.attempts[0].text;
}

// It does not mend itself in the time of a send, so that need not be waited for.
TEST_P(Wrong, OfANameServerIsToldAtOnce)
{
    const cluster::embedded_cluster c(secured(made().*GetParam().which));
    producer_options o = trusting(c);
    o.send_timeout = 2 * patience;
    producer p = started(o);
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_LT(clock::now() - begin, patience);
    EXPECT_EQ(p.route("T", 2 * patience).error(), GetParam().why);
    EXPECT_LT(clock::now() - begin, patience);
    EXPECT_EQ(r.outcome, outcome::not_sent);
    EXPECT_EQ(r.error, GetParam().why) << r.error.message();
    EXPECT_NE(r.reason.find(GetParam().text), std::string::npos) << r.reason;
    EXPECT_EQ(c.stored(), 0u);
}

TEST(NameServers, OfWhichOneMayComeBackAreWaitedFor)
{
    const cluster::embedded_cluster c(secured(made().foreign));
    producer_options o = trusting(c);
    o.send_timeout = 500ms;
    o.name_servers.push_back(dead_address());
    producer p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.error, errc::route_timeout) << r.error.message();
    EXPECT_NE(r.reason.find("its certificate, which CN = Other Authority signed, is not trusted"), std::string::npos) << r.reason;
}

TEST(ClientCertificate, IsAskedForAndShown)
{
    cluster::options wanted = secured(made().server);
    cluster::embedded_cluster c(wanted);
    producer_options o = trusting(c);
    o.send_timeout = 2s;
    producer without = started(o);
    o.tls.certificate = made().client.certificate;
    o.tls.key = made().client.key;
    producer with = started(o);
    ASSERT_TRUE(without.route("TBW102", patience));
    ASSERT_FALSE(c.set_tls(served(made().server, made().ours.certificate())));
    EXPECT_EQ(with.deliver(message("T", "x")).outcome, outcome::stored);
    const receipt r = without.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent) << "the broker looks at certificates before it looks at messages";
    EXPECT_EQ(r.error, errc::certificate_refused) << r.error.message();
    EXPECT_EQ(c.stored(), 1u);
}

// ---- peers of the other kind ----

TEST(PlainBroker, MetUnderTlsIsToldSo)
{
    const cluster::embedded_cluster plain({.brokers = 1});
    producer_options o = trusting(plain);
    o.send_timeout = 500ms;
    producer p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent);
    EXPECT_EQ(r.error, errc::no_tls) << r.error.message();
    EXPECT_NE(r.reason.find("no TLS with " + plain.name_server() + ": it closed the connection; it may not speak it"), std::string::npos) << r.reason;
}

TEST(TlsBroker, MetPlainlyIsToldSo)
{
    const cluster::embedded_cluster c(secured(made().server));
    producer_options o = options_for(c);
    o.send_timeout = 500ms;
    producer p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::not_sent);
    EXPECT_NE(r.reason.find("closed the connection without a word; it may want TLS (see [tls])"), std::string::npos) << r.reason;
}

TEST(TlsBroker, ThatServesBothServesBoth)
{
    cluster::options wanted = secured(made().server);
    wanted.tls->enforced = false;
    const cluster::embedded_cluster c(wanted);
    EXPECT_EQ(started(options_for(c)).deliver(message("T", "x")).outcome, outcome::stored);
    EXPECT_EQ(started(trusting(c)).deliver(message("T", "x")).outcome, outcome::stored);
}

// ---- probes ----

/// What a probe of `address` says, under TLS that trusts ours; without `certificates`: plainly.
bool probed(const std::string& address, bool certificates = true, std::chrono::milliseconds limit = patience)
{
    boost::asio::io_context io;
    net::links links(io.get_executor(), 1s);
    std::vector<config::problem> problems;
    tls_options o;
    o.enabled = certificates;
    o.ca = made().ours.certificate();
    links.certificates = config::read_certificates(o, problems);
    EXPECT_TRUE(problems.empty());
    links.refresh();
    int answers = 0;
    bool reached = false;
    net::probe(links, address, limit, [&](bool r) {
        ++answers;
        reached = r;
        links.close_all("over");
    });
    io.run();
    EXPECT_EQ(answers, 1);
    return reached;
}

std::string broker_of(const cluster::embedded_cluster& c)
{
    producer_options o = trusting(c);
    o.tls.verify = tls_verify::none;
    return started(o).route("TBW102", patience)->brokers[0].addresses[0].second;
}

TEST(Probe, OfABrokerUnderTlsMakesTheHandshake)
{
    const cluster::embedded_cluster right(secured(made().server)), wrong(secured(made().foreign)), plain({.brokers = 1});
    EXPECT_TRUE(probed(broker_of(right)));
    EXPECT_FALSE(probed(broker_of(wrong))) << "its port is open, but nothing can be sent there";
    EXPECT_FALSE(probed(plain.name_server())) << "it speaks no TLS";
    EXPECT_TRUE(probed(plain.name_server(), false));
    EXPECT_FALSE(probed(dead_address()));
    const fake_peer silent([](fake_peer::session&, const heard&) {});
    EXPECT_FALSE(probed(silent.address(), true, 50ms)) << "no handshake in time";
}

// ---- files that change ----

TEST_F(Tls, TakesOverCertificatesThatChange)
{
    const std::string ca = made().ours.file("rotating.crt");
    const auto put = [&](const std::string& from) {
        std::filesystem::copy_file(from, ca + ".new", std::filesystem::copy_options::overwrite_existing);
        std::filesystem::rename(ca + ".new", ca);
    };
    put(made().ours.certificate());
    options.tls.ca = ca;
    options.send_timeout = 500ms;
    options.attempts = 1;
    producer p = started(options);
    ASSERT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);

    ASSERT_FALSE(cluster.set_tls(served(made().foreign)));
    const auto reconnect = [&] {
        for (const std::string& name : cluster.broker_names()) {
            EXPECT_FALSE(cluster.command(name + " refuse"));
            EXPECT_FALSE(cluster.command(name + " ok"));
        }
    };
    const auto stored_until = [&](clock::time_point end) {
        while (clock::now() < end) {
            if (p.deliver(message("T", "x")).outcome == outcome::stored)
                return true;
        }
        return false;
    };
    reconnect();
    EXPECT_TRUE(eventually([&] { return p.deliver(message("T", "x")).error == errc::certificate_untrusted; })) << "that authority is not trusted yet";
    put(made().others.certificate());
    EXPECT_TRUE(stored_until(clock::now() + patience));
    std::ofstream(ca) << "no PEM\n";
    EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored) << "what is wrong does not replace what is right";
}

TEST_F(Tls, OfAWatchedConfigurationIsTakenOverWhenItChanges)
{
    const std::string file = made().ours.file("watched.toml");
    const auto put = [&](const std::string& tls) {
        std::ofstream(file + ".new") << "[producer]\nname_servers = [\"" << cluster.name_server()
                                     << "\"]\nsend_timeout = \"500ms\"\nattempts = 1\nwatch = true\n[tls]\nenabled = true\n" << tls;
        std::filesystem::rename(file + ".new", file);
    };
    const auto trust = [](const std::string& ca) { return "ca = \"" + ca + "\"\n"; };
    put(trust(made().ours.certificate()));
    auto opened = producer::open(file);
    ASSERT_TRUE(opened) << opened.error().text;
    producer p = std::move(*opened);
    ASSERT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);
    const auto reconnect = [&] {
        for (const std::string& name : cluster.broker_names()) {
            EXPECT_FALSE(cluster.command(name + " refuse"));
            EXPECT_FALSE(cluster.command(name + " ok"));
        }
    };
    ASSERT_FALSE(cluster.set_tls(served(made().foreign)));
    reconnect();
    ASSERT_TRUE(eventually([&] { return p.deliver(message("T", "x")).error == errc::certificate_untrusted; }));
    put(trust(made().others.certificate()));
    EXPECT_TRUE(eventually([&] { return p.deliver(message("T", "x")).outcome == outcome::stored; })) << "another path is read";
    put(trust(made().others.certificate()) + "server_name = \"broker.example.com\"\n");
    reconnect();
    EXPECT_TRUE(eventually([&] {
        reconnect();
        return p.deliver(message("T", "x")).error == errc::certificate_wrong_name;
    })) << "and another name asked for";
    put("ca = \"" + made().ours.file("none") + "\"\n");
    put(trust(made().others.certificate()));
    EXPECT_TRUE(eventually([&] { return p.deliver(message("T", "x")).outcome == outcome::stored; }));
    EXPECT_EQ(p.swaps().size(), 1u) << "no swap: policies stay as they are";
}

TEST(TlsSettings, ThatCannotBeUsedAreRefusedAtTheStart)
{
    producer_options o = options_for("127.0.0.1:9");
    o.tls.enabled = true;
    o.tls.ca = made().ours.file("none");
    const auto refused = [&]() -> std::string {
        const auto started = producer::create(o);
        return started ? "" : started.error().text;
    };
    EXPECT_EQ(refused(), "tls.ca is '" + o.tls.ca + "', which cannot be read: No such file or directory; it must be a file that can be read");
    o.tls.ca = made().ours.certificate();
    o.tls.certificate = made().client.certificate;
    EXPECT_EQ(refused(), "tls.key is not set; it must be set, for tls.certificate is");
    o.tls.key = made().server.key;
    EXPECT_EQ(refused(), "tls.key is '" + o.tls.key + "'; it must be the private key of the certificate in '" + o.tls.certificate + "'");
    o.tls.key = made().ours.locked(made().client, "hunter2");
    o.tls.key_password = "hunter3";
    EXPECT_EQ(refused(), "tls.key is '" + o.tls.key + "'; it must be a PEM file with a private key that key_password opens");
    o.embedded = true;
    o.name_servers.clear();
    EXPECT_NE(refused().find("tls.enabled is true; it must be false"), std::string::npos) << refused();
}

}  // namespace
}  // namespace shunt::test
