// Selectors: what they pick, from routes and for messages of every shape.

#include <plugin/check/situation.hpp>

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shunt::plugin::check {

namespace {

using strategy::in_quotes;

/// Queues by broker, of every shape: one queue, brokers without any, masks that end within, at and past a word.
const std::vector<std::vector<std::uint32_t>>& shapes()
{
    static const std::vector<std::vector<std::uint32_t>> all{{1}, {4}, {1, 1}, {4, 4, 4}, {0, 4, 0, 2}, {1, 63, 64, 65}, route::even(64, 1)};
    return all;
}

std::string nth_key(std::uint64_t n) { return fmt::format("order-{}", n); }

/// Every other message has a key.
answer ask_nth(selector_instance& i, const route& r, std::uint64_t n, dice& d)
{
    const std::string key = nth_key(n);
    return i.select(r, {.key = key, .has_key = n % 2 == 0, .random = d.next(), .properties = nth_properties(n)});
}

/// Says of a rule that forbids to give none, what was given instead of a queue.
std::string gave_none(const answer& a) { return a.status == SHUNT_ABSTAIN ? "abstained" : "answered that there is no queue"; }

outcome select_range(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    for (const auto& shape : shapes()) {
        route r(shape);
        selector_instance i(s, h, 3);
        for (std::uint64_t n = 0; n < 200; ++n) {
            if (n == 100 && r.n_brokers() > 1)
                r.isolate(static_cast<std::uint32_t>(r.broker_of(0)), n % 2 == 0);
            (void)ask_nth(i, r, n, d);
        }
        i.end();
    }
    return {};
}

outcome select_why(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    route r(route::even(3, 4));
    selector_instance i(s, h);
    for (std::uint64_t n = 0; n < 64; ++n) {
        const answer a = ask_nth(i, r, n, d);
        if (a.status == SHUNT_OK && a.why > SHUNT_WHY_RANDOM)
            return failed(fmt::format("gave the reason {}; it must be one of the words 0 to {}", a.why, SHUNT_WHY_RANDOM));
    }
    return {};
}

outcome select_one_queue(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    const route r({1});
    selector_instance i(s, h, 7);
    for (std::uint64_t n = 0; n < 32; ++n)
        if (const answer a = ask_nth(i, r, n, d); a.status != SHUNT_OK)
            return failed(gave_none(a) + ", where one queue was there");
    return {};
}

outcome select_many_queues(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    for (const auto& shape : {route::even(512, 8), route::even(1, 4096), route::even(4096, 1), route::even(8192, 8)}) {
        route r(shape);
        for (std::uint32_t b = 0; b < r.n_brokers(); b += 2)
            r.isolate(b);
        selector_instance i(s, h, 1);
        for (std::uint64_t n = 0; n < 64; ++n)
            (void)ask_nth(i, r, n, d);
    }
    return {};
}

outcome select_isolated(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    for (const bool reachable : {true, false}) {
        route r(route::even(3, 4));
        for (std::uint32_t b = 0; b < 3; ++b)
            r.isolate(b, reachable);
        selector_instance i(s, h);
        for (std::uint64_t n = 0; n < 64; ++n)
            if (const answer a = ask_nth(i, r, n, d); a.status != SHUNT_OK)
                return failed(fmt::format("{} while every broker is isolated{}", gave_none(a), reachable ? "" : " and unreachable"));
    }
    return {};
}

outcome select_all_tried(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    for (const std::uint32_t brokers : {1u, 3u, 16u}) {
        const route r(route::even(brokers, 2));
        std::vector<std::uint32_t> tried;
        for (std::uint32_t b = 0; b < brokers; ++b)
            tried.push_back(b);
        selector_instance i(s, h);
        for (std::uint64_t n = 0; n < 32; ++n) {
            const std::string key = nth_key(n);
            const answer a = i.select(r, {.key = key, .has_key = n % 2 == 0, .tried = tried, .random = d.next()});
            if (a.status != SHUNT_OK)
                return failed(fmt::format("{} when all {} brokers were tried; a later try may well go through", gave_none(a), brokers));
        }
    }
    return {};
}

outcome select_avoids_tried(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    const route r(route::even(4, 3));
    selector_instance i(s, h, 2);
    for (std::uint64_t n = 0; n < 200; ++n) {
        const std::string key = nth_key(n);
        message m{.key = key, .has_key = n % 2 == 0, .random = d.next()};
        for (int attempt = 1; attempt <= 4; ++attempt) {
            m.random = d.next();
            const answer a = i.select(r, m);
            if (a.status != SHUNT_OK)
                break;
            const std::uint32_t broker = r.broker_of(a.queue);
            if (std::find(m.tried.begin(), m.tried.end(), broker) != m.tried.end())
                return failed(fmt::format("attempt {} goes to broker {}, which this send tried before, while {} others are left", attempt,
                                          broker + 1, 4 - m.tried.size()));
            m.tried.push_back(broker);
        }
    }
    return {};
}

/// A text whose end, and the NUL behind it, lie at the end of readable memory.
class text_at_the_edge {
public:
    explicit text_at_the_edge(std::size_t room) : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))
    {
        size_ = (room / page_ + 2) * page_;
        void* const at = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            throw skipped("no memory for texts");
        at_ = static_cast<char*>(at);
        ::mprotect(at_ + size_ - page_, page_, PROT_NONE);
    }
    ~text_at_the_edge() { ::munmap(at_, size_); }
    text_at_the_edge(const text_at_the_edge&) = delete;
    text_at_the_edge& operator=(const text_at_the_edge&) = delete;

    std::string_view put(std::string_view text)
    {
        char* const end = at_ + size_ - page_;
        end[-1] = '\0';
        char* const begin = end - 1 - text.size();
        if (!text.empty())
            std::memcpy(begin, text.data(), text.size());
        return {begin, text.size()};
    }

private:
    std::size_t page_, size_ = 0;
    char* at_ = nullptr;
};

outcome select_keys(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    const route r(route::even(3, 4));
    selector_instance i(s, h);
    text_at_the_edge edge(64 * 1024);
    std::vector<std::string> keys{"", std::string(1, '\0'), std::string("a\0b", 3), "\xff\xfe", "\xc3\x28", "schl\xc3\xbcssel", "\xf0\x9f\x90\xb0",
                                  std::string(64 * 1024, 'k'), std::string(64 * 1024, '\0'), "polygenelubricants"};
    for (std::size_t n = 1; n <= 300; ++n) {
        std::string key;
        for (std::size_t k = 0; k < n; ++k)
            key += static_cast<char>(d.next());
        keys.push_back(std::move(key));
    }
    for (const std::string& key : keys)
        for (const bool ordered : {false, true})
            try {
                (void)i.select(r, {.key = edge.put(key), .has_key = true, .random = d.next(), .ordered = ordered});
            } catch (const outcome& o) {
                throw outcome{o.result, fmt::format("with a key of {} bytes: {}", key.size(), o.detail)};
            }
    return {};
}

outcome select_properties(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    const route r(route::even(3, 4));
    selector_instance i(s, h);
    if (!i.is_given(SHUNT_F_WANTS_PROPS))
        throw skipped("it does not want properties");
    const std::string keys = "order-1 " + std::string(30'000, 'k'), text = "schl\xc3\xbcssel \xf0\x9f\x90\xb0";
    text_at_the_edge edge(keys.size());
    const auto of = [](std::string_view name, std::string_view value) { return shunt_kv{{name.data(), name.size()}, {value.data(), value.size()}}; };
    std::vector<std::string> names;
    for (std::uint32_t n = 0; n < 1000; ++n)
        names.push_back(fmt::format("p{}", n));
    std::vector<shunt_kv> many;
    for (const std::string& name : names)
        many.push_back(of(name, ""));
    for (const std::string_view value : {std::string_view("acme"), std::string_view(""), std::string_view(keys), std::string_view(text)}) {
        // The value ends where memory does.
        const shunt_kv last = of("tenant", edge.put(value));
        for (const std::vector<shunt_kv>& all : {std::vector<shunt_kv>{}, {last}, {of("KEYS", keys), of("TAGS", "t"), of(text, text), last}, many})
            for (std::uint64_t n = 0; n < 8; ++n)
                try {
                    (void)i.select(r, {.key = "k", .has_key = n % 2 == 0, .random = d.next(), .properties = all});
                } catch (const outcome& o) {
                    throw outcome{o.result, fmt::format("with {} properties: {}", all.size(), o.detail)};
                }
    }
    return {};
}

/// Equal keys get equal queues: on one instance whatever is asked in between, and on another with another start.
std::optional<std::string> differs_for(subject& s, const std::vector<std::string>& keys)
{
    bench_host h(s.seed());
    dice d(s.seed());
    const route r(route::even(3, 5));
    selector_instance one(s, h, 0), other(s, h, 11);
    for (const std::string& key : keys) {
        const answer first = one.select(r, {.key = key, .has_key = true, .random = d.next()});
        for (std::uint64_t n = 0; n < 5; ++n) {
            const std::string between = nth_key(n);
            (void)one.select(r, {.key = between, .has_key = n % 2 == 0, .random = d.next()});
            const answer again = one.select(r, {.key = key, .has_key = true, .random = d.next(), .now_ns = 7'200'000'000'000 + static_cast<std::int64_t>(n)});
            if (again.queue != first.queue || again.status != first.status)
                return fmt::format("the key {} goes to queue {}, then to {}", in_quotes(key.substr(0, 20)), first.queue, again.queue);
        }
        const answer elsewhere = other.select(r, {.key = key, .has_key = true, .random = d.next()});
        if (elsewhere.queue != first.queue || elsewhere.status != first.status)
            return fmt::format("the key {} goes to queue {}, and to {} in another producer", in_quotes(key.substr(0, 20)), first.queue, elsewhere.queue);
    }
    return std::nullopt;
}

outcome select_same_key(subject& s)
{
    if (!goes_by_key(s))
        throw skipped("it does not say that it goes by the key");
    std::vector<std::string> keys;
    for (std::uint64_t n = 0; n < 100; ++n)
        keys.push_back(nth_key(n));
    const auto wrong = differs_for(s, keys);
    if (!wrong)
        return {};
    const bool declared = (s.flags() & SHUNT_F_DETERMINISTIC) != 0;
    return declared ? failed(*wrong + ", though it is declared deterministic") : warned(*wrong + ", though it asks for the key's hash");
}

outcome select_empty_key(subject& s)
{
    if (!goes_by_key(s))
        throw skipped("it does not say that it goes by the key");
    const auto wrong = differs_for(s, {""});
    return wrong ? failed(*wrong + "; the empty key is a key, and not the absence of one") : outcome{};
}

outcome select_repeats(subject& s)
{
    const route r(route::even(3, 5));
    bench_host of_one(s.seed()), of_other(s.seed());
    dice d(s.seed());
    selector_instance one(s, of_one, 5), other(s, of_other, 5);
    for (std::uint64_t n = 0; n < 300; ++n) {
        const std::string key = nth_key(n / 4);
        const message m{.key = key, .has_key = n % 4 == 0, .random = d.next(), .properties = nth_properties(n)};
        const answer a = one.ask(r, m), b = other.ask(r, m);
        if (a != b)
            return failed(fmt::format("two instances that were told the same went to queue {} and to {} with message {}{}", a.queue, b.queue, n + 1,
                                      m.has_key ? "" : ", which has no key"));
    }
    return {};
}

outcome select_candidates(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    route r(route::even(3, 30));
    selector_instance i(s, h, 5);
    bool without = false;
    for (const std::vector<std::uint32_t>& only : {std::vector<std::uint32_t>{0}, {89}, {64}, {3, 40, 70}, {30, 31, 32, 33}, {1, 2, 3, 4, 5, 63, 64, 65}}) {
        r.only(only);
        for (std::uint64_t n = 0; n < 64; ++n)
            without = ask_nth(i, r, n, d).status != SHUNT_OK || without;
    }
    r.only({});
    for (std::uint64_t n = 0; n < 8; ++n)
        if (ask_nth(i, r, n, d).status == SHUNT_OK)
            return failed("picked a queue where none is a candidate");
    return without ? warned("gives no queue though candidates are there") : outcome{};
}

outcome select_health(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    route r(route::even(3, 4));
    r.isolate(1);
    selector_instance i(s, h);
    std::uint64_t isolated = 0, isolated_keyless = 0;
    for (std::uint64_t n = 0; n < 200; ++n) {
        const answer a = ask_nth(i, r, n, d);
        const bool bad = a.status == SHUNT_OK && !r.available(a.queue);
        isolated += bad ? 1 : 0;
        isolated_keyless += bad && n % 2 != 0 ? 1 : 0;
    }
    if (isolated == 0 || (goes_by_key(s) && isolated_keyless == 0))
        return {};
    return warned(fmt::format("{} of 200 messages go to an isolated broker while available ones are left", isolated));
}

outcome select_leaves_view(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    route r(route::even(3, 4));
    r.isolate(2);
    const std::string before = r.bytes();
    selector_instance i(s, h);
    for (std::uint64_t n = 0; n < 64; ++n)
        (void)ask_nth(i, r, n, d);
    return r.bytes() == before ? outcome{} : failed("select wrote into the view, which all senders share");
}

outcome select_route_changes(subject& s)
{
    bench_host h(s.seed());
    dice d(s.seed());
    selector_instance i(s, h, 9);
    std::uint64_t generation = 0;
    std::vector<std::unique_ptr<route>> before;  // freed memory is not to be met again by chance
    for (int round = 0; round < 60; ++round) {
        const auto& shape = shapes()[d.below(static_cast<std::uint32_t>(shapes().size()))];
        before.push_back(std::make_unique<route>(shape, ++generation));
        route& r = *before.back();
        for (std::uint64_t n = 0; n < 20; ++n)
            try {
                (void)ask_nth(i, r, n, d);
            } catch (const outcome& o) {
                throw outcome{o.result, fmt::format("after the route changed {} times: {}", generation - 1, o.detail)};
            }
    }
    return {};
}

outcome select_extremes(subject& s)
{
    bench_host h(s.seed());
    route r(route::even(3, 4));
    selector_instance i(s, h);
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint32_t weight : {0u, 1u, 1'000'000u})
        for (const auto& [inflight, latency] : {std::pair{0u, std::int64_t{0}}, {std::numeric_limits<std::uint32_t>::max(), INT64_MAX}, {1u, std::int64_t{1}}}) {
            for (std::uint32_t b = 0; b < 3; ++b) {
                r.broker(b).weight = b == 1 ? 1'000'000u - weight : weight;
                r.load(b).inflight = inflight;
                r.load(b).ewma_latency_ns = latency;
            }
            if (weight == 0)
                r.broker(1).weight = 0;
            ++r.known().route_gen;
            for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{1}, most, most - 1, most / 2})
                for (const std::int64_t now : {std::int64_t{0}, INT64_MAX})
                    for (const std::uint32_t body : {0u, std::numeric_limits<std::uint32_t>::max()})
                        (void)i.select(r, {.random = random, .now_ns = now, .body_len = body});
        }
    return {};
}

outcome select_longer_structs(subject& s)
{
    const auto answers = [&](bool longer) {
        bench_host h(s.seed());
        dice d(s.seed());
        route r({2, 5, 0, 3, 9}, 1, longer);
        for (std::uint32_t b = 0; b < r.n_brokers(); ++b)
            r.broker(b).weight = b + 1;
        r.isolate(1);
        selector_instance i(s, h, 4);
        std::vector<answer> all;
        for (std::uint64_t n = 0; n < 100; ++n) {
            const std::string key = nth_key(n);
            all.push_back(i.select(r, {.key = key, .has_key = n % 2 == 0, .tried = n % 3 == 0 ? std::vector<std::uint32_t>{3} : std::vector<std::uint32_t>{},
                                       .random = d.next()}, longer));
        }
        return all;
    };
    const auto today = answers(false), later = answers(true);
    return today == later ? outcome{} : failed("a host with longer structs gets other answers: step by broker_stride, not by sizeof");
}

outcome select_threads_shared(subject& s)
{
    if ((s.flags() & SHUNT_F_CONCURRENT) == 0)
        throw skipped("it does not say that it is concurrent");
    bench_host h(s.seed());
    const route r(route::even(3, 4));
    selector_instance i(s, h);
    const shunt_selector_class& c = s.selector();
    std::atomic<std::uint32_t> wrong{0};
    std::atomic<bool> go{false};
    s.during(phase::select, [&] {
        std::vector<std::thread> threads;
        for (std::uint64_t t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                while (!go.load())
                    std::this_thread::yield();
                for (std::uint64_t n = 0; n < 5000; ++n) {
                    const std::string key = nth_key(n);
                    const shunt_msg m{.struct_size = sizeof m, .flags = n % 2 == 0 ? SHUNT_MSG_HAS_KEY : 0, .key = {key.data(), key.size()},
                                      .hash64 = n * 0x9e3779b97f4a7c15u, .java_hash = static_cast<std::int32_t>(n), .attempt = 1,
                                      .random = (n + t) * 0x9e3779b97f4a7c15u, .now_ns = static_cast<std::int64_t>(n), .tried = nullptr, .n_tried = 0,
                                      .body_len = 0, .props = nullptr, .n_props = 0, .reserved0 = 0};
                    shunt_pick pick{SHUNT_NONE, 0};
                    const shunt_status status = c.select(i.raw(), &r.view(), &m, &pick);
                    if (status < 0 || status > SHUNT_NO_QUEUE || (status == SHUNT_OK && pick.queue_index >= r.n_queues()))
                        ++wrong;
                }
            });
        go = true;
        for (std::thread& t : threads)
            t.join();
    });
    return wrong == 0 ? outcome{} : failed(fmt::format("8 threads on one instance: {} of 40,000 answers are wrong", wrong.load()));
}

outcome select_threads_own(subject& s)
{
    const route r(route::even(3, 4));
    // What one thread gets from an instance that starts at `start`.
    const auto series = [&](std::uint32_t start) {
        bench_host h(s.seed());
        selector_instance i(s, h, start);
        std::vector<answer> all;
        dice d(start);
        for (std::uint64_t n = 0; n < 2000; ++n) {
            const std::string key = nth_key(n % 100);
            all.push_back(i.ask(r, {.key = key, .has_key = n % 2 == 0, .random = d.next()}));
        }
        return all;
    };
    std::vector<std::vector<answer>> alone, together(8);
    for (std::uint32_t t = 0; t < 8; ++t)
        alone.push_back(series(t));
    std::atomic<std::uint32_t> thrown{0};
    {
        std::vector<std::thread> threads;
        for (std::uint32_t t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                try {
                    together[t] = series(t);
                } catch (const outcome&) {
                    ++thrown;
                }
            });
        for (std::thread& t : threads)
            t.join();
    }
    if (thrown > 0)
        return failed(fmt::format("{} of 8 threads, each with an instance of its own, met an error", thrown.load()));
    for (std::size_t t = 0; t < 8; ++t)
        if (together[t] != alone[t])
            return failed("8 threads, each with an instance of its own, do not get what one thread gets alone: instances share something");
    return {};
}

outcome select_allocates(subject& s)
{
    if (s.with().memory.allocations == nullptr)
        throw skipped("memory is measured only in a process of its own");
    bench_host h(s.seed());
    dice d(s.seed());
    route r(route::even(16, 8));
    r.isolate(3);
    selector_instance i(s, h);
    std::vector<std::string> keys;
    for (std::uint64_t n = 0; n < 1000; ++n)
        keys.push_back(nth_key(n));
    const auto round = [&](bool retry) {
        const std::vector<std::uint32_t> tried = retry ? std::vector<std::uint32_t>{1, 2} : std::vector<std::uint32_t>{};
        message m{.tried = tried};
        for (std::uint64_t n = 0; n < keys.size(); ++n) {
            m.key = keys[n];
            m.has_key = n % 2 == 0;
            m.random = d.next();
            (void)i.ask(r, m);
        }
    };
    std::uint64_t made = 0;
    for (const bool retry : {false, true}) {
        round(retry);  // what is worked out once for a route may cost something
        const std::uint64_t before = s.with().memory.allocations();
        round(retry);
        made += s.with().memory.allocations() - before;
    }
    made -= std::min<std::uint64_t>(made, 2);  // the vectors of this check itself
    return made > 0 ? warned(fmt::format("2,000 decisions on a known route allocate {} times", made)) : outcome{};
}

outcome select_time(subject& s)
{
    bench_host h(s.seed());
    if (s.with().clock_ns == nullptr)
        throw skipped("there is no clock");
    constexpr std::int64_t slow = 5'000, too_slow = 1'000'000;
    std::string shown;
    verdict v = verdict::passed;
    for (const std::uint32_t queues : {8u, 4096u}) {
        dice d(s.seed());
        route r(route::even(std::max(1u, queues / 8), 8));
        for (std::uint32_t b = 1; b < r.n_brokers(); b += 2)
            r.isolate(b);
        selector_instance i(s, h);
        std::vector<std::string> keys;
        for (std::uint64_t n = 0; n < 64; ++n)
            keys.push_back(nth_key(n));
        message m;
        std::vector<std::int64_t> times;
        std::int64_t all = 0;
        for (std::uint64_t n = 0; n < 3000 && all < 1'000'000'000; ++n) {
            m.key = keys[n % keys.size()];
            m.has_key = n % 2 == 0;
            m.random = d.next();
            const std::int64_t before = s.with().clock_ns();
            (void)i.ask(r, m);
            const std::int64_t took = s.with().clock_ns() - before;
            all += took;
            if (n >= 10 || took > 100'000'000)
                times.push_back(took);
        }
        std::sort(times.begin(), times.end());
        const std::int64_t median = times[times.size() / 2], p99 = times[times.size() * 99 / 100];
        shown += fmt::format("{}{} queues: median {} ns, p99 {} ns", shown.empty() ? "" : "; ", r.n_queues(), median, p99);
        v = std::max(v, median > too_slow ? verdict::failed : median > slow ? verdict::warned : verdict::passed);
    }
    return {v, shown + (v == verdict::passed ? "" : fmt::format("; a median above {} us is warned of, above {} us it fails", slow / 1000, too_slow / 1000))};
}

outcome filter_levels(subject& s)
{
    if ((s.flags() & SHUNT_F_FILTER) == 0)
        throw skipped("it is no filter");
    constexpr std::uint64_t guard = 0x5a5a5a5a5a5a5a5au;
    constexpr std::uint32_t most_levels = 1000;
    bench_host h(s.seed());
    const shunt_selector_class& c = s.selector();
    for (const auto& shape : shapes()) {
        const route r(shape);
        selector_instance i(s, h);
        const auto properties = i.is_given(SHUNT_F_WANTS_PROPS) ? nth_properties(shape.size()) : std::span<const shunt_kv>{};
        const shunt_msg m{.struct_size = sizeof m, .flags = 0, .key = {}, .hash64 = 0, .java_hash = 0, .attempt = 1, .random = 1, .now_ns = 1,
                          .tried = nullptr, .n_tried = 0, .body_len = 0, .props = properties.empty() ? nullptr : properties.data(),
                          .n_props = static_cast<std::uint32_t>(properties.size()), .reserved0 = 0};
        const std::uint32_t n = r.n_queues();
        std::uint32_t level = 0;
        for (;; ++level) {
            if (level == most_levels)
                return failed(fmt::format("has a level {}, and no end of them: answer {} when there is no such level", level, SHUNT_NO_QUEUE));
            std::vector<std::uint64_t> mask((n + 63) / 64 + 1, 0);
            mask.back() = guard;
            const shunt_status status = s.during(phase::filter, [&] { return c.filter(i.raw(), &r.view(), &m, level, mask.data()); });
            if (status < 0)
                return failed(fmt::format("filter answered {}", status_text(status)));
            if (status != SHUNT_OK && status != SHUNT_NO_QUEUE)
                return failed(fmt::format("filter answered status {}; it must be 0, {} or an error below 0", status, SHUNT_NO_QUEUE));
            if (mask.back() != guard)
                return failed(fmt::format("filter wrote past the mask of {} queues", n));
            for (std::uint32_t q = n; q < (mask.size() - 1) * 64; ++q)
                if ((mask[q / 64] >> (q % 64) & 1) != 0)
                    return failed(fmt::format("filter set bit {} of a mask of {} queues", q, n));
            if (status == SHUNT_NO_QUEUE)
                break;
        }
    }
    return {};
}

outcome wants_subset(subject& s)
{
    const shunt_selector_class& c = s.selector();
    if (c.wants == nullptr)
        throw skipped("it has no function wants");
    constexpr std::uint32_t all_wants = SHUNT_F_WANTS_HASH64 | SHUNT_F_WANTS_JAVA_HASH | SHUNT_F_WANTS_PROPS;
    bench_host h(s.seed());
    const selector_instance i(s, h);
    const std::uint32_t more = i.wants() & ~(c.flags & all_wants);
    return more == 0 ? outcome{} : failed(fmt::format("wants answers {:#x}, of which its class does not declare {:#x}", i.wants(), more));
}

constexpr std::array all{
    rule{"select-range", scope::selector, true, "it picks queues that are there, with a known status",
         "The host checks each answer, counts a wrong one as an error and falls back to best-queue's rule; the strategy then decides nothing. A negative "
         "status is for what really failed, with a text.",
         select_range},
    rule{"select-why", scope::selector, false, "it gives its reason in the contract's words",
         "The word is what people see in receipts and decision logs. Others are shown as \"plugin\".", select_why},
    rule{"select-one-queue", scope::selector, false, "where one queue is there it is taken",
         "Even a policy that prefers others must send to the last queue left.", select_one_queue},
    rule{"select-many-queues", scope::selector, false, "4,096 queues and more, half of them isolated, are no trouble",
         "A view has up to 65,536 queues on up to as many brokers. Fixed arrays and 8- or 16-bit indexes end there.", select_many_queues},
    rule{"select-isolated", scope::selector, false, "it finds a queue when every broker is isolated",
         "Isolation is a guess. When all are isolated a send must still be tried: available, then reachable, then any. tiers.hpp has that rule.",
         select_isolated},
    rule{"select-all-tried", scope::selector, false, "it finds a queue when every broker was tried",
         "With all brokers tried, the next attempt goes to one of them again; the host has waited before it.", select_all_tried},
    rule{"select-avoids-tried", scope::selector, false, "a retry goes to no broker this send tried before, while another is left",
         "The best known fault of producers: the retry meets the broker that just failed. message.tried is the whole set, not only the last.",
         select_avoids_tried},
    rule{"select-keys", scope::selector, false, "keys of every length and encoding are taken",
         "A key is bytes: it may be empty, hold NULs, be no UTF-8, and have 64 KiB. It is counted; only one NUL may be read behind it.", select_keys},
    rule{"select-properties", scope::selector, false, "properties of every size are taken, and messages without any",
         "What the application set on a message: any number of names and values, also none, and then props is NULL. They are counted; values may be empty "
         "and have thousands of bytes.",
         select_properties},
    rule{"select-repeats", scope::selector, false, "told the same, with a key or without, it answers the same",
         "Randomness is the message's and the host's, the time too, and a rotation begins at the start that is given. So a decision can be made again: in "
         "tests, in `shunt simulate`, and when a decision log is read. Own clocks and dice, addresses and what is static in the plugin break that.",
         select_repeats},
    rule{"select-same-key", scope::selector, false, "equal keys go to equal queues, in every instance",
         "A strategy that is declared deterministic, or asks for the key's hash, is used where order is kept per key: all threads and producers must agree. "
         "Do not let randomness, starts or the time in.",
         select_same_key},
    rule{"select-empty-key", scope::selector, false, "the empty key is a key",
         "Messages with an empty key are in order too. SHUNT_MSG_HAS_KEY tells it from no key; the length does not.", select_empty_key},
    rule{"select-candidates", scope::selector, false, "it picks among the candidates only",
         "Filters stand before the selector: what is no candidate may not be picked, and the host refuses it. fitting in tiers.hpp heeds the mask. "
         "With no candidate at all the answer is \"no queue\".",
         select_candidates},
    rule{"select-health", scope::selector, false, "it takes no isolated broker while an available one is left",
         "Some strategies ignore health on purpose, as round-robin does, and those that go by the key must. Others lose the use of fault strategies.",
         select_health, true},
    rule{"select-leaves-view", scope::selector, true, "it leaves the view as it was",
         "The view is the host's, and read by all senders at once without a lock. Keep notes in the instance.", select_leaves_view},
    rule{"select-route-changes", scope::selector, false, "it notices that queues and brokers come and go",
         "Indexes belong to one view. What is worked out from a route is worked out anew when route_gen changes; brokers are remembered by id.",
         select_route_changes},
    rule{"select-extremes", scope::selector, false, "weights of 0, full counters and extreme numbers are no trouble",
         "Weights go from 0 to 1,000,000 and may all be 0; in-flight counts and latencies may be at their largest; randomness may be 0 or all ones.",
         select_extremes},
    rule{"select-longer-structs", scope::selector, false, "structs that are longer than it knows are read alike",
         "A later host's structs have members behind those of today. Arrays of brokers are stepped by broker_stride.", select_longer_structs},
    rule{"select-threads-shared", scope::selector, false, "what is declared concurrent stands 8 threads on one instance",
         "SHUNT_F_CONCURRENT (in C++: a const select) lets the host share an instance between sender threads. Without locks: use no state, or atomics.",
         select_threads_shared},
    rule{"select-threads-own", scope::selector, false, "8 threads, each with its own instance, do not meet",
         "Instances of other sender threads run at the same time. Whatever is global or static in the plugin is shared by them.", select_threads_own},
    rule{"select-allocates", scope::selector, false, "it allocates nothing on a known route",
         "select is on the way of each send; an allocation there costs more than the decision, and may wait for a lock. Work things out once for a route.",
         select_allocates, true},
    rule{"select-time", scope::selector, false, "a decision takes less than 5 us in the median; from 1 ms on it fails",
         "A decision of the bundled strategies takes some 20 ns. A send waits for it.", select_time, true},
    rule{"filter-levels", scope::selector, false, "a filter's levels end, and its masks are those of the view",
         "The host looks at level 0, 1, ... until the filter answers that there is no such level. Bits past n_queues stay zero.", filter_levels},
    rule{"wants-subset", scope::selector, false, "an instance wants no more than its class declares",
         "wants narrows what the class asks for; the host gives nothing that the class did not declare.", wants_subset},
};

}  // namespace

std::span<const rule> select_rules() { return all; }

}  // namespace shunt::plugin::check
