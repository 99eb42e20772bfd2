// Batches made by hand: what lies in the queue, what the receipts say, what cannot travel together.

#include <support/producer_situation.hpp>

#include <boost/asio/use_future.hpp>

#include <future>

namespace shunt::test {
namespace {

struct Batches : testing::Test {
    Batches() : p(started(options_for(cluster))) {}

    static std::vector<message> list(int n, std::size_t size = 10)
    {
        std::vector<message> all;
        for (int i = 0; i < n; ++i)
            all.push_back(message("T", std::string(size, static_cast<char>('a' + i % 26))).add_key("k" + std::to_string(i)).set_flag(i).set_property("n", std::to_string(i)));
        return all;
    }
    void expect_refused(std::vector<message> all, errc why, const std::string& word)
    {
        const batch_receipt r = p.deliver_batch(all);
        EXPECT_EQ(r.send.error, why) << r.send.reason;
        EXPECT_NE(r.send.reason.find(word), std::string::npos) << r.send.reason;
        EXPECT_EQ(r.send.outcome, outcome::not_sent);
        std::promise<error_code> told;
        p.async_send_batch(std::move(all), {}, [&told](error_code ec, const batch_receipt&) { told.set_value(ec); });
        EXPECT_EQ(told.get_future().get(), why);
        EXPECT_EQ(cluster.stored(), 0u);
    }
    cluster::embedded_cluster cluster;
    producer p;
};

TEST_F(Batches, LieOneByOneInOneQueueEachWithWhatIsItsOwn)
{
    const auto r = p.send_batch(list(20));

    ASSERT_TRUE(r) << r.error().message();
    ASSERT_EQ(r->size(), 20u);
    const auto all = cluster.snapshot("T");
    ASSERT_EQ(all.size(), 20u);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const receipt one = r->of(i);
        EXPECT_EQ(all[i].msg_id, one.msg_id.view());
        EXPECT_EQ(all[i].offset_msg_id, one.offset_msg_id.view());
        EXPECT_EQ(all[i].offset, one.offset);
        EXPECT_EQ(all[i].queue, one.queue);
        EXPECT_EQ(all[i].broker, one.broker);
        EXPECT_EQ(all[i].key, "k" + std::to_string(i));
        EXPECT_EQ(all[i].flag, static_cast<int>(i));
        EXPECT_EQ(all[i].property("n"), std::to_string(i));
    }
    EXPECT_EQ(p.counters().attempts, 1u);
    expect_quiet(p);
}

TEST_F(Batches, CompleteOnceWhenSentAsync)
{
    auto f = p.async_send_batch(list(3), {}, boost::asio::use_future);
    ASSERT_EQ(f.wait_for(patience), std::future_status::ready);
    const batch_receipt r = f.get();
    EXPECT_EQ(r.send.outcome, outcome::stored) << shown(r.send);
    EXPECT_EQ(r.offset_msg_ids.size(), 3u);
    EXPECT_EQ(cluster.snapshot("T").size(), 3u);
}

TEST_F(Batches, AreRefusedWithTheMessageThatDoesNotBelong)
{
    auto all = list(3);
    all[2].set_topic("U");
    expect_refused(all, errc::invalid_batch, "message 2 of the list is for topic 'U'");
    all = list(3);
    all[1].set_wait_store(false);
    expect_refused(all, errc::invalid_batch, "message 1 of the list has another wait_store");
    all = list(3);
    all[1].set_order_key("o");
    expect_refused(all, errc::invalid_batch, "order key");
    for (const auto& delay : {message("T", "x").set_delay_level(1), message("T", "x").set_delay(1s)})
        expect_refused({message("T", "x"), delay}, errc::invalid_batch, "message 1 of the list has a delay");
    all = list(3);
    all[2].set_body("");
    expect_refused(all, errc::empty_body, "message 2");
    expect_refused({}, errc::invalid_batch, "empty");
}

TEST_F(Batches, ThatAreTooLargeTellWhatDidNotFit)
{
    expect_refused(list(5, 1024 * 1024), errc::batch_too_large, "message 3 of the list");
}

TEST_F(Batches, AreAsManyAsItTakesWhereThatIsWanted)
{
    const auto sent = p.deliver_batches(list(10, 1024 * 1024));

    ASSERT_EQ(sent.size(), 4u) << "three of a MiB fit into 4 MiB";
    std::size_t next = 0;
    for (const batch_receipt& b : sent) {
        EXPECT_EQ(b.send.outcome, outcome::stored) << shown(b.send);
        EXPECT_EQ(b.first, next);
        next += b.size();
    }
    EXPECT_EQ(next, 10u);
    EXPECT_EQ(cluster.snapshot("T").size(), 10u);
}

TEST_F(Batches, WithOneWrongMessageSendNothingThoughTheyWouldBeMany)
{
    auto all = list(10, 1024 * 1024);
    all[9].set_body(std::string(4 * 1024 * 1024 - 10, 'x'));
    const auto sent = p.deliver_batches(all);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].send.error, errc::batch_too_large);
    EXPECT_NE(sent[0].send.reason.find("message 9"), std::string::npos) << sent[0].send.reason;
    EXPECT_EQ(cluster.stored(), 0u);
}

TEST_F(Batches, AreRetriedAsAWhole)
{
    command(cluster, "broker-a code 2");
    std::size_t retried = 0;
    for (int i = 0; i < 12; ++i) {  // once round all queues, wherever the rotation began
        const batch_receipt r = p.deliver_batch(list(2));
        EXPECT_EQ(r.send.outcome, outcome::stored) << shown(r.send);
        retried += r.send.attempts.size() > 1 ? 1 : 0;
    }
    EXPECT_GE(retried, 1u);
    EXPECT_EQ(cluster.snapshot("T").size(), 24u);
}

}  // namespace
}  // namespace shunt::test
