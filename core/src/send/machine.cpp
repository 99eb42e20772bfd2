#include <send/machine.hpp>

#include <algorithm>

namespace shunt::send {

std::int64_t machine::share_at(std::int64_t now_ns) const noexcept
{
    const std::int64_t left = deadline_ns_ - now_ns;
    if (left <= 0 || attempts_ >= lim_.attempts)
        return 0;
    const std::int64_t promised = static_cast<std::int64_t>(lim_.attempts - attempts_);
    const std::int64_t unit = lim_.resolution_ns;
    const std::int64_t share = std::max(unit, left / unit / promised * unit);
    return lim_.attempt_ns > 0 ? std::min(share, lim_.attempt_ns) : share;
}

std::int64_t machine::pause_before(std::uint32_t broker_id, std::uint64_t random) noexcept
{
    if (lim_.backoff_ns <= 0 || paused_for_ == attempts_ + 1 || !was_tried(broker_id))
        return 0;
    paused_for_ = attempts_ + 1;
    const std::uint32_t doublings = std::min<std::uint32_t>(pauses_++, 30);
    const std::int64_t full = lim_.backoff_ns > (lim_.backoff_max_ns >> doublings) ? lim_.backoff_max_ns : lim_.backoff_ns << doublings;
    // The high half of a 64 x 64 bit product: even over [0, full].
    __extension__ using wide = unsigned __int128;
    return static_cast<std::int64_t>((static_cast<wide>(random) * (static_cast<std::uint64_t>(full) + 1)) >> 64);
}

void machine::begin(std::uint32_t broker_id) noexcept
{
    ++attempts_;
    if (!was_tried(broker_id) && n_tried_ < tried_.size())
        tried_[n_tried_++] = broker_id;
}

bool machine::ended(const meaning& m, std::int64_t now_ns) noexcept
{
    switch (m.outcome) {
    case outcome::stored: stored_ = true; break;
    case outcome::unknown: unknown_ = true; break;
    case outcome::rejected: rejected_ = true; break;
    case outcome::not_sent: break;
    }
    return m.retry && (!stored_ || m.outcome == outcome::stored) && attempts_ < lim_.attempts && now_ns < deadline_ns_;
}

outcome machine::verdict() const noexcept
{
    if (stored_)
        return outcome::stored;
    if (unknown_)
        return outcome::unknown;
    return rejected_ ? outcome::rejected : outcome::not_sent;
}

bool machine::was_tried(std::uint32_t broker_id) const noexcept
{
    return std::find(tried_.begin(), tried_.begin() + n_tried_, broker_id) != tried_.begin() + n_tried_;
}

}  // namespace shunt::send
