// Always the first queue: the least a strategy can be.

#include <shunt/sdk/plugin.hpp>

namespace {

class first_queue {
public:
    static constexpr std::string_view name = "first-queue", summary = "always the first queue";
    shunt::sdk::pick select(shunt::sdk::view, shunt::sdk::message) const noexcept { return 0u; }
};

}  // namespace

SHUNT_PLUGIN("example.first-queue", "1.0.0", "Apache-2.0", first_queue);
