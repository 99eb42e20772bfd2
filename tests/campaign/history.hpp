// What happened in one round of the campaign, and whether it may have: a pure function of what senders were told, what
// lies at the brokers, and what the producer counted.

#pragma once

#include <shunt/error.hpp>
#include <shunt/transaction.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::campaign {

/// How a message was sent.
enum class way : std::uint8_t { sync, async, one_way, batch, ordered, transaction, timed, request };
[[nodiscard]] std::string_view to_string(way w) noexcept;

/// One message, and what its sender was told.
struct sent_message {
    int number = 0;
    way how = way::sync;
    int key = -1;                      ///< ordered: of one key, in the order of their numbers
    int completions = 0;
    shunt::outcome outcome = shunt::outcome::not_sent;
    int stored_attempts = 0, unknown_attempts = 0, attempts = 0;
    bool given_up = false;             ///< a sync caller that left before the send had ended: no attempt is told of
    bool after_unknown = false;
    std::string broker;                ///< stored: where
    std::int32_t queue = -1;
    std::int64_t offset = -1;
    transaction_end end = transaction_end::rollback;  ///< transaction: what was decided
    bool confirmed = false;
    std::chrono::milliseconds took{0}, limit{0};      ///< from the call to the completion; what was promised
    std::string told;                  ///< the receipt, in words
};

/// Where a copy lies: where its topic says, or where a broker keeps what is held back or not decided.
enum class shelf : std::uint8_t { topic, held, half };

struct copy {
    std::uint64_t sequence = 0;        ///< order of storing over all brokers
    int number = -1;                   ///< of the message; -1: it tells none
    shelf where = shelf::topic;
    std::string broker;
    std::int32_t queue = -1;
    std::int64_t offset = -1;
    bool intact = true;                ///< its body is what was sent
};

/// The producer's counters once everything has ended.
struct tally {
    std::uint64_t calls = 0;           ///< as the round counts them, but for requests:
    std::uint64_t requests = 0;        ///< one may end before it becomes a send
    std::uint64_t sends = 0, stored = 0, not_sent = 0, unknown = 0, rejected = 0;
    std::uint64_t in_flight_messages = 0, in_flight_bytes = 0, lanes = 0;
    std::uint64_t most_in_flight = 0, max_in_flight = 0;  ///< seen on the way; the limit
};

struct resources {
    std::size_t descriptors = 0, threads = 0;
};

struct history {
    std::vector<sent_message> sent;
    std::vector<copy> ledger;
    tally counts;
    resources before, after;
    std::uint32_t max_attempts = 3;
    std::chrono::milliseconds grace{0};  ///< what a busy machine adds to a promised time
    bool closed_in_time = true;
};

struct problem {
    std::string kind;  ///< "lost completion": one word for all of a kind
    std::string text;  ///< which message, and what is known of it
};

/// All that is wrong; of each kind the first few. Empty: nothing was lost, doubled or misreported.
[[nodiscard]] std::vector<problem> check(const history& h);

}  // namespace shunt::campaign
