// The key decides the queue, and a queue that comes or goes, wherever in the list, moves only the keys that must move.
//
// Each pair of key and queue has a score; a key goes to the queue with the highest, a retry to the highest of an untried
// broker. A queue's scores do not depend on the other queues, so two queues that stay never exchange keys. (This is a hash
// ring on which each key sees the queues in an order of its own: even without hundreds of points a queue.)

#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/keyless.hpp>
#include <shunt/sdk/plugin.hpp>

namespace {

namespace sdk = shunt::sdk;

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
        learn(v);
        if (!m.tried().empty())
            if (const std::uint32_t q = highest({v, m, sdk::tier::untried}, m.hash64()); q != SHUNT_NONE)
                return {q, sdk::why::avoid_tried};
        const std::uint32_t q = highest({v, m, sdk::tier::any}, m.hash64());
        return q == SHUNT_NONE ? sdk::pick::no_queue() : sdk::pick{q, sdk::why::key};
    }

private:
    [[nodiscard]] std::uint32_t highest(const sdk::fitting& f, std::uint64_t key) const noexcept
    {
        const bool all_fit = f.all();
        std::uint32_t best = SHUNT_NONE;
        std::uint64_t best_score = 0;
        for (std::uint32_t q = 0; q < seeds_.size(); ++q) {
            if (!all_fit && !f.has(q))
                continue;
            const std::uint64_t score = sdk::mix(key ^ seeds_[q]);
            if (best == SHUNT_NONE || score > best_score) {
                best = q;
                best_score = score;
            }
        }
        return best;
    }

    /// A number for each queue, made of its broker's name and its id: the same in every producer.
    void learn(sdk::view v)
    {
        if (known_route_ == v.route_gen() && !seeds_.empty())
            return;
        seeds_.clear();
        for (const sdk::broker_view b : v.brokers()) {
            const std::uint64_t broker = sdk::mix(sdk::fnv1a_64(b.name()));
            for (std::uint32_t q = b.first_queue(); q < b.end_queue(); ++q)
                seeds_.push_back(sdk::mix(broker + v.queues()[q].queue_id));
        }
        known_route_ = v.route_gen();
    }

    sdk::keyless_rule keyless_;
    std::vector<std::uint64_t> seeds_;
    std::uint64_t known_route_ = 0;
};

}  // namespace

SHUNT_PLUGIN("shunt.consistent-hash", "1.0.0", "Apache-2.0", consistent_hash);
