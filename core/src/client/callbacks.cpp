#include <client/callbacks.hpp>

#include <client/operation.hpp>

#include <atomic>
#include <condition_variable>
#include <utility>

namespace shunt::client {

struct callback_thread::state {
    std::function<void(operation&)> run;
    std::mutex lock;
    std::condition_variable ready, idle;
    operation* first = nullptr;
    operation* last = nullptr;
    std::shared_ptr<void> owner;
    bool busy = false, stopping = false, started = false;
    std::atomic<std::thread::id> id{};
};

callback_thread::callback_thread(std::function<void(operation&)> run) : state_(std::make_shared<state>()) { state_->run = std::move(run); }

callback_thread::~callback_thread() { stop(); }

void callback_thread::push(std::shared_ptr<void> owner, operation& first, operation& last)
{
    bool wake = false;
    {
        const std::lock_guard lock(state_->lock);
        last.next = nullptr;
        if (state_->first == nullptr)
            wake = true;
        (state_->last != nullptr ? state_->last->next : state_->first) = &first;
        state_->last = &last;
        state_->owner.swap(owner);
        if (!state_->started) {
            state_->started = true;
            thread_ = std::thread([s = state_] { loop(s); });
        }
    }
    if (wake)
        state_->ready.notify_one();
}

void callback_thread::stop()
{
    {
        const std::lock_guard lock(state_->lock);
        state_->stopping = true;
    }
    state_->ready.notify_one();
    if (!thread_.joinable())
        return;
    if (is_this_thread())
        thread_.detach();
    else
        thread_.join();
}

bool callback_thread::wait_idle(std::chrono::steady_clock::time_point until)
{
    std::unique_lock lock(state_->lock);
    return state_->idle.wait_until(lock, until, [&] { return state_->first == nullptr && !state_->busy; });
}

bool callback_thread::is_this_thread() const noexcept { return std::this_thread::get_id() == state_->id; }

void callback_thread::loop(const std::shared_ptr<state>& s)
{
    s->id = std::this_thread::get_id();
    std::unique_lock lock(s->lock);
    for (;;) {
        s->ready.wait(lock, [&] { return s->first != nullptr || s->stopping; });
        operation* op = std::exchange(s->first, nullptr);
        s->last = nullptr;
        if (op == nullptr)
            return;
        std::shared_ptr<void> owner = std::exchange(s->owner, nullptr);
        s->busy = true;
        lock.unlock();
        while (op != nullptr)
            s->run(*std::exchange(op, op->next));
        lock.lock();
        s->busy = false;
        if (s->first == nullptr)
            s->idle.notify_all();
        lock.unlock();
        owner.reset();  // perhaps the last one: then this thread ends what it belonged to
        lock.lock();
    }
}

}  // namespace shunt::client
