// The kit without a test framework, without exceptions and without run-time types.

#include <shunt/sdk/testing.hpp>
#include <shunt/sdk/tiers.hpp>

namespace kit = shunt::sdk::testing;
namespace sdk = shunt::sdk;

namespace {

class rotation {
public:
    static constexpr std::string_view name = "rotation", summary = "for a test";
    rotation(const sdk::settings&, sdk::instance i) noexcept : cursor_(i.start) {}
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return sdk::rotate(v, m, cursor_); }

private:
    sdk::cursor cursor_;
};

}  // namespace

int main(int argc, char**)
{
    const kit::plugin p = kit::of<rotation>();
    const kit::route r{"a*1, b*1"};
    kit::selector s{p};
    if (argc > 1)
        kit::require(kit::spread(s.count(r, 6), {{"b/0", 1}}));
    kit::require(kit::spread(s.count(r, 6), r));
    kit::require(kit::traps::selector(p));
    return 0;
}
