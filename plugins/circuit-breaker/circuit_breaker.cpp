// Isolates a broker when too large a part of its recent attempts failed; a trial decides when it comes back.
//
// After the isolation the broker is on trial: the next attempt decides. A good one ends it, a bad one isolates for twice as
// long, up to a cap. Never more than a stated share of the brokers is isolated.

#include <shunt/sdk/plugin.hpp>

#include <map>

namespace {

namespace sdk = shunt::sdk;
using namespace std::chrono_literals;
using sdk::nanoseconds;

/// Attempts and errors of the last `length`, counted in slices of a twentieth.
class window {
public:
    void add(nanoseconds at, nanoseconds length, bool error) noexcept
    {
        const std::int64_t number = at / (length / slices_.size());
        slice& s = slices_[static_cast<std::uint64_t>(number) % slices_.size()];
        if (s.number != number)
            s = {.number = number};
        ++s.attempts;
        s.errors += error ? 1 : 0;
        newest_ = std::max(newest_, number);
    }

    struct sum {
        std::uint64_t attempts = 0, errors = 0;
    };
    [[nodiscard]] sum total() const noexcept
    {
        sum t;
        for (const slice& s : slices_)
            if (s.number > newest_ - static_cast<std::int64_t>(slices_.size())) {
                t.attempts += s.attempts;
                t.errors += s.errors;
            }
        return t;
    }

private:
    struct slice {
        std::int64_t number = -1;
        std::uint32_t attempts = 0, errors = 0;
    };
    std::array<slice, 20> slices_{};
    std::int64_t newest_ = 0;
};

class circuit_breaker {
public:
    static constexpr std::string_view name = "circuit-breaker";
    static constexpr std::string_view summary = "isolates brokers by error rate, lets one back after a trial";
    static constexpr double day = 24 * 3600 * sdk::seconds;
    static constexpr sdk::param params[] = {
        {.name = "window", .type = sdk::type::duration, .default_text = "\"10s\"", .min = 20 * sdk::milliseconds, .max = day,
         .help = "errors are counted over this time"},
        {.name = "min_attempts", .type = sdk::type::integer, .default_text = "10", .unit = "attempts", .min = 1, .max = 1e9,
         .help = "with fewer attempts in the window nobody is isolated"},
        {.name = "error_rate", .type = sdk::type::real, .default_text = "0.5", .min = 0.001, .max = 1,
         .help = "isolate from this share of errors on"},
        {.name = "isolation", .type = sdk::type::duration, .default_text = "\"1s\"", .min = sdk::milliseconds, .max = day,
         .help = "the first isolation; each bad trial doubles it"},
        {.name = "isolation_max", .type = sdk::type::duration, .default_text = "\"30s\"", .min = sdk::milliseconds, .max = day,
         .help = "isolations grow up to this"},
        {.name = "max_isolated", .type = sdk::type::real, .default_text = "0.5", .min = 0, .max = 1,
         .help = "at most this share of the brokers is isolated at a time, rounded down"},
    };

    circuit_breaker(sdk::host h, const sdk::settings& s, sdk::instance)
        : host_(h), window_(s.get<nanoseconds>("window")), min_attempts_(s.get<std::uint64_t>("min_attempts")),
          error_rate_(s.get<double>("error_rate")), isolation_(s.get<nanoseconds>("isolation")),
          isolation_max_(s.get<nanoseconds>("isolation_max")), max_isolated_(s.get<double>("max_isolated"))
    {
        if (isolation_max_ < isolation_)
            s.refuse("isolation_max must not be shorter than isolation");
    }

    void evaluate(sdk::broker_list brokers, nanoseconds now, sdk::verdicts out)
    {
        std::vector<std::pair<nanoseconds, std::uint32_t>> isolated;  // since when, index
        for (std::uint32_t i = 0; i < brokers.size(); ++i) {
            const auto known = brokers_.find(brokers[i].id());
            const bool tripped = known != brokers_.end() && known->second.tripped;
            if (tripped && now < known->second.end) {
                out.changes_at(known->second.end);
                isolated.emplace_back(known->second.since, i);
            } else if (tripped) {
                // On trial. One attempt is enough: while it runs the others keep off. Nobody says that it has begun, so look
                // again soon, less often the longer the trial waits for traffic.
                out.changes_at(now + std::clamp<nanoseconds>(now - known->second.end, 1ms, 1s));
                if (brokers[i].inflight() > 0)
                    isolated.emplace_back(known->second.since, i);
                else
                    out.available(i);
            } else {
                out.available(i);
            }
            out.reachable(i);
        }
        // Beyond the share allowed, those isolated last go on as if nothing were.
        const auto allowed = static_cast<std::size_t>(max_isolated_ * brokers.size() + 1e-9);
        std::ranges::sort(isolated);
        for (std::size_t k = allowed; k < isolated.size(); ++k)
            out.available(isolated[k].second);
    }

    bool on_feedback(const sdk::feedback& f)
    {
        if (f.kind() == sdk::feedback_kind::left)
            return brokers_.erase(f.broker_id()) > 0;
        // A caller's own small deadline says nothing about the broker.
        if (f.kind() != sdk::feedback_kind::send || (f.result() == sdk::result::expired && f.share() < 500ms))
            return false;

        broker& b = brokers_[f.broker_id()];
        if (b.tripped) {
            if (f.start() < b.end)
                return false;  // from before the trial
            if (f.good())
                b = {};
            else
                trip(b, f.at(), std::min(2 * b.isolation, isolation_max_));
            return true;
        }
        b.recent.add(f.at(), window_, !f.good());
        const auto [attempts, errors] = b.recent.total();
        if (attempts < min_attempts_ || static_cast<double>(errors) < error_rate_ * static_cast<double>(attempts))
            return false;
        trip(b, f.at(), isolation_);
        return true;
    }

    // ---- state: isolations and what is left of them, never a point in time; the window starts anew ----

    static constexpr std::uint32_t state_schema = 1;

    struct exported {
        std::uint32_t broker_id, reserved;
        std::int64_t left_ns, lasted_ns, isolation_ns;  // left: negative when on trial
    };

    void export_state(sdk::writer& out) const
    {
        const nanoseconds now = host_.now();
        for (const auto& [id, b] : brokers_)
            if (b.tripped)
                out.put(exported{id, 0, (b.end - now).count(), (now - b.since).count(), b.isolation.count()});
    }

    bool import_state(sdk::reader in)
    {
        const nanoseconds now = host_.now();
        std::map<std::uint32_t, broker> all;
        while (const auto e = in.get<exported>()) {
            const auto makes_sense = [](std::int64_t ns) { return nanoseconds{ns} > -24h * 365 && nanoseconds{ns} < 24h * 365; };
            if (!makes_sense(e->left_ns) || !makes_sense(e->lasted_ns) || !makes_sense(e->isolation_ns) || e->isolation_ns <= 0)
                return false;
            all[e->broker_id] = {.recent = {}, .tripped = true, .since = now - nanoseconds{e->lasted_ns},
                                 .end = now + nanoseconds{e->left_ns}, .isolation = nanoseconds{e->isolation_ns}};
        }
        if (!in.at_end())
            return false;
        brokers_ = std::move(all);
        return true;
    }

private:
    struct broker {
        window recent;
        bool tripped = false;      // isolated, or on trial once `end` has passed
        nanoseconds since{}, end{};
        nanoseconds isolation{};   // how long this one lasts
    };

    static void trip(broker& b, nanoseconds at, nanoseconds isolation) noexcept
    {
        b = {.recent = {}, .tripped = true, .since = at, .end = at + isolation, .isolation = isolation};
    }

    sdk::host host_;
    nanoseconds window_;
    std::uint64_t min_attempts_;
    double error_rate_;
    nanoseconds isolation_, isolation_max_;
    double max_isolated_;
    std::map<std::uint32_t, broker> brokers_;
};

}  // namespace

SHUNT_PLUGIN("shunt.circuit-breaker", "1.0.0", "Apache-2.0", circuit_breaker);
