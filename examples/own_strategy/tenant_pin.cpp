// Keeps the messages of some tenants on brokers of their own; everybody else uses the brokers that are left.
//
// The tenant is what stands before the first '/' in the key: "acme/order-17" is acme's.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

#include <map>

namespace {

namespace sdk = shunt::sdk;

class tenant_pin {
public:
    static constexpr std::string_view name = "tenant-pin";
    static constexpr std::string_view summary = "some tenants have brokers of their own";
    static constexpr sdk::param params[] = {
        {.name = "pins", .array = true, .min_count = 1, .required = true, .help = "\"TENANT=BROKER\", any number of each"},
    };

    tenant_pin(const sdk::settings& s, sdk::instance i) : cursor_(i.start)
    {
        for (const auto& pin : s.get<std::vector<std::string>>("pins")) {
            const std::size_t equals = pin.find('=');
            if (equals == std::string::npos || equals == 0 || equals + 1 == pin.size())
                s.refuse("pin \"" + pin + "\" must have the form TENANT=BROKER");
            else
                pins_.emplace(pin.substr(0, equals), pin.substr(equals + 1));
        }
    }

    sdk::pick select(sdk::view v, sdk::message m)
    {
        learn(v);
        const std::string_view tenant = m.key().substr(0, m.key().find('/'));
        const auto own = own_queues_.find(tenant);
        const auto& queues = m.has_key() && own != own_queues_.end() ? own->second : shared_queues_;

        for (const sdk::tier t : sdk::tiers_of(m))
            if (const sdk::pick p = sdk::scan_tier(v, m, t, cursor_, queues.data()); p.found())
                return p;
        return sdk::pick::abstain();  // none of those brokers is in the route: the policy's fallback takes any
    }

private:
    using mask = std::vector<std::uint64_t>;

    /// Who may use which queues, worked out once for a route.
    void learn(sdk::view v)
    {
        if (known_route_ == v.route_gen() && !shared_queues_.empty())
            return;
        const mask none((v.size() + 63) / 64);
        shared_queues_ = none;
        own_queues_.clear();
        for (const sdk::broker_view b : v.brokers()) {
            bool shared = true;
            for (const auto& [tenant, broker] : pins_)
                if (broker == b.name()) {
                    shared = false;
                    sdk::queue_mask{own_queues_.try_emplace(tenant, none).first->second}.add(b);
                }
            if (shared)
                sdk::queue_mask{shared_queues_}.add(b);
        }
        known_route_ = v.route_gen();
    }

    std::multimap<std::string, std::string> pins_;
    std::map<std::string, mask, std::less<>> own_queues_;
    mask shared_queues_;
    std::uint64_t known_route_ = 0;
    sdk::cursor cursor_;
};

}  // namespace

SHUNT_PLUGIN("example.tenant-pin", "1.0.0", "Apache-2.0", tenant_pin);
