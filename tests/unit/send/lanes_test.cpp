// Lanes: one of a key is under way, the others wait in order.

#include <send/lanes.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace shunt::send {
namespace {

TEST(Lanes, LetTheFirstGoAndTheOthersWaitInOrder)
{
    lanes<int> l;
    EXPECT_TRUE(l.enter("T", "k", 1));
    EXPECT_FALSE(l.enter("T", "k", 2));
    EXPECT_FALSE(l.enter("T", "k", 3));
    EXPECT_EQ(l.waiting(), 2u);
    EXPECT_EQ(l.leave("T", "k", false), 2);
    EXPECT_FALSE(l.enter("T", "k", 4)) << "2 is under way now";
    EXPECT_EQ(l.leave("T", "k", false), 3);
    EXPECT_EQ(l.leave("T", "k", false), 4);
    EXPECT_EQ(l.leave("T", "k", false), std::nullopt);
}

TEST(Lanes, AreForgottenWhenEmpty)
{
    lanes<int> l;
    for (int i = 0; i < 1000; ++i) {
        const std::string key = "k" + std::to_string(i);
        EXPECT_TRUE(l.enter("T", key, i));
        EXPECT_EQ(l.leave("T", key, false), std::nullopt);
    }
    EXPECT_EQ(l.size(), 0u);
    EXPECT_EQ(l.waiting(), 0u);
    EXPECT_EQ(l.leave("T", "k0", false), std::nullopt) << "leaving one that is not there is nothing";
}

TEST(Lanes, AreOnePerTopicAndKey)
{
    lanes<int> l;
    EXPECT_TRUE(l.enter("T", "k", 1));
    EXPECT_TRUE(l.enter("U", "k", 2));
    EXPECT_TRUE(l.enter("T", "l", 3));
    EXPECT_TRUE(l.enter("T", "", 4)) << "the empty key is a key too";
    EXPECT_TRUE(l.enter("Tk", "", 5)) << "topic and key are not run together";
    EXPECT_TRUE(l.enter("T", std::string("\0k", 2), 6));
    EXPECT_FALSE(l.enter("T", "", 7));
    EXPECT_EQ(l.size(), 6u);
}

TEST(Lanes, TakeOutOneThatWaits)
{
    lanes<int> l;
    (void)l.enter("T", "k", 1);
    for (const int i : {2, 3, 4})
        (void)l.enter("T", "k", i);
    EXPECT_TRUE(l.remove("T", "k", 3));
    EXPECT_FALSE(l.remove("T", "k", 3)) << "it is out";
    EXPECT_FALSE(l.remove("T", "k", 1)) << "the head does not wait";
    EXPECT_FALSE(l.remove("T", "other", 2));
    EXPECT_EQ(l.waiting(), 2u);
    EXPECT_EQ(l.leave("T", "k", false), 2);
    EXPECT_EQ(l.leave("T", "k", false), 4);
    EXPECT_EQ(l.leave("T", "k", false), std::nullopt);
}

TEST(Lanes, TellTheOneAfterADoubtfulEnd)
{
    lanes<int> l;
    (void)l.enter("T", "k", 1);
    (void)l.enter("T", "k", 2);
    (void)l.enter("T", "k", 3);
    EXPECT_FALSE(l.after_doubt("T", "k")) << "nothing went before the first";
    EXPECT_EQ(l.leave("T", "k", true), 2);
    EXPECT_TRUE(l.after_doubt("T", "k"));
    EXPECT_EQ(l.leave("T", "k", false), 3);
    EXPECT_FALSE(l.after_doubt("T", "k")) << "2 ended well: 3 is certain to follow it";
    EXPECT_FALSE(l.after_doubt("T", "unheard of"));
}

// A lane was forgotten with its doubt when nothing waited in it at that moment.
TEST(Lanes, TellTheNextOneOfADoubtThoughItComesLater)
{
    lanes<int> l;
    (void)l.enter("T", "k", 1);
    EXPECT_EQ(l.leave("T", "k", true), std::nullopt);
    EXPECT_EQ(l.size(), 0u) << "nothing is under way";
    EXPECT_EQ(l.leave("T", "k", false), std::nullopt);
    EXPECT_TRUE(l.enter("T", "k", 2));
    EXPECT_TRUE(l.after_doubt("T", "k"));
    EXPECT_EQ(l.leave("T", "k", false), std::nullopt);
    EXPECT_EQ(l.known(), 0u);
    EXPECT_TRUE(l.enter("T", "k", 3));
    EXPECT_FALSE(l.after_doubt("T", "k"));
}

TEST(Lanes, RememberABoundedNumberOfDoubts)
{
    lanes<int> l;
    const int n = 3 * static_cast<int>(lanes<int>::max_doubts);
    for (int i = 0; i < n; ++i) {
        const std::string key = "k" + std::to_string(i);
        EXPECT_TRUE(l.enter("T", key, i));
        EXPECT_EQ(l.leave("T", key, true), std::nullopt);
    }
    EXPECT_LE(l.known(), lanes<int>::max_doubts);
    EXPECT_EQ(l.size(), 0u);
    EXPECT_TRUE(l.after_doubt("T", "k" + std::to_string(n - 1)));
    EXPECT_FALSE(l.after_doubt("T", "k0"));
}

// Against a plain model, over many random steps.
TEST(Lanes, DoWhatAListForEachKeyWouldDo)
{
    struct model {
        bool busy = false;
        std::vector<int> waiting;
    };
    std::mt19937 random(7);
    lanes<int> l;
    std::map<std::string, model> expected;
    int next = 0;
    for (int step = 0; step < 200'000; ++step) {
        const std::string key = "k" + std::to_string(random() % 7);
        model& m = expected[key];
        switch (random() % 3) {
        case 0:
            ASSERT_EQ(l.enter("T", key, next), !m.busy);
            if (m.busy)
                m.waiting.push_back(next);
            m.busy = true;
            ++next;
            break;
        case 1: {
            const auto got = l.leave("T", key, false);
            if (!m.busy || m.waiting.empty()) {
                ASSERT_EQ(got, std::nullopt);
                m.busy = false;
            } else {
                ASSERT_EQ(got, m.waiting.front());
                m.waiting.erase(m.waiting.begin());
            }
            break;
        }
        default:
            if (!m.waiting.empty()) {
                const std::size_t which = random() % m.waiting.size();
                ASSERT_TRUE(l.remove("T", key, m.waiting[which]));
                m.waiting.erase(m.waiting.begin() + static_cast<std::ptrdiff_t>(which));
            }
        }
        std::size_t waiting = 0, busy = 0;
        for (const auto& [name, lane] : expected) {
            waiting += lane.waiting.size();
            busy += lane.busy ? 1u : 0u;
        }
        ASSERT_EQ(l.waiting(), waiting);
        ASSERT_EQ(l.size(), busy);
    }
}

TEST(Lanes, ShowThoseThatWaitInOrderUntilOneIsTooMany)
{
    lanes<int> l;
    EXPECT_TRUE(l.enter("T", "k", 1));
    for (int i = 2; i <= 5; ++i)
        EXPECT_FALSE(l.enter("T", "k", i));
    std::vector<int> seen;
    l.each_waiting("T", "k", [&](int i) {
        seen.push_back(i);
        return i < 4;
    });
    EXPECT_EQ(seen, (std::vector<int>{2, 3, 4})) << "not the head, which is under way";
    l.each_waiting("T", "other", [&](int) { return ADD_FAILURE(), false; });
    EXPECT_EQ(l.leave("T", "k", false), 2);
}

}  // namespace
}  // namespace shunt::send
