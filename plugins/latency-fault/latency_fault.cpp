// Isolates a broker that was slow or failed, for a time that a table gives; it comes back by itself.
//
// Each attempt's latency is looked up in a table: how long is the broker to be left alone? A failure counts as a long,
// pretended latency. Isolated brokers are still used, before unreachable ones, when nobody else is left.

#include <shunt/sdk/plugin.hpp>

#include <map>

namespace {

namespace sdk = shunt::sdk;
using namespace std::chrono_literals;
using sdk::nanoseconds;

struct profile {
    std::vector<nanoseconds> latency_max;    // from this latency on, up to the next bound,
    std::vector<nanoseconds> not_available;  // the broker is left alone for so long
    nanoseconds failure_latency;
    bool good_answer_ends_isolation;         // as producers up to 5.1.3 did
};

profile rocketmq_5x()
{
    return {{50ms, 100ms, 550ms, 1800ms, 3s, 5s, 15s}, {0s, 0s, 2s, 5s, 6s, 10s, 30s}, 10s, false};
}

profile classic()
{
    return {{50ms, 100ms, 550ms, 1s, 2s, 3s, 15s}, {0s, 0s, 30s, 60s, 120s, 180s, 600s}, 30s, true};
}

profile read_profile(const sdk::settings& s)
{
    const auto name = s.find<std::string_view>("profile");
    const auto latency_max = s.find<std::vector<nanoseconds>>("latency_max");
    const auto not_available = s.find<std::vector<nanoseconds>>("not_available");

    profile p = name == "classic" ? classic() : rocketmq_5x();
    if (latency_max || not_available) {
        if (name)
            s.refuse("profile and the tables latency_max and not_available exclude each other; keep one of them");
        if (!latency_max || !not_available || latency_max->size() != not_available->size())
            s.refuse("latency_max and not_available belong together: as many durations in the one as in the other");
        else if (std::ranges::adjacent_find(*latency_max, std::greater_equal{}) != latency_max->end())
            s.refuse("latency_max must ascend, each bound larger than the one before");
        p.latency_max = latency_max.value_or(p.latency_max);
        p.not_available = not_available.value_or(p.not_available);
    }
    p.failure_latency = s.find<nanoseconds>("failure_latency").value_or(p.failure_latency);
    return p;
}

class latency_fault {
public:
    static constexpr std::string_view name = "latency-fault";
    static constexpr std::string_view summary = "isolates slow and failing brokers for a time looked up in a table";
    static constexpr double day = 24 * 3600 * sdk::seconds;
    static constexpr sdk::param params[] = {
        {.name = "profile", .choices = "5.x|classic",
         .help = "built-in tables: \"5.x\" (in force unless tables are given) or \"classic\", as RocketMQ 4.x: longer, and ended by a good answer"},
        {.name = "latency_max", .type = sdk::type::duration, .array = true, .max = day,
         .help = "own table, instead of a profile: bounds of latency, ascending, inclusive"},
        {.name = "not_available", .type = sdk::type::duration, .array = true, .max = day,
         .help = "own table: how long a broker is isolated from each bound of latency_max on"},
        {.name = "failure_latency", .type = sdk::type::duration, .max = day,
         .help = "the latency a failed attempt stands for: \"10s\" unless given, \"30s\" with the classic profile"},
        {.name = "probe", .type = sdk::type::duration, .default_text = "\"0ms\"", .max = day,
         .help = "connect to an isolated broker this often; one that was unreachable and answers is back at once; 0: never"},
    };

    latency_fault(sdk::host h, const sdk::settings& s, sdk::instance)
        : host_(h), profile_(read_profile(s)), probe_(s.get<nanoseconds>("probe"))
    {
        if (probe_ > 0ns && probe_ < 1ms)
            s.refuse("probe must be 0 (never) or at least 1ms");
    }

    void evaluate(sdk::broker_list brokers, nanoseconds now, sdk::verdicts out) const
    {
        for (std::uint32_t i = 0; i < brokers.size(); ++i) {
            const auto known = brokers_.find(brokers[i].id());
            if (known == brokers_.end() || now >= known->second.end) {
                out.available(i);
                continue;
            }
            out.changes_at(known->second.end);
            if (known->second.reachable)
                out.reachable(i);
        }
    }

    bool on_feedback(const sdk::feedback& f)
    {
        if (f.kind() == sdk::feedback_kind::left)
            return brokers_.erase(f.broker_id()) > 0;
        if (f.kind() == sdk::feedback_kind::probe)
            return on_probe(f);
        // A caller's own small deadline says nothing about the broker.
        if (f.result() == sdk::result::expired && isolation_for(f.share()) == 0ns)
            return false;

        broker& b = brokers_[f.broker_id()];
        const broker before = b;
        b.reachable = f.result() != sdk::result::unreachable;
        isolate(b, f, isolation_for(f.good() ? f.latency() : profile_.failure_latency));
        if (before.end <= f.at() && b.end > f.at())
            b.since = f.at();
        watch(f.broker_id(), b, f.at(), b.since != before.since);
        const bool matters = before.end > f.at() || b.end > f.at();
        return matters && (b.end != before.end || b.reachable != before.reachable);
    }

    // ---- state: what is left of each isolation, never a point in time ----

    static constexpr std::uint32_t state_schema = 1;

    struct exported {
        std::uint32_t broker_id, reachable;
        std::int64_t left_ns, lasted_ns, set_ago_ns;  // of the isolation; its end was last set so long ago
    };

    void export_state(sdk::writer& out) const
    {
        const nanoseconds now = host_.now();
        for (const auto& [id, b] : brokers_)
            if (b.end > now)
                out.put(exported{id, b.reachable, (b.end - now).count(), (now - b.since).count(), (now - b.set_at).count()});
    }

    bool import_state(sdk::reader in)
    {
        const nanoseconds now = host_.now();
        std::map<std::uint32_t, broker> all;
        while (const auto e = in.get<exported>()) {
            const auto makes_sense = [](std::int64_t ns) { return ns >= 0 && ns < nanoseconds{24h * 365}.count(); };
            if (!makes_sense(e->left_ns) || !makes_sense(e->lasted_ns) || !makes_sense(e->set_ago_ns) || e->reachable > 1)
                return false;
            all[e->broker_id] = {.end = now + nanoseconds{e->left_ns}, .since = now - nanoseconds{e->lasted_ns},
                                 .set_at = now - nanoseconds{e->set_ago_ns}, .reachable = e->reachable == 1};
        }
        if (!in.at_end())
            return false;
        brokers_ = std::move(all);
        for (auto& [id, b] : brokers_)
            watch(id, b, now, true);
        return true;
    }

private:
    struct broker {
        nanoseconds end = nanoseconds::min();     // of the isolation
        nanoseconds since = nanoseconds::min();   // when it began
        nanoseconds set_at = nanoseconds::min();  // when `end` was last set
        bool reachable = true;
        bool probe_pending = false;
    };

    /// The table: what the largest bound that the latency reaches says, else nothing.
    [[nodiscard]] nanoseconds isolation_for(nanoseconds latency) const noexcept
    {
        for (std::size_t i = profile_.latency_max.size(); i-- > 0;)
            if (latency >= profile_.latency_max[i])
                return profile_.not_available[i];
        return 0ns;
    }

    void isolate(broker& b, const sdk::feedback& f, nanoseconds d) const noexcept
    {
        // A good answer ends the isolation, but only one to an attempt that was started in the knowledge of it.
        const bool replaces = profile_.good_answer_ends_isolation && f.start() > b.set_at;
        const nanoseconds end = f.at() + d;
        if (replaces || (d > 0ns && end > b.end)) {
            b.end = end;
            b.set_at = f.at();
        }
    }

    bool on_probe(const sdk::feedback& f)
    {
        const auto known = brokers_.find(f.broker_id());
        if (known == brokers_.end())
            return false;
        broker& b = known->second;
        b.probe_pending = false;
        if (b.end <= f.at())
            return false;
        const bool was_reachable = std::exchange(b.reachable, f.good());
        if (f.good() && !was_reachable)
            b.end = b.set_at = f.at();
        watch(f.broker_id(), b, f.at(), false);
        return was_reachable != b.reachable;
    }

    /// Asks for the next probe of an isolated broker: at whole multiples of `probe` from the beginning of its isolation.
    void watch(std::uint32_t id, broker& b, nanoseconds now, bool isolation_is_new)
    {
        if (probe_ == 0ns || b.end <= now || (b.probe_pending && !isolation_is_new))
            return;
        const nanoseconds at = b.since + ((now - b.since) / probe_ + 1) * probe_;
        if (at < b.end)
            b.probe_pending = host_.request_probe(id, at);
    }

    sdk::host host_;
    profile profile_;
    nanoseconds probe_;
    std::map<std::uint32_t, broker> brokers_;
};

}  // namespace

SHUNT_PLUGIN("shunt.latency-fault", "1.0.0", "Apache-2.0", latency_fault);
