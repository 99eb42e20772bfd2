// What an exchange of policies each millisecond costs the sends: pairs of windows under full async load, one with exchanges
// and one without, in turn. Prints one line of JSON.
//
//   swap_bench NAME_SERVER TOPIC PAIRS WINDOW_MS THREADS

#include <shunt/producer.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

/// Threads that send without a pause, some hundreds of messages under way each.
class load {
public:
    load(shunt::producer& p, const std::string& topic, int threads)
    {
        for (int t = 0; t < threads; ++t)
            threads_.emplace_back([this, &p, topic] {
                while (!over_.load(std::memory_order_relaxed)) {
                    room_.acquire();
                    p.async_send(shunt::message(topic, std::string(256, 'x')), [this](const shunt::error_code& ec, const shunt::receipt&) {
                        (ec ? failed : stored).fetch_add(1, std::memory_order_relaxed);
                        room_.release();
                    });
                }
            });
    }
    load(const load&) = delete;
    load& operator=(const load&) = delete;
    ~load()
    {
        over_ = true;
        for (std::thread& t : threads_)
            t.join();
        for (int i = 0; i < under_way; ++i)
            room_.acquire();
    }
    std::atomic<long> stored{0}, failed{0};

private:
    static constexpr int under_way = 2048;
    std::counting_semaphore<> room_{under_way};
    std::atomic<bool> over_{false};
    std::vector<std::thread> threads_;
};

double median(std::vector<double> all)
{
    std::sort(all.begin(), all.end());
    const std::size_t middle = all.size() / 2;
    return all.size() % 2 != 0 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
}

/// Exchanges, one after the other, each a millisecond after the one before, or nothing. Stored messages a second.
double window(shunt::producer& p, const load& senders, std::chrono::milliseconds time, bool exchanging, long& exchanges)
{
    std::mutex lock;
    std::condition_variable never;
    const long before = senders.stored.load();
    const auto begin = clock_type::now(), end = begin + time;
    for (auto due = begin; clock_type::now() < end;) {
        if (exchanging && p.rollback("bench").empty())
            ++exchanges;
        due = std::max(due + std::chrono::milliseconds(1), clock_type::now());
        std::unique_lock held(lock);
        never.wait_until(held, exchanging ? std::min(due, end) : end);
    }
    return static_cast<double>(senders.stored.load() - before) / std::chrono::duration<double>(clock_type::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 6) {
        std::fprintf(stderr, "usage: swap_bench NAME_SERVER TOPIC PAIRS WINDOW_MS THREADS\n");
        return 2;
    }
    const std::string topic = argv[2];
    const int pairs = std::max(1, std::atoi(argv[3])), threads = std::max(1, std::atoi(argv[5]));
    const std::chrono::milliseconds time(std::max(1, std::atoi(argv[4])));

    shunt::producer_options o;
    o.group = "bench";
    o.name_servers = {argv[1]};
    o.send_timeout = std::chrono::minutes(1);
    o.swap.probation = std::chrono::milliseconds(0);
    auto made = shunt::producer::create(o);
    if (!made) {
        std::fprintf(stderr, "%s\n", made.error().text.c_str());
        return 1;
    }
    shunt::producer p = std::move(*made);
    if (const auto warm = p.deliver(shunt::message(topic, "warm")); warm.error) {
        std::fprintf(stderr, "%s %s\n", warm.error.message().c_str(), warm.reason.c_str());
        return 1;
    }
    o.policies["default"].selector.use = "round-robin";
    const shunt::swap_handle other = p.stage(o);
    if (!other.wait_for(shunt::swap_state::in_force, std::chrono::seconds(10))) {
        std::fprintf(stderr, "%s\n", other.status().reason.c_str());
        return 1;
    }
    std::vector<double> without, with, ratios;
    long exchanges = 0, failed = 0;
    {
        load senders(p, topic, threads);
        (void)window(p, senders, time, false, exchanges);  // warm
        for (int i = 0; i < pairs; ++i) {
            for (const bool exchanging : {i % 2 == 0, i % 2 != 0})
                (exchanging ? with : without).push_back(window(p, senders, time, exchanging, exchanges));
            ratios.push_back(with.back() / without.back());
        }
        failed = senders.failed;
    }
    p.close();
    const double seconds = std::chrono::duration<double>(time).count() * pairs;
    std::printf("{\"pairs\":%d,\"threads\":%d,\"per_second\":%.0f,\"per_second_exchanging\":%.0f,\"ratio\":%.4f,"
                "\"exchanges_per_second\":%.0f,\"failed\":%ld}\n",
                pairs, threads, median(without), median(with), median(ratios), static_cast<double>(exchanges) / seconds, failed);
    return failed == 0 ? 0 : 1;
}
