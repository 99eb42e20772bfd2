// Lanes: all ways in which messages of two keys come, end and are taken out, against plain queues.

#include <model/explore.hpp>

#include <send/lanes.hpp>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::model {
namespace {

constexpr std::array<std::string_view, 2> keys{"a", "b"};
enum class event { enter, leave, leave_in_doubt, remove_first, remove_last };
constexpr std::size_t n_events = 5;
constexpr std::size_t letters = n_events * keys.size();
constexpr std::size_t depth = 6;

template <typename Lanes>
class two_lanes {
public:
    std::string step(std::size_t letter)
    {
        const std::string_view key = keys[letter % keys.size()];
        lane& l = lanes_[letter % keys.size()];
        switch (static_cast<event>(letter / keys.size())) {
        case event::enter: {
            const int n = next_++;
            const bool goes = under_test_.enter("T", key, n);
            if (goes != !l.head)
                return goes ? "two of a key are under way" : "nothing is under way, and the next must wait";
            if (goes)
                l.head = n;
            else
                l.waiting.push_back(n);
            break;
        }
        case event::leave:
        case event::leave_in_doubt: {
            const bool doubt = static_cast<event>(letter / keys.size()) == event::leave_in_doubt;
            const auto next = under_test_.leave("T", key, doubt);
            if (!l.head) {
                if (next)
                    return "something left a lane where nothing was";
                break;
            }
            l.head.reset();
            l.doubt = doubt;
            if (!l.waiting.empty()) {
                l.head = l.waiting.front();
                l.waiting.pop_front();
            }
            if (next != l.head)
                return !next ? "a message that waited is lost" : !l.head ? "a message nobody sent" : "a message overtook another";
            break;
        }
        case event::remove_first:
        case event::remove_last: {
            const bool first = static_cast<event>(letter / keys.size()) == event::remove_first;
            if (l.waiting.empty()) {
                if (l.head && under_test_.remove("T", key, *l.head))
                    return "what is under way was taken out";
                break;
            }
            const int n = first ? l.waiting.front() : l.waiting.back();
            if (!under_test_.remove("T", key, n))
                return "what waits cannot be taken out";
            first ? l.waiting.pop_front() : l.waiting.pop_back();
            break;
        }
        }
        return state();
    }

private:
    struct lane {
        std::optional<int> head;
        std::deque<int> waiting;
        bool doubt = false;  // the one before the head (or the last one) ended unknown
    };
    std::string state()
    {
        std::size_t busy = 0, waiting = 0, known = 0;
        for (std::size_t k = 0; k < keys.size(); ++k) {
            const lane& l = lanes_[k];
            busy += l.head ? 1 : 0;
            waiting += l.waiting.size();
            known += l.head || l.doubt ? 1 : 0;
            if (under_test_.after_doubt("T", keys[k]) != l.doubt)
                return l.doubt ? "a doubt is forgotten" : "a doubt that is none";
            std::deque<int> seen;
            under_test_.each_waiting("T", keys[k], [&](int n) {
                seen.push_back(n);
                return true;
            });
            if (seen != l.waiting)
                return "what waits is not what came, in its order";
        }
        if (under_test_.size() != busy || under_test_.waiting() != waiting)
            return "the counts are wrong";
        if (under_test_.known() != known)
            return "a lane is left that nobody needs";
        return {};
    }

    Lanes under_test_;
    std::array<lane, keys.size()> lanes_;
    int next_ = 0;
};

template <typename Lanes>
finding all_of(std::size_t length)
{
    return explore<two_lanes<Lanes>>(letters, length, [] { return two_lanes<Lanes>(); });
}

TEST(LanesModel, HoldsInEverySequenceOfSixEvents)
{
    const finding f = all_of<send::lanes<int>>(depth);
    EXPECT_EQ(f.wrong, "") << f.shown();
    EXPECT_EQ(f.sequences, 1'000'000U);
}

// ---- planted ----

struct overtaking : send::lanes<int> {
    std::optional<int> leave(std::string_view topic, std::string_view key, bool doubt)
    {
        const auto next = lanes::leave(topic, key, doubt);
        std::optional<int> second;
        each_waiting(topic, key, [&](int n) { return second = n, false; });
        if (!next || !second)
            return next;
        (void)remove(topic, key, *second);
        (void)enter(topic, key, *next);
        return second;
    }
};
struct two_at_once : send::lanes<int> {
    bool enter(std::string_view topic, std::string_view key, int n)
    {
        (void)lanes::enter(topic, key, n);
        return true;
    }
};
struct forgetting_doubts : send::lanes<int> {
    std::optional<int> leave(std::string_view topic, std::string_view key, bool) { return lanes::leave(topic, key, false); }
};
struct losing : send::lanes<int> {
    std::optional<int> leave(std::string_view topic, std::string_view key, bool doubt)
    {
        (void)lanes::leave(topic, key, doubt);
        return std::nullopt;
    }
};
struct keeping : send::lanes<int> {
    bool remove(std::string_view, std::string_view, int) { return true; }
};

TEST(LanesModel, FindsWhatIsPlanted)
{
    EXPECT_EQ(all_of<overtaking>(4).wrong, "a message overtook another");
    EXPECT_EQ(all_of<two_at_once>(4).wrong, "two of a key are under way");
    EXPECT_EQ(all_of<forgetting_doubts>(4).wrong, "a doubt is forgotten");
    EXPECT_EQ(all_of<losing>(4).wrong, "a message that waited is lost");
    EXPECT_NE(all_of<keeping>(4).wrong, "");
}

}  // namespace
}  // namespace shunt::model
