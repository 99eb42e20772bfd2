#include <record/recording.hpp>

#include <config/names.hpp>
#include <config/problem.hpp>
#include <config/toml_text.hpp>

#include <shunt/sdk/abi.h>
#include <strategy/view.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace shunt::record {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::size_t max_threads = 64;  // of a scenario

std::string quoted(std::string_view text) { return config::to_toml(setting(config::printable(text))); }

/// `key = value`, the key quoted if it must be.
std::string entry(const std::string& key, const setting& value)
{
    std::string table = config::to_toml(setting(setting_table{{key, value}}));
    return table.substr(2, table.size() - 4);  // without the braces
}

std::string strategy_text(const strategy_options& s)
{
    std::string out = fmt::format("{{ use = {}", quoted(s.use));
    for (const auto& [key, value] : s.settings)
        out += ", " + entry(key, value);
    return out + " }";
}

std::string policy_text(const policy_options& p)
{
    std::string out = fmt::format("{{ selector = {}, fault = {}", strategy_text(p.selector), strategy_text(p.fault));
    for (const strategy_options& f : p.filters)
        out += (&f == p.filters.data() ? ", filters = [" : ", ") + strategy_text(f);
    out += p.filters.empty() ? "" : "]";
    if (p.ordered)
        out += ", ordered = true";
    constexpr std::string_view words[] = {"wait", "any", "fail"};
    return out + fmt::format(", when_no_queue = \"{}\" }}", words[static_cast<std::size_t>(p.when_no_queue)]);
}

/// Steps of a scenario, put in order of time; of those of one time: route, brokers, policy, sends.
class step_texts {
public:
    enum class kind : std::uint8_t { route, broker, policy, send };

    void add(std::int64_t time_ms, kind k, std::string lines) { all_.push_back({time_ms, k, std::move(lines)}); }

    [[nodiscard]] std::string text()
    {
        std::stable_sort(all_.begin(), all_.end(), [](const one& a, const one& b) { return std::pair(a.time_ms, a.what) < std::pair(b.time_ms, b.what); });
        std::string out;
        for (const one& s : all_)
            fmt::format_to(std::back_inserter(out), "\n[[at]]\ntime = \"{}ms\"\n{}", s.time_ms, s.lines);
        return out;
    }

private:
    struct one {
        std::int64_t time_ms;
        kind what;
        std::string lines;
    };
    std::vector<one> all_;
};

std::string behaviour_text(const stretch& s)
{
    switch (s.how) {
    case behaviour::refuse: return "refuse = true\n";
    case behaviour::hang: return "hang = true\n";
    case behaviour::drop: return "drop = true\n";
    case behaviour::answer: break;
    }
    return s.code == 0 ? "ok = true\n" : fmt::format("code = {}\n", s.code);
}

bool is_well(const stretch& s) noexcept { return s.how == behaviour::answer && s.code == 0; }

/// A stretch with the latency in force in it, whether it was measured there or before. At least 1 ms: in a time of whole milliseconds
/// a broker that takes none is never busy.
struct known_stretch : stretch {
    std::int64_t in_force_ms = 1;
};

std::vector<known_stretch> with_latencies(const std::vector<stretch>& all)
{
    std::vector<known_stretch> out;
    const auto first = std::find_if(all.begin(), all.end(), [](const stretch& s) { return s.latency_ms.has_value(); });
    std::int64_t latency = first == all.end() ? 1 : *first->latency_ms;
    for (const stretch& s : all) {
        latency = std::max<std::int64_t>(1, s.latency_ms.value_or(latency));
        out.push_back({s, latency});
    }
    return out;
}

/// The one in force at a time; what was seen first is taken to have been so before.
const known_stretch* in_force(const std::vector<known_stretch>& all, std::int64_t time_ms)
{
    const auto after = std::find_if(all.begin(), all.end(), [&](const known_stretch& s) { return s.time_ms > time_ms; });
    return all.empty() ? nullptr : &*(after == all.begin() ? after : std::prev(after));
}

}  // namespace

std::int64_t recording::ms_of(std::int64_t ns) const noexcept { return ns <= start_ns_ ? 0 : (ns - start_ns_) / ns_per_ms; }

// ---- what happened ----

recording::brokers recording::brokers_of(const route::topic_route& r, const std::map<std::string, broker_options, std::less<>>& facts)
{
    std::vector<std::uint32_t> writable(r.brokers.size());
    std::size_t total = 0;
    for (const route::queue& q : r.publish)
        writable[q.broker] += total++ < SHUNT_MAX_QUEUES ? 1 : 0;
    brokers out;
    for (std::size_t i = 0; i < r.brokers.size(); ++i) {
        const route::broker& b = r.brokers[i];
        const bool is_there = b.master() != nullptr || r.ordered || writable[i] != 0;
        if (!is_there || !b.has_queue_data)
            continue;
        broker& one = out[b.name];
        one.room = strategy::room_of(b.name, facts);
        const auto fact = facts.find(b.name);
        one.weight = fact == facts.end() ? 1 : fact->second.weight;
        one.perm = writable[i] != 0 ? (b.perm & 7) | route::perm_write : b.perm & 7 & ~route::perm_write;
        one.queues = writable[i] != 0 ? writable[i] : static_cast<std::uint32_t>(std::clamp(b.write_queues, 0, route::max_queues_per_broker));
    }
    return out;
}

void recording::set_route(std::int64_t now_ns, const route::topic_route& r, const std::map<std::string, broker_options, std::less<>>& facts)
{
    brokers fresh = brokers_of(r, facts);
    if (!now_) {
        if (!fresh.empty())
            first_ = now_ = std::move(fresh);
        return;
    }
    route_change change{.time_ms = ms_of(now_ns), .removed = {}, .set = {}, .added = {}};
    for (const auto& [name, b] : *now_)
        if (!fresh.contains(name))
            change.removed.push_back(name);
    for (const auto& [name, b] : fresh) {
        const auto before = now_->find(name);
        if (before == now_->end())
            change.added.emplace_back(name, b);
        else if (before->second != b)
            change.set.emplace_back(name, b);
    }
    const std::size_t rows = change.removed.size() + change.set.size() + change.added.size();
    if (rows == 0)
        return;
    if (lost_changes_ != 0 || route_rows_ + rows > max_route_rows) {
        ++lost_changes_;
        return;
    }
    route_rows_ += rows;
    now_ = std::move(fresh);
    changes_.push_back(std::move(change));
}

void recording::set_policy(std::int64_t now_ns, std::string_view name, const policy_options& p)
{
    policy_name_ = name;
    const std::int64_t time_ms = ms_of(now_ns);
    if (!policies_.empty() && policies_.back().first == time_ms && policies_.size() > 1)
        policies_.back().second = p;
    else if (policies_.size() < max_policies)
        policies_.emplace_back(time_ms, p);
    end_ms_ = std::max(end_ms_, time_ms);
}

void recording::attempt(const tried& t)
{
    const std::int64_t start_ms = ms_of(t.start_ns);
    end_ms_ = std::max(end_ms_, ms_of(t.start_ns + t.latency_ns));
    history_.add(t.broker, start_ms, t.how, t.code, std::max<std::int64_t>(0, t.latency_ns / ns_per_ms));
}

void recording::send(const sent& s)
{
    if (sends_++ == 0) {
        timeout_ms_ = std::max<std::int64_t>(1, s.timeout_ms);
        attempts_ = s.attempts;
    }
    other_limits_ += timeout_ms_ != s.timeout_ms || attempts_ != s.attempts ? 1 : 0;
    other_policy_ += s.policy != policy_name_ ? 1 : 0;
    oneway_ += s.oneway ? 1 : 0;
    by_function_ += s.by_function ? 1 : 0;
    ++outcomes_[(static_cast<std::size_t>(s.outcome) - 1) % outcomes_.size()];
    if (threads_.size() < max_threads)
        threads_.insert(s.thread);
    const std::int64_t start_ms = ms_of(s.start_ns);
    end_ms_ = std::max(end_ms_, start_ms);
    load_.add(start_ms, s.key, s.queue);
}

// ---- the scenario ----

std::string recording::text(const plugin_options& plugins)
{
    if (!first_ || policies_.empty())
        return {};
    std::string out = written(plugins);
    while (out.size() > max_text) {
        const bool less_load = load_.coarsen(), less_history = history_.coarsen();
        if (!less_load && !less_history)
            break;
        out = written(plugins);
    }
    return out;
}

/// What was sent and came of it, and what a scenario cannot say of it.
std::string recording::remarks() const
{
    std::string out;
    const auto say = [&](const std::string& text) { out += "# " + text + "\n"; };
    say(fmt::format("A live run, recorded: {} sends to topic {} in {} ms. `shunt simulate` runs it again, also by another policy.", sends_,
                    config::printable(topic_), end_ms_));
    say(fmt::format("What came of them: {} stored, {} not sent, {} unknown, {} rejected.", outcomes_[0], outcomes_[1], outcomes_[2], outcomes_[3]));
    std::string shares;
    for (const auto& [name, n] : history_.attempts())
        shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", config::printable(name), n);
    say("Attempts by broker: " + (shares.empty() ? "none" : shares) + ".");
    say(fmt::format("Sends begin when they began then, in pieces of {} ms. Latencies are medians; less than 1 ms is written as 1ms.", load_.width_ms()));
    const auto say_if = [&](std::uint64_t n, std::string_view what) {
        if (n != 0)
            say(fmt::format("{} {}", n, what));
    };
    say_if(load_.other_keys(), "sends had keys that are not kept (more than 1000 different ones, or no plain text): here each has a key of its own.");
    say_if(oneway_, "sends were one-way: here they are answered.");
    say_if(by_function_, "sends were decided by a function of the program: here by the policy.");
    say_if(other_policy_, fmt::format("sends named another policy than '{}': here all go by that.", policy_name_));
    say_if(other_limits_, "sends had another timeout or other attempts than the first: here all have its.");
    say_if(lost_changes_, "later changes of the route are not kept.");
    return out;
}

std::string recording::head() const
{
    std::string out = "\n[scenario]\n";
    if (config::is_topic(topic_))
        out += fmt::format("topic = {}\n", quoted(topic_));
    return out + fmt::format("timeout = \"{}ms\"\nattempts = {}\nthreads = {}\npolicy = {}\n", timeout_ms_, attempts_,
                             std::max<std::size_t>(1, threads_.size()), policy_text(policies_.front().second));
}

std::string recording::written(const plugin_options& plugins) const
{
    std::string out = remarks() + head();
    const auto facts = [](const std::string& name, const broker& b, std::int64_t latency_ms) {
        std::vector<std::string> keys{fmt::format("name = {}", quoted(name)), fmt::format("queues = {}", b.queues)};
        if (b.perm != 6)
            keys.push_back(fmt::format("perm = {}", b.perm));
        keys.push_back(fmt::format("latency = \"{}ms\"", latency_ms));
        if (!b.room.empty())
            keys.push_back(fmt::format("room = {}", quoted(b.room)));
        if (b.weight != 1)
            keys.push_back(fmt::format("weight = {}", b.weight));
        return keys;
    };
    std::map<std::string, std::vector<known_stretch>, std::less<>> known;
    const auto stretches_of = [&](const std::string& name) -> const std::vector<known_stretch>& {
        const auto [at, is_new] = known.try_emplace(name);
        if (is_new)
            at->second = with_latencies(history_.stretches(name));
        return at->second;
    };
    const auto latency_at = [&](const std::string& name, std::int64_t time_ms) {
        const known_stretch* s = in_force(stretches_of(name), time_ms);
        return s == nullptr ? 1 : s->in_force_ms;
    };
    step_texts steps;
    using kind = step_texts::kind;
    /// A broker that comes into the route is well: what it is like then is said again.
    const auto say_if_unwell = [&](const std::string& name, std::int64_t time_ms) {
        if (const known_stretch* s = in_force(stretches_of(name), time_ms); s != nullptr && !is_well(*s))
            steps.add(time_ms, kind::broker, fmt::format("broker = {}\n{}", quoted(name), behaviour_text(*s)));
    };

    for (const auto& [name, b] : *first_) {
        out += "\n[[broker]]\n" + fmt::format("{}\n", fmt::join(facts(name, b, latency_at(name, 0)), "\n"));
        say_if_unwell(name, 0);
    }
    for (const route_change& c : changes_) {
        std::vector<std::string> parts;
        std::vector<std::string> rows;
        for (const std::string& name : c.removed)
            rows.push_back(quoted(name));
        if (!rows.empty())
            parts.push_back(fmt::format("remove = [{}]", fmt::join(std::exchange(rows, {}), ", ")));
        for (const auto& [name, b] : c.set)
            rows.push_back(fmt::format("{{ name = {}, queues = {}, perm = {}, room = {}, weight = {} }}", quoted(name), b.queues, b.perm, quoted(b.room), b.weight));
        if (!rows.empty())
            parts.push_back(fmt::format("set = [{}]", fmt::join(std::exchange(rows, {}), ", ")));
        for (const auto& [name, b] : c.added) {
            rows.push_back(fmt::format("{{ {} }}", fmt::join(facts(name, b, latency_at(name, c.time_ms)), ", ")));
            say_if_unwell(name, c.time_ms);
        }
        if (!rows.empty())
            parts.push_back(fmt::format("add = [{}]", fmt::join(rows, ", ")));
        steps.add(c.time_ms, kind::route, fmt::format("route = {{ {} }}\n", fmt::join(parts, ", ")));
    }
    for (const auto& [name, all] : known) {
        for (std::size_t i = 1; i < all.size(); ++i) {
            const bool as_before = all[i].how == all[i - 1].how && all[i].code == all[i - 1].code;
            std::string lines = fmt::format("broker = {}\n", quoted(name));
            if (!as_before)
                lines += behaviour_text(all[i]);
            if (as_before || is_well(all[i]) || all[i].in_force_ms != all[i - 1].in_force_ms)
                lines += fmt::format("latency = \"{}ms\"\n", all[i].in_force_ms);
            steps.add(all[i].time_ms, kind::broker, std::move(lines));
        }
    }
    for (std::size_t i = 1; i < policies_.size(); ++i)
        steps.add(policies_[i].first, kind::policy, fmt::format("policy = {}\ncarry_state = true\n", policy_text(policies_[i].second)));
    std::size_t number = 0;
    for (const send_step& s : load_.steps()) {
        ++number;
        std::string lines = fmt::format("send = {}\n", s.count);
        if (s.count > 1)
            lines += s.every_ms != 0 ? fmt::format("every = \"{}ms\"\n", s.every_ms) : fmt::format("inflight = {}\n", s.count);
        if (s.kind->key)
            lines += fmt::format("key = {}\n", quoted(*s.kind->key));
        if (s.kind->other_key)
            lines += fmt::format("key = \"other-{}-{{i}}\"\n", number);
        if (s.kind->queue)
            lines += fmt::format("queue = {{ broker = {}, id = {} }}\n", quoted(s.kind->queue->first), s.kind->queue->second);
        steps.add(s.time_ms, kind::send, std::move(lines));
    }
    out += steps.text();

    if (!plugins.path.empty() || !plugins.load.empty()) {
        out += "\n[plugins]\n";
        if (!plugins.path.empty())
            out += entry("path", setting(setting_array(plugins.path.begin(), plugins.path.end()))) + "\n";
        for (const auto& [name, file] : plugins.load) {
            setting_table table{{"file", setting(file.file)}};
            if (!file.sha256.empty())
                table.emplace("sha256", setting(file.sha256));
            out += fmt::format("load.{}\n", entry(name, setting(table)));
        }
    }
    return out;
}

}  // namespace shunt::record
