// Takes the last queue, and throws at each third pick.

#include <shunt/sdk/plugin.hpp>

#include <stdexcept>

namespace {

namespace sdk = shunt::sdk;

class moody {
public:
    static constexpr std::string_view name = "moody";
    static constexpr std::string_view summary = "for tests: throws at each third pick";

    sdk::pick select(sdk::view v, sdk::message)
    {
        if (++picks_ % 3 == 0)
            throw std::runtime_error("not now");
        return v.size() - 1;
    }

private:
    int picks_ = 0;
};

}  // namespace

SHUNT_PLUGIN("shunt.tests.moody", "1.0.0", "Apache-2.0", moody);
