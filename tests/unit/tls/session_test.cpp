// TLS over memory: two sessions talk without a network, and each kind of certificate that is wrong is told apart.

#include <support/certificates.hpp>
#include <tls/session.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace shunt::tls {

void PrintTo(failure f, std::ostream* out) { *out << static_cast<int>(f); }

namespace {

using test::authority;
using test::key_pair;

/// The authorities and certificates of all tests here; made once.
struct situation {
    authority ours{"Our Authority"}, others{"Other Authority"};
    key_pair server = ours.sign("server"), client = ours.sign("client"), expired = ours.sign("expired", "IP:127.0.0.1", -3, -1),
             early = ours.sign("early", "IP:127.0.0.1", 1, 2), elsewhere = ours.sign("elsewhere", "DNS:broker.example.com"),
             foreign = others.sign("foreign");
};

situation& here()
{
    static situation made;
    return made;
}

tls_options trusting(const authority& a)
{
    tls_options o;
    o.enabled = true;
    o.ca = a.certificate();
    return o;
}

std::shared_ptr<context> client_of(const tls_options& o)
{
    std::vector<problem> problems;
    auto made = context::client(o, problems);
    for (const problem& p : problems)
        ADD_FAILURE() << p.key << " is " << p.found << "; it must be " << p.expected;
    return made;
}

std::shared_ptr<context> server_of(const key_pair& k, const std::string& ca = {})
{
    std::vector<problem> problems;
    auto made = context::server({k.certificate, k.key, ca}, problems);
    for (const problem& p : problems)
        ADD_FAILURE() << p.key << " is " << p.found << "; it must be " << p.expected;
    return made;
}

/// Two ends and what each has heard.
struct talk {
    talk(const std::shared_ptr<context>& c, const std::shared_ptr<context>& s, const std::string& peer = "127.0.0.1:9876")
        : client(session::client(c, peer, peer.substr(0, peer.rfind(':')))), server(session::server(s))
    {
        go_on();
    }
    /// Carries bytes until neither has any more.
    void go_on()
    {
        for (bool any = true; any;) {
            any = carry(*client, *server, at_server, server_status);
            any = carry(*server, *client, at_client, client_status) || any;
        }
    }
    static bool carry(session& from, session& to, wire::buffer& heard, session::status& status)
    {
        wire::buffer bytes;
        from.take_output(bytes);
        if (bytes.empty())
            return false;
        status = to.received(bytes.view(), heard);
        return true;
    }
    std::unique_ptr<session> client, server;
    wire::buffer at_client, at_server;
    session::status client_status = session::status::more, server_status = session::status::more;
};

TEST(Session, CarriesWhatIsSaidBothWays)
{
    talk t(client_of(trusting(here().ours)), server_of(here().server));
    ASSERT_TRUE(t.client->up()) << t.client->text();
    ASSERT_TRUE(t.server->up()) << t.server->text();
    const std::string large(300'000, 'x');
    t.client->write("a question");
    t.server->write(large);
    t.go_on();
    EXPECT_EQ(t.at_server.view(), "a question");
    EXPECT_EQ(t.at_client.view(), large);
    EXPECT_EQ(t.client_status, session::status::more);
    t.server->finish();
    t.go_on();
    EXPECT_EQ(t.client_status, session::status::ended);
}

TEST(Session, TakesBytesInAnyPieces)
{
    const auto c = session::client(client_of(trusting(here().ours)), "127.0.0.1:1", "127.0.0.1");
    const auto s = session::server(server_of(here().server));
    wire::buffer heard;
    s->write("");
    for (int round = 0; round < 4; ++round) {
        for (const auto& [from, to] : {std::pair(c.get(), s.get()), std::pair(s.get(), c.get())}) {
            wire::buffer bytes;
            from->take_output(bytes);
            for (std::size_t i = 0; i < bytes.size(); ++i)
                ASSERT_EQ(to->received(bytes.view().substr(i, 1), heard), session::status::more) << to->text();
        }
    }
    EXPECT_TRUE(c->up());
    EXPECT_TRUE(s->up());
}

struct bad_certificate {
    const char* claim;
    key_pair situation::*which;
    failure why;
    std::string text;
};

struct Bad : testing::TestWithParam<bad_certificate> {};

INSTANTIATE_TEST_SUITE_P(Certificate, Bad,
                         testing::Values(bad_certificate{"Expired", &situation::expired, failure::expired, "its certificate expired at "},
                                         bad_certificate{"NotValidYet", &situation::early, failure::expired, "its certificate is valid from "},
                                         bad_certificate{"OfAnotherName", &situation::elsewhere, failure::wrong_name,
                                                         "its certificate is for DNS:broker.example.com, not for 127.0.0.1 (see server_name in [tls])"},
                                         bad_certificate{"OfAnUnknownAuthority", &situation::foreign, failure::untrusted,
                                                         "its certificate, which CN = Other Authority signed, is not trusted: "}),
                         [](const auto& of) { return std::string(of.param.claim); });

TEST_P(Bad, IsRefusedForItsOwnReason)
{
    const talk t(client_of(trusting(here().ours)), server_of(here().*GetParam().which));
    EXPECT_FALSE(t.client->up());
    EXPECT_EQ(t.client->why(), GetParam().why) << t.client->text();
    EXPECT_EQ(t.client->text().substr(0, GetParam().text.size()), GetParam().text);
    EXPECT_FALSE(t.server->up() && t.server_status == session::status::more) << "the server is told";
}

TEST_P(Bad, IsTakenWhereNothingIsVerified)
{
    tls_options o = trusting(here().ours);
    o.verify = tls_verify::none;
    const talk t(client_of(o), server_of(here().*GetParam().which));
    EXPECT_TRUE(t.client->up()) << t.client->text();
}

TEST(Name, OfTheSettingsIsTheOneACertificateMustHave)
{
    tls_options o = trusting(here().ours);
    o.server_name = "broker.example.com";
    EXPECT_TRUE(talk(client_of(o), server_of(here().elsewhere)).client->up());
    EXPECT_EQ(talk(client_of(o), server_of(here().server)).client->why(), failure::wrong_name);
    o.server_name.clear();
    EXPECT_TRUE(talk(client_of(o), server_of(here().elsewhere), "broker.example.com:10911").client->up());
    o.verify = tls_verify::chain;
    EXPECT_TRUE(talk(client_of(o), server_of(here().elsewhere)).client->up());
    EXPECT_EQ(talk(client_of(o), server_of(here().foreign)).client->why(), failure::untrusted) << "a chain is still looked at";
}

TEST(ClientCertificate, IsShownToServersThatAsk)
{
    situation& s = here();
    tls_options o = trusting(s.ours);
    const auto server = server_of(s.server, s.ours.certificate());
    const talk without(client_of(o), server);
    EXPECT_EQ(without.client->why(), failure::refused) << without.client->text();
    EXPECT_EQ(without.client->text().substr(0, 41), "it refuses us, who have no certificate: t");
    o.certificate = s.foreign.certificate;
    o.key = s.foreign.key;
    const talk foreign(client_of(o), server);
    EXPECT_EQ(foreign.client->why(), failure::refused) << foreign.client->text();
    EXPECT_EQ(foreign.client->text().substr(0, 27), "it refuses our certificate:");
    o.certificate = s.client.certificate;
    o.key = s.ours.locked(s.client, "open sesame");
    o.key_password = "open sesame";
    talk right(client_of(o), server);
    right.client->write("x");
    right.go_on();
    EXPECT_EQ(right.at_server.view(), "x") << right.client->text() << right.server->text();
}

TEST(Version, BelowTheLowestIsRefused)
{
    tls_options o = trusting(here().ours);
    o.min_version = tls_version::v1_3;
    EXPECT_TRUE(talk(client_of(o), server_of(here().server)).client->up());
}

TEST(Resumption, TakesUpTheSessionWithThatPeer)
{
    const auto c = client_of(trusting(here().ours)), s = server_of(here().server);
    EXPECT_FALSE(talk(c, s, "127.0.0.1:1").client->resumed());
    EXPECT_TRUE(talk(c, s, "127.0.0.1:1").client->resumed());
    EXPECT_TRUE(talk(c, s, "127.0.0.1:1").client->resumed()) << "and again";
    EXPECT_FALSE(talk(c, s, "127.0.0.1:2").client->resumed()) << "another peer";
    EXPECT_FALSE(talk(client_of(trusting(here().ours)), s, "127.0.0.1:1").client->resumed()) << "new certificates, new sessions";
}

TEST(PlainPeer, IsKnownByItsFirstBytes)
{
    const auto c = session::client(client_of(trusting(here().ours)), "127.0.0.1:1", "127.0.0.1");
    wire::buffer heard;
    EXPECT_EQ(c->received(std::string_view("\0\0\1\x1f", 4), heard), session::status::failed);
    EXPECT_EQ(c->why(), failure::no_tls);
    EXPECT_EQ(c->text(), "it does not speak TLS");
    EXPECT_EQ(c->received("more", heard), session::status::failed);
}

TEST(Files, ThatCannotBeUsedAreToldWithWhatWouldBeRight)
{
    situation& s = here();
    std::ofstream(s.ours.file("empty"));
    std::ofstream(s.ours.file("text")) << "no PEM\n";
    const auto said = [](const tls_options& o) {
        std::vector<problem> problems;
        EXPECT_EQ(context::client(o, problems), nullptr);
        std::string all;
        for (const problem& p : problems)
            all += (all.empty() ? "" : "\n") + p.key + " is " + p.found + "; it must be " + p.expected;
        return all;
    };
    const std::string none = s.ours.file("none"), empty = s.ours.file("empty"), text = s.ours.file("text");
    tls_options o = trusting(s.ours);
    o.ca = none;
    EXPECT_EQ(said(o), "ca is '" + none + "', which cannot be read: No such file or directory; it must be a file that can be read");
    o.ca = empty;
    EXPECT_EQ(said(o), "ca is '" + empty + "', which cannot be read: it is empty; it must be a file that can be read");
    o.ca = text;
    EXPECT_EQ(said(o), "ca is '" + text + "'; it must be a PEM file with certificates of authorities");
    o.ca = s.ours.certificate();
    o.certificate = text;
    o.key = s.client.key;
    EXPECT_EQ(said(o), "certificate is '" + text + "'; it must be a PEM file with our certificate first");
    o.certificate = s.client.certificate;
    o.key = s.server.key;
    EXPECT_EQ(said(o), "key is '" + s.server.key + "'; it must be the private key of the certificate in '" + s.client.certificate + "'");
    o.key = s.ours.locked(s.client, "right");
    EXPECT_EQ(said(o), "key is '" + o.key + "'; it must be a PEM file with a private key that needs no password");
    o.key_password = "hunter2";
    EXPECT_EQ(said(o), "key is '" + o.key + "'; it must be a PEM file with a private key that key_password opens");
}

}  // namespace
}  // namespace shunt::tls
