// One send: all ways in which its attempts can begin, end and take their time.

#include <model/explore.hpp>

#include <send/machine.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace shunt::model {
namespace {

using send::machine;

constexpr std::int64_t timeout = 1000;
constexpr std::int64_t backoff_max = 40;

constexpr send::meaning meant(outcome o, bool retry)
{
    send::meaning m;
    m.outcome = o;
    m.retry = retry;
    return m;
}
constexpr std::array<send::meaning, 8> endings{
    meant(outcome::stored, false),   meant(outcome::stored, true),   meant(outcome::unknown, false),  meant(outcome::unknown, true),
    meant(outcome::rejected, false), meant(outcome::rejected, true), meant(outcome::not_sent, false), meant(outcome::not_sent, true)};
constexpr std::array<std::int64_t, 3> durations{0, 400, timeout};
constexpr std::uint32_t brokers = 2;
constexpr std::size_t letters = endings.size() * durations.size() * brokers;

/// An event: an attempt at a broker, how it ends, and after how long. What is known of a send, in plain words, beside it.
template <typename Machine>
class one_send {
public:
    explicit one_send(std::uint32_t attempts)
        : attempts_(attempts), machine_({.timeout_ns = timeout, .attempts = attempts, .attempt_ns = 0, .backoff_ns = 10,
                                         .backoff_max_ns = backoff_max, .resolution_ns = 1}, 0)
    {
    }

    std::string step(std::size_t letter)
    {
        if (over_)
            return {};
        const auto broker = static_cast<std::uint32_t>(letter % brokers);
        const std::int64_t takes = durations[letter / brokers % durations.size()];
        const send::meaning& end = endings[letter / brokers / durations.size()];

        const std::int64_t left = timeout - now_, share = machine_.share_at(now_);
        const auto promised = static_cast<std::int64_t>(attempts_ - begun_);
        if (share <= 0)
            return "an attempt is promised, and has no time";
        if (share * promised > left)
            return "the attempts that are promised take more time than is left";
        const bool before = std::find(tried_.begin(), tried_.end(), broker) != tried_.end();
        const std::int64_t pause = machine_.pause_before(broker, UINT64_MAX);
        if (!before && pause != 0)
            return "a pause before a broker that was not tried";
        if (pause > backoff_max || pause < 0)
            return "a pause longer than the longest";
        if (machine_.pause_before(broker, UINT64_MAX) != 0)
            return "a second pause before one attempt";

        machine_.begin(broker);
        ++begun_;
        if (!before)
            tried_.push_back(broker);
        if (machine_.attempts() != begun_ || !std::ranges::equal(machine_.tried(), tried_))
            return "it does not know what was tried";

        now_ += takes;
        const bool stored_before = worst_ == 3;
        const bool again = machine_.ended(end, now_);
        worst_ = std::max(worst_, rank(end.outcome));
        over_ = !again;
        if (machine_.verdict() != known())
            return "the verdict is " + std::string(to_string(machine_.verdict())) + ", and it is " + std::string(to_string(known()));
        if (again && !end.retry)
            return "tried again though that is not worth it";
        if (again && begun_ == attempts_)
            return "more attempts than are allowed";
        if (again && now_ >= timeout)
            return "tried again after the deadline";
        if (again && stored_before && end.outcome != outcome::stored)
            return "tried again though it is stored";
        if (again && machine_.share_at(now_) == 0)
            return "tried again without time for it";
        const bool should = end.retry && begun_ < attempts_ && now_ < timeout && (worst_ != 3 || end.outcome == outcome::stored);
        if (again != should)
            return "given up too early";
        return {};
    }

private:
    static int rank(outcome o) { return o == outcome::stored ? 3 : o == outcome::unknown ? 2 : o == outcome::rejected ? 1 : 0; }
    [[nodiscard]] outcome known() const
    {
        constexpr std::array<outcome, 4> by_rank{outcome::not_sent, outcome::rejected, outcome::unknown, outcome::stored};
        return by_rank[static_cast<std::size_t>(worst_)];
    }

    std::uint32_t attempts_;
    Machine machine_;
    std::int64_t now_ = 0;
    std::uint32_t begun_ = 0;
    std::vector<std::uint32_t> tried_;
    int worst_ = 0;
    bool over_ = false;
};

template <typename Machine>
finding all_of(std::uint32_t attempts)
{
    return explore<one_send<Machine>>(letters, attempts, [&] { return one_send<Machine>(attempts); });
}

TEST(SendModel, HoldsInEverySequenceOfThreeAttempts)
{
    for (std::uint32_t attempts = 1; attempts <= 3; ++attempts) {
        const finding f = all_of<machine>(attempts);
        EXPECT_EQ(f.wrong, "") << f.shown();
        EXPECT_EQ(f.sequences, attempts == 1 ? letters : attempts == 2 ? letters * letters : letters * letters * letters);
    }
}

// ---- planted ----

/// Forgets what may have been stored once something else is known.
struct forgets_doubt : machine {
    using machine::machine;
    [[nodiscard]] bool ended(const send::meaning& m, std::int64_t now)
    {
        last_ = m.outcome;
        return machine::ended(m, now);
    }
    [[nodiscard]] outcome verdict() const { return machine::verdict() == outcome::unknown ? last_ : machine::verdict(); }
    outcome last_{};
};
struct tries_once_more : machine {
    using machine::machine;
    [[nodiscard]] bool ended(const send::meaning& m, std::int64_t now) { return machine::ended(m, now) || m.retry; }
};
struct pauses_always : machine {
    using machine::machine;
    [[nodiscard]] std::int64_t pause_before(std::uint32_t, std::uint64_t) { return 10; }
};
struct shares_too_much : machine {
    using machine::machine;
    [[nodiscard]] std::int64_t share_at(std::int64_t now) const { return std::max<std::int64_t>(0, deadline_ns() - now); }
};

TEST(SendModel, FindsWhatIsPlanted)
{
    EXPECT_EQ(all_of<forgets_doubt>(2).wrong, "the verdict is rejected, and it is unknown");
    EXPECT_EQ(all_of<tries_once_more>(2).wrong, "more attempts than are allowed");
    EXPECT_EQ(all_of<pauses_always>(2).wrong, "a pause before a broker that was not tried");
    EXPECT_EQ(all_of<shares_too_much>(2).wrong, "the attempts that are promised take more time than is left");
}

}  // namespace
}  // namespace shunt::model
