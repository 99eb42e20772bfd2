// Drives one instance of a fault strategy through its C table: tells it what happened, asks who is well. Time is a parameter
// of every call.
//
//     fault f{plugin{"build/libmy_fault.so"}};
//     f.refused("b", 1s);
//     f.verdict("b", 1s);      "cut off"

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/testing/instance.hpp>
#include <shunt/sdk/testing/plugin.hpp>
#include <shunt/sdk/testing/route.hpp>
#include <shunt/sdk/testing/settings.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::sdk::testing {

/// The word of a fault strategy on each broker of a route, by the broker's index.
struct judgement {
    std::vector<bool> available = {}, reachable = {};
    nanoseconds valid_until{};  ///< when time alone can change it; nanoseconds::max(): never
    std::string problem = {};   ///< what a host would count as the plugin's error; empty: nothing

    [[nodiscard]] verdict of(std::uint32_t broker) const
    {
        return available[broker] ? verdict::available : reachable[broker] ? verdict::reachable : verdict::cut_off;
    }
    friend bool operator==(const judgement& x, const judgement& y)
    {
        return x.available == y.available && x.reachable == y.reachable && x.problem == y.problem;
    }
};

class fault : public detail::instance_of<shunt_fault_class, shunt_fault> {
public:
    explicit fault(const plugin& p, const settings& given = {}, start_at at = {}) : fault(p, given, at, true) {}
    fault(const plugin& p, unchecked_t, const settings& given, start_at at = {}) : fault(p, given, at, false) {}

    /// What happened to an attempt or a probe.
    struct event {
        nanoseconds at{};                        ///< when it ended
        std::int32_t kind = SHUNT_FB_SEND;
        std::int32_t result = SHUNT_FB_GOOD;
        nanoseconds latency{};
        nanoseconds share = std::chrono::seconds{1};  ///< of the deadline
        nanoseconds start = nanoseconds::min();       ///< min: `at` minus the latency
        std::int32_t code = -1;                       ///< the broker's; -1: no answer
        std::uint32_t attempt = 1;
    };

    /// 1: the verdicts may have changed; 0: they have not; negative: an error, its text in host().error.
    shunt_status tell(const std::string& broker, const event& e)
    {
        must_be_made();
        host_.now = e.at;
        shunt_feedback f{};
        f.struct_size = sizeof f;
        f.kind = e.kind;
        f.result = e.result;
        f.broker_id = broker_id(broker);
        f.attempt = e.attempt;
        f.broker_code = e.code;
        f.at_ns = e.at.count();
        f.start_ns = (e.start == nanoseconds::min() ? e.at - e.latency : e.start).count();
        f.latency_ns = e.latency.count();
        f.share_ns = e.share.count();
        return table_.on_feedback(instance_, &f, sizeof f, 1);
    }
    shunt_status good(const std::string& broker, nanoseconds at, nanoseconds latency)
    {
        return tell(broker, {.at = at, .latency = latency, .code = 0});
    }
    shunt_status failed(const std::string& broker, nanoseconds at) { return tell(broker, {.at = at, .result = SHUNT_FB_FAILED}); }
    shunt_status refused(const std::string& broker, nanoseconds at) { return tell(broker, {.at = at, .result = SHUNT_FB_UNREACHABLE}); }
    shunt_status expired(const std::string& broker, nanoseconds at, nanoseconds share)
    {
        return tell(broker, {.at = at, .result = SHUNT_FB_EXPIRED, .share = share, .start = at - share});
    }
    shunt_status probed(const std::string& broker, nanoseconds at, bool accepted)
    {
        host_.probes.erase(broker_id(broker));
        return tell(broker, {.at = at, .kind = SHUNT_FB_PROBE, .result = accepted ? SHUNT_FB_GOOD : SHUNT_FB_UNREACHABLE});
    }
    /// It left every route of the producer.
    shunt_status left(const std::string& broker, nanoseconds at) { return tell(broker, {.at = at, .kind = SHUNT_FB_LEFT}); }

    judgement judge(const route& r, nanoseconds now)
    {
        must_be_made();
        host_.now = now;
        const std::uint32_t n = r.view().n_brokers;
        std::vector<std::uint64_t> available((n + 63) / 64), reachable((n + 63) / 64);
        std::int64_t until = INT64_MAX;
        const shunt_status s = table_.evaluate(instance_, r.view().brokers, r.view().broker_stride, n, now.count(), available.data(),
                                               reachable.data(), &until);
        judgement j{.available = std::vector<bool>(n), .reachable = std::vector<bool>(n), .valid_until = nanoseconds{until}};
        if (s != SHUNT_OK)
            j.problem = s < 0 && !host_.error.empty() ? host_.error : "evaluate answered status " + std::to_string(s);
        if (n % 64 != 0 && (available.back() >> (n % 64) != 0 || reachable.back() >> (n % 64) != 0))
            j.problem = "evaluate set bits past the last broker";
        for (std::uint32_t i = 0; i < n; ++i) {
            j.available[i] = (available[i / 64] >> (i % 64) & 1) != 0;
            j.reachable[i] = j.available[i] || (reachable[i / 64] >> (i % 64) & 1) != 0;
        }
        return j;
    }

    /// Of a broker all alone: "available", "reachable", "cut off", or "error: ...".
    std::string verdict(const std::string& broker, nanoseconds now) { return verdict(route(std::vector<testing::broker>{{.name = broker, .queues = 1}}), broker, now); }
    std::string verdict(const route& r, const std::string& broker, nanoseconds now)
    {
        const judgement j = judge(r, now);
        if (!j.problem.empty())
            return "error: " + j.problem;
        const std::uint32_t b = r.index(broker);
        if (b == SHUNT_NONE)
            misuse("the route has no broker " + detail::quoted(broker));
        return std::string{to_string(j.of(b))};
    }

    /// When the probe it asked for is due; nanoseconds{-1}: none is pending.
    [[nodiscard]] nanoseconds probe_at(const std::string& broker) const
    {
        const auto p = host_.probes.find(broker_id(broker));
        return p == host_.probes.end() ? nanoseconds{-1} : p->second;
    }

    [[nodiscard]] std::string export_state(nanoseconds now)
    {
        must_be_made();
        if (table_.export_state == nullptr)
            misuse(std::string{text(table_.name)} + " offers no state");
        host_.now = now;
        std::string bytes;
        if (write_state(bytes) != SHUNT_OK)
            misuse("export_state failed: " + host_.error);
        return bytes;
    }
    shunt_status import_state(std::uint32_t schema, std::string_view bytes, nanoseconds now)
    {
        host_.now = now;
        return read_state(schema, bytes);
    }

private:
    fault(const plugin& p, const settings& given, start_at at, bool checked) : instance_of(p.fault(), "fault strategy", given, at, checked) {}
};

}  // namespace shunt::sdk::testing
