#include <client/policy_table.hpp>

#include <client/names.hpp>
#include <config/load.hpp>
#include <wire/resource_name.hpp>

#include <utility>

namespace shunt::client {

assignment::~assignment()
{
    delete current.load(std::memory_order_relaxed);
    sets_.clear();
    pol->destroy_shared(*shared_);
}

strategy::selector_set* assignment::set_of(const thread_slot& thread, std::uint32_t start, std::string& error)
{
    {
        const std::lock_guard lock(lock_);
        if (const auto it = sets_.find(&thread); it != sets_.end())
            return it->second.get();
    }
    auto made = pol->make_set(start, *shared_, error);  // the plugin's code: not under the lock
    if (made == nullptr)
        return nullptr;
    const std::lock_guard lock(lock_);
    return sets_.emplace(&thread, std::move(made)).first->second.get();
}

const std::shared_ptr<strategy::policy>& policy_table::policy_for(std::string_view topic, std::string_view named) const
{
    std::string own;  // bindings name topics without their namespace
    if (named.empty() && !options.namespace_v1.empty())
        topic = own = wire::without_namespace(options.namespace_v1, topic);
    const std::string_view name = named.empty() ? config::policy_of(options, topic).policy : named;
    const auto it = policies.find(name);
    return it == policies.end() ? policies.find("default")->second : it->second;
}

std::uint64_t policy_table::errors() const noexcept
{
    std::uint64_t n = 0;
    for (const auto& [name, pol] : policies)
        n += pol->plugin_errors.load(std::memory_order_relaxed) + pol->verdicts().errors();
    return n;
}

assignment* policy_table::find(const target& t) const
{
    const std::shared_lock lock(lock_);
    const auto it = assignments_.find(&t);
    return it == assignments_.end() ? nullptr : it->second.get();
}

std::vector<assignment*> policy_table::assignments() const
{
    std::vector<assignment*> all;
    const std::shared_lock lock(lock_);
    all.reserve(assignments_.size());
    for (const auto& [t, a] : assignments_)
        all.push_back(a.get());
    return all;
}

assignment& policy_table::assign(target& t)
{
    if (const auto it = assignments_.find(&t); it != assignments_.end())
        return *it->second;
    const auto& pol = policy_for(t.topic, t.policy);
    auto made = std::make_unique<assignment>(t, pol, keep_name(pol->name()));
    const std::unique_lock lock(lock_);
    return *assignments_.emplace(&t, std::move(made)).first->second;
}

}  // namespace shunt::client
