// The key decides the queue, and a queue that comes or goes, wherever in the list, moves only the keys that must move.
//
// A ring: each queue has 256 points on it, made of its broker's name and its id; a key goes to the queue of the first point
// at or after its own place, a retry goes on along the ring to an untried broker. A queue's points do not depend on the
// other queues, so two queues that stay never exchange keys. Finding a point takes the same time on a ring of any size.

#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/keyless.hpp>
#include <shunt/sdk/plugin.hpp>

#include <algorithm>
#include <bit>
#include <vector>

namespace {

namespace sdk = shunt::sdk;

/// Points in order of their place, and where each stretch of the ring begins among them.
class ring {
public:
    void build(sdk::view v)
    {
        seeds_.clear();
        for (const sdk::broker_view b : v.brokers()) {
            const std::uint64_t broker = sdk::mix(sdk::fnv1a_64(b.name()));
            for (std::uint32_t q = b.first_queue(); q < b.end_queue(); ++q)
                seeds_.push_back(sdk::mix(broker + v.queues()[q].queue_id));
        }
        // Places are even over the ring, so counting them into stretches all but sorts them.
        const std::size_t n = seeds_.size() * points_per_queue;
        const int bits = static_cast<int>(std::bit_width(n)) - 1;
        shift_ = 32 - bits;
        begins_.assign((std::size_t{1} << bits) + 1, 0);
        each_point([&](std::uint32_t place, std::uint32_t) { ++begins_[(place >> shift_) + 1]; });
        for (std::size_t s = 1; s < begins_.size(); ++s)
            begins_[s] += begins_[s - 1];
        points_.resize(n);
        std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
        each_point([&](std::uint32_t place, std::uint32_t queue) { points_[next[place >> shift_]++] = {place, queue}; });
        for (std::size_t s = 0; s + 1 < begins_.size(); ++s)
            std::sort(points_.begin() + begins_[s], points_.begin() + begins_[s + 1], [&](const point& a, const point& b) {
                return a.place != b.place ? a.place < b.place : seeds_[a.queue] < seeds_[b.queue];
            });
    }

    [[nodiscard]] std::size_t queues() const noexcept { return seeds_.size(); }

    /// The queue of the first point from the key's place on, round the end, that `fits`; SHUNT_NONE: none does.
    template <typename Fits>
    [[nodiscard]] std::uint32_t find(std::uint64_t key, Fits fits) const
    {
        const auto place = static_cast<std::uint32_t>(key >> 32);
        std::size_t at = begins_[place >> shift_];
        while (at < points_.size() && points_[at].place < place)
            ++at;
        for (std::size_t looked = 0; looked < points_.size(); ++looked, ++at) {
            if (at == points_.size())
                at = 0;
            if (fits(points_[at].queue))
                return points_[at].queue;
        }
        return SHUNT_NONE;
    }

private:
    static constexpr std::uint32_t points_per_queue = 256;
    struct point {
        std::uint32_t place, queue;
    };

    template <typename F>
    void each_point(F f) const
    {
        for (std::uint32_t q = 0; q < seeds_.size(); ++q)
            for (std::uint32_t i = 0; i < points_per_queue; ++i)
                f(static_cast<std::uint32_t>(sdk::mix(seeds_[q] + i * 0x9e3779b97f4a7c15u) >> 32), q);
    }

    std::vector<std::uint64_t> seeds_;  // a number for each queue, the same in every producer
    std::vector<point> points_;
    std::vector<std::uint32_t> begins_;
    int shift_ = 0;
};

class consistent_hash {
public:
    static constexpr std::string_view name = "consistent-hash";
    static constexpr std::string_view summary = "key to queue, with the fewest keys moved when queues come or go";
    static constexpr std::uint32_t may_want = SHUNT_F_WANTS_HASH64;
    static constexpr sdk::param params[] = {sdk::keyless_rule::setting};

    consistent_hash(const sdk::settings& s, sdk::instance i) : keyless_(s, i) {}

    sdk::pick select(sdk::view v, sdk::message m)
    {
        if (!m.has_key())
            return keyless_.select(v, m);
        if (known_route_ != v.route_gen() || ring_.queues() != v.size()) {
            ring_.build(v);
            known_route_ = v.route_gen();
        }
        const std::uint64_t key = sdk::mix(m.hash64());
        if (!m.tried().empty()) {
            const sdk::fitting untried{v, m, sdk::tier::untried};
            if (const std::uint32_t q = ring_.find(key, [&](std::uint32_t at) { return untried.has(at); }); q != SHUNT_NONE)
                return {q, sdk::why::avoid_tried};
        }
        const sdk::fitting any{v, m, sdk::tier::any};
        const std::uint32_t q = ring_.find(key, [&](std::uint32_t at) { return any.has(at); });
        return q == SHUNT_NONE ? sdk::pick::no_queue() : sdk::pick{q, sdk::why::key};
    }

private:
    sdk::keyless_rule keyless_;
    ring ring_;
    std::uint64_t known_route_ = 0;
};

}  // namespace

SHUNT_PLUGIN("shunt.consistent-hash", "1.0.0", "Apache-2.0", consistent_hash);
