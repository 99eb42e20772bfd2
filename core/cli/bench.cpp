// shunt bench: a load generator that tells what sending costs.

#include "arguments.hpp"
#include "command.hpp"
#include "console.hpp"
#include "interrupts.hpp"
#include "options_file.hpp"
#include "sending.hpp"
#include "tally.hpp"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace shunt::cli {

namespace {

constexpr std::string_view self = "bench";

struct bench_arguments {
    std::string config, name_server, topic = "bench";
    std::size_t size = 256;
    std::uint64_t count = 100'000;
    sending_plan plan;
    bool json = false;

    bench_arguments()
    {
        plan.mode = send_mode::async;
        plan.in_flight = 1024;
    }
};

constexpr std::string_view name_of(send_mode m) { return m == send_mode::sync ? "sync" : m == send_mode::async ? "async" : "oneway"; }

std::chrono::microseconds cpu_time(const rusage& u)
{
    const auto of = [](const timeval& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec); };
    return of(u.ru_utime) + of(u.ru_stime);
}

rusage usage()
{
    rusage u{};
    ::getrusage(RUSAGE_SELF, &u);
    return u;
}

int bench(const bench_arguments& a)
{
    producer_options options;
    if (a.config.empty()) {
        options.name_servers = {a.name_server};
    } else {
        auto loaded = load_options(self, a.config, strategies::checked);
        if (!loaded)
            return misused;
        options = std::move(loaded->options);
    }
    if (options.embedded)
        complain(self, "embedded = true: the brokers run in this process, so their CPU time and memory are in the numbers too");
    const auto send_timeout = options.send_timeout;
    auto made = make_producer(self, std::move(options));
    if (!made)
        return misused;
    producer& p = *made;

    const interrupts stop;
    const std::string body = body_of_size(0, a.size);
    tally sum;
    std::mutex sum_lock;
    std::uint64_t next = 0;
    sending_hooks hooks;
    hooks.next = [&](std::uint64_t& i, message& m) {
        if (next == a.count)
            return false;
        i = next++;
        m = message(a.topic, body);
        return true;
    };
    hooks.ended = [&](std::uint64_t i, receipt&& r) {
        const std::lock_guard lock(sum_lock);
        sum.add(i, r);
    };

    const rusage before = usage();
    const counters counted_before = p.counters();
    const auto begun = std::chrono::steady_clock::now();
    {
        const progress shown_meanwhile([&] {
            const std::lock_guard lock(sum_lock);
            const std::chrono::duration<double> so_far = std::chrono::steady_clock::now() - begun;
            return fmt::format("{} of {}, {:.0f}/s", grouped(sum.ended()), grouped(a.count),
                               static_cast<double>(sum.ended()) / so_far.count());
        });
        send_all(p, a.plan, hooks, stop);
    }
    const auto took = std::chrono::steady_clock::now() - begun;
    const rusage after = usage();
    const counters counted_after = close_and_count(p, send_timeout);

    const auto messages = static_cast<double>(std::max<std::uint64_t>(sum.ended(), 1));
    const double rate = messages / std::chrono::duration<double>(took).count();
    const double cpu_us = static_cast<double>((cpu_time(after) - cpu_time(before)).count()) / messages;
    const double writes = static_cast<double>(counted_after.writes - counted_before.writes) / messages;
    const std::uint64_t peak_rss = static_cast<std::uint64_t>(after.ru_maxrss) * 1024;

    bool all_well = sum.well() == sum.ended();
    if (stop.requested()) {
        complain(self, "interrupted after " + counted(sum.ended(), "message"));
        all_well = false;
    }
    complain(self, sum.failures_text());
    output out;
    if (a.json) {
        json object;
        object.object().member("mode", name_of(a.plan.mode)).member("size", a.size).member("count", a.count);
        object.member("in_flight", a.plan.mode == send_mode::sync ? a.plan.threads : a.plan.in_flight);
        object.member("threads", a.plan.threads);
        sum.put(object, took);
        object.key("rate").value(rate, 1).key("cpu_us_per_message").value(cpu_us).key("writes_per_message").value(writes, 4);
        object.member("peak_rss_bytes", peak_rss);
        put_counters(object, counted_after);
        out.line(object.end_object().text());
    } else {
        out.write(sum.table_text(took));
        out.write(fmt::format("cost: {:.1f} us CPU and {:.3f} writes a message, {:.1f} MiB at most\n", cpu_us, writes,
                              static_cast<double>(peak_rss) / (1024 * 1024)));
    }
    return out.finish(self) && all_well ? done : failed;
}

}  // namespace

void add_bench(CLI::App& program, chosen_command& chosen)
{
    auto a = std::make_shared<bench_arguments>();
    CLI::App& app = *program.add_subcommand(
        "bench", "Sends as fast as it goes and tells rate, latencies, CPU time, memory, writes a message, and the spread.");
    auto& where = *app.add_option_group("where", "where to send");
    add_text(where, "-c,--config", a->config, "the configuration, see config/shunt.toml")->type_name("FILE");
    add_option(where, "--name-server", config::address_rule(), a->name_server,
               "instead of a configuration: all else as it is unless said")->type_name("HOST:PORT");
    where.require_option(1);
    add_text(app, "-t,--topic", a->topic, "where to; bench unless said")->type_name("TOPIC");
    add_option(app, "--mode", config::enumerated<send_mode>{{{"sync", "async", "oneway"}}}, a->plan.mode,
               "async unless said");
    add_option(app, "--size", config::byte_size{1, 64 * 1024 * 1024}, a->size, "of a body; 256 unless said")->type_name("BYTES");
    add_option(app, "--count", config::whole_number{1, 1'000'000'000'000}, a->count, "messages; 100000 unless said")->type_name("N");
    add_option(app, "--in-flight", config::whole_number{1, 1'000'000}, a->plan.in_flight,
               "async, oneway: at most so many at once; 1024 unless said")->type_name("N");
    add_option(app, "--threads", config::whole_number{1, 256}, a->plan.threads, "that send; 1 unless said")->type_name("N");
    app.add_flag("--json", a->json, "one object");
    app.callback([a, &chosen] { chosen = [a] { return bench(*a); }; });
}

}  // namespace shunt::cli
