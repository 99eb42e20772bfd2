#include <client/callbacks.hpp>

#include <client/operation.hpp>

#include <utility>

namespace shunt::client {

callback_thread::callback_thread(std::function<void(operation&)> run) : run_(std::move(run)) {}

callback_thread::~callback_thread() { stop(); }

void callback_thread::push(operation& first, operation& last)
{
    bool wake = false;
    {
        const std::lock_guard lock(lock_);
        last.next = nullptr;
        if (first_ == nullptr)
            wake = true;
        (last_ != nullptr ? last_->next : first_) = &first;
        last_ = &last;
        if (!started_) {
            started_ = true;
            thread_ = std::thread([this] { loop(); });
        }
    }
    if (wake)
        ready_.notify_one();
}

void callback_thread::stop()
{
    {
        const std::lock_guard lock(lock_);
        stopping_ = true;
    }
    ready_.notify_one();
    if (thread_.joinable() && !is_this_thread())
        thread_.join();
}

void callback_thread::loop()
{
    id_ = std::this_thread::get_id();
    std::unique_lock lock(lock_);
    for (;;) {
        ready_.wait(lock, [&] { return first_ != nullptr || stopping_; });
        operation* op = std::exchange(first_, nullptr);
        last_ = nullptr;
        if (op == nullptr)
            return;
        lock.unlock();
        while (op != nullptr)
            run_(*std::exchange(op, op->next));
        lock.lock();
    }
}

}  // namespace shunt::client
