// Calls of selectors that do not come back: their sends are decided by the fallback, and nobody asks the policy any more.
//
// Bundled selectors are not watched. Others are asked by sender threads and, where the I/O side would have to (retries of
// async sends, heads of lanes), by a thread made for that. The thread that sits in such a call is lost until it comes back.

#include <client/core.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace shunt::client {

namespace {

// Looks, not time: a machine that stood still has not looked either.
constexpr std::int64_t look_ns = 50'000'000;
constexpr int hung_looks = 20;

/// Producers that threads may still come back to. For good: what they hold cannot be told to be free.
std::vector<std::shared_ptr<void>>& kept_producers()
{
    static auto* const all = new std::vector<std::shared_ptr<void>>;
    return *all;
}
std::mutex kept_producers_lock;

}  // namespace

// ---- a thread that decides in the I/O side's place ----

struct core::decider {
    std::mutex lock;
    std::condition_variable more;
    std::deque<operation*> waiting;
    bool over = false;
    std::atomic<thread_slot*> slot{nullptr};
};

void core::decide_elsewhere(operation& op)
{
    forget_live(op);  // close() must leave it alone while the thread decides
    if (decider_ == nullptr) {
        decider_ = std::make_shared<decider>();
        helpers_.start([self = shared_from_this(), d = decider_] { self->run_decider(*d); });
    }
    {
        const std::lock_guard lock(decider_->lock);
        decider_->waiting.push_back(&op);
    }
    decider_->more.notify_one();
}

void core::run_decider(decider& d)
{
    thread_slot& slot = slots_->mine();
    d.slot = &slot;
    for (;;) {
        operation* op = nullptr;
        {
            std::unique_lock lock(d.lock);
            d.more.wait(lock, [&] { return d.over || !d.waiting.empty(); });
            if (d.waiting.empty())
                return;
            op = d.waiting.front();
            d.waiting.pop_front();
        }
        drive(*op, slot, false);
    }
}

void core::stop_decider()
{
    if (decider_ == nullptr)
        return;
    {
        const std::lock_guard lock(decider_->lock);
        decider_->over = true;
    }
    decider_->more.notify_all();
    decider_ = nullptr;
}

// ---- looking ----

/// While a table is about whose selectors are watched.
void core::arm_watchdog()
{
    if (watchdog_timer_.armed() || closed_io_)
        return;
    bool foreign = false;
    for (const auto& table : tables_)
        for (const auto& [name, pol] : table->policies)
            foreign = foreign || pol->is_foreign();
    if (foreign)
        links_->set_timer(watchdog_timer_, links_->now_ns() + look_ns);
}

void core::look_for_hung_calls()
{
    std::vector<std::pair<thread_slot*, std::uint64_t>> hung;
    slots_->each([&](thread_slot& s) {
        const std::uint64_t call = s.call.load(std::memory_order_acquire);
        if (call % 4 != thread_slot::asking || call != s.seen_call)
            s.seen_times = 0;
        else if (++s.seen_times >= hung_looks)
            hung.emplace_back(&s, call);
        s.seen_call = call;
    });
    for (const auto& [slot, call] : hung)
        take_over(*slot, call);
    arm_watchdog();
}

void core::take_over(thread_slot& slot, std::uint64_t call)
{
    std::uint64_t expected = call;
    if (!slot.call.compare_exchange_strong(expected, call - thread_slot::asking + thread_slot::taken, std::memory_order_acq_rel))
        return;  // it came back just now
    {
        const std::lock_guard lock(kept_producers_lock);
        kept_producers().push_back(shared_from_this());
    }
    // The mark of the thread that is lost keeps what we look at here.
    operation& old = *slot.asked_for;
    strategy::policy& pol = *slot.asked_of->pol;
    pol.take_out_of_use("a call of its selector did not come back in " + std::to_string(hung_looks * look_ns / 1'000'000) +
                        " ms; the policy is out of use, the thread in the call is lost; best-queue's rule stands in");

    // The plugin may still look at the key, properties and what was tried: these are copied, and the old operation is left to
    // the thread.
    operation& op = *new operation;
    op.owner = this;
    op.thread = old.thread;
    op.msg = old.msg;
    op.options = std::move(old.options);
    op.properties = std::move(old.properties);
    op.extra = std::move(old.extra);
    op.result = std::move(old.result);
    op.machine = old.machine;
    op.doubt = old.doubt;
    op.rejection = old.rejection;
    op.goes_by = std::exchange(old.goes_by, nullptr);
    op.map_key = old.map_key;
    op.key = old.key;
    op.has_key = old.has_key;
    op.ordered = old.ordered;
    op.laned = std::exchange(old.laned, false);
    op.holds = std::exchange(old.holds, send::holds::nothing);
    op.topic_room = old.topic_room;
    op.oneway = old.oneway;
    op.cost = old.cost;
    op.stage = stage::decide;
    if (old.caller == nullptr) {
        op.done = std::move(old.done);
    } else {
        op.done = detail::completion([&slot](const error_code&, receipt r) {  // for its thread, should it come back
            slot.result = std::move(r);
            slot.over = true;
            slot.wake.release();
        });
    }

    // Everything the thread may hold is replaced, and then kept for good.
    for (const auto& table : tables_) {
        table->each_assignment([&](assignment& a) { publish(*table, a); });
        epochs_.retire([table] {});
    }
    set_in_force(*in_force_.load(std::memory_order_relaxed));
    epochs_.lose(slot.epoch);

    if (decider_ != nullptr && decider_->slot.load() == &slot) {
        std::deque<operation*> left;
        {
            const std::lock_guard lock(decider_->lock);
            left.swap(decider_->waiting);
        }
        stop_decider();
        for (operation* waiting : left)
            decide_elsewhere(*waiting);
    }
    const record_ptr candidate = record_of(candidate_.get()), current = record_of(current_.get());
    const auto has = [&](const policy_table& table) {
        return std::any_of(table.policies.begin(), table.policies.end(), [&](const auto& p) { return p.second.get() == &pol; });
    };
    if (candidate_ != nullptr && has(*candidate_))
        drop_candidate("a call of its selector hangs; the thread in it is lost");
    else if (current != nullptr && current->status.state == swap_state::probation && has(*current_))
        (void)roll_back("on probation: a call of its selector hangs; the thread in it is lost");
    drive(op, *io_slot_, true);
}

}  // namespace shunt::client
