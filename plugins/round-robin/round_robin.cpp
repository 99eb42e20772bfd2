// Goes round the queues, whatever the health of their brokers; only a retry keeps off brokers this send already tried.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

namespace {

namespace sdk = shunt::sdk;

class round_robin {
public:
    static constexpr std::string_view name = "round-robin";
    static constexpr std::string_view summary = "rotation over all queues; health is ignored";

    round_robin(sdk::settings, sdk::instance i) noexcept : cursor_(i.start) {}

    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        if (const sdk::scanned s = sdk::scan({v, m, sdk::tier::untried}, cursor_, 0, v.size()))
            return {s.queue, s.stepped_over > 0 && !m.tried().empty() ? sdk::why::avoid_tried : sdk::why::rotation};
        if (const sdk::scanned s = sdk::scan({v, m, sdk::tier::any}, cursor_, 0, v.size()))
            return {s.queue, sdk::why::all_tried};
        return sdk::pick::no_queue();
    }

private:
    sdk::cursor cursor_;
};

}  // namespace

SHUNT_PLUGIN("shunt.round-robin", "1.0.0", "Apache-2.0", round_robin);
