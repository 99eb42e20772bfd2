// Topics, offsets and stored messages, asked for through a producer.

#include <support/producer_situation.hpp>

namespace shunt::test {
namespace {

struct Admin : testing::Test {
    Admin() : p(started(options_for(cluster))) {}
    cluster::embedded_cluster cluster{{.brokers = 2}};
    producer p;
};

TEST_F(Admin, CreatesATopicOnEveryBroker)
{
    topic_settings s;
    s.queues = 3;
    const auto on = p.create_topic("NEW", s);
    ASSERT_TRUE(on) << on.error().text;
    EXPECT_EQ(*on, (std::vector<std::string>{"broker-a", "broker-b"}));
    const auto route = p.route("NEW");
    ASSERT_TRUE(route);
    EXPECT_EQ(route->publish.size(), 6u);
}

TEST_F(Admin, CreatesATopicWhereItIsWanted)
{
    topic_settings s;
    s.brokers = {"broker-b"};
    ASSERT_TRUE(p.create_topic("NEW", s));
    EXPECT_EQ(p.route("NEW")->publish.front().first, "broker-b");
    s.brokers = {"broker-z"};
    const auto no = p.create_topic("NEW", s);
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().code, errc::invalid_settings);
    EXPECT_NE(no.error().text.find("broker-z'; there are broker-a, broker-b"), std::string::npos) << no.error().text;
}

TEST_F(Admin, RefusesTopicsNobodyCouldHave)
{
    topic_settings s;
    EXPECT_EQ(p.create_topic("a b").error().code, errc::invalid_topic);
    EXPECT_EQ(p.create_topic("SCHEDULE_TOPIC_XXXX").error().code, errc::forbidden_topic);
    s.queues = 0;
    EXPECT_EQ(p.create_topic("T", s).error().code, errc::invalid_settings);
    s.queues = 4;
    s.perm = 8;
    EXPECT_EQ(p.create_topic("T", s).error().code, errc::invalid_settings);
    const auto system = p.create_topic("BenchmarkTest");
    ASSERT_FALSE(system);
    EXPECT_EQ(system.error().broker_code, 29) << system.error().text;
}

TEST_F(Admin, TellsOffsets)
{
    send_options to;
    to.queue = {"broker-b", 1};
    const auto before = std::chrono::system_clock::now() - 1h;
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(p.send(message("T", "x"), to));
    EXPECT_EQ(*p.min_offset("T", "broker-b", 1), 0);
    EXPECT_EQ(*p.max_offset("T", "broker-b", 1), 3);
    EXPECT_EQ(*p.max_offset("T", "broker-a", 0), 0);
    EXPECT_EQ(*p.offset_at("T", "broker-b", 1, before), 0);
    EXPECT_EQ(*p.offset_at("T", "broker-b", 1, std::chrono::system_clock::now() + 1h), 3);
    EXPECT_EQ(p.max_offset("UNKNOWN_TOPIC_NOWHERE", "broker-z", 0).error().code, errc::connect_failed);
}

TEST_F(Admin, FindsAMessageByEitherOfItsIdsAndByAKey)
{
    const receipt r = p.deliver(message("T", "the body").add_key("k1").add_key("k2").set_tag("red").set_property("n", "7").set_flag(5));
    ASSERT_EQ(r.outcome, outcome::stored);
    ASSERT_TRUE(p.send(message("T", "another").add_key("k12")));
    for (const std::string& id : {r.msg_id.str(), r.offset_msg_id.str()}) {
        const auto m = p.view("T", id);
        ASSERT_TRUE(m) << m.error().text;
        EXPECT_EQ(m->body, "the body");
        EXPECT_EQ(m->msg_id, r.msg_id.view());
        EXPECT_EQ(m->offset_msg_id, r.offset_msg_id.view());
        EXPECT_EQ(m->queue, r.queue);
        EXPECT_EQ(m->broker, r.broker);
        EXPECT_EQ(m->offset, r.offset);
        EXPECT_EQ(m->flag, 5);
        EXPECT_EQ(m->property("TAGS"), "red");
        EXPECT_EQ(m->property("n"), "7");
        EXPECT_TRUE(m->born_host.starts_with("127.0.0.1:")) << m->born_host;
    }
    const auto by_key = p.query("T", "k1");
    ASSERT_TRUE(by_key) << by_key.error().text;
    ASSERT_EQ(by_key->size(), 1u) << "k12 is another key";
    EXPECT_EQ(by_key->front().body, "the body");
    EXPECT_TRUE(p.query("T", "no such key")->empty());
}

TEST_F(Admin, SaysWhatIsNotThere)
{
    ASSERT_TRUE(p.send(message("T", "x")));
    EXPECT_EQ(p.view("T", "0A00000512670A0B0C0D000186A00001").error().code, errc::not_found);
    EXPECT_EQ(p.view("T", "no id").error().code, errc::invalid_settings);
    EXPECT_EQ(p.query("T", "").error().code, errc::invalid_settings);
    p.close();
    EXPECT_EQ(p.query("T", "k").error().code, errc::closed);
}

}  // namespace
}  // namespace shunt::test
