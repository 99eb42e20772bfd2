// What tests of the producer have in common: options, receipts that are counted, and the rule that outcomes agree with
// what brokers stored.

#pragma once

#include <cluster/embedded_cluster.hpp>
#include <shunt/producer.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shunt {

inline void PrintTo(outcome o, std::ostream* out) { *out << to_string(o); }

}  // namespace shunt

namespace shunt::test {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Time enough for anything on loopback, however busy the machine is. Only a failing test waits that long.
inline constexpr std::chrono::milliseconds patience{15'000};

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool slow_build = true;
#else
inline constexpr bool slow_build = false;
#endif

/// How late this machine wakes threads at the moment: a thread that wants to be woken each 5 ms, and when it was.
class lateness {
public:
    lateness()
    {
        thread_ = std::thread([this] {
            std::unique_lock held(lock_);
            while (!over_) {
                const auto due = clock::now() + 5ms;
                over_cv_.wait_until(held, due, [&] { return over_; });
                const auto late = clock::now() - due;
                if (!over_ && late > worst_.load())
                    worst_ = late;
            }
        });
    }
    ~lateness()
    {
        {
            const std::lock_guard held(lock_);
            over_ = true;
        }
        over_cv_.notify_all();
        thread_.join();
    }
    lateness(const lateness&) = delete;
    lateness& operator=(const lateness&) = delete;
    [[nodiscard]] clock::duration worst() const noexcept { return worst_; }

private:
    std::mutex lock_;
    std::condition_variable over_cv_;
    bool over_ = false;
    std::atomic<clock::duration> worst_{clock::duration::zero()};
    std::thread thread_;
};
inline lateness machine_lateness;

/// No call lasts longer than its timeout and 100 ms; here, and what the machine that runs the tests takes: a call is a
/// chain of several threads that wake each other.
inline std::chrono::milliseconds grace()
{
    return (slow_build ? 600ms : 250ms) + std::chrono::duration_cast<std::chrono::milliseconds>(10 * machine_lateness.worst());
}

inline producer_options options_for(const std::string& name_server)
{
    producer_options o;
    o.group = "tests";
    o.name_servers = {name_server};
    return o;
}
inline producer_options options_for(const cluster::embedded_cluster& c) { return options_for(c.name_server()); }

/// One policy for everything: selector and fault strategy by name.
inline producer_options with_policy(producer_options o, std::string selector, std::string fault = "none", bool ordered = false)
{
    policy_options p;
    p.selector.use = std::move(selector);
    p.fault.use = std::move(fault);
    p.ordered = ordered;
    o.policies["default"] = p;
    return o;
}

inline producer started(producer_options o)
{
    auto p = producer::create(std::move(o));
    if (!p)
        throw std::runtime_error(p.error().text);
    return std::move(*p);
}
inline producer started(producer_options o, producer::executor_type ex)
{
    auto p = producer::create(std::move(o), std::move(ex));
    if (!p)
        throw std::runtime_error(p.error().text);
    return std::move(*p);
}

/// A command that must be right.
inline void command(cluster::embedded_cluster& c, const std::string& line)
{
    if (const auto wrong = c.command(line))
        throw std::runtime_error(line + ": " + *wrong);
}

inline void topic(cluster::embedded_cluster& c, const std::string& name, int queues = 4)
{
    if (const auto wrong = c.create_topic(name, {.queues = queues}))
        throw std::runtime_error(*wrong);
}

/// Asks again and again until `holds` does. False: `limit` is over.
inline bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds limit = patience)
{
    std::mutex lock;
    std::condition_variable never;
    const auto until = clock::now() + limit;
    for (;;) {
        if (holds())
            return true;
        if (clock::now() >= until)
            return false;
        std::unique_lock held(lock);
        never.wait_for(held, 1ms);
    }
}

/// A receipt in words, for failing tests.
inline std::string shown(const receipt& r)
{
    std::string text = std::string(to_string(r.outcome)) + " '" + r.error.message() + "' " + r.reason;
    for (const attempt& a : r.attempts)
        text += "\n    " + std::string(a.broker) + "/" + std::to_string(a.queue) + " " + std::string(to_string(a.outcome)) + " code " +
                std::to_string(a.code) + " '" + a.text + "' why " + std::string(a.why);
    return text;
}

/// Where receipts of async sends come together. Handlers may outlive a test's locals, so it is shared.
class collector {
public:
    /// A handler for send number `i`.
    [[nodiscard]] auto handler(int i)
    {
        return [s = state_, i](const error_code&, receipt r) {
            {
                const std::lock_guard lock(s->lock);
                ++s->calls[i];
                s->all.emplace_back(i, std::move(r));
            }
            s->more.notify_all();
        };
    }
    [[nodiscard]] bool wait(std::size_t n, std::chrono::milliseconds limit = patience) const
    {
        std::unique_lock lock(state_->lock);
        return state_->more.wait_for(lock, limit, [&] { return state_->all.size() >= n; });
    }
    [[nodiscard]] std::size_t size() const
    {
        const std::lock_guard lock(state_->lock);
        return state_->all.size();
    }
    /// By send number; fails the test where one completed twice.
    [[nodiscard]] std::map<int, receipt> receipts() const
    {
        const std::lock_guard lock(state_->lock);
        std::map<int, receipt> found;
        for (const auto& [i, r] : state_->all)
            found[i] = r;
        for (const auto& [i, n] : state_->calls)
            EXPECT_EQ(n, 1) << "send " << i << " completed " << n << " times";
        return found;
    }
    /// In the order in which they came.
    [[nodiscard]] std::vector<std::pair<int, receipt>> in_order() const
    {
        const std::lock_guard lock(state_->lock);
        return state_->all;
    }

private:
    struct state {
        mutable std::mutex lock;
        std::condition_variable more;
        std::map<int, int> calls;
        std::vector<std::pair<int, receipt>> all;
    };
    std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// stored is in the ledger, not_sent and rejected are not. `cluster` must have seen the last of the sends.
inline void expect_agreement(const cluster::embedded_cluster& cluster, const std::vector<receipt>& receipts)
{
    std::set<std::string> ledger;
    for (const auto& record : cluster.snapshot())
        ledger.insert(record.msg_id);
    for (const receipt& r : receipts) {
        const bool there = ledger.contains(r.msg_id.str());
        if (r.outcome != outcome::unknown) {
            EXPECT_EQ(there, r.outcome == outcome::stored) << "in the ledger, and in the receipt: " << shown(r);
        }
    }
}
inline void expect_agreement(const cluster::embedded_cluster& cluster, const std::map<int, receipt>& receipts)
{
    std::vector<receipt> all;
    for (const auto& [i, r] : receipts)
        all.push_back(r);
    expect_agreement(cluster, all);
}

/// Nothing is under way any more.
inline void expect_quiet(const producer& p)
{
    EXPECT_TRUE(eventually([&] {
        const counters c = p.counters();
        return c.in_flight_messages == 0 && c.in_flight_bytes == 0 && c.lanes == 0;
    })) << p.counters().in_flight_messages << " messages, " << p.counters().in_flight_bytes << " bytes, " << p.counters().lanes << " lanes";
    const counters c = p.counters();
    EXPECT_EQ(c.stored + c.not_sent + c.unknown + c.rejected, c.sends);
}

}  // namespace shunt::test
