// A completion handler of any type, held in place where it fits: how async sends remember whom to tell.

#pragma once

#include <shunt/error.hpp>
#include <shunt/receipt.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/system_executor.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace shunt::detail {

/// What is handed over, as it is; of what is kept, as by a deferred operation that may be begun again, a copy.
template <typename T>
    requires(!std::is_reference_v<T>)
[[nodiscard]] T&& taken(T&& value) noexcept
{
    return std::move(value);
}
template <typename T>
[[nodiscard]] T taken(const T& value)
{
    return value;
}

/// Move-only. Called once or not at all.
class completion {
public:
    completion() = default;

    template <typename Handler>
        requires(!std::is_same_v<std::decay_t<Handler>, completion>)
    explicit completion(Handler&& handler)
    {
        using holder = held<std::decay_t<Handler>>;
        if constexpr (sizeof(holder) <= room && alignof(holder) <= alignof(std::max_align_t) &&
                      std::is_nothrow_move_constructible_v<holder>) {
            ::new (static_cast<void*>(storage_)) holder(std::forward<Handler>(handler));
            ops_ = &inline_ops<holder>;
        } else {
            ::new (static_cast<void*>(storage_)) holder*(allocated<holder>(std::forward<Handler>(handler)));
            ops_ = &heap_ops<holder>;
        }
    }
    completion(completion&& other) noexcept : ops_(std::exchange(other.ops_, nullptr))
    {
        if (ops_ != nullptr)
            ops_->move(other.storage_, storage_);
    }
    completion& operator=(completion&& other) noexcept
    {
        if (this != &other) {
            reset();
            ops_ = std::exchange(other.ops_, nullptr);
            if (ops_ != nullptr)
                ops_->move(other.storage_, storage_);
        }
        return *this;
    }
    ~completion() { reset(); }

    [[nodiscard]] explicit operator bool() const noexcept { return ops_ != nullptr; }
    /// True: the handler has no executor of its own and runs where it is called.
    [[nodiscard]] bool unbound() const noexcept { return ops_->unbound; }
    /// Calls the handler: at once where it has no executor or runs on it already, else posted to its executor.
    void operator()(const error_code& ec, receipt&& r)
    {
        const operations* ops = std::exchange(ops_, nullptr);
        ops->call(storage_, ec, std::move(r));
    }
    void reset() noexcept
    {
        if (ops_ != nullptr)
            std::exchange(ops_, nullptr)->destroy(storage_);
    }

private:
    static constexpr std::size_t room = 224;  // a small handler bound to an any_io_executor, and the work it counts as

    struct operations {
        void (*call)(std::byte*, const error_code&, receipt&&);
        void (*move)(std::byte* from, std::byte* to) noexcept;
        void (*destroy)(std::byte*) noexcept;
        bool unbound;
    };

    template <typename Handler>
    struct held {
        using executor = boost::asio::associated_executor_t<Handler>;
        static constexpr bool unbound = std::is_same_v<executor, boost::asio::system_executor>;

        explicit held(Handler h) : handler(std::move(h)), work(boost::asio::make_work_guard(boost::asio::get_associated_executor(handler))) {}

        void operator()(const error_code& ec, receipt&& r)
        {
            if constexpr (unbound) {
                std::move(handler)(ec, std::move(r));
            } else {
                auto ex = work.get_executor();
                boost::asio::dispatch(ex, [h = std::move(handler), ec, rec = std::move(r)]() mutable {
                    std::move(h)(ec, std::move(rec));
                });
            }
        }
        Handler handler;
        boost::asio::executor_work_guard<executor> work;
    };

    // Handlers that do not fit lie where their associated allocator puts them.
    template <typename Holder>
    using allocator_of = typename std::allocator_traits<
        boost::asio::associated_allocator_t<decltype(Holder::handler)>>::template rebind_alloc<Holder>;

    template <typename Holder, typename Handler>
    static Holder* allocated(Handler&& handler)
    {
        allocator_of<Holder> from(boost::asio::get_associated_allocator(handler));
        Holder* const p = std::allocator_traits<allocator_of<Holder>>::allocate(from, 1);
        try {
            return ::new (static_cast<void*>(p)) Holder(std::forward<Handler>(handler));
        } catch (...) {
            std::allocator_traits<allocator_of<Holder>>::deallocate(from, p, 1);
            throw;
        }
    }
    /// Ends one that was allocated. Its allocator is asked for first: a handler that was called may have none any more.
    template <typename Holder>
    class ending {
    public:
        explicit ending(std::byte* s) noexcept
            : at_(*std::launder(reinterpret_cast<Holder**>(s))), from_(boost::asio::get_associated_allocator(at_->handler))
        {
        }
        ~ending()
        {
            at_->~Holder();
            std::allocator_traits<allocator_of<Holder>>::deallocate(from_, at_, 1);
        }
        ending(const ending&) = delete;
        ending& operator=(const ending&) = delete;
        Holder& operator*() const noexcept { return *at_; }

    private:
        Holder* at_;
        allocator_of<Holder> from_;
    };

    template <typename Holder>
    static constexpr operations inline_ops{
        [](std::byte* s, const error_code& ec, receipt&& r) {
            auto* p = std::launder(reinterpret_cast<Holder*>(s));
            Holder local(std::move(*p));
            p->~Holder();
            local(ec, std::move(r));
        },
        [](std::byte* from, std::byte* to) noexcept {
            auto* p = std::launder(reinterpret_cast<Holder*>(from));
            ::new (static_cast<void*>(to)) Holder(std::move(*p));
            p->~Holder();
        },
        [](std::byte* s) noexcept { std::launder(reinterpret_cast<Holder*>(s))->~Holder(); },
        Holder::unbound,
    };
    template <typename Holder>
    static constexpr operations heap_ops{
        [](std::byte* s, const error_code& ec, receipt&& r) {
            const ending<Holder> last(s);
            (*last)(ec, std::move(r));
        },
        [](std::byte* from, std::byte* to) noexcept {
            ::new (static_cast<void*>(to)) Holder*(*std::launder(reinterpret_cast<Holder**>(from)));
        },
        [](std::byte* s) noexcept { const ending<Holder> last(s); },
        Holder::unbound,
    };

    const operations* ops_ = nullptr;
    alignas(std::max_align_t) std::byte storage_[room];
};

}  // namespace shunt::detail
