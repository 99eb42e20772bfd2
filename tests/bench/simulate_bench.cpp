// What running scenarios costs: a million sends over 8 queues, 10,000 attempts on 4,096 queues; and whether memory grows with sends.
// Prints one line of JSON: seconds of CPU, and by how many KiB the peak of memory rose from a hundredth of the sends to all of them.

#include <plugin/registry.hpp>
#include <simulate/run.hpp>
#include <simulate/scenario.hpp>

#include <sys/resource.h>

#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace shunt;

std::string text_of(int brokers, int queues, const std::string& send)
{
    std::string out = "[scenario]\npolicy = { selector = { use = \"best-queue\" }, fault = { use = \"latency-fault\" } }\n";
    for (int b = 0; b < brokers; ++b)
        out += "[[broker]]\nname = \"b" + std::to_string(b) + "\"\nqueues = " + std::to_string(queues) + "\n";
    return out + "[[at]]\ntime = \"0ms\"\n" + send + "\n";
}

/// Seconds of CPU.
double run(const std::string& text, std::uint64_t sends)
{
    plugin::registry strategies({}, plugin::bundled_folder());
    std::vector<config::problem> problems;
    const simulate::scenario s = simulate::read_scenario(text, "bench.toml", problems);
    if (!problems.empty())
        throw std::runtime_error(config::to_string(problems.front()));
    simulate::observer nobody;
    const std::clock_t begun = std::clock();
    const simulate::run_result r = simulate::run(s, strategies, nobody);
    const double seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    if (!r.error.empty() || r.sum.stored != sends)
        throw std::runtime_error("not all was stored: " + r.error);
    return seconds;
}

long peak_kib()
{
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

}  // namespace

int main()
{
    (void)run(text_of(4, 2, "send = 10000\ninflight = 100"), 10'000);
    const long before = peak_kib();
    const double million = run(text_of(4, 2, "send = 1000000\ninflight = 100"), 1'000'000);
    const long after = peak_kib();
    const double wide = run(text_of(64, 64, "send = 10000\nevery = \"1ms\""), 10'000);
    std::printf("{\"million_sends_s\":%.3f,\"wide_route_s\":%.3f,\"memory_growth_kib\":%ld}\n", million, wide, after - before);
}
