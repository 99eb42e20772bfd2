// Every kind of message, sent by the official Java client and by shunt with the same content, read back by Java's own
// consumer and compared, property by property; and requests between the two.

#include <interop/support/real_cluster.hpp>

#include <shunt/producer.hpp>
#include <support/listed_differences.hpp>
#include <wire/trace.hpp>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace json = boost::json;

struct read_back {
    std::string broker, body;
    std::int64_t queue = 0, offset = 0, flag = 0, sys_flag = 0, born_ms = 0, store_ms = 0;
    std::map<std::string, std::string> properties;
};
using by_kind = std::map<std::string, read_back>;  // by the property "kind"

by_kind parsed(const std::vector<std::string>& lines)
{
    by_kind out;
    for (const std::string& line : lines) {
        const auto m = json::parse(line).as_object();
        read_back r;
        r.broker = m.at("broker").as_string();
        r.queue = m.at("queue").as_int64();
        r.offset = m.at("offset").as_int64();
        r.flag = m.at("flag").as_int64();
        r.sys_flag = m.at("sys_flag").as_int64();
        r.born_ms = m.at("born_ms").as_int64();
        r.store_ms = m.at("store_ms").as_int64();
        r.body = m.at("body").as_string();
        for (const auto& [name, value] : m.at("properties").as_object())
            r.properties[name] = std::string(value.as_string());
        const std::string kind = r.properties["kind"];
        EXPECT_TRUE(out.emplace(kind, std::move(r)).second) << "twice: " << line;
    }
    return out;
}

struct JavaAndShunt : testing::Test {
    static void SetUpTestSuite() { cluster = std::make_unique<shunt::interop::real_cluster>(shunt::interop::real_cluster_options{.brokers = 2, .broker_conf = "traceTopicEnable=true"}); }
    static void TearDownTestSuite() { cluster.reset(); }

    static shunt::producer_options options(const std::string& group)
    {
        shunt::producer_options o;
        o.group = group;
        o.name_servers = {cluster->name_server()};
        o.send_timeout = 30s;
        return o;
    }
    static shunt::producer started(shunt::producer_options o)
    {
        auto p = shunt::producer::create(std::move(o));
        if (!p)
            throw std::runtime_error(p.error().text);
        return std::move(*p);
    }
    static shunt::interop::java_run java(const std::string& program, const std::vector<std::string>& arguments)
    {
        const auto scratch = shunt::interop::make_scratch("java");
        auto run = shunt::interop::run_java(program, arguments, scratch, std::chrono::minutes(4));
        std::filesystem::remove_all(scratch);
        return run;
    }
    /// Waits until so many lie in the topic, then has Java read them.
    static by_kind read(const std::string& topic, std::size_t n)
    {
        EXPECT_TRUE(cluster->eventually([&] { return cluster->messages(topic).size() >= n; })) << cluster->messages(topic).size() << " of " << n;
        return parsed(cluster->java_reader(topic));
    }

    static std::unique_ptr<shunt::interop::real_cluster> cluster;
};
std::unique_ptr<shunt::interop::real_cluster> JavaAndShunt::cluster;

// What java/Kinds.java sends, from here. How many lie in the topic then.
constexpr std::size_t kinds = 23;

void stored(const shunt::receipt& r, const std::string& what)
{
    ASSERT_EQ(r.outcome, shunt::outcome::stored) << what << ": " << r.error.message() << ' ' << r.reason;
}

void send_kinds(const shunt::producer_options& options, const std::string& topic)
{
    const auto message = [&topic](const std::string& kind, const std::string& body) {
        return shunt::message(topic, body).set_property("kind", kind);
    };
    const auto with = [&options](const std::string& group) {
        auto o = options;
        o.group = group;
        return o;
    };
    const auto create = [](shunt::producer_options o) {
        auto p = shunt::producer::create(std::move(o));
        if (!p)
            throw std::runtime_error(p.error().text);
        return std::move(*p);
    };
    {
        auto o = with("PG_kinds");
        o.policies["by-key"].selector.use = "hash";
        o.policies["by-key"].fault.use = "none";
        o.policies["by-key"].ordered = true;
        auto p = create(o);
        stored(p.deliver(message("plain", "plain")), "plain");
        stored(p.deliver(message("rich", "rich \xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80").set_tag("tag").add_key("k1").add_key("k2")
                             .set_property("city", "\xe5\x8c\x97\xe4\xba\xac").set_property("marks", "\"quoted\" \\ and\ttab")
                             .set_flag(7).set_wait_store(false)), "rich");
        shunt::send_options by_key;
        by_key.policy = "by-key";
        for (int i = 0; i < 5; ++i) {
            const std::string name = "ordered " + std::to_string(i);
            stored(p.deliver(message(name, name).set_order_key("order-1"), by_key), name);
        }
        stored(p.deliver(message("level", "level").set_delay_level(1)), "level");
        stored(p.deliver(message("delay", "delay").set_delay(2s)), "delay");
        stored(p.deliver(message("at", "at").set_deliver_at(std::chrono::system_clock::now() + 3s)), "at");
        stored(p.deliver(message("priority", "priority").set_priority(1)), "priority");
        EXPECT_FALSE(p.deliver_oneway(message("one-way", "one-way")).error);
        std::vector<shunt::message> batch;
        for (int i = 0; i < 3; ++i) {
            const std::string n = std::to_string(i);
            batch.push_back(message("batch " + n, "batch " + n).set_tag("tag").add_key("batch-" + n).set_flag(i));
        }
        stored(p.deliver_batch(std::move(batch)).send, "batch");
        shunt::send_options within;
        within.timeout = 2s;
        EXPECT_EQ(p.request(message("request", "request"), within).error, shunt::errc::reply_timeout);
    }
    std::string body;
    for (int i = 0; i < 500; ++i)
        body += "line " + std::to_string(i) + " of a body that shrinks\n";
    const std::pair<shunt::compression, std::string> algorithms[] = {
        {shunt::compression::zlib, "zlib"}, {shunt::compression::lz4, "lz4"}, {shunt::compression::zstd, "zstd"}};
    for (const auto& [by, name] : algorithms) {
        auto o = with("PG_kinds_" + name);
        o.compress = by;
        stored(create(o).deliver(message(name, body)), name);
    }
    {
        auto o = with("PG_kinds_auto");
        o.auto_batch = true;
        auto p = create(o);
        std::mutex lock;
        std::condition_variable more;
        int left = 3;
        for (int i = 0; i < 3; ++i) {
            const std::string n = std::to_string(i);
            p.async_send(message("auto " + n, "auto " + n).set_tag("tag").add_key("auto-" + n), [&](const shunt::error_code& ec, const shunt::receipt&) {
                EXPECT_FALSE(ec) << ec.message();
                const std::lock_guard held(lock);
                --left;
                more.notify_all();
            });
        }
        std::unique_lock held(lock);
        ASSERT_TRUE(more.wait_for(held, 60s, [&] { return left == 0; }));
    }
    {
        auto p = create(with("PG_kinds_tx"));
        const auto ends = [](shunt::transaction_end e) { return [e](const shunt::message&, const shunt::receipt&) { return e; }; };
        EXPECT_TRUE(p.send_transaction(message("committed", "committed"), ends(shunt::transaction_end::commit)).confirmed);
        EXPECT_TRUE(p.send_transaction(message("rolled back", "rolled back"), ends(shunt::transaction_end::rollback)).confirmed);
    }
}

// Properties whose value is another one in each message, however it is sent; MAX_OFFSET is the consumer's own.
const std::set<std::string> own_value{"UNIQ_KEY", "CORRELATION_ID", "REPLY_TO_CLIENT", "TIMER_OUT_MS", "TIMER_DELIVER_MS", "TIMER_ENQUEUE_MS",
                                      "TIMER_DEQUEUE_MS", "TIMER_DELAY_MS", "__transactionId__", "REAL_TOPIC", "REAL_QID", "TRAN_PREPARED_QUEUE_OFFSET", "TTL", "MAX_OFFSET"};

/// "batch 2" is of the kind "batch".
std::string family(const std::string& kind)
{
    const bool numbered = kind.size() > 2 && kind[kind.size() - 2] == ' ' && std::isdigit(static_cast<unsigned char>(kind.back())) != 0;
    return numbered ? kind.substr(0, kind.size() - 2) : kind;
}

/// What a reader finds different.
shunt::test::differences differences_of(const by_kind& java, const by_kind& shunt)
{
    shunt::test::differences out;
    for (const auto& [kind, theirs] : java) {
        const std::string of = family(kind);
        const auto found = shunt.find(kind);
        if (found == shunt.end()) {
            out["only of Java"].insert(kind);
            continue;
        }
        const read_back& ours = found->second;
        if (theirs.body != ours.body)
            out["body"].insert(of);
        if (theirs.flag != ours.flag)
            out["flag"].insert(of);
        if (theirs.sys_flag != ours.sys_flag)
            out["sysFlag=" + std::to_string(theirs.sys_flag) + ", here " + std::to_string(ours.sys_flag)].insert(of);
        for (const auto& [name, value] : theirs.properties) {
            const auto same = ours.properties.find(name);
            if (same == ours.properties.end())
                out[name + " only of Java"].insert(of);
            else if (same->second != value && !own_value.contains(name))
                out[name + " differs"].insert(of);
        }
        for (const auto& [name, value] : ours.properties) {
            if (!theirs.properties.contains(name))
                out[name + " only here"].insert(of);
        }
    }
    for (const auto& [kind, ours] : shunt) {
        if (!java.contains(kind))
            out["only here"].insert(kind);
    }
    for (const std::string of : {"batch", "auto"}) {
        std::set<std::string> ids, java_ids;
        for (int i = 0; i < 3; ++i) {
            java_ids.insert(java.at(of + " " + std::to_string(i)).properties.at("UNIQ_KEY"));
            ids.insert(shunt.at(of + " " + std::to_string(i)).properties.at("UNIQ_KEY"));
        }
        EXPECT_EQ(ids.size(), 3u) << of;
        if (java_ids.size() != 3)
            out["one UNIQ_KEY for all"].insert(of);
    }
    return out;
}

TEST_F(JavaAndShunt, LeaveTheSameMessagesBehind)
{
    cluster->create_topic("from_java", {.queues = 4});
    cluster->create_topic("from_shunt", {.queues = 4});
    const auto sent = java("Kinds", {cluster->name_server(), "from_java"});
    ASSERT_EQ(sent.status, 0) << sent.err;
    ASSERT_NO_FATAL_FAILURE(send_kinds(options("unused"), "from_shunt"));

    const by_kind theirs = read("from_java", kinds), ours = read("from_shunt", kinds);

    EXPECT_EQ(theirs.size(), kinds);
    EXPECT_FALSE(theirs.contains("rolled back"));
    EXPECT_FALSE(ours.contains("rolled back"));
    EXPECT_EQ(shunt::test::shown(differences_of(theirs, ours)), shunt::test::shown(shunt::test::listed_differences("kinds")));
    for (const by_kind* side : {&theirs, &ours}) {
        for (const auto& [kind, least_ms] : std::map<std::string, int>{{"level", 900}, {"delay", 1000}, {"at", 2000}}) {
            const read_back& m = side->at(kind);
            EXPECT_GE(m.store_ms - m.born_ms, least_ms) << kind << ": brokers are exact to a second";
        }
        for (int i = 1; i < 5; ++i) {
            const read_back &before = side->at("ordered " + std::to_string(i - 1)), &m = side->at("ordered " + std::to_string(i));
            EXPECT_EQ(std::pair(m.broker, m.queue), std::pair(before.broker, before.queue));
            EXPECT_GT(m.offset, before.offset);
        }
    }
    EXPECT_EQ(std::pair(theirs.at("ordered 0").broker, theirs.at("ordered 0").queue), std::pair(ours.at("ordered 0").broker, ours.at("ordered 0").queue))
        << "one key, one queue, whoever sends";
}

TEST_F(JavaAndShunt, JavaAnswersWhatShuntAsks)
{
    cluster->create_topic("asked_of_java", {.queues = 2});
    auto answerer = std::async(std::launch::async, [] { return java("Answerer", {cluster->name_server(), "asked_of_java"}); });
    auto p = started(options("PG_asks"));
    const auto ask = [&](const std::string& body, std::chrono::milliseconds timeout) {
        shunt::send_options within;
        within.timeout = timeout;
        return p.request(shunt::message("asked_of_java", body), within);
    };
    EXPECT_TRUE(cluster->eventually([&] { return !ask("there?", 3s).error; })) << "a consumer needs a while to find its queues";
    for (int i = 0; i < 3; ++i) {
        const std::string body = "question " + std::to_string(i) + " \xe4\xb8\x96";
        const shunt::reply_receipt r = ask(body, 60s);
        ASSERT_FALSE(r.error) << r.reason;
        EXPECT_EQ(r.body, "java: " + body);
        EXPECT_EQ(r.property("answered-by"), "java");
    }
    EXPECT_EQ(ask("stop", 60s).body, "java: stop");
    const auto ended = answerer.get();
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.err, "");
}

TEST_F(JavaAndShunt, ShuntAnswersWhatJavaAsks)
{
    cluster->create_topic("asked_of_shunt", {.queues = 2});
    auto p = started(options("PG_answers"));
    p.answer_requests("asked_of_shunt", [](const shunt::stored_message& m) { return "shunt: " + m.body; });
    const auto asked = java("Asker", {cluster->name_server(), "asked_of_shunt", "3"});
    EXPECT_EQ(asked.status, 0) << asked.err;
    EXPECT_EQ(asked.out, (std::vector<std::string>{"shunt: question 0", "shunt: question 1", "shunt: question 2"}));
}

// ---- the message trace ----

// Of a send and of a transaction's end, in the order in which they are written.
const std::vector<std::string> pub_fields{"kind", "time", "region", "group", "topic", "msgId", "tags", "keys", "storeHost", "bodyLength",
                                          "costTime", "msgType", "offsetMsgId", "success"};
const std::vector<std::string> end_fields{"kind", "time", "region", "group", "topic", "msgId", "tags", "keys", "storeHost",
                                          "msgType", "transactionId", "transactionState", "fromTransactionCheck"};
// What is another one in each record, whoever writes it: there, or not there, is all that is compared.
const std::set<std::string> own_field{"time", "topic", "msgId", "storeHost", "costTime", "offsetMsgId", "transactionId"};

struct traces {
    std::map<std::string, std::map<std::string, std::string>> records;  // by tag, or "end" of a transaction; then by field
    std::map<std::string, std::set<std::string>> ids;                   // UNIQ_KEYs that a record tells, by the same
    std::set<std::string> keys, properties;                             // of the messages that hold the records
};

traces traces_of(const std::vector<shunt::interop::stored>& all, const std::string& topic)
{
    traces out;
    for (const shunt::interop::stored& m : all) {
        bool ours = false;
        shunt::wire::each_trace(m.body, [&](const std::vector<std::string_view>& of) {
            if (of.size() < 5 || of[4] != topic)
                return;
            ours = true;
            const bool end = of[0] == "EndTransaction";
            const auto& names = end ? end_fields : pub_fields;
            EXPECT_EQ(of.size(), names.size()) << m.body;
            std::map<std::string, std::string> r;
            for (std::size_t i = 0; i < std::min(names.size(), of.size()); ++i)
                r[names[i]] = own_field.contains(names[i]) ? (of[i].empty() || of[i] == "null" ? "none" : "some") : std::string(of[i]);
            const std::size_t commas = static_cast<std::size_t>(std::count(of[5].begin(), of[5].end(), ','));
            const std::string which = end ? "end" : commas != 0 ? "batch" : std::string(of[6]);
            // Ids are longer where a client takes the machine's IPv6 address, and a batch's body has those of its messages.
            if (commas != 0)
                r["bodyLength"] = std::to_string(std::stoul(r["bodyLength"]) - (of[5].size() - commas));
            out.ids[which].emplace(of[5]);
            EXPECT_TRUE(out.records.emplace(which, std::move(r)).second) << "twice: " << m.body;
        });
        if (!ours)
            continue;
        for (const auto& [name, value] : m.properties)
            out.properties.insert(name);
        std::istringstream keys(m.properties.at("KEYS"));
        for (std::string key; keys >> key;)
            out.keys.insert(key);
    }
    return out;
}

TEST_F(JavaAndShunt, TraceSendsInTheSameRecords)
{
    cluster->create_topic("traced_java", {.queues = 4});
    cluster->create_topic("traced_shunt", {.queues = 4});
    const auto sent = java("Traced", {cluster->name_server(), "traced_java"});
    ASSERT_EQ(sent.status, 0) << sent.err;
    {
        auto o = options("PG_traced");
        o.trace = "traced_*";
        auto p = started(o);
        const auto message = [](const std::string& kind, const std::string& body) { return shunt::message("traced_shunt", body).set_tag(kind); };
        stored(p.deliver(message("plain", "plain")), "plain");
        stored(p.deliver(message("keyed", "with two keys").add_key("k1").add_key("k2")), "keyed");
        stored(p.deliver(message("level", "later").set_delay_level(1)), "level");
        stored(p.deliver_batch({message("batch", "one"), message("batch", "two")}).send, "batch");
        EXPECT_FALSE(p.deliver_oneway(message("one-way", "nobody answers")).error);
        EXPECT_TRUE(p.send_transaction(message("half", "committed"), [](const auto&, const auto&) { return shunt::transaction_end::commit; }).confirmed);
        EXPECT_TRUE(p.close(30s));
        EXPECT_EQ(p.counters().trace_dropped, 0u);
    }
    traces theirs, ours;
    const auto read = [&] {
        const auto all = cluster->messages("RMQ_SYS_TRACE_TOPIC");
        theirs = traces_of(all, "traced_java");
        ours = traces_of(all, "traced_shunt");
        return theirs.records.contains("end") && theirs.records.contains("plain") && ours.records.contains("end") && ours.records.contains("plain");
    };
    const auto names_of = [](const traces& of) {
        std::string text;
        for (const auto& [name, record] : of.records)
            text += " " + name;
        return text;
    };
    ASSERT_TRUE(cluster->eventually(read)) << "of Java:" << names_of(theirs) << "; of shunt:" << names_of(ours);

    shunt::test::differences found;
    for (const auto& [which, java_record] : theirs.records) {
        if (!ours.records.contains(which)) {
            found["only of Java"].insert(which);
            continue;
        }
        for (const auto& [name, value] : java_record) {
            const std::string& here = ours.records.at(which).at(name);
            if (here != value)
                found[name + "=" + value + ", here " + here].insert(which);
        }
        if (theirs.ids.at(which).size() != ours.ids.at(which).size())
            found["ids"].insert(which);
    }
    for (const auto& [which, record] : ours.records) {
        if (!theirs.records.contains(which))
            found["only here"].insert(which);
    }
    EXPECT_EQ(shunt::test::shown(found), shunt::test::shown(shunt::test::listed_differences("traces")));
    for (const traces* side : {&theirs, &ours}) {
        EXPECT_TRUE(side->keys.contains("k1"));
        EXPECT_TRUE(side->keys.contains("k2"));
        for (const std::string which : {"plain", "keyed", "level", "half"})
            EXPECT_TRUE(side->keys.contains(*side->ids.at(which).begin())) << which << ": a record is found by its message's id";
    }
    EXPECT_EQ(theirs.properties, ours.properties);
}

}  // namespace
