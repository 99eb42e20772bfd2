// Decides what one message does next: another attempt, a pause before it, or the end.
//
// Pure: no sockets, no clock, no locks. The caller says what happened and when, and carries out what it is told.
// The same machine serves sync, async and one-way sends, ordered ones, and `shunt simulate`.

#pragma once

#include <shunt/error.hpp>
#include <send/classify.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace shunt::send {

inline constexpr std::uint32_t max_attempts = 16;

struct limits {
    std::int64_t timeout_ns = 3'000'000'000;
    std::uint32_t attempts = 3;          ///< 1..16
    std::int64_t attempt_ns = 0;         ///< of one attempt at most; 0: its share of the time that is left
    std::int64_t backoff_ns = 0;         ///< before a broker this send already tried; doubles up to backoff_max_ns
    std::int64_t backoff_max_ns = 0;
    std::int64_t resolution_ns = 1;      ///< shares are whole multiples of it: 1 ms in scenarios
};

class machine {
public:
    machine() = default;
    machine(const limits& lim, std::int64_t start_ns) noexcept
        : lim_(lim), start_ns_(start_ns), deadline_ns_(start_ns > INT64_MAX - lim.timeout_ns ? INT64_MAX : start_ns + lim.timeout_ns)
    {
    }

    [[nodiscard]] std::int64_t start_ns() const noexcept { return start_ns_; }
    [[nodiscard]] std::int64_t deadline_ns() const noexcept { return deadline_ns_; }
    /// Attempts begun so far.
    [[nodiscard]] std::uint32_t attempts() const noexcept { return attempts_; }
    /// The number the next attempt will have.
    [[nodiscard]] std::uint32_t next_attempt() const noexcept { return attempts_ + 1; }

    /// Nanoseconds an attempt may take that begins at `now_ns`; 0: no time is left, none may begin. Each attempt still
    /// promised gets an equal part of what is left, so that a broker that hangs leaves time for the next one.
    [[nodiscard]] std::int64_t share_at(std::int64_t now_ns) const noexcept;

    /// The pause before trying a broker again that was tried already; `random` spreads it over [0, full]. 0: none.
    /// One pause an attempt: asked again for the same attempt, it answers 0.
    [[nodiscard]] std::int64_t pause_before(std::uint32_t broker_id, std::uint64_t random) noexcept;

    /// An attempt begins, at a broker.
    void begin(std::uint32_t broker_id) noexcept;

    /// The attempt under way ended at `now_ns` with `m`. True: another one should follow. False: the send is over.
    [[nodiscard]] bool ended(const meaning& m, std::int64_t now_ns) noexcept;

    /// What is known about the message: stored if an attempt stored; else unknown if one may have; else rejected if one
    /// was; else not_sent.
    [[nodiscard]] outcome verdict() const noexcept;

    /// An attempt stored it.
    [[nodiscard]] bool stored() const noexcept { return stored_; }

    /// Ids of the brokers tried, no repeats.
    [[nodiscard]] std::span<const std::uint32_t> tried() const noexcept { return {tried_.data(), n_tried_}; }
    [[nodiscard]] bool was_tried(std::uint32_t broker_id) const noexcept;

private:
    limits lim_{};
    std::int64_t start_ns_ = 0, deadline_ns_ = 0;
    std::uint32_t attempts_ = 0, n_tried_ = 0, pauses_ = 0, paused_for_ = 0;
    bool stored_ = false, unknown_ = false, rejected_ = false;
    std::array<std::uint32_t, max_attempts> tried_{};
};

}  // namespace shunt::send
