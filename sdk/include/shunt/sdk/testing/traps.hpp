// What strategies of other clients got wrong, as ready-made checks. All of them in one line:
//
//     ASSERT_TRUE(f = traps::selector(p)) << f.why();
//     ASSERT_TRUE(f = traps::fault(p)) << f.why();
//
// or one by one: traps::selector_traps and traps::fault_traps list them with names, for parametrised tests; each is a function
// too, as traps::retries_elsewhere(p). What a trap needs to know of a strategy stands in `options`.

#pragma once

#include <shunt/sdk/testing/assertions.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace shunt::sdk::testing::traps {

struct options {
    testing::settings settings = {};
    std::string route = "a*4, b*4, c*4";    ///< of at least three brokers, alike in what the strategy looks at
    std::vector<std::string> keys = {};     ///< besides the kit's own: keys the strategy treats in a way of its own
    std::vector<std::string> except = {};   ///< traps that do not fit the strategy, by name
    nanoseconds comes_back_within = std::chrono::hours{1};  ///< fault strategies: the longest isolation
};

/// One trap: its name, what goes wrong where it is not heeded, and the check.
struct trap {
    std::string_view name, about;
    finding (*run)(const plugin&, const options&);
};

namespace detail {

using testing::detail::quoted;

/// Keys that hashing stumbled over, plain ones, and those of the options.
inline std::vector<std::string> keys(const options& o, int plain = 32)
{
    std::vector<std::string> all = o.keys;
    for (const char* k : {"polygenelubricants", "", "a", "Aa", "BB", "\xE4\xB8\xAD\xE6\x96\x87", "\xFF\xFE", "a/b/c", "acme=1"})
        all.emplace_back(k);  // the first one's String.hashCode is the smallest integer
    all.emplace_back(1, '\0');
    all.emplace_back(1000, 'x');
    for (int i = 0; i < plain; ++i)
        all.push_back("order-" + std::to_string(i));
    return all;
}

/// The same as messages, and messages without a key first.
inline std::vector<msg> messages(const options& o, int plain = 32)
{
    std::vector<msg> all(4);
    for (std::string& k : keys(o, plain))
        all.push_back({.key = std::move(k)});
    return all;
}

inline std::string of(const msg& m) { return m.key ? "key " + quoted(m.key->size() > 40 ? m.key->substr(0, 40) + "..." : *m.key) : "no key"; }

inline std::string list(const std::vector<std::string>& words)
{
    std::string all;
    for (const std::string& w : words)
        all += (all.empty() ? "" : ", ") + w;
    return all.empty() ? "nobody" : all;
}

/// Runs `body` with a fresh instance, or tells why there is none.
template <class Body>
finding with(const plugin& p, const options& o, std::uint32_t start, Body&& body)
{
    testing::selector s{p, o.settings, {start}};
    if (!s.refusal().empty())
        return finding{"the strategy was not made: " + s.refusal() + "; give the trap the settings it needs"};
    return body(s);
}
template <class Body>
finding with_fault(const plugin& p, const options& o, Body&& body)
{
    testing::fault f{p, o.settings};
    if (!f.refusal().empty())
        return finding{"the strategy was not made: " + f.refusal() + "; give the trap the settings it needs"};
    return body(f);
}

/// The options' brokers, others in number or in order of writing.
inline std::vector<broker> brokers(const options& o)
{
    std::vector<broker> all = testing::route::parse(o.route);
    if (all.size() < 3)
        misuse("traps need a route of at least three brokers, not " + quoted(o.route));
    return all;
}

/// The keys that always go to one queue, and where; nothing at all where that queue is the same for all of them: such a
/// strategy does not go by keys, it only takes its time.
inline mapping homes(testing::selector& s, const testing::route& r, const std::vector<std::string>& keys)
{
    mapping all;
    std::set<std::string> moved, queues;
    for (int round = 0; round < 8; ++round)
        for (const std::string& k : keys)
            if (const std::string q = s.pick(r, {.key = k}); all.emplace(k, q).first->second != q)
                moved.insert(k);
    for (const std::string& k : moved)
        all.erase(k);
    for (const auto& [key, queue] : all)
        queues.insert(queue);
    return queues.size() > 1 ? all : mapping{};
}

}  // namespace detail

// ---- selectors ----

/// The avoid-the-last-broker test the wrong way round: a retry went to the broker that had just failed.
inline finding retries_elsewhere(const plugin& p, const options& o = {})
{
    for (const bool isolated : {false, true})
        for (std::uint32_t start = 0; start < 13; ++start) {
            finding f = detail::with(p, o, start, [&](testing::selector& s) {
                for (msg m : detail::messages(o)) {
                    testing::route r{detail::brokers(o)};
                    const answer first = s.ask(r, m);
                    if (!first.picked())
                        continue;
                    const std::string failed = r.broker_of(first.pick.queue_index);
                    if (isolated)
                        r.isolate(failed);
                    m.tried = {failed};
                    const std::string second = s.pick(r, m);
                    if (broker_of(second) == failed)
                        return finding{detail::of(m) + ": the first attempt went to " + failed + ", the retry to " + second + ", though other brokers are left"};
                }
                return finding{};
            });
            if (!f)
                return f;
        }
    return {};
}

/// Only the last broker was remembered: the third attempt was back on the first one.
inline finding remembers_all_tried(const plugin& p, const options& o = {})
{
    const testing::route r{detail::brokers(o)};
    std::size_t with_queues = 0;
    for (const broker& b : r.brokers())
        with_queues += b.queues > 0 && b.weight > 0 ? 1 : 0;
    for (const bool latest_first : {false, true})
        for (std::uint32_t start = 0; start < 13; ++start) {
            finding f = detail::with(p, o, start, [&](testing::selector& s) {
                for (msg m : detail::messages(o)) {
                    std::vector<std::string> queues;
                    while (m.tried.size() < with_queues) {
                        const std::string q = s.pick(r, m), b = broker_of(q);
                        if (r.index(b) == SHUNT_NONE)
                            break;
                        queues.push_back(q);
                        if (std::ranges::find(m.tried, b) != m.tried.end())
                            return finding{detail::of(m) + ": the attempts went to " + detail::list(queues) + ", though a broker not tried yet is left"};
                        m.tried.insert(latest_first ? m.tried.begin() : m.tried.end(), b);
                    }
                }
                return finding{};
            });
            if (!f)
                return f;
        }
    return {};
}

/// abs() of the smallest integer is negative: keys, hashes and random numbers at the ends of their range.
inline finding survives_extreme_numbers(const plugin& p, const options& o = {})
{
    constexpr std::uint64_t ends[] = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 31, 0x7fffffff, 0xffffffff};
    for (const std::uint32_t n : {1u, 3u, 4u, 7u, 8u, 12u, 1000u}) {
        std::vector<broker> brokers = detail::brokers(o);
        for (broker& b : brokers)
            b.queues = 0;
        for (std::uint32_t q = 0; q < n; ++q)
            ++brokers[q % brokers.size()].queues;
        const testing::route r{brokers};
        finding f = detail::with(p, o, 0, [&](testing::selector& s) {
            for (const std::uint64_t end : ends) {
                s.host().dice = [end] { return end; };
                for (msg m : detail::messages(o, 2)) {
                    if (m.key) {
                        m.hash64 = end;
                        m.java_hash = static_cast<std::int32_t>(static_cast<std::uint32_t>(end));
                    }
                    if (const answer a = s.ask(r, m); !a.problem.empty())
                        return finding{detail::of(m) + ", random number and hashes " + std::to_string(end) + ", " + std::to_string(n) + " queues: " + a.problem};
                }
            }
            for (const std::string& k : detail::keys(o, 0))
                if (const answer a = s.ask(r, {.key = k}); !a.problem.empty())
                    return finding{"key " + detail::quoted(k) + ", " + std::to_string(n) + " queues: " + a.problem};
            return finding{};
        });
        if (!f)
            return f;
    }
    return {};
}

/// One counter for all topics: each got what the others left, a quarter of the queues nothing at all.
inline finding keeps_topics_apart(const plugin& p, const options& o = {})
{
    const testing::route one{detail::brokers(o), 0, "T1"}, two{detail::brokers(o), 0, "T2"};
    const std::vector<msg> messages = detail::messages(o, 8);
    const auto ask = [&](testing::selector& s, const testing::route& r, std::size_t i) { return s.pick(r, messages[i % messages.size()]); };
    const std::size_t n = 3 * std::size_t{one.size()} + 2;

    std::vector<std::string> alone;
    finding f = detail::with(p, o, 3, [&](testing::selector& s) {
        for (std::size_t i = 0; i < n; ++i)
            alone.push_back(ask(s, one, i));
        return finding{};
    });
    if (!f)
        return f;
    return detail::with(p, o, 3, [&](testing::selector& first) {
        return detail::with(p, o, 3, [&](testing::selector& second) {
            for (std::size_t i = 0; i < n; ++i) {
                if (const std::string got = ask(first, one, i); got != alone[i])
                    return finding{"with another topic in use the " + std::to_string(i + 1) + ". pick of topic T1 is " + got + ", by itself it is " + alone[i] +
                                   "; instances share something (a global or static variable), or use time or randomness of their own"};
                (void)ask(second, two, i);
            }
            return finding{};
        });
    });
}

/// Never comes back: a broker that was isolated for a while got nothing when it was well again.
inline finding returns_to_healthy_brokers(const plugin& p, const options& o = {})
{
    return detail::with(p, o, 0, [&](testing::selector& s) {
        testing::route r{detail::brokers(o)};
        const std::vector<msg> messages = detail::messages(o, 300);
        const auto brokers_used = [&] {
            std::set<std::string> used;
            for (const msg& m : messages)
                if (const answer a = s.ask(r, m); a.picked())
                    used.insert(r.broker_of(a.pick.queue_index));
            return used;
        };
        const std::set<std::string> before = brokers_used();
        for (const std::string& b : r.names()) {
            r.cut_off(b);
            (void)brokers_used();
            r.all_well();
            std::set<std::string> missing = before;
            int rounds = 0;
            for (; rounds < 20 && !missing.empty(); ++rounds)  // a strategy may stay where it is for a while
                for (const std::string& used : brokers_used())
                    missing.erase(used);
            if (!missing.empty())
                return finding{*missing.begin() + " got messages before " + b + " was isolated, and none of " +
                               std::to_string(messages.size() * static_cast<std::size_t>(rounds)) + " after it was well again"};
        }
        return finding{};
    });
}

/// Nothing when all are bad: with every broker isolated, unreachable or tried there was no queue, or an error.
inline finding answers_when_all_are_bad(const plugin& p, const options& o = {})
{
    return detail::with(p, o, 0, [&](testing::selector& s) {
        for (const msg& m : detail::messages(o)) {
            testing::route r{detail::brokers(o)};
            if (!s.ask(r, m).picked())
                continue;
            const auto still_picks = [&](const char* state, const msg& now) {
                const answer a = s.ask(r, now);
                return a.picked() || a.status == SHUNT_ABSTAIN ? finding{}
                                                              : finding{detail::of(m) + ", all brokers " + state + ": " +
                                                                        (a.problem.empty() ? "no queue, though there are writable ones" : a.problem)};
            };
            msg again = m;
            again.tried = r.names();
            finding f;
            f.also(still_picks("tried", again));
            r.isolate(r.names());
            f.also(still_picks("isolated", m)).also(still_picks("isolated and tried", again));
            r.cut_off(r.names());
            f.also(still_picks("unreachable", m)).also(still_picks("unreachable and tried", again));
            if (!f)
                return f;
        }
        return finding{};
    });
}

/// Empty key against none: where other keys have a home, the empty key has one too.
inline finding takes_an_empty_key_for_a_key(const plugin& p, const options& o = {})
{
    return detail::with(p, o, 0, [&](testing::selector& s) {
        const testing::route r{detail::brokers(o)};
        std::vector<std::string> keys{""};
        for (int i = 0; i < 16; ++i)
            keys.push_back("order-" + std::to_string(i));
        const mapping homes = detail::homes(s, r, keys);
        return homes.size() == keys.size() - 1 && !homes.contains("") ? finding{"messages with other keys stay on one queue each, those with the empty key do not; an empty key is a key"} : finding{};
    });
}

/// The same placement in every producer: whatever order the brokers come in, where the rotation starts and what was sent before.
inline finding places_keys_alike(const plugin& p, const options& o = {})
{
    std::vector<broker> backwards = detail::brokers(o);
    std::ranges::reverse(backwards);
    testing::route there{backwards, 77};
    there.renumber(5003);
    const testing::route here{detail::brokers(o)}, other{std::vector<broker>{{.name = "x", .queues = 9}, {.name = "y", .queues = 2}, {.name = "z", .queues = 1}}};
    return detail::with(p, o, 0, [&](testing::selector& one) {
        return detail::with(p, o, 12345, [&](testing::selector& two) {
            two.host().dice = std::mt19937_64{99};
            for (int i = 0; i < 40; ++i)
                (void)two.ask(i % 2 == 0 ? other : there, {.key = "warm-up-" + std::to_string(i)});
            for (const auto& [k, home] : detail::homes(one, here, detail::keys(o)))
                if (const std::string got = two.pick(there, {.key = k}); got != home)
                    return finding{"key " + detail::quoted(k) + " goes to " + home + " in one producer and to " + got + " in another with the same queues"};
            return finding{};
        });
    });
}

/// The position counter overflowed: out of range, or a queue left out or doubled where it begins anew.
inline finding wraps_its_cursor(const plugin& p, const options& o = {})
{
    for (const std::uint32_t n : {1u, 3u, 4u, 7u, 8u, 12u, 1000u}) {
        std::vector<broker> brokers = detail::brokers(o);
        for (std::size_t i = 0; i < brokers.size(); ++i)
            brokers[i].queues = i == 0 ? n : 0;
        const testing::route r{brokers};
        const auto rounds = static_cast<int>(std::min(n, 12u)) * 3;
        const auto unevenness = [&](testing::selector& s, std::string& problem) {
            std::vector<int> got(n);
            for (int i = 0; i < rounds; ++i) {
                const answer a = s.ask(r);
                if (!a.problem.empty())
                    problem = a.problem;
                if (a.picked())
                    ++got[a.pick.queue_index];
            }
            const auto [least, most] = std::ranges::minmax(got);
            return most - least;
        };
        std::string problem;
        int usual = 0;
        finding f = detail::with(p, o, 0, [&](testing::selector& s) { return usual = unevenness(s, problem), finding{}; });
        if (!f)
            return f;
        for (std::uint32_t before = 0; before < 14; ++before) {
            const std::uint32_t start = 2147483647u - before;
            f = detail::with(p, o, start, [&](testing::selector& s) {
                const int now = unevenness(s, problem);
                const std::string where = "from " + std::to_string(start) + " on, " + std::to_string(n) + " queues: ";
                if (!problem.empty())
                    return finding{where + problem};
                if (usual <= 1 && now > 2)
                    return finding{where + "the counts of " + std::to_string(rounds) + " picks differ by " + std::to_string(now) + ", from 0 on by " + std::to_string(usual)};
                return finding{};
            });
            if (!f)
                return f;
        }
    }
    return {};
}

/// Candidates: with filters in force a pick outside of them counts as an error; with none left there is no queue.
inline finding stays_among_candidates(const plugin& p, const options& o = {})
{
    return detail::with(p, o, 1, [&](testing::selector& s) {
        std::mt19937 dice{5};
        for (int round = 0; round < 60; ++round)
            for (msg m : detail::messages(o, 4)) {
                testing::route r{detail::brokers(o)};
                std::vector<std::uint64_t> mask(r.words());
                for (std::uint32_t q = 0; q < r.size(); ++q)
                    if (dice() % 4 == 0)
                        mask[q / 64] |= std::uint64_t{1} << (q % 64);
                if (round == 0)
                    mask.assign(mask.size(), 0);
                r.candidates(mask);
                if (round % 3 == 1)
                    r.isolate(r.names().front());
                if (round % 3 == 2)
                    m.tried = {r.names().front()};
                if (const answer a = s.ask(r, m); !a.problem.empty())
                    return finding{detail::of(m) + ": " + a.problem};
            }
        return finding{};
    });
}

/// Selection wrote into the shared route, and one queue was replaced for good.
inline finding leaves_the_view_alone(const plugin& p, const options& o = {})
{
    return detail::with(p, o, 0, [&](testing::selector& s) {
        for (int state = 0; state < 3; ++state)
            for (msg m : detail::messages(o)) {
                testing::route r{detail::brokers(o)};
                if (state == 1)
                    r.isolate(r.names());
                if (state == 2)
                    r.cut_off(r.names()), m.tried = r.names();
                const std::string before = r.snapshot();
                (void)s.ask(r, m);
                if (r.snapshot() != before)
                    return finding{detail::of(m) + ": select changed the view it was shown; it belongs to the host and to other threads"};
            }
        return finding{};
    });
}

/// Indexes kept over a change of the route: queues and brokers come and go, and every pick is of the route of its call.
inline finding follows_the_route(const plugin& p, const options& o = {})
{
    return detail::with(p, o, 7, [&](testing::selector& s) {
        const std::vector<broker> all = detail::brokers(o);
        std::mt19937 dice{3};
        for (int round = 0; round < 200; ++round) {
            std::vector<broker> some;
            std::vector<std::string> isolated;
            for (broker b : all)
                if (dice() % 3 != 0) {
                    b.queues = static_cast<std::uint32_t>(1 + dice() % 40);
                    some.push_back(b);
                    if (dice() % 3 == 0)
                        isolated.push_back(b.name);
                }
            if (some.empty())
                some.push_back(all[dice() % all.size()]);
            testing::route r{some};
            r.isolate(isolated);
            for (const msg& m : detail::messages(o, 4))
                if (const answer a = s.ask(r, m); !a.problem.empty())
                    return finding{detail::of(m) + ", after the route changed: " + a.problem};
        }
        return finding{};
    });
}

/// Time or randomness of its own: equal inputs gave another sequence of picks.
inline finding repeats_itself(const plugin& p, const options& o = {})
{
    const auto run = [&](std::string& all) {
        return detail::with(p, o, 17, [&](testing::selector& s) {
            testing::route r{detail::brokers(o)};
            int i = 0;
            for (const msg& m : detail::messages(o, 200)) {
                if (i++ % 50 == 25)
                    r.isolate(r.names()[static_cast<std::size_t>(i) / 50 % r.names().size()]);
                s.host().now += std::chrono::milliseconds{7};
                all += s.pick(r, m) + ' ';
            }
            return finding{};
        });
    };
    std::string first, second;
    finding f = run(first);
    if (!f)
        return f;
    f = run(second);
    return f && first != second ? finding{"two instances with the same start, random numbers, times and messages picked differently; all of these come from the host"} : f;
}

/// Declared deterministic: the same view and key give the same queue, whatever came between.
inline finding keeps_its_word_to_be_deterministic(const plugin& p, const options& o = {})
{
    if ((p.selector().flags & SHUNT_F_DETERMINISTIC) == 0)
        return {};
    return detail::with(p, o, 0, [&](testing::selector& s) {
        const testing::route r{detail::brokers(o)};
        mapping first;
        for (int round = 0; round < 3; ++round)
            for (const std::string& k : detail::keys(o)) {
                const std::string q = s.pick(r, {.key = k});
                if (const auto [was, fresh] = first.emplace(k, q); !fresh && was->second != q)
                    return finding{"key " + detail::quoted(k) + " went to " + was->second + ", then to " + q + ", though the class declares SHUNT_F_DETERMINISTIC"};
            }
        return finding{};
    });
}

/// The smallest and the largest views, in every state.
inline finding answers_every_view(const plugin& p, const options& o = {})
{
    const auto in_every_state = [&](testing::selector& s, testing::route& r, int times) {
        finding f;
        const std::vector<msg> messages = detail::messages(o, 4);
        for (int state = 0; state < 3 && f; ++state) {
            r.all_well();
            if (state == 1)
                r.isolate(r.names());
            if (state == 2)
                r.cut_off(r.names());
            for (int i = 0; i < times && f; ++i) {
                msg m = messages[static_cast<std::size_t>(i) % messages.size()];
                const std::vector<std::string> names = r.names();
                if (i % 2 == 1)
                    m.tried.assign(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 16)));
                if (const answer a = s.ask(r, m); !a.problem.empty())
                    f.also(finding{std::to_string(r.size()) + " queues of " + std::to_string(names.size()) + " brokers: " + a.problem});
            }
        }
        return f;
    };
    return detail::with(p, o, 2147483000, [&](testing::selector& s) {
        const broker first = detail::brokers(o).front();
        std::vector<testing::route> routes;
        routes.emplace_back(std::vector<broker>{{.name = first.name, .queues = 1, .room = first.room}});
        routes.emplace_back(std::vector<broker>{{.name = first.name, .queues = 0}, {.name = "other", .queues = 65}, {.name = "zero", .queues = 0}});
        routes.emplace_back(many_brokers(64, 64));
        routes.emplace_back(many_brokers(300, 1));
        routes.emplace_back(many_brokers(1, 4096));
        for (testing::route& r : routes)
            if (finding f = in_every_state(s, r, 40); !f)
                return f;
        return finding{};
    });
}

/// State without a lock: a class that says it is concurrent is used by eight threads at once. Run it under ThreadSanitizer too.
inline finding may_be_shared_if_it_says_so(const plugin& p, const options& o = {})
{
    if ((p.selector().flags & SHUNT_F_CONCURRENT) == 0)
        return {};
    return detail::with(p, o, 0, [&](testing::selector& s) {
        const testing::route r{detail::brokers(o)};
        std::array<std::string, 8> problems;
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < problems.size(); ++t)
            threads.emplace_back([&, t] {
                std::mt19937_64 dice{t};
                for (int i = 0; i < 2000; ++i) {
                    const std::string key = "order-" + std::to_string(dice() % 50);
                    shunt_msg m{};
                    m.struct_size = sizeof m;
                    m.flags = i % 3 == 0 ? 0 : SHUNT_MSG_HAS_KEY;
                    m.key = str(i % 3 == 0 ? std::string_view{} : std::string_view{key});
                    m.attempt = 1;
                    m.random = dice();
                    if (const answer a = s.ask_raw(r, m); !a.problem.empty())
                        problems[t] = a.problem;
                }
            });
        for (std::thread& t : threads)
            t.join();
        finding f;
        for (const std::string& problem : problems)
            f.also(finding{problem});
        return f;
    });
}

// ---- fault strategies ----

namespace detail {

inline const char* name_of(std::int32_t result)
{
    return result == SHUNT_FB_GOOD ? "good" : result == SHUNT_FB_FAILED ? "failed" : result == SHUNT_FB_UNREACHABLE ? "unreachable" : "expired";
}

/// `n` results of that kind for the broker, a millisecond apart; good ones for the rest of the route.
inline nanoseconds harm(testing::fault& f, const testing::route& r, const std::string& broker, std::int32_t result, nanoseconds from, int n = 40)
{
    const nanoseconds share = std::chrono::seconds{3};
    for (int i = 0; i < n; ++i, from += std::chrono::milliseconds{1})
        for (const std::string& b : r.names()) {
            if (b != broker)
                (void)f.good(b, from, std::chrono::milliseconds{2});
            else if (result == SHUNT_FB_GOOD)
                (void)f.tell(b, {.at = from, .latency = std::chrono::seconds{20}});  // stored, but far too slow
            else
                (void)f.tell(b, {.at = from, .result = result, .latency = result == SHUNT_FB_EXPIRED ? share : nanoseconds{0}, .share = share});
        }
    return from;
}

inline constexpr std::int32_t harms[] = {SHUNT_FB_GOOD, SHUNT_FB_FAILED, SHUNT_FB_UNREACHABLE, SHUNT_FB_EXPIRED};

}  // namespace detail

/// A broker that was slow or away once never got traffic again: no time, probe or traffic could bring it back.
inline finding comes_back(const plugin& p, const options& o = {})
{
    finding all;
    for (const std::int32_t result : detail::harms)
        for (const int times : {1, 40, 1000})
            all.also(detail::with_fault(p, o, [&](testing::fault& f) {
                const testing::route r{detail::brokers(o)};
                const std::string b = r.names()[1];
                const nanoseconds now = detail::harm(f, r, b, result, std::chrono::hours{1}, times);
                return recovers_within(f, r, b, now, o.comes_back_within);
            }), std::string{"after "} + std::to_string(times) + " times " + (result == SHUNT_FB_GOOD ? "slow" : detail::name_of(result)));
    return all;
}

/// Isolated for ever by silence: the same, when nobody answers for a while first, probes included.
inline finding comes_back_after_a_long_outage(const plugin& p, const options& o = {})
{
    return detail::with_fault(p, o, [&](testing::fault& f) {
        const testing::route r{detail::brokers(o)};
        const std::string b = r.names()[1];
        nanoseconds now = std::chrono::hours{1};
        for (int i = 0; i < 500; ++i) {  // whenever it is tried, it refuses
            now += std::chrono::seconds{1};
            if (f.judge(r, now).available[r.index(b)])
                (void)f.refused(b, now);
            if (const nanoseconds due = f.probe_at(b); due >= nanoseconds{0} && due <= now)
                (void)f.probed(b, now, false);
        }
        return recovers_within(f, r, b, now, o.comes_back_within);
    });
}

/// Verdicts by index: when the route changes, an isolation stays with its broker.
inline finding knows_brokers_by_id(const plugin& p, const options& o = {})
{
    return detail::with_fault(p, o, [&](testing::fault& f) {
        const std::vector<broker> all = detail::brokers(o);
        const testing::route r{all};
        std::vector<broker> fewer = r.brokers(), more = r.brokers();
        fewer.erase(fewer.begin());
        more.push_back({.name = "0-first", .queues = 4});
        more.push_back({.name = "~last", .queues = 4});
        const std::string b = r.names()[1];
        const nanoseconds now = detail::harm(f, r, b, SHUNT_FB_UNREACHABLE, std::chrono::hours{1});
        if (f.judge(r, now).available[1])
            return finding{};  // isolates nobody
        for (const testing::route& other : {testing::route{fewer}, testing::route{more}}) {
            const judgement j = f.judge(other, now);
            for (std::uint32_t i = 0; i < other.brokers().size(); ++i)
                if (other.brokers()[i].name != b && !j.available[i])
                    return finding{b + " failed; in a route with other brokers " + other.brokers()[i].name + " is isolated instead. Remember brokers by their id, not by index"};
        }
        return finding{};
    });
}

/// Entries that never expire: who left every route and comes again is like new.
inline finding forgets_who_left(const plugin& p, const options& o = {})
{
    return detail::with_fault(p, o, [&](testing::fault& f) {
        const testing::route r{detail::brokers(o)};
        const std::string b = r.names()[1];
        const nanoseconds now = detail::harm(f, r, b, SHUNT_FB_UNREACHABLE, std::chrono::hours{1});
        (void)f.left(b, now);
        const std::string v = f.verdict(r, b, now);
        return v == "available" ? finding{} : finding{b + " left the route and came again; it is " + v + ", it must be available"};
    });
}

/// A stranger is well: a broker nothing is known of is available.
inline finding trusts_strangers(const plugin& p, const options& o = {})
{
    return detail::with_fault(p, o, [&](testing::fault& f) {
        const testing::route r{many_brokers(130, 1)};
        const judgement j = f.judge(r, std::chrono::hours{1});
        if (!j.problem.empty())
            return finding{j.problem};
        for (std::uint32_t i = 0; i < r.brokers().size(); ++i)
            if (!j.available[i])
                return finding{"of 130 brokers that nothing is known of, number " + std::to_string(i) + " is not available"};
        return finding{};
    });
}

/// The caller's own small deadline is not the broker's fault.
inline finding blames_nobody_for_small_deadlines(const plugin& p, const options& o = {})
{
    return detail::with_fault(p, o, [&](testing::fault& f) {
        const testing::route r{detail::brokers(o)};
        const std::string b = r.names()[1];
        nanoseconds now = std::chrono::hours{1};
        for (int i = 0; i < 200; ++i, now += std::chrono::milliseconds{1})
            (void)f.expired(b, now, std::chrono::milliseconds{1});
        const std::string v = f.verdict(r, b, now);
        return v == "available" ? finding{} : finding{"200 attempts with 1 ms each for the answer expired, and " + b + " is " + v + "; it must be available"};
    });
}

/// Says 0 though a verdict changed, or gives a time that is too late: the host then goes by an old verdict.
inline finding says_when_verdicts_change(const plugin& p, const options& o = {})
{
    return detail::with_fault(p, o, [&](testing::fault& f) {
        const testing::route r{detail::brokers(o)};
        std::mt19937 dice{23};
        nanoseconds now = std::chrono::hours{1};
        judgement last = f.judge(r, now);
        for (int i = 0; i < 4000; ++i) {
            const std::string& b = r.brokers()[dice() % r.brokers().size()].name;
            const nanoseconds step = std::chrono::milliseconds{dice() % 8 == 0 ? dice() % 3000 : dice() % 20};
            if (now + step < last.valid_until) {
                now += step;
                if (const judgement j = f.judge(r, now); !(j == last))
                    return finding{"at " + testing::detail::show(now) + " a verdict changed by time alone, though evaluate had said it holds " +
                                   (last.valid_until == nanoseconds::max() ? "for ever" : "until " + testing::detail::show(last.valid_until))};
            } else {
                now += step;
            }
            last = f.judge(r, now);
            const std::int32_t result = dice() % 2 == 0 ? SHUNT_FB_GOOD : detail::harms[dice() % 4];
            const shunt_status said = f.tell(b, {.at = now, .result = result, .latency = std::chrono::milliseconds{dice() % 5 == 0 ? dice() % 4000 : 3}});
            if (said < 0 || said > 1)
                return finding{"on_feedback answered " + std::to_string(said) + (said < 0 ? ": " + f.host().error : "; it must be 0, 1 or an error")};
            const judgement j = f.judge(r, now);
            if (!j.problem.empty())
                return finding{j.problem};
            if (said == 0 && !(j == last))
                return finding{"at " + testing::detail::show(now) + " the verdict on a broker changed with \"" + detail::name_of(result) + "\" of " + b +
                               ", but on_feedback answered 0 (nothing changed)"};
            last = j;
        }
        return finding{};
    });
}

/// A clock that jumps, feedback that comes late, numbers at the ends of their range: no error, and everybody comes back.
inline finding survives_odd_times(const plugin& p, const options& o = {})
{
    return detail::with_fault(p, o, [&](testing::fault& f) {
        const testing::route r{detail::brokers(o)};
        const std::string b = r.names()[1];
        const nanoseconds base = std::chrono::hours{1000};
        const nanoseconds odd[] = {base, base - std::chrono::hours{1}, base + std::chrono::hours{1}, base, nanoseconds{0}, base + std::chrono::hours{2}};
        for (const nanoseconds at : odd)
            for (const std::int32_t result : detail::harms)
                for (const nanoseconds latency : {nanoseconds{0}, nanoseconds{-1}, nanoseconds::max(), nanoseconds::min(), nanoseconds{1}}) {
                    if (f.tell(b, {.at = at, .result = result, .latency = latency, .share = nanoseconds::max(), .start = nanoseconds{0}}) < 0)
                        return finding{"at " + testing::detail::show(at) + ", latency " + std::to_string(latency.count()) + " ns: " + f.host().error};
                    if (const judgement j = f.judge(r, at); !j.problem.empty())
                        return finding{"at " + testing::detail::show(at) + ": " + j.problem};
                }
        return recovers_within(f, r, b, base + std::chrono::hours{2}, o.comes_back_within);
    });
}

/// State handed over is what is left, on another clock; what cannot be read is refused and changes nothing.
inline finding hands_over_its_state(const plugin& p, const options& o = {})
{
    if (p.fault().export_state == nullptr)
        return {};
    return detail::with_fault(p, o, [&](testing::fault& old) {
        return detail::with_fault(p, o, [&](testing::fault& young) {
            const testing::route r{detail::brokers(o)};
            const nanoseconds now = detail::harm(old, r, r.names()[1], SHUNT_FB_UNREACHABLE, std::chrono::hours{1});
            const std::uint32_t schema = old.table().state_schema;
            const std::string state = old.export_state(now);
            const nanoseconds other = std::chrono::hours{50};
            const judgement fresh = young.judge(r, other);
            if (young.import_state(schema + 1, state, other) != SHUNT_UNSUPPORTED)
                return finding{"state of another schema was not answered by SHUNT_UNSUPPORTED"};
            for (const std::string& rubbish : {std::string(state.size() + 1, '\xFF'), std::string{"x"}, state.substr(0, state.size() - std::min<std::size_t>(1, state.size()))})
                if (young.import_state(schema, rubbish, other) == SHUNT_OK && rubbish != state && !rubbish.empty() && !(young.judge(r, other) == fresh))
                    return finding{"state that makes no sense (" + std::to_string(rubbish.size()) + " bytes) was taken over"};
            if (const shunt_status s = young.import_state(schema, state, other); s != SHUNT_OK)
                return finding{"its own state was answered by status " + std::to_string(s) + ": " + young.host().error};
            const judgement was = old.judge(r, now), is = young.judge(r, other);
            if (!(was == is))
                return finding{"the verdicts changed when the state was handed over"};
            if (was.valid_until != nanoseconds::max() && was.valid_until - now != is.valid_until - other)
                return finding{"what was left of an isolation (" + testing::detail::show(was.valid_until - now) + ") became " + testing::detail::show(is.valid_until - other) +
                               "; hand over what is left, not a point in time"};
            return finding{};
        });
    });
}

// ---- all of them ----

inline constexpr trap selector_traps[] = {
    {"retries-elsewhere", "a retry went to the broker that had just failed", retries_elsewhere},
    {"remembers-all-tried", "the third attempt was back on the first broker", remembers_all_tried},
    {"survives-extreme-numbers", "abs() of the smallest integer is negative", survives_extreme_numbers},
    {"keeps-topics-apart", "one counter for all topics", keeps_topics_apart},
    {"returns-to-healthy-brokers", "a broker that was isolated got nothing ever after", returns_to_healthy_brokers},
    {"answers-when-all-are-bad", "no queue when every broker is isolated or tried", answers_when_all_are_bad},
    {"takes-an-empty-key-for-a-key", "the empty key taken for no key", takes_an_empty_key_for_a_key},
    {"places-keys-alike", "two producers placed a key differently", places_keys_alike},
    {"wraps-its-cursor", "the position counter overflowed", wraps_its_cursor},
    {"stays-among-candidates", "picked what a filter had taken out", stays_among_candidates},
    {"leaves-the-view-alone", "wrote into the shared route", leaves_the_view_alone},
    {"follows-the-route", "an index kept from an earlier route", follows_the_route},
    {"repeats-itself", "time or randomness of its own", repeats_itself},
    {"keeps-its-word-to-be-deterministic", "declared deterministic, and is not", keeps_its_word_to_be_deterministic},
    {"answers-every-view", "one queue, or thousands", answers_every_view},
    {"may-be-shared-if-it-says-so", "state without a lock", may_be_shared_if_it_says_so},
};

inline constexpr trap fault_traps[] = {
    {"comes-back", "a broker that was slow or away once never got traffic again", comes_back},
    {"comes-back-after-a-long-outage", "an isolation grew without end", comes_back_after_a_long_outage},
    {"knows-brokers-by-id", "an isolation moved to another broker with the route", knows_brokers_by_id},
    {"forgets-who-left", "entries that never expire", forgets_who_left},
    {"trusts-strangers", "a broker nothing is known of was not available", trusts_strangers},
    {"blames-nobody-for-small-deadlines", "the caller's own deadline isolated a broker", blames_nobody_for_small_deadlines},
    {"says-when-verdicts-change", "the host went by an old verdict", says_when_verdicts_change},
    {"survives-odd-times", "a clock that jumps, feedback that comes late", survives_odd_times},
    {"hands-over-its-state", "a point in time handed over to another clock", hands_over_its_state},
};

namespace detail {

template <std::size_t N>
finding all(const trap (&traps)[N], const plugin& p, const options& o)
{
    for (const std::string& name : o.except)
        if (std::ranges::none_of(traps, [&](const trap& t) { return t.name == name; }))
            misuse("there is no trap " + quoted(name) + " to be left out");
    finding f;
    for (const trap& t : traps)
        if (std::ranges::find(o.except, t.name) == o.except.end())
            f.also(t.run(p, o), t.name);
    return f;
}

}  // namespace detail

/// Every trap a selector can step into; one line for each that it does.
inline finding selector(const plugin& p, const options& o = {}) { return detail::all(selector_traps, p, o); }
/// Every trap a fault strategy can step into.
inline finding fault(const plugin& p, const options& o = {}) { return detail::all(fault_traps, p, o); }

}  // namespace shunt::sdk::testing::traps
