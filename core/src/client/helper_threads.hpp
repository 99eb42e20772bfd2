// Threads for work that may never end, as code of plugins may: they are waited for a while, then given up.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace shunt::client {

class helper_threads {
public:
    helper_threads() = default;
    helper_threads(const helper_threads&) = delete;
    helper_threads& operator=(const helper_threads&) = delete;
    /// As finish() with no time.
    ~helper_threads();

    /// `work` must own all that it touches. What it throws ends the program, as in any thread.
    void start(std::function<void()> work);
    /// Joins those that have ended.
    void reap();
    /// Waits for all; those that have not ended by then are let run, and are lost. How many these are.
    std::size_t finish(std::chrono::milliseconds limit);
    [[nodiscard]] std::size_t running() const noexcept { return all_.size(); }

private:
    struct one {
        std::thread thread;
        std::shared_ptr<std::atomic<bool>> ended = std::make_shared<std::atomic<bool>>(false);
    };
    std::vector<one> all_;
};

}  // namespace shunt::client
