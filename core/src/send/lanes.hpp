// Lanes: the waiting messages of one (topic, order key). One of them is under way, the others wait in order.
//
// Pure. T is whatever stands for a send.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shunt::send {

template <typename T>
class lanes {
public:
    static constexpr std::size_t max_doubts = 4096;

    /// True: nothing of the lane is under way, go. False: wait until leave() answers it.
    bool enter(std::string_view topic, std::string_view key, T send)
    {
        const auto it = table_.try_emplace(name(topic, key)).first;
        if (!it->second.busy) {
            it->second.busy = true;
            ++busy_;
            return true;
        }
        it->second.waiting.push_back(std::move(send));
        ++waiting_;
        return false;
    }

    /// The head of the lane ended. The next one, which is the head now; nothing: the lane is empty and forgotten, but for
    /// the doubt. `in_doubt`: the head ended unknown, so that order past it is not promised, and the next of the key is
    /// told so, whenever it comes (of the latest max_doubts keys).
    std::optional<T> leave(std::string_view topic, std::string_view key, bool in_doubt)
    {
        const auto it = table_.find(name(topic, key));
        if (it == table_.end() || !it->second.busy)
            return std::nullopt;
        if (it->second.waiting.empty()) {
            --busy_;
            if (in_doubt)
                remember(it);
            else
                table_.erase(it);
            return std::nullopt;
        }
        T next = std::move(it->second.waiting.front());
        it->second.waiting.pop_front();
        it->second.after_doubt = in_doubt;
        --waiting_;
        return next;
    }

    /// Did the send before the present head end unknown?
    [[nodiscard]] bool after_doubt(std::string_view topic, std::string_view key) const
    {
        const auto it = table_.find(name(topic, key));
        return it != table_.end() && it->second.after_doubt;
    }

    /// Takes a waiting send out (its deadline passed). False: it does not wait here.
    bool remove(std::string_view topic, std::string_view key, const T& send)
    {
        const auto it = table_.find(name(topic, key));
        if (it == table_.end())
            return false;
        auto& waiting = it->second.waiting;
        for (auto w = waiting.begin(); w != waiting.end(); ++w) {
            if (*w == send) {
                waiting.erase(w);
                --waiting_;
                return true;
            }
        }
        return false;
    }

    /// Calls f for each waiting send of the lane, in order, while it answers true.
    template <typename F>
    void each_waiting(std::string_view topic, std::string_view key, F&& f) const
    {
        const auto it = table_.find(name(topic, key));
        if (it == table_.end())
            return;
        for (const T& one : it->second.waiting) {
            if (!f(one))
                return;
        }
    }

    /// Lanes of which something is under way.
    [[nodiscard]] std::size_t size() const noexcept { return busy_; }
    /// Lanes known, those of which only the doubt is left included.
    [[nodiscard]] std::size_t known() const noexcept { return table_.size(); }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

private:
    struct lane {
        std::deque<T> waiting;
        bool busy = false;
        bool after_doubt = false;
    };
    using table = std::unordered_map<std::string, lane>;

    void remember(typename table::iterator it)
    {
        it->second.busy = false;
        it->second.after_doubt = true;
        doubts_.push_back(it->first);
        if (doubts_.size() <= max_doubts)
            return;
        if (const auto oldest = table_.find(doubts_.front()); oldest != table_.end() && !oldest->second.busy)
            table_.erase(oldest);
        doubts_.pop_front();
    }
    // A topic has no NUL byte, so the pair is told apart from every other.
    static std::string name(std::string_view topic, std::string_view key)
    {
        std::string n;
        n.reserve(topic.size() + 1 + key.size());
        n.append(topic).push_back('\0');
        n.append(key);
        return n;
    }
    table table_;
    std::deque<std::string> doubts_;  // keys whose last send ended unknown, the oldest first; some may be over
    std::size_t waiting_ = 0, busy_ = 0;
};

}  // namespace shunt::send
