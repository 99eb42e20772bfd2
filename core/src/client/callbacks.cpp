#include <client/callbacks.hpp>

#include <client/operation.hpp>

#include <atomic>
#include <condition_variable>
#include <utility>
#include <vector>

namespace shunt::client {

struct callback_thread::state {
    std::function<void(operation&)> run;
    std::mutex lock;
    std::condition_variable ready, idle;
    operation* first = nullptr;
    operation* last = nullptr;
    std::vector<std::function<void()>> tasks;
    std::shared_ptr<void> owner;
    [[nodiscard]] bool empty() const { return first == nullptr && tasks.empty(); }
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
        if (state_->empty())
            wake = true;
        (state_->last != nullptr ? state_->last->next : state_->first) = &first;
        state_->last = &last;
        state_->owner.swap(owner);
        start_locked();
    }
    if (wake)
        state_->ready.notify_one();
}

void callback_thread::post(std::shared_ptr<void> owner, std::function<void()> task)
{
    {
        const std::lock_guard lock(state_->lock);
        state_->tasks.push_back(std::move(task));
        state_->owner.swap(owner);
        start_locked();
    }
    state_->ready.notify_one();
}

void callback_thread::start_locked()
{
    if (state_->started)
        return;
    state_->started = true;
    thread_ = std::thread([s = state_] { loop(s); });
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
    return state_->idle.wait_until(lock, until, [&] { return state_->empty() && !state_->busy; });
}

bool callback_thread::is_this_thread() const noexcept { return std::this_thread::get_id() == state_->id; }

void callback_thread::loop(const std::shared_ptr<state>& s)
{
    s->id = std::this_thread::get_id();
    std::vector<std::function<void()>> tasks;
    std::unique_lock lock(s->lock);
    for (;;) {
        s->ready.wait(lock, [&] { return !s->empty() || s->stopping; });
        operation* op = std::exchange(s->first, nullptr);
        s->last = nullptr;
        tasks.swap(s->tasks);
        if (op == nullptr && tasks.empty())
            return;
        std::shared_ptr<void> owner = std::exchange(s->owner, nullptr);
        s->busy = true;
        lock.unlock();
        while (op != nullptr)
            s->run(*std::exchange(op, op->next));
        for (const auto& task : tasks)
            task();
        tasks.clear();
        lock.lock();
        s->busy = false;
        if (s->empty())
            s->idle.notify_all();
        lock.unlock();
        owner.reset();  // perhaps the last one: then this thread ends what it belonged to
        lock.lock();
    }
}

}  // namespace shunt::client
