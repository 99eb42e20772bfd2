// A selector and a fault strategy in one file, both in order.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

namespace {

namespace sdk = shunt::sdk;

class rotation {
public:
    static constexpr std::string_view name = "rotation";
    static constexpr std::string_view summary = "for tests";
    rotation(const sdk::settings&, sdk::instance i) noexcept : cursor_(i.start) {}
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return sdk::rotate(v, m, cursor_); }

private:
    sdk::cursor cursor_;
};

class optimist {
public:
    static constexpr std::string_view name = "optimist";
    static constexpr std::string_view summary = "for tests";
    void evaluate(sdk::broker_list brokers, sdk::nanoseconds, sdk::verdicts out) const noexcept
    {
        for (std::uint32_t i = 0; i < brokers.size(); ++i)
            out.available(i);
    }
    bool on_feedback(const sdk::feedback&) const noexcept { return false; }
};

}  // namespace

SHUNT_PLUGIN("shunt.tests.two-kinds", "1.0.0", "Apache-2.0", rotation, optimist);
