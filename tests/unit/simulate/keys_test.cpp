// What became of keys: moved, out of order.

#include "situation.hpp"

#include <simulate/keys.hpp>

namespace shunt::simulate {
namespace {

class key_watcher final : public observer {
public:
    void ended(const send_end& e) override { keys.ended(e); }
    key_watch keys;
};

key_watch::counts keys_of(std::string_view policy, const std::string& rest)
{
    key_watcher w;
    const scenario s = right("[scenario]\npolicy = { " + std::string(policy) + " }\n" + rest);
    EXPECT_EQ(run(s, bundled(), w).error, "");
    return w.keys.result();
}

const std::string hash = "selector = { use = \"hash\" }, fault = { use = \"none\" }";
// 40 keys, sent once, and again when there is a broker more.
const std::string grown = brokers(2, 4) + at("0ms", "send = 40\nkey = \"k{i}\"") + at("1s", "route = { add = [{ name = \"c\", queues = 4 }] }") +
                          at("1s", "send = 40\nkey = \"k{i}\"");

TEST(Keys, AreCountedWhenTheyMove)
{
    const auto all = keys_of(hash, grown);
    EXPECT_EQ(all.keys, 40u);
    EXPECT_GT(all.moved, 20u);
    const auto few = keys_of("selector = { use = \"consistent-hash\" }, fault = { use = \"none\" }", grown);
    EXPECT_GT(few.moved, 0u);
    EXPECT_LT(few.moved, 20u);
    EXPECT_EQ(keys_of(hash, brokers(2, 4) + at("0ms", "send = 40\nkey = \"k{i}\"") + at("1s", "send = 40\nkey = \"k{i}\"")).moved, 0u);
}

TEST(Keys, AreOutOfOrderWhereALaterMessageIsStoredFirst)
{
    // The first message of the key takes 50 ms, the second 1 ms.
    const std::string rest = brokers(1, 1) + at("0ms", "broker = \"a\"\nlatency = \"50ms\"") + at("0ms", "send = 1\nkey = \"k\"") +
                             at("10ms", "broker = \"a\"\nok = true") + at("10ms", "send = 1\nkey = \"k\"");
    EXPECT_EQ(keys_of(hash, rest).out_of_order, 1u);
    EXPECT_EQ(keys_of(hash + ", ordered = true", rest).out_of_order, 0u);
}

TEST(Keys, AreNoneWithoutKeys)
{
    EXPECT_EQ(keys_of(hash, brokers(1, 1) + at("0ms", "send = 4")).keys, 0u);
}

}  // namespace
}  // namespace shunt::simulate
