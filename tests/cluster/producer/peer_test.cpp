// Peers that answer late, twice, to nobody, in pieces, with lengths that lie, or in another protocol.

#include <support/fake_peer.hpp>
#include <support/producer_situation.hpp>

#include <boost/asio/use_future.hpp>

#include <atomic>
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace shunt::test {
namespace {

std::string be32(std::uint32_t n)
{
    return {static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8), static_cast<char>(n)};
}

/// A broker "odd" that a script plays and a broker "well" that stores, in a topic T of two queues each.
struct two_brokers {
    fake_peer odd, well;
    fake_name_server names;

    explicit two_brokers(fake_peer::script script)
        : odd(std::move(script)), well(well_behaved()),
          names({{"T", route_json({{"odd", odd.address(), 2, 6}, {"well", well.address(), 2, 6}})}})
    {
    }
    [[nodiscard]] producer_options options(std::chrono::milliseconds timeout = 2s) const
    {
        auto o = with_policy(options_for(names.address()), "best-queue");
        o.send_timeout = timeout;
        o.attempts = 2;
        o.retry_backoff = 0ms;
        return o;
    }
};

/// One broker "odd" with one queue, one attempt.
struct one_broker {
    fake_peer odd;
    fake_name_server names;

    explicit one_broker(fake_peer::script script)
        : odd(std::move(script)), names({{"T", route_json({{"odd", odd.address(), 1, 6}})}})
    {
    }
    [[nodiscard]] producer_options options(std::chrono::milliseconds timeout = 2s) const
    {
        auto o = with_policy(options_for(names.address()), "best-queue");
        o.send_timeout = timeout;
        o.attempts = 1;
        return o;
    }
};

fake_peer::script writing(std::string bytes)
{
    return [bytes = std::move(bytes)](fake_peer::session& s, const heard& h) {
        if (h.is_send())
            s.write(bytes);
        else if (!h.oneway)
            s.write(answer_to(h, 0));
    };
}

struct bytes_row {
    const char* claim;
    std::string bytes;
    const char* words;  // in the attempt's text
};
void PrintTo(const bytes_row& r, std::ostream* out) { *out << r.claim; }

class ForeignBytes : public testing::TestWithParam<bytes_row> {};

TEST_P(ForeignBytes, FailTheSendsConcernedAndNothingElse)
{
    two_brokers b(writing(GetParam().bytes));
    auto p = started(b.options());
    int through_odd = 0;
    for (int i = 0; i < 8; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.broker, "well");
        if (r.attempts.size() == 2) {
            ++through_odd;
            EXPECT_EQ(r.attempts[0].outcome, outcome::unknown) << shown(r);
            EXPECT_NE(r.attempts[0].text.find(GetParam().words), std::string::npos) << r.attempts[0].text;
            EXPECT_LT(r.latency, 900ms) << "the connection's end is told at once";
        }
    }
    EXPECT_GT(through_odd, 1);
    EXPECT_GT(p.counters().bad_frames, 0u);
    EXPECT_TRUE(p.close());
    expect_quiet(p);
}

std::string frame(std::uint32_t length, std::uint32_t header, std::string_view rest) { return be32(length) + be32(header) + std::string(rest); }

INSTANTIATE_TEST_SUITE_P(Peer, ForeignBytes, testing::Values(
    bytes_row{"Http", "HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"},
    bytes_row{"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2"},
    bytes_row{"Tls", std::string("\x16\x03\x01\x02\x00\x01", 6), "TLS"},
    bytes_row{"Rdp", std::string("\x03\x00\x00\x2f\x2a", 5), "not RocketMQ"},
    bytes_row{"FourZeros", std::string(4, '\0'), "length"},
    bytes_row{"NegativeLength", be32(0x80000000u), "not RocketMQ"},
    bytes_row{"OneByteTooLong", be32(16 * 1024 * 1024 + 1), "16777"},
    bytes_row{"HeaderLongerThanTheFrame", frame(20, 30, "0123456789abcdef"), "header"},
    bytes_row{"HeaderThatIsNotJson", frame(4 + 8, 8, "not json"), ""},
    bytes_row{"HeaderOfAnotherKind", frame(4 + 4, 0x07000004u, "0123"), ""},
    bytes_row{"HeaderNestedDeeply", frame(4 + 4000, 4000, std::string(4000, '[')), ""},
    bytes_row{"BinaryHeaderCutShort", frame(4 + 5, 0x01000005u, "01234"), ""}),
    [](const auto& row) { return std::string(row.param.claim); });

TEST(Peer, AnAnswerWithoutAPlaceIsNotTakenForStored)
{
    one_broker b([](fake_peer::session& s, const heard& h) { s.write(answer_to(h, 0)); });  // success, but no msgId, no offset
    auto p = started(b.options());
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::unknown) << shown(r);
    EXPECT_EQ(r.error, errc::bad_response);
}

TEST(Peer, AnswersByteByByteAreUnderstood)
{
    one_broker b([](fake_peer::session& s, const heard& h) {
        if (h.is_send())
            s.trickle(stored_answer(h), 100us);
        else if (!h.oneway)
            s.write(answer_to(h, 0));
    });
    auto p = started(b.options());
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(p.send(message("T", "x")));
}

TEST(Peer, ManyAnswersInOnePieceAreUnderstood)
{
    std::mutex lock;
    std::string gathered;
    std::atomic<int> n{0};
    one_broker b([&](fake_peer::session& s, const heard& h) {
        if (!h.is_send()) {
            if (!h.oneway)
                s.write(answer_to(h, 0));
            return;
        }
        const std::lock_guard held(lock);
        gathered = stored_answer(h) + gathered;  // the last first
        if (++n == 200)
            s.write(gathered);
    });
    auto p = started(b.options(10s));
    collector sent;
    for (int i = 0; i < 200; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(200));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
}

TEST(Peer, ATrickleIsBoundedByTheTimeout)
{
    one_broker b([](fake_peer::session& s, const heard& h) {
        if (h.is_send())
            s.trickle(stored_answer(h), 20ms);  // some seconds in all
        else if (!h.oneway)
            s.write(answer_to(h, 0));
    });
    auto p = started(b.options(300ms));
    const auto begin = clock::now();
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_LT(clock::now() - begin, 300ms + grace());
    EXPECT_EQ(r.outcome, outcome::unknown) << shown(r);
}

// Memory is taken as bytes come, not as a length says.
TEST(Peer, LengthsThatLieTakeNoMemory)
{
    const auto resident_kib = [] {
        std::ifstream statm("/proc/self/statm");
        long total = 0, resident = 0;
        statm >> total >> resident;
        return resident * 4;
    };
    one_broker b([](fake_peer::session& s, const heard& h) {
        if (h.is_send())
            s.write(be32(16 * 1024 * 1024 - 4) + be32(100) + std::string(50, ' '));
        else if (!h.oneway)
            s.write(answer_to(h, 0));
    });
    auto p = started(b.options(100ms));
    (void)p.deliver(message("T", "warm"));
    const long before = resident_kib();
    for (int i = 0; i < 5; ++i)
        EXPECT_NE(p.deliver(message("T", "x")).outcome, outcome::stored);
    EXPECT_LT(resident_kib() - before, slow_build ? 8192 : 1024);
}

TEST(Peer, AnswersTwiceOrToNobodyAreCountedAndHarmNobody)
{
    one_broker b([](fake_peer::session& s, const heard& h) {
        if (!h.is_send()) {
            if (!h.oneway)
                s.write(answer_to(h, 0));
            return;
        }
        heard nobody = h;
        nobody.opaque = 0x7ffffff0;
        heard minus = h;
        minus.opaque = -1;
        s.write(stored_answer(nobody) + stored_answer(minus) + stored_answer(h) + answer_to(h, 2) + stored_answer(h));
    });
    auto p = started(b.options());
    collector sent;
    for (int i = 0; i < 500; ++i)
        p.async_send(message("T", "x"), sent.handler(i));
    ASSERT_TRUE(sent.wait(500));
    for (const auto& [i, r] : sent.receipts())
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_TRUE(eventually([&] { return p.counters().late_answers == 2000; })) << p.counters().late_answers;
    EXPECT_TRUE(p.send(message("T", "x")));
    expect_quiet(p);
}

TEST(Peer, AnswersAroundTheDeadlineEndASendOnce)
{
    std::atomic<int> n{0};
    one_broker b([&](fake_peer::session& s, const heard& h) {
        if (h.is_send())
            s.pause(std::chrono::microseconds(28'000 + 500 * (n++ % 9)));  // 28 to 32 ms
        if (!h.oneway)
            s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0));
    });
    auto p = started(b.options(30ms));
    int stored = 0, unknown = 0;
    for (int i = 0; i < 60; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        (r.outcome == outcome::stored ? stored : unknown) += 1;
        EXPECT_EQ(r.outcome == outcome::stored, !r.error) << shown(r);
        EXPECT_EQ(r.outcome == outcome::stored, r.offset >= 0) << shown(r);
        EXPECT_TRUE(r.outcome == outcome::stored || r.outcome == outcome::unknown || r.outcome == outcome::not_sent) << shown(r);
    }
    EXPECT_GT(unknown, 0);
    EXPECT_TRUE(p.close());
    expect_quiet(p);
}

TEST(Peer, LateAnswersAreCountedAndTheConnectionStays)
{
    one_broker b([](fake_peer::session& s, const heard& h) {
        if (h.is_send() && h.body == "late")
            s.pause(150ms);
        if (!h.oneway)
            s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0));
    });
    auto p = started(b.options());
    ASSERT_TRUE(p.send(message("T", "warm")));
    send_options how;
    how.timeout = 50ms;
    EXPECT_EQ(p.deliver(message("T", "late"), how).error, errc::response_timeout);
    EXPECT_TRUE(p.send(message("T", "x")));
    EXPECT_TRUE(eventually([&] { return p.counters().late_answers == 1; }));
    EXPECT_EQ(p.counters().connects, 2u) << "the name server's and the broker's";
    EXPECT_EQ(p.counters().connections_lost, 0u);
}

TEST(Peer, AHalfClosedConnectionFailsWhatIsUnderWayAtOnce)
{
    two_brokers b([](fake_peer::session& s, const heard& h) {
        if (h.is_send())
            s.half_close();
        else if (!h.oneway)
            s.write(answer_to(h, 0));
    });
    auto p = started(b.options(3s));
    for (int i = 0; i < 8; ++i) {
        const receipt r = p.deliver(message("T", "x"));
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_LT(r.latency, 1000ms);
    }
}

TEST(Peer, ADropFailsOverAllThatWaitOnTheConnectionAtOnce)
{
    std::atomic<int> n{0};
    two_brokers b([&](fake_peer::session& s, const heard& h) {
        if (h.is_send()) {
            if (++n == 64)
                s.close();
        } else if (!h.oneway) {
            s.write(answer_to(h, 0));
        }
    });
    auto o = b.options(3s);
    auto p = started(o);
    collector sent;
    for (int i = 0; i < 64; ++i) {
        send_options how;
        how.select = [](std::span<const queue_ref> queues, const message&, std::uint32_t attempt) { return attempt == 1 ? 0 : queues.size() - 1; };
        p.async_send(message("T", std::to_string(i)), how, sent.handler(i));
    }
    ASSERT_TRUE(sent.wait(64));
    for (const auto& [i, r] : sent.receipts()) {
        EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
        EXPECT_EQ(r.attempts.size(), 2u);
        EXPECT_LT(r.latency, 1000ms) << "not the share of a broker that hangs";
    }
    // The same message: the same id in both attempts.
    std::set<std::string> first, second;
    for (const heard& h : b.odd.sends())
        first.insert(h.field("i"));
    for (const heard& h : b.well.sends())
        second.insert(h.field("i"));
    EXPECT_EQ(first, second);
}

TEST(Peer, ThatClosesEachConnectionRightAwayKillsNobody)
{
    struct sigaction before {};
    sigaction(SIGPIPE, nullptr, &before);
    two_brokers b(nullptr);
    b.odd.on_connect([](fake_peer::session& s) { s.reset(); });
    auto p = started(b.options());
    for (int i = 0; i < 50; ++i)
        EXPECT_TRUE(p.send(message("T", std::string(10'000, 'x'))));
    struct sigaction after {};
    sigaction(SIGPIPE, nullptr, &after);
    EXPECT_EQ(before.sa_handler, after.sa_handler) << "the process's own action is left as it was";
    EXPECT_EQ(before.sa_handler, SIG_DFL);
}

TEST(Peer, AnIdleConnectionThatWasCutIsMadeAnewBeforeTheNextSend)
{
    one_broker b(well_behaved());
    auto p = started(b.options());
    ASSERT_TRUE(p.send(message("T", "x")));
    std::vector<fake_peer::session*> open;
    b.odd.set([](fake_peer::session& s, const heard& h) {
        s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0));
        if (h.is_send())
            s.close();
    });
    ASSERT_TRUE(p.send(message("T", "x")));
    ASSERT_TRUE(eventually([&] { return p.counters().connections_lost == 1; }));
    EXPECT_TRUE(p.send(message("T", "x"))) << "one attempt, and it is enough";
}

// ---- 1500: the broker leaves ----

TEST(Peer, ABrokerThatLeavesAnswersWhatItHasAndGetsNothingNew)
{
    std::atomic<bool> leaving{false};
    std::atomic<int> after{0};
    two_brokers b([&](fake_peer::session& s, const heard& h) {
        if (h.oneway)
            return;
        if (!h.is_send()) {
            s.write(answer_to(h, 0));
            return;
        }
        if (h.body == "leave") {
            leaving = true;
            s.write(answer_to(h, 1500, {}, "shutting down"));
            return;
        }
        if (leaving && s.number() == 1)
            ++after;
        s.write(stored_answer(h));
    });
    auto p = started(b.options());
    send_options how;
    how.select = [](std::span<const queue_ref> queues, const message&, std::uint32_t attempt) { return attempt == 1 ? 0 : queues.size() - 1; };
    ASSERT_TRUE(p.send(message("T", "warm"), how));
    const receipt r = p.deliver(message("T", "leave"), how);
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(r.attempts.size(), 2u);
    ASSERT_TRUE(p.send(message("T", "x"), how));
    EXPECT_EQ(after, 0) << "a new connection is made";
    EXPECT_TRUE(b.odd.wait_until([&] { return b.odd.open() == 1 && b.odd.accepted() == 2; }, patience)) << "the old one is closed";
    EXPECT_TRUE(p.close());
}

// The question was given up at its own deadline, while the connection it lay on was no longer the address's one and
// still knew it: the late answer found freed memory.
TEST(Peer, AQuestionGivenUpOnAConnectionThatLeavesIsForgottenThere)
{
    std::atomic<fake_peer::session*> first{nullptr};
    std::mutex lock;
    std::optional<heard> heartbeat, held;
    one_broker b([&](fake_peer::session& s, const heard& h) {
        const std::lock_guard l(lock);
        if (h.code == wire::code::heart_beat && !heartbeat) {
            first = &s;
            heartbeat = h;
            return;
        }
        if (h.body == "hold") {  // keeps the old connection in use
            held = h;
            return;
        }
        if (!h.oneway)
            s.write(h.body == "leave" ? answer_to(h, 1500) : h.is_send() ? stored_answer(h) : answer_to(h, 0));
    });
    auto p = started(b.options(6s));
    collector sent;
    p.async_send(message("T", "hold"), sent.handler(0));
    ASSERT_TRUE(b.odd.wait_until([&] { return b.odd.count(310) == 1; }, patience));
    EXPECT_EQ(p.deliver(message("T", "leave")).outcome, outcome::rejected);
    EXPECT_TRUE(p.send(message("T", "on a new connection")));
    // The heartbeat's own limit is 3 s.
    const auto begin = clock::now();
    EXPECT_FALSE(b.odd.wait_until([&] { return clock::now() - begin > 3200ms && b.odd.count(310) == 99; }, 3300ms));
    {
        const std::lock_guard l(lock);
        ASSERT_TRUE(heartbeat && held);
        first.load()->write(answer_to(*heartbeat, 0) + stored_answer(*held));
    }
    // The answer that ended the connection was told only when something else happened.
    const auto answered = clock::now();
    ASSERT_TRUE(sent.wait(1));
    EXPECT_LT(clock::now() - answered, grace());
    EXPECT_EQ(sent.receipts()[0].outcome, outcome::stored) << shown(sent.receipts()[0]);
    EXPECT_TRUE(p.close());
}

// ---- peers that read nothing ----

// What no peer takes stayed in our buffers while its room was given back: they grew without end.
TEST(Peer, ThatReadsNothingIsGivenUp)
{
    one_broker b(well_behaved());
    auto o = b.options(200ms);
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    b.odd.read_nothing(true);
    std::vector<receipt> receipts;
    std::atomic<int> n{0}, ended{0};
    EXPECT_TRUE(eventually([&] {
        for (int i = 0; i < 20; ++i) {
            ++n;
            p.async_send_oneway(message("T", std::string(64 * 1024, 'x')), {}, [&](const error_code&, const receipt&) { ++ended; });
        }
        return p.counters().connections_lost >= 1;
    })) << "after a second without a byte taken";
    b.odd.read_nothing(false);
    EXPECT_TRUE(eventually([&] { return ended == n; }));
    EXPECT_TRUE(eventually([&] { return p.deliver(message("T", "x")).outcome == outcome::stored; })) << "on a new connection";
    EXPECT_TRUE(p.close());
    expect_quiet(p);
}

TEST(Peer, OneWaySendsToABrokerThatReadsNothingEndByTheirTimeout)
{
    one_broker b(well_behaved());
    auto o = b.options(300ms);
    o.max_in_flight_bytes = 4 * 1024 * 1024;
    auto p = started(o);
    ASSERT_TRUE(p.send(message("T", "warm")));
    b.odd.read_nothing(true);
    collector sent;
    const int n = 10'000;
    const auto begin = clock::now();
    for (int i = 0; i < n; ++i)
        p.async_send_oneway(message("T", std::string(1024, 'x')), {}, sent.handler(i));
    ASSERT_TRUE(sent.wait(n));
    EXPECT_LT(clock::now() - begin, 300ms + 2 * grace());
    for (const auto& [i, r] : sent.receipts())
        EXPECT_NE(r.outcome, outcome::stored) << shown(r);
    expect_quiet(p);
    (void)p.close(100ms);
}

TEST(Peer, OneWayCarriesItsBitAndEndsWhenWritten)
{
    one_broker b(well_behaved());
    auto p = started(b.options());
    const receipt r = p.deliver_oneway(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::unknown) << "there is no better word";
    EXPECT_FALSE(r.error) << shown(r);
    EXPECT_TRUE(p.send_oneway(message("T", "y")));
    ASSERT_TRUE(b.odd.wait_until([&] { return b.odd.sends().size() == 2; }, patience));
    for (const heard& h : b.odd.sends())
        EXPECT_TRUE(h.oneway);
    b.odd.refuse();
    EXPECT_TRUE(eventually([&] { return p.counters().connections_lost > 0; }));
    const receipt lost = p.deliver_oneway(message("T", "z"));
    EXPECT_EQ(lost.outcome, outcome::not_sent) << shown(lost);
    EXPECT_EQ(lost.error, errc::connect_failed);
}

TEST(Peer, ItsOwnQuestionsAreAnswered)
{
    std::atomic<int> refused{0};
    one_broker b([&](fake_peer::session& s, const heard& h) {
        if (!h.is_send()) {
            if (!h.oneway && h.opaque != 4711)
                s.write(answer_to(h, 0));
            else if (h.opaque == 4711)
                refused += h.code == 3 ? 1 : 0;
            return;
        }
        wire::outgoing head;
        head.code = 9999;
        head.opaque = 4711;
        wire::buffer out;
        wire::encode(out, wire::header_format::json, head, {});
        s.write(out.view());
        s.write(stored_answer(h));
    });
    auto p = started(b.options());
    EXPECT_TRUE(p.send(message("T", "x")));
    EXPECT_TRUE(b.odd.wait_until([&] { return refused == 1; }, patience)) << "3: not supported";
    EXPECT_TRUE(p.send(message("T", "x")));
}

// Heartbeats go to the first port, where nobody listens here.
TEST(VipChannel, IsForSendsAndQuestions)
{
    fake_peer second([](fake_peer::session& s, const heard& h) {
        if (!h.oneway)
            s.write(h.is_send() ? stored_answer(h) : answer_to(h, 0, {{"offset", "7"}}));
    });
    const std::string address = second.address();
    const auto colon = address.rfind(':');
    const std::string first = address.substr(0, colon + 1) + std::to_string(std::stoi(address.substr(colon + 1)) + 2);
    fake_name_server names({{"T", route_json({{"a", first, 1, 6}})}});
    auto o = with_policy(options_for(names.address()), "best-queue");
    o.vip_channel = true;
    auto p = started(o);
    const receipt r = p.deliver(message("T", "x"));
    EXPECT_EQ(r.outcome, outcome::stored) << shown(r);
    EXPECT_EQ(second.sends().size(), 1u);
    EXPECT_EQ(p.max_offset("T", "a", 0).value(), 7);
    o.vip_channel = false;
    EXPECT_EQ(started(o).deliver(message("T", "x")).error, errc::connect_failed) << "the first port is really another one";
}

}  // namespace
}  // namespace shunt::test
