// What is refused before the wire, with what words; and what is not.

#include <support/producer_situation.hpp>

#include <functional>
#include <string>

namespace shunt::test {
namespace {

struct Refusals : testing::Test {
    Refusals() : p(started(options_for(cluster))) {}
    cluster::embedded_cluster cluster;
    producer p;
};

struct row {
    const char* claim;
    std::function<message()> make;
    errc why;
    const char* word;  // in the reason
};

message plain() { return message("T", "x"); }

const row rows[] = {
    {"NoTopic", [] { return message("", "x"); }, errc::invalid_topic, "empty"},
    {"BlankTopic", [] { return message(" ", "x"); }, errc::invalid_topic, "a-z"},
    {"TopicWithADot", [] { return message("a.b", "x"); }, errc::invalid_topic, "'a.b'"},
    {"TopicWithABlank", [] { return message("a b", "x"); }, errc::invalid_topic, "'a b'"},
    {"TopicThatClimbs", [] { return message("../T", "x"); }, errc::invalid_topic, "../T"},
    {"TopicInChinese", [] { return message("\xe8\xae\xa2\xe5\x8d\x95", "x"); }, errc::invalid_topic, "characters"},
    {"TopicWithANul", [] { return message(std::string("T\0U", 3), "x"); }, errc::invalid_topic, "\\x00"},
    {"TopicOf128", [] { return message(std::string(128, 't'), "x"); }, errc::invalid_topic, "128"},
    {"TopicOf127OfWhichOneHasTwoBytes", [] { return message(std::string(126, 't') + "\xc3\xa9", "x"); }, errc::invalid_topic, "128"},
    {"DefaultTopic", [] { return message("TBW102", "x"); }, errc::forbidden_topic, "TBW102"},
    {"ScheduleTopic", [] { return message("SCHEDULE_TOPIC_XXXX", "x"); }, errc::forbidden_topic, "SCHEDULE_TOPIC_XXXX"},
    {"HalfTopic", [] { return message("RMQ_SYS_TRANS_HALF_TOPIC", "x"); }, errc::forbidden_topic, "RMQ_SYS_TRANS_HALF_TOPIC"},
    {"EmptyBody", [] { return message("T", ""); }, errc::empty_body, "1 byte"},
    {"BodyOfFourMiBAndOne", [] { return message("T", std::string(4 * 1024 * 1024 + 1, 'b')); }, errc::body_too_large, "4194305"},
    {"PropertyNameWith01", [] { return plain().set_property("a\x01", "v"); }, errc::invalid_property, "\\x01"},
    {"PropertyNameWith02", [] { return plain().set_property("a\x02", "v"); }, errc::invalid_property, "\\x02"},
    {"PropertyValueWith01", [] { return plain().set_property("name", "v\x01"); }, errc::invalid_property, "'name'"},
    {"PropertyValueWith02", [] { return plain().set_property("name", "\x02"); }, errc::invalid_property, "'name'"},
    {"PropertyWithoutName", [] { return plain().set_property("", "v"); }, errc::invalid_property, "empty name"},
    {"PropertyWithoutValue", [] { return plain().set_property("name", ""); }, errc::invalid_property, "'name'"},
    {"PropertyKEYS", [] { return plain().set_property("KEYS", "v"); }, errc::invalid_property, "'KEYS'"},
    {"PropertyTAGS", [] { return plain().set_property("TAGS", "v"); }, errc::invalid_property, "'TAGS'"},
    {"PropertyDELAY", [] { return plain().set_property("DELAY", "v"); }, errc::invalid_property, "'DELAY'"},
    {"PropertyUNIQ_KEY", [] { return plain().set_property("UNIQ_KEY", "v"); }, errc::invalid_property, "'UNIQ_KEY'"},
    {"PropertyWAIT", [] { return plain().set_property("WAIT", "v"); }, errc::invalid_property, "'WAIT'"},
    {"PropertyTRAN_MSG", [] { return plain().set_property("TRAN_MSG", "true"); }, errc::invalid_property, "'TRAN_MSG'"},
    {"TagWith01", [] { return plain().set_tag("\x01"); }, errc::invalid_property, "tag"},
    {"KeyWith02", [] { return plain().add_key("a\x02"); }, errc::invalid_key, "0x02"},
    {"EmptyKey", [] { return plain().add_key(""); }, errc::invalid_key, "empty"},
    {"EmptyKeyAmongOthers", [] { return plain().add_key("a").add_key("").add_key("b"); }, errc::invalid_key, "empty"},
    {"KeyThatBeginsWithABlank", [] { return plain().add_key(" a"); }, errc::invalid_key, "blank"},
    {"OrderKeyWith01", [] { return plain().set_order_key("\x01"); }, errc::invalid_key, "order key"},
    {"DelayLevel19", [] { return plain().set_delay_level(19); }, errc::invalid_delay, "1 to 18"},
    {"DelayLevelBelowNone", [] { return plain().set_delay_level(-1); }, errc::invalid_delay, "-1"},
    {"DelayLevelHuge", [] { return plain().set_delay_level(2147483647); }, errc::invalid_delay, "2147483647"},
    {"DelayOfNothing", [] { return plain().set_delay(0ms); }, errc::invalid_delay, "1 ms"},
    {"DelayBeyondThreeDays", [] { return plain().set_delay(73h); }, errc::invalid_delay, "259200000 ms"},
    {"DeliveryInThePast", [] { return plain().set_deliver_at(std::chrono::system_clock::now() - 1h); }, errc::invalid_delay, "ago"},
    {"DeliveryBeyondThreeDays", [] { return plain().set_deliver_at(std::chrono::system_clock::now() + 73h); }, errc::invalid_delay, "ahead"},
    {"DelayAndLevel", [] { return plain().set_delay(1s).set_delay_level(1); }, errc::invalid_delay, "one of them"},
    {"PriorityBelowNone", [] { return plain().set_priority(-1); }, errc::invalid_priority, "-1"},
    {"PropertyOfThePriority", [] { return plain().set_property("_SYS_MSG_PRIORITY_", "1"); }, errc::invalid_property, "TRAN_MSG, TRAN_PREPARED"},
    {"PropertyThatIsNoText", [] { return plain().set_property("name", "\xff\xfe"); }, errc::invalid_property, "UTF-8"},
    {"PropertyNameThatIsNoText", [] { return plain().set_property("\xff", "v"); }, errc::invalid_property, "UTF-8"},
    {"KeyThatIsNoText", [] { return plain().add_key("\xc3"); }, errc::invalid_key, "UTF-8"},
    {"TagThatIsNoText", [] { return plain().set_tag("\x80"); }, errc::invalid_property, "UTF-8"},
    {"PropertiesTooLarge", [] { return plain().set_property("large", std::string(33'000, 'p')); }, errc::properties_too_large, "32255"},
};

TEST_F(Refusals, NameTheRuleInEveryModeOfSending)
{
    for (const row& r : rows) {
        SCOPED_TRACE(r.claim);
        const receipt sync = p.deliver(r.make());
        EXPECT_EQ(sync.error, r.why) << shown(sync);
        EXPECT_EQ(sync.outcome, outcome::not_sent);
        EXPECT_TRUE(sync.attempts.empty());
        EXPECT_NE(sync.reason.find(r.word), std::string::npos) << sync.reason;
        EXPECT_EQ(p.deliver_oneway(r.make()).error, r.why);
        collector sent;
        p.async_send(r.make(), sent.handler(0));
        ASSERT_TRUE(sent.wait(1));
        EXPECT_EQ(sent.receipts()[0].error, r.why);
        EXPECT_EQ(sent.receipts()[0].reason, sync.reason);
    }
    EXPECT_EQ(cluster.stored(), 0u);
    for (const std::string& b : cluster.broker_names())
        EXPECT_EQ(cluster.counts(b).requests, 0u) << "nothing reached the wire";
    expect_quiet(p);
}

TEST_F(Refusals, LeaveWhatIsJustRight)
{
    const std::function<message()> fine[] = {
        [] { return message(std::string(127, 't'), "x"); },
        [] { return message("a_B-9%z|", "x"); },
        [] { return message("%RETRY%" + std::string(120, 'g'), "x"); },
        [] { return message("T", std::string(1, '\0')); },
        [] { return message("T", std::string(4 * 1024 * 1024, 'b')); },
        [] { return plain().add_key("a").add_key("b").set_tag("tag"); },
        [] { return plain().set_property("\xe8\xae\xa2", "\xe5\x8d\x95"); },
        [] { return plain().set_property("large", std::string(32'000, 'p')); },
        [] { return plain().set_delay_level(1); },
        [] { return plain().set_delay_level(18); },
        [] { return plain().set_delay(72h); },
        [] { return plain().set_priority(0); },
        [] { return plain().set_order_key(""); },
    };
    std::uint64_t n = 0;
    for (const auto& make : fine) {
        const receipt r = p.deliver(make());
        EXPECT_EQ(r.outcome, outcome::stored) << n << ": " << shown(r);
        EXPECT_EQ(cluster.stored(), ++n);
    }
}

TEST_F(Refusals, GiveTheSetOfPropertiesBackAsItWas)
{
    message m = plain();
    std::map<std::string, std::string> given;
    for (int i = 0; i < 100; ++i) {
        const std::string name = "name " + std::to_string(i), value = "value=" + std::to_string(i) + ";,\t\"";
        m.set_property(name, value);
        given[name] = value;
    }
    m.set_property("name 7", "again");
    given["name 7"] = "again";
    ASSERT_TRUE(p.send(m));
    const auto record = cluster.snapshot("T").at(0);
    for (const auto& [name, value] : given)
        EXPECT_EQ(record.property(name), value);
}

TEST_F(Refusals, DoNotChangeTheCallersMessage)
{
    const message m = message("T", std::string(10'000, 'x')).add_key("k").set_tag("t").set_property("p", "v").set_order_key("o");
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(p.send(m));
    EXPECT_EQ(m.body(), std::string(10'000, 'x'));
    EXPECT_EQ(m.properties().size(), 1u);
    const auto ledger = cluster.snapshot("T");
    ASSERT_EQ(ledger.size(), 3u);
    EXPECT_NE(ledger[0].msg_id, ledger[1].msg_id) << "an id a send, though the message is the same";
    EXPECT_EQ(ledger[2].body, m.body());
}

TEST_F(Refusals, OfAnUnknownPolicyNameTheKnownOnes)
{
    send_options how;
    how.policy = "defualt";
    const receipt r = p.deliver(plain(), how);
    EXPECT_EQ(r.error, errc::unknown_policy);
    EXPECT_NE(r.reason.find("defualt"), std::string::npos);
    EXPECT_NE(r.reason.find("default"), std::string::npos);
}

TEST_F(Refusals, OfAQueueThatIsNotThereNameIt)
{
    topic(cluster, "T");
    const std::pair<std::string, int> wrong[] = {{"broker-z", 0}, {"broker-a", 4}, {"broker-a", -1}, {"", 0}, {"broker-a", 2147483647}};
    for (const auto& q : wrong) {
        send_options how;
        how.queue = q;
        const receipt r = p.deliver(plain(), how);
        EXPECT_EQ(r.error, errc::queue_not_writable) << shown(r);
        EXPECT_NE(r.reason.find(q.first + "/" + std::to_string(q.second)), std::string::npos) << r.reason;
    }
    EXPECT_EQ(cluster.stored(), 0u);
}

TEST_F(Refusals, OfASelectorFunctionThatThrowsOrAnswersNonsense)
{
    topic(cluster, "T");
    const std::pair<selector_function, const char*> wrong[] = {
        {[](std::span<const queue_ref>, const message&, std::uint32_t) -> std::size_t { throw std::runtime_error("no idea"); }, "no idea"},
        {[](std::span<const queue_ref>, const message&, std::uint32_t) -> std::size_t { throw 7; }, "threw"},
        {[](std::span<const queue_ref> q, const message&, std::uint32_t) { return q.size(); }, "12"},
        {[](std::span<const queue_ref>, const message&, std::uint32_t) { return static_cast<std::size_t>(-1); }, "below 12"},
    };
    for (const auto& [select, word] : wrong) {
        send_options how;
        how.select = select;
        const receipt r = p.deliver(plain(), how);
        EXPECT_EQ(r.error, errc::selector_failed) << shown(r);
        EXPECT_NE(r.reason.find(word), std::string::npos) << r.reason;
        collector sent;
        send_options again;
        again.select = select;
        p.async_send(plain(), again, sent.handler(0));
        ASSERT_TRUE(sent.wait(1));
        EXPECT_EQ(sent.receipts()[0].error, errc::selector_failed);
    }
    EXPECT_EQ(cluster.stored(), 0u);
    EXPECT_TRUE(p.send(plain()));
    expect_quiet(p);
}

}  // namespace
}  // namespace shunt::test
