// Load for tests of swaps, and keys whose order is looked at afterwards: against any cluster.

#pragma once

#include <support/producer_situation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shunt::test {

/// How long a storm lasts: SHUNT_STORM_SECONDS, 2 unless said.
inline std::chrono::milliseconds storm_time()
{
    const char* const text = std::getenv("SHUNT_STORM_SECONDS");
    return std::chrono::seconds(text == nullptr ? 2 : std::max(1, std::atoi(text)));
}

/// Threads that send without a pause, some hundreds under way each.
class load {
public:
    load(producer& p, int threads, std::string topic = "T") : p_(p), topic_(std::move(topic))
    {
        for (int t = 0; t < threads; ++t)
            threads_.emplace_back([this, t] { run(t); });
    }
    ~load() { stop(); }
    load(const load&) = delete;
    load& operator=(const load&) = delete;

    /// Ends, and waits for what is under way. False: something never came.
    bool stop()
    {
        over_ = true;
        for (std::thread& t : threads_)
            t.join();
        threads_.clear();
        std::unique_lock lock(s_->lock);
        return s_->room.wait_for(lock, patience, [&] { return s_->under_way == 0; });
    }
    [[nodiscard]] std::uint64_t ended() const
    {
        const std::lock_guard lock(s_->lock);
        return s_->ended;
    }
    [[nodiscard]] std::vector<std::string> bad() const
    {
        const std::lock_guard lock(s_->lock);
        return s_->bad;
    }
    /// Generations seen in receipts.
    [[nodiscard]] std::size_t generations() const
    {
        const std::lock_guard lock(s_->lock);
        return s_->generations.size();
    }

private:
    struct state {
        mutable std::mutex lock;
        std::condition_variable room;
        std::uint64_t under_way = 0, ended = 0;
        std::vector<std::string> bad;
        std::set<std::uint64_t> generations;
    };
    void run(int thread)
    {
        for (int i = 0; !over_; ++i) {
            {
                std::unique_lock lock(s_->lock);
                s_->room.wait(lock, [&] { return s_->under_way < 1000; });
                ++s_->under_way;
            }
            p_.async_send(message(topic_, "x").set_order_key("k" + std::to_string((thread * 7919 + i) % 512)),
                          [s = s_](const error_code&, const receipt& r) {
                              const std::lock_guard lock(s->lock);
                              --s->under_way;
                              ++s->ended;
                              s->generations.insert(r.generation);
                              if (r.outcome != outcome::stored && s->bad.size() < 10)
                                  s->bad.push_back(shown(r));
                              s->room.notify_all();
                          });
        }
    }
    producer& p_;
    const std::string topic_;
    std::shared_ptr<state> s_ = std::make_shared<state>();
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

/// Each millisecond, as near as the machine comes to it.
template <typename F>
int each_millisecond(std::chrono::milliseconds time, F f)
{
    std::mutex lock;
    std::condition_variable never;
    int n = 0;
    for (auto due = clock::now(), end = due + time; clock::now() < end; ++n) {
        f(n);
        due = std::max(due + 1ms, clock::now());
        std::unique_lock held(lock);
        never.wait_until(held, due);
    }
    return n;
}

using place = std::pair<std::string, std::int32_t>;

/// What lies at the brokers of each key, in the order of storing.
struct key_record {
    int number;
    place where;
    std::int64_t at_ms;
};
using key_ledger = std::map<std::string, std::vector<key_record>>;

/// Messages "KEY:NUMBER", the number one more for each message of a key.
class keys {
public:
    keys(producer& p, int n, std::string topic = "T") : p_(p), n_(n), topic_(std::move(topic)) {}
    /// One message of each key (or of the first `n`), all under way at once.
    void round(std::optional<int> n = {})
    {
        for (int k = 0; k < n.value_or(n_); ++k) {
            const std::string key = "key" + std::to_string(k);
            p_.async_send(message(topic_, key + ":" + std::to_string(number_)).set_order_key(key), sent_.handler(sends_++));
        }
        ++number_;
    }
    [[nodiscard]] bool wait() const { return sent_.wait(static_cast<std::size_t>(sends_), 4 * patience); }
    [[nodiscard]] std::map<int, receipt> receipts() const { return sent_.receipts(); }
    [[nodiscard]] int sends() const { return sends_; }

private:
    producer& p_;
    const int n_;
    const std::string topic_;
    int sends_ = 0, number_ = 0;
    collector sent_;
};

// A consumer reads each queue as it is, up to the quiet time behind: it sees each key in order if all of it lies in order,
// and there is that much time between the last message in one queue and the first in the next.
inline void expect_order(const key_ledger& ledger, const keys& k, std::chrono::milliseconds quiet, std::size_t max_moves)
{
    std::size_t messages = 0;
    for (const auto& [key, all] : ledger) {
        messages += all.size();
        std::size_t moves = 0;
        for (std::size_t i = 1; i < all.size(); ++i) {
            ASSERT_GT(all[i].number, all[i - 1].number) << key;
            if (all[i].where == all[i - 1].where)
                continue;
            ++moves;
            ASSERT_GE(all[i].at_ms - all[i - 1].at_ms, quiet.count() - 5) << key << " moved too early";
        }
        ASSERT_LE(moves, max_moves) << key;
    }
    EXPECT_EQ(messages, static_cast<std::size_t>(k.sends()));
    for (const auto& [i, r] : k.receipts())
        ASSERT_EQ(r.outcome, outcome::stored) << shown(r);
}

}  // namespace shunt::test
