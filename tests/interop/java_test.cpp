// The official Java client as the other side: it reads back what shunt sent, and sends to the embedded cluster.

#include <interop/support/real_cluster.hpp>

#include <cluster/embedded_cluster.hpp>
#include <shunt/producer.hpp>

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

using shunt::cluster::embedded_cluster;
namespace json = boost::json;

std::string name_of(const char* mode) { return std::string("java_") + mode; }

shunt::interop::java_run java(const std::string& program, const std::vector<std::string>& arguments)
{
    const auto scratch = shunt::interop::make_scratch("java");
    auto run = shunt::interop::run_java(program, arguments, scratch);
    std::filesystem::remove_all(scratch);
    return run;
}

class JavaSendsTo : public testing::TestWithParam<const char*> {};

TEST_P(JavaSendsTo, TheEmbeddedClusterAndFindsItsMessagesThere)
{
    embedded_cluster cluster;
    const std::string mode = GetParam();
    const std::string topic = name_of(GetParam());
    std::vector<std::string> arguments{cluster.name_server(), topic, mode, "9"};
    if (mode == "queue")
        arguments.push_back("broker-b/1");
    ASSERT_FALSE(cluster.create_topic(topic));

    const auto sent = java("Sender", arguments);

    ASSERT_EQ(sent.status, 0) << sent.err;
    ASSERT_TRUE(cluster.wait_stored(9, std::chrono::seconds(10)));
    std::map<std::string, int> bodies;
    for (const auto& record : cluster.snapshot(topic)) {
        ++bodies[record.body];
        EXPECT_EQ(record.property("mode"), mode);
        if (mode == "queue") {
            EXPECT_EQ(record.broker, "broker-b");
            EXPECT_EQ(record.queue, 1);
        }
    }
    for (int i = 0; i < 9; ++i)
        EXPECT_EQ(bodies[mode + " " + std::to_string(i)], 1) << i;

    const auto read = java("Reader", {cluster.name_server(), topic});
    ASSERT_EQ(read.status, 0) << read.err;
    EXPECT_EQ(read.out.size(), 9u);
}

INSTANTIATE_TEST_SUITE_P(EveryMode, JavaSendsTo, testing::Values("sync", "async", "oneway", "batch", "queue"),
                         [](const auto& each) { return std::string(each.param); });

TEST(JavaReads, WhatShuntSentToRealBrokers)
{
    shunt::interop::real_cluster cluster({.brokers = 2});
    cluster.create_topic("from_shunt", {.queues = 4});
    shunt::producer_options o;
    o.group = "PG_java";
    o.name_servers = {cluster.name_server()};
    auto p = shunt::producer::create(std::move(o));
    ASSERT_TRUE(p) << p.error().text;
    std::map<std::string, shunt::receipt> sent;
    for (int i = 0; i < 40; ++i) {
        shunt::message m("from_shunt", "body " + std::to_string(i) + " é世");
        m.set_tag("T").add_key("k" + std::to_string(i)).set_property("city", "北京").set_flag(i);
        auto r = p->deliver(std::move(m));
        ASSERT_EQ(r.outcome, shunt::outcome::stored) << r.error.message() << r.reason;
        sent.emplace(r.msg_id.str(), std::move(r));
    }

    const auto lines = cluster.java_reader("from_shunt");

    ASSERT_EQ(lines.size(), sent.size());
    for (const std::string& line : lines) {
        const auto m = json::parse(line).as_object();
        const auto it = sent.find(std::string(m.at("msg_id").as_string()));
        ASSERT_NE(it, sent.end()) << line;
        EXPECT_EQ(m.at("broker").as_string(), it->second.broker);
        EXPECT_EQ(m.at("queue").as_int64(), it->second.queue);
        EXPECT_EQ(m.at("offset").as_int64(), it->second.offset);
        EXPECT_EQ(m.at("properties").at("city").as_string(), "北京");
        EXPECT_EQ(std::string(m.at("body").as_string()).substr(0, 5), "body ");
        sent.erase(it);
    }
}

}  // namespace
