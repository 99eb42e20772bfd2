// Which map from keys to queues an ordered key goes by while several are about. Pure: the time comes in.
//
// A policy maps keys to queues. When one that maps them otherwise takes its place, a key's next message may go to another
// queue, and overtake those before it there. So a key stays on its map until nothing of it is under way and it was quiet for
// a while (longer than consumers lag), or until an explicit barrier says that consumers have passed; only then does it move.
// That needs to know, at any time, which keys were used lately: they are kept here, by a hash of topic and key. Two keys of
// one hash are one key here, which keeps both longer and harms neither.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace shunt::swap {

class key_maps {
public:
    explicit key_maps(std::int64_t quiet_ns, std::size_t max_keys = 1u << 20) noexcept : quiet_ns_(quiet_ns), max_keys_(max_keys) {}
    key_maps(const key_maps&) = delete;
    key_maps& operator=(const key_maps&) = delete;

    void quiet(std::int64_t ns) noexcept { quiet_ns_ = ns; }
    [[nodiscard]] std::int64_t quiet() const noexcept { return quiet_ns_; }

    /// A message of the key goes on its way. `wanted`: the map of a key that nothing is known of. Answers the map that
    /// counts. To be followed by leave().
    std::uint64_t enter(std::uint64_t key, std::uint64_t wanted, std::int64_t now_ns);
    /// It has ended.
    void leave(std::uint64_t key, std::int64_t now_ns);
    /// Where a key would go that enters now: as enter(), changing nothing.
    [[nodiscard]] std::uint64_t find(std::uint64_t key, std::uint64_t wanted, std::int64_t now_ns) const;

    /// A key may move as soon as nothing of it is under way, though it was not quiet: all that are known now.
    void barrier();
    /// Forgets the keys that are quiet long enough.
    void sweep(std::int64_t now_ns);

    /// Keys known to be on the map.
    [[nodiscard]] std::size_t on(std::uint64_t map) const;
    /// May any key still go by the map, known or let go?
    [[nodiscard]] bool holds(std::uint64_t map) const { return on(map) != 0 || (let_go_ns_ != INT64_MIN && let_go_map_ == map); }
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
    /// When the next key is quiet long enough; INT64_MAX: none will be unless something ends.
    [[nodiscard]] std::int64_t next_ns() const noexcept;

    [[nodiscard]] static std::uint64_t hash(std::string_view topic, std::string_view key) noexcept;

private:
    struct entry {
        std::uint64_t map = 0;
        std::int64_t ended_ns = 0;
        std::uint32_t busy = 0;
        bool passed = false;           // a barrier was set while it was busy
        std::uint64_t key = 0;
        entry* before = nullptr;       // idle keys, the longest quiet first
        entry* after = nullptr;
    };
    using table = std::unordered_map<std::uint64_t, entry>;
    void unlink(entry& e) noexcept;
    void append(entry& e) noexcept;
    void forget(entry& e);

    std::int64_t quiet_ns_;
    std::size_t max_keys_;
    table keys_;
    std::unordered_map<std::uint64_t, std::size_t> count_;  // by map
    entry* first_ = nullptr;
    entry* last_ = nullptr;
    // More keys than can be kept: those let go early count as on this map until then.
    std::uint64_t let_go_map_ = 0;
    std::int64_t let_go_ns_ = INT64_MIN;
};

}  // namespace shunt::swap
