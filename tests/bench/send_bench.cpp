// Sends N messages through a producer and prints one line of JSON: rate, latencies, CPU, what it took of the system.
//
//   send_bench NAME_SERVER|FILE.toml TOPIC MODE COUNT BODY_BYTES THREADS [IN_FLIGHT] [callback|inline|own]
//
// MODE: sync, async, oneway (async one-way: bounded like async), batch (32 messages a call), first (one sync send to each of
// COUNT topics), together (the same, all at once). callback: handlers run on the producer's callback thread (the default of
// the API). inline: on its I/O thread. own: the I/O side has no thread; the sender runs it whenever IN_FLIGHT are under way.
// One message is sent outside the clock (route, connection). Async is bounded to IN_FLIGHT by this program, and its
// latencies are not taken: they are IN_FLIGHT by the rate.
//
// BENCH_READY=1 prints "ready" on standard error after that message, BENCH_IDLE=1 then waits for the end of standard
// input, BENCH_DUMP=FILE writes each latency in microseconds in the order of sending. With the allocation counter
// preloaded (allocations.cpp) messages are made before the clock, and four rounds of the same sends come before the
// counted one.

#include <shunt/producer.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
constexpr long batch_size = 32;

struct work {
    std::string topic, mode, handlers = "callback";
    long count = 0;
    std::size_t bytes = 0;
    int threads = 1;
    long in_flight = 1024;
};

struct spent {
    double user_us = 0, system_us = 0;
    long switches = 0;
    std::uint64_t allocations = 0;
};

using counter = std::uint64_t();
counter* const allocations = reinterpret_cast<counter*>(::dlsym(RTLD_DEFAULT, "bench_allocations"));

spent so_far()
{
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    const auto us = [](const timeval& t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
    return {us(u.ru_utime), us(u.ru_stime), u.ru_nvcsw + u.ru_nivcsw, allocations != nullptr ? allocations() : 0};
}

class load {
public:
    load(shunt::producer& p, boost::asio::io_context& own, work w) : producer_(p), own_(own), work_(std::move(w)), room_(work_.in_flight)
    {
        if (!bounded_)
            micros.assign(static_cast<std::size_t>(work_.count), 0);
    }

    /// Before the clock, where what the messages themselves need is not to be counted.
    void prepare()
    {
        ready_.reserve(static_cast<std::size_t>(work_.count));
        for (long i = 0; i < work_.count; ++i)
            ready_.push_back(fresh(i));
    }

    void run()
    {
        std::vector<std::thread> others;
        for (int t = 1; t < work_.threads; ++t)
            others.emplace_back([this, t] { share(t); });
        share(0);
        for (std::thread& t : others)
            t.join();
        if (bounded_)
            wait_for(work_.in_flight);
    }

    std::atomic<long> good{0}, bad{0};
    std::vector<std::uint32_t> micros;

private:
    [[nodiscard]] shunt::message fresh(long i) const
    {
        return {many_topics_ ? work_.topic + "-" + std::to_string(i) : work_.topic, std::string(work_.bytes, 'x')};
    }
    [[nodiscard]] shunt::message next(long i) { return ready_.empty() ? fresh(i) : std::move(ready_[static_cast<std::size_t>(i)]); }

    void over(long i, clock_type::time_point began, bool well)
    {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(clock_type::now() - began).count();
        micros[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(us);
        over(well);
    }
    void over(bool well) { (well ? good : bad).fetch_add(1, std::memory_order_relaxed); }

    void wait_for(long places)
    {
        for (long i = 0; i < places; ++i) {
            if (!runs_io_)
                room_.acquire();
            else
                while (!room_.try_acquire())
                    own_.run_one();
        }
    }

    void share(int t)
    {
        const long first = work_.count * t / work_.threads, last = work_.count * (t + 1) / work_.threads;
        for (long i = first; i < last; ++i) {
            if (bounded_) {
                wait_for(1);
                start(i);
            } else if (batches_) {
                if ((i - first) % batch_size != 0)
                    continue;
                std::vector<shunt::message> all;
                const long end = std::min(last, i + batch_size);
                for (long k = i; k < end; ++k)
                    all.push_back(next(k));
                const auto began = clock_type::now();
                const auto r = producer_.deliver_batch(std::move(all));
                for (long k = i; k < end; ++k)
                    over(k, began, !r.send.error);
            } else {
                const auto began = clock_type::now();
                const auto r = producer_.deliver(next(i));
                over(i, began, !r.error);
            }
        }
    }

    void start(long i)
    {
        const auto done = [this, oneway = oneway_](shunt::error_code ec, const shunt::receipt& r) {
            const bool well = oneway ? r.outcome == shunt::outcome::unknown : !ec;
            if (!well && bad.load(std::memory_order_relaxed) == 0)
                std::fprintf(stderr, "%s: %s\n", ec.message().c_str(), r.reason.c_str());
            over(well);
            room_.release();
        };
        if (on_callback_thread_) {
            oneway_ ? producer_.async_send_oneway(next(i), {}, done) : producer_.async_send(next(i), done);
        } else {
            auto here = boost::asio::bind_executor(producer_.get_executor(), done);
            oneway_ ? producer_.async_send_oneway(next(i), {}, std::move(here)) : producer_.async_send(next(i), std::move(here));
        }
    }

    shunt::producer& producer_;
    boost::asio::io_context& own_;
    const work work_;
    const bool oneway_ = work_.mode == "oneway", batches_ = work_.mode == "batch";
    const bool bounded_ = oneway_ || work_.mode == "async" || work_.mode == "together";
    const bool many_topics_ = work_.mode == "first" || work_.mode == "together";
    const bool on_callback_thread_ = work_.handlers == "callback", runs_io_ = work_.handlers == "own";
    std::counting_semaphore<> room_;
    std::vector<shunt::message> ready_;
};

long of_status(const std::string& name)
{
    std::ifstream in("/proc/self/status");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(name + ":"))
            return std::atol(line.c_str() + name.size() + 1);
    return 0;
}

std::optional<shunt::producer> made(const std::string& where, boost::asio::io_context& own, bool use_own)
{
    shunt::producer_options o;
    o.group = "bench";
    o.name_servers = {where};
    const bool file = where.ends_with(".toml");
    auto p = use_own ? (file ? shunt::producer::open(where, own.get_executor()) : shunt::producer::create(std::move(o), own.get_executor()))
                     : (file ? shunt::producer::open(where) : shunt::producer::create(std::move(o)));
    if (p)
        return std::move(*p);
    std::fprintf(stderr, "%s\n", p.error().text.c_str());
    return std::nullopt;
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc < 7) {
        std::fprintf(stderr, "usage: send_bench NAME_SERVER|FILE.toml TOPIC sync|async|oneway|batch|first|together COUNT BODY_BYTES THREADS "
                             "[IN_FLIGHT] [callback|inline|own]\n");
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
    if (argc > 8)
        w.handlers = argv[8];

    boost::asio::io_context own(1);
    const bool use_own = w.handlers == "own";
    std::optional<shunt::producer> p = made(argv[1], own, use_own);
    if (!p)
        return 1;
    shunt::producer& producer = *p;
    {
        bool warm = false;
        shunt::receipt last;
        for (int tries = 0; tries < 20 && !warm; ++tries) {  // a broker may be at fault on purpose
            if (use_own) {
                work one = w;
                one.mode = "async";
                one.count = one.in_flight = one.threads = 1;
                load l(producer, own, one);
                l.run();
                warm = l.good == 1;
            } else {
                last = producer.deliver(shunt::message(w.topic, "warm"));
                warm = !last.error;
            }
        }
        if (!warm) {
            std::fprintf(stderr, "no message was stored: %s %s\n", last.error.message().c_str(), last.reason.c_str());
            return 1;
        }
    }
    if (std::getenv("BENCH_READY") != nullptr)
        std::fprintf(stderr, "ready\n");
    if (std::getenv("BENCH_IDLE") != nullptr) {
        while (std::getchar() != EOF) {
        }
    }

    // Pools grow until they hold what a burst of ends needs: what counts is what a load takes that goes on.
    for (int round = 0; allocations != nullptr && round < 4; ++round) {
        load l(producer, own, w);
        l.prepare();
        l.run();
    }
    load l(producer, own, w);
    if (allocations != nullptr)
        l.prepare();
    const auto counted = producer.counters();
    const spent before = so_far();
    const auto began = clock_type::now();
    l.run();
    const double seconds = std::chrono::duration<double>(clock_type::now() - began).count();
    const spent after = so_far();
    const auto counts = producer.counters();
    const long threads_now = of_status("Threads"), peak = of_status("VmHWM");

    if (const char* file = std::getenv("BENCH_DUMP")) {
        std::ofstream out(file);
        for (const std::uint32_t us : l.micros)
            out << us << '\n';
    }
    std::sort(l.micros.begin(), l.micros.end());
    const auto at = [&](double q) { return l.micros.empty() ? 0 : l.micros[static_cast<std::size_t>(q * static_cast<double>(l.micros.size() - 1))]; };
    const auto n = static_cast<double>(std::max(1L, w.count));
    std::printf("{\"mode\":\"%s\",\"bytes\":%zu,\"threads\":%d,\"in_flight\":%ld,\"handlers\":\"%s\",\"count\":%ld,\"ok\":%ld,\"failed\":%ld,"
                "\"seconds\":%.4f,\"per_second\":%.0f,\"p50_us\":%u,\"p99_us\":%u,\"max_us\":%u,\"user_us\":%.3f,\"system_us\":%.3f,\"cpu_us\":%.3f,"
                "\"switches\":%.4f,\"writes\":%.4f,\"allocations\":%.4f,\"peak_rss_kb\":%ld,\"os_threads\":%ld}\n",
                w.mode.c_str(), w.bytes, w.threads, w.in_flight, w.handlers.c_str(), w.count, l.good.load(), l.bad.load(), seconds,
                static_cast<double>(l.good.load()) / seconds, at(0.5), at(0.99), at(1.0), (after.user_us - before.user_us) / n,
                (after.system_us - before.system_us) / n, (after.user_us + after.system_us - before.user_us - before.system_us) / n,
                static_cast<double>(after.switches - before.switches) / n, static_cast<double>(counts.writes - counted.writes) / n,
                static_cast<double>(after.allocations - before.allocations) / n, peak, threads_now);
    std::fflush(stdout);
    if (use_own) {  // nobody else runs what closing needs
        std::thread runner([&] { own.run_for(std::chrono::seconds(5)); });
        producer.close();
        own.stop();
        runner.join();
    } else {
        producer.close();
    }
    return l.bad.load() == 0 ? 0 : 1;
}
