// The scenarios of tests/data/scenarios: every implementation of the contract writes these lines.

#include "situation.hpp"

#include <map>
#include <set>

namespace shunt::simulate {
namespace {

// Where two words are allowed (a tried broker was passed over by a selector with a word of its own), line by line.
const std::map<std::pair<std::string, std::size_t>, std::string> other_word{{{"machine-room", 8}, "avoid-tried"}};

std::vector<std::string> lines_of(const std::string& text)
{
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out.push_back(line);
    return out;
}

class Agreement : public testing::TestWithParam<std::string> {};

TEST_P(Agreement, LineByLine)
{
    const std::vector<std::string> wanted = lines_of(text_of(data_folder / (GetParam() + ".expected.jsonl")));
    const std::vector<std::string> found = lines_of(run_text(text_of(data_folder / (GetParam() + ".toml"))).text);
    ASSERT_GT(wanted.size(), 0u);
    EXPECT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
        std::string want = wanted[i];
        if (const auto other = other_word.find({GetParam(), i + 1}); other != other_word.end())
            want = want.substr(0, want.rfind(":\"") + 2) + other->second + "\"}";
        EXPECT_EQ(found[i], want) << "line " << i + 1;
    }
}

TEST_P(Agreement, SumsUpItsLines)
{
    const outcome_of_run o = run_text(text_of(data_folder / (GetParam() + ".toml")));
    std::set<std::int64_t> sends;
    std::uint64_t attempts = 0, stored = 0;
    std::map<std::string, std::uint64_t> by_broker;
    for (const auto& l : o.lines) {
        sends.insert(l.at("send").as_int64());
        if (l.at("broker").is_null())
            continue;
        ++attempts;
        ++by_broker[std::string(l.at("broker").as_string())];
        stored += l.at("outcome").as_string() == "stored" ? 1 : 0;
    }
    EXPECT_EQ(o.sum.sends, sends.size());
    EXPECT_EQ(o.sum.attempts, attempts);
    EXPECT_EQ(o.sum.stored, stored);
    EXPECT_EQ(o.sum.stored + o.sum.not_sent + o.sum.unknown + o.sum.rejected, o.sum.sends);
    std::map<std::string, std::uint64_t> brokers, queues;
    for (const auto& b : o.sum.brokers)
        brokers[b.broker] = b.attempts;
    for (const auto& q : o.sum.queues)
        queues[q.broker] += q.attempts;
    EXPECT_EQ(brokers, by_broker);
    EXPECT_EQ(queues, by_broker);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Agreement, testing::ValuesIn(named(data_folder, ".expected.jsonl")), test_name);

// The example that the contract works out by hand.
TEST(WorkedExample, IsAsWorkedOut)
{
    const outcome_of_run o = run_text(R"(
broker = [{ name = "a", queues = 2 }, { name = "b", queues = 2 }]
at     = [{ time = "0ms", send = 6, key = "k{i}" }, { time = "2ms", broker = "b", refuse = true }]
[scenario]
policy = { selector = { use = "best-queue" }, fault = { use = "latency-fault" } }
)");
    EXPECT_EQ(o.text,
R"({"t_ms":0,"send":0,"attempt":1,"thread":0,"key":"k0","broker":"a","queue":0,"outcome":"stored","code":0,"latency_ms":1,"generation":1,"why":"rotation"}
{"t_ms":1,"send":1,"attempt":1,"thread":0,"key":"k1","broker":"a","queue":1,"outcome":"stored","code":0,"latency_ms":1,"generation":1,"why":"rotation"}
{"t_ms":2,"send":2,"attempt":1,"thread":0,"key":"k2","broker":"b","queue":0,"outcome":"not_sent","code":null,"latency_ms":0,"generation":1,"why":"rotation"}
{"t_ms":2,"send":2,"attempt":2,"thread":0,"key":"k2","broker":"a","queue":0,"outcome":"stored","code":0,"latency_ms":1,"generation":1,"why":"avoid-tried"}
{"t_ms":3,"send":3,"attempt":1,"thread":0,"key":"k3","broker":"a","queue":1,"outcome":"stored","code":0,"latency_ms":1,"generation":1,"why":"rotation"}
{"t_ms":4,"send":4,"attempt":1,"thread":0,"key":"k4","broker":"a","queue":0,"outcome":"stored","code":0,"latency_ms":1,"generation":1,"why":"avoid-isolated"}
{"t_ms":5,"send":5,"attempt":1,"thread":0,"key":"k5","broker":"a","queue":1,"outcome":"stored","code":0,"latency_ms":1,"generation":1,"why":"rotation"}
)");
    EXPECT_EQ(to_json(o.sum),
              R"({"sends":6,"stored":6,"failed":{"not_sent":0,"unknown":0,"rejected":0},"attempts":7,)"
              R"("brokers":[{"broker":"a","attempts":6,"stored":6},{"broker":"b","attempts":1,"stored":0}],)"
              R"("queues":[{"broker":"a","queue":0,"attempts":3,"stored":3},{"broker":"a","queue":1,"attempts":3,"stored":3},)"
              R"({"broker":"b","queue":0,"attempts":1,"stored":0}],)"
              R"("latency_ms":{"p50":1,"p90":1,"p99":1,"max":1},"generation":1,"end_ms":6})");
}

}  // namespace
}  // namespace shunt::simulate
