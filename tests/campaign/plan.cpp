#include <campaign/plan.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

namespace shunt::campaign {

namespace {

using std::chrono::milliseconds;

constexpr int sending_us = 1'500'000;          // the slower senders take so long
constexpr int faulty_ms = 900;               // faults begin within the first so many
constexpr int most_messages = 6000;          // of a round
constexpr std::size_t most_shown = 6;
constexpr int most_bytes = 24 * 1024 * 1024;

constexpr const char* selectors[] = {"best-queue", "round-robin", "weighted-round-robin", "random", "weighted-random", "hash",
                                     "consistent-hash", "least-inflight", "power-of-two"};
constexpr const char* fault_strategies[] = {"none", "latency-fault", "circuit-breaker"};
constexpr const char* ordered_selectors[] = {"hash", "consistent-hash"};
constexpr way ways[] = {way::sync, way::async, way::async, way::one_way, way::batch, way::ordered, way::ordered, way::transaction, way::timed, way::request};

sender_plan make_sender(dice& d, int id, int messages, int& bytes)
{
    sender_plan s;
    s.id = id;
    s.how = d.of(ways);
    s.bound = d.one_in(2);
    s.topic = s.how == way::ordered ? "L" : s.how == way::request ? "R" : d.one_in(2) ? "T" : "U";
    s.messages = std::max(1, s.how == way::request || s.how == way::transaction ? messages / 4 : messages);
    s.largest = std::clamp(d.scaled(16, 1024 * 1024), 16, std::max(16, bytes / s.messages));
    bytes -= s.largest * s.messages / 2;  // bodies are smaller than the largest
    s.window = d.scaled(1, 200);
    s.gap_us = d.one_in(4) ? 0 : d.scaled(10, std::max(10, sending_us / s.messages));
    s.keys = d.scaled(1, 20);
    s.timeout_ms = d.one_in(4) ? d.scaled(30, 1500) : 0;
    return s;
}

std::string broker_fault(dice& d)
{
    constexpr const char* codes[] = {"1", "2", "10", "11", "12", "13", "14", "16", "17", "204", "205", "501", "1500", "0"};
    switch (d.between(0, 19)) {
    case 0: return fmt::format("latency {}ms", d.scaled(1, 800));
    case 1: return std::string("code ") + d.of(codes);
    case 2: return "refuse";
    case 3: return "hang";
    case 4: return "hang stored";
    case 5: return "drop";
    case 6: return "drop stored";
    case 7: return "half";
    case 8: return "close";
    case 9: return "garbage";
    case 10: return "twice";
    case 11: return fmt::format("perm {}", d.between(0, 7));
    case 12: return fmt::format("queues {} {}", d.between(0, 10), d.one_in(2) ? "T" : "L");
    case 13: return "gone";
    case 14: return "move 0";
    case 15: return "stall";
    case 16:
    case 17:
    case 18: return std::string("code ") + d.of(codes);
    default: return "refuse";
    }
}

std::string producer_event(dice& d)
{
    switch (d.between(0, 7)) {
    case 0: return "rollback";
    case 1: return "barrier";
    case 2: return d.one_in(2) ? "names dead first" : "names dead last";
    case 3: return fmt::format("canary {} {}", d.of(selectors), d.of(fault_strategies));
    case 4: return fmt::format("order {}", d.of(ordered_selectors));
    case 5: return d.one_in(3) ? fmt::format("close {}", d.scaled(1, 1000)) : "rollback";
    default: return fmt::format("policy {} {}", d.of(selectors), d.of(fault_strategies));
    }
}

fault_plan make_fault(dice& d, int id, int brokers)
{
    constexpr const char* of_names[] = {"hang", "refuse", "forget", "stale"};
    fault_plan f;
    f.id = id;
    f.at_ms = d.between(0, faulty_ms);
    f.for_ms = d.scaled(5, 800);
    switch (d.between(0, 9)) {
    case 0:
        f.subject = "name-server";
        f.what = d.of(of_names);
        break;
    case 1:
    case 2:
        f.subject = "producer";
        f.what = producer_event(d);
        f.for_ms = 0;
        break;
    default:
        f.subject = std::string("broker-") + static_cast<char>('a' + d.between(0, brokers - 1));
        f.what = broker_fault(d);
    }
    return f;
}

producer_options make_options(dice& d)
{
    producer_options o;
    o.group = "campaign";
    o.send_timeout = milliseconds(d.scaled(60, 1500));
    o.attempts = static_cast<std::uint32_t>(d.between(1, 5));
    o.retry_backoff = milliseconds(d.between(0, 20));
    o.retry_unknown = !d.one_in(4);
    o.retry_flush_late = d.one_in(4);
    o.attempt_timeout = milliseconds(d.one_in(4) ? d.scaled(20, 300) : 0);
    if (d.one_in(3)) {
        o.max_in_flight_messages = static_cast<std::size_t>(d.scaled(1, 300));
        o.max_in_flight_bytes = static_cast<std::size_t>(d.between(2, 16)) * 1024 * 1024;
        constexpr when_full full[] = {when_full::wait, when_full::refuse, when_full::suspend};
        o.when_full = d.of(full);
    }
    constexpr compression by[] = {compression::none, compression::none, compression::zlib, compression::lz4, compression::zstd};
    o.compress = d.of(by);
    o.auto_batch = d.one_in(3);
    o.batch_linger = milliseconds(d.between(1, 20));
    o.batch_messages = static_cast<std::uint32_t>(d.scaled(2, 1024));
    o.format = d.one_in(3) ? wire_format::rocketmq : wire_format::json;
    o.route_refresh = milliseconds(d.scaled(100, 30'000));
    o.heartbeat = milliseconds(d.scaled(1000, 30'000));
    o.connect_timeout = milliseconds(d.scaled(50, 3000));
    o.swap.probation = milliseconds(0);
    o.swap.preflight = preflight_rule::off;
    o.swap.quiet = milliseconds(d.scaled(10, 500));
    return o;
}

when_no_queue make_no_queue(dice& d)
{
    constexpr when_no_queue all[] = {when_no_queue::wait, when_no_queue::wait, when_no_queue::any, when_no_queue::fail};
    return d.of(all);
}

template <typename T>
std::vector<T> only(const std::vector<T>& all, std::span<const int> ids)
{
    std::vector<T> kept;
    std::copy_if(all.begin(), all.end(), std::back_inserter(kept),
                 [&](const T& one) { return std::find(ids.begin(), ids.end(), one.id) != ids.end(); });
    return kept;
}

}  // namespace

int dice::scaled(int low, int high) noexcept
{
    const double share = static_cast<double>(next() >> 11) * 0x1p-53;
    return static_cast<int>(std::lround(low * std::pow(static_cast<double>(high) / low, share)));
}

plan make_plan(std::uint64_t seed)
{
    dice d(seed * 0x2545f4914f6cdd1dULL + 1);
    plan p;
    p.seed = seed;
    p.brokers = d.between(1, 4);
    p.queues = d.scaled(1, 12);
    p.binary_answers = d.one_in(3);
    p.selector = d.of(selectors);
    p.fault_strategy = d.of(fault_strategies);
    p.ordered_selector = d.of(ordered_selectors);
    constexpr const char* names[] = {"one", "one", "one", "dead first", "dead last"};
    p.name_servers = d.of(names);
    p.producer = make_options(d);
    policy_options usual, in_order;
    usual.selector.use = p.selector;
    usual.fault.use = p.fault_strategy;
    usual.when_no_queue = make_no_queue(d);
    in_order.selector.use = p.ordered_selector;
    in_order.fault.use = d.of(fault_strategies);
    in_order.ordered = true;
    in_order.when_no_queue = make_no_queue(d);
    p.producer.policies["default"] = usual;
    p.producer.policies["in-order"] = in_order;
    binding_options bound;
    bound.topic = "L";
    bound.policy = "in-order";
    p.producer.bindings.push_back(bound);

    const int senders = d.scaled(1, 64);
    int bytes = most_bytes;
    for (int i = 0; i < senders; ++i)
        p.senders.push_back(make_sender(d, i, std::max(1, d.scaled(20, most_messages) / senders), bytes));
    const int faults = d.one_in(12) ? 0 : d.between(1, 12);
    for (int i = 0; i < faults; ++i)
        p.faults.push_back(make_fault(d, i, p.brokers));
    return p;
}

plan part_of(const plan& whole, std::span<const int> senders, std::span<const int> faults, int messages)
{
    plan p = whole;
    p.senders = only(whole.senders, senders);
    p.faults = only(whole.faults, faults);
    for (sender_plan& s : p.senders)
        s.messages = std::min(s.messages, messages);
    return p;
}

std::string to_text(const plan& p)
{
    const producer_options& o = p.producer;
    std::string text = fmt::format(
        "  {} brokers, {} queues{}; {} with {}, in order by {}; name servers: {}\n"
        "  timeout {} ms, {} attempts, attempt {} ms, backoff {} ms, unknown {}, at most {} messages in flight{}{}{}\n",
        p.brokers, p.queues, p.binary_answers ? ", binary answers" : "", p.selector, p.fault_strategy, p.ordered_selector, p.name_servers,
        o.send_timeout.count(), o.attempts, o.attempt_timeout.count(), o.retry_backoff.count(), o.retry_unknown ? "retried" : "not retried",
        o.max_in_flight_messages, o.auto_batch ? ", auto-batch" : "", o.compress == compression::none ? "" : ", compressed",
        o.format == wire_format::json ? "" : ", binary headers");
    if (p.senders.size() > most_shown)
        text += fmt::format("  {} senders\n", p.senders.size());
    for (const sender_plan& s : p.senders.size() > most_shown ? std::vector<sender_plan>() : p.senders)
        text += fmt::format("  sender {}: {}{} to {}, {} messages of up to {} bytes, window {}, gap {} us, {} keys{}\n", s.id, to_string(s.how),
                            s.bound ? " (bound)" : "", s.topic, s.messages, s.largest, s.window, s.gap_us, s.keys,
                            s.timeout_ms == 0 ? "" : fmt::format(", timeout {} ms", s.timeout_ms));
    for (const fault_plan& f : p.faults)
        text += fmt::format("  fault {}: +{} ms {} {}{}\n", f.id, f.at_ms, f.subject, f.what, f.for_ms == 0 ? "" : fmt::format(", for {} ms", f.for_ms));
    return text;
}

}  // namespace shunt::campaign
