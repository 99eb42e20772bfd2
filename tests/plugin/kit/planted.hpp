// Strategies with one flaw each, for the traps and the assertions of the test kit; and one of each kind that has none.

#pragma once

#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

namespace shunt::test::planted {

// ---- selectors ----

struct named {
    static constexpr std::string_view name = "planted", summary = "for tests";
};

class sound : public named {
public:
    sound(const sdk::settings&, sdk::instance i) : cursor_(i.start) {}
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return sdk::rotate(v, m, cursor_); }

protected:
    sdk::cursor cursor_;
};

/// A key's queue, another broker's on retries; messages without a key rotate.
class sound_by_key : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return m.has_key() ? by_key(v, m) : sdk::rotate(v, m, cursor_); }

protected:
    static sdk::pick by_key(sdk::view v, sdk::message m) noexcept
    {
        sdk::cursor c{sdk::fnv1a(m.key())};
        return sdk::rotate(v, m, c);
    }
};

class retries_where_it_failed : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        for (std::uint32_t q = 0; !m.tried().empty() && q < v.size(); ++q)
            if (v.broker_of(q) == m.tried().back() && v.candidate(q))
                return q;
        return sdk::rotate(v, m, cursor_);
    }
};

class remembers_the_last_only : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        for (std::uint32_t i = 0; i < 2 * v.size(); ++i) {
            const std::uint32_t q = cursor_.position(v.size());
            cursor_.advance(1);
            if (v.candidate(q) && (m.tried().empty() || v.broker_of(q) != m.tried().back()))
                return q;
        }
        return sdk::rotate(v, m, cursor_);
    }
};

class takes_the_abs_of_a_hash : public named {
public:
    static constexpr std::uint32_t may_want = SHUNT_F_WANTS_JAVA_HASH;
    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        const std::int32_t h = m.java_hash();
        const auto abs = static_cast<std::int32_t>(h < 0 ? 0 - static_cast<std::uint32_t>(h) : static_cast<std::uint32_t>(h));
        return static_cast<std::uint32_t>(abs % static_cast<std::int32_t>(v.size()));
    }
};

class shares_a_counter : public named {
public:
    sdk::pick select(sdk::view v, sdk::message) noexcept { return next_++ % v.size(); }

private:
    static inline std::atomic<std::uint32_t> next_{0};
};

class never_forgives : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message)
    {
        for (std::uint32_t q = 0; q < v.size(); ++q)
            if (!v.available(q))
                bad_.insert(v.broker(v.broker_of(q)).id());
        for (std::uint32_t i = 0; i < v.size(); ++i) {
            const std::uint32_t q = cursor_.position(v.size());
            cursor_.advance(1);
            if (!bad_.contains(v.broker(v.broker_of(q)).id()))
                return q;
        }
        return 0u;
    }

private:
    std::set<std::uint32_t> bad_;
};

class gives_up_when_all_are_bad : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return sdk::scan_tier(v, m, sdk::tier::untried_available, cursor_); }
};

class takes_an_empty_key_for_none : public sound_by_key {
public:
    using sound_by_key::sound_by_key;
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return m.key().empty() ? sdk::rotate(v, m, cursor_) : by_key(v, m); }
};

class places_by_broker_id : public named {
public:
    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        std::uint32_t best = 0;
        for (std::uint32_t b = 1; b < v.brokers().size(); ++b)
            if (weight(v, m, b) > weight(v, m, best))
                best = b;
        return v.broker(best).first_queue();
    }

private:
    static std::uint64_t weight(sdk::view v, sdk::message m, std::uint32_t b) noexcept
    {
        return sdk::mix(sdk::fnv1a_64(m.key()) ^ v.broker(b).id());
    }
};

class overflows : public named {
public:
    overflows(const sdk::settings&, sdk::instance i) : next_(i.start) {}
    sdk::pick select(sdk::view v, sdk::message) noexcept
    {
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(next_++) % static_cast<std::int32_t>(v.size()));
    }

private:
    std::uint32_t next_;
};

class ignores_candidates : public named {
public:
    sdk::pick select(sdk::view v, sdk::message) noexcept { return next_++ % v.size(); }

private:
    std::uint32_t next_ = 0;
};

class writes_into_the_view : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        const_cast<shunt_queue*>(v.raw().queues)->queue_id ^= 1;
        return sdk::rotate(v, m, cursor_);
    }
};

class keeps_an_index : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        if (kept_ == SHUNT_NONE)
            kept_ = sdk::rotate(v, m, cursor_).queue() + v.size() / 2;
        return kept_;
    }

private:
    std::uint32_t kept_ = SHUNT_NONE;
};

class rolls_its_own_dice : public named {
public:
    sdk::pick select(sdk::view v, sdk::message) { return static_cast<std::uint32_t>(dice_() % v.size()); }

private:
    static inline std::mt19937 dice_{7};
};

class rotates_and_says_deterministic : public sound {
public:
    static constexpr bool deterministic = true;
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return sdk::rotate(v, m, cursor_); }
};

class has_room_for_64_brokers : public sound {
public:
    using sound::sound;
    sdk::pick select(sdk::view v, sdk::message m)
    {
        if (v.brokers().size() > 64)
            throw std::length_error("too many brokers");
        return sdk::rotate(v, m, cursor_);
    }
};

class says_concurrent_and_is_not : public named {
public:
    sdk::pick select(sdk::view, sdk::message) const
    {
        if (std::this_thread::get_id() != mine_)
            throw std::logic_error("called by another thread");
        return 0u;
    }

private:
    std::thread::id mine_ = std::this_thread::get_id();
};

// ---- fault strategies ----

enum class flaw { none, never_ends, grows_without_end, by_index, never_forgets, fears_strangers, blames_small_deadlines, says_nothing, hides_the_end, fears_odd_times, hands_over_points_in_time };

/// Isolates a broker for ten seconds from each failure on.
template <flaw F>
class isolating {
public:
    static constexpr std::string_view name = "planted", summary = "for tests";
    static constexpr std::uint32_t state_schema = 1;

    void evaluate(sdk::broker_list brokers, sdk::nanoseconds now, sdk::verdicts out)
    {
        order_.clear();
        for (std::uint32_t i = 0; i < brokers.size(); ++i) {
            order_.push_back(brokers[i].id());
            const auto entry = until_.find(F == flaw::by_index ? i : brokers[i].id());
            const bool known = entry != until_.end();
            if (F == flaw::fears_strangers ? known && entry->second <= now : !known || entry->second <= now)
                out.available(i);
            else if (known && F != flaw::hides_the_end && entry->second != sdk::nanoseconds::max())
                out.changes_at(entry->second);
        }
        now_ = now;
    }

    bool on_feedback(const sdk::feedback& f)
    {
        if (F == flaw::fears_odd_times && (f.latency() < sdk::nanoseconds{0} || f.at() < last_))
            throw std::logic_error("time must not run backward");
        last_ = now_ = std::max(now_, f.at());
        if (f.kind() == sdk::feedback_kind::left)
            return F != flaw::never_forgets && until_.erase(f.broker_id()) > 0;
        const std::uint32_t at = F == flaw::by_index ? index(f.broker_id()) : f.broker_id();
        if (f.good()) {
            if (F == flaw::fears_strangers)
                until_.try_emplace(at, 0);
            return F == flaw::fears_strangers;
        }
        if (f.result() == sdk::result::expired && f.share() < std::chrono::milliseconds{500} && F != flaw::blames_small_deadlines)
            return false;
        sdk::nanoseconds& until = until_[at];
        if (until > f.at() && until != sdk::nanoseconds::max() && F == flaw::grows_without_end)
            return false;  // isolated already
        sdk::nanoseconds span = std::chrono::seconds{10};
        if (F == flaw::grows_without_end)
            span *= growth_[at] = std::min(1'000'000, std::max(1, growth_[at] * 1000));
        until = F == flaw::never_ends ? sdk::nanoseconds::max() : std::max(until, f.at() + span);
        return F != flaw::says_nothing;
    }

    void export_state(sdk::writer& w) const
    {
        for (const auto& [id, until] : until_)
            if (until > now()) {
                w.put(std::uint64_t{id});
                w.put(F == flaw::hands_over_points_in_time ? until.count() : (until - now()).count());
            }
    }
    bool import_state(sdk::reader r)
    {
        std::map<std::uint32_t, sdk::nanoseconds> taken;
        while (!r.at_end()) {
            const auto id = r.get<std::uint64_t>();
            const auto left = r.get<std::int64_t>();
            if (!id || !left || *id > UINT32_MAX || *left < 0)
                return false;
            taken[static_cast<std::uint32_t>(*id)] = sdk::nanoseconds{F == flaw::hands_over_points_in_time ? *left : now().count() + std::min(*left, sdk::nanoseconds{std::chrono::hours{100}}.count())};
        }
        until_ = std::move(taken);
        return true;
    }

    explicit isolating(sdk::host h, const sdk::settings&, sdk::instance) : host_(h) {}

private:
    [[nodiscard]] sdk::nanoseconds now() const { return host_.now(); }
    [[nodiscard]] std::uint32_t index(std::uint32_t id) const
    {
        for (std::uint32_t i = 0; i < order_.size(); ++i)
            if (order_[i] == id)
                return i;
        return 1;
    }

    sdk::host host_;
    std::map<std::uint32_t, sdk::nanoseconds> until_;
    std::map<std::uint32_t, int> growth_;
    std::vector<std::uint32_t> order_;
    sdk::nanoseconds now_{}, last_{};
};

}  // namespace shunt::test::planted
