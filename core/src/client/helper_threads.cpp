#include <client/helper_threads.hpp>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace shunt::client {

helper_threads::~helper_threads() { (void)finish(std::chrono::milliseconds(0)); }

void helper_threads::start(std::function<void()> work)
{
    one& o = all_.emplace_back();
    o.thread = std::thread([work = std::move(work), ended = o.ended]() mutable {
        work();
        work = nullptr;  // what it owns goes before the thread counts as ended
        ended->store(true, std::memory_order_release);
    });
}

void helper_threads::reap()
{
    std::erase_if(all_, [](one& o) {
        if (!o.ended->load(std::memory_order_acquire))
            return false;
        o.thread.join();
        return true;
    });
}

std::size_t helper_threads::finish(std::chrono::milliseconds limit)
{
    const auto until = std::chrono::steady_clock::now() + limit;
    std::mutex lock;
    std::condition_variable never;
    std::size_t lost = 0;
    for (one& o : all_) {
        // The last owner of the producer may be one of them: it ends by itself, right after this.
        const bool is_me = o.thread.get_id() == std::this_thread::get_id();
        while (!is_me && !o.ended->load(std::memory_order_acquire) && std::chrono::steady_clock::now() < until) {
            std::unique_lock held(lock);
            never.wait_for(held, std::chrono::milliseconds(1));
        }
        if (!is_me && o.ended->load(std::memory_order_acquire)) {
            o.thread.join();
        } else {
            o.thread.detach();
            lost += is_me ? 0 : 1;
        }
    }
    all_.clear();
    return lost;
}

}  // namespace shunt::client
