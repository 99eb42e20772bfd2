#include <strategy/view.hpp>

#include <strategy/host.hpp>

#include <algorithm>

namespace shunt::strategy {

broker_entry& broker_book::entry(std::string_view name)
{
    if (const auto it = by_name_.find(name); it != by_name_.end())
        return *it->second;
    auto made = std::make_unique<broker_entry>();
    broker_entry& entry = *made;
    const auto it = by_name_.emplace(std::string(name), std::move(made)).first;
    entry.id = static_cast<std::uint32_t>(by_id_.size());
    entry.name = keep_ != nullptr ? keep_(name) : std::string_view(it->first);  // a map's keys never move
    by_id_.push_back(&entry);
    return entry;
}

void broker_book::measured(broker_entry& b, std::int64_t latency_ns, std::int64_t now_ns) noexcept
{
    // Half of it is gone after about a second.
    constexpr std::int64_t step_ns = 100'000'000, fresh_ns = 1'000'000'000, max_steps = 100;
    if (now_ns - faded_at_ns_ >= step_ns) {
        const std::int64_t steps = std::min((now_ns - faded_at_ns_) / step_ns, max_steps);
        faded_at_ns_ = now_ns;
        for (broker_entry* other : by_id_) {
            std::int64_t ns = other->latency();
            if (ns == 0 || now_ns - other->measured_at_ns < fresh_ns)
                continue;
            for (std::int64_t i = 0; i < steps && ns > 1; ++i)
                ns -= ns / 16 + 1;
            other->set_latency(std::max<std::int64_t>(1, ns));
        }
    }
    b.measured(latency_ns, now_ns);
}

broker_entry* broker_book::find(std::uint32_t id) noexcept { return id < by_id_.size() ? by_id_[id] : nullptr; }

std::optional<std::uint32_t> route_view::find_queue(std::string_view broker, std::int32_t queue_id) const noexcept
{
    for (std::uint32_t q = 0; q < queues.size(); ++q) {
        if (queues[q].queue_id == static_cast<std::uint32_t>(queue_id) && broker_name(q) == broker)
            return q;
    }
    return std::nullopt;
}

std::string room_of(std::string_view broker, const facts_table& facts)
{
    if (const auto it = facts.find(broker); it != facts.end() && !it->second.room.empty())
        return it->second.room;
    const auto at = broker.find('@');
    return at == std::string_view::npos ? std::string{} : std::string(broker.substr(0, at));
}

namespace {

constexpr std::string_view stand_in = "__syslo__global__";  // as RocketMQ names what stands for a static topic's brokers

shunt_broker& add_broker(route_view& view, broker_entry& entry, const facts_table& facts)
{
    view.entries.push_back(&entry);
    shunt_broker& out = view.brokers.emplace_back();
    out.id = entry.id;
    out.name = to_str(entry.name);
    out.room = to_str(view.rooms.emplace_back(room_of(entry.name, facts)));
    const auto fact = facts.find(entry.name);
    out.weight = fact == facts.end() ? 1 : fact->second.weight;
    out.first_queue = static_cast<std::uint32_t>(view.queues.size());
    out.load = &entry.load;
    return out;
}

void end_broker(route_view& view)
{
    shunt_broker& b = view.brokers.back();
    b.n_queues = static_cast<std::uint32_t>(view.queues.size()) - b.first_queue;
    b.flags = b.n_queues != 0 ? SHUNT_BROKER_WRITABLE : 0;
}

}  // namespace

std::shared_ptr<const route_view> build_view(const route::topic_route& r, const facts_table& facts, broker_book& book,
                                             std::uint64_t route_gen, std::span<const std::string> put_aside)
{
    auto view = std::make_shared<route_view>();
    view->topic = r.topic;
    view->ordered = r.ordered;
    view->route_gen = route_gen;
    view->rooms.reserve(r.brokers.size() + 1);  // views point into the strings
    for (const route::broker& b : r.brokers) {
        const std::string* master = b.master();
        view->places.push_back({&book.entry(b.name), master != nullptr ? *master : std::string{}});
    }

    if (!r.logical_owners.empty()) {
        add_broker(*view, book.entry(stand_in), facts);
        for (const route::queue& q : r.publish) {
            if (view->queues.size() == SHUNT_MAX_QUEUES)
                break;
            view->queues.push_back({0, static_cast<std::uint32_t>(q.queue_id)});
            view->owners.push_back(view->places[q.broker].broker);
        }
        end_broker(*view);
        return view;
    }

    const auto aside = [&](const std::string& name) {
        return std::find(put_aside.begin(), put_aside.end(), name) != put_aside.end();
    };
    const bool heed_aside = std::any_of(r.publish.begin(), r.publish.end(),
                                        [&](const route::queue& q) { return !aside(r.brokers[q.broker].name); });
    auto next = r.publish.begin();
    for (std::size_t b = 0; b < r.brokers.size(); ++b) {
        const auto first = next;
        while (next != r.publish.end() && next->broker == b)
            ++next;
        if (r.brokers[b].master() == nullptr && !r.ordered)
            continue;
        add_broker(*view, *view->places[b].broker, facts);
        if (!heed_aside || !aside(r.brokers[b].name)) {
            for (auto q = first; q != next && view->queues.size() < SHUNT_MAX_QUEUES; ++q)
                view->queues.push_back({static_cast<std::uint32_t>(view->brokers.size() - 1), static_cast<std::uint32_t>(q->queue_id)});
        }
        end_broker(*view);
    }
    return view;
}

void expand_mask(const route_view& route, std::span<const std::uint64_t> by_broker, std::vector<std::uint64_t>& by_queue)
{
    by_queue.assign(words_for(route.queues.size()), 0);
    for (std::size_t b = 0; b < route.brokers.size(); ++b) {
        if ((by_broker[b / 64] >> (b % 64) & 1) == 0)
            continue;
        const shunt_broker& broker = route.brokers[b];
        for (std::uint32_t q = broker.first_queue; q < broker.first_queue + broker.n_queues; ++q)
            by_queue[q / 64] |= std::uint64_t{1} << (q % 64);
    }
}

}  // namespace shunt::strategy
