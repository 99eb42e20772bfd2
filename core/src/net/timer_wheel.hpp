// Many deadlines at the cost of few: a hashed wheel of intrusive lists. Pure: time comes in.
//
// Setting and clearing are O(1). A deadline is told at most one tick (1 ms) late, never early.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace shunt::net {

/// Part of what waits. Unlinks itself when destroyed.
class timer_hook {
public:
    timer_hook() = default;
    timer_hook(const timer_hook&) = delete;
    timer_hook& operator=(const timer_hook&) = delete;
    ~timer_hook() { unlink(); }

    [[nodiscard]] bool armed() const noexcept { return next_ != nullptr; }
    [[nodiscard]] std::int64_t deadline_ns() const noexcept { return deadline_ns_; }

    /// What happens when the time has come; set by the owner once. The hook is clear by then and may be set anew.
    void (*expired)(timer_hook&) = nullptr;

private:
    friend class timer_wheel;
    void unlink() noexcept
    {
        if (next_ == nullptr)
            return;
        prev_->next_ = next_;
        next_->prev_ = prev_;
        prev_ = next_ = nullptr;
        if (set_of_ != nullptr)
            --*set_of_;
    }
    timer_hook* prev_ = nullptr;
    timer_hook* next_ = nullptr;
    std::size_t* set_of_ = nullptr;  // how many are set in its wheel; null: the head of a list
    std::int64_t deadline_ns_ = 0;
};

class timer_wheel {
public:
    explicit timer_wheel(std::int64_t now_ns) noexcept : tick_(now_ns / tick_ns)
    {
        for (timer_hook& head : slots_)
            head.prev_ = head.next_ = &head;
    }
    ~timer_wheel()
    {
        for (timer_hook& head : slots_) {
            while (head.next_ != &head)
                head.next_->unlink();
            head.prev_ = head.next_ = nullptr;
        }
    }
    timer_wheel(const timer_wheel&) = delete;
    timer_wheel& operator=(const timer_wheel&) = delete;

    void set(timer_hook& hook, std::int64_t deadline_ns) noexcept
    {
        clear(hook);
        hook.deadline_ns_ = deadline_ns;
        hook.set_of_ = &count_;
        std::int64_t tick = due_tick(deadline_ns);
        if (tick <= tick_)
            tick = tick_ + 1;
        timer_hook& head = slots_[static_cast<std::size_t>(tick) % n_slots];
        hook.prev_ = head.prev_;
        hook.next_ = &head;
        head.prev_->next_ = &hook;
        head.prev_ = &hook;
        ++count_;
        if (tick < next_)
            next_ = tick;
    }
    void clear(timer_hook& hook) noexcept { hook.unlink(); }

    /// Calls expired() of all that are due at `now_ns`.
    void advance(std::int64_t now_ns)
    {
        const std::int64_t now_tick = now_ns / tick_ns;
        if (count_ == 0)
            next_ = std::numeric_limits<std::int64_t>::max();
        if (now_tick < next_) {
            if (now_tick > tick_)
                tick_ = now_tick;
            return;
        }
        // A full turn visits every slot, so time that jumps far ahead costs no more than that.
        std::int64_t from = next_ - 1 > tick_ ? next_ - 1 : tick_;
        if (now_tick - from > static_cast<std::int64_t>(n_slots))
            from = now_tick - static_cast<std::int64_t>(n_slots);
        tick_ = now_tick;
        for (std::int64_t t = from + 1; t <= now_tick; ++t)
            visit(slots_[static_cast<std::size_t>(t) % n_slots], now_ns);
        find_next();
    }

    /// When advance() should be called next; INT64_MAX: nothing is set.
    [[nodiscard]] std::int64_t next_ns() const noexcept
    {
        constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
        return count_ == 0 || next_ > never / tick_ns ? never : next_ * tick_ns;
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

private:
    static constexpr std::int64_t tick_ns = 1'000'000;
    static constexpr std::size_t n_slots = 4096;

    static std::int64_t due_tick(std::int64_t deadline_ns) noexcept
    {
        return deadline_ns / tick_ns + (deadline_ns % tick_ns != 0 ? 1 : 0);
    }
    void visit(timer_hook& head, std::int64_t now_ns)
    {
        // What is not due yet lies a turn or more ahead and stays. expired() may set and clear others, so the list is
        // taken aside first; what is cleared meanwhile unlinks itself from wherever it is.
        timer_hook aside;
        aside.prev_ = aside.next_ = &aside;
        if (head.next_ != &head) {
            aside.next_ = head.next_;
            aside.prev_ = head.prev_;
            aside.next_->prev_ = &aside;
            aside.prev_->next_ = &aside;
            head.prev_ = head.next_ = &head;
        }
        while (aside.next_ != &aside) {
            timer_hook& hook = *aside.next_;
            hook.unlink();
            if (hook.deadline_ns_ <= now_ns) {
                hook.expired(hook);
                continue;
            }
            ++count_;
            hook.prev_ = head.prev_;
            hook.next_ = &head;
            head.prev_->next_ = &hook;
            head.prev_ = &hook;
        }
        aside.prev_ = aside.next_ = nullptr;
    }
    void find_next() noexcept
    {
        next_ = std::numeric_limits<std::int64_t>::max();
        if (count_ == 0)
            return;
        for (std::int64_t t = tick_ + 1; t <= tick_ + static_cast<std::int64_t>(n_slots); ++t) {
            const timer_hook& head = slots_[static_cast<std::size_t>(t) % n_slots];
            if (head.next_ != &head) {  // perhaps of a later turn: then advance() finds nothing due and looks again
                next_ = t;
                return;
            }
        }
    }

    std::array<timer_hook, n_slots> slots_;
    std::int64_t tick_;
    std::int64_t next_ = std::numeric_limits<std::int64_t>::max();
    std::size_t count_ = 0;
};

}  // namespace shunt::net
