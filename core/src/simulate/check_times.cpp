// Goes through a scenario's route changes in order of time: is each possible when it is to happen?

#include <simulate/scenario.hpp>

#include <config/value.hpp>

#include <shunt/sdk/abi.h>

#include <fmt/format.h>

#include <map>

namespace shunt::simulate {

namespace {

class route_book {
public:
    route_book(const scenario& s, std::vector<config::problem>& problems) : problems_(problems)
    {
        for (const broker& b : s.brokers) {
            route_.emplace(b.name, writable{b.queues, b.perm});
            tell_size(b.where, "broker");
        }
    }

    void change(const route_step& r, const std::string& path)
    {
        for (std::size_t i = 0; i < r.remove.size(); ++i)
            if (route_.erase(r.remove[i].name) == 0)
                tell_missing(r.remove[i].name, r.remove[i].where, fmt::format("{}.remove[{}]", path, i));
        for (std::size_t i = 0; i < r.set.size(); ++i) {
            const auto at = route_.find(r.set[i].name);
            if (at == route_.end()) {
                tell_missing(r.set[i].name, r.set[i].where, fmt::format("{}.set[{}].name", path, i));
                continue;
            }
            at->second.queues = r.set[i].queues.value_or(at->second.queues);
            at->second.perm = r.set[i].perm.value_or(at->second.perm);
        }
        for (std::size_t i = 0; i < r.add.size(); ++i) {
            const broker& b = r.add[i];
            if (!route_.emplace(b.name, writable{b.queues, b.perm}).second)
                config::add_problem(problems_, b.where, fmt::format("{}.add[{}].name", path, i), config::in_marks(b.name),
                                    "a broker not in the route at that time", "'set' changes one that is");
        }
        if (!r.add.empty())
            tell_size(r.add.back().where, path);
        else if (!r.set.empty())
            tell_size(r.set.back().where, path);
    }

private:
    struct writable {
        std::uint32_t queues;
        std::int32_t perm;
    };

    void tell_missing(const std::string& name, const source_position& where, std::string key)
    {
        std::vector<std::string> names;
        for (const auto& [known, ignored] : route_)
            names.push_back(known);
        config::add_problem(problems_, where, std::move(key), config::in_marks(name), "a broker in the route at that time",
                            config::suggestion(name, names));
    }

    /// Once: what is too large stays too large.
    void tell_size(const source_position& where, std::string key)
    {
        std::uint64_t queues = 0;
        for (const auto& [name, w] : route_)
            queues += (w.perm & 2) != 0 ? w.queues : 0;
        if (too_large_ || queues <= SHUNT_MAX_QUEUES)
            return;
        too_large_ = true;
        config::add_problem(problems_, where, std::move(key), fmt::format("a route of {} writable queues", queues),
                            fmt::format("a route of at most {} at a time", SHUNT_MAX_QUEUES), "strategies are never shown more");
    }

    std::map<std::string, writable, std::less<>> route_;
    std::vector<config::problem>& problems_;
    bool too_large_ = false;
};

}  // namespace

void check_times(const scenario& s, std::vector<config::problem>& problems)
{
    route_book book(s, problems);
    for (const std::size_t i : in_order_of_time(s))
        if (const auto* r = std::get_if<route_step>(&s.steps[i].what))
            book.change(*r, path_of(s.steps[i], "route"));
}

}  // namespace shunt::simulate
