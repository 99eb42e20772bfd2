// What became of keys in a run: which went to another queue than before, which messages came out of order.

#pragma once

#include <simulate/run.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shunt::simulate {

/// Remembers each key: memory grows with their number.
class key_watch {
public:
    struct counts {
        std::uint64_t keys = 0;
        std::uint64_t moved = 0;         ///< keys with a message stored on another queue than the one stored before it
        std::uint64_t out_of_order = 0;  ///< messages stored after a later one of their key, or on another queue than the one before
    };

    void ended(const send_end& e)
    {
        if (!e.key || !e.broker || e.outcome != outcome::stored)
            return;
        const auto [at, is_new] = table_.try_emplace(std::string(*e.key));
        key_state& k = at->second;
        if (!is_new) {
            const bool elsewhere = k.queue != e.queue || k.broker != *e.broker;
            counts_.out_of_order += elsewhere || e.send < k.latest ? 1 : 0;
            counts_.moved += elsewhere && !k.moved ? 1 : 0;
            k.moved = k.moved || elsewhere;
        }
        k.broker = *e.broker;
        k.queue = e.queue;
        k.latest = e.send > k.latest ? e.send : k.latest;
    }
    [[nodiscard]] counts result() const noexcept
    {
        counts out = counts_;
        out.keys = table_.size();
        return out;
    }

private:
    struct key_state {
        std::string broker;
        std::uint32_t queue = 0;
        std::uint64_t latest = 0;
        bool moved = false;
    };
    std::unordered_map<std::string, key_state> table_;
    counts counts_;
};

}  // namespace shunt::simulate
