// What a producer counts for those who look at it: by queue, broker and policy, in bounded memory.
//
// One writer, the I/O side, but for add_shared(); any thread reads. The writer takes no lock on the way of a send: what
// it counts in lies where it lay before, and only the making of a new row is locked.

#pragma once

#include <shunt/error.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shunt::observe {

/// A number with one writer.
class count {
public:
    void add(std::uint64_t n = 1) noexcept { value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
    void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// Upper ends of the buckets of durations, in nanoseconds; one more bucket has what is above the last.
inline constexpr std::array<std::int64_t, 17> send_bounds{50'000,      100'000,     250'000,     500'000,       1'000'000,     2'500'000,
                                                          5'000'000,   10'000'000,  25'000'000,  50'000'000,    100'000'000,   250'000'000,
                                                          500'000'000, 1'000'000'000, 2'500'000'000, 5'000'000'000, 10'000'000'000};
inline constexpr std::array<std::int64_t, 9> call_bounds{50, 100, 250, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 1'000'000'000};

/// Counts of a histogram at one moment. `buckets` are not cumulated.
struct histogram_counts {
    std::vector<std::uint64_t> buckets;
    std::uint64_t sum_ns = 0;

    [[nodiscard]] std::uint64_t count() const noexcept;
    /// The quantile (0..1) in nanoseconds, as PromQL's histogram_quantile() reckons it; 0: nothing was counted.
    [[nodiscard]] std::int64_t quantile(std::span<const std::int64_t> bounds, double q) const noexcept;
    /// What came after `before`.
    [[nodiscard]] histogram_counts since(const histogram_counts& before) const;
};

template <const auto& bounds>
class histogram {
public:
    void add(std::int64_t ns) noexcept
    {
        buckets_[bucket_of(ns)].add();
        sum_.add(ns > 0 ? static_cast<std::uint64_t>(ns) : 0);
    }
    [[nodiscard]] histogram_counts counts() const
    {
        histogram_counts out;
        for (const count& b : buckets_)
            out.buckets.push_back(b.get());
        out.sum_ns = sum_.get();
        return out;
    }
    [[nodiscard]] static std::size_t bucket_of(std::int64_t ns) noexcept
    {
        std::size_t i = 0;
        while (i < bounds.size() && ns > bounds[i])
            ++i;
        return i;
    }

private:
    std::array<count, bounds.size() + 1> buckets_;
    count sum_;
};

/// The same with many writers.
template <const auto& bounds>
class shared_histogram {
public:
    void add(std::int64_t ns) noexcept
    {
        buckets_[histogram<bounds>::bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(ns > 0 ? static_cast<std::uint64_t>(ns) : 0, std::memory_order_relaxed);
    }
    [[nodiscard]] histogram_counts counts() const
    {
        histogram_counts out;
        for (const auto& b : buckets_)
            out.buckets.push_back(b.load(std::memory_order_relaxed));
        out.sum_ns = sum_.load(std::memory_order_relaxed);
        return out;
    }

private:
    std::array<std::atomic<std::uint64_t>, bounds.size() + 1> buckets_{};
    std::atomic<std::uint64_t> sum_{0};
};

struct queue_metrics {
    std::string topic, broker;
    std::int32_t queue = -1;  ///< -1: what found no row of its own
    count decisions;
};

/// What went wrong last at a broker.
struct failure {
    std::int64_t at_ms = 0, latency_ns = 0;
    shunt::outcome outcome = shunt::outcome::unknown;
    std::int32_t code = -1;
    std::string text;
};

struct broker_metrics {
    std::string name;
    [[nodiscard]] count& attempts(shunt::outcome o) noexcept { return attempts_[static_cast<std::size_t>(o) - 1]; }
    [[nodiscard]] const count& attempts(shunt::outcome o) const noexcept { return attempts_[static_cast<std::size_t>(o) - 1]; }
    histogram<send_bounds> latency; ///< of attempts that were answered, or given up when their time was over

    /// Not kept when somebody just looks.
    void failed(failure f);
    [[nodiscard]] std::optional<failure> last_failure() const;

private:
    std::array<count, 4> attempts_;
    mutable std::mutex lock_;
    std::optional<failure> last_;
};

/// What a policy's fault strategy says of a broker.
struct verdict_metrics {
    broker_metrics* broker = nullptr;
    std::atomic<bool> available{true}, reachable{true};
    std::atomic<std::int64_t> since_ms{0};  ///< when `available` last changed
    count isolations;
};

/// By name, so that it goes on when the policy of a name is exchanged.
struct policy_metrics {
    static constexpr std::size_t max_whys = 32;
    std::string name;
    std::array<count, max_whys> whys;           ///< decisions, by reason
    shared_histogram<call_bounds> select;       ///< one call of `select_every`
    histogram<call_bounds> feed, evaluate;

    static constexpr std::uint64_t select_every = 256;

private:
    friend class metrics;
    std::map<std::uint32_t, std::unique_ptr<verdict_metrics>> verdicts_;  // by broker id
};

class metrics {
public:
    static constexpr std::size_t max_queues = 4096, max_brokers = 256, max_policies = 64;
    /// The label of what has no row of its own.
    static constexpr std::string_view other = "_other";

    metrics();

    // The writer's.
    /// `place`: whatever tells the topic of the send from others; it is not looked into.
    void decided(const void* place, std::string_view topic, std::uint32_t broker_id, std::string_view broker, std::int32_t queue);
    [[nodiscard]] broker_metrics& broker(std::uint32_t id, std::string_view name);
    [[nodiscard]] policy_metrics& policy(std::string_view name);
    void verdict(policy_metrics& by, std::uint32_t broker_id, std::string_view broker, bool available, bool reachable, std::int64_t now_ms);
    histogram<send_bounds> sends;  ///< whole sends, from the call to the end

    // Any thread's. Rows stay, so the lock is not held while they are looked at.
    template <typename F>
    void each_queue(F f) const
    {
        for (const queue_metrics* q : rows(queues_))
            f(*q);
    }
    template <typename F>
    void each_broker(F f) const
    {
        for (const broker_metrics* b : rows(brokers_))
            f(*b);
    }
    template <typename F>
    void each_policy(F f) const
    {
        for (const policy_metrics* p : rows(policies_))
            f(*p);
    }
    /// f(policy, verdict)
    template <typename F>
    void each_verdict(F f) const
    {
        std::vector<std::pair<const policy_metrics*, const verdict_metrics*>> all;
        {
            const std::lock_guard lock(lock_);
            for (const auto& p : policies_)
                for (const auto& [id, v] : p->verdicts_)
                    all.emplace_back(p.get(), v.get());
        }
        for (const auto& [p, v] : all)
            f(*p, *v);
    }

private:
    struct place {
        const void* of;
        std::uint32_t broker;
        std::int32_t queue;
        friend bool operator==(const place&, const place&) = default;
    };
    struct place_hash {
        std::size_t operator()(const place& p) const noexcept
        {
            const auto n = static_cast<std::uint64_t>(p.broker) << 32 | static_cast<std::uint32_t>(p.queue);
            return std::hash<const void*>{}(p.of) ^ static_cast<std::size_t>(n * 0x9e3779b97f4a7c15ULL);
        }
    };
    template <typename T>
    std::vector<const T*> rows(const std::vector<std::unique_ptr<T>>& of) const
    {
        std::vector<const T*> all;
        const std::lock_guard lock(lock_);
        for (const auto& row : of)
            if (row != nullptr)
                all.push_back(row.get());
        return all;
    }
    queue_metrics& new_queue(std::string_view topic, std::string_view broker, std::int32_t queue);

    mutable std::mutex lock_;  // for the rows; only the writer makes them, so it reads without
    std::vector<std::unique_ptr<queue_metrics>> queues_;
    std::vector<std::unique_ptr<broker_metrics>> brokers_;   // by id; the last of max_brokers is the others'
    std::vector<std::unique_ptr<policy_metrics>> policies_;
    // The writer's.
    std::map<std::tuple<std::string, std::string, std::int32_t>, queue_metrics*> by_name_;
    std::unordered_map<place, queue_metrics*, place_hash> by_place_;
    queue_metrics* other_queue_ = nullptr;
    policy_metrics* last_policy_ = nullptr;
};

}  // namespace shunt::observe
