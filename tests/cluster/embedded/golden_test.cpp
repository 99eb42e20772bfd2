// Requests recorded from the Java client, sent byte for byte: the answers must be those a real broker or name server
// gave, but for what differs from run to run (ids, ports, times).

#include <support/paths.hpp>

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;

/// Bytes of tests/data/frames/NAME.hex.
std::string recorded(const std::string& name)
{
    std::ifstream file(shunt::test::in_source("/tests/data/frames/") + name + ".hex");
    EXPECT_TRUE(file) << name;
    std::string bytes;
    int high = -1;
    for (char c = 0; file.get(c);) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            continue;
        if (high < 0)
            high = digit;
        else {
            bytes += static_cast<char>(high * 16 + digit);
            high = -1;
        }
    }
    return bytes;
}

answer decoded(const std::string& bytes)
{
    const wire::scan_result found = wire::scan(bytes);
    wire::command_decoder decoder;
    wire::command head;
    EXPECT_EQ(found.status, wire::scan_status::complete);
    EXPECT_TRUE(decoder.decode(found.parts, head)) << decoder.error();
    answer a;
    a.code = head.code;
    a.opaque = head.opaque;
    a.flag = head.flag;
    a.language = head.language;
    a.remark = head.remark;
    for (const wire::field& f : head.fields)
        a.fields[std::string(f.name)] = f.value;
    a.body = found.parts.body;
    return a;
}

/// "127.0.0.1:PORT" for every port; of a Java exception only its name.
std::string without_ports(std::string text)
{
    if (text.rfind("java.", 0) == 0)
        return text.substr(0, text.find_first_of(":,"));
    const std::string host = "127.0.0.1:";
    for (auto at = text.find(host); at != std::string::npos; at = text.find(host, at + 1)) {
        const auto from = at + host.size();
        auto to = from;
        while (to < text.size() && text[to] >= '0' && text[to] <= '9')
            ++to;
        text.replace(from, to - from, "PORT");
    }
    return text;
}

std::set<std::string> names(const answer& a)
{
    std::set<std::string> all;
    for (const auto& [name, value] : a.fields)
        all.insert(name);
    return all;
}

struct exchange {
    const char* name;
    bool with_name_server = false;
    bool auto_create = true;
};
std::ostream& operator<<(std::ostream& out, const exchange& e)
{
    return out << e.name;
}

class EmbeddedGolden : public testing::TestWithParam<exchange> {};

TEST_P(EmbeddedGolden, AnswersAsARealOneDid)
{
    const exchange& e = GetParam();
    embedded_cluster cluster({.brokers = 1, .auto_create = e.auto_create});
    for (const char* topic : {"FrameT", "RT", "AT"})
        ASSERT_FALSE(cluster.create_topic(topic));
    ASSERT_FALSE(cluster.create_topic("FrameOrder", {.order = true}));
    if (std::string_view(e.name).substr(0, 8) == "read-11-") {
        ASSERT_TRUE(raw_client(cluster.broker_address("broker-a")).ask(encoded({.topic = "RT", .queue = 3})));
    }
    raw_client client(e.with_name_server ? cluster.name_server() : cluster.broker_address("broker-a"));
    const answer expected = decoded(recorded(std::string(e.name) + ".resp"));

    const auto got = client.ask(recorded(std::string(e.name) + ".req"));

    ASSERT_TRUE(got);
    EXPECT_EQ(got->code, expected.code);
    EXPECT_EQ(got->opaque, expected.opaque);
    EXPECT_EQ(got->flag, expected.flag);
    EXPECT_EQ(got->language, expected.language);
    EXPECT_EQ(without_ports(got->remark), without_ports(expected.remark));
    EXPECT_EQ(names(*got), names(expected));
    for (const char* same : {"queueId", "transactionId", "MSG_REGION", "TRACE_ON", "nextBeginOffset", "maxOffset", "minOffset"})
        EXPECT_EQ(got->field(same), expected.field(same)) << same;
    if (e.with_name_server) {
        EXPECT_EQ(without_ports(got->body), without_ports(expected.body));
    }
}

INSTANTIATE_TEST_SUITE_P(
    NameServer, EmbeddedGolden,
    testing::Values(exchange{"route-existing", true}, exchange{"route-absent", true}, exchange{"route-tbw102-absent", true, false},
                    exchange{"route-auto-2-tbw102", true}, exchange{"route-order-topic", true}, exchange{"bin-route", true},
                    exchange{"err-17-route-absent", true}, exchange{"err-3-send-to-name-server", true}),
    [](const auto& one) {
        std::string name = one.param.name;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

INSTANTIATE_TEST_SUITE_P(
    Broker, EmbeddedGolden,
    testing::Values(exchange{"heartbeat"}, exchange{"unregister"}, exchange{"bin-heartbeat"}, exchange{"bin-unregister"},
                    exchange{"send-plain"}, exchange{"send-props"}, exchange{"send-batch"}, exchange{"send-autobatch"},
                    exchange{"send-zlib"}, exchange{"send-lz4"}, exchange{"send-zstd"}, exchange{"send-delay-level"},
                    exchange{"send-order-topic"}, exchange{"send-auto-3-create"}, exchange{"v1-send"}, exchange{"bin-send"},
                    exchange{"bin-send-props"}, exchange{"bin-send-batch"}, exchange{"acl-send"}, exchange{"acl-batch"},
                    exchange{"tx-prepare"}, exchange{"err-1-delay-not-a-number"}, exchange{"err-13-timer-too-far"},
                    exchange{"err-29-queue-id"}, exchange{"err-29-topic-chars"}, exchange{"err-29-topic-128"},
                    exchange{"err-16-system-topic"}, exchange{"err-1-empty-body"}, exchange{"err-13-batch-with-delay"},
                    exchange{"err-1-batch-garbage"}, exchange{"err-3-unknown-code"}, exchange{"err-16-recall-disabled"},
                    exchange{"err-1-end-transaction-not-found"}, exchange{"err-17-send-unknown-topic", false, false},
                    exchange{"admin-17-create-topic"}, exchange{"read-30-max-offset"}, exchange{"read-31-min-offset"},
                    exchange{"read-11-pull-found"}, exchange{"read-11-pull-19-nothing"},
                    exchange{"read-11-pull-21-offset-moved"}),
    [](const auto& one) {
        std::string name = one.param.name;
        std::replace(name.begin(), name.end(), '-', '_');
        return name;
    });

}  // namespace
}  // namespace shunt::test
