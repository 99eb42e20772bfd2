// Strategies that throw, when they are made or when they are asked. The SDK keeps the exceptions in.

#include <shunt/sdk/plugin.hpp>

#include <stdexcept>

namespace {

namespace sdk = shunt::sdk;

class throws_in_create {
public:
    static constexpr std::string_view name = "throws-in-create";
    static constexpr std::string_view summary = "for tests";

    throws_in_create() { throw std::runtime_error("no room at the inn"); }
    sdk::pick select(sdk::view, sdk::message) const { return 0u; }
};

class throws_in_select {
public:
    static constexpr std::string_view name = "throws-in-select";
    static constexpr std::string_view summary = "for tests";

    sdk::pick select(sdk::view, sdk::message) const { throw 42; }
};

}  // namespace

SHUNT_PLUGIN("shunt.tests.throws", "1.0.0", "Apache-2.0", throws_in_create, throws_in_select);
