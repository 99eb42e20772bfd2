// Credentials: brokers that want signatures get them, whatever is asked; who is refused learns it once, and no broker suffers.

#include <support/producer_situation.hpp>

#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace shunt::test {
namespace {

using cluster::account;
using cluster::acl_form;

const account app{"app", "appSecret1"};

cluster::options guarded(std::vector<account> accounts = {app}, acl_form form = acl_form::v2)
{
    cluster::options o;
    o.brokers = 2;
    o.accounts = std::move(accounts);
    o.acl = form;
    return o;
}

producer_options signed_as(const cluster::embedded_cluster& c, std::string access_key, std::string secret_key)
{
    producer_options o = options_for(c);
    o.acl.keys = {std::move(access_key), std::move(secret_key), ""};
    return o;
}

/// A folder of the test's own.
struct scratch {
    scratch() : folder(std::filesystem::temp_directory_path() / ("shunt-acl-" + std::to_string(::getpid()) + "-" + std::to_string(next++)))
    {
        std::filesystem::create_directories(folder);
    }
    ~scratch() { std::filesystem::remove_all(folder); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    /// Replaced by renaming, as those who rotate secrets do.
    std::string put(const std::string& name, const std::string& text) const
    {
        const std::string file = (folder / name).string();
        std::ofstream(file + ".new") << text;
        std::filesystem::rename(file + ".new", file);
        return file;
    }
    std::filesystem::path folder;
    static inline int next = 0;
};

std::string toml(const std::string& access_key, const std::string& secret_key)
{
    return "access_key = \"" + access_key + "\"\nsecret_key = \"" + secret_key + "\"\n";
}

// ---- all that is sent is signed ----

struct Acl : testing::TestWithParam<wire_format> {
    Acl() : cluster(guarded()), options(signed_as(cluster, app.access_key, app.secret_key)) { options.format = GetParam(); }
    cluster::embedded_cluster cluster;
    producer_options options;
};

INSTANTIATE_TEST_SUITE_P(Form, Acl, testing::Values(wire_format::json, wire_format::rocketmq),
                         [](const auto& of) { return of.param == wire_format::json ? "Json" : "Binary"; });

TEST_P(Acl, TakesMessagesOfEverySizeAndKind)
{
    options.acl.keys.security_token = "token";
    producer p = started(options);
    for (const std::size_t size : {1U, 100U, 4095U, 4096U, 100'000U}) {
        const receipt r = p.deliver(message("T", std::string(size, 'b')).set_property("umlaut", "\xC3\xA4 \"quoted\"").add_key("k"));
        EXPECT_EQ(r.outcome, outcome::stored) << size << ": " << r.error.message();
    }
    EXPECT_EQ(p.deliver(message("T", "later").set_delay(1ms)).outcome, outcome::stored);
    std::vector<message> batch;
    for (int i = 0; i < 3; ++i)
        batch.push_back(message("T", std::string(3000, 'b')));
    EXPECT_EQ(p.deliver_batch(std::move(batch)).send.outcome, outcome::stored);
    const auto t = p.send_transaction(message("T", "t"), [](const message&, const receipt&) { return transaction_end::commit; });
    EXPECT_EQ(t.half.outcome, outcome::stored);
    EXPECT_EQ(p.deliver_oneway(message("T", "o")).outcome, outcome::unknown);
    EXPECT_TRUE(cluster.wait_stored(11, patience)) << cluster.stored();
}

TEST_P(Acl, AnswersQuestionsAndHeartbeats)
{
    options.heartbeat = 50ms;
    producer p = started(options);
    ASSERT_TRUE(p.create_topic("T"));
    const receipt r = p.deliver(message("T", "x").add_key("k"));
    ASSERT_EQ(r.outcome, outcome::stored) << r.error.message();
    EXPECT_EQ(p.max_offset("T", std::string(r.broker), r.queue).value(), 1);
    EXPECT_TRUE(p.view("T", r.offset_msg_id.str()).has_value());
    EXPECT_EQ(p.query("T", "k", 10).value().size(), 1u);
    EXPECT_TRUE(cluster.wait_requests(r.broker, 34, 1, patience)) << "a heartbeat came";
}

TEST_P(Acl, AnswersRequestsAndReplies)
{
    producer server = started(options), client = started(options);
    ASSERT_TRUE(client.create_topic("Q"));
    server.answer_requests("Q", [](const stored_message& m) { return std::optional<std::string>("re: " + m.body); });
    send_options soon;
    soon.timeout = 300ms;
    reply_receipt r;
    ASSERT_TRUE(eventually([&] { return !(r = client.request(message("Q", "hello"), soon)).error; })) << r.reason;
    EXPECT_EQ(r.body, "re: hello");
}

// ---- who is refused ----

struct refused_row {
    const char* claim;
    std::string access_key, secret_key;
    acl_form form;
    int code;
    std::string text;
};

struct Refused : testing::TestWithParam<refused_row> {};

INSTANTIATE_TEST_SUITE_P(
    Acl, Refused,
    testing::Values(refused_row{"WithoutCredentials", "", "", acl_form::v2, 16, "username cannot be null."},
                    refused_row{"WithAnUnknownName", "nobody", "x", acl_form::v2, 16, "User:nobody is not found."},
                    refused_row{"WithAWrongSecret", "app", "wrong", acl_form::v2, 16, "check signature failed."},
                    refused_row{"ForAnotherTopic", "other", "otherSecret", acl_form::v2, 16,
                                "User:other has no permission to access Topic:T from 127.0.0.1, no matched policies."},
                    refused_row{"WithoutCredentialsByTheOldForm", "", "", acl_form::v1, 1, "AclException: No accessKey is configured"},
                    refused_row{"WithAWrongSecretByTheOldForm", "app", "wrong", acl_form::v1, 1, "AclException: Check signature failed for accessKey=app"}),
    [](const auto& row) { return std::string(row.param.claim); });

TEST_P(Refused, LearnsTheBrokersWordsAtOnceAndNoBrokerIsIsolated)
{
    const refused_row& row = GetParam();
    const cluster::embedded_cluster c(guarded({app, {"other", "otherSecret", {"OTHER"}}}, row.form));
    producer_options o = with_policy(row.access_key.empty() ? options_for(c) : signed_as(c, row.access_key, row.secret_key),
                                     "best-queue", "latency-fault");
    producer p = started(o);
    std::set<std::string> met;
    const auto end = clock::now() + patience;
    for (int i = 0; i < 8 || (met.size() < 2 && clock::now() < end); ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::rejected);
        EXPECT_EQ(r.error, errc::broker_error);
        ASSERT_EQ(r.attempts.size(), 1u) << "another broker would say the same";
        EXPECT_EQ(r.attempts[0].code, row.code);
        EXPECT_NE(std::string(r.attempts[0].text).find(row.text), std::string::npos) << r.attempts[0].text;
        EXPECT_EQ(std::string(r.attempts[0].text).find(row.secret_key.empty() ? "no secret" : row.secret_key), std::string::npos);
        met.emplace(r.attempts[0].broker);
    }
    EXPECT_EQ(met.size(), 2u) << "both brokers go on being asked";
    EXPECT_EQ(c.stored(), 0u);
}

// ---- where credentials come from ----

bool stored_before(producer& p, clock::time_point end)
{
    while (clock::now() < end) {
        if (p.deliver(message("T", "x")).outcome == outcome::stored)
            return true;
    }
    return false;
}

TEST(Credentials, OfAFileAreTakenOverWhenItChanges)
{
    cluster::embedded_cluster c(guarded());
    const scratch s;
    producer_options o = options_for(c);
    o.acl.file = s.put("credentials.toml", toml("app", "appSecret1"));
    producer p = started(o);
    ASSERT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);

    c.set_accounts({{"app", "appSecret2"}});
    EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::rejected) << "the old secret does not count any more";
    s.put("credentials.toml", toml("app", "appSecret2"));
    EXPECT_TRUE(stored_before(p, clock::now() + patience));

    s.put("credentials.toml", "access_key = \"app\"\n");  // no secret
    s.put("other", "x");
    EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored) << "what is wrong does not replace what is right";
}

TEST(Credentials, OfAWatchedConfigurationAreTakenOverWhenItChanges)
{
    const account next{"next", "nextSecret2"};
    const cluster::embedded_cluster c(guarded({app, next}));
    const scratch s;
    const auto put = [&](const std::string& acl) {
        return s.put("shunt.toml", "[producer]\nname_servers = [\"" + c.name_server() + "\"]\nwatch = true\n[acl]\n" + acl);
    };
    const std::string file = put(toml(app.access_key, app.secret_key));
    auto made = producer::open(file);
    ASSERT_TRUE(made) << made.error().text;
    producer p = std::move(*made);
    ASSERT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);
    const auto ends = [&](outcome o) { return eventually([&] { return p.deliver(message("T", "x")).outcome == o; }); };
    put(toml(next.access_key, app.secret_key));
    EXPECT_TRUE(ends(outcome::rejected)) << "the new name with the old secret";
    put(toml(next.access_key, next.secret_key));
    EXPECT_TRUE(ends(outcome::stored));
    put("");
    EXPECT_TRUE(ends(outcome::rejected)) << "unsigned";
    put("file = \"" + s.put("credentials.toml", toml(app.access_key, app.secret_key)) + "\"\n");
    EXPECT_TRUE(ends(outcome::stored)) << "from a file now";
    s.put("credentials.toml", toml(app.access_key, next.secret_key));
    EXPECT_TRUE(ends(outcome::rejected)) << "and that file is watched";
    EXPECT_EQ(p.swaps().size(), 1u) << "no swap: policies stay as they are";
}

TEST(Credentials, OfAFunctionAreAskedForAgain)
{
    cluster::embedded_cluster c(guarded());
    std::atomic<int> asked{0};
    producer_options o = options_for(c);
    o.acl.refresh = 10ms;
    o.acl.provider = [&asked]() -> credentials {
        const int n = ++asked;
        if (n == 2)
            throw std::runtime_error("the vault is closed");
        return {"app", n < 5 ? "appSecret1" : "appSecret2", ""};
    };
    producer p = started(o);
    ASSERT_GE(asked, 1);
    ASSERT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);
    c.set_accounts({{"app", "appSecret2"}});
    EXPECT_TRUE(stored_before(p, clock::now() + patience));
    EXPECT_GE(asked, 5);
}

TEST(Credentials, OfTheEnvironment)
{
    const cluster::embedded_cluster c(guarded());
    ::setenv("SHUNT_T1_ACCESS_KEY", "app", 1);
    ::setenv("SHUNT_T1_SECRET_KEY", "appSecret1", 1);
    producer_options o = options_for(c);
    o.acl.environment = "SHUNT_T1";
    producer p = started(o);
    EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);
    ::unsetenv("SHUNT_T1_SECRET_KEY");
    const auto without = producer::create(o);
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().text, "acl.environment is 'SHUNT_T1'; it must be such that the variable SHUNT_T1_SECRET_KEY is set");
}

std::string refusal(const acl_options& acl)
{
    producer_options o;
    o.embedded = true;
    o.acl = acl;
    const auto made = producer::create(std::move(o));
    return made ? "" : made.error().text;
}

TEST(Credentials, ThatCannotBeHadAreRefusedAtTheStartAndNotShown)
{
    const scratch s;
    acl_options keys, file, both, function, silent;
    keys.keys = {"app", "secret with blanks", ""};
    EXPECT_EQ(refusal(keys), "acl.secret_key is a text of 18 bytes; it must be at most 1024 printable ASCII characters without blanks, in quotes");
    keys.keys = {"app", "", ""};
    EXPECT_EQ(refusal(keys), "acl.secret_key is not set; it must be the secret that goes with the access key");
    keys.keys = {"", "hidden", ""};
    EXPECT_EQ(refusal(keys), "acl.access_key is not set; it must be the access key that goes with the secret");
    file.file = (s.folder / "none.toml").string();
    EXPECT_EQ(refusal(file), file.file + ": cannot be read: No such file or directory; expected a file that can be read");
    file.file = s.put("bad.toml", "access_key = \"app\"\nsecret_key = hunter2 # unquoted\n");
    EXPECT_EQ(refusal(file), file.file + ":2:14: a value that is not shown; expected a value (text stands in quotes, one key a line)");
    file.file = s.put("more.toml", toml("app", "hidden") + "secret_kye = \"hunter2\"\n");
    EXPECT_EQ(refusal(file), file.file + ":3:1: secret_kye is an unknown key; it must be a key or table of the file (did you mean 'secret_key'?)");
    both.keys = {"app", "hidden", ""};
    both.environment = "X";
    EXPECT_EQ(refusal(both), "acl.environment is 'X'; it must be left out: acl.access_key is set");
    function.provider = []() -> credentials { throw std::runtime_error("the vault is closed"); };
    EXPECT_EQ(refusal(function), "acl.provider is a function that threw 'the vault is closed'; it must be one that answers");
    silent.provider = [] { return credentials{}; };
    EXPECT_NE(refusal(silent).find("acl.provider: access_key is not set"), std::string::npos) << refusal(silent);
}

}  // namespace
}  // namespace shunt::test
