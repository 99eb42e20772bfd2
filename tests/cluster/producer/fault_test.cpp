// Every fault a broker can have, under every mode of sending: each send completes once, in time, and what it says agrees
// with what is stored.

#include <support/producer_situation.hpp>

#include <atomic>
#include <set>
#include <thread>

namespace shunt::test {
namespace {

struct fault_row {
    const char* claim;
    const char* command;      // on broker-b
    bool all_end_stored;      // with two well brokers and three attempts
};

void PrintTo(const fault_row& r, std::ostream* out) { *out << r.command; }

class Fault : public testing::TestWithParam<fault_row> {};

TEST_P(Fault, OfOneBrokerCostsNoMessageAndTellsNoLie)
{
    const fault_row& row = GetParam();
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");  // no isolation: the fault is met again and again
    o.send_timeout = 450ms;
    o.retry_backoff = 1ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, std::string("broker-b ") + row.command);

    collector sent;
    std::vector<receipt> sync(24);
    const int n = 60;
    std::thread other([&] {
        for (receipt& r : sync) {
            const auto begin = clock::now();
            r = p.deliver(message("T", "sync"));
            EXPECT_LT(clock::now() - begin, 450ms + grace()) << shown(r);
            if (std::string_view(row.command).starts_with("hang") && &r - sync.data() > 5)
                break;  // each third of them costs 150 ms
        }
    });
    std::atomic<int> slow{0};
    for (int i = 0; i < n; ++i) {
        const auto begin = clock::now();
        p.async_send(message("T", "async"), [&, begin, handler = sent.handler(i)](const error_code& ec, receipt r) {
            if (clock::now() - begin > 450ms + grace())
                ++slow;
            handler(ec, std::move(r));
        });
    }
    other.join();
    ASSERT_TRUE(sent.wait(n)) << sent.size() << " of " << n;
    EXPECT_EQ(slow, 0);
    std::erase_if(sync, [](const receipt& r) { return r.msg_id.empty(); });
    for (const auto& [i, r] : sent.receipts())
        sync.push_back(r);
    EXPECT_TRUE(p.close(5s));
    expect_quiet(p);
    expect_agreement(cluster, sync);
    for (const receipt& r : sync) {
        if (row.all_end_stored) {
            EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        }
        std::set<std::string_view> brokers;
        for (const attempt& a : r.attempts)
            EXPECT_TRUE(brokers.insert(a.broker).second) << "a retry on a broker already tried: " << shown(r);
    }
}

INSTANTIATE_TEST_SUITE_P(Producer, Fault, testing::Values(
    fault_row{"Slow", "latency 100ms", true},
    fault_row{"SlowerThanTheShare", "latency 400ms", true},
    fault_row{"Code1", "code 1", true},
    fault_row{"Code2", "code 2 [TIMEOUT_CLEAN_QUEUE]broker busy", true},
    fault_row{"Code10", "code 10", true},
    fault_row{"Code11", "code 11", true},
    fault_row{"Code12", "code 12", true},
    fault_row{"Code13", "code 13", false},
    fault_row{"Code14", "code 14", true},
    fault_row{"Code16", "code 16", true},
    fault_row{"Code17", "code 17", true},
    fault_row{"Code29", "code 29 The specified topic is blank.", false},
    fault_row{"Code204", "code 204", true},
    fault_row{"Code205", "code 205", true},
    fault_row{"Code501", "code 501", true},
    fault_row{"Code1500", "code 1500", true},
    fault_row{"Code32767", "code 32767", false},
    fault_row{"Refuse", "refuse", true},
    fault_row{"Hang", "hang", true},
    fault_row{"HangStored", "hang stored", true},
    fault_row{"Drop", "drop", true},
    fault_row{"DropStored", "drop stored", true},
    fault_row{"Half", "half", true},
    fault_row{"Close", "close", true},
    fault_row{"Garbage", "garbage", true},
    fault_row{"Twice", "twice", true},
    fault_row{"Gone", "gone", true},
    fault_row{"Move", "move 0", true},
    fault_row{"ReadOnly", "perm 4 T", true},
    fault_row{"NoPermission", "perm 0", true},
    fault_row{"FewerQueues", "queues 1 T", true},
    fault_row{"NoQueues", "queues 0 T", true}),
    [](const auto& row) { return std::string(row.param.claim); });

// What a send ends as when every broker does the same.
struct all_row {
    const char* claim;
    const char* command;
    outcome how;
    errc why;
};

void PrintTo(const all_row& r, std::ostream* out) { *out << r.command; }

class AllBrokers : public testing::TestWithParam<all_row> {};

TEST_P(AllBrokers, WithOneFaultEndASendAsItDeserves)
{
    const all_row& row = GetParam();
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.send_timeout = 600ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " " + row.command);
    if (row.command == std::string_view("refuse")) {  // a send written before the close was noticed may have arrived
        ASSERT_TRUE(eventually([&] { return p.counters().connects - p.counters().connections_lost == 1; }));  // the name server's
    }
    std::vector<receipt> all;
    for (int i = 0; i < 3; ++i) {
        const auto begin = clock::now();
        all.push_back(p.deliver(message("T", "x")));
        EXPECT_LT(clock::now() - begin, 600ms + grace());
        const receipt& r = all.back();
        EXPECT_EQ(r.outcome, row.how) << shown(r);
        if (row.how != outcome::stored) {
            EXPECT_TRUE(r.error == make_send_error(row.why, row.how)) << shown(r);
            EXPECT_TRUE(r.error == row.how);
        }
    }
    EXPECT_TRUE(p.close(5s));
    expect_agreement(cluster, all);
    expect_quiet(p);
}

INSTANTIATE_TEST_SUITE_P(Producer, AllBrokers, testing::Values(
    all_row{"Busy", "code 2", outcome::rejected, errc::broker_error},
    all_row{"Illegal", "code 13", outcome::rejected, errc::broker_error},
    all_row{"NoPermission", "code 16", outcome::rejected, errc::broker_error},
    all_row{"FlushLate", "code 10", outcome::stored, errc::broker_error},
    all_row{"Refuse", "refuse", outcome::not_sent, errc::connect_failed},
    all_row{"Hang", "hang", outcome::unknown, errc::response_timeout},
    all_row{"Drop", "drop", outcome::unknown, errc::connection_lost},
    all_row{"DropStored", "drop stored", outcome::unknown, errc::connection_lost},
    all_row{"Garbage", "garbage", outcome::unknown, errc::bad_response}),
    [](const auto& row) { return std::string(row.param.claim); });

TEST(FlushLate, IsStoredWithItsStatusAndNotRetried)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    const std::pair<const char*, store_status> rows[] = {{"10", store_status::flush_disk_timeout},
                                                         {"11", store_status::slave_not_available},
                                                         {"12", store_status::flush_slave_timeout}};
    for (const auto& [code, status] : rows) {
        for (const std::string& b : cluster.broker_names())
            command(cluster, b + " code " + code);
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.status, status);
        EXPECT_EQ(r.attempts.size(), 1u);
        EXPECT_GE(r.offset, 0);
    }
}

TEST(Retry, AfterUnknownIsLeftOutWhereItIsNotWanted)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.retry_unknown = false;
    auto p = started(o);
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " drop stored");
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::unknown) << shown(r);
    EXPECT_EQ(r.attempts.size(), 1u);
    EXPECT_EQ(cluster.snapshot("T").size(), 1u);
}

TEST(Retry, GoesByTheCodesOfTheList)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.retry_codes = {13};
    auto p = started(o);
    for (const auto& [code, attempts] : {std::pair{"13", 3u}, std::pair{"2", 1u}}) {
        for (const std::string& b : cluster.broker_names())
            command(cluster, b + " code " + code);
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::rejected) << shown(r);
        EXPECT_EQ(r.attempts.size(), attempts);
    }
}

TEST(Retry, AfterALateFlushTellsOfTheCopyThatLies)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.retry_flush_late = true;
    auto p = started(o);
    command(cluster, "broker-a code 10");
    command(cluster, "broker-b code 10");
    const receipt good = p.deliver(message("T", "x"));
    EXPECT_EQ(good.outcome, outcome::stored) << shown(good);
    EXPECT_EQ(good.status, store_status::ok);
    EXPECT_EQ(good.broker, "broker-c");
    EXPECT_EQ(cluster.snapshot("T").size(), good.attempts.size());

    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " code 2");
    command(cluster, "broker-a code 10");
    receipt r;
    do
        r = p.deliver(message("T", "y"));
    while (r.outcome == outcome::rejected && r.attempts.size() < 3);  // until broker-a is met
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_FALSE(r.error);
    EXPECT_EQ(r.broker, "broker-a");
    EXPECT_EQ(r.status, store_status::flush_disk_timeout);
}

TEST(Retry, ComesAfterAnAttemptsOwnLimit)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue");
    o.send_timeout = 60s;
    o.attempt_timeout = 100ms;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    command(cluster, "broker-a hang");
    command(cluster, "broker-b hang");
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_LT(clock::now() - begin, 200ms + grace());
}

// What is reported, what was chosen and what is on the wire are one.
TEST(Receipts, AgreeWithTheWireInEveryAttempt)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    command(cluster, "broker-b code 1");
    std::map<std::pair<std::string, int>, int> stored_at;
    for (int i = 0; i < 240; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
        const attempt& last = r.attempts.back();
        EXPECT_EQ(last.broker, r.broker);
        EXPECT_EQ(last.queue, r.queue);
        EXPECT_EQ(r.policy, "default");
        EXPECT_EQ(r.generation, 1u);
        EXPECT_FALSE(last.why.empty());
        EXPECT_GE(r.latency, last.latency);
        ++stored_at[{std::string(r.broker), r.queue}];
    }
    for (const auto& [queue, n] : cluster.stored_by_queue("T"))
        EXPECT_EQ(static_cast<std::uint64_t>(stored_at[{queue.first, queue.second}]), n);
    const counters c = p.counters();
    EXPECT_EQ(c.decisions, c.attempts) << "the selector is asked once an attempt";
    std::uint64_t sends = 0;
    for (const std::string& b : cluster.broker_names())
        sends += cluster.counts(b).sends;
    EXPECT_EQ(c.attempts, sends);
}

TEST(Receipts, SpreadWithoutFailuresToATwelfthEach)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    topic(cluster, "U");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    for (int i = 0; i < 240; ++i) {
        ASSERT_TRUE(p.send(message("T", "x")));
        ASSERT_TRUE(p.send(message("U", "x")));  // a cursor a topic
    }
    for (const char* t : {"T", "U"}) {
        const auto by_queue = cluster.stored_by_queue(t);
        EXPECT_EQ(by_queue.size(), 12u);
        for (const auto& [queue, n] : by_queue)
            EXPECT_EQ(n, 20u) << t << " " << queue.first << "/" << queue.second;
    }
}

// The retry kept the queue number of the first broker, which the second does not have.
TEST(Retry, TakesAQueueThatTheNextBrokerHas)
{
    cluster::embedded_cluster cluster({.brokers = 2});
    topic(cluster, "T", 16);
    command(cluster, "broker-b queues 4 T");
    command(cluster, "broker-a code 1");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    collector sent;
    for (int i = 0; i < 64; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(64));
    int retried = 0;
    for (const auto& [i, r] : sent.receipts()) {
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.broker, "broker-b");
        EXPECT_LT(r.queue, 4);
        retried += r.attempts.size() == 2 ? 1 : 0;
    }
    EXPECT_GT(retried, 30);
}

TEST(Retry, EndsOnTheThirdBrokerFromWhereverItBegins)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T", 8);
    command(cluster, "broker-a refuse");
    command(cluster, "broker-b refuse");
    auto p = started(with_policy(options_for(cluster), "best-queue"));
    for (int i = 0; i < 48; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.broker, "broker-c");
        EXPECT_LE(r.attempts.size(), 3u);
    }
}

TEST(Retry, NeverGoesToTheSameBrokerWhateverTheSelector)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    for (const char* selector : {"best-queue", "random", "round-robin", "weighted-random", "least-inflight", "power-of-two", "hash",
                                 "consistent-hash", "weighted-round-robin"}) {
        command(cluster, "broker-b code 1");
        auto p = started(with_policy(options_for(cluster), selector));
        collector sent;
        for (int i = 0; i < 150; ++i)
            p.async_send(message("T", "x").set_order_key("k" + std::to_string(i)), sent.handler(i));
        ASSERT_TRUE(sent.wait(150));
        for (const auto& [i, r] : sent.receipts()) {
            EXPECT_EQ(r.outcome, outcome::stored) << selector << shown(r);
            EXPECT_LE(r.attempts.size(), 2u) << selector << shown(r);
        }
    }
}

TEST(MessagesFault, IsolatesNoBroker)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto p = started(with_policy(options_for(cluster), "best-queue", "latency-fault"));
    for (const char* what : {"code 13 the message is illegal", "code 16 check signature failed.",
                             "code 1 java.lang.NullPointerException: x", "code 29 The specified topic is blank."}) {
        for (const std::string& b : cluster.broker_names())
            command(cluster, b + " " + what);
        for (int i = 0; i < 6; ++i) {
            const receipt r = p.deliver(message("T", "x"));
            EXPECT_EQ(r.outcome, outcome::rejected);
            EXPECT_EQ(r.attempts.size(), 1u) << "trying elsewhere is pointless: " << shown(r);
        }
    }
    for (const std::string& b : cluster.broker_names())
        command(cluster, b + " ok");
    std::set<std::string> used;
    for (int i = 0; i < 12; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        used.insert(std::string(r.broker));
        EXPECT_EQ(r.attempts.at(0).why, "rotation") << "nobody is isolated: " << shown(r);
    }
    EXPECT_EQ(used.size(), 3u);
}

TEST(Storm, OfFaultsThatComeAndGoKeepsTheAccountsRight)
{
    cluster::embedded_cluster cluster;
    topic(cluster, "T");
    auto o = with_policy(options_for(cluster), "best-queue", "latency-fault");
    o.send_timeout = 300ms;
    o.max_in_flight_messages = 64;
    auto p = started(o);
    collector sent;
    std::atomic<bool> over{false};
    std::vector<std::vector<receipt>> sync(3);
    std::vector<std::thread> threads;
    for (auto& mine : sync)
        threads.emplace_back([&] {
            while (!over)
                mine.push_back(p.deliver(message("T", "sync")));
        });
    const char* faults[] = {"hang", "drop", "code 2", "half", "close", "garbage", "twice", "refuse", "hang stored", "latency 50ms", "gone", "move 0"};
    int n = 0;
    const int rounds = slow_build ? 12 : 24;
    for (int round = 0; round < rounds; ++round) {
        const std::string broker = cluster.broker_names()[static_cast<std::size_t>(round) % 3];
        command(cluster, broker + " " + faults[static_cast<std::size_t>(round) % std::size(faults)]);
        const int until = n + 100;
        for (; n < until; ++n)
            p.async_send(message("T", "async"), sent.handler(n));
        EXPECT_TRUE(sent.wait(static_cast<std::size_t>(n - 50)));
        command(cluster, broker + " ok");
    }
    ASSERT_TRUE(sent.wait(static_cast<std::size_t>(n)));
    over = true;
    for (std::thread& t : threads)
        t.join();
    EXPECT_TRUE(p.close(5s));
    expect_quiet(p);
    std::vector<receipt> all;
    for (const auto& mine : sync)
        all.insert(all.end(), mine.begin(), mine.end());
    for (const auto& [i, r] : sent.receipts())
        all.push_back(r);
    expect_agreement(cluster, all);
}

}  // namespace
}  // namespace shunt::test
