// Policy tables: how they are made, put in force by one exchange of a pointer, and let go when nobody can look at them.

#include <client/core.hpp>

#include <client/statistics.hpp>
#include <config/load.hpp>
#include <plugin/image.hpp>
#include <plugin/preflight.hpp>
#include <swap/plan.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace shunt::client {

namespace {

constexpr std::size_t max_past = 64;  // policies that are gone and counted by their names

bool same_facts(const strategy::facts_table& a, const strategy::facts_table& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.first == y.first && x.second.room == y.second.room && x.second.weight == y.second.weight;
    });
}

/// Tries the files of strategies that do not come with shunt in a process of their own, each content once. Empty: all is well.
std::string preflight_plugins(const producer_options& options, const plugin::registry& registry)
{
    static std::mutex lock;
    static std::set<std::string> sound;  // by sha256
    std::set<std::string> files;
    const auto known = registry.known();
    const auto add = [&](strategy::strategy_kind kind, const strategy_options& wanted) {
        for (const plugin::known_strategy& k : known) {
            if (k.kind == kind && k.name == wanted.use && k.origin == strategy::strategy_origin::file)
                files.insert(k.file);
        }
    };
    for (const auto& [name, policy] : options.policies) {
        add(strategy::strategy_kind::selector, policy.selector);
        add(strategy::strategy_kind::fault, policy.fault);
        for (const strategy_options& filter : policy.filters)
            add(strategy::strategy_kind::selector, filter);
    }
    std::string problems;
    for (const std::string& file : files) {
        plugin::file_content content;
        if (plugin::read_file(file, plugin::path_rules::strict, content))
            continue;  // loading it says why
        {
            const std::lock_guard held(lock);
            if (sound.contains(content.sha256))
                continue;
        }
        plugin::preflight_limits limits;
        limits.time = std::min(limits.time, options.swap.admit * 3 / 4);  // so that it, and not the deadline, says what hangs
        const plugin::preflight_result tried = plugin::preflight(file, limits);
        for (const plugin::preflight_problem& p : tried.problems)
            problems += (problems.empty() ? "" : "\n") + p.text;
        if (!tried.ran)
            problems += "; or leave it out with [swap] preflight = \"off\"";
        if (tried.ok()) {
            const std::lock_guard held(lock);
            sound.insert(content.sha256);
        }
    }
    return problems;
}

}  // namespace

std::shared_ptr<policy_table> core::build_table(producer_options options, bool preflight, std::string& problems)
{
    if (!options.policies.contains("default"))
        options.policies.emplace("default", policy_options{});
    std::vector<config::problem> bad = config::check_options(options);
    auto table = std::make_shared<policy_table>();
    table->registry = std::make_unique<plugin::registry>(options.plugins, plugin::bundled_folder());
    if (bad.empty() && preflight)
        problems = preflight_plugins(options, *table->registry);
    if (!problems.empty())
        return nullptr;
    if (bad.empty())
        config::check_strategies(options, *table->registry, bad);
    if (!bad.empty()) {
        problems = config::lines(bad);
        return nullptr;
    }
    const strategy::class_finder find = [&](strategy::strategy_kind kind, std::string_view name, std::string& error) {
        plugin::load_error refused;
        auto cls = table->registry->find(kind, name, refused);
        error = refused.text;
        return cls;
    };
    std::vector<strategy::setting_problem> refusals;
    for (const auto& [name, wanted] : options.policies) {
        const auto start = static_cast<std::uint32_t>(random()) & 0x7fffffff;
        if (auto pol = strategy::policy::make(name, wanted, find, *this, start, refusals))
            table->policies.emplace(name, std::move(pol));
    }
    if (!refusals.empty()) {
        for (const auto& r : refusals)
            config::add_problem(bad, r.where, r.key, r.found, r.expected, r.hint);
        problems = config::lines(bad);
        return nullptr;
    }
    for (const std::string& warning : table->registry->warnings())
        note(observe::level::warn, warning);
    config::warn_of_strategies(options, *table->registry, bad);  // there were no problems
    for (const config::problem& warning : bad)
        note(observe::level::warn, config::to_string(warning));
    table->facts = std::make_shared<const strategy::facts_table>(options.brokers);
    table->options = std::move(options);
    return table;
}

/// The first table of a producer; nothing runs yet.
void core::start_with(const std::shared_ptr<policy_table>& table)
{
    auto first = std::make_shared<swap_record>();
    first->status.what = table->options.file;
    first->status.generation = 1;
    {
        const std::lock_guard lock(tables_lock_);
        swaps_.push_back(first);
    }
    take_in(table);
    first->table = table->id;
    current_ = table;
    table->generation = next_generation_++;
    step(*first, swap_state::in_force);
    in_force_.store(new in_force{.generation = 1, .table = table.get()}, std::memory_order_seq_cst);
    limit_room(table->options);
}

/// A table that was made comes to know every target, and what the strategies in force know.
void core::take_in(const std::shared_ptr<policy_table>& table)
{
    table->id = next_table_++;
    for (const auto& other : tables_) {
        if (same_facts(*other->facts, *table->facts))
            table->facts = other->facts;
    }
    for (const auto& [name, pol] : table->policies) {
        std::uint64_t& map = table->maps[pol.get()];
        for (const auto& other : tables_) {
            if (other->facts != table->facts)
                continue;
            for (const auto& [other_name, other_pol] : other->policies) {
                if (swap::maps_alike(pol->options(), other_pol->options()) && pol->made_of_the_same(*other_pol))
                    map = other->maps.at(other_pol.get());
            }
        }
        if (map == 0)
            map = next_map_++;
        if (current_ == nullptr)
            continue;
        const auto before = current_->policies.find(name);
        if (before != current_->policies.end() && before->second->verdicts().cls().name == pol->verdicts().cls().name)
            (void)pol->verdicts().take_over(before->second->verdicts());
    }
    {
        const std::lock_guard lock(tables_lock_);
        tables_.push_back(table);
    }
    for (const auto& [name, t] : targets_)
        publish(*table, table->assign(*t));
    arm_watchdog();
}

policy_table* core::table_with(std::uint64_t id) const noexcept
{
    if (current_->id == id) [[likely]]
        return current_.get();
    for (const auto& table : tables_) {
        if (table->id == id)
            return table.get();
    }
    return nullptr;
}

/// What decisions begin with from now on.
void core::set_in_force(const in_force& next)
{
    const in_force* old = in_force_.exchange(new in_force(next), std::memory_order_seq_cst);
    epochs_.retire([old] { delete old; });
}

/// The exchange. Everything that can fail has been done before.
void core::put_in_force(std::shared_ptr<policy_table> table)
{
    const std::uint64_t generation = next_generation_++;
    table->generation.store(generation, std::memory_order_relaxed);
    set_in_force({.generation = generation, .table = table.get()});
    generation_.store(generation, std::memory_order_release);
    previous_ = std::exchange(current_, table);
    previous_table_.store(previous_->id, std::memory_order_relaxed);
    if (candidate_ == table)
        candidate_ = nullptr;
    const producer_options& live = table->options;
    limit_room(live);
    key_maps_.quiet(bounded_ns(live.swap.quiet));
    if (!servers_told_ && embedded_ == nullptr && !live.name_servers.empty())
        use_servers(live.name_servers);
    if (recorder_ != nullptr) {
        for (const auto& [topic, state] : topics_) {
            if (record::recording* kept = recorder_->begun(topic)) {
                const auto& pol = table->policy_for(topic, {});
                kept->set_policy(links_->now_ns(), pol->name(), pol->options());
            }
        }
    }
    if (statistics_ != nullptr)
        table->each_assignment([this](assignment& a) { count_verdicts(a); });
    arm_keys();
    let_go();
    watch_files();
    arm_verdicts();
    wake_waiting_for_queues();
}

/// May anything still be decided by it, now or later?
bool core::is_needed(const policy_table& table) const
{
    if (&table == current_.get() || &table == previous_.get() || &table == candidate_.get() || table.pinned != 0)
        return true;
    return std::any_of(table.maps.begin(), table.maps.end(), [&](const auto& m) {
        return key_maps_.holds(m.second) && std::none_of(current_->maps.begin(), current_->maps.end(),
                                                           [&](const auto& c) { return c.second == m.second; });
    });
}

/// Tables that nobody needs any more go when the last call into them is over.
void core::let_go()
{
    std::vector<std::shared_ptr<policy_table>> gone;
    {
        const std::lock_guard lock(tables_lock_);
        for (auto& table : tables_) {
            if (is_needed(*table))
                continue;
            for (const auto& [name, pol] : table->policies) {
                past_counts& past = past_.size() < max_past || past_.contains(name) ? past_[name] : past_[std::string(observe::metrics::other)];
                past.plugin_errors += pol->plugin_errors.load(std::memory_order_relaxed) + pol->verdicts().errors();
                past.abstained += pol->abstained.load(std::memory_order_relaxed);
            }
            gone.push_back(std::move(table));
        }
        std::erase(tables_, nullptr);
    }
    for (auto& table : gone) {
        for (auto& [topic, state] : topics_) {
            if (std::none_of(tables_.begin(), tables_.end(), [&](const auto& t) { return t->facts == table->facts; }))
                state.views.erase(table->facts.get());
        }
        ++tables_going_;
        epochs_.retire([this, table, of_it = record_of(table.get())]() mutable {
            table.reset();
            --tables_going_;
            if (of_it == nullptr)
                return;
            of_it->table = 0;
            if (swap::may_follow(of_it->status.state, swap_state::retired))  // the I/O side alone writes it
                step(*of_it, swap_state::retired);
        });
    }
    gone.clear();
    if (tables_going_ != 0)
        arm_watch_over();
}

/// Sends for which there was no queue look again.
void core::wake_waiting_for_queues()
{
    std::vector<operation*> again;
    while (operation* op = queue_waiting_.front()) {
        queue_waiting_.remove(*op);
        again.push_back(op);
    }
    for (operation* op : again)
        resume(*op);
}

// ---- ordered keys ----

/// A send becomes the head of its lane: the table that all its attempts go by.
void core::pin(operation& op)
{
    const in_force& f = *in_force_.load(std::memory_order_relaxed);  // we are the only one who replaces it
    op.map_key = swap::key_maps::hash(op.msg.topic(), op.key);
    const policy_table* wanted = f.canary_below != 0 && swap::place_of(op.map_key, f.salt) < f.canary_below ? f.candidate : f.table;
    const auto map_in = [&](const policy_table& table) {
        return table.maps.at(table.policy_for(op.msg.topic(), op.options.policy).get());
    };
    const std::uint64_t mine = map_in(*wanted), map = key_maps_.enter(op.map_key, mine, links_->now_ns());
    op.goes_by = const_cast<policy_table*>(wanted);
    if (map != mine) {
        for (const auto& table : tables_) {  // the newest that has the map
            if (map_in(*table) == map)
                op.goes_by = table.get();
        }
    }
    ++op.goes_by->pinned;
}

void core::unpin(operation& op)
{
    if (op.goes_by == nullptr)
        return;
    key_maps_.leave(op.map_key, links_->now_ns());
    policy_table& table = *std::exchange(op.goes_by, nullptr);
    if (--table.pinned == 0 && &table != current_.get())
        arm_keys();
}

std::size_t core::keys_on_old_maps() const
{
    std::set<std::uint64_t> maps;
    for (const policy_table* table : {current_.get(), candidate_.get()}) {
        if (table == nullptr)
            continue;
        for (const auto& [pol, map] : table->maps)
            maps.insert(map);
    }
    std::size_t n = key_maps_.size();
    for (const std::uint64_t map : maps)
        n -= key_maps_.on(map);
    return n;
}

/// While keys are on maps of tables that are no longer in force: those that are quiet long enough are forgotten, and
/// then the tables.
void core::arm_keys()
{
    if (tables_.size() < 2 || keys_timer_.armed())
        return;
    const std::int64_t now = links_->now_ns();
    links_->set_timer(keys_timer_, std::clamp(key_maps_.next_ns(), now + 5'000'000, now + 250'000'000));
}

void core::sweep_keys()
{
    key_maps_.sweep(links_->now_ns());
    let_go();
    show_progress();
    arm_keys();
}

}  // namespace shunt::client
