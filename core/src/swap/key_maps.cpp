#include <swap/key_maps.hpp>

#include <strategy/decide.hpp>

#include <algorithm>
#include <utility>

namespace shunt::swap {

void key_maps::unlink(entry& e) noexcept
{
    (e.before != nullptr ? e.before->after : first_) = e.after;
    (e.after != nullptr ? e.after->before : last_) = e.before;
    e.before = e.after = nullptr;
}

void key_maps::append(entry& e) noexcept
{
    e.before = last_;
    e.after = nullptr;
    (last_ != nullptr ? last_->after : first_) = &e;
    last_ = &e;
}

void key_maps::forget(entry& e)
{
    const auto n = count_.find(e.map);
    if (--n->second == 0)
        count_.erase(n);
    unlink(e);
    keys_.erase(e.key);
}

void key_maps::sweep(std::int64_t now_ns)
{
    while (first_ != nullptr && now_ns - first_->ended_ns >= quiet_ns_)
        forget(*first_);
    if (let_go_ns_ != INT64_MIN && now_ns - let_go_ns_ >= quiet_ns_)
        let_go_ns_ = INT64_MIN;
}

std::uint64_t key_maps::find(std::uint64_t key, std::uint64_t wanted, std::int64_t now_ns) const
{
    const auto it = keys_.find(key);
    if (it == keys_.end())
        return let_go_ns_ != INT64_MIN && now_ns - let_go_ns_ < quiet_ns_ ? let_go_map_ : wanted;
    return it->second.busy == 0 && now_ns - it->second.ended_ns >= quiet_ns_ ? wanted : it->second.map;
}

std::uint64_t key_maps::enter(std::uint64_t key, std::uint64_t wanted, std::int64_t now_ns)
{
    sweep(now_ns);
    const auto [it, fresh] = keys_.try_emplace(key);
    entry& e = it->second;
    if (fresh) {
        e.key = key;
        e.map = let_go_ns_ != INT64_MIN ? let_go_map_ : wanted;
        ++count_[e.map];
    } else if (e.busy == 0) {
        unlink(e);
    }
    ++e.busy;
    if (keys_.size() > max_keys_ && first_ != nullptr) {
        // The one that is quiet longest is let go. Where several maps are in use, one of them must stand for all such
        // keys: the older one, so that none moves early.
        let_go_map_ = let_go_ns_ == INT64_MIN ? first_->map : std::min(let_go_map_, first_->map);
        let_go_ns_ = std::max(let_go_ns_, first_->ended_ns);
        forget(*first_);
    }
    return e.map;
}

void key_maps::leave(std::uint64_t key, std::int64_t now_ns)
{
    const auto it = keys_.find(key);
    if (it == keys_.end() || it->second.busy == 0)
        return;
    entry& e = it->second;
    if (--e.busy != 0)
        return;
    e.ended_ns = now_ns;
    append(e);
    if (e.passed)
        forget(e);
}

void key_maps::barrier()
{
    while (first_ != nullptr)
        forget(*first_);
    let_go_ns_ = INT64_MIN;
    for (auto& [key, e] : keys_)
        e.passed = true;
}

std::size_t key_maps::on(std::uint64_t map) const
{
    const auto n = count_.find(map);
    return n == count_.end() ? 0 : n->second;
}

std::int64_t key_maps::next_ns() const noexcept
{
    const std::int64_t first = first_ == nullptr ? INT64_MAX : first_->ended_ns;
    const std::int64_t let_go = let_go_ns_ == INT64_MIN ? INT64_MAX : let_go_ns_;
    const std::int64_t next = std::min(first, let_go);
    return next > INT64_MAX - quiet_ns_ ? INT64_MAX : next + quiet_ns_;
}

std::uint64_t key_maps::hash(std::string_view topic, std::string_view key) noexcept
{
    return strategy::key_hash64(topic) * 0x9e3779b97f4a7c15ULL ^ strategy::key_hash64(key);
}

}  // namespace shunt::swap
