// The thread on which handlers without an executor of their own run, so that a slow one never holds up the network.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace shunt::client {

class operation;

class callback_thread {
public:
    /// `run` completes one send; it catches what the handler throws.
    explicit callback_thread(std::function<void(operation&)> run);
    /// As stop().
    ~callback_thread();
    callback_thread(const callback_thread&) = delete;
    callback_thread& operator=(const callback_thread&) = delete;

    /// Takes a chain linked by `next`, in order. Starts the thread with the first. Any thread. `owner` is held until all
    /// handlers have run: one of them may give up the last other reference to it.
    void push(std::shared_ptr<void> owner, operation& first, operation& last);
    /// As push(), with a task that catches what it throws.
    void post(std::shared_ptr<void> owner, std::function<void()> task);
    /// Runs what is left, then ends the thread. From the thread itself: it ends by itself once it is empty.
    void stop();
    /// Waits until no handler runs or waits. False: `until` came first.
    [[nodiscard]] bool wait_idle(std::chrono::steady_clock::time_point until);
    [[nodiscard]] bool is_this_thread() const noexcept;

private:
    struct state;
    static void loop(const std::shared_ptr<state>& s);
    void start_locked();

    std::shared_ptr<state> state_;  // the thread's too: it may outlive its owner, by the last steps of its loop
    std::thread thread_;
};

}  // namespace shunt::client
