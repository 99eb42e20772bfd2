// Transactions: what consumers can read, what was refused stays unread, and who answers when the end got lost.

#include <support/producer_situation.hpp>

namespace shunt::test {
namespace {

cluster::options asking_soon()
{
    cluster::options o;
    o.brokers = 2;
    o.transaction_timeout = 100ms;
    o.transaction_interval = 100ms;
    o.transaction_checks = 100'000;
    return o;
}

struct Transactions : testing::Test {
    Transactions() : cluster(asking_soon()), p(started(options_for(cluster))) {}

    static transaction_branch ends(transaction_end e)
    {
        return [e](const message&, const receipt&) { return e; };
    }
    bool readable(std::size_t n)
    {
        return cluster.wait_until([&] { return cluster.snapshot("T").size() == n; }, patience);
    }
    cluster::embedded_cluster cluster;
    producer p;
};

TEST_F(Transactions, ThatCommitAreRead)
{
    std::string seen;
    const auto t = p.send_transaction(message("T", "in two steps").add_key("k"), [&](const message& m, const receipt& half) {
        seen = m.body();
        EXPECT_EQ(half.outcome, outcome::stored);
        EXPECT_TRUE(cluster.snapshot("T").empty()) << "not before the branch says so";
        return transaction_end::commit;
    });

    EXPECT_EQ(t.end, transaction_end::commit);
    EXPECT_TRUE(t.confirmed) << t.reason;
    EXPECT_EQ(seen, "in two steps");
    const auto all = cluster.snapshot("T");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].msg_id, t.half.msg_id.view());
    EXPECT_EQ(all[0].key, "k");
    EXPECT_EQ(all[0].sys_flag, 8);
    EXPECT_EQ(all[0].property("PGROUP"), "tests");
}

TEST_F(Transactions, ThatRollBackAreNever)
{
    const auto t = p.send_transaction(message("T", "x"), ends(transaction_end::rollback));

    EXPECT_EQ(t.end, transaction_end::rollback);
    EXPECT_TRUE(t.confirmed) << t.reason;
    EXPECT_TRUE(cluster.snapshot("T").empty());
    EXPECT_EQ(cluster.snapshot("RMQ_SYS_TRANS_HALF_TOPIC").size(), 1u);
}

TEST_F(Transactions, ThatAreNotDecidedAreAskedAbout)
{
    std::atomic<int> asked{0};
    p.answer_checks({"T"}, [&](const stored_message& half) {
        EXPECT_EQ(half.body, "x");
        EXPECT_EQ(half.topic, "T");
        return ++asked < 3 ? transaction_end::unknown : transaction_end::commit;
    });

    const auto t = p.send_transaction(message("T", "x"), ends(transaction_end::unknown));

    EXPECT_EQ(t.end, transaction_end::unknown);
    EXPECT_FALSE(t.confirmed);
    ASSERT_TRUE(readable(1));
    EXPECT_GE(asked, 3);
    EXPECT_EQ(cluster.snapshot("T")[0].msg_id, t.half.msg_id.view());
}

TEST_F(Transactions, AreAnsweredForByAnotherProgramOfTheGroup)
{
    const auto t = p.send_transaction(message("T", "x").set_property("order", "7"), ends(transaction_end::unknown));
    ASSERT_EQ(t.half.outcome, outcome::stored);
    p.close();
    producer restarted = started(options_for(cluster));

    restarted.answer_checks({"T"}, [](const stored_message& half) {
        return half.property("order") == "7" ? transaction_end::commit : transaction_end::rollback;
    });

    ASSERT_TRUE(readable(1));
}

TEST_F(Transactions, OfOtherGroupsAreNotAnsweredFor)
{
    auto o = options_for(cluster);
    o.group = "others";
    producer others = started(o);
    std::atomic<int> wrong{0};
    others.answer_checks({"T"}, [&](const stored_message&) {
        ++wrong;
        return transaction_end::commit;
    });
    ASSERT_EQ(p.send_transaction(message("T", "x"), ends(transaction_end::unknown)).half.outcome, outcome::stored);
    std::atomic<int> right{0};
    p.answer_checks({"T"}, [&](const stored_message&) {
        ++right;
        return transaction_end::unknown;
    });
    EXPECT_TRUE(eventually([&] { return right >= 3; }));
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(cluster.snapshot("T").empty());
}

TEST_F(Transactions, WhoseBranchThrowsAreNotDecided)
{
    const auto t = p.send_transaction(message("T", "x"), [](const message&, const receipt&) -> transaction_end {
        throw std::runtime_error("the database is away");
    });
    EXPECT_EQ(t.end, transaction_end::unknown);
    EXPECT_NE(t.reason.find("the database is away"), std::string::npos);
    EXPECT_TRUE(cluster.snapshot("T").empty());
}

TEST_F(Transactions, WhoseHalfIsNotSafelyStoredAreRolledBackWithoutTheirBranch)
{
    topic(cluster, "T");
    for (const char* broker : {"broker-a", "broker-b"})
        command(cluster, std::string(broker) + " code 12 late");
    bool ran = false;
    const auto t = p.send_transaction(message("T", "x"), [&](const message&, const receipt&) {
        ran = true;
        return transaction_end::commit;
    });
    EXPECT_FALSE(ran);
    EXPECT_EQ(t.end, transaction_end::rollback);
    EXPECT_NE(t.reason.find("flush_slave_timeout"), std::string::npos) << t.reason;
    EXPECT_TRUE(cluster.snapshot("T").empty());
}

TEST_F(Transactions, WithDelaysOrWithoutABranchAreRefused)
{
    EXPECT_EQ(p.send_transaction(message("T", "x").set_delay(1s), ends(transaction_end::commit)).half.error, errc::invalid_delay);
    EXPECT_EQ(p.send_transaction(message("T", "x").set_delay_level(3), ends(transaction_end::commit)).half.error, errc::invalid_delay);
    EXPECT_EQ(p.send_transaction(message("T", "x"), {}).half.error, errc::invalid_settings);
    EXPECT_EQ(p.send_transaction(message("T", ""), ends(transaction_end::commit)).half.error, errc::empty_body);
    EXPECT_EQ(cluster.stored(), 0u);
    expect_quiet(p);
}

TEST_F(Transactions, WhoseEndGetsLostAreAskedAbout)
{
    p.answer_checks({"T"}, [](const stored_message&) { return transaction_end::commit; });
    send_options brief;
    brief.timeout = 1000ms;
    const auto t = p.send_transaction(message("T", "x"), [&](const message&, const receipt& half) {
        command(cluster, std::string(half.broker) + " hang");
        return transaction_end::commit;
    }, brief);
    EXPECT_FALSE(t.confirmed);
    EXPECT_FALSE(t.reason.empty());
    command(cluster, std::string(t.half.broker) + " ok");
    ASSERT_TRUE(readable(1));
}

}  // namespace
}  // namespace shunt::test
