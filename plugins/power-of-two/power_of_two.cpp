// Draws two queues of different brokers and takes the one whose broker is less busy: latency times attempts in flight.
//
// Nearly as even as asking all brokers, at the cost of asking two; and senders that decide at once do not all pick the same.

#include <shunt/sdk/draw.hpp>
#include <shunt/sdk/plugin.hpp>

#include <bit>
#include <iterator>

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
            const auto [one, other] = draw_two(v, sdk::fitting{v, m, t}, d);
            if (one == SHUNT_NONE)
                continue;
            const bool change = other != SHUNT_NONE && less_busy(v.broker(v.broker_of(other)), v.broker(v.broker_of(one)));
            return {change ? other : one, sdk::reason_for(t, sdk::why::load, !m.tried().empty())};
        }
        return sdk::pick::no_queue();
    }

private:
    using throws = sdk::throws<6>;  // two of them fit, of different brokers, nearly always

    struct two {
        std::uint32_t one, other;
    };

    /// A fitting queue, and one of any other broker; each as likely as the next. SHUNT_NONE: there is none.
    static two draw_two(sdk::view v, const sdk::fitting& f, sdk::dice& d) noexcept
    {
        const throws first(f, d, v.size());
        const std::uint32_t one = first.fit != 0 ? first.queue[std::countr_zero(first.fit)] : sdk::draw_queue(f, d, 0, v.size());
        if (one == SHUNT_NONE)
            return {one, one};
        const std::uint32_t b = v.broker_of(one);
        if (const unsigned fit = first.fit & elsewhere(v, first, b); fit != 0)
            return {one, first.queue[std::countr_zero(fit)]};

        const sdk::broker_view broker = v.broker(b);
        if (v.size() - broker.n_queues() > 64) {  // to count fewer costs less than to throw again
            const throws again(f, d, v.size());
            if (const unsigned fit = again.fit & elsewhere(v, again, b); fit != 0)
                return {one, again.queue[std::countr_zero(fit)]};
        }
        const std::uint32_t before = f.count(0, broker.first_queue());
        const std::uint32_t after = f.count(broker.end_queue(), v.size());
        if (before + after == 0)
            return {one, SHUNT_NONE};
        const auto k = static_cast<std::uint32_t>(d.below(before + after));
        return {one, k < before ? f.nth(k, 0, broker.first_queue()) : f.nth(k - before, broker.end_queue(), v.size())};
    }

    /// Which of the throws are queues of other brokers than the `b`-th.
    static unsigned elsewhere(sdk::view v, const throws& t, std::uint32_t b) noexcept
    {
        unsigned others = 0;
        for (unsigned k = 0; k < std::size(t.queue); ++k)
            others |= static_cast<unsigned>(v.broker_of(t.queue[k]) != b) << k;
        return others;
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
