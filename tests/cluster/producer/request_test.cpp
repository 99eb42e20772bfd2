// Requests: the reply that belongs to each, those that never come, come late or twice, and what ends them.

#include <support/producer_situation.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

namespace shunt::test {
namespace {

struct Requests : testing::Test {
    Requests() : p(started(options_for(cluster)))
    {
        topic(cluster, "T");
        o = options_for(cluster);
        o.group = "answering";
    }
    static send_options within(std::chrono::milliseconds timeout)
    {
        send_options s;
        s.timeout = timeout;
        return s;
    }
    cluster::embedded_cluster cluster;
    producer_options o;
    producer p;
};

TEST_F(Requests, GetTheReplyThatIsTheirs)
{
    producer other = started(o);
    std::atomic<int> ready{0};
    other.answer_requests("T", [&](const stored_message& m) { ++ready; return "re: " + m.body; });
    ASSERT_TRUE(eventually([&] { return !p.request(message("T", "are you there"), within(300ms)).error; }));
    std::vector<std::future<reply_receipt>> all;
    for (int i = 0; i < 20; ++i)
        all.push_back(p.async_request(message("T", "question " + std::to_string(i)), within(10s), boost::asio::use_future));
    for (int i = 0; i < 20; ++i) {
        const reply_receipt r = all[static_cast<std::size_t>(i)].get();
        EXPECT_FALSE(r.error) << r.reason;
        EXPECT_EQ(r.body, "re: question " + std::to_string(i));
        EXPECT_EQ(r.send.outcome, outcome::stored) << shown(r.send);
        EXPECT_EQ(r.property("MSG_TYPE"), "reply");
    }
    expect_quiet(p);
}

TEST_F(Requests, AreAnsweredOnQueuesThatCameLater)
{
    auto often = o;
    often.route_refresh = 100ms;
    producer other = started(often), asking = started(often);
    other.answer_requests("T", [](const stored_message& m) { return "re: " + m.body; });
    ASSERT_TRUE(eventually([&] { return !p.request(message("T", "are you there"), within(300ms)).error; }));
    command(cluster, "broker-b queues 6 T");
    send_options there = within(10s);
    there.queue = {"broker-b", 5};
    reply_receipt r;
    ASSERT_TRUE(eventually([&] { return !(r = asking.request(message("T", "and here"), send_options(there))).error; })) << r.reason;
    EXPECT_EQ(r.body, "re: and here");
}

TEST_F(Requests, CarryWhatTheAnsweringSideNeeds)
{
    auto mine = options_for(cluster);
    mine.unit_name = "unit-7";
    producer in_unit = started(mine);
    (void)in_unit.request(message("T", "x"), within(200ms));
    const auto all = cluster.snapshot("T");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].property("CORRELATION_ID").size(), 36u);
    EXPECT_TRUE(all[0].property("REPLY_TO_CLIENT").ends_with("@unit-7")) << all[0].property("REPLY_TO_CLIENT");
    EXPECT_FALSE(all[0].property("TTL").empty());
}

TEST_F(Requests, ThatNobodyAnswersEndByTheirTimeout)
{
    const auto before = clock::now();
    const reply_receipt r = p.request(message("T", "x"), within(300ms));

    EXPECT_EQ(r.error, errc::reply_timeout) << r.reason;
    EXPECT_EQ(r.send.outcome, outcome::stored);
    EXPECT_GE(clock::now() - before, 300ms);
    EXPECT_LT(clock::now() - before, 300ms + grace());
    expect_quiet(p);
}

TEST_F(Requests, DropRepliesThatComeLateOrTwice)
{
    producer other = started(o);
    EXPECT_EQ(p.request(message("T", "x"), within(200ms)).error, errc::reply_timeout);
    const auto kept = p.view("T", cluster.snapshot("T").at(0).msg_id);
    ASSERT_TRUE(kept);
    for (int i = 0; i < 2; ++i) {
        const receipt r = other.reply(*kept, message({}, "late"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    }
    EXPECT_TRUE(eventually([&] { return p.counters().late_answers >= 2; }));
    EXPECT_EQ(p.deliver(message("T", "well")).outcome, outcome::stored);
}

TEST_F(Requests, TakeRepliesThatAreCompressedAndRefuseThoseThatWouldBurst)
{
    o.compress = compression::zlib;
    producer other = started(o);
    auto small = options_for(cluster);
    small.max_inflated = 1024 * 1024;
    producer careful = started(small);
    std::atomic<std::size_t> size{100'000};
    other.answer_requests("T", [&](const stored_message&) { return std::string(size, 'z'); });
    reply_receipt r;
    ASSERT_TRUE(eventually([&] { return !(r = careful.request(message("T", "x"), within(500ms))).error; })) << r.reason;
    EXPECT_EQ(r.body, std::string(100'000, 'z'));
    size = 2 * 1024 * 1024;
    r = careful.request(message("T", "x"), within(10s));
    EXPECT_EQ(r.error, errc::bad_reply);
    EXPECT_NE(r.reason.find("max_inflated"), std::string::npos) << r.reason;
    EXPECT_TRUE(r.body.empty());
}

TEST_F(Requests, AreNotRepliedToWithoutBeingRequests)
{
    ASSERT_TRUE(p.send(message("T", "plain")));
    const auto kept = p.view("T", cluster.snapshot("T").at(0).msg_id);
    ASSERT_TRUE(kept);
    const receipt r = p.reply(*kept, message({}, "answer"));
    EXPECT_EQ(r.error, errc::invalid_reply);
    EXPECT_NE(r.reason.find("CORRELATION_ID"), std::string::npos) << r.reason;
}

TEST_F(Requests, EndWithTheProducer)
{
    auto f = p.async_request(message("T", "x"), within(60s), boost::asio::use_future);
    ASSERT_TRUE(cluster.wait_until([&] { return cluster.snapshot("T").size() == 1; }, patience));
    p.close(100ms);
    ASSERT_EQ(f.wait_for(patience), std::future_status::ready);
    EXPECT_THROW(f.get(), boost::system::system_error);
    EXPECT_EQ(p.request(message("T", "x")).error, errc::closed);
}

TEST_F(Requests, OfWrongMessagesAreRefusedAsOtherSends)
{
    EXPECT_EQ(p.request(message("T", "")).error, errc::empty_body);
    EXPECT_EQ(p.request(message("a b", "x")).error, errc::invalid_topic);
    EXPECT_EQ(p.request(message("T", "x"), within(-1ms)).error, errc::invalid_settings);
    expect_quiet(p);
}

// Nobody was asked for its sake, and no broker was told of this client.
TEST_F(Requests, ToATopicThatIsNoneAreRefusedBeforeAnythingIsAsked)
{
    for (const auto& [name, why] : {std::pair{"a b", errc::invalid_topic}, std::pair{"", errc::invalid_topic}, std::pair{"TBW102", errc::forbidden_topic}}) {
        const reply_receipt r = p.request(message(name, "x"), within(10s));
        EXPECT_EQ(r.error, why) << name << ": " << r.reason;
        EXPECT_EQ(r.send.outcome, outcome::not_sent);
        EXPECT_FALSE(r.reason.empty());
    }
    EXPECT_EQ(p.counters().heartbeats, 0u);
    EXPECT_EQ(p.counters().route_queries, 0u);
    EXPECT_EQ(p.counters().connects, 0u);
}

TEST_F(Requests, AreCompletedOnTheHandlersExecutor)
{
    boost::asio::io_context mine;
    std::thread::id ran_on;
    p.async_request(message("T", "x"), within(100ms), boost::asio::bind_executor(mine, [&](error_code, const reply_receipt&) { ran_on = std::this_thread::get_id(); }));
    mine.run();
    EXPECT_EQ(ran_on, std::this_thread::get_id());
}

}  // namespace
}  // namespace shunt::test
