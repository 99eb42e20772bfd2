// Signed requests at real brokers with access control: both of its forms, both header forms, and their own words to those they refuse.

#include <interop/cases/situation.hpp>
#include <interop/support/real_cluster.hpp>

#include <shunt/producer.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

namespace shunt::interop {
namespace {

using namespace std::chrono_literals;
using cases::shown;
using cases::started;

/// Access control of a kind, at brokers of a version.
struct guarded {
    const char* name;
    std::string version;
    int code;  ///< of refusals
    std::string unsigned_text, unknown_text, wrong_text, forbidden_text;
};

void PrintTo(const guarded& g, std::ostream* out) { *out << g.name; }

const std::string root = "rootUser", root_secret = "rootSecret1";
const std::string app = "appUser", app_secret = "appSecret1";

real_cluster_options with_acl_1()
{
    real_cluster_options o;
    o.broker_conf = "aclEnable=true";
    o.broker_files["conf/plain_acl.yml"] = "accounts:\n"
                                           "- accessKey: " + root + "\n  secretKey: " + root_secret + "\n  admin: true\n"
                                           "- accessKey: " + app + "\n  secretKey: " + app_secret +
                                           "\n  admin: false\n  defaultTopicPerm: DENY\n  defaultGroupPerm: SUB\n"
                                           "  topicPerms:\n  - AT=PUB\n";
    return o;
}

real_cluster_options with_acl_2()
{
    real_cluster_options o;
    o.broker_conf = "authenticationEnabled=true\n"
                    "authenticationProvider=org.apache.rocketmq.auth.authentication.provider.DefaultAuthenticationProvider\n"
                    "authenticationMetadataProvider=org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider\n"
                    "initAuthenticationUser={\"username\":\"" + root + "\",\"password\":\"" + root_secret + "\"}\n"
                    "innerClientAuthenticationCredentials={\"accessKey\":\"" + root + "\",\"secretKey\":\"" + root_secret + "\"}\n"
                    "authorizationEnabled=true\n"
                    "authorizationProvider=org.apache.rocketmq.auth.authorization.provider.DefaultAuthorizationProvider\n"
                    "authorizationMetadataProvider=org.apache.rocketmq.auth.authorization.provider.LocalAuthorizationMetadataProvider";
    return o;
}

std::map<std::string, std::unique_ptr<real_cluster>>& clusters()
{
    static std::map<std::string, std::unique_ptr<real_cluster>> all;
    return all;
}

/// A cluster of each kind, started when first needed.
real_cluster& cluster_of(const guarded& g)
{
    auto& made = clusters()[g.name];
    if (made != nullptr)
        return *made;
    clusters().clear();  // one at a time: they are large
    const bool old_form = g.code == 1;
    real_cluster_options o = old_form ? with_acl_1() : with_acl_2();
    o.broker_version = g.version;
    o.access_key = root;
    o.secret_key = root_secret;
    auto fresh = std::make_unique<real_cluster>(o);
    if (!old_form) {
        constexpr std::int32_t create_user = 3001, create_acl = 3006;
        for (std::size_t i = 0; i < fresh->brokers(); ++i) {
            const answer user = fresh->ask_broker(i).call(create_user, {{"username", app}},
                                                          R"({"username":")" + app + R"(","password":")" + app_secret +
                                                              R"(","userType":"Normal","userStatus":"enable"})");
            EXPECT_EQ(user.code, 0) << user.remark;
            const answer acl = fresh->ask_broker(i).call(create_acl, {{"subject", "User:" + app}},
                                                         R"({"subject":"User:)" + app +
                                                             R"(","policies":[{"policyType":"CUSTOM","entries":[{"resource":"Topic:AT",)"
                                                             R"("actions":["Pub"],"decision":"ALLOW"}]}]})");
            EXPECT_EQ(acl.code, 0) << acl.remark;
        }
    }
    fresh->create_topic("AT");
    fresh->create_topic("OTHER");
    return *(clusters()[g.name] = std::move(fresh));
}

struct EndClusters : testing::Environment {
    void TearDown() override { clusters().clear(); }
};
const auto* const end_clusters = testing::AddGlobalTestEnvironment(new EndClusters);

class RealAcl : public testing::TestWithParam<guarded> {
protected:
    producer_options options(std::string access_key, std::string secret_key) const
    {
        producer_options o;
        o.group = "PG_acl";
        o.name_servers = {cluster_of(GetParam()).name_server()};
        o.send_timeout = 30s;
        o.policies["default"].fault.use = "latency-fault";
        o.acl.keys = {std::move(access_key), std::move(secret_key), ""};
        return o;
    }
};

const std::string exception = "org.apache.rocketmq.acl.common.AclException: ";
const guarded new_words{"Acl2", "5.3.2", 16, "username cannot be null.", "User:nobody is not found.", "check signature failed.",
                        "User:" + app + " has no permission to access Topic:OTHER from 127.0.0.1, no matched policies."};

guarded at_550(guarded g)
{
    g.name = "Acl2At550";
    g.version = "5.5.0";
    return g;
}

// A suite for each, so that all tests of one are run before the cluster of the next is started.
INSTANTIATE_TEST_SUITE_P(Acl2At532, RealAcl, testing::Values(new_words));
INSTANTIATE_TEST_SUITE_P(Acl2At550, RealAcl, testing::Values(at_550(new_words)));
INSTANTIATE_TEST_SUITE_P(Acl1At532, RealAcl,
                         testing::Values(guarded{"Acl1", "5.3.2", 1, exception + "No accessKey is configured", exception + "No acl config for nobody",
                                                 exception + "Check signature failed for accessKey=" + app,
                                                 exception + "No default permission for topic:OTHER"}));

TEST_P(RealAcl, TakesWhatIsSignedInBothHeaderForms)
{
    real_cluster& real = cluster_of(GetParam());
    std::size_t before = real.messages("AT").size();
    for (const wire_format format : {wire_format::json, wire_format::rocketmq}) {
        producer_options o = options(app, app_secret);
        o.format = format;
        o.acl.keys.security_token = "token";
        producer p = started(o);
        for (const std::size_t size : {1U, 4096U, 200'000U}) {
            const receipt r = p.deliver(message("AT", std::string(size, 'b')).set_property("umlaut", "\xC3\xA4 \"quoted\"").add_key("k"));
            ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        }
        std::vector<message> batch;
        for (int i = 0; i < 3; ++i)
            batch.push_back(message("AT", "in a batch"));
        const batch_receipt b = p.deliver_batch(std::move(batch));
        ASSERT_EQ(b.send.outcome, outcome::stored) << shown(b.send);
        before += 6;
    }
    EXPECT_TRUE(real.eventually([&] { return real.messages("AT").size() == before; }, 30s)) << real.messages("AT").size();
}

TEST_P(RealAcl, AnswersQuestionsAndTransactionsOfAnAdministrator)
{
    producer p = started(options(root, root_secret));
    const receipt r = p.deliver(message("AT", "asked for").add_key("asked"));
    ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    const auto max = p.max_offset("AT", std::string(r.broker), r.queue);
    ASSERT_TRUE(max) << max.error().text;
    EXPECT_GE(*max, 1);
    EXPECT_TRUE(cases::eventually([&] { return p.view("AT", r.offset_msg_id.str()).has_value(); })) << "a broker shows a message a moment after it has confirmed it";
    const auto made = p.create_topic("NEW");
    ASSERT_TRUE(made) << made.error().text;
    const auto t = p.send_transaction(message("AT", "t"), [](const message&, const receipt&) { return transaction_end::commit; });
    ASSERT_EQ(t.half.outcome, outcome::stored) << shown(t.half);
    EXPECT_TRUE(t.confirmed) << t.reason;
}

TEST_P(RealAcl, RefusesInItsOwnWordsOnceAndNoBrokerIsIsolated)
{
    const guarded& g = GetParam();
    struct row {
        std::string access_key, secret_key, topic, text;
    };
    for (const row& one : {row{"", "", "AT", g.unsigned_text}, row{"nobody", "x", "AT", g.unknown_text},
                           row{app, "wrong", "AT", g.wrong_text}, row{app, app_secret, "OTHER", g.forbidden_text}}) {
        SCOPED_TRACE(one.text);
        producer p = started(options(one.access_key, one.secret_key));
        std::map<std::string, int> by_broker;
        // One that answers late on a busy machine is passed over for a moment: that is not what this is about.
        const auto end = std::chrono::steady_clock::now() + 60s;
        for (int i = 0; i < 8 || (by_broker.size() < 2 && std::chrono::steady_clock::now() < end); ++i) {
            const receipt r = p.deliver(message(one.topic, "x"));
            EXPECT_EQ(r.outcome, outcome::rejected) << shown(r);
            ASSERT_EQ(r.attempts.size(), 1u) << shown(r);
            EXPECT_EQ(r.attempts[0].code, g.code) << shown(r);
            EXPECT_EQ(std::string(r.attempts[0].text).substr(0, one.text.size()), one.text);
            ++by_broker[std::string(r.attempts[0].broker)];
        }
        EXPECT_EQ(by_broker.size(), 2u) << "none was isolated";
    }
}

}  // namespace
}  // namespace shunt::interop
