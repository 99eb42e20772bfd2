#include <strategy/policy.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace shunt::strategy {

namespace {

template <typename Class, typename Instance>
bool carry(const Class& from_table, Instance* from, const Class& to_table, Instance* to)
{
    if (from_table.export_state == nullptr || to_table.import_state == nullptr)
        return false;
    std::string bytes;
    const shunt_writer writer{&bytes, [](void* ctx, const void* data, std::uint64_t count) -> shunt_status {
                                  static_cast<std::string*>(ctx)->append(static_cast<const char*>(data), count);
                                  return SHUNT_OK;
                              }};
    return from_table.export_state(from, &writer) == SHUNT_OK &&
           to_table.import_state(to, from_table.state_schema, bytes.data(), bytes.size()) == SHUNT_OK;
}

}  // namespace

selector_maker::selector_maker(strategy_class_ptr cls, checked_settings settings, std::shared_ptr<host_table> host)
    : cls_(std::move(cls)), settings_(std::move(settings)), host_(std::move(host))
{
}

shunt_selector* selector_maker::make(std::uint32_t start, std::string& error) const
{
    const shunt_instance info{sizeof(shunt_instance), start & 0x7fffffff};
    shunt_selector* instance = nullptr;
    (void)host_table::take_error();
    const shunt_status status = table().create(&host_->table(), &settings_.config(), &info, &instance);
    if (status == SHUNT_OK && instance != nullptr)
        return instance;
    error = host_table::take_error();
    if (error.empty())
        error = status == SHUNT_OK ? "create answered no instance" : "create failed with status " + std::to_string(status);
    return nullptr;
}

selector_set::~selector_set()
{
    const auto destroy = [](const one& o) {
        if (o.owned && o.instance != nullptr)
            o.table->destroy(o.instance);
    };
    destroy(chooser);
    for (const one& f : filters)
        destroy(f);
}

bool take_over(const selector_set::one& from, const selector_set::one& to)
{
    return carry(*from.table, from.instance, *to.table, to.instance);
}

verdicts::verdicts(strategy_class_ptr cls, shunt_fault* instance, std::shared_ptr<host_table> host)
    : cls_(std::move(cls)), instance_(instance), host_(std::move(host))
{
}

verdicts::~verdicts() { cls_->fault().destroy(instance_); }

bool verdicts::feed(std::span<const shunt_feedback> feedback)
{
    if (feedback.empty())
        return false;
    const shunt_status status = cls_->fault().on_feedback(instance_, feedback.data(), sizeof(shunt_feedback),
                                                          static_cast<std::uint32_t>(feedback.size()));
    if (status < 0)
        failed("on_feedback", status);
    return status == 1;
}

void verdicts::failed(const char* call, shunt_status status)
{
    errors_.fetch_add(1, std::memory_order_relaxed);
    const std::string text = host_table::take_error();
    host_->failed(std::string(call) + (text.empty() ? " answered status " + std::to_string(status) : ": " + text));
}

void verdicts::evaluate(const route_view& route, std::int64_t now_ns, verdict_masks& out)
{
    const std::size_t words = words_for(route.brokers.size());
    scratch_available_.assign(words, 0);
    scratch_reachable_.assign(words, 0);
    out.valid_until_ns = std::numeric_limits<std::int64_t>::max();
    const shunt_status status =
        route.brokers.empty()
            ? SHUNT_OK
            : cls_->fault().evaluate(instance_, route.brokers.data(), sizeof(shunt_broker),
                                     static_cast<std::uint32_t>(route.brokers.size()), now_ns, scratch_available_.data(),
                                     scratch_reachable_.data(), &out.valid_until_ns);
    if (status != SHUNT_OK) {  // no word on anybody: everybody is well, and it is asked again with the next feedback
        failed("evaluate", status);
        scratch_available_.assign(words, ~std::uint64_t{0});
        out.valid_until_ns = std::numeric_limits<std::int64_t>::max();
    }
    for (std::size_t w = 0; w < words; ++w)
        scratch_reachable_[w] |= scratch_available_[w];
    expand_mask(route, scratch_available_, out.available);
    expand_mask(route, scratch_reachable_, out.reachable);
}

bool verdicts::take_over(verdicts& before)
{
    return carry(before.cls_->fault(), before.instance_, cls_->fault(), instance_);
}

std::shared_ptr<policy> policy::make(std::string name, const policy_options& options, const class_finder& find, environment& env,
                                     std::uint32_t start, std::vector<setting_problem>& problems)
{
    const std::size_t before = problems.size();
    const auto find_class = [&](strategy_kind kind, const strategy_options& wanted) -> strategy_class_ptr {
        std::string error;
        auto cls = find(kind, wanted.use, error);
        if (cls == nullptr)
            problems.push_back({wanted.where, "policies." + name + "." + std::string(to_string(kind)) + ".use", "'" + wanted.use + "'",
                                error, {}});
        return cls;
    };
    const auto host_for = [&](const strategy_class& cls) { return std::make_shared<host_table>(env, name, cls.name); };

    std::shared_ptr<policy> made(new policy);
    made->name_ = std::move(name);
    name = made->name_;
    made->options_ = options;

    if (auto cls = find_class(strategy_kind::selector, options.selector)) {
        auto settings = check_settings(*cls, options.selector.settings, options.selector.where, problems);
        auto host = host_for(*cls);
        made->chooser_ = std::make_unique<selector_maker>(std::move(cls), std::move(settings), std::move(host));
    }
    for (const strategy_options& filter : options.filters) {
        auto cls = find_class(strategy_kind::selector, filter);
        if (cls == nullptr)
            continue;
        if ((cls->selector().flags & SHUNT_F_FILTER) == 0 || cls->selector().filter == nullptr) {
            problems.push_back({filter.where, "policies." + name + ".filters", "'" + filter.use + "'",
                                "a selector that can filter (machine-room can)", {}});
            continue;
        }
        auto settings = check_settings(*cls, filter.settings, filter.where, problems);
        auto host = host_for(*cls);
        made->filters_.emplace_back(std::move(cls), std::move(settings), std::move(host));
    }
    auto fault = find_class(strategy_kind::fault, options.fault);
    if (fault != nullptr && problems.size() == before) {
        const auto settings = check_settings(*fault, options.fault.settings, options.fault.where, problems);
        if (problems.size() == before) {
            auto host = host_for(*fault);
            const shunt_instance info{sizeof(shunt_instance), start & 0x7fffffff};
            shunt_fault* instance = nullptr;
            (void)host_table::take_error();
            const shunt_status status = fault->fault().create(&host->table(), &settings.config(), &info, &instance);
            if (status == SHUNT_OK && instance != nullptr)
                made->verdicts_ = std::make_unique<strategy::verdicts>(fault, instance, std::move(host));
            else {
                auto text = host_table::take_error();
                problems.push_back({options.fault.where, "policies." + name + ".fault", "'" + options.fault.use + "'",
                                    text.empty() ? "create failed with status " + std::to_string(status) : text, {}});
            }
        }
    }
    if (problems.size() == before) {  // a selector that cannot be made must be known now, not at the first send
        std::string error;
        shared_instances trial;
        if (made->make_set(start, trial, error) == nullptr)
            problems.push_back({options.selector.where, "policies." + name + ".selector", "'" + options.selector.use + "'", error, {}});
        made->destroy_shared(trial);
    }
    return problems.size() == before ? made : nullptr;
}

std::unique_ptr<selector_set> policy::make_set(std::uint32_t start, shared_instances& shared, std::string& error) const
{
    auto set = std::make_unique<selector_set>();
    set->fallback_cursor = start & 0x7fffffff;
    const auto fill = [&set](selector_set::one& o, const selector_maker& maker, shunt_selector* instance) {
        o.table = &maker.table();
        o.host = &maker.host();
        o.instance = instance;
        set->wants |= o.table->wants != nullptr ? o.table->flags & o.table->wants(instance) : o.table->flags;
    };
    if (chooser_->concurrent()) {
        shunt_selector* instance = shared.chooser.load(std::memory_order_acquire);
        if (instance == nullptr) {
            shunt_selector* made = chooser_->make(start, error);
            if (made == nullptr)
                return nullptr;
            if (shared.chooser.compare_exchange_strong(instance, made, std::memory_order_acq_rel))
                instance = made;
            else
                chooser_->table().destroy(made);  // another thread was first
        }
        fill(set->chooser, *chooser_, instance);
        set->chooser.owned = false;
    } else {
        shunt_selector* made = chooser_->make(start, error);
        if (made == nullptr)
            return nullptr;
        fill(set->chooser, *chooser_, made);
    }
    for (const selector_maker& maker : filters_) {
        shunt_selector* made = maker.make(start, error);
        if (made == nullptr)
            return nullptr;
        fill(set->filters.emplace_back(), maker, made);
    }
    return set;
}

bool policy::made_of_the_same(const policy& other) const noexcept
{
    const auto same = [](const selector_maker& a, const selector_maker& b) {
        return a.cls().name == b.cls().name && a.cls().plugin_id == b.cls().plugin_id && a.cls().sha256 == b.cls().sha256;
    };
    return same(*chooser_, *other.chooser_) &&
           std::equal(filters_.begin(), filters_.end(), other.filters_.begin(), other.filters_.end(), same);
}

bool policy::is_foreign() const noexcept
{
    const auto foreign = [](const selector_maker& m) { return m.cls().origin == strategy_origin::file; };
    return foreign(*chooser_) || std::any_of(filters_.begin(), filters_.end(), foreign);
}

void policy::take_out_of_use(const std::string& what)
{
    out_of_use.store(true, std::memory_order_relaxed);
    plugin_errors.fetch_add(1, std::memory_order_relaxed);
    chooser_->host().failed(what);
}

std::string policy::last_failure() const
{
    std::string text = chooser_->host().last_failure();
    for (auto maker = filters_.begin(); text.empty() && maker != filters_.end(); ++maker)
        text = maker->host().last_failure();
    return text.empty() ? verdicts_->last_failure() : text;
}

void policy::destroy_shared(shared_instances& shared) const noexcept
{
    if (shunt_selector* instance = shared.chooser.exchange(nullptr, std::memory_order_acq_rel))
        chooser_->table().destroy(instance);
}

std::unique_ptr<snapshot> make_snapshot(std::shared_ptr<const route_view> route, std::shared_ptr<policy> pol,
                                        std::shared_ptr<policy::shared_instances> shared, std::uint64_t generation,
                                        std::uint64_t verdict_gen, std::int64_t now_ns)
{
    auto s = std::make_unique<snapshot>();
    pol->verdicts().evaluate(*route, now_ns, s->masks);
    shunt_view& v = s->view;
    v.struct_size = sizeof v;
    v.topic = to_str(route->topic);
    v.n_queues = static_cast<std::uint32_t>(route->queues.size());
    v.n_brokers = static_cast<std::uint32_t>(route->brokers.size());
    v.broker_stride = sizeof(shunt_broker);
    v.queues = route->queues.data();
    v.brokers = route->brokers.data();
    v.available = s->masks.available.data();
    v.reachable = s->masks.reachable.data();
    v.route_gen = route->route_gen;
    v.verdict_gen = verdict_gen;
    s->route = std::move(route);
    s->pol = std::move(pol);
    s->shared = std::move(shared);
    s->generation = generation;
    return s;
}

}  // namespace shunt::strategy
