#include <client/route_cache.hpp>

#include <algorithm>
#include <utility>

namespace shunt::client {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t negative_ns = second_ns;              // an unknown topic is asked for at most so often
constexpr std::int64_t refresh_gap_ns = second_ns;           // and a known one, when failures call for it
constexpr std::int64_t idle_ns = 600 * second_ns;            // a topic not used for so long is not polled any more
constexpr std::int64_t gather_ns = second_ns;                // polls due within it are done together: fewer wake-ups
constexpr std::int64_t poll_timeout_ns = 3 * second_ns;
constexpr int unknown_before_forgotten = 10;                 // polls in a row in which every name server denied the topic

}  // namespace

route_cache::route_cache(net::links& l, name_servers& servers, route_settings settings, std::uint64_t seed,
                         std::function<void(const std::shared_ptr<const route::topic_route>&, const std::vector<std::string>&)> changed)
    : links_(l), servers_(servers), settings_(std::move(settings)), random_state_(seed), changed_(std::move(changed)), timer_(l.executor())
{
}

std::uint64_t route_cache::random() noexcept
{
    std::uint64_t z = (random_state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::shared_ptr<const route::topic_route> route_cache::find(const std::string& topic) const
{
    const auto it = entries_.find(topic);
    return it == entries_.end() ? nullptr : it->second->known;
}

errc route_cache::why_failed(const std::string& topic) const
{
    const auto it = entries_.find(topic);
    return it == entries_.end() ? errc::route_timeout : it->second->last_why;
}

std::chrono::milliseconds route_cache::age(const std::string& topic) const
{
    const auto it = entries_.find(topic);
    if (it == entries_.end() || it->second->known == nullptr)
        return std::chrono::milliseconds(0);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(links_.now_ns() - it->second->confirmed_ns));
}

void route_cache::used(const std::string& topic)
{
    const auto it = entries_.find(topic);
    if (it == entries_.end())
        return;
    it->second->used_ns = links_.now_ns();
    if (it->second->due_ns == INT64_MAX && it->second->known != nullptr)
        schedule(*it->second);
}

void route_cache::need(const std::string& topic, std::int64_t deadline_ns, waiter w)
{
    auto& slot = entries_[topic];
    if (slot == nullptr) {
        slot = std::make_unique<entry>();
        slot->topic = topic;
    }
    entry& e = *slot;
    e.used_ns = links_.now_ns();
    if (e.known != nullptr) {
        w(answer::known, {});
        return;
    }
    if (!e.asking && e.answered_ns != INT64_MIN && links_.now_ns() - e.answered_ns < negative_ns && e.last == answer::unknown_topic) {
        const std::string text = e.last_text;
        w(e.last, text);
        return;
    }
    e.waiting.push_back(std::move(w));
    if (!e.asking)
        ask(e, std::max(deadline_ns, links_.now_ns() + poll_timeout_ns), deadline_ns);
}

void route_cache::refresh(const std::string& topic, std::int64_t deadline_ns, waiter w)
{
    const auto it = entries_.find(topic);
    if (it == entries_.end()) {
        if (w)
            need(topic, deadline_ns, std::move(w));
        return;
    }
    entry& e = *it->second;
    if (!e.asking && e.asked_ns != INT64_MIN && links_.now_ns() - e.asked_ns < refresh_gap_ns) {
        if (e.known != nullptr && e.asked_ns + refresh_gap_ns < e.due_ns) {  // put off, not dropped
            e.due_ns = e.asked_ns + refresh_gap_ns;
            arm();
        }
        if (w)
            w(e.known != nullptr ? answer::known : e.last, e.last_text);
        return;
    }
    if (w)
        e.waiting.push_back(std::move(w));
    if (!e.asking)
        ask(e, links_.now_ns() + poll_timeout_ns, deadline_ns > links_.now_ns() ? deadline_ns : links_.now_ns() + poll_timeout_ns);
}

void route_cache::ask(entry& e, std::int64_t deadline_ns, std::int64_t wanted_ns)
{
    e.asking = true;
    e.asked_ns = links_.now_ns();
    ++queries_;
    servers_.route(e.topic, deadline_ns, wanted_ns, [this, topic = e.topic, deadline_ns, wanted_ns](const route_answer& a) {
        if (stopped_)
            return;
        switch (a.what) {
        case route_answer::kind::found: found(topic, a.body, false); break;
        case route_answer::kind::failed: done(topic, answer::failed, a.text, a.why); break;
        case route_answer::kind::unknown_topic: {
            const auto it = entries_.find(topic);
            const bool known = it != entries_.end() && it->second->known != nullptr;
            if (!known && settings_.auto_create && topic != settings_.default_topic)
                ask_default(topic, deadline_ns, wanted_ns);
            else
                done(topic, answer::unknown_topic, "no name server knows topic '" + topic + "'");
            break;
        }
        }
    });
}

void route_cache::ask_default(const std::string& topic, std::int64_t deadline_ns, std::int64_t wanted_ns)
{
    ++queries_;
    servers_.route(settings_.default_topic, deadline_ns, wanted_ns, [this, topic](const route_answer& a) {
        if (stopped_)
            return;
        if (a.what == route_answer::kind::found)
            found(topic, a.body, true);
        else if (a.what == route_answer::kind::failed)
            done(topic, answer::failed, a.text, a.why);
        else
            done(topic, answer::unknown_topic,
                 "no name server knows topic '" + topic + "', and none offers to create topics (" + settings_.default_topic + ")");
    });
}

void route_cache::found(const std::string& topic, const std::string& json, bool from_template)
{
    auto parsed = route::parse_route(from_template ? settings_.default_topic : topic, json);
    if (!parsed.route) {
        done(topic, answer::failed, "the name server's answer for topic '" + topic + "' cannot be read: " + parsed.error);
        return;
    }
    const auto it = entries_.find(topic);
    if (it == entries_.end())
        return;
    entry& e = *it->second;
    route::topic_route fresh = from_template ? route::from_template(topic, *parsed.route, settings_.default_topic_queues) : std::move(*parsed.route);
    if (e.known != nullptr)
        route::keep_last_owners(fresh, *e.known);
    for (const std::string& warning : fresh.warnings) {
        if (on_note && !e.noted)
            on_note("topic '" + topic + "': " + warning);
    }
    e.noted = !fresh.warnings.empty();
    e.unknown_answers = 0;
    e.confirmed_ns = links_.now_ns();
    const bool had_queues = e.known != nullptr && !e.known->publish.empty();
    if (had_queues && fresh.brokers.empty()) {
        // A name server that has just started knows the topic before it knows its brokers: what was good stays.
        done(topic, answer::known, {});
        return;
    }
    if (from_template && on_note)
        on_note("topic '" + topic + "' is not known yet; the brokers will create it from " + settings_.default_topic);
    if (e.known == nullptr || !e.known->same_as(fresh)) {
        const auto changes = e.known == nullptr ? std::vector<std::string>{} : route::describe_changes(*e.known, fresh);
        e.known = std::make_shared<const route::topic_route>(std::move(fresh));
        e.from_template = from_template;
        changed_(e.known, changes);
    }
    done(topic, answer::known, {});
}

void route_cache::done(const std::string& topic, answer a, std::string text, errc why)
{
    const auto it = entries_.find(topic);
    if (it == entries_.end())
        return;
    entry& e = *it->second;
    e.asking = false;
    e.answered_ns = links_.now_ns();
    e.last = a;
    e.last_text = text;
    e.last_why = why;
    if (a != answer::known && e.known != nullptr) {
        // An old route beats none: it stays until every name server has denied the topic again and again.
        if (a == answer::unknown_topic && !e.from_template && ++e.unknown_answers >= unknown_before_forgotten) {
            if (on_note)
                on_note("topic '" + topic + "' is gone: no name server has known it for a while");
            e.known.reset();
            auto empty = std::make_shared<route::topic_route>();
            empty->topic = topic;
            changed_(empty, {"the topic is gone"});
        } else {
            if (on_note && !e.noted)
                on_note("topic '" + topic + "' keeps its route: " + text);
            e.noted = true;
            a = answer::known;
        }
    }
    schedule(e);
    // Waiters may ask for this topic again, or for others.
    auto waiting = std::exchange(e.waiting, {});
    for (waiter& w : waiting)
        w(a, text);
    const auto again = entries_.find(topic);
    if (again != entries_.end() && again->second->known == nullptr && !again->second->asking && again->second->waiting.empty() &&
        entries_.size() > 1024) {
        // Many topics that do not exist: only as many are remembered as are needed to answer fast for a second.
        std::erase_if(entries_, [&](const auto& item) {
            const entry& other = *item.second;
            return other.known == nullptr && !other.asking && other.waiting.empty() && links_.now_ns() - other.answered_ns >= negative_ns;
        });
    }
}

void route_cache::schedule(entry& e)
{
    if (stopped_)
        return;
    if (e.known == nullptr || links_.now_ns() - e.used_ns > idle_ns) {
        e.due_ns = INT64_MAX;
        return;
    }
    // A topic that the brokers are just about to create is looked at sooner.
    const std::int64_t period = std::chrono::nanoseconds(settings_.refresh).count() / (e.from_template ? 10 : 1);
    const auto spread = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::max<std::int64_t>(1, period / 5)));
    e.due_ns = links_.now_ns() + period - period / 10 + spread;
    arm();
}

void route_cache::arm()
{
    std::int64_t next = INT64_MAX;
    for (const auto& [topic, e] : entries_) {
        if (!e->asking)  // its answer schedules it again; till then it would only wake us for nothing
            next = std::min(next, e->due_ns);
    }
    if (next == armed_for_ns_ || stopped_)
        return;
    armed_for_ns_ = next;
    if (next == INT64_MAX) {
        timer_.cancel();
        return;
    }
    timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next)));
    timer_.async_wait([this, keep = links_.lifetime.lock()](const boost::system::error_code& ec) {
        if (!ec && !stopped_)
            poll();
    });
}

void route_cache::poll()
{
    armed_for_ns_ = INT64_MAX;
    const std::int64_t now = links_.refresh();
    std::vector<std::string> due;
    for (auto& [topic, e] : entries_) {
        if (e->due_ns <= now + gather_ns && !e->asking) {
            e->due_ns = INT64_MAX;
            due.push_back(topic);
        }
    }
    for (const std::string& topic : due) {
        if (const auto it = entries_.find(topic); it != entries_.end() && !it->second->asking)
            ask(*it->second, now + poll_timeout_ns, now + poll_timeout_ns);
    }
    arm();
    links_.flush_all();
}

void route_cache::stop()
{
    stopped_ = true;
    timer_.cancel();
}

}  // namespace shunt::client
