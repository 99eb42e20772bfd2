// Goes to the broker that a property of the message names; where it names none, to any. A selector, and a filter.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

namespace {

namespace sdk = shunt::sdk;

class by_property {
public:
    static constexpr std::string_view name = "by-property";
    static constexpr std::string_view summary = "for tests";
    static constexpr std::uint32_t may_want = SHUNT_F_WANTS_PROPS;
    static constexpr sdk::param params[] = {
        {.name = "property", .default_text = "\"\"", .help = "the property's name; empty: none is looked at"},
    };

    by_property(const sdk::settings& s, sdk::instance i) : property_(s.get<std::string>("property")), cursor_(i.start) {}

    [[nodiscard]] std::uint32_t wants() const { return property_.empty() ? 0 : SHUNT_F_WANTS_PROPS; }

    sdk::pick select(sdk::view v, sdk::message m)
    {
        std::vector<std::uint64_t> wanted((v.size() + 63) / 64);
        (void)filter(v, m, 0, sdk::queue_mask{wanted});
        for (const sdk::tier t : sdk::tiers_of(m))
            if (const sdk::pick p = sdk::scan_tier(v, m, t, cursor_, wanted.data(), sdk::why::room); p.found())
                return p;
        return sdk::pick::no_queue();
    }

    bool filter(sdk::view v, sdk::message m, std::uint32_t level, sdk::queue_mask out)
    {
        const std::string_view broker = m.property(property_).value_or("");
        if (level > 0)
            return false;
        for (const sdk::broker_view b : v.brokers())
            if (broker.empty() || b.name() == broker)
                out.add(b);
        return true;
    }

private:
    std::string property_;
    sdk::cursor cursor_;
};

}  // namespace

SHUNT_PLUGIN("shunt.tests.by-property", "1.0.0", "Apache-2.0", by_property);
