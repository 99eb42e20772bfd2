// A policy at work: the strategies of a policy_options, checked and made, and the verdicts of its fault strategy.

#pragma once

#include <shunt/options.hpp>
#include <strategy/host.hpp>
#include <strategy/settings_check.hpp>
#include <strategy/strategy_class.hpp>
#include <strategy/view.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::strategy {

/// Finds a class by name; null with `error` filled. (The plugin registry, bound by the caller: no loading here.)
using class_finder = std::function<strategy_class_ptr(strategy_kind, std::string_view name, std::string& error)>;

/// A selector (or filter) that can be made as often as needed.
class selector_maker {
public:
    selector_maker(strategy_class_ptr cls, checked_settings settings, std::shared_ptr<host_table> host);

    /// A new instance whose rotation begins at `start`. Null: the plugin refused, `error` says why.
    [[nodiscard]] shunt_selector* make(std::uint32_t start, std::string& error) const;
    [[nodiscard]] const shunt_selector_class& table() const noexcept { return cls_->selector(); }
    [[nodiscard]] const strategy_class& cls() const noexcept { return *cls_; }
    [[nodiscard]] host_table& host() const noexcept { return *host_; }
    [[nodiscard]] bool concurrent() const noexcept { return (table().flags & SHUNT_F_CONCURRENT) != 0; }

private:
    strategy_class_ptr cls_;
    checked_settings settings_;
    std::shared_ptr<host_table> host_;
};

/// The instances one (policy, topic, sender thread) uses. Destroys them.
class selector_set {
public:
    selector_set() = default;
    selector_set(const selector_set&) = delete;
    selector_set& operator=(const selector_set&) = delete;
    ~selector_set();

    struct one {
        const shunt_selector_class* table = nullptr;
        shunt_selector* instance = nullptr;
        host_table* host = nullptr;
        bool owned = true;  ///< false: a concurrent instance shared by all threads, owned by the policy's topic
    };
    one chooser;
    std::vector<one> filters;
    std::uint32_t wants = 0;           ///< SHUNT_F_WANTS_*: what any of them does; they all see one message
    std::vector<shunt_kv> properties;  ///< of the message that is decided for; kept for its memory
    std::uint32_t fallback_cursor = 0;
    std::shared_ptr<const void> keep;  ///< the policy: its code must outlive the instances
};

/// `to` takes over the state of `from`, a selector of the same name: where its rotation stands and the like. False: one of
/// them does not offer that, or refused; `to` is as it was made. [control]
bool take_over(const selector_set::one& from, const selector_set::one& to);

/// Verdicts of one fault strategy over the brokers of one route.
struct verdict_masks {
    std::vector<std::uint64_t> available, reachable;  ///< by queue
    std::int64_t valid_until_ns = 0;                  ///< INT64_MAX: until told otherwise
};

/// One running fault strategy. [control]: one call at a time.
class verdicts {
public:
    verdicts(strategy_class_ptr cls, shunt_fault* instance, std::shared_ptr<host_table> host);
    ~verdicts();
    verdicts(const verdicts&) = delete;
    verdicts& operator=(const verdicts&) = delete;

    /// True: verdicts changed, evaluate again.
    bool feed(std::span<const shunt_feedback> feedback);
    void evaluate(const route_view& route, std::int64_t now_ns, verdict_masks& out);
    /// Takes over what `before`, a strategy of the same name, knows. False: one of them does not offer that, or refused.
    bool take_over(verdicts& before);
    [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::string last_failure() const { return host_->last_failure(); }
    [[nodiscard]] const strategy_class& cls() const noexcept { return *cls_; }

private:
    strategy_class_ptr cls_;
    shunt_fault* instance_;
    std::shared_ptr<host_table> host_;
    void failed(const char* call, shunt_status status);

    std::vector<std::uint64_t> scratch_available_, scratch_reachable_;
    std::atomic<std::uint64_t> errors_{0};
};

class policy {
public:
    /// Finds, checks and makes the strategies. Null: `problems` says all that is wrong. `start` is given to the fault
    /// strategy's instance.
    [[nodiscard]] static std::shared_ptr<policy> make(std::string name, const policy_options& options, const class_finder& find,
                                                      environment& env, std::uint32_t start, std::vector<setting_problem>& problems);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const policy_options& options() const noexcept { return options_; }
    [[nodiscard]] strategy::verdicts& verdicts() noexcept { return *verdicts_; }
    template <typename F>
    void each_class(F f) const
    {
        f(chooser_->cls());
        for (const selector_maker& filter : filters_)
            f(filter.cls());
        f(verdicts_->cls());
    }
    /// Its selector and filters are those of `other`, from the same files.
    [[nodiscard]] bool made_of_the_same(const policy& other) const noexcept;
    /// A selector or filter of it was loaded from a file that does not come with shunt.
    [[nodiscard]] bool is_foreign() const noexcept;
    /// A call of its selector hangs: `what` is said as its failure, and it is asked no more.
    void take_out_of_use(const std::string& what);
    std::atomic<bool> out_of_use{false};
    /// What went wrong last in one of its strategies; empty: nothing yet.
    [[nodiscard]] std::string last_failure() const;

    /// Instances for one topic and sender thread. Null: a plugin refused; `error` says why.
    /// `shared`: the topic's concurrent instances, made by the first that needs them. Thread-safe.
    struct shared_instances {
        std::atomic<shunt_selector*> chooser{nullptr};
    };
    [[nodiscard]] std::unique_ptr<selector_set> make_set(std::uint32_t start, shared_instances& shared, std::string& error) const;
    void destroy_shared(shared_instances& shared) const noexcept;

    /// Calls of the selector that failed, answered out of range or abstained: each was answered by the fallback.
    mutable std::atomic<std::uint64_t> plugin_errors{0};
    mutable std::atomic<std::uint64_t> abstained{0};
    mutable std::atomic<std::uint64_t> decisions{0};

private:
    policy() = default;
    std::string name_;
    policy_options options_;
    std::unique_ptr<selector_maker> chooser_;
    std::vector<selector_maker> filters_;
    std::unique_ptr<strategy::verdicts> verdicts_;
};

/// A route, a policy and the policy's verdicts at one moment: all that a decision reads. Immutable.
struct snapshot {
    std::shared_ptr<const route_view> route;
    std::shared_ptr<policy> pol;
    std::shared_ptr<policy::shared_instances> shared;
    std::uint64_t generation = 1;
    verdict_masks masks;
    shunt_view view{};  ///< points into the above
};

[[nodiscard]] std::unique_ptr<snapshot> make_snapshot(std::shared_ptr<const route_view> route, std::shared_ptr<policy> pol,
                                                      std::shared_ptr<policy::shared_instances> shared, std::uint64_t generation,
                                                      std::uint64_t verdict_gen, std::int64_t now_ns);

}  // namespace shunt::strategy
