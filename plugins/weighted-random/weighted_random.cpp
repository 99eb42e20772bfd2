// Draws a broker by weight, then one of its queues, each as likely as the other; healthy and untried brokers first.

#include <shunt/sdk/draw.hpp>
#include <shunt/sdk/plugin.hpp>

namespace {

namespace sdk = shunt::sdk;

class weighted_random {
public:
    static constexpr std::string_view name = "weighted-random";
    static constexpr std::string_view summary = "a broker by weight, then one of its queues at random";

    sdk::pick select(sdk::view v, sdk::message m) const noexcept
    {
        sdk::dice d{m.random()};
        for (const sdk::tier t : sdk::tiers_of(m)) {
            const sdk::fitting f{v, m, t};
            const auto fits = [&f](sdk::broker_view b) { return f.first(b.first_queue(), b.end_queue()) < b.end_queue(); };

            std::uint64_t weights = 0, fitting_brokers = 0;
            for (const sdk::broker_view b : v.brokers())
                if (fits(b)) {
                    weights += b.weight();
                    ++fitting_brokers;
                }
            if (fitting_brokers == 0)
                continue;

            // Weight 0 means never, unless the tier has nobody else: then all are alike.
            const bool alike = weights == 0;
            std::uint64_t mark = d.below(alike ? fitting_brokers : weights);
            for (const sdk::broker_view b : v.brokers()) {
                const std::uint64_t share = !fits(b) ? 0 : alike ? 1 : b.weight();
                if (mark < share)
                    return {sdk::draw_queue(f, d, b.first_queue(), b.end_queue()), sdk::reason_for(t, sdk::why::weight, !m.tried().empty())};
                mark -= share;
            }
        }
        return sdk::pick::no_queue();
    }
};

}  // namespace

SHUNT_PLUGIN("shunt.weighted-random", "1.0.0", "Apache-2.0", weighted_random);
