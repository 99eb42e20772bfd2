// Draws two queues of different brokers and takes the one whose broker is less busy: latency times attempts in flight.
//
// Nearly as even as asking all brokers, at the cost of asking two; and senders that decide at once do not all pick the same.

#include <shunt/sdk/draw.hpp>
#include <shunt/sdk/plugin.hpp>

namespace {

namespace sdk = shunt::sdk;

class power_of_two {
public:
    static constexpr std::string_view name = "power-of-two";
    static constexpr std::string_view summary = "the better of two random brokers by latency and attempts in flight";

    sdk::pick select(sdk::view v, sdk::message m) const noexcept
    {
        sdk::dice d{m.random()};
        for (const sdk::tier t : sdk::tiers_of(m)) {
            const sdk::fitting f{v, m, t};
            const std::uint32_t one = sdk::draw_queue(f, d, 0, v.size());
            if (one == SHUNT_NONE)
                continue;
            const sdk::broker_view broker = v.broker(v.broker_of(one));
            const std::uint32_t other = draw_elsewhere(v, f, d, broker);
            const bool change = other != SHUNT_NONE && less_busy(v.broker(v.broker_of(other)), broker);
            return {change ? other : one, sdk::reason_for(t, sdk::why::load, !m.tried().empty())};
        }
        return sdk::pick::no_queue();
    }

private:
    /// A fitting queue of any broker but `b`, each as likely as the other.
    static std::uint32_t draw_elsewhere(sdk::view v, const sdk::fitting& f, sdk::dice& d, sdk::broker_view b) noexcept
    {
        const std::uint32_t elsewhere = v.size() - b.n_queues();
        for (int i = 0; i < 8 && elsewhere > 0; ++i) {
            auto q = static_cast<std::uint32_t>(d.below(elsewhere));
            q += q < b.first_queue() ? 0 : b.n_queues();
            if (f.has(q))
                return q;
            if (elsewhere <= 64)
                break;  // to count so few is less than to throw in vain
        }
        const std::uint32_t before = f.count(0, b.first_queue());
        const std::uint32_t after = f.count(b.end_queue(), v.size());
        if (before + after == 0)
            return SHUNT_NONE;
        const auto k = static_cast<std::uint32_t>(d.below(before + after));
        return k < before ? f.nth(k, 0, b.first_queue()) : f.nth(k - before, b.end_queue(), v.size());
    }

    static bool less_busy(sdk::broker_view a, sdk::broker_view b) noexcept
    {
        const double load_a = a.inflight() + 1.0, load_b = b.inflight() + 1.0;
        const auto latency_a = static_cast<double>(a.latency().count()), latency_b = static_cast<double>(b.latency().count());
        // A broker nothing is known of must not look infinitely fast: it may be one that never answers.
        if (latency_a == 0 || latency_b == 0)
            return load_a < load_b;
        // Latencies are measured: one that is better by a hair would get twice its share.
        return latency_a * load_a < latency_b * load_b * (15.0 / 16);
    }
};

}  // namespace

SHUNT_PLUGIN("shunt.power-of-two", "1.0.0", "Apache-2.0", power_of_two);
