#include <route/order_conf.hpp>
#include <route/route.hpp>

#include <algorithm>
#include <tuple>

namespace shunt::route {
namespace {

bool by_name(const broker& a, const broker& b)
{
    return std::tie(a.name, a.cluster, a.addresses) < std::tie(b.name, b.cluster, b.addresses);
}

void sort_brokers(topic_route& r)
{
    std::sort(r.brokers.begin(), r.brokers.end(), by_name);
    const auto same_name = [&r](const broker& a, const broker& b) {
        if (a.name != b.name)
            return false;
        add_warning(r, "broker \"" + a.name + "\" is listed twice, in clusters \"" + a.cluster + "\" and \"" + b.cluster +
                    "\"; the first one is taken");
        return true;
    };
    r.brokers.erase(std::unique(r.brokers.begin(), r.brokers.end(), same_name), r.brokers.end());
}

// Names an order configuration or a mapping speaks of, but that have no entry as brokers. Their queues keep their place.
void add_missing_brokers(topic_route& r, const std::vector<std::string_view>& names)
{
    std::vector<std::string> missing;
    for (const auto name : names) {
        if (!name.empty() && r.find(name) == nullptr)
            missing.emplace_back(name);
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    for (const std::string& name : missing) {
        add_warning(r, "broker \"" + name + "\" has no address; its queues stay, but cannot be reached");
        r.brokers.emplace_back().name = name;
    }
    std::sort(r.brokers.begin(), r.brokers.end(), by_name);
}

std::uint32_t index_of(const topic_route& r, const broker& b)
{
    return static_cast<std::uint32_t>(&b - r.brokers.data());
}

void add_queues(topic_route& r, std::vector<queue>& out, const broker& b, std::int32_t count)
{
    const auto wanted = static_cast<std::size_t>(std::clamp(count, 0, max_queues_per_broker));
    const std::size_t added = std::min(wanted, max_queues - out.size());
    if (added < wanted)
        add_warning(r, "the route claims more than " + std::to_string(max_queues) + " queues; those beyond are left out");
    for (std::size_t i = 0; i < added; ++i)
        out.push_back({index_of(r, b), static_cast<std::int32_t>(i)});
}

void finish_logical(topic_route& r)
{
    add_missing_brokers(r, {r.logical_owners.begin(), r.logical_owners.end()});
    std::size_t unclaimed = 0;
    for (std::size_t i = 0; i < r.logical_owners.size(); ++i) {
        if (r.logical_owners[i].empty()) {
            ++unclaimed;
            continue;
        }
        r.publish.push_back({index_of(r, *r.find(r.logical_owners[i])), static_cast<std::int32_t>(i)});
    }
    if (unclaimed != 0)
        add_warning(r, std::to_string(unclaimed) + " of " + std::to_string(r.logical_owners.size()) +
                    " logical queues have no owner");
    r.subscribe = r.publish;
}

void finish_ordered(topic_route& r)
{
    r.ordered = true;
    const order_conf conf = read_order_conf(r.order_conf);
    if (!conf.warning.empty())
        add_warning(r, conf.warning);
    std::vector<std::string_view> names;
    for (const auto& part : conf.parts)
        names.push_back(part.broker);
    add_missing_brokers(r, names);
    for (const auto& part : conf.parts)  // by name, as the brokers are
        add_queues(r, r.publish, *r.find(part.broker), part.queues);
}

std::string quoted(std::string_view text) { return std::string{"\""}.append(text).append("\""); }

std::string perm_text(std::int32_t perm)
{
    const bool read = (perm & perm_read) != 0, write = (perm & perm_write) != 0;
    return read && write ? "read and write" : read ? "read only" : write ? "write only" : "no access";
}

std::string counts_text(const broker& b)
{
    return std::to_string(b.write_queues) + " to write, " + std::to_string(b.read_queues) + " to read";
}

std::string address_text(const std::string* address) { return address == nullptr ? "nowhere" : *address; }

void describe_broker(std::vector<std::string>& out, const broker& a, const broker& b)
{
    const std::string who = "broker " + quoted(a.name);
    const std::string *from = a.master(), *to = b.master();
    if (address_text(from) != address_text(to))
        out.push_back(who + (to == nullptr     ? " lost its master " + *from
                             : from == nullptr ? " has a master again: " + *to
                                               : " moved from " + *from + " to " + *to));
    else if (a.addresses != b.addresses)
        out.push_back(who + " has other replicas");
    if (a.cluster != b.cluster)
        out.push_back(who + " changed from cluster " + quoted(a.cluster) + " to " + quoted(b.cluster));
    if (a.has_queue_data != b.has_queue_data)
        out.push_back(who + (b.has_queue_data ? " now has queues of this topic" : " no longer has queues of this topic"));
    if (a.perm != b.perm)
        out.push_back(who + ": " + perm_text(a.perm) + " became " + perm_text(b.perm) + " (" + std::to_string(a.perm) +
                      " to " + std::to_string(b.perm) + ")");
    if (a.write_queues != b.write_queues || a.read_queues != b.read_queues)
        out.push_back(who + ": queues were " + counts_text(a) + ", now " + counts_text(b));
}

}  // namespace

void add_warning(topic_route& r, std::string text)
{
    constexpr std::size_t most = 16;
    if (r.warnings.size() > most || std::find(r.warnings.begin(), r.warnings.end(), text) != r.warnings.end())
        return;
    r.warnings.push_back(r.warnings.size() == most ? "there is more that is wrong with this route" : std::move(text));
}

const std::string* broker::master() const noexcept
{
    const auto it = addresses.find(0);
    return it == addresses.end() ? nullptr : &it->second;
}

bool topic_route::same_as(const topic_route& other) const noexcept
{
    return ordered == other.ordered && brokers == other.brokers && publish == other.publish &&
           subscribe == other.subscribe && logical_owners == other.logical_owners;
}

const broker* topic_route::find(std::string_view name) const noexcept
{
    const auto it = std::lower_bound(brokers.begin(), brokers.end(), name,
                                     [](const broker& b, std::string_view n) { return b.name < n; });
    return it != brokers.end() && it->name == name ? &*it : nullptr;
}

std::vector<std::string> describe_changes(const topic_route& before, const topic_route& after)
{
    std::vector<std::string> out;
    auto a = before.brokers.begin();
    auto b = after.brokers.begin();
    while (a != before.brokers.end() || b != after.brokers.end()) {
        if (b == after.brokers.end() || (a != before.brokers.end() && a->name < b->name)) {
            out.push_back("broker " + quoted(a->name) + " left");
            ++a;
        } else if (a == before.brokers.end() || b->name < a->name) {
            out.push_back("broker " + quoted(b->name) + " came at " + address_text(b->master()) + ", queues: " +
                          counts_text(*b));
            ++b;
        } else {
            describe_broker(out, *a, *b);
            ++a;
            ++b;
        }
    }
    if (before.ordered != after.ordered)
        out.push_back(after.ordered ? "an order configuration fixes the queues now" : "the order configuration is gone");
    else if (before.ordered && before.order_conf != after.order_conf)
        out.push_back("order configuration was " + quoted(before.order_conf) + ", now " + quoted(after.order_conf));
    if (before.logical_owners.size() != after.logical_owners.size())
        out.push_back("logical queues were " + std::to_string(before.logical_owners.size()) + ", now " +
                      std::to_string(after.logical_owners.size()));
    const std::size_t both = std::min(before.logical_owners.size(), after.logical_owners.size());
    for (std::size_t i = 0; i < both; ++i) {
        if (before.logical_owners[i] != after.logical_owners[i])
            out.push_back("logical queue " + std::to_string(i) + " moved from " + quoted(before.logical_owners[i]) +
                          " to " + quoted(after.logical_owners[i]));
    }
    return out;
}

topic_route from_template(std::string_view topic, const topic_route& default_topic, std::int32_t default_queues)
{
    topic_route r;
    r.topic = topic;
    r.brokers = default_topic.brokers;
    for (broker& b : r.brokers) {
        // As Java: the count of read queues decides both, since a created topic gets as many of either kind.
        b.read_queues = std::min(b.read_queues, std::max(default_queues, 0));
        b.write_queues = b.read_queues;
    }
    finish(r);
    return r;
}

void finish(topic_route& r)
{
    sort_brokers(r);
    r.publish.clear();
    r.subscribe.clear();
    if (!r.logical_owners.empty() && r.order_conf.empty()) {
        finish_logical(r);
        return;
    }
    if (!r.order_conf.empty())
        finish_ordered(r);
    for (const broker& b : r.brokers) {
        if (!b.has_queue_data)
            continue;
        if (r.order_conf.empty() && (b.perm & perm_write) != 0 && b.master() != nullptr)
            add_queues(r, r.publish, b, b.write_queues);
        if ((b.perm & perm_read) != 0)
            add_queues(r, r.subscribe, b, b.read_queues);
    }
}

void keep_last_owners(topic_route& now, const topic_route& before)
{
    bool changed = false;
    const std::size_t both = std::min(now.logical_owners.size(), before.logical_owners.size());
    for (std::size_t i = 0; i < both; ++i) {
        if (now.logical_owners[i].empty() && !before.logical_owners[i].empty()) {
            now.logical_owners[i] = before.logical_owners[i];
            changed = true;
        }
    }
    if (changed)
        finish(now);
}

}  // namespace shunt::route
