// Many things at once: faults that come and go under load, and clients that send nonsense.

#include "raw_client.hpp"

#include <cluster/embedded_cluster.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

using cluster::embedded_cluster;
namespace code = wire::code;

/// Sends `count` messages with ids "NAME-i" one after another, over as many connections as it takes, and returns the ids
/// that were answered as stored.
std::set<std::string> send_all(const embedded_cluster& cluster, const std::string& name, int count)
{
    std::set<std::string> stored;
    std::unique_ptr<raw_client> client;
    for (int i = 0; i < count; ++i) {
        while (client == nullptr || !client->connected()) {
            client = std::make_unique<raw_client>(cluster.broker_address("broker-a"));
            std::this_thread::yield();
        }
        const std::string id = name + '-' + std::to_string(i);
        client->send(encoded({.opaque = i, .queue = i % 4, .properties = "UNIQ_KEY\x01" + id + '\x02', .body = id}));
        std::optional<answer> got;
        do
            got = client->receive();
        while (got && got->opaque != i);  // a second answer to an earlier one
        if (!got)
            client.reset();
        else if (got->code == 0)
            stored.insert(id);
    }
    return stored;
}

TEST(EmbeddedStorm, WhatWasAnsweredAsStoredIsInTheLedgerExactlyOnce)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T"));
    constexpr int clients = 3, each = 400;
    std::vector<std::set<std::string>> stored(clients);
    std::atomic<int> running{clients};
    std::vector<std::thread> threads;
    for (int c = 0; c < clients; ++c)
        threads.emplace_back([&, c] {
            stored[static_cast<std::size_t>(c)] = send_all(cluster, std::string(1, static_cast<char>('a' + c)), each);
            --running;
        });

    const std::vector<std::string> faults{"drop", "half", "code 2", "twice", "refuse", "close", "garbage", "drop stored",
                                          "latency 1ms", "move 0", "gone", "queues 1 T", "perm 4"};
    for (std::size_t i = 0; running != 0; ++i) {
        const auto a_few_sends = [&, before = cluster.counts("broker-a").sends] {
            return running == 0 || cluster.counts("broker-a").sends > before + 5;
        };
        EXPECT_FALSE(cluster.command("broker-a " + faults[i % faults.size()]));
        (void)cluster.wait_until(a_few_sends, std::chrono::milliseconds(5));  // none come where it refuses
        (void)cluster.snapshot("T");
        EXPECT_FALSE(cluster.command("broker-a ok"));
    }
    for (std::thread& t : threads)
        t.join();

    std::set<std::string> ledger;
    for (const auto& r : cluster.snapshot("T")) {
        EXPECT_TRUE(ledger.insert(r.msg_id).second) << r.msg_id << " is there twice";
        EXPECT_EQ(r.msg_id, r.body);
    }
    std::size_t answered = 0;
    for (const auto& ids : stored) {
        answered += ids.size();
        for (const std::string& id : ids)
            EXPECT_TRUE(ledger.contains(id)) << id;
    }
    EXPECT_GT(answered, 0U);
    EXPECT_TRUE(cluster.wait_until([&] { return cluster.counts("broker-a").open == 0; }, patience));
}

TEST(EmbeddedStorm, NonsenseHarmsNobodyElse)
{
    embedded_cluster cluster({.brokers = 1});
    ASSERT_FALSE(cluster.create_topic("T"));
    raw_client good(cluster.broker_address("broker-a"));
    const std::vector<std::string> models{
        encoded({}),
        encoded({.format = wire::header_format::binary}),
        encoded({.code = code::send_message}),
        encoded({.code = code::send_batch_message, .body = batch_item("x", "UNIQ_KEY\x01" "X\x02"), .batch = true}),
        encoded({.code = code::send_reply_message_v2, .properties = "REPLY_TO_CLIENT\x01" "c\x02"}),
        request(code::heart_beat, {}, 1, R"({"clientID":"c","producerDataSet":[{"groupName":"PG"}]})"),
        request(code::pull_message, {{"topic", "T"}, {"queueId", "0"}, {"queueOffset", "0"}, {"maxMsgNums", "32"}}, 1),
        request(code::end_transaction, {{"commitOrRollback", "8"}, {"commitLogOffset", "0"}, {"producerGroup", "PG"}}, 1)};
    std::mt19937 random(1);

    for (int round = 0; round < 800; ++round) {
        std::string bytes = models[static_cast<std::size_t>(round) % models.size()];
        const int changes = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < changes; ++i)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        if (random() % 4 == 0)
            bytes.resize(random() % bytes.size());
        raw_client bad(cluster.broker_address("broker-a"));
        bad.send(bytes);
    }

    const auto stored = good.ask(encoded({.opaque = 5}));
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->code, 0);
    EXPECT_TRUE(cluster.wait_until([&] { return cluster.counts("broker-a").open == 1; }, patience));
}

}  // namespace
}  // namespace shunt::test
