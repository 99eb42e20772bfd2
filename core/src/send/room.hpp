// Room for messages: how much may be in flight, of all topics together and of single ones, and who waits for it.
//
// Pure. An Item stands for a send: it has `cost` (bytes), `holds`, and `topic_room`, which counts when `holds` says so. A
// List keeps such items in order: push_back(Item&), remove(Item&), front().

#pragma once

#include <send/in_flight.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace shunt::send {

/// What an item has of the room.
enum class holds : std::uint8_t {
    nothing,
    of_all,    ///< its topic has no limits of its own
    of_both,   ///< of all, and of its topic's
    of_topic,  ///< its topic's only: it waits for the other
};

/// The room of a topic with limits of its own.
template <typename List>
struct limited_topic {
    limited_topic(std::size_t max_messages, std::size_t max_bytes) noexcept : counts(max_messages, max_bytes) {}

    in_flight counts;
    std::atomic<std::size_t> waiting{0};
    List line;
    bool listed = false;
};

/// Who waits, waits in the line of its topic first, then in that of all; so topics that are full hold up no others. Nobody
/// passes one that came earlier in a line, however small it is.
template <typename Item, typename List>
class room {
public:
    using topic = limited_topic<List>;

    room(std::size_t max_messages, std::size_t max_bytes) noexcept : all(max_messages, max_bytes) {}

    in_flight all;

    // Any thread.

    /// At once or not at all. False where anybody waits, and where topics have limits: see take_where_limited().
    [[nodiscard]] bool take(Item& i) noexcept
    {
        if (ahead_.load(std::memory_order_relaxed) != 0 || !all.take(i.cost))
            return false;
        i.holds = holds::of_all;
        return true;
    }
    /// The same where some topics have limits. `of`: null if the item's has none.
    [[nodiscard]] bool take_where_limited(Item& i, topic* of) noexcept
    {
        if ((ahead_.load(std::memory_order_relaxed) & ~limited) != 0)
            return false;
        if (of == nullptr) {
            if (!all.take(i.cost))
                return false;
            i.holds = holds::of_all;
            return true;
        }
        if (of->waiting.load(std::memory_order_relaxed) != 0 || !of->counts.take(i.cost))
            return false;
        if (!all.take(i.cost)) {
            of->counts.give_back(i.cost);
            return false;
        }
        i.holds = holds::of_both;
        i.topic_room = of;
        return true;
    }
    /// An item is on its way to enter(), and nobody who comes later goes first.
    void announce() noexcept { ahead_.fetch_add(1, std::memory_order_relaxed); }
    /// It will not enter after all.
    void withdraw() noexcept { ahead_.fetch_sub(1, std::memory_order_relaxed); }
    /// Gives back what the item has, if anything. Then those that wait should be admitted.
    template <typename Holder>
    void give_back(Holder& i) noexcept
    {
        const holds had = std::exchange(i.holds, holds::nothing);
        if (had == holds::of_all) [[likely]] {
            all.give_back(i.cost);
            return;
        }
        if (had == holds::nothing)
            return;
        i.topic_room->counts.give_back(i.cost);
        if (had == holds::of_both)
            all.give_back(i.cost);
    }
    [[nodiscard]] bool anybody_waits() const noexcept
    {
        return (ahead_.load(std::memory_order_relaxed) & ~limited) != 0 || in_topics_.load(std::memory_order_relaxed) != 0;
    }
    [[nodiscard]] bool topics_are_limited() const noexcept { return (ahead_.load(std::memory_order_relaxed) & limited) != 0; }

    // One thread at a time.

    /// From now on some topics have limits, or none has.
    void limit_topics(bool any) noexcept
    {
        if (any)
            ahead_.fetch_or(limited, std::memory_order_relaxed);
        else
            ahead_.fetch_and(~limited, std::memory_order_relaxed);
    }
    /// An announced item joins the end of a line.
    void enter(Item& i, topic* of)
    {
        i.topic_room = of;
        if (of == nullptr) {
            line_.push_back(i);
            return;
        }
        withdraw();
        in_topics_.fetch_add(1, std::memory_order_relaxed);
        of->waiting.fetch_add(1, std::memory_order_relaxed);
        of->line.push_back(i);
        if (!std::exchange(of->listed, true))
            listed_.push_back(of);
    }
    /// Waits no more (its deadline passed), and has nothing.
    void leave(Item& i) noexcept
    {
        if (i.topic_room == nullptr || i.holds == holds::of_topic) {
            line_.remove(i);
            withdraw();
            give_back(i);
        } else {
            leave_topic_line(i);
        }
    }
    /// Calls f(item) for each that has got its room, in order. f may let others enter, and leave.
    template <typename F>
    void admit(F&& f)
    {
        for (std::size_t n = 0; n < listed_.size();) {
            topic& of = *listed_[n];
            for (Item* i = of.line.front(); i != nullptr && of.counts.take(i->cost); i = of.line.front()) {
                leave_topic_line(*i);
                i->holds = holds::of_topic;
                announce();
                line_.push_back(*i);
            }
            if (of.line.front() != nullptr) {
                ++n;
                continue;
            }
            of.listed = false;
            listed_.erase(listed_.begin() + static_cast<std::ptrdiff_t>(n));
        }
        for (Item* i = line_.front(); i != nullptr && all.take(i->cost); i = line_.front()) {
            line_.remove(*i);
            withdraw();
            i->holds = i->holds == holds::of_topic ? holds::of_both : holds::of_all;
            f(*i);
        }
    }

private:
    static constexpr std::uint64_t limited = std::uint64_t{1} << 63;

    void leave_topic_line(Item& i) noexcept
    {
        topic& of = *i.topic_room;
        of.line.remove(i);
        of.waiting.fetch_sub(1, std::memory_order_relaxed);
        in_topics_.fetch_sub(1, std::memory_order_relaxed);
    }

    std::atomic<std::uint64_t> ahead_{0};  // those in line_ or on their way to a line; and `limited`
    std::atomic<std::size_t> in_topics_{0};
    List line_;
    std::vector<topic*> listed_;  // those in whose lines somebody waits, or waited just now
};

}  // namespace shunt::send
