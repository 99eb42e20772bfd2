// What selectors see: a route as flat arrays, and which of its queues are well.
//
// Three layers, by how often they change: broker_book (brokers come to be known), route_view (a topic's route changes),
// snapshot (a verdict or a policy changes). Each is immutable once made, but for the load counters.

#pragma once

#include <shunt/options.hpp>
#include <shunt/sdk/abi.h>
#include <route/route.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::strategy {

/// One broker as long as the producer lives: its number, its name's storage, what is on its way to it.
struct broker_entry {
    std::uint32_t id = 0;
    std::string_view name;  ///< kept by the book's keeper
    alignas(64) shunt_load load{};

    void add_inflight(std::uint32_t n = 1) noexcept
    {
        std::atomic_ref(load.inflight).fetch_add(n, std::memory_order_relaxed);
    }
    void sub_inflight(std::uint32_t n = 1) noexcept
    {
        std::atomic_ref(load.inflight).fetch_sub(n, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint32_t inflight() noexcept
    {
        return std::atomic_ref(load.inflight).load(std::memory_order_relaxed);
    }
    /// Moving average with weight 1/8 for the new value. One writer.
    void measured(std::int64_t latency_ns, std::int64_t now_ns) noexcept
    {
        const std::int64_t old = latency();
        set_latency(old == 0 ? std::max<std::int64_t>(1, latency_ns) : old + (latency_ns - old) / 8);
        measured_at_ns = now_ns;
    }
    [[nodiscard]] std::int64_t latency() noexcept { return std::atomic_ref(load.ewma_latency_ns).load(std::memory_order_relaxed); }
    void set_latency(std::int64_t ns) noexcept { std::atomic_ref(load.ewma_latency_ns).store(ns, std::memory_order_relaxed); }

    std::int64_t measured_at_ns = 0;
};

/// All brokers this producer ever met. Entries never move and are never dropped: names of brokers are few. [control]
class broker_book {
public:
    /// Keeps a text and answers where it lies from now on.
    using name_keeper = std::string_view (*)(std::string_view);
    /// `keep`: where names live. Null: in the book.
    explicit broker_book(name_keeper keep = nullptr) : keep_(keep) {}

    broker_entry& entry(std::string_view name);
    [[nodiscard]] broker_entry* find(std::uint32_t id) noexcept;
    /// An answer came after `latency_ns`. What was measured of other brokers fades when it is old: else one that was slow
    /// once, and is not chosen for it, would never be measured again.
    void measured(broker_entry& b, std::int64_t latency_ns, std::int64_t now_ns) noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return by_id_.size(); }

private:
    name_keeper keep_;
    std::map<std::string, std::unique_ptr<broker_entry>, std::less<>> by_name_;
    std::vector<broker_entry*> by_id_;
    std::int64_t faded_at_ns_ = 0;
};

/// A topic's route in the shape of the border. Made by build(); does not move.
struct route_view {
    std::string topic;
    bool ordered = false;
    std::uint64_t route_gen = 0;
    std::vector<shunt_queue> queues;
    std::vector<shunt_broker> brokers;          ///< by name
    std::vector<broker_entry*> entries;         ///< for each broker
    std::vector<std::string> rooms;
    /// Static topic: who owns logical queue i. The view then shows one broker that stands for all of them, so that a
    /// queue keeps its place, and a key its queue, when the owner changes.
    std::vector<broker_entry*> owners;
    struct place {
        broker_entry* broker = nullptr;
        std::string master;                     ///< its address; empty: it has none now
    };
    std::vector<place> places;                  ///< all brokers of the route

    route_view() = default;
    route_view(const route_view&) = delete;
    route_view& operator=(const route_view&) = delete;

    /// The broker a message for the queue is sent to.
    [[nodiscard]] broker_entry* broker_of(std::uint32_t queue_index) const noexcept
    {
        return owners.empty() ? entries[queues[queue_index].broker] : owners[queue_index];
    }
    [[nodiscard]] std::string_view broker_name(std::uint32_t queue_index) const noexcept { return broker_of(queue_index)->name; }
    /// Index of the queue, or nothing.
    [[nodiscard]] std::optional<std::uint32_t> find_queue(std::string_view broker, std::int32_t queue_id) const noexcept;
};

using facts_table = std::map<std::string, broker_options, std::less<>>;

/// The room that goes with a broker: as configured, else what stands before an '@' in its name, else none.
[[nodiscard]] std::string room_of(std::string_view broker, const facts_table& facts);

/// Brokers without a master have no queue here, unless the route fixes the queues (order configuration, static topic):
/// then they keep their places, so that keys stay where they belong while a broker is away.
/// `put_aside`: brokers whose queues do not count for now (they said the topic is not there), unless none else is left.
[[nodiscard]] std::shared_ptr<const route_view> build_view(const route::topic_route& r, const facts_table& facts, broker_book& book,
                                                           std::uint64_t route_gen,
                                                           std::span<const std::string> put_aside = {});

/// Spreads one bit a broker to one bit a queue.
void expand_mask(const route_view& route, std::span<const std::uint64_t> by_broker, std::vector<std::uint64_t>& by_queue);

[[nodiscard]] constexpr std::size_t words_for(std::size_t bits) noexcept { return (bits + 63) / 64; }

}  // namespace shunt::strategy
