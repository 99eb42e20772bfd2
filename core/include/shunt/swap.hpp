// Changing the policies of a running producer: staged, looked at beside the old ones, put in force, taken back.
//
// A swap climbs a ladder: staged -> admitting -> created -> [shadow] -> [canary] -> probation -> in_force -> replaced ->
// retired. What fails on the way changes nothing for the traffic. Putting in force is one exchange of a pointer: no send waits for it.

#pragma once

#include <shunt/detail/export.hpp>
#include <shunt/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt {

namespace client {
class core;
}

enum class swap_state : std::uint8_t {
    staged,       ///< waits until those before it are admitted
    admitting,    ///< configuration, plugin files and settings are checked; strategies are loaded and made
    created,      ///< ready; every outcome of a send is told to its fault strategies from here on
    shadow,       ///< decides beside the policies in force, without effect
    canary,       ///< decides a share of the sends
    probation,    ///< in force; goes back by itself if it does worse than the policies before it
    in_force,     ///< in force
    replaced,     ///< was in force; another took its place; it can be brought back
    retired,      ///< was replaced; it cannot be brought back any more, and the last call into it is over
    refused,      ///< never was in force, and never will be: `reason` says why
    rolled_back,  ///< was in force or canary, and was taken back: `reason` says why; can be brought back while it is retained
};
/// "in_force".
[[nodiscard]] SHUNT_EXPORT std::string_view to_string(swap_state s) noexcept;

/// How a swap climbs.
class stage_options {
public:
    double shadow = 0;        ///< share of the sends that are also put to the candidate: 0 (no shadow) to 1
    double canary = 0;        ///< share of the sends that go by the candidate: 0 (no canary) to 1
    bool hold = false;        ///< stop at `created` until promote() and the like say more
    bool auto_promote = false;  ///< a canary that has proved no worse is put in force by itself
    bool now = false;         ///< keys of ordered topics move at once; refused where that could break their order
    bool force = false;       ///< with `now`: even there
    std::string who;          ///< for the record: who asked
    std::string what;         ///< for the record: from where, a file's name for example

    stage_options() = default;
};

/// A step a swap took.
class swap_step {
public:
    swap_state state = swap_state::staged;
    std::chrono::system_clock::time_point at;
    std::string reason;  ///< why it came to this; empty: as planned

    swap_step() = default;
};

/// One changed key: "policies.default.selector.use", from what to what, as TOML. Empty: not there.
class swap_change {
public:
    std::string key, from, to;
    bool live = true;  ///< false: needs a restart of the program

    swap_change() = default;
};

/// How the sends went that one side decided.
class swap_arm {
public:
    std::uint64_t attempts = 0, stored = 0, not_sent = 0, rejected = 0, unknown = 0, plugin_errors = 0;
    std::chrono::nanoseconds p50{0}, p99{0};                 ///< of attempts that stored; 0: none
    std::map<std::string, std::uint64_t> by_broker;          ///< attempts

    swap_arm() = default;
};

/// What a shadow showed: the same sends, put to both.
class swap_shadow {
public:
    std::uint64_t decisions = 0;     ///< put to the candidate
    std::uint64_t differ = 0;        ///< it would have taken another queue
    std::uint64_t keyed = 0, keyed_differ = 0;  ///< of these, those with a key; a key that moves
    std::uint64_t no_queue = 0, errors = 0, dropped = 0;  ///< it found none; its plugin failed; not looked at for want of time
    std::map<std::pair<std::string, std::int32_t>, std::pair<std::uint64_t, std::uint64_t>> by_queue;  ///< picks: in force, candidate
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> by_broker;

    swap_shadow() = default;
};

/// A swap as it stands.
class swap_status {
public:
    std::uint64_t id = 0;             ///< counts the swaps of a producer from 1; 0: what it started with
    swap_state state = swap_state::staged;
    std::string reason;               ///< why it stopped or was refused; empty: it did not
    std::uint64_t generation = 0;     ///< under which it was put in force last (canary: under which it decides); 0: not yet
    std::string who, what;
    std::vector<swap_step> steps;     ///< all so far, the first is `staged`
    std::chrono::system_clock::time_point deadline;  ///< by which the present step must end; the epoch: it has none
    std::vector<swap_change> changes; ///< against what was in force when it was admitted
    swap_shadow shadow;
    swap_arm before, after;           ///< canary: the policies in force and the candidate; probation: before it and since
    std::string verdict;              ///< of the comparison: "undecided: ...", "no worse: ...", "worse: ..."; empty: none was made
    std::size_t keys_on_old_map = 0;  ///< of ordered topics: keys that still go by policies before these

    swap_status() = default;
    /// It goes no further by itself and by nobody: refused, retired.
    [[nodiscard]] bool over() const noexcept { return state == swap_state::refused || state == swap_state::retired; }
};

/// One swap. Copies are the same swap; it may outlive its producer.
class swap_handle {
public:
    swap_handle() = default;

    [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
    [[nodiscard]] SHUNT_EXPORT swap_status status() const;
    /// Waits until it is, or was, in `state`. False: `limit` came first, or it is over and never was.
    SHUNT_EXPORT bool wait_for(swap_state state, std::chrono::milliseconds limit) const;
    /// Waits until its state is no longer `state`. False: `limit` came first.
    SHUNT_EXPORT bool wait_past(swap_state state, std::chrono::milliseconds limit) const;

    // Each answers an empty text, or why it cannot be. They wait until it is done, 3 s at most.
    /// From created, shadow or canary; again while it runs: another share.
    SHUNT_EXPORT std::string shadow(double share);
    SHUNT_EXPORT std::string canary(double share);
    /// Puts it in force: from created, shadow or canary; from replaced and rolled_back while it is retained.
    SHUNT_EXPORT std::string promote();
    /// Takes it back: a canary ends, what was in force before comes back in force. From created and shadow: it is dropped.
    SHUNT_EXPORT std::string rollback(std::string reason = "asked for");

private:
    friend class client::core;
    struct record;
    std::uint64_t id_ = 0;
    std::shared_ptr<record> record_;
    std::weak_ptr<client::core> core_;
};

}  // namespace shunt
