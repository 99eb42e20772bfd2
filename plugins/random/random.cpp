// Picks a queue at random, each as likely as the other, among those of healthy brokers not tried by this send.

#include <shunt/sdk/draw.hpp>
#include <shunt/sdk/plugin.hpp>

namespace {

namespace sdk = shunt::sdk;

class random_queue {
public:
    static constexpr std::string_view name = "random";
    static constexpr std::string_view summary = "uniform over the queues of healthy brokers";

    // No state: the randomness comes with each message, so threads share nothing.
    sdk::pick select(sdk::view v, sdk::message m) const noexcept { return sdk::draw(v, m); }
};

}  // namespace

SHUNT_PLUGIN("shunt.random", "1.0.0", "Apache-2.0", random_queue);
