#include <simulate/recording.hpp>

#include <utility>

namespace shunt::simulate {

namespace {

template <typename Key>
void add_all(std::map<Key, std::uint64_t>& to, const std::map<Key, std::uint64_t>& from)
{
    for (const auto& [key, count] : from)
        to[key] += count;
}

}  // namespace

std::size_t recording::number_of(std::string_view broker)
{
    if (const auto known = numbers_.find(broker); known != numbers_.end())
        return known->second;
    const std::size_t number = brokers_.size();
    numbers_.emplace(std::string(broker), number);
    brokers_.emplace_back(broker);
    stretches_.emplace_back();
    open_.push_back({0, 0, verdict::away});
    return number;
}

recording::piece& recording::piece_at(std::int64_t t_ms)
{
    while (t_ms / width_ms_ >= static_cast<std::int64_t>(most)) {
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
            if (i % 2 == 0) {
                if (i != 0)
                    pieces_[i / 2] = std::exchange(pieces_[i], {});
                continue;
            }
            piece& into = pieces_[i / 2];
            add_all(into.attempts, pieces_[i].attempts);
            add_all(into.failed, pieces_[i].failed);
            add_all(into.latencies, pieces_[i].latencies);
            pieces_[i] = {};
        }
        pieces_.resize((pieces_.size() + 1) / 2);
        width_ms_ *= 2;
    }
    const auto at = static_cast<std::size_t>(t_ms / width_ms_);
    if (at >= pieces_.size())
        pieces_.resize(at + 1);
    return pieces_[at];
}

void recording::decided(const line& l)
{
    if (!l.broker)
        return;
    const std::size_t b = number_of(*l.broker);
    piece& p = piece_at(l.t_ms);
    ++p.attempts[b];
    if (l.outcome != outcome::stored)
        ++p.failed[b];
}

void recording::ended(const send_end& e)
{
    ++piece_at(e.end_ms).latencies[e.end_ms - e.start_ms];
    if (!e.key || !e.broker || e.outcome != outcome::stored)
        return;
    const std::size_t b = number_of(*e.broker);
    keys_.try_emplace(std::string(*e.key), key_place{b, b}).first->second.last = b;
}

void recording::judged(std::int64_t t_ms, std::string_view broker, verdict v)
{
    const std::size_t b = number_of(broker);
    stretch& now = open_[b];
    now.to_ms = t_ms;
    if (now.said != verdict::available && now.to_ms > now.from_ms)
        stretches_[b].push_back(now);
    now = {t_ms, t_ms, v};
}

void recording::close(std::int64_t end_ms)
{
    for (std::size_t b = 0; b < open_.size(); ++b) {
        open_[b].to_ms = end_ms;
        if (open_[b].said != verdict::available && end_ms > open_[b].from_ms)
            stretches_[b].push_back(open_[b]);
    }
    if (end_ms > 0)
        (void)piece_at(end_ms - 1);
}

std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> recording::keys() const
{
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> out;
    for (const auto& [key, place] : keys_)
        ++out[{place.first, place.last}];
    return out;
}

std::int64_t percentile(const std::map<std::int64_t, std::uint64_t>& counts, std::uint64_t per_mille)
{
    std::uint64_t n = 0, seen = 0;
    for (const auto& [value, count] : counts)
        n += count;
    for (const auto& [value, count] : counts)
        if ((seen += count) * 1000 >= n * per_mille)
            return value;
    return 0;
}

}  // namespace shunt::simulate
