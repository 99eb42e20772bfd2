#include <cluster/script.hpp>

#include <cluster/fault.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shunt::cluster {
namespace {

/// Empty when the command is fine.
std::string command_problem(std::string_view command)
{
    std::string_view rest = command;
    const std::string_view word = next_word(rest);
    if (word == "ledger")
        return {};
    if (word == "quit")
        return rest.empty() ? std::string{} : fmt::format("'{}' after quit; nothing may follow it", rest);
    fault_command parsed;
    return parse_fault(command, parsed);
}

}  // namespace

script parse_script(std::string_view text, std::string_view file)
{
    script result;
    int number = 0;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view rest = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        ++number;
        const std::string_view time = next_word(rest);
        if (time.empty() || time.front() == '#')
            continue;
        const auto wrong = [&](std::string_view what) { result.errors.push_back(fmt::format("{}:{}: {}", file, number, what)); };
        script_step step;
        if (time.front() != '+' || !parse_duration(time.substr(1), step.at)) {
            wrong(fmt::format("the line begins with '{}'; it must begin with a time such as +2s or +500ms", time));
            continue;
        }
        const auto last = rest.find_last_not_of(" \t\r");
        step.command = rest.substr(0, last == std::string_view::npos ? 0 : last + 1);
        step.line = number;
        if (const std::string problem = command_problem(step.command); !problem.empty()) {
            wrong(problem);
            continue;
        }
        result.steps.push_back(std::move(step));
    }
    std::stable_sort(result.steps.begin(), result.steps.end(),
                     [](const script_step& a, const script_step& b) { return a.at < b.at; });
    return result;
}

script_runner::script_runner(std::vector<script_step> steps, std::function<void(const script_step&)> carry_out)
{
    const auto start = std::chrono::steady_clock::now();
    thread_ = std::thread([this, start, steps = std::move(steps), carry_out = std::move(carry_out)] {
        std::unique_lock lock(mutex_);
        for (const script_step& step : steps) {
            if (stopped_.wait_until(lock, start + step.at, [this] { return stop_; }))
                return;
            lock.unlock();
            carry_out(step);
            lock.lock();
        }
    });
}

script_runner::~script_runner()
{
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    stopped_.notify_all();
    thread_.join();
}

}  // namespace shunt::cluster
