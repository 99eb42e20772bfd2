// Flow control: all ways in which room is taken, given back, and the limits change.

#include <model/explore.hpp>

#include <send/in_flight.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt::model {
namespace {

constexpr std::array<std::size_t, 3> costs{1, 3, 7};
constexpr std::array<std::pair<std::size_t, std::size_t>, 3> limits{std::pair<std::size_t, std::size_t>{2, 8}, {1, 3}, {4, 16}};
constexpr std::size_t letters = costs.size() + 2 + limits.size();  // take; give back the first, the last; limit
constexpr std::size_t depth = 7;

template <typename Room>
class room {
public:
    std::string step(std::size_t letter)
    {
        if (letter < costs.size()) {
            const std::size_t cost = costs[letter];
            const bool fits = taken_.size() < limit_.first && bytes_ + cost <= limit_.second;
            if (under_test_->fits_ever(cost) != (cost <= limit_.second))
                return "it does not know what can ever fit";
            if (under_test_->take(cost) != fits)
                return fits ? "there is room, and it is refused" : "more is under way than is allowed";
            if (fits) {
                taken_.push_back(cost);
                bytes_ += cost;
            }
        } else if (letter < costs.size() + 2) {
            if (taken_.empty())
                return {};
            const auto which = letter == costs.size() ? taken_.begin() : taken_.end() - 1;
            under_test_->give_back(*which);
            bytes_ -= *which;
            taken_.erase(which);
        } else {
            limit_ = limits[letter - costs.size() - 2];
            under_test_->limit(limit_.first, limit_.second);
        }
        if (under_test_->messages() != taken_.size() || under_test_->bytes() != bytes_)
            return "room leaks";
        return {};
    }

private:
    std::pair<std::size_t, std::size_t> limit_ = limits[0];
    std::unique_ptr<Room> under_test_ = std::make_unique<Room>(limit_.first, limit_.second);
    std::vector<std::size_t> taken_;
    std::size_t bytes_ = 0;
};

template <typename Room>
finding all_of(std::size_t length)
{
    return explore<room<Room>>(letters, length, [] { return room<Room>(); });
}

TEST(InFlightModel, HoldsInEverySequenceOfSevenEvents)
{
    const finding f = all_of<send::in_flight>(depth);
    EXPECT_EQ(f.wrong, "") << f.shown();
    EXPECT_EQ(f.sequences, 2'097'152U);
}

// ---- planted ----

/// Where the bytes do not fit, the message stays counted.
struct leaking : send::in_flight {
    using in_flight::in_flight;
    bool take(std::size_t bytes)
    {
        if (in_flight::take(bytes))
            return true;
        (void)in_flight::take(0);
        return false;
    }
};
struct forgetting_bytes : send::in_flight {
    using in_flight::in_flight;
    void give_back(std::size_t) { in_flight::give_back(0); }
};
struct one_too_many : send::in_flight {
    one_too_many(std::size_t messages, std::size_t bytes) : in_flight(messages + 1, bytes) {}
};

TEST(InFlightModel, FindsWhatIsPlanted)
{
    EXPECT_EQ(all_of<leaking>(3).wrong, "room leaks");
    EXPECT_EQ(all_of<forgetting_bytes>(3).wrong, "room leaks");
    EXPECT_EQ(all_of<one_too_many>(3).wrong, "more is under way than is allowed");
}

}  // namespace
}  // namespace shunt::model
