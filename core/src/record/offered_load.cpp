#include <record/offered_load.hpp>

#include <config/problem.hpp>

#include <algorithm>

namespace shunt::record {

namespace {

/// A scenario fills in {i}, and TOML is UTF-8.
bool can_be_written(std::string_view key)
{
    return key.size() <= offered_load::max_key && key.find("{i}") == key.npos && config::printable(key) == key;
}

/// How many steps `n` sends evenly over `width` milliseconds take.
std::size_t steps_for(std::uint64_t n, std::uint64_t width)
{
    if (width == 1)
        return 1;
    const std::uint64_t rest = n % width;
    return n / width * (1 + (width - 1) / offered_load::max_count) + (rest == 0 ? 0 : width % rest == 0 ? 1 : 2);
}

class step_list {
public:
    std::vector<send_step> all;

    void add(send_step s)
    {
        for (; s.count > offered_load::max_count; s.count -= offered_load::max_count) {
            all.push_back({s.time_ms, offered_load::max_count, s.every_ms, s.kind});
            s.time_ms += static_cast<std::int64_t>(offered_load::max_count) * s.every_ms;
        }
        all.push_back(s);
    }

    /// Evenly: as many a millisecond as go into it, and the rest at two distances that differ by one.
    void spread(std::int64_t from_ms, std::int64_t width, std::uint64_t n, const send_kind* kind)
    {
        if (width == 1)
            return add({from_ms, n, 0, kind});
        const auto w = static_cast<std::uint64_t>(width);
        for (std::uint64_t i = 0; i < n / w; ++i)
            add({from_ms, w, 1, kind});
        const std::uint64_t rest = n % w;
        if (rest == 0)
            return;
        const std::uint64_t gap = w / rest, wider = w - rest * gap;
        add({from_ms, rest - wider, static_cast<std::int64_t>(gap), kind});
        if (wider != 0)
            add({from_ms + static_cast<std::int64_t>((rest - wider) * gap), wider, static_cast<std::int64_t>(gap) + 1, kind});
    }
};

/// Single sends of one kind, as long as one distance fits them all.
class even_run {
public:
    even_run(std::int64_t first_ms, std::int64_t slack) : first_(first_ms), slack_(slack) {}

    [[nodiscard]] bool take(std::int64_t at_ms)
    {
        const auto n = static_cast<std::int64_t>(count_);
        const std::int64_t far = at_ms - first_;
        const std::int64_t low = std::max(low_, (far - slack_ + n - 1) / n), high = std::min(high_, (far + slack_) / n);
        if (low > high)
            return false;
        low_ = low;
        high_ = high;
        ++count_;
        return true;
    }
    [[nodiscard]] send_step step(const send_kind* kind) const
    {
        return {first_, count_, count_ == 1 ? 0 : low_ + (high_ - low_) / 2, kind};
    }

private:
    std::int64_t first_, slack_, low_ = 1, high_ = INT64_MAX;
    std::uint64_t count_ = 1;
};

}  // namespace

std::uint32_t offered_load::kept(std::map<std::string, std::uint32_t, std::less<>>& in, std::string_view name, send_kind kind)
{
    if (const auto found = in.find(name); found != in.end())
        return found->second;
    if (kinds_.size() >= max_kinds + 2)
        return kind.key ? other : plain;
    const auto number = static_cast<std::uint32_t>(kinds_.size());
    kinds_.push_back(std::move(kind));
    in.emplace(std::string(name), number);
    return number;
}

std::uint32_t offered_load::kind_of(const std::optional<std::string_view>& key, const std::optional<queue_name>& queue)
{
    if (queue) {
        const std::string name = queue->first + '/' + std::to_string(queue->second);
        return kept(by_queue_, name, {.key = std::nullopt, .queue = queue});
    }
    if (!key)
        return plain;
    if (const auto found = by_key_.find(*key); found != by_key_.end())
        return found->second;
    return can_be_written(*key) ? kept(by_key_, *key, {.key = std::string(*key), .queue = std::nullopt}) : other;
}

void offered_load::add(std::int64_t at_ms, const std::optional<std::string_view>& key, const std::optional<queue_name>& queue)
{
    const std::uint32_t kind = kind_of(key, queue);
    other_keys_ += kind == other ? 1 : 0;
    std::uint64_t& n = counts_[{at_ms / width_ms_, kind}];
    const auto width = static_cast<std::uint64_t>(width_ms_);
    steps_ += steps_for(n + 1, width) - (n == 0 ? 0 : steps_for(n, width));
    ++n;
    while (steps_ > max_steps_ && coarsen()) {
    }
}

bool offered_load::coarsen()
{
    if (counts_.empty() || counts_.rbegin()->first.first == 0)
        return false;
    width_ms_ *= 2;
    steps_ = 0;
    std::map<std::pair<std::int64_t, std::uint32_t>, std::uint64_t> wider;
    for (const auto& [at, n] : counts_)
        wider[{at.first / 2, at.second}] += n;
    counts_ = std::move(wider);
    for (const auto& [at, n] : counts_)
        steps_ += steps_for(n, static_cast<std::uint64_t>(width_ms_));
    return true;
}

std::vector<send_step> offered_load::steps() const
{
    step_list out;
    std::map<std::uint32_t, even_run> open;
    for (const auto& [at, n] : counts_) {
        const auto& [piece, kind] = at;
        const std::int64_t from_ms = piece * width_ms_;
        const auto run = open.find(kind);
        if (n == 1 && run != open.end() && run->second.take(from_ms))
            continue;
        if (run != open.end()) {
            out.add(run->second.step(&kinds_[kind]));
            open.erase(run);
        }
        if (n == 1)
            open.emplace(kind, even_run(from_ms, std::max<std::int64_t>(2, width_ms_)));
        else
            out.spread(from_ms, width_ms_, n, &kinds_[kind]);
    }
    for (const auto& [kind, run] : open)
        out.add(run.step(&kinds_[kind]));
    std::stable_sort(out.all.begin(), out.all.end(), [](const send_step& a, const send_step& b) { return a.time_ms < b.time_ms; });
    return std::move(out.all);
}

}  // namespace shunt::record
