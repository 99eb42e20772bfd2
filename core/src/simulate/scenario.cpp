#include <simulate/scenario.hpp>

#include <config/load.hpp>
#include <config/names.hpp>
#include <config/tables.hpp>
#include <config/toml_text.hpp>
#include <config/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace shunt::simulate {

namespace {

using config::add_problem;
using config::presence;
using config::problem;
using config::table_reader;
using std::chrono::milliseconds;

// ---- rules ----

constexpr std::int64_t any_i64 = std::numeric_limits<std::int64_t>::max();

const config::whole_number seed_rule{0, any_i64}, attempts_rule{1, 16}, threads_rule{1, 64}, cursor_rule{0, 2147483647};
const config::whole_number queues_rule{0, 65535}, perm_rule{0, 7}, weight_rule{0, 1'000'000}, code_rule{0, 32767};
const config::whole_number count_rule{1, 1'000'000}, inflight_rule{1, any_i64}, queue_id_rule{0, 2147483647};
const config::duration from_zero{milliseconds(0), milliseconds(max_time_ms)};
const config::duration above_zero{milliseconds(1), milliseconds(max_time_ms)};

/// A key that says something by being there: it may only be true.
struct only_true {
    using value = bool;
    [[nodiscard]] std::string expected() const { return "true"; }
    [[nodiscard]] bool fits(bool v) const { return v; }
    [[nodiscard]] std::string show(bool v) const { return v ? "true" : "false"; }
    [[nodiscard]] std::optional<bool> read(const setting& v) const { return config::flag{}.read(v); }
    [[nodiscard]] std::string hint(const setting& v) const
    {
        const bool* given = v.as<bool>();
        return given != nullptr ? "leave the key out instead" : config::flag{}.hint(v);
    }
};

bool is_any_text(std::string_view) noexcept { return true; }
bool is_not_empty(std::string_view text) noexcept { return !text.empty(); }
bool is_scenario_topic(std::string_view text) noexcept { return config::is_topic(text); }

const config::plain_text text_rule{is_any_text, "text"};
const config::plain_text name_rule{is_not_empty, "a broker's name, not empty"};
const config::plain_text topic_rule{is_scenario_topic, "a topic: 1 to 127 of A-Z a-z 0-9 _ - % |"};

/// Reads a key that may be absent into an optional.
template <typename Rule, typename T>
void read_optional(table_reader& reader, std::string_view key, const Rule& rule, std::optional<T>& out)
{
    const setting* found = reader.find(key);
    if (found == nullptr)
        return;
    auto value = config::read(*found, reader.path_of(key), rule, reader.problems());
    if (!value)
        return;
    if constexpr (std::same_as<Rule, config::duration>)
        out = value->count();
    else
        out = static_cast<T>(*std::move(value));
}

/// Reads a duration in milliseconds.
void read_ms(table_reader& reader, std::string_view key, const config::duration& rule, std::int64_t& out)
{
    std::optional<std::int64_t> value;
    read_optional(reader, key, rule, value);
    out = value.value_or(out);
}

template <typename Rule, typename T>
bool read_required(table_reader& reader, std::string_view key, const Rule& rule, T& out)
{
    const setting* found = reader.require(key, rule.expected());
    if (found == nullptr)
        return false;
    auto value = config::read(*found, reader.path_of(key), rule, reader.problems());
    if (!value)
        return false;
    if constexpr (std::same_as<Rule, config::duration>)
        out = value->count();
    else
        out = static_cast<T>(*std::move(value));
    return true;
}

// ---- the file ----

class reader {
public:
    reader(const setting& root, std::string folder, scenario& out, std::vector<problem>& problems)
        : root_(root, "", problems), folder_(std::move(folder)), out_(out), problems_(problems)
    {
    }

    void run()
    {
        read_head();
        read_brokers();
        read_steps();
        if (const setting* plugins = root_.find("plugins"))
            out_.plugins = config::plugins_from(*plugins, folder_, problems_);
        (void)root_.finish();
        check_broker_steps();
    }

private:
    void read_head()
    {
        const setting* table = root_.require("scenario", "a table [scenario] with a policy");
        if (table == nullptr)
            return;
        table_reader head(*table, "scenario", problems_);
        (void)head.read("topic", topic_rule, out_.topic);
        (void)head.read("seed", seed_rule, out_.seed);
        (void)head.read("attempts", attempts_rule, out_.attempts);
        threads_known_ = head.read("threads", threads_rule, out_.threads) != presence::wrong;
        read_ms(head, "timeout", above_zero, out_.timeout_ms);
        (void)head.read("cursor", cursor_rule, out_.cursor);
        if (const setting* policy = head.require("policy", "a policy: { selector = { use = \"NAME\" }, fault = { use = \"NAME\" } }"))
            out_.policy = read_policy(*policy, head.path_of("policy"));
        (void)head.finish();
    }

    policy_options read_policy(const setting& table, const std::string& path)
    {
        static constexpr config::policy_rules rules{
            .both_required = true, .key_from_allowed = false, .when_no_queue = when_no_queue::fail};
        return config::policy_from(table, path, rules, problems_);
    }

    // ---- brokers ----

    broker read_broker(const setting& table, const std::string& path, bool& named)
    {
        table_reader r(table, path, problems_);
        broker b;
        b.where = table.where;
        named = read_required(r, "name", name_rule, b.name);
        (void)read_required(r, "queues", queues_rule, b.queues);
        (void)r.read("perm", perm_rule, b.perm);
        read_ms(r, "latency", from_zero, b.latency_ms);
        (void)r.read("room", text_rule, b.room);
        (void)r.read("weight", weight_rule, b.weight);
        (void)r.finish();
        return b;
    }

    void read_brokers()
    {
        static constexpr std::string_view expected = "one or more tables [[broker]]";
        if (root_.require("broker", std::string(expected)) == nullptr)
            return;
        const setting_array* list = root_.find_array("broker", expected);
        if (list == nullptr)
            return;
        if (list->empty())
            add_problem(problems_, root_.find("broker")->where, "broker", "an empty array", std::string(expected));
        std::map<std::string, source_position, std::less<>> before;
        for (std::size_t i = 0; i < list->size(); ++i) {
            const std::string path = fmt::format("broker[{}]", i);
            bool named = false;
            broker b = read_broker((*list)[i], path, named);
            if (!named)
                continue;
            known_.insert(b.name);
            const auto [first, is_new] = before.emplace(b.name, b.where);
            if (is_new)
                out_.brokers.push_back(std::move(b));
            else
                add_problem(problems_, b.where, path + ".name", config::in_marks(b.name), "a broker not named before",
                            fmt::format("line {} has it", first->second.line));
        }
    }

    // ---- steps ----

    void read_steps()
    {
        const setting_array* list = root_.find_array("at", "an array of tables: [[at]]");
        if (list == nullptr)
            return;
        for (std::size_t i = 0; i < list->size(); ++i)
            read_step((*list)[i], i);
    }

    void read_step(const setting& table, std::size_t index)
    {
        const std::string path = fmt::format("at[{}]", index);
        table_reader r(table, path, problems_);
        if (!r.present())
            return;
        step s;
        s.index = index;
        (void)read_required(r, "time", from_zero, s.time_ms);

        static constexpr std::string_view words[] = {"send", "broker", "route", "policy"};
        std::vector<std::string> kinds;
        for (const std::string_view word : words)
            if (r.find(word) != nullptr)
                kinds.push_back(fmt::format("'{}'", word));
        if (kinds.size() != 1) {
            add_problem(problems_, table.where, path, kinds.empty() ? "a step that does nothing" : fmt::format("a step with {}", config::listed(kinds)),
                        "a step with one of 'send', 'broker', 'route' and 'policy'",
                        kinds.empty() ? "" : "make a step of its own of each");
            if (kinds.empty())
                (void)r.finish();
            return;
        }
        if (r.find("send") != nullptr)
            s.what = read_send(r, s);
        else if (r.find("broker") != nullptr)
            s.what = read_broker_step(r);
        else if (const setting* route = r.find("route"))
            s.what = read_route(*route, r.path_of("route"));
        else
            s.what = read_policy_step(r);
        (void)r.finish();
        out_.steps.push_back(std::move(s));
    }

    send_step read_send(table_reader& r, const step& s)
    {
        send_step out;
        (void)read_required(r, "send", count_rule, out.count);
        read_optional(r, "every", above_zero, out.every_ms);
        (void)r.read("inflight", inflight_rule, out.inflight);
        if (const setting* both = r.find("inflight"); both != nullptr && r.find("every") != nullptr)
            add_problem(problems_, both->where, r.path_of("inflight"), "given beside 'every'", "left out, or 'every' must be",
                        "with 'every' sends start by the clock, however many are under way");
        read_optional(r, "key", text_rule, out.key);
        const config::whole_number thread_rule{0, (threads_known_ ? std::int64_t{out_.threads} : threads_rule.max) - 1};
        read_optional(r, "thread", thread_rule, out.thread);
        if (const setting* queue = r.find("queue")) {
            table_reader q(*queue, r.path_of("queue"), problems_);
            queue_name name;
            (void)read_required(q, "broker", name_rule, name.broker);
            (void)read_required(q, "id", queue_id_rule, name.id);
            (void)q.finish();
            out.queue = std::move(name);
        }
        const auto gaps = static_cast<std::int64_t>(out.count - 1);
        if (out.every_ms && gaps > (max_time_ms - s.time_ms) / *out.every_ms)
            add_problem(problems_, r.find("every")->where, r.path_of("every"), config::shown(*r.find("every")),
                        fmt::format("so short that {} sends end within {}h", out.count, max_time_ms / 3'600'000));
        return out;
    }

    broker_step read_broker_step(table_reader& r)
    {
        broker_step out;
        (void)read_required(r, "broker", name_rule, out.name);
        out.name_where = r.find("broker")->where;
        read_optional(r, "latency", from_zero, out.latency_ms);

        std::vector<std::string> said;
        if (r.find("code") != nullptr) {
            said.emplace_back("'code'");
            if (r.read("code", code_rule, out.code) == presence::right)
                out.how = behaviour::answer;
        }
        const auto word = [&](std::string_view key, behaviour how) {
            bool yes = true;
            if (r.find(key) == nullptr)
                return false;
            said.push_back(fmt::format("'{}'", key));
            if (r.read(key, only_true{}, yes) == presence::right)
                out.how = how;
            return true;
        };
        (void)word("refuse", behaviour::refuse);
        (void)word("hang", behaviour::hang);
        (void)word("drop", behaviour::drop);
        out.ok = word("ok", behaviour::answer);
        if (said.size() > 1)
            add_problem(problems_, r.where(), r.path(), fmt::format("a step with {}", config::listed(said)),
                        "a step with at most one of 'code', 'refuse', 'hang', 'drop' and 'ok'");
        else if (said.empty() && r.find("latency") == nullptr)
            add_problem(problems_, r.where(), r.path(), "a step that changes nothing of the broker",
                        "a step with 'latency', 'code', 'refuse', 'hang', 'drop' or 'ok'");
        return out;
    }

    route_step read_route(const setting& table, const std::string& path)
    {
        table_reader r(table, path, problems_);
        route_step out;
        if (const setting_array* names = r.find_array("remove", "an array of brokers' names"))
            for (std::size_t i = 0; i < names->size(); ++i)
                if (auto name = config::read((*names)[i], fmt::format("{}.remove[{}]", path, i), name_rule, problems_))
                    out.remove.push_back({*std::move(name), (*names)[i].where});
        if (const setting_array* changes = r.find_array("set", "an array of tables that name brokers"))
            for (std::size_t i = 0; i < changes->size(); ++i)
                out.set.push_back(read_change((*changes)[i], fmt::format("{}.set[{}]", path, i)));
        if (const setting_array* brokers = r.find_array("add", "an array of brokers' tables"))
            for (std::size_t i = 0; i < brokers->size(); ++i) {
                bool named = false;
                broker b = read_broker((*brokers)[i], fmt::format("{}.add[{}]", path, i), named);
                if (!named)
                    continue;
                known_.insert(b.name);
                out.add.push_back(std::move(b));
            }
        (void)r.finish();
        return out;
    }

    broker_change read_change(const setting& table, const std::string& path)
    {
        table_reader r(table, path, problems_);
        broker_change out;
        out.where = table.where;
        (void)read_required(r, "name", name_rule, out.name);
        read_optional(r, "queues", queues_rule, out.queues);
        read_optional(r, "perm", perm_rule, out.perm);
        read_optional(r, "room", text_rule, out.room);
        read_optional(r, "weight", weight_rule, out.weight);
        (void)r.finish();
        return out;
    }

    policy_step read_policy_step(table_reader& r)
    {
        policy_step out;
        out.policy = read_policy(*r.find("policy"), r.path_of("policy"));
        (void)r.read("carry_state", config::flag{}, out.carry_state);
        return out;
    }

    /// Brokers may be named before the step that adds them, so this comes last.
    void check_broker_steps()
    {
        const std::vector<std::string> names(known_.begin(), known_.end());
        for (const step& s : out_.steps) {
            const auto* b = std::get_if<broker_step>(&s.what);
            if (b != nullptr && !b->name.empty() && known_.count(b->name) == 0)
                add_problem(problems_, b->name_where, path_of(s, "broker"), config::in_marks(b->name),
                            "a broker of some [[broker]] or of a route step's 'add'", config::suggestion(b->name, names));
        }
    }

    table_reader root_;
    std::string folder_;
    scenario& out_;
    std::vector<problem>& problems_;
    std::set<std::string, std::less<>> known_;  ///< all brokers of the file
    bool threads_known_ = true;
};

}  // namespace

scenario read_scenario(const setting& root, const std::string& file, const std::string& folder, std::vector<problem>& problems)
{
    scenario out;
    out.file = file;
    std::vector<problem> found;
    reader(root, folder, out, found).run();
    if (found.empty())
        check_times(out, found);
    config::sort_by_place(found);
    problems.insert(problems.end(), found.begin(), found.end());
    return out;
}

scenario read_scenario(std::string_view text, const std::string& file, std::vector<problem>& problems)
{
    const std::size_t before = problems.size();
    const setting root = config::parse_toml(text, file, problems);
    if (problems.size() != before)
        return {};
    return read_scenario(root, file, std::filesystem::path(file).parent_path().string(), problems);
}

void check_strategies(const scenario& s, plugin::registry& registry, std::vector<problem>& problems)
{
    // Checked by the rules for policies of a producer, of which each has a name: here the place where it stands.
    producer_options all;
    all.plugins = s.plugins;
    all.policies.emplace("scenario.policy", s.policy);
    for (const step& one : s.steps)
        if (const auto* p = std::get_if<policy_step>(&one.what))
            all.policies.emplace(path_of(one, "policy"), p->policy);
    std::vector<problem> found;
    config::check_strategies(all, registry, found);
    static constexpr std::string_view prefix = "policies.";
    for (problem& p : found)
        if (p.key.starts_with(prefix))
            p.key.erase(0, prefix.size());
    problems.insert(problems.end(), found.begin(), found.end());
}

std::vector<std::size_t> in_order_of_time(const scenario& s)
{
    std::vector<std::size_t> order(s.steps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return s.steps[a].time_ms < s.steps[b].time_ms; });
    return order;
}

std::string path_of(const step& s, std::string_view key) { return fmt::format("at[{}].{}", s.index, key); }

}  // namespace shunt::simulate
