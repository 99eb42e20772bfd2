// Bytes to routes, messages, verdicts, feedback and the passing of time; every rule of the contract is checked on the way.
//
//     static const plugin p{"build/libtenant_pin.so"};
//     extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
//     {
//         require(fuzz::selector(p, {}, data, size));
//         return 0;
//     }
//
// Without a fuzzer: fuzz::at_random(fuzz::selector, p, {}, 1000) makes the inputs up, the same for the same seed.

#pragma once

#include <shunt/sdk/testing/assertions.hpp>
#include <shunt/sdk/testing/traps.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::sdk::testing::fuzz {

/// Settings, route and exceptions of the strategy, as for traps; of `except` these two are heeded: "retries-elsewhere" (a retry
/// may go to a tried broker though another is left) and "comes-back".
using traps::options;

namespace detail {

using testing::detail::show;

/// Hands out the input piece by piece; zeros once it is used up.
class pieces {
public:
    pieces(const std::uint8_t* data, std::size_t size) noexcept : data_(data), left_(size) {}

    [[nodiscard]] bool empty() const noexcept { return left_ == 0; }
    [[nodiscard]] std::uint8_t byte() noexcept
    {
        if (left_ == 0)
            return 0;
        --left_;
        return *data_++;
    }
    [[nodiscard]] std::uint32_t below(std::uint32_t n) noexcept { return n <= 256 ? byte() % n : (byte() << 8 | byte()) % n; }
    [[nodiscard]] std::uint64_t number() noexcept
    {
        std::uint64_t v = 0;
        for (int i = 0; i < 8; ++i)
            v = v << 8 | byte();
        return v;
    }
    [[nodiscard]] std::string text() noexcept
    {
        std::string s;
        for (std::size_t n = std::min<std::size_t>(byte(), left_); n > 0; --n)
            s += static_cast<char>(byte());
        return s;
    }
    /// A time span of any order: most are short, some odd.
    [[nodiscard]] nanoseconds span() noexcept
    {
        const std::uint8_t scale = byte();
        const auto n = static_cast<std::int64_t>(byte());
        switch (scale % 8) {
        case 0: return nanoseconds{n};
        case 1: return std::chrono::microseconds{n};
        case 2:
        case 3:
        case 4: return std::chrono::milliseconds{n * 10};
        case 5: return std::chrono::seconds{n};
        case 6: return std::chrono::minutes{n};
        default: return n % 3 == 0 ? nanoseconds{0} : n % 3 == 1 ? nanoseconds::max() : nanoseconds{-1};
        }
    }
    /// Each with an even chance.
    [[nodiscard]] std::vector<std::string> some_of(const std::vector<std::string>& all)
    {
        std::vector<std::string> some;
        std::uint32_t bits = byte() << 8 | byte();
        for (std::size_t i = 0; i < all.size(); ++i, bits = i % 16 == 0 ? byte() << 8 | byte() : bits >> 1)
            if ((bits & 1) != 0)
                some.push_back(all[i]);
        return some;
    }

private:
    const std::uint8_t* data_;
    std::size_t left_;
};

/// The options' brokers, some left out, with other numbers of queues; at least one queue.
inline testing::route make_route(pieces& in, const options& o)
{
    std::vector<broker> brokers;
    for (broker b : testing::route::parse(o.route)) {
        const std::uint8_t what = in.byte();
        if (what % 4 == 3)
            continue;
        b.queues = what % 4 == 2 ? in.below(90) : what / 4 % 8;
        b.inflight = in.byte() % 16;
        b.latency = std::chrono::milliseconds{in.byte()};
        brokers.push_back(std::move(b));
    }
    if (std::ranges::none_of(brokers, [](const broker& b) { return b.queues > 0; })) {
        brokers = testing::route::parse(o.route);
        brokers.resize(1);
        brokers.front().queues = 1;
    }
    return testing::route{std::move(brokers)};
}

}  // namespace detail

/// One input for a selector: what it does wrong with it, if anything.
inline finding selector(const plugin& p, const options& o, const std::uint8_t* data, std::size_t size)
{
    detail::pieces in{data, size};
    const std::uint8_t near_the_end = in.byte();  // where a rotation begins anew
    const std::uint32_t start = near_the_end < 64 ? 0x7fffffffu - near_the_end : static_cast<std::uint32_t>(in.number()) & 0x7fffffffu;
    testing::selector s{p, o.settings, {start}};
    if (!s.refusal().empty())
        return finding{"the strategy was not made: " + s.refusal()};
    s.host().dice = std::mt19937_64{in.byte()};
    const bool any_retry = std::ranges::find(o.except, "retries-elsewhere") != o.except.end();

    testing::route r = detail::make_route(in, o);
    for (int step = 0; !in.empty() && step < 400; ++step) {
        switch (in.byte() % 8) {
        case 0: r = detail::make_route(in, o); break;
        case 1: r.all_well(); break;
        case 2: r.isolate(in.some_of(r.names())); break;
        case 3: r.cut_off(in.some_of(r.names())); break;
        case 4: {
            std::vector<std::uint64_t> mask(r.words());
            for (std::uint32_t q = 0; q < r.size(); q += 8)
                mask[q / 64] |= std::uint64_t{in.byte()} << (q % 64);
            if (r.size() % 64 != 0)
                mask.back() &= (std::uint64_t{1} << (r.size() % 64)) - 1;
            r.candidates(in.byte() % 2 == 0 ? mask : std::vector<std::uint64_t>{});
            break;
        }
        case 5: s.host().now += std::max(nanoseconds{0}, std::min<nanoseconds>(in.span(), std::chrono::hours{1})); break;
        default: {
            msg m{.tried = in.byte() % 2 == 0 ? std::vector<std::string>{} : in.some_of(r.names()), .ordered = in.byte() % 4 == 0};
            if (const std::uint8_t what = in.byte(); what % 4 != 0)
                m.key = what % 4 == 1 ? in.text() : o.keys.empty() ? "order-" + std::to_string(in.byte()) : o.keys[in.byte() % o.keys.size()];
            if (in.byte() % 8 == 0)
                m.random = in.number();
            const std::string before = r.snapshot();
            const answer a = s.ask(r, m);
            const auto wrong = [&](const std::string& what) {
                return finding{"step " + std::to_string(step) + ", " + traps::detail::of(m) + ", tried " + traps::detail::list(m.tried) + ": " + what};
            };
            if (!a.problem.empty())
                return wrong(a.problem);
            if (r.snapshot() != before)
                return wrong("select changed the view it was shown");
            if (!a.picked() || any_retry)
                break;
            const auto was_tried = [&](std::uint32_t q) { return std::ranges::find(m.tried, r.broker_of(q)) != m.tried.end(); };
            if (was_tried(a.pick.queue_index))
                for (std::uint32_t q = 0; q < r.size(); ++q)
                    if (r.candidate(q) && !was_tried(q) && r.view().brokers[r.view().queues[q].broker].weight > 0)
                        return wrong("picked " + r.name(a.pick.queue_index) + " again, though " + r.name(q) + " is of a broker not tried yet");
        }
        }
    }
    return {};
}

/// One input for a fault strategy: what it does wrong with it, if anything.
inline finding fault(const plugin& p, const options& o, const std::uint8_t* data, std::size_t size)
{
    detail::pieces in{data, size};
    testing::fault f{p, o.settings};
    if (!f.refusal().empty())
        return finding{"the strategy was not made: " + f.refusal()};
    const testing::route whole{testing::route::parse(o.route)};
    testing::route r{testing::route::parse(o.route)};
    const std::vector<std::string> names = whole.names();
    nanoseconds now = std::chrono::hours{1};
    bool backward = false;

    for (int step = 0; !in.empty() && step < 400; ++step) {
        const std::string& b = names[in.byte() % names.size()];
        const auto wrong = [&](const std::string& what) { return finding{"step " + std::to_string(step) + ", at " + detail::show(now) + ", " + b + ": " + what}; };
        shunt_status said = 0;
        switch (in.byte() % 8) {
        case 0: now += std::clamp<nanoseconds>(in.span(), nanoseconds{0}, std::chrono::hours{1}); continue;
        case 1: r = detail::make_route(in, o); continue;
        case 2: said = f.left(b, now); break;
        case 3:
            if (f.probe_at(b) >= nanoseconds{0}) {
                now = std::max(now, std::min<nanoseconds>(f.probe_at(b), now + std::chrono::hours{1}));
                said = f.probed(b, now, in.byte() % 2 == 0);
            }
            break;
        case 4: {
            const judgement first = f.judge(r, now);
            if (!first.problem.empty())
                return wrong(first.problem);
            if (!(f.judge(r, now) == first))
                return wrong("judged twice at the same time, with two answers");
            continue;
        }
        case 5:
            if (f.table().export_state != nullptr) {
                const std::string state = f.export_state(now);
                testing::fault other{p, o.settings};
                if (other.import_state(f.table().state_schema, state, now) != SHUNT_OK)
                    return wrong("its own state was refused: " + other.host().error);
                std::string broken = state;
                for (int i = in.byte() % 4; i > 0 && !broken.empty(); --i)
                    broken[in.below(static_cast<std::uint32_t>(std::min<std::size_t>(broken.size(), 65535)))] = static_cast<char>(in.byte());
                (void)other.import_state(f.table().state_schema, broken, now);
                if (const judgement j = other.judge(whole, now); !j.problem.empty())
                    return wrong("after odd state: " + j.problem);
            }
            continue;
        default: {
            testing::fault::event e{.at = now, .result = in.byte() % 4, .latency = in.span(), .share = in.span()};
            if (in.byte() % 8 == 0) {  // late
                e.at = now - std::clamp<nanoseconds>(in.span(), nanoseconds{0}, std::chrono::minutes{10});
                backward = true;
            }
            e.start = std::max(nanoseconds{0}, e.at - std::clamp<nanoseconds>(e.latency, nanoseconds{0}, e.at));
            const judgement before = f.judge(whole, now);
            said = f.tell(b, e);
            const judgement after = f.judge(whole, now);
            if (!after.problem.empty())
                return wrong(after.problem);
            if (said == 0 && !backward && !(before == after))
                return wrong("a verdict changed, but on_feedback answered 0 (nothing changed)");
        }
        }
        if (said < 0)
            return wrong(f.host().error.empty() ? "on_feedback failed without a text" : f.host().error);
        if (said > 1)
            return wrong("on_feedback answered " + std::to_string(said) + "; it must be 0, 1 or an error");
    }
    if (std::ranges::find(o.except, "comes-back") == o.except.end())
        for (const std::string& b : names)
            if (finding back = recovers_within(f, whole, b, now, o.comes_back_within); !back)
                return back;
    return {};
}

/// `runs` made-up inputs, the same for the same seed; the first that goes wrong is told with its number.
template <class OneInput>
finding at_random(OneInput&& one, const plugin& p, const options& o, int runs, std::uint64_t seed = 1)
{
    std::mt19937_64 dice{seed};
    for (int run = 0; run < runs; ++run) {
        std::vector<std::uint8_t> input(dice() % 800);
        for (std::uint8_t& b : input)
            b = static_cast<std::uint8_t>(dice());
        if (finding f = one(p, o, input.data(), input.size()); !f)
            return finding{"input " + std::to_string(run + 1) + " of seed " + std::to_string(seed) + ": " + f.why()};
    }
    return {};
}

}  // namespace shunt::sdk::testing::fuzz
