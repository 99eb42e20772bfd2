// Picks the broker with the fewest attempts in flight, in turn among equals, then one of its queues at random.
//
// A broker that fails at once has nothing in flight and would look idle; the host lets a failed attempt count on for a while.

#include <shunt/sdk/draw.hpp>
#include <shunt/sdk/plugin.hpp>

namespace {

namespace sdk = shunt::sdk;

class least_inflight {
public:
    static constexpr std::string_view name = "least-inflight";
    static constexpr std::string_view summary = "the healthy broker with the fewest attempts in flight";

    least_inflight(sdk::settings, sdk::instance i) noexcept : turn_(i.start) {}

    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        sdk::dice d{m.random()};
        for (const sdk::tier t : sdk::tiers_of(m)) {
            const sdk::fitting f{v, m, t};
            const std::uint32_t broker = least_loaded(v, f);
            if (broker == SHUNT_NONE)
                continue;
            const sdk::broker_view b = v.broker(broker);
            return {sdk::draw_queue(f, d, b.first_queue(), b.end_queue()), sdk::reason_for(t, sdk::why::load, !m.tried().empty())};
        }
        return sdk::pick::no_queue();
    }

private:
    /// The first of the least loaded from where the last turn ended.
    std::uint32_t least_loaded(sdk::view v, const sdk::fitting& f) noexcept
    {
        const sdk::broker_list brokers = v.brokers();
        const std::uint32_t n = brokers.size();
        const std::uint32_t start = turn_.position(n);
        std::uint32_t best = SHUNT_NONE, best_load = SHUNT_NONE, steps = 0;
        for (std::uint32_t i = 0, at = start; i < n; ++i, at = at + 1 == n ? 0 : at + 1) {
            const sdk::broker_view b = brokers[at];
            const std::uint32_t load = b.inflight();
            if (load < best_load && f.first(b.first_queue(), b.end_queue()) < b.end_queue()) {
                best = at;
                best_load = load;
                steps = i;
            }
        }
        if (best != SHUNT_NONE)
            turn_.advance(steps + 1);
        return best;
    }

    sdk::cursor turn_;
};

}  // namespace

SHUNT_PLUGIN("shunt.least-inflight", "1.0.0", "Apache-2.0", least_inflight);
