// Keeps the messages of some tenants on brokers of their own; everybody else uses the brokers that are left.
//
// The tenant is the beginning of the key, up to the first '/': "acme/order-17" is acme's. When a tenant's brokers are isolated,
// or were tried by this send, its messages spill over to the brokers that are nobody's, and at last to any.

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
        {.name = "separator", .default_text = "\"/\"", .help = "what ends the tenant in a key; empty: the whole key is the tenant"},
        {.name = "others", .default_text = "\"keep-off\"", .choices = "keep-off|anywhere",
         .help = "may messages of other tenants use the pinned brokers"},
    };

    tenant_pin(const sdk::settings& s, sdk::instance i)
        : start_(i.start), separator_(s.get<std::string>("separator")), others_keep_off_(s.get<std::string>("others") == "keep-off")
    {
        for (const auto& pin : s.get<std::vector<std::string>>("pins")) {
            const std::size_t equals = pin.find('=');
            if (equals == std::string::npos || equals == 0 || equals + 1 == pin.size())
                s.refuse("pins has \"" + pin + "\"; each must have the form TENANT=BROKER");
            else
                pins_.emplace(pin.substr(0, equals), pin.substr(equals + 1));
        }
    }

    sdk::pick select(sdk::view v, sdk::message m)
    {
        learn(v);
        const auto own = m.has_key() ? own_.find(tenant_of(m.key())) : own_.end();
        // Health comes first: a healthy broker of somebody else's before an isolated one of the tenant's.
        for (const sdk::tier t : sdk::tiers_of(m)) {
            if (own != own_.end())
                if (const sdk::pick p = among(own->second, v, m, t, sdk::why::key); p.found())
                    return p;
            if (const sdk::pick p = among(shared_, v, m, t, own != own_.end() ? sdk::why::spill : sdk::why::rotation); p.found())
                return p;
            if (const sdk::pick p = among(any_, v, m, t, sdk::why::spill); p.found())
                return p;
        }
        return sdk::pick::no_queue();  // filters left nothing
    }

private:
    /// Queues that a rotation of their own goes round.
    struct place {
        std::vector<std::uint64_t> mask;
        sdk::cursor cursor;
    };

    [[nodiscard]] std::string_view tenant_of(std::string_view key) const
    {
        return separator_.empty() ? key : key.substr(0, key.find(separator_));
    }

    static sdk::pick among(place& p, sdk::view v, sdk::message m, sdk::tier t, sdk::why own)
    {
        return sdk::scan_tier(v, m, t, p.cursor, p.mask.data(), own);
    }

    /// Who may use which queues, worked out once for a route; rotations go on where they were.
    void learn(sdk::view v)
    {
        if (known_ && route_ == v.route_gen())
            return;
        const std::vector<std::uint64_t> nothing((v.size() + 63) / 64);
        const auto empty = [&](place& p) { p.mask = nothing; };
        empty(shared_), empty(any_);
        for (auto& [tenant, p] : own_)
            empty(p);
        for (const sdk::broker_view b : v.brokers()) {
            bool is_pinned = false;
            for (const auto& [tenant, broker] : pins_) {
                if (broker != b.name())
                    continue;
                is_pinned = true;
                place& p = own_.try_emplace(tenant, place{nothing, sdk::cursor{start_}}).first->second;
                sdk::queue_mask{p.mask}.add(b);
            }
            if (!is_pinned || !others_keep_off_)
                sdk::queue_mask{shared_.mask}.add(b);
            sdk::queue_mask{any_.mask}.add(b);
        }
        route_ = v.route_gen();
        known_ = true;
    }

    std::uint32_t start_;
    std::string separator_;
    bool others_keep_off_;
    std::multimap<std::string, std::string> pins_;
    std::map<std::string, place, std::less<>> own_;
    place shared_{{}, sdk::cursor{start_}}, any_{{}, sdk::cursor{start_}};
    std::uint64_t route_ = 0;
    bool known_ = false;
};

}  // namespace

SHUNT_PLUGIN("example.tenant-pin", "1.0.0", "Apache-2.0", tenant_pin);
