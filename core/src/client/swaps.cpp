// Swaps, step by step, on the I/O side: admitted one after the other, looked at, put in force, taken back.

#include <client/core.hpp>

#include <client/statistics.hpp>
#include <config/load.hpp>
#include <swap/compare.hpp>
#include <swap/plan.hpp>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <future>
#include <utility>

namespace shunt {

std::string_view to_string(swap_state s) noexcept
{
    static constexpr std::array<std::string_view, 11> words{"staged",   "admitting", "created", "shadow",  "canary",     "probation",
                                                            "in_force", "replaced",  "retired", "refused", "rolled_back"};
    return words[static_cast<std::size_t>(s)];
}

}  // namespace shunt

namespace shunt::client {

namespace {

constexpr std::int64_t look_ns = 100'000'000;         // between two looks at a swap under way,
constexpr std::int64_t look_soon_ns = 5'000'000;      // and while a table waits for its last reader
constexpr std::int64_t hung_shadow_ns = 2'000'000'000;
constexpr std::size_t kept_records = 64;
constexpr std::chrono::seconds command_limit{3};

std::string shown(std::chrono::milliseconds d) { return std::to_string(d.count()) + " ms"; }

}  // namespace

// ---- asked from any thread ----

swap_handle core::stage_file(const std::string& file, stage_options how)
{
    std::vector<config::problem> problems;
    config::loaded l = config::load_file(file, problems);
    if (how.what.empty())
        how.what = file;
    return stage_loaded(std::move(l), problems, std::move(how));
}

swap_handle core::stage_text(std::string_view text, const std::string& file, stage_options how)
{
    std::vector<config::problem> problems;
    config::loaded l = config::load_text(text, file, problems);
    if (how.what.empty())
        how.what = file;
    return stage_loaded(std::move(l), problems, std::move(how));
}

/// What was read is what the program says in its place.
void core::apply_overrides(producer_options& read) const
{
    if (options_.overrides)
        options_.overrides(read);
}

swap_handle core::stage_loaded(config::loaded l, const std::vector<config::problem>& problems, stage_options how)
{
    if (problems.empty()) {
        apply_overrides(l.options);
        return stage(std::move(l.options), std::move(how));
    }
    std::string text;
    for (const config::problem& p : problems)
        text += (text.empty() ? "" : "\n") + config::to_string(p);
    swap_handle h = new_swap(std::move(how));
    step(*h.record_, swap_state::refused, std::move(text));
    return h;
}

swap_handle core::stage(producer_options wanted, stage_options how)
{
    if (how.what.empty())
        how.what = wanted.file;
    swap_handle h = new_swap(std::move(how));
    auto a = std::make_shared<admission>();
    a->of = h.record_;
    a->wanted = std::move(wanted);
    if (closing_.load(std::memory_order_seq_cst)) {
        step(*h.record_, swap_state::refused, "the producer is closed");
        return h;
    }
    boost::asio::post(executor_, [weak = weak_from_this(), a] {
        const auto self = weak.lock();
        if (self == nullptr)
            return;
        self->links_->refresh();
        if (self->closed_io_ || self->closing_.load(std::memory_order_relaxed)) {
            self->step(*a->of, swap_state::refused, "the producer is closed");
            return;
        }
        self->admissions_.push_back(a);
        self->next_admission();
    });
    return h;
}

swap_handle core::new_swap(stage_options how)
{
    swap_handle h;
    h.core_ = weak_from_this();
    h.record_ = std::make_shared<swap_record>();
    swap_record& r = *h.record_;
    r.status.who = how.who;
    r.status.what = how.what;
    r.how = std::move(how);
    const std::lock_guard lock(tables_lock_);
    h.id_ = r.status.id = next_swap_++;
    step(r, swap_state::staged);
    swaps_.push_back(h.record_);
    // The latest are kept, and those that still matter.
    for (auto old = swaps_.begin(); swaps_.size() > kept_records && old != swaps_.end();) {
        bool over = false;
        {
            const std::lock_guard of_it((*old)->lock);
            const swap_status& s = (*old)->status;
            over = s.over() || (s.state == swap_state::rolled_back && (*old)->table == 0);
        }
        old = over ? swaps_.erase(old) : old + 1;
    }
    return h;
}

std::vector<swap_status> core::swaps() const
{
    std::vector<record_ptr> all;
    {
        const std::lock_guard lock(tables_lock_);
        all = swaps_;
    }
    std::vector<swap_status> out;
    for (const record_ptr& r : all) {
        const std::lock_guard lock(r->lock);
        out.push_back(r->status);
    }
    return out;
}

swap_handle core::find_swap(std::uint64_t id)
{
    swap_handle h;
    const std::lock_guard lock(tables_lock_);
    for (const record_ptr& r : swaps_) {
        if (r->status.id == id) {
            h.id_ = id;
            h.record_ = r;
            h.core_ = weak_from_this();
        }
    }
    return h;
}

std::string core::swap_command(swap_verb verb, std::uint64_t id, double share, std::string reason)
{
    if (on_io_side_())
        return carry_out(verb, id, share, std::move(reason));
    auto said = std::make_shared<std::promise<std::string>>();
    auto future = said->get_future();
    swap_command(verb, id, share, std::move(reason), [said](std::string text) { said->set_value(std::move(text)); });
    if (future.wait_for(command_limit) != std::future_status::ready)
        return "the producer's executor did not get to it in " + std::to_string(command_limit.count()) + " s; it may still be done";
    return future.get();
}

void core::swap_command(swap_verb verb, std::uint64_t id, double share, std::string reason, std::function<void(std::string)> then)
{
    if (closing_.load(std::memory_order_seq_cst)) {
        then("the producer is closed");
        return;
    }
    boost::asio::post(executor_, [weak = weak_from_this(), verb, id, share, reason = std::move(reason), then = std::move(then)]() mutable {
        const auto self = weak.lock();
        if (self == nullptr)
            return;
        self->links_->refresh();
        then(self->closed_io_ ? "the producer is closed" : self->carry_out(verb, id, share, std::move(reason)));
        self->run_inbox();
    });
}

// ---- the I/O side ----

core::record_ptr core::record_of(const policy_table* table) const
{
    if (table == nullptr)
        return nullptr;
    const std::lock_guard lock(tables_lock_);
    const auto it = std::find_if(swaps_.begin(), swaps_.end(), [&](const record_ptr& r) { return r->table == table->id; });
    return it == swaps_.end() ? nullptr : *it;
}

void core::step(swap_record& r, swap_state to, std::string reason, std::int64_t deadline_ns)
{
    const auto now = std::chrono::system_clock::now();
    std::string line;
    {
        const std::lock_guard lock(r.lock);
        swap_status& s = r.status;
        r.deadline_ns = deadline_ns;
        s.state = to;
        s.deadline = deadline_ns == 0 ? std::chrono::system_clock::time_point{}
                                      : now + std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                                  std::chrono::nanoseconds(deadline_ns - net::monotonic_ns()));
        if (to == swap_state::refused || to == swap_state::rolled_back)
            s.reason = reason;
        line = "swap " + std::to_string(s.id) + ": " + std::string(to_string(to)) + (reason.empty() ? "" : ": " + reason);
        swap_step& one = s.steps.emplace_back();
        one.state = to;
        one.at = now;
        one.reason = std::move(reason);
        constexpr std::size_t most = 256;  // of one that goes in and out of force all the time
        if (s.steps.size() > most)
            s.steps.erase(s.steps.begin() + 1);
    }
    r.changed.notify_all();
    if (statistics_ != nullptr)
        statistics_->swap_steps[static_cast<std::size_t>(to)].fetch_add(1, std::memory_order_relaxed);
    note(to == swap_state::refused || to == swap_state::rolled_back ? observe::level::warn : observe::level::info, line);
}

void core::next_admission()
{
    while (!admissions_.empty() && !admissions_.front()->begun) {
        const std::shared_ptr<admission> a = admissions_.front();
        a->begun = true;
        swap::plan p = swap::make_plan(current_->options, a->wanted);
        const std::string restart = p.needs_restart();
        {
            const std::lock_guard lock(a->of->lock);
            a->of->status.changes = std::move(p.changes);
        }
        if (!restart.empty()) {
            admissions_.pop_front();
            step(*a->of, swap_state::refused, restart);
            continue;
        }
        step(*a->of, swap_state::admitting, {}, links_->now_ns() + bounded_ns(a->wanted.swap.admit));
        helpers_.start([self = shared_from_this(), a] {
            std::string problems;
            std::shared_ptr<policy_table> table;
            try {
                table = self->build_table(a->wanted, a->wanted.swap.preflight != preflight_rule::off, problems);
            } catch (const std::exception& e) {
                problems = e.what();
            }
            boost::asio::post(self->executor_, [self, a, table = std::move(table), problems = std::move(problems)]() mutable {
                self->links_->refresh();
                self->admitted(a, std::move(table), problems);
                self->run_inbox();
            });
        });
    }
    arm_watch_over();
}

void core::admitted(const std::shared_ptr<admission>& a, std::shared_ptr<policy_table> table, const std::string& problems)
{
    helpers_.reap();
    swap_record& r = *a->of;
    if (admissions_.empty() || admissions_.front() != a)
        return;  // given up meanwhile
    admissions_.pop_front();
    if (table == nullptr) {
        step(r, swap_state::refused, problems);
    } else {
        if (candidate_ != nullptr)
            drop_candidate("swap " + std::to_string(r.status.id) + " took its place");
        take_in(table);
        r.table = table->id;
        candidate_ = std::move(table);
        if (r.how.now && !r.how.force && moves_ordered_keys(*candidate_)) {
            drop_candidate("it moves keys of ordered topics, which `now` does at once, whether or not consumers have read what was "
                           "sent before; leave `now` out, so that each key moves when it is quiet, or force it");
        } else {
            step(r, swap_state::created, {}, links_->now_ns() + bounded_ns(candidate_->options.swap.decide));
            if (!r.how.hold)
                go_on(r);
        }
    }
    next_admission();
}

/// The next step that the stage options ask for.
void core::go_on(swap_record& r)
{
    const swap_state now = r.status.state;
    if (now == swap_state::created && r.how.shadow > 0)
        (void)carry_out(swap_verb::shadow, r.status.id, r.how.shadow, {});
    else if (now != swap_state::canary && r.how.canary > 0)
        (void)carry_out(swap_verb::canary, r.status.id, r.how.canary, {});
    else
        promote_candidate(r);
}

void core::promote_candidate(swap_record& r)
{
    const bool probation = candidate_->options.swap.probation.count() > 0;
    begin_probation(probation);
    if (const record_ptr old = record_of(current_.get()))
        step(*old, swap_state::replaced, "swap " + std::to_string(r.status.id));
    stop_shadow(*candidate_);
    const bool now = r.how.now;
    put_in_force(candidate_);
    if (now)
        key_maps_.barrier();
    {
        const std::lock_guard lock(r.lock);
        r.status.generation = current_->generation.load(std::memory_order_relaxed);
        r.status.keys_on_old_map = keys_on_old_maps();
    }
    step(r, probation ? swap_state::probation : swap_state::in_force, {},
         probation ? links_->now_ns() + bounded_ns(current_->options.swap.probation) : 0);
    let_go();
    show_progress();
    arm_watch_over();
}

/// What the policies that come are compared with: how it went in the last minute.
void core::begin_probation(bool probation)
{
    before_probation_ = current_->measured.last_minute(links_->now_ns());
    errors_before_ = 0;
    if (!probation)
        return;
    candidate_->measured.begin();
    errors_at_begin_ = candidate_->errors();
}

void core::drop_candidate(std::string reason)
{
    const record_ptr r = record_of(candidate_.get());
    stop_shadow(*candidate_);
    const in_force& f = *in_force_.load(std::memory_order_relaxed);
    if (f.candidate != nullptr)
        set_in_force({.generation = f.generation, .table = f.table});
    candidate_->measured.end();
    candidate_ = nullptr;
    if (r != nullptr)
        step(*r, r->status.state == swap_state::canary ? swap_state::rolled_back : swap_state::refused, std::move(reason));
    let_go();
    arm_keys();
}

void core::stop_shadow(policy_table& table)
{
    if (table.beside != nullptr)
        table.beside->stop();
}

std::string core::roll_back(std::string reason)
{
    if (previous_ == nullptr)
        return "there is nothing to go back to: no other policies were in force, or they are not retained any more";
    if (candidate_ != nullptr)
        drop_candidate("what is in force was rolled back");
    const record_ptr from = record_of(current_.get()), to = record_of(previous_.get());
    current_->measured.end();
    put_in_force(previous_);
    if (from != nullptr)
        step(*from, swap_state::rolled_back, std::move(reason));
    if (to != nullptr) {
        {
            const std::lock_guard lock(to->lock);
            to->status.generation = current_->generation.load(std::memory_order_relaxed);
            to->status.keys_on_old_map = keys_on_old_maps();
            to->status.reason.clear();
        }
        step(*to, swap_state::in_force, from != nullptr ? "swap " + std::to_string(from->status.id) + " was rolled back" : "");
    }
    show_progress();
    arm_watch_over();
    return {};
}

std::string core::carry_out(swap_verb verb, std::uint64_t id, double share, std::string reason)
{
    if (verb == swap_verb::rollback_last)
        return roll_back(std::move(reason));
    if (verb == swap_verb::barrier) {
        key_maps_.barrier();
        let_go();
        show_progress();
        return {};
    }
    const record_ptr r = find_swap(id).record_;
    if (r == nullptr)
        return "there is no swap " + std::to_string(id);
    const bool is_candidate = candidate_ != nullptr && r->table == candidate_->id;
    const bool is_previous = previous_ != nullptr && r->table == previous_->id;
    const std::string stands = "swap " + std::to_string(id) + " is " + std::string(to_string(r->status.state));
    switch (verb) {
    case swap_verb::shadow:
    case swap_verb::canary: {
        if (!is_candidate)
            return stands + "; it must be created, shadow or canary";
        if (!(share > 0 && share <= 1))
            return "the share is " + std::to_string(share) + "; it must be above 0 and at most 1";
        const std::int64_t until = links_->now_ns() + bounded_ns(candidate_->options.swap.decide);
        if (verb == swap_verb::shadow) {
            start_shadow(share);
            if (r->status.state != swap_state::canary)
                step(*r, swap_state::shadow, {}, until);
        } else {
            start_canary(*r, share);
            step(*r, swap_state::canary, {}, until);
        }
        arm_watch_over();
        return {};
    }
    case swap_verb::promote:
        if (is_candidate) {
            promote_candidate(*r);
            return {};
        }
        if (is_previous)
            return roll_back("swap " + std::to_string(id) + " was put in force again");
        return stands + "; it must be created, shadow, canary, or the one that was in force before";
    case swap_verb::rollback:
        if (is_candidate) {
            drop_candidate(std::move(reason));
            return {};
        }
        if (r->table != 0 && r->table == current_->id)
            return roll_back(std::move(reason));
        if (r->status.state == swap_state::staged || r->status.state == swap_state::admitting) {
            std::erase_if(admissions_, [&](const auto& a) { return a->of == r; });
            step(*r, swap_state::refused, std::move(reason));
            next_admission();
            return {};
        }
        return stands + "; there is nothing to take back";
    case swap_verb::rollback_last:
    case swap_verb::barrier: break;
    }
    return {};
}

void core::start_canary(swap_record& r, double share)
{
    in_force next = *in_force_.load(std::memory_order_relaxed);
    if (next.canary_below == 0) {
        next.canary_generation = next_generation_++;
        next.salt = random();
        current_->measured.begin();
        candidate_->measured.begin();
        errors_at_begin_ = candidate_->errors();
        errors_before_ = current_->errors();
        candidate_->generation.store(next.canary_generation, std::memory_order_relaxed);
        const std::lock_guard lock(r.lock);
        r.status.generation = next.canary_generation;
    }
    next.candidate = candidate_.get();
    next.canary_below = swap::below(share);
    set_in_force(next);
}

/// Would a key of an ordered topic go to another queue than now?
bool core::moves_ordered_keys(const policy_table& table) const
{
    const auto differs = [&](const std::shared_ptr<strategy::policy>& old, const std::shared_ptr<strategy::policy>& fresh) {
        return old->options().ordered && current_->maps.at(old.get()) != table.maps.at(fresh.get());
    };
    for (const auto& [name, pol] : current_->policies) {
        const auto same = table.policies.find(name);
        if (same != table.policies.end() && differs(pol, same->second))
            return true;
    }
    return std::any_of(targets_.begin(), targets_.end(), [&](const auto& t) {
        return differs(current_->policy_for(t.second->topic, t.second->policy), table.policy_for(t.second->topic, t.second->policy));
    });
}

// ---- looking after them ----

void core::arm_watch_over()
{
    const record_ptr now = record_of(current_.get());
    const bool busy = !admissions_.empty() || candidate_ != nullptr || (now != nullptr && now->status.state == swap_state::probation);
    const bool leaving = tables_going_ != 0;
    if (closed_io_ || (!busy && !leaving && helpers_.running() == 0)) {
        links_->clear_timer(watch_over_timer_);
        return;
    }
    links_->set_timer(watch_over_timer_, links_->now_ns() + (leaving ? look_soon_ns : look_ns));
}

void core::watch_over()
{
    const std::int64_t now = links_->now_ns();
    helpers_.reap();
    epochs_.collect();
    if (!admissions_.empty() && admissions_.front()->begun && admissions_.front()->of->deadline_ns <= now) {
        const std::shared_ptr<admission> a = admissions_.front();
        admissions_.pop_front();  // its thread goes on; what comes of it is dropped
        step(*a->of, swap_state::refused,
             "it was not checked, loaded and made in " + shown(a->wanted.swap.admit) + " ([swap] admit); a plugin may hang");
        next_admission();
    }
    if (candidate_ != nullptr)
        look_at_candidate(now);
    else if (const record_ptr r = record_of(current_.get()); r != nullptr && r->status.state == swap_state::probation)
        look_at_probation(*r, now);
    show_progress();
    arm_watch_over();
}

void core::look_at_candidate(std::int64_t now)
{
    const record_ptr r = record_of(candidate_.get());
    if (r == nullptr)
        return;
    if (r->deadline_ns != 0 && r->deadline_ns <= now) {
        drop_candidate("neither put in force nor taken back in " + shown(candidate_->options.swap.decide) + " ([swap] decide)");
        return;
    }
    if (const shadow* s = candidate_->beside.get()) {
        const std::int64_t asked = s->asked_at_ns.load(std::memory_order_relaxed);
        if (asked != 0 && now - asked > hung_shadow_ns) {
            drop_candidate("its selector hangs: a shadow decision did not come back in " + std::to_string(hung_shadow_ns / 1'000'000) +
                           " ms; the thread in it is lost");
            return;
        }
        const swap_shadow counts = s->counts();
        if (counts.errors >= 10 && counts.errors * 100 > counts.decisions) {
            drop_candidate("its selector failed in " + std::to_string(counts.errors) + " of " + std::to_string(counts.decisions) +
                           " shadow decisions");
            return;
        }
        if (r->status.state == swap_state::shadow && r->how.canary > 0 && counts.decisions >= candidate_->options.swap.compare_attempts)
            go_on(*r);
    }
    if (r->status.state != swap_state::canary)
        return;
    const swap::judgement j = judge_canary();
    if (j.found == swap::finding::worse)
        drop_candidate(j.why);
    else if (j.found == swap::finding::no_worse && r->how.auto_promote)
        promote_candidate(*r);
}

swap::judgement core::judge_canary() const
{
    swap::limits by;
    by.enough = candidate_->options.swap.compare_attempts;
    return swap::compare({current_->measured.since_begin(), current_->errors() - errors_before_},
                         {candidate_->measured.since_begin(), candidate_->errors() - errors_at_begin_}, by);
}

swap::judgement core::judge_probation() const
{
    swap::limits by;
    by.enough = current_->options.swap.compare_attempts;
    return swap::compare({before_probation_, 0}, {current_->measured.since_begin(), current_->errors() - errors_at_begin_}, by);
}

void core::look_at_probation(swap_record& r, std::int64_t now)
{
    const swap::judgement j = judge_probation();
    if (j.found == swap::finding::worse) {
        show_progress();
        (void)roll_back("on probation: " + j.why);
    } else if (r.deadline_ns <= now) {
        current_->measured.end();
        step(r, swap_state::in_force, j.why);
    }
}

/// Numbers for who looks.
void core::show_progress()
{
    const auto arm_of = [&](const swap::tally& t, std::uint64_t errors) {
        swap_arm a;
        a.attempts = t.attempts;
        a.stored = t.stored;
        a.not_sent = t.not_sent;
        a.rejected = t.rejected;
        a.unknown = t.unknown;
        a.plugin_errors = errors;
        a.p50 = std::chrono::nanoseconds(t.stored_in.quantile(0.5));
        a.p99 = std::chrono::nanoseconds(t.stored_in.quantile(0.99));
        for (std::size_t b = 0; b < t.by_broker.size(); ++b) {
            if (t.by_broker[b] != 0)
                a.by_broker[std::string(book_.find(static_cast<std::uint32_t>(b))->name)] = t.by_broker[b];
        }
        return a;
    };
    if (const record_ptr r = record_of(candidate_.get())) {
        const std::lock_guard lock(r->lock);
        swap_status& s = r->status;
        if (candidate_->beside != nullptr)
            s.shadow = candidate_->beside->counts();
        if (s.state == swap_state::canary) {
            s.before = arm_of(current_->measured.since_begin(), current_->errors() - errors_before_);
            s.after = arm_of(candidate_->measured.since_begin(), candidate_->errors() - errors_at_begin_);
            s.verdict = judge_canary().why;
        }
    }
    if (const record_ptr r = record_of(current_.get())) {
        const std::lock_guard lock(r->lock);
        swap_status& s = r->status;
        s.keys_on_old_map = keys_on_old_maps();
        if (s.state == swap_state::probation) {
            s.before = arm_of(before_probation_, 0);
            s.after = arm_of(current_->measured.since_begin(), current_->errors() - errors_at_begin_);
            s.verdict = judge_probation().why;
        }
    }
}

/// The producer closes: nothing goes on.
void core::end_swaps()
{
    for (const auto& a : admissions_)
        step(*a->of, swap_state::refused, "the producer closed");
    admissions_.clear();
    if (candidate_ != nullptr)
        drop_candidate("the producer closed");
    stop_decider();
    if (const std::size_t lost = helpers_.finish(std::chrono::seconds(1)); lost != 0)
        note(observe::level::error, std::to_string(lost) + " threads are lost in calls of plugins that do not come back");
}

}  // namespace shunt::client
