// The thread on which handlers without an executor of their own run, so that a slow one never holds up the network.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace shunt::client {

class operation;

class callback_thread {
public:
    /// `run` completes one send; it catches what the handler throws.
    explicit callback_thread(std::function<void(operation&)> run);
    ~callback_thread();
    callback_thread(const callback_thread&) = delete;
    callback_thread& operator=(const callback_thread&) = delete;

    /// Takes a chain linked by `next`, in order. Starts the thread with the first.
    void push(operation& first, operation& last);
    /// Runs what is left, then ends the thread. From the thread itself: it ends by itself once it is empty.
    void stop();
    [[nodiscard]] bool is_this_thread() const noexcept { return std::this_thread::get_id() == id_; }

private:
    void loop();

    std::function<void(operation&)> run_;
    std::mutex lock_;
    std::condition_variable ready_;
    operation* first_ = nullptr;
    operation* last_ = nullptr;
    bool stopping_ = false;
    bool started_ = false;
    std::thread thread_;
    std::atomic<std::thread::id> id_{};
};

}  // namespace shunt::client
