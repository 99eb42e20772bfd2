// Avoids nobody: every broker is always available.

#include <shunt/sdk/plugin.hpp>

namespace {

namespace sdk = shunt::sdk;

class none {
public:
    static constexpr std::string_view name = "none";
    static constexpr std::string_view summary = "every broker is always available";

    void evaluate(sdk::broker_list brokers, sdk::nanoseconds, sdk::verdicts out) const noexcept
    {
        for (std::uint32_t i = 0; i < brokers.size(); ++i)
            out.available(i);
    }

    bool on_feedback(const sdk::feedback&) const noexcept { return false; }
};

}  // namespace

SHUNT_PLUGIN("shunt.none", "1.0.0", "Apache-2.0", none);
