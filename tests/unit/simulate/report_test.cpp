// A run as a series over time, and the page made of it.

#include "situation.hpp"

#include <simulate/recording.hpp>
#include <simulate/report.hpp>

#include <numeric>

namespace shunt::simulate {
namespace {

class series_keeper final : public observer {
public:
    void decided(const line& l) override { series.decided(l); }
    void ended(const send_end& e) override
    {
        series.ended(e);
        keys.ended(e);
    }
    void judged(std::int64_t t_ms, std::string_view broker, verdict v) override { series.judged(t_ms, broker, v); }
    recording series;
    key_watch keys;
};

reported_run recorded(const std::string& text)
{
    series_keeper k;
    const scenario s = right(text);
    run_result r = run(s, bundled(), k);
    EXPECT_EQ(r.error, "");
    k.series.close(r.sum.end_ms);
    return {"a <file>", "p \"q\"", std::move(r.sum), k.keys.result(), script_of(s), std::move(k.series)};
}

std::string stretches(const recording& r, std::size_t broker)
{
    static constexpr const char* words[] = {"available", "reachable", "isolated", "away"};
    std::string out;
    for (const auto& s : r.stretches().at(broker))
        out += std::to_string(s.from_ms) + "-" + std::to_string(s.to_ms) + " " + words[static_cast<int>(s.said)] + ";";
    return out;
}

TEST(Recording, LosesNothingWhenItsPiecesGrow)
{
    const reported_run r = recorded(usual("", brokers(3, 2) + at("0ms", "send = 5000\nkey = \"k{i}\"") + at("1s", "broker = \"b\"\ncode = 2")));
    EXPECT_EQ(r.series.width_ms(), 32);
    EXPECT_LE(r.series.pieces().size(), recording::most);
    std::vector<std::uint64_t> attempts(3), failed(3);
    std::uint64_t ended = 0;
    for (const auto& p : r.series.pieces()) {
        for (const auto& [b, n] : p.attempts)
            attempts.at(b) += n;
        for (const auto& [b, n] : p.failed)
            failed.at(b) += n;
        for (const auto& [ms, n] : p.latencies)
            ended += n;
    }
    for (std::size_t b = 0; b < 3; ++b) {
        EXPECT_EQ(attempts[b], r.sum.brokers[b].attempts);
        EXPECT_EQ(failed[b], r.sum.brokers[b].attempts - r.sum.brokers[b].stored);
    }
    EXPECT_EQ(ended, 5000u);
}

TEST(Recording, PutsEachAttemptIntoThePieceOfItsTime)
{
    const reported_run r = recorded(usual("", brokers(1, 1) + at("0ms", "send = 1") + at("100ms", "send = 3\ninflight = 3") + at("1999ms", "send = 1")));
    EXPECT_EQ(r.series.width_ms(), 16);
    EXPECT_EQ(r.series.pieces().at(0).attempts.at(0), 1u);
    EXPECT_EQ(r.series.pieces().at(100 / 16).attempts.at(0), 3u);
    EXPECT_EQ(r.series.pieces().at(1999 / 16).attempts.at(0), 1u);
    EXPECT_EQ(r.series.pieces().size(), 126u);
}

TEST(Recording, KnowsWhoWasAvoidedWhenAndWhy)
{
    // a refuses at 0 ms and is isolated for 10 s, b is slow at 1 s and isolated for 2 s, c is read-only for a while.
    const reported_run r = recorded(usual("", brokers(4, 1) + at("0ms", "broker = \"a\"\nrefuse = true") + at("0ms", "send = 1") + at("1s", "broker = \"b\"\nlatency = \"600ms\"") +
                                              at("1s", "send = 2400\nevery = \"5ms\"") + at("1600ms", "broker = \"b\"\nok = true") +
                                              at("5s", "route = { set = [{ name = \"c\", perm = 4 }] }") + at("6s", "route = { set = [{ name = \"c\", perm = 6 }] }") +
                                              at("2s", "broker = \"a\"\nok = true")));
    ASSERT_EQ(r.series.brokers(), (std::vector<std::string>{"a", "b", "c", "d"}));
    EXPECT_EQ(stretches(r.series, 0), "0-10000 isolated;");
    EXPECT_EQ(stretches(r.series, 1).substr(0, 5), "1610-");
    EXPECT_NE(stretches(r.series, 1).find(" reachable;"), std::string::npos);
    EXPECT_EQ(stretches(r.series, 2), "5000-6000 away;");
    EXPECT_EQ(stretches(r.series, 3), "");
}

TEST(Recording, WhatLastsAtTheEndLastsUntilThen)
{
    const reported_run r = recorded(usual("", brokers(2, 1) + at("0ms", "broker = \"a\"\nrefuse = true") + at("0ms", "send = 2")));
    EXPECT_EQ(stretches(r.series, 0), "0-2 isolated;");
}

TEST(Script, TellsWhatEachBrokerDoesAndForHowLong)
{
    const scenario s = right(usual("", brokers(2, 1) + at("5s", "broker = \"a\"\nok = true") + at("1s", "broker = \"a\"\nlatency = \"800ms\"") +
                                           at("3s", "broker = \"a\"\nhang = true") + at("4s", "broker = \"a\"\ncode = 2") + at("2s", "broker = \"c\"\nrefuse = true") +
                                           at("3s", "route = { add = [{ name = \"c\", queues = 1 }] }") + at("6s", "broker = \"c\"\ndrop = true")));
    std::string told;
    for (const auto& [broker, d] : script_of(s))
        told += broker + " " + std::to_string(d.from_ms) + (d.to_ms == max_time_ms ? "" : "-" + std::to_string(d.to_ms)) + " " + d.what + "; ";
    EXPECT_EQ(told, "a 1000-3000 800 ms; a 3000-4000 hangs; a 4000-5000 code 2; c 2000-3000 refuses; c 6000 drops; ");
}

TEST(Percentile, IsByNearestRank)
{
    const std::map<std::int64_t, std::uint64_t> counts{{1, 50}, {7, 49}, {9, 1}};
    EXPECT_EQ(percentile(counts, 500), 1);
    EXPECT_EQ(percentile(counts, 510), 7);
    EXPECT_EQ(percentile(counts, 990), 7);
    EXPECT_EQ(percentile(counts, 1000), 9);
    EXPECT_EQ(percentile({}, 500), 0);
}

// The JSON in a page.
boost::json::object data_of(const std::string& page)
{
    const std::string begin = "id=\"data\">";
    const std::size_t from = page.find(begin) + begin.size();
    return boost::json::parse(page.substr(from, page.find("</script>", from) - from)).as_object();
}

TEST(Page, HasTheNumbersOfTheRun)
{
    const reported_run r = recorded("[scenario]\npolicy = { selector = { use = \"hash\" }, fault = { use = \"none\" } }\n" + brokers(3, 2) +
                                    at("0ms", "send = 100\nkey = \"k{i}\"") + at("200ms", "route = { remove = [\"b\"] }") + at("200ms", "send = 100\nkey = \"k{i}\""));
    const auto data = data_of(report_page("t", {r, r}));
    EXPECT_EQ(data.at("title").as_string(), "t");
    ASSERT_EQ(data.at("runs").as_array().size(), 2u);
    const auto& one = data.at("runs").as_array()[1].as_object();
    EXPECT_EQ(one.at("summary"), boost::json::parse(to_json(r.sum)));
    EXPECT_EQ(one.at("brokers"), boost::json::parse(R"(["a","b","c"])"));
    EXPECT_EQ(one.at("attempts").as_array().size(), one.at("p99_ms").as_array().size());
    std::vector<std::int64_t> of_broker(3);
    for (const auto& piece : one.at("attempts").as_array())
        for (std::size_t b = 0; b < 3; ++b)
            of_broker[b] += piece.as_array()[b].as_int64();
    for (std::size_t b = 0; b < 3; ++b)
        EXPECT_EQ(of_broker[b], static_cast<std::int64_t>(r.sum.brokers[b].attempts));
    const auto sum_of = [&](const char* key) {
        std::int64_t n = 0;
        for (const auto& v : one.at(key).as_array())
            n += v.as_int64();
        return n;
    };
    EXPECT_EQ(sum_of("ended"), 200);
    EXPECT_EQ(sum_of("keys_first"), 100);
    EXPECT_EQ(sum_of("keys_last"), 100);
    EXPECT_GT(one.at("keys_first").as_array()[1].as_int64(), 0);
    EXPECT_EQ(one.at("keys_last").as_array()[1].as_int64(), 0);
}

TEST(Page, IsOneFileWhateverNamesSay)
{
    reported_run r = recorded(usual("", "[[broker]]\nname = \"</script><b>&'\\\"\"\nqueues = 1\n" + at("0ms", "send = 1")));
    const std::string page = report_page("<title>", {r});
    EXPECT_EQ(data_of(page).at("runs").as_array()[0].at("brokers").as_array()[0].as_string(), "</script><b>&'\"");
    EXPECT_EQ(data_of(page).at("title").as_string(), "<title>");
    for (const char* outside : {"src=", "@import", "url(", "fetch(", "<b>"})
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
}

TEST(Page, OfNothingIsAPage)
{
    const reported_run r = recorded(usual("", brokers(1, 1)));
    EXPECT_EQ(data_of(report_page("t", {r})).at("runs").as_array()[0].at("attempts").as_array().size(), 0u);
}

}  // namespace
}  // namespace shunt::simulate
