// Questions a program asks of brokers besides sending: kept answers, and waiting for them on any thread.

#pragma once

#include <net/request.hpp>
#include <shunt/admin.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::client {

/// What became of a question, kept beyond the moment it came.
class kept_answer {
public:
    kept_answer() = default;
    explicit kept_answer(const net::reply& r);

    [[nodiscard]] bool answered() const noexcept { return how == send::ending::answered; }
    [[nodiscard]] bool success() const noexcept { return answered() && code == wire::response::success; }
    [[nodiscard]] std::string_view field(std::string_view name) const noexcept;
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const noexcept;
    /// `what` begins the text: "recall on broker-a".
    [[nodiscard]] ask_error error(std::string_view what) const;

    send::ending how = send::ending::refused;
    errc why = errc::connect_failed;  ///< refused only
    std::int32_t code = -1;
    std::string text;  ///< the remark, or what the network said
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;
};

/// The one answer to a question, whoever comes first: what was asked for, or the end of waiting.
template <typename T>
class one_answer {
public:
    void operator()(asked<T> a)
    {
        if (!done_.exchange(true))
            promise_.set_value(std::move(a));
    }
    [[nodiscard]] asked<T> wait_until(std::chrono::steady_clock::time_point latest)
    {
        auto future = promise_.get_future();
        if (future.wait_until(latest) != std::future_status::ready)
            (*this)(ask_error{make_error_code(errc::response_timeout), -1, "no answer in time"});
        return future.get();
    }

private:
    std::promise<asked<T>> promise_;
    std::atomic<bool> done_{false};
};

}  // namespace shunt::client
