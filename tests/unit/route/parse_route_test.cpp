#include <unit/wire/captured.hpp>
#include <unit/wire/worked_frames.hpp>
#include <route/route.hpp>

#include <gtest/gtest.h>

namespace shunt::route {
namespace {

topic_route parsed(std::string_view json)
{
    parse_result r = parse_route("T", json);
    EXPECT_TRUE(r.route) << r.error;
    return r.route ? std::move(*r.route) : topic_route{};
}

std::string refused(std::string_view json)
{
    const parse_result r = parse_route("T", json);
    EXPECT_FALSE(r.route) << json;
    return r.error;
}

std::string shown(const topic_route& r, const std::vector<queue>& queues)
{
    std::string out;
    for (const queue& q : queues)
        out.append(out.empty() ? "" : " ").append(r.brokers.at(q.broker).name).append("/").append(std::to_string(q.queue_id));
    return out;
}

std::string with_conf(std::string_view conf)
{
    return R"({"brokerDatas":[{"brokerAddrs":{"0":"h:1"},"brokerName":"a"},{"brokerAddrs":{"0":"h:2"},"brokerName":"b"}],
        "orderTopicConf":")" + std::string{conf} + R"(","queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":1,"writeQueueNums":1}]})";
}

// The strict form with every member a server may write, and the same with bare keys.
constexpr auto strict = R"({"brokerDatas":[
  {"brokerAddrs":{"0":"127.0.0.1:10911","1":"127.0.0.1:10921"},"brokerName":"broker-a","cluster":"DefaultCluster","enableActingMaster":false,"zoneName":"z\u4E2D"},
  {"brokerAddrs":{"0":"127.0.0.1:30911","9223372036854775807":"127.0.0.1:3"},"brokerName":"broker-b","cluster":"DefaultCluster"}],
  "filterServerTable":{},"queueDatas":[
  {"brokerName":"broker-b","perm":4,"readQueueNums":2,"topicSysFlag":0,"writeQueueNums":2},
  {"brokerName":"broker-a","perm":6,"readQueueNums":1,"topicSysFlag":0,"writeQueueNums":2}]})";
constexpr auto legacy = R"({"queueDatas":[
  {"brokerName":"broker-a","perm":6,"readQueueNums":1,"topicSynFlag":0,"writeQueueNums":2},
  {"brokerName":"broker-b","perm":4,"readQueueNums":2,"topicSynFlag":0,"writeQueueNums":2}],
  "brokerDatas":[
  {"brokerAddrs":{0:"127.0.0.1:30911",9223372036854775807 : "127.0.0.1:3"},"brokerName":"broker-b","cluster":"DefaultCluster"},
  {"brokerAddrs":{ 1:"127.0.0.1:10921",0:"127.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster"}]})";

TEST(ParseRoute, ReadsBrokersAndQueues)
{
    const topic_route r = parsed(strict);
    EXPECT_EQ(r.topic, "T");
    EXPECT_FALSE(r.ordered);
    ASSERT_EQ(r.brokers.size(), 2u);
    const broker& a = r.brokers[0];
    EXPECT_EQ(a.name, "broker-a");
    EXPECT_EQ(a.cluster, "DefaultCluster");
    EXPECT_EQ(a.addresses, (std::map<std::int64_t, std::string>{{0, "127.0.0.1:10911"}, {1, "127.0.0.1:10921"}}));
    EXPECT_EQ(a.perm, 6);
    EXPECT_EQ(a.read_queues, 1);
    EXPECT_EQ(a.write_queues, 2);
    EXPECT_EQ(r.brokers[1].addresses.at(INT64_MAX), "127.0.0.1:3");
    EXPECT_EQ(shown(r, r.publish), "broker-a/0 broker-a/1");
    EXPECT_EQ(shown(r, r.subscribe), "broker-a/0 broker-b/0 broker-b/1");
    EXPECT_TRUE(r.warnings.empty()) << r.warnings.front();
}

TEST(ParseRoute, ReadsBothDialectsAndAnyOrderTheSame)
{
    EXPECT_TRUE(parsed(strict).same_as(parsed(legacy)));
}

TEST(ParseRoute, LeavesTextAloneThatLooksLikeABareKey)
{
    const topic_route r = parsed(R"({"brokerDatas":[{"brokerAddrs":{0:"h{1:2,3:4}:5"},"brokerName":"a\",7:\"b\\","cluster":"{0:1}"}]})");
    EXPECT_EQ(r.brokers.at(0).name, "a\",7:\"b\\");
    EXPECT_EQ(r.brokers[0].addresses.at(0), "h{1:2,3:4}:5");
    EXPECT_EQ(r.brokers[0].cluster, "{0:1}");
}

TEST(ParseRoute, TakesMissingAndNullMembersForEmptyOnes)
{
    for (const auto json : {"{}", R"({"brokerDatas":null,"queueDatas":null,"orderTopicConf":null,"topicQueueMappingByBroker":null})",
                            R"({"brokerDatas":[],"queueDatas":[],"orderTopicConf":"","extra":{"deep":[1,{"x":null}]}})"}) {
        const topic_route r = parsed(json);
        EXPECT_TRUE(r.brokers.empty());
        EXPECT_TRUE(r.publish.empty());
        EXPECT_TRUE(r.warnings.empty());
    }
    const topic_route r = parsed(R"({"brokerDatas":[{"brokerName":"a","brokerAddrs":null,"cluster":null}],"queueDatas":[{"brokerName":"a"}]})");
    EXPECT_EQ(r.brokers.at(0).perm, 0);
    EXPECT_TRUE(r.warnings.empty());
}

TEST(ParseRoute, TakesNumbersInQuotes)
{
    const topic_route r = parsed(R"({"brokerDatas":[{"brokerAddrs":{"0":"h:1"},"brokerName":"a"}],
        "queueDatas":[{"brokerName":"a","perm":"6","readQueueNums":"1","writeQueueNums":"2"}]})");
    EXPECT_EQ(shown(r, r.publish), "a/0 a/1");
}

TEST(ParseRoute, SkipsBadEntriesWithAWarningEach)
{
    const topic_route r = parsed(R"({"brokerDatas":[1,{"cluster":"c"},{"brokerName":""},
        {"brokerName":"a","brokerAddrs":{"0":"h:1","x":"h:2","2":7}}],
        "queueDatas":["x",{"brokerName":"nowhere","perm":6,"readQueueNums":1,"writeQueueNums":1},
        {"brokerName":"a","perm":"six","readQueueNums":1,"writeQueueNums":1}]})");
    EXPECT_EQ(r.brokers.size(), 1u);
    EXPECT_TRUE(r.publish.empty());
    EXPECT_EQ(r.warnings,
              (std::vector<std::string>{"brokerDatas: skipped an entry without a brokerName",
                                        "broker \"a\": skipped the address with id \"x\"",
                                        "broker \"a\": skipped the address with id \"2\"",
                                        "queueDatas: skipped an entry without a brokerName",
                                        "queueDatas: skipped broker \"nowhere\", which is not in brokerDatas",
                                        "queueDatas: skipped the entry of broker \"a\"; its perm and counts must be numbers"}));
}

TEST(ParseRoute, CutsCountsThatNoTopicHas)
{
    const topic_route r = parsed(R"({"brokerDatas":[{"brokerAddrs":{"0":"h:1"},"brokerName":"a"}],
        "queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":-1,"writeQueueNums":99999999999}]})");
    EXPECT_EQ(r.publish.size(), 65535u);
    EXPECT_TRUE(r.subscribe.empty());
    EXPECT_EQ(r.brokers[0].write_queues, 65535);
    EXPECT_EQ(r.brokers[0].read_queues, 0);
    EXPECT_EQ(r.warnings, (std::vector<std::string>{"broker \"a\": readQueueNums is -1; taken as 0",
                                                    "broker \"a\": writeQueueNums is 99999999999; taken as 65535"}));
}

TEST(ParseRoute, TakesWhatTwoEntriesForOneBrokerAgreeOn)
{
    for (const auto order : {0, 1}) {
        const std::string one = R"({"brokerName":"a","perm":6,"readQueueNums":4,"writeQueueNums":8})";
        const std::string two = R"({"brokerName":"a","perm":4,"readQueueNums":8,"writeQueueNums":2})";
        const topic_route r = parsed(R"({"brokerDatas":[{"brokerAddrs":{"0":"h:1"},"brokerName":"a"}],"queueDatas":[)" +
                                     (order == 0 ? one + "," + two : two + "," + one) + "]}");
        EXPECT_EQ(r.brokers.at(0).perm, 4);
        EXPECT_EQ(r.brokers[0].read_queues, 4);
        EXPECT_EQ(r.brokers[0].write_queues, 2);
        EXPECT_EQ(r.warnings.size(), 1u);
    }
}

TEST(ParseRoute, TakesTheQueuesOfAnOrderConfiguration)
{
    const topic_route r = parsed(with_conf("b:2;a:1"));
    EXPECT_TRUE(r.ordered);
    EXPECT_EQ(r.order_conf, "b:2;a:1");
    EXPECT_EQ(shown(r, r.publish), "a/0 b/0 b/1");
    EXPECT_TRUE(r.same_as(parsed(with_conf("a:1;b:2")))) << "its spelling does not matter";
}

TEST(ParseRoute, SkipsBadPartsOfAnOrderConfiguration)
{
    const topic_route r = parsed(with_conf("a:8;b"));
    EXPECT_EQ(r.publish.size(), 8u);
    EXPECT_EQ(r.warnings.size(), 1u);
    EXPECT_EQ(parsed(with_conf("a:99999999999")).publish.size(), 65535u);
}

TEST(ParseRoute, RefusesAnOrderConfigurationWithNothingGoodInIt)
{
    for (const auto conf : {"b", "a:x", "a:-1", "a:0", ":3", "a:3:4", ";;"})
        EXPECT_NE(refused(with_conf(conf)).find("names no queue"), std::string::npos) << conf;
    EXPECT_EQ(shown(parsed(with_conf("")), parsed(with_conf("")).publish), "a/0") << "an empty one counts as none";
}

std::string static_topic(std::string_view epoch_a, std::string_view epoch_b)
{
    return R"({"brokerDatas":[{"brokerAddrs":{"0":"h:1"},"brokerName":"a"},{"brokerAddrs":{"0":"h:2"},"brokerName":"b"}],
        "queueDatas":[{"brokerName":"a","perm":6,"readQueueNums":2,"writeQueueNums":2}],"topicQueueMappingByBroker":{
        "a":{"bname":"a","currIdMap":{0:0,2:1,3:2},"dirty":false,"epoch":)" + std::string{epoch_a} +
           R"(,"scope":"__global__","topic":"T","totalQueues":4},
        "b":{"bname":"b","currIdMap":{"1":0,"3":1,"9":1,"x":1},"epoch":)" + std::string{epoch_b} + R"(,"scope":"__global__","totalQueues":4}}})";
}

TEST(ParseRoute, GivesALogicalQueueToTheHigherEpoch)
{
    const topic_route r = parsed(static_topic("7", "\"9007199254740993\""));
    EXPECT_EQ(shown(r, r.publish), "a/0 b/1 a/2 b/3");
    EXPECT_EQ(shown(r, r.subscribe), "a/0 b/1 a/2 b/3");
    const topic_route other = parsed(static_topic("\"9007199254740993\"", "9007199254740992"));
    EXPECT_EQ(shown(other, other.publish), "a/0 b/1 a/2 a/3");
    EXPECT_EQ(r.warnings.size(), 2u) << "queues 9 and x are none of four";
}

TEST(ParseRoute, KeepsTheQueueOfALogicalOwnerThatIsAway)
{
    const topic_route r = parsed(R"({"brokerDatas":[],"topicQueueMappingByBroker":{"a":{"bname":"a","currIdMap":{"0":0},
        "epoch":1,"scope":"__global__","totalQueues":2}}})");
    EXPECT_EQ(shown(r, r.publish), "a/0");
    EXPECT_EQ(r.logical_owners, (std::vector<std::string>{"a", ""}));
}

TEST(ParseRoute, SaysWhatIsWrongWithTextThatIsNoRoute)
{
    for (const auto json : {"", " ", "null", "[]", "\"x\"", "{", "{]", "{}x", "{}{}", "HTTP/1.1 200", "{\"brokerDatas\":{}}",
                            "{\"brokerDatas\":7}", "{\"queueDatas\":\"x\"}", "{\"orderTopicConf\":7}", "{1.5:2}", "{-:2}",
                            "{\"a\":[1:2]}", "{\"topicQueueMappingByBroker\":[]}", "{\"a\":1,}", "{\"a\":\"\\", "{\"a\":\"x"}) {
        const std::string error = refused(json);
        EXPECT_TRUE(error.starts_with("route of \"T\": ")) << error;
    }
}

TEST(ParseRoute, RefusesReferencesToOtherPlaces)
{
    EXPECT_NE(refused(R"({"brokerDatas":[{"$ref":"$.brokerDatas[0]"}]})").find("$ref"), std::string::npos);
}

TEST(ParseRoute, RefusesEveryCutOfAnAnswer)
{
    const std::string_view text = legacy;
    for (std::size_t size = 0; size < text.size(); ++size)
        EXPECT_FALSE(parse_route("T", text.substr(0, size)).route) << size;
}

TEST(ParseRoute, BoundsDepthAndSize)
{
    EXPECT_FALSE(refused("{\"x\":" + std::string(10000, '[')).empty());
    EXPECT_FALSE(refused("{\"x\":" + std::string(20, '[') + std::string(20, ']') + "}").empty());
    EXPECT_NE(refused("{\"x\":[" + std::string(16 * 1024 * 1024, ' ') + "]}").find("at most"), std::string::npos);
    std::string many = "{\"x\":[0";
    for (int i = 0; i < 2100000; ++i)
        many += ",0";
    EXPECT_NE(refused(many + "]}").find("more than 2000000 values"), std::string::npos);
    EXPECT_EQ(parsed("{}" + std::string(16 * 1024 * 1024 - 2, ' ')).brokers.size(), 0u) << "exactly 16 MiB";
}

TEST(ParseRoute, ReadsAThousandBrokersInTimeThatGrowsWithTheirNumber)
{
    // Quadratic work would need minutes here: ten times the brokers of the largest cluster known.
    constexpr int count = 10000;
    std::string json = "{\"brokerDatas\":[", queues;
    for (int i = count; i > 0; --i) {
        const std::string name = "broker-" + std::to_string(i);
        json += (i == count ? "" : ",") + std::string{"{\"brokerAddrs\":{0:\"10.0.0.1:10911\",1:\"10.0.0.2:10911\"},\"brokerName\":\""} +
                name + "\",\"cluster\":\"DefaultCluster\"}";
        queues += (i == count ? "" : ",") + std::string{"{\"brokerName\":\""} + name +
                  "\",\"perm\":6,\"readQueueNums\":16,\"topicSysFlag\":0,\"writeQueueNums\":16}";
    }
    json += "],\"queueDatas\":[" + queues + "]}";

    const topic_route r = parsed(json);

    EXPECT_EQ(r.publish.size(), 160000u);
    EXPECT_TRUE(r.warnings.empty());
}

TEST(ParseRoute, KeepsItsWarningsFew)
{
    std::string json = "{\"queueDatas\":[{}";
    for (int i = 0; i < 100000; ++i)
        json += ",{\"brokerName\":\"b" + std::to_string(i) + "\"}";
    EXPECT_EQ(parsed(json + "]}").warnings.size(), 17u);
}

// --- what real name servers answered -----------------------------------------------------------------------------------

topic_route captured_route(const std::string& name)
{
    const auto c = wire::test::captured_frame(name);
    return parsed(wire::test::whole_frame(c.bytes).body);
}

TEST(ParseRoute, ReadsCapturedAnswers)
{
    const topic_route existing = captured_route("route-existing.resp");
    ASSERT_EQ(existing.brokers.size(), 1u);
    EXPECT_EQ(existing.brokers[0].name, "broker-a");
    EXPECT_EQ(existing.brokers[0].cluster, "DefaultCluster");
    EXPECT_EQ(*existing.brokers[0].master(), "127.0.0.1:30911");
    EXPECT_EQ(existing.publish.size(), 4u);

    const topic_route ordered = captured_route("route-order-topic.resp");
    EXPECT_TRUE(ordered.ordered);
    EXPECT_EQ(ordered.order_conf, "broker-a:4");
    EXPECT_EQ(ordered.publish.size(), 4u);

    EXPECT_TRUE(captured_route("route-legacy-v333.resp").same_as(captured_route("route-strict-flag-v333.resp")));
    EXPECT_EQ(*captured_route("route-legacy-v333.resp").brokers.at(0).master(), "127.0.0.1:20911");
}

TEST(ParseRoute, ReadsTheCapturedTemplate)
{
    const topic_route tbw = captured_route("route-auto-2-tbw102.resp");
    ASSERT_EQ(tbw.brokers.size(), 1u);
    EXPECT_EQ(tbw.brokers[0].perm, 7);
    EXPECT_EQ(tbw.publish.size(), 8u);
    EXPECT_EQ(from_template("New", tbw, 4).publish.size(), 4u);
}

TEST(ParseRoute, ReadsTheWorkedLegacyAnswer)
{
    const std::string bytes = wire::test::from_hex(wire::worked::legacy_route_answer);
    const topic_route r = parsed(wire::test::whole_frame(bytes).body);
    ASSERT_EQ(r.brokers.size(), 1u);
    EXPECT_EQ(r.brokers[0].addresses,
              (std::map<std::int64_t, std::string>{{0, "127.0.0.1:10911"}, {1, "127.0.0.1:10921"}}));
    EXPECT_EQ(r.publish.size(), 8u);
}

TEST(ParseCluster, ReadsBareNumbersAndSortsByName)
{
    std::string error;
    const auto all = parse_cluster(R"({"brokerAddrTable":{"b":{"brokerAddrs":{0:"h:2",1:"h:3"},"brokerName":"b","cluster":"C"},)"
                                   R"("a":{"brokerAddrs":{"0":"h:1"},"brokerName":"a","cluster":"C"}},"clusterAddrTable":{"C":["a","b"]}})", error);
    EXPECT_EQ(error, "");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].name, "a");
    EXPECT_EQ(*all[0].master(), "h:1");
    EXPECT_EQ(*all[1].master(), "h:2");
    EXPECT_EQ(all[1].addresses.size(), 2u);
    EXPECT_EQ(all[1].cluster, "C");
}

TEST(ParseCluster, SaysWhatIsWrong)
{
    for (const char* text : {"", "[]", "{", "{}", R"({"brokerAddrTable":[]})", R"({"brokerAddrTable":{}} more)"}) {
        std::string error;
        EXPECT_TRUE(parse_cluster(text, error).empty()) << text;
        EXPECT_NE(error, "") << text;
    }
}

}  // namespace
}  // namespace shunt::route
