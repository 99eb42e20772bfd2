#include <record/broker_history.hpp>

#include <algorithm>
#include <utility>

namespace shunt::record {

namespace {

constexpr std::size_t max_ways = 4;         // different behaviours in one bin that are told apart
constexpr std::int64_t jitter_ms = 5;       // latencies this near to each other are the same,
constexpr std::int64_t blip_ms = 50;        // and a single attempt that took less is no change
constexpr std::uint64_t few = 3;            // attempts

bool really_differ(std::int64_t a, std::int64_t b)
{
    const auto [low, high] = std::minmax(a, b);
    return high - low > jitter_ms && 2 * high > 3 * low;
}

/// The median of values that came so often.
std::optional<std::int64_t> median_of(const std::map<std::int64_t, std::uint64_t>& values)
{
    std::uint64_t all = 0, seen = 0;
    for (const auto& [value, n] : values)
        all += n;
    for (const auto& [value, n] : values)
        if ((seen += n) * 2 >= all)
            return value;
    return std::nullopt;
}

}  // namespace

// ---- samples and bins ----

void broker_history::sample::add(std::int64_t value, std::uint64_t weight)
{
    const std::uint64_t before = (seen_ + each_ - 1) / each_;
    seen_ += weight;
    std::uint64_t due = std::min<std::uint64_t>((seen_ + each_ - 1) / each_ - before, kept_.size());
    for (; due != 0; --due)
        keep(value);
}

void broker_history::sample::add(const sample& other)
{
    for (std::uint32_t i = 0; i < other.n_kept_; ++i)
        add(other.kept_[i], other.each_);
}

void broker_history::sample::keep(std::int64_t value)
{
    if (n_kept_ == kept_.size()) {
        n_kept_ /= 2;
        each_ *= 2;
        for (std::uint32_t i = 0; i < n_kept_; ++i)
            kept_[i] = kept_[2 * i];
    }
    kept_[n_kept_++] = value;
}

std::optional<std::int64_t> broker_history::sample::median() const
{
    if (n_kept_ == 0)
        return std::nullopt;
    auto values = kept_;
    const auto middle = values.begin() + (n_kept_ - 1) / 2;
    std::nth_element(values.begin(), middle, values.begin() + n_kept_);
    return *middle;
}

broker_history::way broker_history::bin::usual() const
{
    // Of those that came equally often the last one: what is not well.
    auto best = ways.begin();
    for (auto it = ways.begin(); it != ways.end(); ++it)
        if (it->second >= best->second)
            best = it;
    return best->first;
}

std::uint64_t broker_history::bin::attempts() const
{
    std::uint64_t n = 0;
    for (const auto& [what, count] : ways)
        n += count;
    return n;
}

// ---- the history ----

void broker_history::add(std::string_view broker, std::int64_t start_ms, behaviour how, std::int32_t code, std::int64_t latency_ms)
{
    auto number = numbers_.find(broker);
    if (number == numbers_.end())
        number = numbers_.emplace(std::string(broker), static_cast<std::uint32_t>(numbers_.size())).first;
    bin& b = bins_[{number->second, start_ms / width_ms_}];
    b.first_ms = std::min(b.first_ms, start_ms);
    const way what{how, how == behaviour::answer ? code : 0};
    if (const auto found = b.ways.find(what); found != b.ways.end())
        ++found->second;
    else if (b.ways.size() < max_ways)
        b.ways.emplace(what, 1);
    if (how == behaviour::answer)
        b.latencies.add(latency_ms);
    while (bins_.size() > max_bins_ && coarsen()) {
    }
}

bool broker_history::coarsen()
{
    if (bins_.size() <= numbers_.size())
        return false;
    width_ms_ *= 2;
    std::map<std::pair<std::uint32_t, std::int64_t>, bin> wider;
    for (auto& [at, b] : bins_) {
        const auto [to, is_new] = wider.try_emplace({at.first, at.second / 2});
        if (is_new) {
            to->second = std::move(b);
            continue;
        }
        bin& into = to->second;
        into.first_ms = std::min(into.first_ms, b.first_ms);
        for (const auto& [what, n] : b.ways)
            if (into.ways.contains(what) || into.ways.size() < max_ways)
                into.ways[what] += n;
        into.latencies.add(b.latencies);
    }
    bins_ = std::move(wider);
    return true;
}

std::vector<stretch> broker_history::stretches(std::string_view broker) const
{
    std::vector<stretch> out;
    const auto number = numbers_.find(broker);
    if (number == numbers_.end())
        return out;
    std::map<std::int64_t, std::uint64_t> latencies;  // of the last stretch
    const auto end = bins_.upper_bound({number->second, INT64_MAX});
    for (auto it = bins_.lower_bound({number->second, 0}); it != end; ++it) {
        const bin& b = it->second;
        const auto [how, code] = b.usual();
        const auto latency = b.latencies.median();
        const auto differs = [&](const bin& one) {
            const auto there = one.latencies.median();
            return there && out.back().latency_ms && really_differ(*there, *out.back().latency_ms);
        };
        bool changed = out.empty() || out.back().how != how || out.back().code != code;
        if (!changed && differs(b)) {
            const auto next = std::next(it);
            const bool lone = b.attempts() < few && *latency < blip_ms && next != end && !differs(next->second);
            changed = !lone;
        }
        if (changed) {
            out.push_back({.time_ms = b.first_ms, .how = how, .code = code, .latency_ms = std::nullopt});
            latencies.clear();
        }
        out.back().attempts += b.attempts();
        if (how == behaviour::answer && latency) {
            latencies[*latency] += b.attempts();
            out.back().latency_ms = median_of(latencies);
        }
    }
    return out;
}

std::map<std::string, std::uint64_t> broker_history::attempts() const
{
    std::map<std::string, std::uint64_t> out;
    for (const auto& [name, number] : numbers_)
        for (auto it = bins_.lower_bound({number, 0}); it != bins_.end() && it->first.first == number; ++it)
            out[name] += it->second.attempts();
    return out;
}

}  // namespace shunt::record
