#include "tally.hpp"

#include "console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace shunt::cli {

namespace {

constexpr std::array percentiles{std::pair{"p50", 0.5}, std::pair{"p95", 0.95}, std::pair{"p99", 0.99}, std::pair{"p999", 0.999}};
constexpr std::array outcomes{outcome::stored, outcome::not_sent, outcome::unknown, outcome::rejected};
constexpr std::size_t most_rows = 100;  // more queues than this are not listed one by one

std::int64_t in_us(std::chrono::nanoseconds d) { return std::chrono::duration_cast<std::chrono::microseconds>(d).count(); }

double seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

void tally::add(std::uint64_t i, const receipt& r)
{
    ++ended_;
    ++outcomes_[static_cast<std::size_t>(r.outcome)];
    attempts_ += r.attempts.size();
    if (!r.attempts.empty())
        latencies_.add(r.latency);
    const bool doubtful = std::any_of(r.attempts.begin(), r.attempts.end(), [](const attempt& a) { return a.outcome == outcome::unknown; });
    if (r.attempts.size() > 1 && doubtful)
        ++maybe_twice_;
    if (!r.error.failed()) {
        ++well_;
        ++by_queue_[{r.broker, r.queue}];
        return;
    }
    failure& f = failures_[{r.outcome, r.error.value()}];
    if (f.count++ == 0 || i < f.first) {
        f.first = i;
        f.example = why_not(r);
    }
}

std::map<std::string_view, std::uint64_t> tally::by_broker() const
{
    std::map<std::string_view, std::uint64_t> sums;
    for (const auto& [queue, n] : by_queue_)
        sums[queue.first] += n;
    return sums;
}

void tally::put(json& out, std::chrono::nanoseconds took) const
{
    out.member("sent", ended_);
    for (const outcome o : outcomes)
        out.member(to_string(o), of(o));
    out.member("attempts", attempts_);
    out.member("maybe_twice", maybe_twice_);
    out.key("seconds").value(seconds(took), 6);
    out.key("by_queue").object();
    for (const auto& [queue, n] : by_queue_)
        out.member(fmt::format("{}/{}", queue.first, queue.second), n);
    out.end_object().key("by_broker").object();
    for (const auto& [broker, n] : by_broker())
        out.member(broker, n);
    out.end_object().key("latency_us").object();
    for (const auto& [name, part] : percentiles)
        out.member(name, in_us(latencies_.percentile(part)));
    out.member("max", in_us(latencies_.max())).end_object();
}

std::string tally::table_text(std::chrono::nanoseconds took) const
{
    const auto share = [this](std::uint64_t n) {
        return fmt::format("{:.1f} %", 100.0 * static_cast<double>(n) / static_cast<double>(std::max<std::uint64_t>(well_, 1)));
    };
    std::string out;
    if (well_ != 0) {
        const auto left = table::side::left, right = table::side::right;
        table t({left, right, right, right});
        t.row({"broker", "queue", "messages", "share"});
        for (const auto& [broker, sum] : by_broker()) {
            const auto first = by_queue_.lower_bound({broker, INT32_MIN});
            for (auto it = first; by_queue_.size() <= most_rows && it != by_queue_.end() && it->first.first == broker; ++it)
                t.row({std::string(broker), std::to_string(it->first.second), grouped(it->second), share(it->second)});
            t.row({std::string(broker), "all", grouped(sum), share(sum)});
        }
        out += t.text() + "\n";
    }
    out += fmt::format("{} in {}", counted(ended_, "message"), shown(took));
    if (seconds(took) > 0)
        out += fmt::format(", {:.0f}/s", static_cast<double>(ended_) / seconds(took));
    out += ":";
    for (const outcome o : outcomes) {
        if (of(o) != 0 || o == outcome::stored)
            out += fmt::format(" {} {}{}", grouped(of(o)), to_string(o),
                               o == outcome::unknown && well_ > of(outcome::stored) ? " (written one-way)" : "");
    }
    out += fmt::format("; {}\n", counted(attempts_, "attempt"));
    if (maybe_twice_ != 0)
        out += fmt::format("{} sent again after an attempt that may have stored: there perhaps more than once\n", grouped(maybe_twice_));
    if (latencies_.count() != 0) {
        out += "latency:";
        for (const auto& [name, part] : percentiles)
            out += fmt::format(" {} {}, ", name, shown(latencies_.percentile(part)));
        out += fmt::format("max {}\n", shown(latencies_.max()));
    }
    return out;
}

std::string tally::failures_text() const
{
    std::string out;
    for (const auto& [kind, f] : failures_)
        out += fmt::format("{} {}; message {}: {}\n", grouped(f.count), to_string(kind.first), f.first, f.example);
    return out;
}

void put_counters(json& out, const counters& c)
{
    out.key("counters").object();
    for (const auto& [name, n] : {
             std::pair{"sends", c.sends}, {"stored", c.stored}, {"not_sent", c.not_sent}, {"unknown", c.unknown},
             {"rejected", c.rejected}, {"attempts", c.attempts}, {"decisions", c.decisions}, {"plugin_errors", c.plugin_errors},
             {"selector_abstained", c.selector_abstained}, {"late_answers", c.late_answers}, {"bad_frames", c.bad_frames},
             {"connects", c.connects}, {"connects_failed", c.connects_failed}, {"connections_lost", c.connections_lost},
             {"route_queries", c.route_queries}, {"route_changes", c.route_changes}, {"heartbeats", c.heartbeats},
             {"writes", c.writes}, {"bytes_written", c.bytes_written}, {"callbacks_threw", c.callbacks_threw},
             {"in_flight_messages", c.in_flight_messages}, {"in_flight_bytes", c.in_flight_bytes}, {"lanes", c.lanes},
             {"connections", c.connections}})
        out.member(name, n);
    out.member("last_plugin_error", c.last_plugin_error);
    out.end_object();
}

std::string plugin_trouble(const counters& c)
{
    if (c.plugin_errors == 0)
        return {};
    return fmt::format("{} of the strategies failed, best-queue's rule or no verdict stood in; the last: {}\n", counted(c.plugin_errors, "call"),
                       c.last_plugin_error);
}

std::string why_not(const receipt& r)
{
    // The words of the attempt that the outcome comes from: the last that may have stored, that was rejected, or the last.
    const auto telling = std::find_if(r.attempts.rbegin(), r.attempts.rend(), [&](const attempt& a) { return a.outcome == r.outcome; });
    std::string text = r.attempts.empty() && !r.reason.empty() ? r.reason : r.error.message();
    if (telling != r.attempts.rend()) {
        const auto number = r.attempts.rend() - telling;
        text += fmt::format("; attempt {} of {} on {} queue {}: ", number, r.attempts.size(), telling->broker, telling->queue);
        if (telling->code >= 0)
            text += fmt::format("answered {} ", telling->code);
        text += telling->text;
    }
    if (!r.attempts.empty() && !r.reason.empty())
        text += "; " + r.reason;
    return text;
}

}  // namespace shunt::cli
