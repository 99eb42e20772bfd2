// What one round does: a cluster, a producer, senders and faults, all made from a seed.

#pragma once

#include <campaign/history.hpp>

#include <shunt/options.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::campaign {

/// Random numbers that are the same everywhere.
class dice {
public:
    explicit dice(std::uint64_t seed) noexcept : state_(seed) {}
    [[nodiscard]] std::uint64_t next() noexcept
    {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    /// low..high, both included.
    [[nodiscard]] int between(int low, int high) noexcept
    {
        return low + static_cast<int>(next() % static_cast<std::uint64_t>(high - low + 1));
    }
    /// The same, with as many between 10 and 100 as between 100 and 1000.
    [[nodiscard]] int scaled(int low, int high) noexcept;
    [[nodiscard]] bool one_in(int n) noexcept { return between(1, n) == 1; }
    template <typename T, std::size_t N>
    [[nodiscard]] T of(const T (&all)[N]) noexcept
    {
        return all[next() % N];
    }

private:
    std::uint64_t state_;
};

struct sender_plan {
    int id = 0;
    way how = way::sync;
    bool bound = false;        ///< handlers run on the I/O thread; sync kinds: the async form of the call
    std::string topic;
    int messages = 1;
    int largest = 100;         ///< bytes of a body
    int window = 1;            ///< async: so many under way at most
    int gap_us = 0;            ///< between two sends
    int keys = 1;              ///< ordered
    int timeout_ms = 0;        ///< 0: the producer's
};

struct fault_plan {
    int id = 0;
    int at_ms = 0;
    int for_ms = 0;            ///< then its subject is well again; 0: it happens once
    std::string subject;       ///< a broker, "name-server", or "producer"
    std::string what;          ///< as cluster::embedded_cluster::command() takes it; of the producer: see round.cpp
};

struct plan {
    std::uint64_t seed = 0;
    int brokers = 1, queues = 1;
    bool binary_answers = false;
    std::string selector, fault_strategy, ordered_selector;
    std::string name_servers;  ///< "one", "dead first", "dead last"
    producer_options producer;
    std::vector<sender_plan> senders;
    std::vector<fault_plan> faults;
};

[[nodiscard]] plan make_plan(std::uint64_t seed);
/// Only these senders and faults of it, by id, and at most so many messages of each sender.
[[nodiscard]] plan part_of(const plan& whole, std::span<const int> senders, std::span<const int> faults, int messages);
/// For people.
[[nodiscard]] std::string to_text(const plan& p);

}  // namespace shunt::campaign
