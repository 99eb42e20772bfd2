// How much may be under way at once: messages and bytes. Both are taken together or not at all.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace shunt::send {

class in_flight {
public:
    in_flight(std::size_t max_messages, std::size_t max_bytes) noexcept : max_messages_(max_messages), max_bytes_(max_bytes) {}

    /// Counts from now on; what is under way stays, though it may be more.
    void limit(std::size_t max_messages, std::size_t max_bytes) noexcept
    {
        max_messages_.store(max_messages, std::memory_order_relaxed);
        max_bytes_.store(max_bytes, std::memory_order_relaxed);
    }
    [[nodiscard]] bool fits_ever(std::size_t bytes) const noexcept { return bytes <= max_bytes_.load(std::memory_order_relaxed); }

    /// Any thread. False: no room, nothing was taken.
    [[nodiscard]] bool take(std::size_t bytes) noexcept
    {
        if (!raise(messages_, 1, max_messages_.load(std::memory_order_relaxed)))
            return false;
        if (raise(bytes_, bytes, max_bytes_.load(std::memory_order_relaxed)))
            return true;
        messages_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    void give_back(std::size_t bytes) noexcept
    {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        messages_.fetch_sub(1, std::memory_order_release);
    }
    [[nodiscard]] std::size_t messages() const noexcept { return messages_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

private:
    static bool raise(std::atomic<std::size_t>& value, std::size_t by, std::size_t max) noexcept
    {
        std::size_t now = value.load(std::memory_order_relaxed);
        do {
            if (by > max || now > max - by)
                return false;
        } while (!value.compare_exchange_weak(now, now + by, std::memory_order_acquire, std::memory_order_relaxed));
        return true;
    }
    std::atomic<std::size_t> max_messages_, max_bytes_;
    alignas(64) std::atomic<std::size_t> messages_{0};
    std::atomic<std::size_t> bytes_{0};
};

}  // namespace shunt::send
