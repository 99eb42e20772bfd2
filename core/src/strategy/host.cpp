#include <strategy/host.hpp>

#include <utility>

namespace shunt::strategy {

namespace {

thread_local std::string last_error;

constexpr std::size_t max_error_text = 1024;
constexpr std::uint32_t max_log_lines = 10;             // a second and instance
constexpr std::int64_t log_window_ns = 1'000'000'000;

}  // namespace

std::string host_table::take_error() { return std::exchange(last_error, {}); }

void host_table::failed(std::string_view what)
{
    constexpr std::int64_t gap_ns = 10'000'000'000;
    const std::int64_t now = env_.now_ns();
    std::string line;
    {
        const std::lock_guard lock(counters_lock_);
        last_failure_ = "policy \"" + policy_ + "\", strategy \"" + strategy_ + "\": " + std::string(what.substr(0, max_error_text));
        ++unlogged_failures_;
        if (now < next_failure_line_ns_)
            return;
        next_failure_line_ns_ = now + gap_ns;
        line = last_failure_;
        if (unlogged_failures_ > 1)
            line += " (" + std::to_string(unlogged_failures_) + " times since the last such line)";
        unlogged_failures_ = 0;
    }
    env_.log(SHUNT_LOG_WARN, line);
}

std::string host_table::last_failure() const
{
    const std::lock_guard lock(counters_lock_);
    return last_failure_;
}

host_table::host_table(environment& env, std::string policy, std::string strategy)
    : env_(env), policy_(std::move(policy)), strategy_(std::move(strategy))
{
    table_.struct_size = sizeof table_;
    table_.abi_major = SHUNT_ABI_MAJOR;
    table_.abi_minor = SHUNT_ABI_MINOR;
    table_.ctx = this;
    table_.log = [](void* ctx, std::int32_t level, shunt_str text) {
        auto& self = *static_cast<host_table*>(ctx);
        const std::int64_t window = self.env_.now_ns() / log_window_ns;
        if (self.log_window_.exchange(window, std::memory_order_relaxed) != window)
            self.log_lines_.store(0, std::memory_order_relaxed);
        if (self.log_lines_.fetch_add(1, std::memory_order_relaxed) >= max_log_lines)
            return;
        self.env_.log(level, "policy \"" + self.policy_ + "\", strategy \"" + self.strategy_ + "\": " + std::string(from_str(text)));
    };
    table_.set_error = [](void*, shunt_str text) { last_error = from_str(text).substr(0, max_error_text); };
    table_.now_ns = [](void* ctx) { return static_cast<host_table*>(ctx)->env_.now_ns(); };
    table_.random = [](void* ctx) { return static_cast<host_table*>(ctx)->env_.random(); };
    table_.metric = [](void* ctx, shunt_str name, shunt_str help) {
        auto& self = *static_cast<host_table*>(ctx);
        const std::lock_guard lock(self.counters_lock_);
        auto& counter = self.counters_.emplace_back();
        counter.name = from_str(name);
        counter.help = from_str(help);
        return static_cast<std::uint32_t>(self.counters_.size() - 1);
    };
    table_.metric_add = [](void* ctx, std::uint32_t metric, double value) {
        auto& self = *static_cast<host_table*>(ctx);
        const std::lock_guard lock(self.counters_lock_);
        if (metric < self.counters_.size())
            self.counters_[metric].value.fetch_add(value, std::memory_order_relaxed);
    };
    table_.request_probe = [](void* ctx, std::uint32_t broker_id, std::int64_t at_ns) -> shunt_status {
        auto& self = *static_cast<host_table*>(ctx);
        self.env_.request_probe(self.policy_, broker_id, at_ns);
        return SHUNT_OK;
    };
    table_.extension = [](void*, shunt_str) -> const void* { return nullptr; };
}

}  // namespace shunt::strategy
