// The ledger: order, counts, and its lines of JSON.

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;
using cluster::stored_record;

TEST(Ledger, IsInTheOrderOfStoringOverAllBrokers)
{
    embedded_cluster cluster({.brokers = 2});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client a(cluster.broker_address("broker-a")), b(cluster.broker_address("broker-b"));

    ASSERT_TRUE(b.ask(encoded({.body = "1"})) && a.ask(encoded({.body = "2"})) && b.ask(encoded({.body = "3"})));

    std::string order;
    for (const stored_record& r : cluster.snapshot())
        order += r.body;
    EXPECT_EQ(order, "123");
    EXPECT_EQ(cluster.stored(), 3U);
}

TEST(Ledger, IsWrittenQueueByQueue)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client client(cluster.broker_address("broker-a"));
    ASSERT_TRUE(client.ask(encoded({.queue = 1, .body = "second"})) && client.ask(encoded({.queue = 0, .body = "first"})));
    std::ostringstream out;

    cluster.write_ledger(out);

    const std::string lines = out.str();
    EXPECT_EQ(lines.find(R"({"broker":"broker-a","topic":"T","queue":0,"offset":0,"msg_id":"0A00000512670A0B0C0D000186A00001","key":"","tag":"",)"), 0U)
        << lines;
    EXPECT_LT(lines.find("first"), lines.find("second"));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

TEST(Ledger, EscapesWhatJsonMustNotHoldAsItIs)
{
    stored_record r;
    r.broker = "broker-a";
    r.topic = "T";
    r.key = "a\"b\\c\n";
    r.properties = {{"KEYS", "a\"b\\c\n"}, {"p", "old"}, {"p", "new"}};
    r.body = "gr\xC3\xBC\xC3\x9F";
    r.born_ms = 1;
    r.stored_ms = 2;

    EXPECT_EQ(to_json(r), R"({"broker":"broker-a","topic":"T","queue":0,"offset":0,"msg_id":"","key":"a\"b\\c\u000A","tag":"",)"
                          R"("properties":{"KEYS":"a\"b\\c\u000A","p":"new"},"body":")" "gr\xC3\xBC\xC3\x9F" R"(","born_ms":1,"stored_ms":2})");
}

TEST(Ledger, WritesBodiesThatAreNotTextAsBase64)
{
    stored_record r;
    for (const std::string& body : {std::string("\xFF"), std::string("\xC0\xAF"), std::string("\xED\xA0\x80"), std::string("\xC3")}) {
        r.body = body;
        EXPECT_NE(to_json(r).find(R"("body_base64":")"), std::string::npos) << body;
    }
    r.body = std::string("\0\xFF\x10\x80", 4);
    EXPECT_NE(to_json(r).find(R"("body_base64":"AP8QgA==")"), std::string::npos) << to_json(r);
}

TEST(Ledger, InflatesZlibBodies)
{
    stored_record r;
    r.sys_flag = 0x301;
    r.body = std::string("\x78\x5e\xcb\x48\xcd\xc9\xc9\x57\xc8\xc0\x47\x02\x00\xeb\x55\x0d\x19", 17);

    EXPECT_NE(to_json(r).find(R"("body":"hello hello hello hello hello hello")"), std::string::npos) << to_json(r);

    r.body = "not zlib";
    EXPECT_NE(to_json(r).find(R"("body":"not zlib")"), std::string::npos) << to_json(r);
}

}  // namespace
}  // namespace shunt::test
