// What the admin endpoint of a producer shows agrees with what the producer did, and its verbs do what they say.

#include "http.hpp"

#include <observe/metrics.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace shunt::test {
namespace {

namespace js = boost::json;

struct situation {
    own_folder folder;
    cluster::embedded_cluster cluster;
    situation() { topic(cluster, "T"); }
    [[nodiscard]] std::string at() const { return "unix:" + folder.file("s"); }
    [[nodiscard]] producer_options options(const std::string& selector = "best-queue", const std::string& fault = "none") const
    {
        producer_options o = with_policy(options_for(cluster), selector, fault);
        o.admin.listen = at();
        o.swap.probation = 0ms;
        o.swap.preflight = preflight_rule::off;
        return o;
    }
    /// The same as a file.
    [[nodiscard]] std::string toml(const std::string& selector, const std::string& more = {}) const
    {
        return "[producer]\ngroup = \"tests\"\nname_servers = [\"" + cluster.name_server() + "\"]\n[admin]\nlisten = \"" + at() +
               "\"\n[swap]\nprobation = \"0ms\"\npreflight = \"off\"\n[policies.default]\nselector = { use = \"" + selector +
               "\" }\nfault = { use = \"none\" }\n" + more;
    }
};

/// "name{labels}" -> value
std::map<std::string, double> series(const std::string& text)
{
    std::map<std::string, double> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '#')
            continue;
        const std::size_t end = line.rfind(' ');
        all[line.substr(0, end)] = std::strtod(line.c_str() + end, nullptr);
    }
    return all;
}

double sum(const std::map<std::string, double>& all, const std::string& prefix)
{
    double s = 0;
    for (const auto& [name, value] : all)
        s += name.starts_with(prefix) ? value : 0;
    return s;
}

const js::value& row(const js::value& list, std::string_view member, std::string_view value)
{
    for (const js::value& r : list.as_array())
        if (r.at(member).as_string() == value)
            return r;
    throw std::runtime_error("no row whose " + std::string(member) + " is " + std::string(value) + " in " + js::serialize(list));
}

TEST(AdminDesk, CountsWhatWasSent)
{
    situation s;
    auto p = started(s.options());
    EXPECT_EQ(p.admin_address(), s.at());
    std::map<std::string, double> sent;
    for (int i = 0; i < 120; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        sent["shunt_decisions_total{topic=\"T\",broker=\"" + std::string(r.broker) + "\",queue=\"" + std::to_string(r.queue) + "\"}"] += 1;
    }
    const http_answer scraped = get(s.at(), "/metrics");
    EXPECT_EQ(scraped.status, 200);
    EXPECT_NE(scraped.head.find("text/plain; version=0.0.4"), std::string::npos) << scraped.head;
    const auto all = series(scraped.body);
    for (const auto& [name, n] : sent)
        EXPECT_EQ(all.at(name), n) << name;
    EXPECT_EQ(all.at("shunt_sends_started_total"), 120);
    EXPECT_EQ(all.at("shunt_sends_total{outcome=\"stored\"}"), 120);
    EXPECT_EQ(sum(all, "shunt_sends_total"), 120);
    EXPECT_EQ(all.at("shunt_send_duration_seconds_count"), 120);
    EXPECT_EQ(all.at("shunt_attempts_total{broker=\"broker-a\",outcome=\"stored\"}"), 40);
    EXPECT_EQ(all.at("shunt_attempt_duration_seconds_count{broker=\"broker-a\"}"), 40);
    EXPECT_EQ(all.at("shunt_attempt_duration_seconds_bucket{broker=\"broker-a\",le=\"+Inf\"}"), 40);
    EXPECT_EQ(all.at("shunt_decision_reasons_total{policy=\"default\",why=\"rotation\"}"), 120);
    EXPECT_EQ(all.at("shunt_broker_available{policy=\"default\",broker=\"broker-b\"}"), 1);
    EXPECT_EQ(all.at("shunt_policy_generation"), 1);
    EXPECT_EQ(all.at("shunt_in_flight_messages_limit"), 65536);
    EXPECT_EQ(all.at("shunt_plugin_errors_total{policy=\"default\"}"), 0);
    EXPECT_GT(all.at("shunt_plugin_call_seconds_count{policy=\"default\",call=\"evaluate\"}"), 0);
    EXPECT_EQ(all.at("shunt_connections"), 4) << "three brokers and a name server";

    const js::value routes = get(s.at(), "/routes").json();
    const js::value& t = row(routes.at("topics"), "topic", "T");
    EXPECT_EQ(t.at("queues").as_array().size(), 12u);
    double decided = 0;
    for (const js::value& q : t.at("queues").as_array())
        decided += q.at("decisions").to_number<double>();
    EXPECT_EQ(decided, 120);
    const js::value& b = row(routes.at("brokers"), "name", "broker-a");
    EXPECT_EQ(b.at("attempts").at("stored").to_number<int>(), 40);
    EXPECT_GT(b.at("latency_us").to_number<int>(), 0);
    EXPECT_GT(b.at("p99_us").to_number<int>(), 0);
    EXPECT_TRUE(b.at("last_failure").is_null());

    const js::value decisions = get(s.at(), "/decisions?limit=3").json();
    ASSERT_LE(decisions.at("decisions").as_array().size(), 3u);
    const js::value& last = decisions.at("decisions").at(0);
    EXPECT_EQ(last.at("topic").as_string(), "T");
    EXPECT_EQ(last.at("why").as_string(), "rotation");
    EXPECT_EQ(last.at("outcome").as_string(), "stored");
    EXPECT_EQ(decisions.at("seen").to_number<int>(), 120);
    EXPECT_EQ(get(s.at(), "/decisions?limit=many").status, 400);
}

TEST(AdminDesk, TellsWhichBrokerIsIsolatedAndWhy)
{
    situation s;
    auto p = started(s.options("best-queue", "latency-fault"));
    command(s.cluster, "broker-b code 2");
    for (int i = 0; i < 12; ++i)
        EXPECT_EQ(p.deliver(message("T", "x")).outcome, outcome::stored);
    const js::value b = row(get(s.at(), "/routes").json().at("brokers"), "name", "broker-b");
    EXPECT_EQ(b.at("verdicts").at(0).at("fault").as_string(), "latency-fault");
    EXPECT_FALSE(b.at("verdicts").at(0).at("available").as_bool()) << js::serialize(b);
    EXPECT_GE(b.at("verdicts").at(0).at("isolations").to_number<int>(), 1);
    EXPECT_EQ(b.at("last_failure").at("code").to_number<int>(), 2);
    const auto all = series(get(s.at(), "/metrics").body);
    EXPECT_EQ(all.at("shunt_broker_available{policy=\"default\",broker=\"broker-b\"}"), 0);
    EXPECT_EQ(all.at("shunt_broker_available{policy=\"default\",broker=\"broker-a\"}"), 1);
    EXPECT_GE(all.at("shunt_broker_isolations_total{policy=\"default\",broker=\"broker-b\"}"), 1);
    bool seen = false;
    const js::value decisions = get(s.at(), "/decisions").json();
    for (const js::value& d : decisions.at("decisions").as_array())
        seen = seen || (d.at("broker").as_string() == "broker-b" && d.at("code").to_number<int>() == 2);
    EXPECT_TRUE(seen) << "what failed is in the sample";
}

TEST(AdminDesk, ChangesTheLivePolicyAndTakesItBack)
{
    situation s;
    auto p = started(s.options());
    const auto why = [&] { return std::string(p.deliver(message("T", "x").set_order_key("k")).attempts.at(0).why); };
    EXPECT_EQ(why(), "rotation");
    const http_answer staged = post(s.at(), "/policies/stage?who=me&what=a+test", s.toml("hash"));
    EXPECT_EQ(staged.status, 200) << staged.body;
    const js::value swap = staged.json();
    EXPECT_EQ(swap.at("state").as_string(), "in_force");
    EXPECT_EQ(swap.at("who").as_string(), "me");
    EXPECT_EQ(swap.at("what").as_string(), "a test");
    EXPECT_EQ(swap.at("changes").at(0).at("key").as_string(), "policies.default.selector.use");
    EXPECT_EQ(why(), "key");
    const js::value policies = get(s.at(), "/policies").json();
    EXPECT_EQ(policies.at("generation").to_number<int>(), 2);
    EXPECT_EQ(policies.at("in_force").to_number<int>(), 1);
    EXPECT_EQ(policies.at("previous").to_number<int>(), 0);
    EXPECT_TRUE(policies.at("candidate").is_null());
    EXPECT_EQ(policies.at("policies").at(0).at("selector").as_string(), "hash");
    const http_answer back = post(s.at(), "/policies/rollback?reason=no");
    EXPECT_EQ(back.status, 200) << back.body;
    EXPECT_EQ(back.json().at("id").to_number<int>(), 1);
    EXPECT_EQ(back.json().at("reason").as_string(), "no");
    EXPECT_EQ(why(), "rotation");
    const http_answer again = post(s.at(), "/policies/rollback?reason=no");
    EXPECT_EQ(again.status, 409);
    EXPECT_EQ(again.json().at("error").as_string(), "swap 1 was taken back already; to put it in force again, promote it by its number");
    EXPECT_EQ(post(s.at(), "/policies/0/rollback").status, 409);
    EXPECT_EQ(js::serialize(get(s.at(), "/policies").json().at("swaps").at(0).at("can")), "[]");
    EXPECT_EQ(js::serialize(get(s.at(), "/policies").json().at("swaps").at(1).at("can")), R"(["promote"])");
    EXPECT_EQ(why(), "rotation");
    EXPECT_EQ(post(s.at(), "/policies/1/promote").json().at("state").as_string(), "in_force");
    EXPECT_EQ(why(), "key");
}

TEST(AdminDesk, LeadsACandidateUpTheLadder)
{
    situation s;
    auto p = started(s.options());
    std::atomic<bool> over{false};
    std::thread traffic([&] {
        while (!over)
            (void)p.deliver(message("T", "x").set_order_key("k" + std::to_string(p.counters().sends % 100)));
    });
    const js::value held = post(s.at(), "/policies/stage?hold=true", s.toml("hash")).json();
    EXPECT_EQ(held.at("state").as_string(), "created");
    EXPECT_EQ(js::serialize(held.at("can")), R"(["shadow","canary","promote","rollback"])");
    EXPECT_EQ(get(s.at(), "/policies").json().at("candidate").to_number<int>(), 1);
    EXPECT_EQ(post(s.at(), "/policies/shadow?share=1").json().at("state").as_string(), "shadow");
    EXPECT_TRUE(eventually([&] {
        const js::value now = get(s.at(), "/policies/1").json();
        return now.at("shadow").is_object() && now.at("shadow").at("keyed_differ").to_number<int>() > 0;
    }));
    EXPECT_EQ(post(s.at(), "/policies/1/canary?share=0.5").json().at("state").as_string(), "canary");
    EXPECT_TRUE(eventually([&] {
        const js::value now = get(s.at(), "/policies/1").json();
        return now.at("before").is_object() && now.at("after").is_object() && now.at("after").at("stored").to_number<int>() > 10;
    }));
    EXPECT_EQ(series(get(s.at(), "/metrics").body).at("shunt_swap_candidate{state=\"canary\"}"), 1);
    EXPECT_EQ(post(s.at(), "/policies/promote").json().at("state").as_string(), "in_force");
    EXPECT_EQ(post(s.at(), "/policies/barrier").status, 200);
    over = true;
    traffic.join();
    EXPECT_EQ(p.deliver(message("T", "x").set_order_key("k")).attempts.at(0).why, "key");
}

TEST(AdminDesk, RefusesWhatIsWrongAndChangesNothing)
{
    situation s;
    auto p = started(s.options());
    const http_answer broken = post(s.at(), "/policies/stage", s.toml("hush"));
    EXPECT_EQ(broken.status, 422);
    EXPECT_EQ(broken.json().at("state").as_string(), "refused");
    EXPECT_NE(broken.json().at("reason").as_string().find("'hush'"), js::string::npos) << broken.body;
    EXPECT_EQ(post(s.at(), "/policies/stage", "[producer\n").status, 422);
    EXPECT_EQ(post(s.at(), "/policies/stage", std::string(1, '\xff')).status, 422);
    EXPECT_EQ(post(s.at(), "/policies/stage", s.toml("hash", "[log]\nlevel = \"error\"\n")).json().at("reason").as_string(),
              "log.level needs a restart of the program; nothing was changed");
    EXPECT_EQ(post(s.at(), "/policies/stage").status, 400) << "it was made without a file";
    for (const std::string wrong : {"shadow=2", "canary=x", "hold=perhaps", "now=", "speed=9", "file=a.toml"})
        EXPECT_EQ(post(s.at(), "/policies/stage?" + wrong, s.toml("hash")).status, 400) << wrong;
    EXPECT_EQ(post(s.at(), "/policies/promote").status, 409);
    EXPECT_EQ(post(s.at(), "/policies/rollback").status, 409);
    EXPECT_EQ(post(s.at(), "/policies/canary?share=0").status, 400);
    EXPECT_EQ(post(s.at(), "/policies/17/promote").json().at("error").as_string(), "there is no swap 17");
    EXPECT_EQ(post(s.at(), "/policies/dance").status, 404);
    EXPECT_EQ(post(s.at(), "/policies/x/promote").status, 404);
    EXPECT_EQ(post(s.at(), "/metrics").status, 404);
    EXPECT_EQ(get(s.at(), "/nothing").status, 404);
    EXPECT_EQ(get(s.at(), "/policies/17").status, 404);
    EXPECT_EQ(p.generation(), 1u);
    EXPECT_EQ(p.deliver(message("T", "x")).generation, 1u);
}

TEST(AdminDesk, TellsWhatWouldChange)
{
    situation s;
    producer_options o = s.options();
    o.admin.verbs = false;
    auto p = started(o);
    const js::value d = post(s.at(), "/policies/diff", s.toml("hash", "[log]\nlevel = \"error\"\n")).json();
    EXPECT_FALSE(d.at("ok").as_bool());
    EXPECT_FALSE(row(d.at("changes"), "key", "log.level").at("live").as_bool());
    EXPECT_EQ(row(d.at("changes"), "key", "policies.default.selector.use").at("to").as_string(), "\"hash\"");
    EXPECT_EQ(post(s.at(), "/policies/diff", "[producer]\n").json().at("ok").as_bool(), false);
    const http_answer forbidden = post(s.at(), "/policies/stage", s.toml("hash"));
    EXPECT_EQ(forbidden.status, 403);
    EXPECT_EQ(p.generation(), 1u);
    EXPECT_TRUE(p.swaps().size() == 1);
}

TEST(AdminDesk, NeverShowsASecret)
{
    situation s;
    producer_options o = s.options();
    const std::string secret = "hunter2hunter2hunter2";
    o.admin.token = secret;
    auto p = started(o);
    const std::string bearer = "Authorization: Bearer " + secret + "\r\n";
    EXPECT_EQ(get(s.at(), "/config").status, 401);
    EXPECT_EQ(ask(s.at(), "POST", "/policies/stage", s.toml("hash")).status, 401);
    const http_answer config = ask(s.at(), "GET", "/config", {}, bearer);
    EXPECT_EQ(row(config.json().at("values"), "key", "admin.token").at("value").as_string(), "\"(hidden)\"");
    EXPECT_EQ(row(config.json().at("values"), "key", "producer.group").at("value").as_string(), "\"tests\"");
    std::string other = s.toml("hash");
    other.insert(other.find("[swap]"), "token = \"another-secret-another\"\n");
    const http_answer staged = ask(s.at(), "POST", "/policies/stage", other, bearer);
    EXPECT_EQ(staged.json().at("reason").as_string(), "admin.token needs a restart of the program; nothing was changed");
    std::string all;
    for (const char* path : {"/config", "/policies", "/about", "/routes", "/plugins", "/metrics", "/decisions"})
        all += ask(s.at(), "GET", path, {}, bearer).body;
    all += staged.body;
    EXPECT_EQ(all.find(secret), std::string::npos);
    EXPECT_EQ(all.find("another-secret"), std::string::npos);
}

TEST(AdminDesk, NamesThePluginsInUse)
{
    situation s;
    auto p = started(s.options());
    const js::value plugins = get(s.at(), "/plugins").json();
    const js::value& best = row(plugins.at("strategies"), "name", "best-queue");
    EXPECT_EQ(best.at("kind").as_string(), "selector");
    EXPECT_EQ(best.at("origin").as_string(), "bundled");
    EXPECT_EQ(best.at("sha256").as_string().size(), 64u);
    EXPECT_EQ(js::serialize(best.at("used_by")), R"(["default"])");
    EXPECT_TRUE(best.at("in_force").as_bool());
    EXPECT_GT(plugins.at("images").to_number<int>(), 0);
    const js::value about = get(s.at(), "/about").json();
    EXPECT_EQ(about.at("group").as_string(), "tests");
    EXPECT_EQ(about.at("pid").to_number<int>(), ::getpid());
}

TEST(AdminDesk, IsHealthyWhileItsIoSideAnswersAndReadyWhileRoutesAreThere)
{
    situation s;
    {
        auto p = started(s.options());
        ASSERT_TRUE(p.send(message("T", "x")));
        EXPECT_EQ(get(s.at(), "/healthz").status, 200);
        EXPECT_EQ(get(s.at(), "/readyz").json().at("ok").as_bool(), true);
    }
    EXPECT_FALSE(raw_http(s.at()).connected()) << "it closed";
    boost::asio::io_context nobody;
    auto p = started(s.options(), nobody.get_executor());
    const http_answer stuck = get(s.at(), "/healthz");
    EXPECT_EQ(stuck.status, 503);
    EXPECT_EQ(stuck.json().at("problems").at(0).as_string(), "the I/O side did not answer in 1 s");
    EXPECT_EQ(get(s.at(), "/metrics").status, 200) << "it is there all the same";
    nobody.run_for(100ms);
    std::thread runs([&] { nobody.run(); });
    EXPECT_EQ(get(s.at(), "/healthz").status, 200);
    EXPECT_TRUE(p.close(5s));
    nobody.stop();
    runs.join();
}

TEST(AdminDesk, IsRefusedWhereAnotherProducerIsAskedAlready)
{
    situation s;
    auto p = started(s.options());
    const auto second = producer::create(s.options());
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().text.find("a running process answers there"), std::string::npos) << second.error().text;
    EXPECT_EQ(get(s.at(), "/healthz").status, 200);
    EXPECT_TRUE(p.close(5s));
    EXPECT_FALSE(raw_http(s.at()).connected());
    auto third = started(s.options());
    EXPECT_EQ(get(s.at(), "/healthz").status, 200);
}

TEST(AdminDesk, RemembersTheLastMinutes)
{
    situation s;
    auto p = started(s.options());
    for (int i = 0; i < 24; ++i)
        ASSERT_TRUE(p.send(message("T", "x")));
    const auto counted = [&] {
        const js::value h = get(s.at(), "/history").json();
        std::uint64_t n = 0;
        for (const js::value& q : h.at("queues").as_array())
            for (const js::value& step : q.at("decisions").as_array())
                n += step.to_number<std::uint64_t>();
        return n;
    };
    EXPECT_TRUE(eventually([&] { return counted() == 24; })) << counted();  // a step is 5 s
    const js::value h = get(s.at(), "/history").json();
    EXPECT_EQ(h.at("brokers").as_array().size(), 3u);
    EXPECT_EQ(h.at("generation").as_array().size(), h.at("at_ms").as_array().size());
}

/// A scrape of a thousand queues, while sends go on, is cheap for both.
TEST(AdminDesk, TellsAThousandQueuesInAMoment)
{
    situation s;
    topic(s.cluster, "W", 400);
    auto p = started(s.options("round-robin"));
    ASSERT_TRUE(p.send(message("W", "x")));  // from here on this thread's rotation decides
    collector all;
    for (int i = 0; i < 1200; ++i)
        p.async_send(message("W", "x"), all.handler(i));
    ASSERT_TRUE(all.wait(1200));
    std::atomic<bool> over{false};
    std::thread traffic([&] {
        while (!over)
            (void)p.deliver(message("W", "x"));
    });
    clock::duration best = 1h;
    std::size_t queues = 0;
    for (int i = 0; i < 10; ++i) {
        const auto begin = clock::now();
        const http_answer scraped = get(s.at(), "/metrics");
        best = std::min(best, clock::now() - begin);
        queues = 0;
        for (const auto& [name, value] : series(scraped.body))
            queues += name.starts_with("shunt_decisions_total{topic=\"W\"") ? 1 : 0;
    }
    over = true;
    traffic.join();
    EXPECT_EQ(queues, 1200u);
    EXPECT_LT(best, slow_build ? 200ms : 20ms);
    RecordProperty("best_us", static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(best).count()));
}

/// Whoever asks all the time, and badly, holds up no send.
TEST(AdminDesk, HoldsUpNoSend)
{
    situation s;
    auto p = started(s.options());
    ASSERT_TRUE(p.send(message("T", "x")));
    std::atomic<bool> over{false};
    std::vector<std::thread> crowd;
    for (const std::string path : {"/metrics", "/routes", "/policies", "/plugins", "/decisions?limit=1024", "/config", "/healthz", "/nothing"})
        crowd.emplace_back([&, path] {
            while (!over)
                (void)get(s.at(), path);
        });
    std::vector<std::unique_ptr<raw_http>> slow;
    for (int i = 0; i < 100; ++i) {
        slow.push_back(std::make_unique<raw_http>(s.at()));
        slow.back()->write("GET /metrics HTTP/1.1\r\nX: ");
    }
    std::vector<receipt> receipts;
    for (int i = 0; i < 2000; ++i)
        receipts.push_back(p.deliver(message("T", "x")));
    over = true;
    for (std::thread& t : crowd)
        t.join();
    for (const receipt& r : receipts)
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
    expect_agreement(s.cluster, receipts);
    expect_quiet(p);
}

}  // namespace
}  // namespace shunt::test
