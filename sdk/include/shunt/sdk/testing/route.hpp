// A topic's queues and brokers as a selector sees them, from one line; with verdicts and load the test sets.
//
//     route r{"a*4, b*4 @hz-1 weight 2, c*4 isolated, d*0"};
//
// NAME*QUEUES, then what else there is of that broker: @ROOM, weight N, inflight N, latency 5ms, isolated or cut-off. A
// broker with 0 queues is in the view without a queue (read-only, say). All is well until said otherwise.

#pragma once

#include <shunt/sdk/abi.h>
#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/testing/finding.hpp>
#include <shunt/sdk/view.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::sdk::testing {

/// The number of a broker: the same for a name as long as the program runs, as in a host.
[[nodiscard]] inline std::uint32_t broker_id(const std::string& name)
{
    static std::mutex lock;
    static std::map<std::string, std::uint32_t> ids;
    const std::lock_guard held(lock);
    return ids.try_emplace(name, 100 + static_cast<std::uint32_t>(ids.size())).first->second;
}

/// The broker of a queue's name: "a" of "a/0".
[[nodiscard]] inline std::string broker_of(const std::string& queue) { return queue.substr(0, queue.rfind('/')); }

enum class verdict : std::uint8_t { available, reachable, cut_off };

[[nodiscard]] constexpr std::string_view to_string(verdict v) noexcept
{
    return v == verdict::available ? "available" : v == verdict::reachable ? "reachable" : "cut off";
}

/// One broker of a route, for those that a line cannot write.
struct broker {
    std::string name;
    std::uint32_t queues = 4;
    std::string room = {};  ///< empty: what stands before an '@' in the name, if one is there
    std::uint32_t weight = 1;
    std::uint32_t inflight = 0;
    nanoseconds latency{};  ///< 0: nothing measured
    testing::verdict verdict = testing::verdict::available;
};

class route {
public:
    /// `generation` 0: made from the content, so that equal routes have equal generations and others do not.
    route(const char* line, std::uint64_t generation = 0) : route(parse(line), generation) {}
    route(std::string_view line, std::uint64_t generation = 0) : route(parse(line), generation) {}
    explicit route(std::vector<broker> brokers, std::uint64_t generation = 0, std::string topic = "T")
        : specs_(std::move(brokers)), topic_(std::make_unique<std::string>(std::move(topic)))
    {
        std::ranges::sort(specs_, [](const broker& x, const broker& y) { return x.name < y.name; });
        std::size_t n = 0;
        for (const broker& b : specs_)
            n += b.queues;
        if (n > SHUNT_MAX_QUEUES)
            misuse("a route of " + std::to_string(n) + " queues; a host shows " + std::to_string(SHUNT_MAX_QUEUES) + " at most");
        queues_.reserve(n);
        brokers_.reserve(specs_.size());
        std::uint64_t content = fnv1a_64(*topic_);
        for (broker& b : specs_) {
            const auto index = static_cast<std::uint32_t>(brokers_.size());
            if (b.name.empty() || (index > 0 && specs_[index - 1].name == b.name))
                misuse("a route whose brokers include " + detail::quoted(b.name) + (b.name.empty() ? "" : " twice"));
            if (const std::size_t at = b.name.find('@'); b.room.empty() && at != std::string::npos)
                b.room = b.name.substr(0, at);
            loads_.push_back({.inflight = b.inflight, .reserved0 = 0, .ewma_latency_ns = b.latency.count()});
            brokers_.push_back({.name = str(b.name), .room = str(b.room), .id = broker_id(b.name), .flags = b.queues > 0 ? SHUNT_BROKER_WRITABLE : 0,
                                .weight = b.weight, .first_queue = static_cast<std::uint32_t>(queues_.size()), .n_queues = b.queues,
                                .reserved0 = 0, .load = &loads_.back()});
            for (std::uint32_t q = 0; q < b.queues; ++q)
                queues_.push_back({index, q});
            content = mix(content ^ fnv1a_64(b.name)) + mix(fnv1a_64(b.room) ^ (std::uint64_t{b.weight} << 32 | b.queues));
        }
        view_.struct_size = sizeof view_;
        view_.topic = str(*topic_);
        view_.n_queues = static_cast<std::uint32_t>(queues_.size());
        view_.n_brokers = static_cast<std::uint32_t>(brokers_.size());
        view_.broker_stride = sizeof(shunt_broker);
        view_.queues = queues_.data();
        view_.brokers = brokers_.data();
        view_.route_gen = generation == 0 ? content : generation;
        all_well();
        for (const broker& b : specs_)
            if (b.verdict != verdict::available)
                judge(b.name, b.verdict);
    }
    route(route&&) noexcept = default;
    route& operator=(route&&) noexcept = default;

    /// The brokers of a line.
    [[nodiscard]] static std::vector<broker> parse(std::string_view line)
    {
        std::vector<broker> all;
        const auto wrong = [whole = std::string{line}](std::string_view word, const char* right) {
            misuse("route " + detail::quoted(whole) + ": " + detail::quoted(word) + "; it must be " + right);
        };
        const auto number = [&](std::string_view word) {
            std::uint32_t n = 0;
            if (word.empty() || std::from_chars(word.data(), word.data() + word.size(), n).ptr != word.data() + word.size())
                wrong(word, "a whole number");
            return n;
        };
        for (std::string_view word; !(word = detail::next_word(line)).empty();) {
            if (const std::size_t star = word.rfind('*'); star != std::string_view::npos) {
                all.push_back({.name = std::string{word.substr(0, star)}, .queues = number(word.substr(star + 1))});
                continue;
            }
            if (all.empty())
                wrong(word, "NAME*QUEUES, as in \"a*4, b*4 @room-1 weight 2\"");
            broker& b = all.back();
            if (word.front() == '@')
                b.room = word.substr(1);
            else if (word == "weight")
                b.weight = number(detail::next_word(line));
            else if (word == "inflight")
                b.inflight = number(detail::next_word(line));
            else if (word == "latency") {
                const std::string_view time = detail::next_word(line);
                const auto ns = detail::parse_with_unit(time, detail::duration_units);
                if (!ns)
                    wrong(time, "a duration as \"5ms\"");
                b.latency = nanoseconds{*ns};
            } else if (word == "isolated")
                b.verdict = verdict::reachable;
            else if (word == "cut-off")
                b.verdict = verdict::cut_off;
            else
                wrong(word, "NAME*QUEUES, @ROOM, weight N, inflight N, latency T, isolated or cut-off");
        }
        return all;
    }

    // ---- verdicts, candidates, load ----

    void all_well()
    {
        available_ = reachable_ = ones();
        publish();
    }
    void judge(const std::string& broker, verdict v)
    {
        const std::uint32_t b = known(broker);
        set(available_, b, v == verdict::available);
        set(reachable_, b, v != verdict::cut_off);
        publish();
    }
    /// By index of the broker, as fault strategies answer.
    void judge(const std::vector<bool>& available, const std::vector<bool>& reachable)
    {
        for (std::uint32_t b = 0; b < brokers_.size(); ++b) {
            set(available_, b, available[b]);
            set(reachable_, b, available[b] || reachable[b]);
        }
        publish();
    }
    /// Not available, but reachable if they were: slow ones, say.
    void isolate(const std::vector<std::string>& brokers)
    {
        for (const auto& b : brokers)
            set(available_, known(b), false);
        publish();
    }
    void isolate(std::convertible_to<std::string> auto&&... brokers) { isolate(std::vector<std::string>{std::string{brokers}...}); }
    /// Neither available nor reachable.
    void cut_off(const std::vector<std::string>& brokers)
    {
        isolate(brokers);
        for (const auto& b : brokers)
            set(reachable_, known(b), false);
        publish();
    }
    void cut_off(std::convertible_to<std::string> auto&&... brokers) { cut_off(std::vector<std::string>{std::string{brokers}...}); }

    /// Only these queues ("a/0") may be picked, as with filters before the selector.
    void only(const std::vector<std::string>& queues)
    {
        candidates_.assign(words(), 0);
        for (std::uint32_t q = 0; q < view_.n_queues; ++q)
            if (std::ranges::find(queues, name(q)) != queues.end())
                candidates_[q / 64] |= std::uint64_t{1} << (q % 64);
        publish();
    }
    /// By index of the queue; empty: every queue may be picked.
    void candidates(std::vector<std::uint64_t> mask)
    {
        candidates_ = std::move(mask);
        publish();
    }
    [[nodiscard]] shunt_load& load(const std::string& broker) { return loads_[known(broker)]; }
    /// Other numbers for the brokers, as in another process.
    void renumber(std::uint32_t by)
    {
        for (shunt_broker& b : brokers_)
            b.id += by;
    }

    // ---- looking at it ----

    /// The name of a queue, "a/0", as `shunt` writes it.
    [[nodiscard]] std::string name(std::uint32_t queue) const
    {
        const shunt_queue& q = queues_.at(queue);
        return specs_[q.broker].name + "/" + std::to_string(q.queue_id);
    }
    [[nodiscard]] const std::string& broker_of(std::uint32_t queue) const { return specs_[queues_.at(queue).broker].name; }
    /// Of a broker; SHUNT_NONE: it is not here.
    [[nodiscard]] std::uint32_t index(std::string_view broker) const noexcept
    {
        for (std::uint32_t b = 0; b < specs_.size(); ++b)
            if (specs_[b].name == broker)
                return b;
        return SHUNT_NONE;
    }
    [[nodiscard]] const std::vector<broker>& brokers() const noexcept { return specs_; }
    [[nodiscard]] std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const broker& b : specs_)
            all.push_back(b.name);
        return all;
    }
    [[nodiscard]] std::uint32_t size() const noexcept { return view_.n_queues; }
    [[nodiscard]] bool available(std::uint32_t q) const { return bit(available_, q); }
    [[nodiscard]] bool reachable(std::uint32_t q) const { return bit(reachable_, q); }
    [[nodiscard]] bool candidate(std::uint32_t q) const { return candidates_.empty() || bit(candidates_, q); }
    [[nodiscard]] std::size_t words() const noexcept { return (queues_.size() + 63) / 64; }
    [[nodiscard]] const shunt_view& view() const noexcept { return view_; }

    /// Everything a strategy could scribble over, to compare before and after.
    [[nodiscard]] std::string snapshot() const
    {
        std::string bytes(reinterpret_cast<const char*>(&view_), sizeof view_);
        const auto add = [&bytes](const auto& v) { bytes.append(reinterpret_cast<const char*>(v.data()), v.size() * sizeof v[0]); };
        add(queues_), add(brokers_), add(available_), add(reachable_), add(candidates_);
        for (const broker& b : specs_)
            bytes += b.name + b.room;
        for (const shunt_load& l : loads_)
            bytes.append(reinterpret_cast<const char*>(&l), sizeof l);
        return bytes;
    }

private:
    static bool bit(const std::vector<std::uint64_t>& mask, std::uint32_t i) { return (mask[i / 64] >> (i % 64) & 1) != 0; }

    [[nodiscard]] std::uint32_t known(const std::string& broker) const
    {
        const std::uint32_t b = index(broker);
        if (b == SHUNT_NONE)
            misuse("the route has no broker " + detail::quoted(broker));
        return b;
    }
    [[nodiscard]] std::vector<std::uint64_t> ones() const
    {
        std::vector<std::uint64_t> m(words(), ~std::uint64_t{0});
        if (view_.n_queues % 64 != 0)
            m.back() = (std::uint64_t{1} << (view_.n_queues % 64)) - 1;
        return m;
    }
    void set(std::vector<std::uint64_t>& mask, std::uint32_t broker, bool to) const
    {
        const shunt_broker& b = brokers_[broker];
        for (std::uint32_t q = b.first_queue; q < b.first_queue + b.n_queues; ++q) {
            const std::uint64_t one = std::uint64_t{1} << (q % 64);
            mask[q / 64] = to ? mask[q / 64] | one : mask[q / 64] & ~one;
        }
    }
    void publish()
    {
        ++view_.verdict_gen;
        view_.available = available_.data();
        view_.reachable = reachable_.data();
        view_.candidates = candidates_.empty() ? nullptr : candidates_.data();
    }

    std::vector<broker> specs_;
    std::unique_ptr<std::string> topic_;
    std::deque<shunt_load> loads_;
    std::vector<shunt_broker> brokers_;
    std::vector<shunt_queue> queues_;
    std::vector<std::uint64_t> available_, reachable_, candidates_;
    shunt_view view_{};
};

/// `n` brokers of `queues` queues each, "b000", "b001", ...
[[nodiscard]] inline std::vector<broker> many_brokers(int n, std::uint32_t queues)
{
    std::vector<broker> all;
    for (int i = 0; i < n; ++i) {
        const std::string number = std::to_string(i);
        all.push_back({.name = "b" + std::string(number.size() < 3 ? 3 - number.size() : 0, '0') + number, .queues = queues});
    }
    return all;
}

}  // namespace shunt::sdk::testing
