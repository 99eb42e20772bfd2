// A call of a strange selector does not come back: its message is sent all the same, once, and nobody calls it again.

#include "swap_situation.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

namespace shunt::test {
namespace {

/// What the plugin waits for.
class gate {
public:
    gate()
    {
        if (::pipe(ends_.data()) != 0)
            throw std::runtime_error("no pipe");
        ::setenv("SHUNT_TEST_HANG_FD", std::to_string(ends_[0]).c_str(), 1);
    }
    ~gate()
    {
        open(64);
        ::unsetenv("SHUNT_TEST_HANG_FD");
    }
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;
    void open(int calls) const
    {
        const std::string bytes(static_cast<std::size_t>(calls), 'x');
        EXPECT_EQ(::write(ends_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }

private:
    std::array<int, 2> ends_{-1, -1};  // left open: a thread may still read
};

struct situation {
    gate hold;
    cluster::embedded_cluster cluster;
    situation() { topic(cluster, "T"); }
    [[nodiscard]] producer_options options(bool ordered = false) const
    {
        auto o = plainly(with_policy(options_for(cluster), "hangs-on-key", "none", ordered));
        o.plugins.load["hangs-on-key"] = {in_build("/tests/gallery/hangs_on_key.so"), {}, {}};
        o.send_timeout = 60s;
        return o;
    }
};

message fine() { return message("T", "fine").set_order_key("fine"); }
message hang(const std::string& body = "hang") { return message("T", body).set_order_key("hang"); }

TEST(Hang, OfAnAsyncSendIsTakenOverAndCompletesOnce)
{
    situation s;
    auto p = started(s.options());
    ASSERT_EQ(p.deliver(fine()).attempts[0].why, "plugin");
    collector sent;
    std::thread lost([&] { p.async_send(hang(), sent.handler(0)); });
    ASSERT_TRUE(sent.wait(1));
    const receipt r = sent.receipts().at(0);
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(r.attempts[0].why, "fallback");
    // No further call enters: these would hang, too.
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(p.deliver(hang()).attempts[0].why, "fallback");
    EXPECT_NE(p.counters().last_plugin_error.find("did not come back"), std::string::npos) << p.counters().last_plugin_error;
    EXPECT_EQ(s.cluster.stored(), 22u);
    // The thread comes back after all, and finds that it has nothing to do.
    s.hold.open(1);
    lost.join();
    EXPECT_EQ(p.deliver(fine()).outcome, outcome::stored);
    EXPECT_EQ(sent.size(), 1u);
    EXPECT_EQ(s.cluster.stored(), 23u);
    expect_quiet(p);
}

TEST(Hang, OfASyncSendAnswersItsCallerWhenItComesBack)
{
    situation s;
    auto p = started(s.options());
    ASSERT_TRUE(p.send(fine()));
    std::optional<receipt> r;
    std::thread lost([&] { r = p.deliver(hang()); });
    ASSERT_TRUE(s.cluster.wait_stored(2, patience)) << "stored while its caller hangs";
    s.hold.open(1);
    lost.join();
    ASSERT_TRUE(r.has_value());
    EXPECT_EQ(r->outcome, outcome::stored) << shown(*r);
    EXPECT_EQ(s.cluster.stored(), 2u);
    expect_quiet(p);
}

// Heads of lanes are decided for the I/O side: it must not be the thread that is lost.
TEST(Hang, OfALaneLosesNeitherTheLaneNorTheProducer)
{
    situation s;
    auto p = started(s.options(true));
    ASSERT_TRUE(p.send(fine()));
    collector sent;
    for (int i = 0; i < 50; ++i)
        p.async_send(i % 2 == 0 ? hang(std::to_string(i)) : fine(), sent.handler(i));
    ASSERT_TRUE(sent.wait(50));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    int last = -1;
    for (const auto& r : s.cluster.snapshot("T")) {
        if (r.body == "fine")
            continue;
        EXPECT_GT(std::stoi(r.body), last);
        last = std::stoi(r.body);
    }
    EXPECT_EQ(s.cluster.stored(), 51u);
    expect_quiet(p);
}

TEST(Hang, OnProbationOrInACanaryTakesTheSwapBack)
{
    for (const bool canary : {false, true}) {
        situation s;
        producer_options good = plainly(with_policy(options_for(s.cluster), "hash"));
        good.send_timeout = 60s;
        auto p = started(good);
        ASSERT_TRUE(p.send(fine()));
        producer_options bad = s.options();
        bad.swap.probation = 60s;
        stage_options how;
        how.canary = canary ? 1 : 0;
        const swap_handle h = p.stage(bad, how);
        ASSERT_TRUE(h.wait_for(canary ? swap_state::canary : swap_state::probation, patience)) << shown(h.status());
        collector sent;
        std::thread lost([&] { p.async_send(hang(), sent.handler(0)); });
        ASSERT_TRUE(sent.wait(1));
        EXPECT_EQ(sent.receipts().at(0).outcome, outcome::stored);
        ASSERT_TRUE(h.wait_for(swap_state::rolled_back, patience)) << shown(h.status());
        EXPECT_NE(h.status().reason.find("hangs"), std::string::npos);
        EXPECT_EQ(p.deliver(hang()).attempts[0].why, "key") << "the selector before it";
        // Later tables are freed though a thread sits in an old one.
        for (int i = 0; i < 4; ++i)
            in_force(p, [&] { auto o = good; o.attempts = static_cast<std::uint32_t>(4 + i); return o; }());
        EXPECT_TRUE(eventually([&] { return p.find_swap(h.id() + 1).status().state == swap_state::retired; }));
        s.hold.open(1);
        lost.join();
    }
}

TEST(Hang, InAShadowDropsTheCandidate)
{
    situation s;
    producer_options good = plainly(with_policy(options_for(s.cluster), "hash"));
    auto p = started(good);
    ASSERT_TRUE(p.send(fine()));
    stage_options how;
    how.shadow = 1;
    const swap_handle h = p.stage(s.options(), how);
    ASSERT_TRUE(h.wait_for(swap_state::shadow, patience)) << shown(h.status());
    // One decision may be dropped, as the shadow never makes a sender wait: sends go on until one got in and hung.
    EXPECT_TRUE(eventually([&] {
        EXPECT_EQ(p.deliver(hang()).outcome, outcome::stored);
        return h.wait_for(swap_state::refused, 50ms);
    })) << shown(h.status());
    EXPECT_NE(h.status().reason.find("hangs"), std::string::npos) << h.status().reason;
    EXPECT_EQ(p.deliver(hang()).outcome, outcome::stored);
    s.hold.open(1);
}

}  // namespace
}  // namespace shunt::test
