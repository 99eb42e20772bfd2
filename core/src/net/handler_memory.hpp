// Memory for asynchronous operations that come again and again: taken from fixed places, so that a steady load asks the heap
// for nothing.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <new>

namespace shunt::net {

/// `Count` places of `Size` bytes. What finds no place, or is larger, comes from the heap. Thread-safe: an operation may be
/// begun on one thread and ended on another, for which the memory that Asio keeps for each thread does not serve. Must
/// outlive what lies in it.
template <std::size_t Size, std::size_t Count>
class handler_memory {
public:
    /// To be bound to a handler (boost::asio::bind_allocator).
    template <typename T>
    class allocator {
    public:
        using value_type = T;
        explicit allocator(handler_memory& from) noexcept : from_(&from) {}
        template <typename U>
        allocator(const allocator<U>& other) noexcept : from_(other.from_)
        {
        }
        [[nodiscard]] T* allocate(std::size_t n) { return static_cast<T*>(from_->take(n * sizeof(T))); }
        void deallocate(T* p, std::size_t) noexcept { from_->give(p); }
        template <typename U>
        [[nodiscard]] bool operator==(const allocator<U>& other) const noexcept
        {
            return from_ == other.from_;
        }

    private:
        template <typename>
        friend class allocator;
        handler_memory* from_;
    };

    [[nodiscard]] allocator<std::byte> get() noexcept { return allocator<std::byte>(*this); }

private:
    struct place {
        alignas(std::max_align_t) std::array<std::byte, Size> bytes;
        std::atomic<bool> taken{false};
    };

    void* take(std::size_t size)
    {
        if (size <= Size) {
            for (place& p : places_) {
                if (!p.taken.exchange(true, std::memory_order_acquire))
                    return p.bytes.data();
            }
        }
        return ::operator new(size);
    }
    void give(void* at) noexcept
    {
        for (place& p : places_) {
            if (at == p.bytes.data()) {
                p.taken.store(false, std::memory_order_release);
                return;
            }
        }
        ::operator delete(at);
    }

    std::array<place, Count> places_;
};

}  // namespace shunt::net
