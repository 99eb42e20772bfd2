// Keeps to brokers of the wanted rooms; when none of them will do it spills over, room by room, then to anybody.
//
// Health goes before room, room before rotation: an isolated broker of a wanted room is not better than a healthy one
// elsewhere. It is a selector, and a filter for other selectors.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

#include <set>

namespace {

namespace sdk = shunt::sdk;

bool blank(std::string_view s) noexcept { return s.find_first_not_of(" \t\r\n") == std::string_view::npos; }

class machine_room {
public:
    static constexpr std::string_view name = "machine-room";
    static constexpr std::string_view summary = "keeps to wanted rooms, spills over in a stated order";
    static constexpr sdk::param params[] = {
        {.name = "rooms", .array = true, .min_count = 1, .required = true, .help = "the wanted rooms, all alike; compared byte by byte"},
        {.name = "spill", .array = true, .default_text = "[]", .help = "rooms to spill to, in this order; after them comes anybody"},
    };

    machine_room(const sdk::settings& s, sdk::instance i) : cursor_(i.start)
    {
        const auto rooms = s.get<std::vector<std::string>>("rooms");
        const auto spill = s.get<std::vector<std::string>>("spill");
        std::set<std::string_view> seen;
        for (const auto* list : {&rooms, &spill})
            for (const std::string& room : *list) {
                if (blank(room))
                    s.refuse("a room in rooms and spill must not be blank");
                else if (!seen.insert(room).second)
                    s.refuse("room \"" + room + "\" stands twice in rooms and spill; each room may stand once");
            }
        wanted_.push_back(rooms);
        for (const std::string& room : spill)
            wanted_.push_back({room});
    }

    sdk::pick select(sdk::view v, sdk::message m)
    {
        learn(v);
        for (const sdk::tier t : sdk::tiers_of(m))
            for (std::size_t l = 0; l < levels_.size(); ++l)
                if (const auto p = sdk::scan_tier(v, m, t, cursor_, levels_[l].data(), l == 0 ? sdk::why::room : sdk::why::spill); p.found())
                    return p;
        return sdk::pick::no_queue();
    }

    bool filter(sdk::view v, sdk::message, std::uint32_t level, sdk::queue_mask out)
    {
        learn(v);
        if (level >= levels_.size())
            return false;
        std::ranges::copy(levels_[level], out.words().begin());
        return true;
    }

private:
    /// The queues of each level, worked out once for a route: wanted rooms, each room to spill to, all the rest.
    void learn(sdk::view v)
    {
        if (known_route_ == v.route_gen() && !levels_.empty())
            return;
        levels_.assign(wanted_.size() + 1, std::vector<std::uint64_t>((v.size() + 63) / 64));
        for (const sdk::broker_view b : v.brokers())
            sdk::queue_mask{levels_[level_of(b.room())]}.add(b);
        known_route_ = v.route_gen();
    }

    [[nodiscard]] std::size_t level_of(std::string_view room) const
    {
        const auto at = std::ranges::find_if(wanted_, [&](const auto& rooms) { return std::ranges::find(rooms, room) != rooms.end(); });
        return static_cast<std::size_t>(at - wanted_.begin());
    }

    std::vector<std::vector<std::string>> wanted_;  // level 0: rooms; then one level for each room of spill
    std::vector<std::vector<std::uint64_t>> levels_;
    std::uint64_t known_route_ = 0;
    sdk::cursor cursor_;
};

}  // namespace

SHUNT_PLUGIN("shunt.machine-room", "1.0.0", "Apache-2.0", machine_room);
