#include "sending.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace shunt::cli {

namespace {

using clock = std::chrono::steady_clock;

/// Places for messages in flight.
class window {
public:
    explicit window(std::size_t size) : free_(size), size_(size) {}

    void take()
    {
        std::unique_lock lock(lock_);
        changed_.wait(lock, [this] { return free_ != 0; });
        --free_;
    }
    void give_back()
    {
        // Under the lock, so that nobody who waits for all of them is gone before this is over.
        const std::lock_guard lock(lock_);
        ++free_;
        if (free_ == 1 || free_ == size_)
            changed_.notify_all();
    }
    void wait_for_all()
    {
        std::unique_lock lock(lock_);
        changed_.wait(lock, [this] { return free_ == size_; });
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::size_t free_;
    const std::size_t size_;
};

/// Moments to send at. Time that was lost is made up for, but no more than a tenth of a second of it.
class pace {
public:
    explicit pace(double rate) : gap_(rate > 0 ? static_cast<std::int64_t>(1e9 / rate) : 0), next_(clock::now()) {}

    /// False: interrupted.
    [[nodiscard]] bool wait(const interrupts& stop)
    {
        if (gap_.count() == 0)
            return !stop.requested();
        clock::time_point mine;
        {
            const std::lock_guard lock(lock_);
            mine = std::max(next_, clock::now() - std::chrono::milliseconds(100));
            next_ = mine + gap_;
        }
        return !stop.wait_until(mine);
    }

private:
    const std::chrono::nanoseconds gap_;
    std::mutex lock_;
    clock::time_point next_;
};

}  // namespace

void send_all(producer& p, const sending_plan& plan, const sending_hooks& hooks, const interrupts& stop)
{
    const bool waits = plan.mode == send_mode::sync;
    window in_flight(plan.in_flight);
    pace moments(plan.rate);
    std::mutex source;
    std::atomic<bool> over{false};

    const auto work = [&] {
        for (;;) {
            if (!waits)
                in_flight.take();
            std::uint64_t i = 0;
            message m;
            {
                const std::lock_guard lock(source);
                if (over || !moments.wait(stop) || !hooks.next(i, m) || (hooks.admit && !hooks.admit(i))) {
                    over = true;
                    if (!waits)
                        in_flight.give_back();
                    return;
                }
            }
            if (waits) {
                hooks.ended(i, p.deliver(std::move(m), plan.options));
                continue;
            }
            auto ended = [&hooks, &in_flight, i](error_code, receipt r) {
                hooks.ended(i, std::move(r));
                in_flight.give_back();
            };
            if (plan.mode == send_mode::async)
                p.async_send(std::move(m), plan.options, std::move(ended));
            else
                p.async_send_oneway(std::move(m), plan.options, std::move(ended));
        }
    };

    std::vector<std::thread> others;
    for (std::size_t t = 1; t < plan.threads; ++t)
        others.emplace_back(work);
    work();
    for (std::thread& t : others)
        t.join();
    in_flight.wait_for_all();
}

numbered_text::numbered_text(std::string text) : text_(std::move(text)), numbered_(text_.find("{i}") != std::string::npos) {}

std::string numbered_text::of(std::uint64_t i) const
{
    if (!numbered_)
        return text_;
    const std::string number = std::to_string(i);
    std::string out;
    std::size_t at = 0;
    for (std::size_t found = text_.find("{i}"); found != std::string::npos; found = text_.find("{i}", at)) {
        out.append(text_, at, found - at).append(number);
        at = found + 3;
    }
    return out.append(text_, at);
}

std::string body_of_size(std::uint64_t i, std::size_t size)
{
    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
    std::string body = std::to_string(i) + ' ';
    body.reserve(size);
    while (body.size() < size)
        body += letters.substr(0, size - body.size());
    body.resize(size);
    return body;
}

}  // namespace shunt::cli
