// What a host gives a strategy, in the test's hand: a clock that stands still until set, seeded dice, and a record of what
// the strategy logs, counts and asks for.

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/view.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace shunt::sdk::testing {

class fake_host {
public:
    fake_host()
    {
        table_.struct_size = sizeof table_;
        table_.abi_major = SHUNT_ABI_MAJOR;
        table_.abi_minor = SHUNT_ABI_MINOR;
        table_.ctx = this;
        // These four may be called from any thread.
        table_.log = [](void* c, std::int32_t, shunt_str s) {
            const std::lock_guard held(self(c).lock_);
            self(c).logged.emplace_back(text(s));
        };
        table_.set_error = [](void* c, shunt_str s) {
            const std::lock_guard held(self(c).lock_);
            self(c).error = text(s);
        };
        table_.random = [](void* c) {
            const std::lock_guard held(self(c).lock_);
            return self(c).dice();
        };
        table_.metric_add = [](void* c, std::uint32_t metric, double value) {
            const std::lock_guard held(self(c).lock_);
            if (metric < self(c).metric_values.size())
                self(c).metric_values[metric] += value;
        };
        table_.now_ns = [](void* c) { return self(c).now.count(); };
        table_.metric = [](void* c, shunt_str name, shunt_str) {
            self(c).metrics.emplace_back(text(name));
            self(c).metric_values.push_back(0);
            return static_cast<std::uint32_t>(self(c).metrics.size() - 1);
        };
        table_.request_probe = [](void* c, std::uint32_t broker, std::int64_t at) {
            self(c).probes[broker] = nanoseconds{at};
            ++self(c).probe_requests;
            return shunt_status{SHUNT_OK};
        };
        table_.extension = [](void*, shunt_str) { return static_cast<const void*>(nullptr); };
    }
    fake_host(const fake_host&) = delete;
    fake_host& operator=(const fake_host&) = delete;

    [[nodiscard]] const shunt_host* table() const noexcept { return &table_; }
    [[nodiscard]] std::string last_error()
    {
        const std::lock_guard held(lock_);
        return error;
    }

    nanoseconds now{};
    std::function<std::uint64_t()> dice = std::mt19937_64{1};
    std::map<std::uint32_t, nanoseconds> probes;  ///< pending, by broker id
    int probe_requests = 0;
    std::string error;                            ///< the last set_error
    std::vector<std::string> logged, metrics;
    std::vector<double> metric_values;            ///< of the metric with the same index

private:
    static fake_host& self(void* c) { return *static_cast<fake_host*>(c); }
    std::mutex lock_;
    shunt_host table_{};
};

}  // namespace shunt::sdk::testing
