// What the cases have in common: producers for a world, receipts that come in, waiting with a deadline.

#pragma once

#include <interop/cases/world.hpp>

#include <shunt/producer.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shunt::cases {

using namespace std::chrono_literals;

inline producer_options options_for(world& w)
{
    producer_options o;
    o.group = "PG_cases";
    o.name_servers = {w.name_server()};
    return o;
}

inline producer started(producer_options o)
{
    auto made = producer::create(std::move(o));
    if (!made)
        throw std::runtime_error(made.error().text);
    return std::move(*made);
}

inline producer producer_for(world& w) { return started(options_for(w)); }

inline std::string shown(const receipt& r)
{
    std::string text = std::string(to_string(r.outcome)) + " '" + r.error.message() + "' " + r.reason;
    for (const attempt& a : r.attempts)
        text += " | " + std::string(a.broker) + "/" + std::to_string(a.queue) + " " + std::string(to_string(a.outcome)) + " " +
                std::to_string(a.code) + " " + a.text + " (" + std::string(a.why) + ")";
    return text;
}

/// Receipts of many sends, gathered from handlers.
class gathered {
public:
    void expect(std::size_t n) { expected_ = n; }
    void take(receipt r)
    {
        const std::lock_guard lock(lock_);
        all_.push_back(std::move(r));
        if (all_.size() >= expected_)
            ready_.notify_all();
    }
    /// Waits for as many as were expected.
    const std::vector<receipt>& wait(std::chrono::seconds limit = 120s)
    {
        std::unique_lock lock(lock_);
        EXPECT_TRUE(ready_.wait_for(lock, limit, [&] { return all_.size() >= expected_; })) << all_.size() << " of " << expected_;
        return all_;
    }
    std::size_t size()
    {
        const std::lock_guard lock(lock_);
        return all_.size();
    }

private:
    std::mutex lock_;
    std::condition_variable ready_;
    std::vector<receipt> all_;
    std::size_t expected_ = 0;
};

template <typename F>
bool eventually(F ask, std::chrono::seconds limit = 30s)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!ask()) {
        if (std::chrono::steady_clock::now() >= deadline)
            return false;
        std::this_thread::yield();
    }
    return true;
}

/// What lies there, once it is as much as was stored: a real broker shows a message a moment after it has confirmed it.
inline std::vector<lying> lying_at_least(world& w, const std::string& topic, std::size_t n)
{
    std::vector<lying> all;
    eventually([&] { return (all = w.messages(topic)).size() >= n; });
    return all;
}

}  // namespace shunt::cases
