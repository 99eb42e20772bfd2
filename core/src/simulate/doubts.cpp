#include <simulate/doubts.hpp>

#include <config/value.hpp>

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>

namespace shunt::simulate {

namespace {

class room_check {
public:
    room_check(const scenario& s, std::vector<config::problem>& problems) : problems_(problems)
    {
        for (const broker& b : s.brokers)
            add(b.room);
        for (const step& one : s.steps)
            if (const auto* r = std::get_if<route_step>(&one.what)) {
                for (const broker& b : r->add)
                    add(b.room);
                for (const broker_change& change : r->set)
                    add(change.room.value_or(""));
            }
    }

    void check(const policy_options& policy, const std::string& path)
    {
        check(policy.selector, path + ".selector");
        for (std::size_t i = 0; i < policy.filters.size(); ++i)
            check(policy.filters[i], fmt::format("{}.filters[{}]", path, i));
    }

private:
    void add(const std::string& room)
    {
        if (!room.empty())
            rooms_.insert(room);
    }

    void check(const strategy_options& strategy, const std::string& path)
    {
        if (strategy.use != "machine-room")
            return;
        for (const std::string_view key : {"rooms", "spill"}) {
            const auto found = strategy.settings.find(key);
            const auto* names = found == strategy.settings.end() ? nullptr : found->second.as<setting_array>();
            for (std::size_t i = 0; names != nullptr && i < names->size(); ++i)
                if (const auto* room = (*names)[i].as<std::string>(); room != nullptr && rooms_.count(*room) == 0)
                    config::add_problem(problems_, (*names)[i].where, fmt::format("{}.{}[{}]", path, key, i), config::in_marks(*room),
                                        "a room that some broker is in",
                                        config::suggestion(*room, std::vector<std::string>(rooms_.begin(), rooms_.end())));
        }
    }

    std::set<std::string> rooms_;
    std::vector<config::problem>& problems_;
};

}  // namespace

std::vector<config::problem> doubts(const scenario& s)
{
    std::vector<config::problem> found;
    room_check rooms(s, found);
    rooms.check(s.policy, "scenario.policy");
    for (const step& one : s.steps)
        if (const auto* p = std::get_if<policy_step>(&one.what))
            rooms.check(p->policy, path_of(one, "policy"));
    config::sort_by_place(found);
    return found;
}

}  // namespace shunt::simulate
