// Sends N messages through a producer and prints one line of JSON: rate, latency, CPU, what the producer counted.
//
//   send_bench NAME_SERVER TOPIC sync|async|oneway COUNT BODY_BYTES THREADS [IN_FLIGHT] [callback|inline]
//
// callback: handlers run on the producer's callback thread (the default of the API). inline: on its I/O thread.
// One message is sent outside the clock (route, connection). Async is bounded to IN_FLIGHT by this program.

#include <shunt/producer.hpp>

#include <boost/asio/bind_executor.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace {

struct work {
    std::string topic, mode;
    long count = 0;
    std::size_t bytes = 0;
    int threads = 1;
    long in_flight = 1024;
    bool inline_handlers = false;
};

double cpu_us()
{
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

class windowed_sender {
public:
    windowed_sender(shunt::producer& p, const work& w) : producer_(p), work_(w), room_(w.in_flight) {}

    void run(long n)
    {
        for (long i = 0; i < n; ++i) {
            room_.acquire();
            const auto done = [this](shunt::error_code ec, const shunt::receipt&) {
                (ec ? failed : stored).fetch_add(1, std::memory_order_relaxed);
                room_.release();
            };
            shunt::message m(work_.topic, std::string(work_.bytes, 'x'));
            if (work_.inline_handlers)
                producer_.async_send(std::move(m), boost::asio::bind_executor(producer_.get_executor(), done));
            else
                producer_.async_send(std::move(m), done);
        }
        for (long i = 0; i < work_.in_flight; ++i)
            room_.acquire();
    }

    std::atomic<long> stored{0}, failed{0};

private:
    shunt::producer& producer_;
    const work& work_;
    std::counting_semaphore<> room_;
};

}  // namespace

int main(int argc, char** argv)
{
    if (argc < 7) {
        std::fprintf(stderr, "usage: send_bench NAME_SERVER TOPIC sync|async|oneway COUNT BODY_BYTES THREADS [IN_FLIGHT] [callback|inline]\n");
        return 2;
    }
    work w;
    w.topic = argv[2];
    w.mode = argv[3];
    w.count = std::atol(argv[4]);
    w.bytes = static_cast<std::size_t>(std::atol(argv[5]));
    w.threads = std::max(1, std::atoi(argv[6]));
    if (argc > 7)
        w.in_flight = std::max(1L, std::atol(argv[7]));
    w.inline_handlers = argc > 8 && std::string(argv[8]) == "inline";

    shunt::producer_options o;
    o.group = "bench";
    o.name_servers = {argv[1]};
    auto made = shunt::producer::create(std::move(o));
    if (!made) {
        std::fprintf(stderr, "%s\n", made.error().text.c_str());
        return 1;
    }
    shunt::producer producer = std::move(*made);
    if (auto warm = producer.deliver(shunt::message(w.topic, "warm")); warm.error) {
        std::fprintf(stderr, "%s %s\n", warm.error.message().c_str(), warm.reason.c_str());
        return 1;
    }

    const auto before = producer.counters();
    const double cpu = cpu_us();
    const auto begin = std::chrono::steady_clock::now();
    long stored = 0, failed = 0;
    if (w.mode == "async") {
        windowed_sender sender(producer, w);
        std::vector<std::thread> threads;
        for (int t = 1; t < w.threads; ++t)
            threads.emplace_back([&] { sender.run(0); });
        sender.run(w.count);
        for (auto& t : threads)
            t.join();
        stored = sender.stored;
        failed = sender.failed;
    } else {
        std::atomic<long> good{0}, bad{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < w.threads; ++t) {
            threads.emplace_back([&, t] {
                for (long i = t; i < w.count; i += w.threads) {
                    shunt::message m(w.topic, std::string(w.bytes, 'x'));
                    const auto r = w.mode == "oneway" ? producer.deliver_oneway(std::move(m)) : producer.deliver(std::move(m));
                    (r.error ? bad : good).fetch_add(1, std::memory_order_relaxed);
                }
            });
        }
        for (auto& t : threads)
            t.join();
        stored = good;
        failed = bad;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double used = cpu_us() - cpu;
    const auto after = producer.counters();
    producer.close();
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    const auto n = static_cast<double>(w.count);
    std::printf("{\"mode\":\"%s\",\"bytes\":%zu,\"threads\":%d,\"in_flight\":%ld,\"handlers\":\"%s\",\"count\":%ld,\"ok\":%ld,\"failed\":%ld,"
                "\"seconds\":%.4f,\"per_second\":%.0f,\"cpu_us\":%.3f,\"writes\":%.4f,\"peak_rss_kb\":%ld}\n",
                w.mode.c_str(), w.bytes, w.threads, w.in_flight, w.inline_handlers ? "inline" : "callback", w.count, stored, failed, seconds,
                n / seconds, used / n, static_cast<double>(after.writes - before.writes) / n, u.ru_maxrss);
    return failed == 0 ? 0 : 1;
}
