// Shares by weight, interleaved smoothly: weights 5, 1, 1 give a a b a c a a, not five a in a row. Exact over each period.
//
// At each pick every candidate's account grows by its weight; the richest is picked and pays what all together got.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace {

namespace sdk = shunt::sdk;

class weighted_round_robin {
public:
    static constexpr std::string_view name = "weighted-round-robin";
    static constexpr std::string_view summary = "shares by weight, smoothly interleaved";
    static constexpr sdk::param params[] = {
        {.name = "by", .default_text = "\"broker\"", .choices = "broker|queue",
         .help = "what is weighted: brokers, each going round its queues, or each queue with its broker's weight"},
        {.name = "random_start", .type = sdk::type::boolean, .default_text = "false",
         .help = "begin somewhere in the period, so that many short-lived producers do not all begin with the heaviest"},
    };

    weighted_round_robin(const sdk::settings& s, sdk::instance i)
        : by_queue_(s.get<std::string_view>("by") == "queue"), start_(i.start), steps_ahead_(s.get<bool>("random_start") ? i.start : 0)
    {
    }

    sdk::pick select(sdk::view v, sdk::message m)
    {
        learn(v);
        for (const sdk::tier t : sdk::tiers_of(m)) {
            const sdk::fitting f{v, m, t};
            if (entry* const e = richest([&f](const entry& c) { return f.first(c.begin, c.end) < c.end; }))
                return {sdk::scan(f, e->turn, e->begin, e->end).queue, sdk::reason_for(t, sdk::why::weight, !m.tried().empty())};
        }
        return sdk::pick::no_queue();
    }

private:
    struct entry {
        std::uint32_t begin, end;   // its queues in the view
        std::int64_t weight;        // 0: takes no part
        std::int64_t account = 0;
        sdk::cursor turn;           // among its queues
    };

    template <class Fits>
    entry* richest(Fits fits) noexcept
    {
        entry* best = nullptr;
        std::int64_t given = 0;
        for (entry& e : entries_) {
            if (e.weight == 0 || !fits(e))
                continue;
            given += e.weight;
            e.account += e.weight;
            if (best == nullptr || e.account > best->account)
                best = &e;
        }
        if (best != nullptr)
            best->account -= given;
        return best;
    }

    /// Takes over a new route. Whoever stays keeps account and turn; whoever is gone is forgotten.
    void learn(sdk::view v)
    {
        if (known_route_ == v.route_gen() && !entries_.empty())
            return;
        using identity = std::pair<std::uint32_t, std::uint32_t>;
        std::vector<entry> entries;
        std::vector<identity> names;
        std::int64_t weights = 0;
        for (const sdk::broker_view b : v.brokers()) {
            const std::uint32_t step = by_queue_ ? 1 : b.n_queues();
            for (std::uint32_t q = b.first_queue(); q < b.end_queue(); q += step) {
                entries.push_back({.begin = q, .end = q + step, .weight = b.weight(), .turn = sdk::cursor{start_}});
                names.emplace_back(b.id(), by_queue_ ? v.queues()[q].queue_id : 0);
                weights += b.weight();
            }
        }

        std::map<identity, const entry*> before;
        for (std::size_t i = 0; i < entries_.size(); ++i)
            before.emplace(names_[i], &entries_[i]);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (weights == 0)
                entries[i].weight = 1;
            if (const auto old = before.find(names[i]); old != before.end()) {
                entries[i].account = old->second->account;
                entries[i].turn = old->second->turn;
            }
        }
        entries_ = std::move(entries);
        names_ = std::move(names);
        known_route_ = v.route_gen();
        bring_into_proportion(std::max<std::int64_t>(weights, 1));

        // Once: a walk of at most some ten thousand additions into the period.
        const auto walk = std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(weights, 1)), 1 + 32768 / entries_.size());
        for (std::uint64_t i = std::exchange(steps_ahead_, 0) % walk; i > 0; --i)
            (void)richest([](const entry&) { return true; });
    }

    /// Among large weights an account may stand at more than smaller new ones give in a whole period. That would be a jump.
    void bring_into_proportion(std::int64_t period) noexcept
    {
        std::int64_t most = 0;
        for (const entry& e : entries_)
            most = std::max(most, std::abs(e.account));
        if (most <= period)
            return;
        for (entry& e : entries_)
            e.account = static_cast<std::int64_t>(static_cast<double>(e.account) * static_cast<double>(period) / static_cast<double>(most));
    }

    bool by_queue_;
    std::uint32_t start_;
    std::uint32_t steps_ahead_;
    std::uint64_t known_route_ = 0;
    std::vector<entry> entries_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> names_;  // broker id and queue id of each entry
};

}  // namespace

SHUNT_PLUGIN("shunt.weighted-round-robin", "1.0.0", "Apache-2.0", weighted_round_robin);
