// A small world: sends in virtual time against brokers that do as they are told, a selector and a fault strategy between them.
//
//     route r{"a*4, b*4, c*4"};
//     selector s{...};
//     fault f{...};
//     world w{r, s, f};
//     w.at(5s, "b refuse");
//     w.at(20s, "b ok");
//     w.run({.sends = 6000, .every = 10ms});
//     ASSERT_TRUE(recovers_within(w, "b", 10s)) << ...
//
// One sender thread; attempts overlap as in a program that sends asynchronously. What a broker does is said in the words of
// `shunt cluster`: ok, latency D, code N, refuse, hang, drop.

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/testing/fault.hpp>
#include <shunt/sdk/testing/selector.hpp>
#include <shunt/sdk/view.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::sdk::testing {

/// What a broker does with an attempt that begins now.
struct reply {
    std::int32_t result = SHUNT_FB_GOOD;
    nanoseconds latency = std::chrono::milliseconds{1};  ///< EXPIRED takes the attempt's whole share whatever stands here
    std::int32_t code = 0;
};

/// One try of one send.
struct attempt {
    std::size_t send = 0;          ///< counts from 0
    int number = 1;                ///< of the attempt, from 1
    nanoseconds start{}, end{};
    std::string queue, broker;     ///< "" if there was none to send to
    std::optional<std::string> key;
    std::int32_t result = SHUNT_FB_GOOD;  ///< SHUNT_FB_*
    std::int32_t code = -1;        ///< the broker's; -1: no answer
    nanoseconds share{};           ///< of the deadline
    sdk::why why = sdk::why::plugin;

    [[nodiscard]] bool stored() const noexcept { return result == SHUNT_FB_GOOD && !queue.empty(); }
};

class world {
public:
    world(route& r, selector& s, fault& f) : route_(r), selector_(s), fault_(&f) {}
    /// Without a fault strategy: the route's verdicts stay as the test sets them.
    world(route& r, selector& s) : route_(r), selector_(s) {}

    nanoseconds timeout = std::chrono::seconds{3};  ///< of a send; each attempt gets its share of what is left
    int attempts = 3;                               ///< a send makes at most

    /// From `when` on the broker does as told: "b refuse", "b latency 800ms", "b code 2", "b hang", "b drop", "b ok".
    void at(nanoseconds when, std::string_view line)
    {
        std::string_view rest = line;
        const std::string broker{detail::next_word(rest)};
        const std::string_view what = detail::next_word(rest), more = detail::next_word(rest);
        const auto wrong = [&] {
            misuse("world: " + detail::quoted(line) + "; it must be BROKER and one of ok, latency D, code N, refuse, hang, drop");
        };
        if (route_.index(broker) == SHUNT_NONE)
            misuse("world: the route has no broker " + detail::quoted(broker));
        reply does;
        if (what == "latency") {
            const auto ns = detail::parse_with_unit(more, detail::duration_units);
            if (!ns)
                wrong();
            does.latency = nanoseconds{*ns};
        } else if (what == "code") {
            const char* const end = more.data() + more.size();
            does.result = SHUNT_FB_FAILED;
            if (more.empty() || std::from_chars(more.data(), end, does.code).ptr != end)
                wrong();
        } else if (what == "refuse") {
            does = {.result = SHUNT_FB_UNREACHABLE, .latency = nanoseconds{0}, .code = -1};
        } else if (what == "hang") {
            does = {.result = SHUNT_FB_EXPIRED, .latency = nanoseconds::max(), .code = -1};
        } else if (what == "drop") {
            does = {.result = SHUNT_FB_FAILED, .latency = does.latency, .code = -1};
        } else if (what != "ok" || !more.empty()) {
            wrong();
        }
        auto& changes = script_[broker];
        changes.emplace(std::ranges::upper_bound(changes, when, {}, &change::when), when, does);
    }
    /// Instead of a script: asked at the start of each attempt.
    void answers(std::function<reply(const std::string& broker, nanoseconds now)> f) { answers_ = std::move(f); }

    struct load {
        std::size_t sends = 100;
        nanoseconds every = std::chrono::milliseconds{10};  ///< one begins each
        std::string key = {};         ///< "order-{i}"; {i} counts the sends; empty: no key
        nanoseconds from = nanoseconds::min();  ///< min: where the run before ended
        std::size_t keys = 0;         ///< {i} counts from 0 to here, then again; 0: without end
    };

    /// Sends, and lets time pass until all of them have ended.
    void run(const load& l)
    {
        const nanoseconds from = l.from == nanoseconds::min() ? now_ : l.from;
        for (std::size_t i = 0; i < l.sends; ++i) {
            const std::size_t number = sends_.size();
            send_state s{.began = from + static_cast<std::int64_t>(i) * l.every};
            if (!l.key.empty()) {
                s.m.key = l.key;
                if (const std::size_t hole = s.m.key->find("{i}"); hole != std::string::npos)
                    s.m.key->replace(hole, 3, std::to_string(l.keys == 0 ? number : number % l.keys));
            }
            sends_.push_back(std::move(s));
            plan(sends_.back().began, step::attempt, number);
        }
        while (!events_.empty()) {
            const nanoseconds probe = next_probe();
            if (probe <= events_.top().at) {
                run_probe(probe);
                continue;
            }
            const event e = events_.top();
            events_.pop();
            now_ = e.at;
            if (e.what == step::attempt)
                try_once(e.which);
            else if (e.what == step::end)
                end(e.which);
            else
                --route_.load(log_[e.which].broker).inflight;
        }
    }

    /// Every attempt so far, in order of its start.
    [[nodiscard]] const std::vector<attempt>& log() const noexcept { return log_; }
    [[nodiscard]] nanoseconds now() const noexcept { return now_; }
    [[nodiscard]] std::size_t sends() const noexcept { return sends_.size(); }
    [[nodiscard]] std::size_t stored() const
    {
        return static_cast<std::size_t>(std::ranges::count_if(log_, [](const attempt& a) { return a.stored(); }));
    }
    /// First attempts that began in [from, to), by queue.
    [[nodiscard]] counts first_attempts(nanoseconds from = nanoseconds::min(), nanoseconds to = nanoseconds::max()) const
    {
        counts all;
        for (const attempt& a : log_)
            if (a.number == 1 && a.start >= from && a.start < to)
                ++all[a.queue];
        return all;
    }
    /// Since when the broker is well for good, by the script; nanoseconds::min(): always was.
    [[nodiscard]] nanoseconds well_since(const std::string& broker) const
    {
        nanoseconds since = nanoseconds::min();
        bool well = true;
        if (const auto s = script_.find(broker); s != script_.end())
            for (const change& c : s->second) {
                if (c.does.result == SHUNT_FB_GOOD && !well)
                    since = c.when;
                well = c.does.result == SHUNT_FB_GOOD;
            }
        return well ? since : nanoseconds::max();
    }
    [[nodiscard]] const route& sees() const noexcept { return route_; }
    /// What a strategy did that a host would count as its error; empty: nothing.
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

private:
    struct change {
        nanoseconds when;
        reply does;
        change(nanoseconds w, reply d) : when(w), does(d) {}
    };
    enum class step : std::uint8_t { attempt, end, unload };
    struct event {
        nanoseconds at;
        std::uint64_t order;
        step what;
        std::size_t which;
        friend bool operator>(const event& x, const event& y) { return std::pair{x.at, x.order} > std::pair{y.at, y.order}; }
    };
    struct send_state {
        nanoseconds began{};
        msg m = {};
        int made = 0;
    };

    void plan(nanoseconds at, step what, std::size_t which) { events_.push({at, order_++, what, which}); }

    [[nodiscard]] reply reply_of(const std::string& broker) const
    {
        if (answers_)
            return answers_(broker, now_);
        reply now;
        if (const auto s = script_.find(broker); s != script_.end())
            for (const change& c : s->second)
                if (c.when <= now_)
                    now = c.does;
        return now;
    }

    void refresh()
    {
        if (fault_ == nullptr || (!dirty_ && now_ < valid_until_))
            return;
        const judgement j = fault_->judge(route_, now_);
        if (!j.problem.empty())
            return note("the fault strategy: " + j.problem);
        route_.judge(j.available, j.reachable);
        valid_until_ = j.valid_until;
        dirty_ = false;
    }

    void try_once(std::size_t which)
    {
        send_state& s = sends_[which];
        refresh();
        selector_.host().now = now_;
        const answer a = selector_.ask(route_, s.m);
        attempt t{.send = which, .number = ++s.made, .start = now_, .end = now_, .queue = {}, .broker = {}, .key = s.m.key};
        if (!a.picked()) {
            if (!a.problem.empty())
                note("the selector: " + a.problem);
            t.result = SHUNT_FB_FAILED;
            log_.push_back(std::move(t));
            return;
        }
        t.queue = route_.name(a.pick.queue_index);
        t.broker = route_.broker_of(a.pick.queue_index);
        t.why = static_cast<sdk::why>(a.pick.why);
        const nanoseconds share = share_of(s);
        reply r = reply_of(t.broker);
        if (r.result == SHUNT_FB_EXPIRED || (r.result != SHUNT_FB_UNREACHABLE && r.latency > share))
            r = {.result = SHUNT_FB_EXPIRED, .latency = share, .code = -1};
        t.result = r.result;
        t.end = now_ + r.latency;
        t.code = r.code;
        t.share = share;
        ++route_.load(t.broker).inflight;
        plan(t.end, step::end, log_.size());
        log_.push_back(std::move(t));
    }

    /// What is left of the deadline, divided by the attempts that are left.
    [[nodiscard]] nanoseconds share_of(const send_state& s) const
    {
        const nanoseconds left = std::max(nanoseconds{1}, s.began + timeout - now_);
        return left / std::max(1, attempts - s.made + 1);
    }

    void end(std::size_t which)
    {
        const attempt& t = log_[which];
        send_state& s = sends_[t.send];
        shunt_load& l = route_.load(t.broker);
        if (t.result == SHUNT_FB_GOOD) {
            --l.inflight;
            const std::int64_t took = (t.end - t.start).count();
            l.ewma_latency_ns = l.ewma_latency_ns == 0 ? took : l.ewma_latency_ns + (took - l.ewma_latency_ns) / 8;
        } else {
            plan(now_ + std::chrono::seconds{1}, step::unload, which);  // a failed attempt counts on for a while
        }
        if (fault_ != nullptr) {
            const shunt_status said = fault_->tell(t.broker, {.at = now_, .result = t.result, .latency = t.end - t.start, .share = t.share,
                                                             .start = t.start, .code = t.code, .attempt = static_cast<std::uint32_t>(t.number)});
            heed(said);
        }
        if (t.result == SHUNT_FB_GOOD)
            return;
        if (std::ranges::find(s.m.tried, t.broker) == s.m.tried.end())
            s.m.tried.push_back(t.broker);
        if (s.made < attempts && now_ < s.began + timeout)
            plan(now_, step::attempt, t.send);
    }

    [[nodiscard]] nanoseconds next_probe() const
    {
        nanoseconds first = nanoseconds::max();
        if (fault_ != nullptr)
            for (const auto& [id, at] : fault_->host().probes)
                first = std::min(first, at);
        return first;
    }

    void run_probe(nanoseconds at)
    {
        now_ = std::max(now_, at);
        for (const std::string& b : route_.names())
            if (fault_->probe_at(b) == at) {
                heed(fault_->probed(b, now_, reply_of(b).result != SHUNT_FB_UNREACHABLE));
                // A connection takes its time: who asks again at once gets the next answer later.
                if (const auto p = fault_->host().probes.find(broker_id(b)); p != fault_->host().probes.end())
                    p->second = std::max(p->second, now_ + std::chrono::milliseconds{1});
                return;
            }
        std::erase_if(fault_->host().probes, [&](const auto& p) { return p.second == at; });  // of brokers that are not here
    }

    void heed(shunt_status said)
    {
        if (said < 0)
            note("the fault strategy: " + fault_->host().error);
        dirty_ = dirty_ || said == 1;
    }

    void note(const std::string& what)
    {
        if (problem_.empty())
            problem_ = "at " + detail::show(now_) + " " + what;
    }

    route& route_;
    selector& selector_;
    fault* fault_ = nullptr;
    std::map<std::string, std::vector<change>> script_;
    std::function<reply(const std::string&, nanoseconds)> answers_;
    std::priority_queue<event, std::vector<event>, std::greater<>> events_;
    std::uint64_t order_ = 0;
    std::vector<send_state> sends_;
    std::vector<attempt> log_;
    nanoseconds now_{}, valid_until_{};
    bool dirty_ = true;
    std::string problem_;
};

}  // namespace shunt::sdk::testing
