// Fault commands: one line of text becomes one change. Pure.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace shunt::cluster {

/// What a broker does with sends (and, hanging, with everything).
enum class behaviour : std::uint8_t { well, code, hang, drop, half, close, garbage, twice };

struct set_latency {
    std::chrono::microseconds value{};
};
struct set_behaviour {
    behaviour what = behaviour::well;
    bool stored = false;          ///< hang, drop: the message is stored all the same
    std::int32_t code = 0;        ///< code
    std::string text;             ///< code: the remark; empty: what a broker says
};
struct set_refuse {};
struct set_gone {};
struct set_stall {};
struct set_perm {
    std::int32_t perm = 0;
    std::string topic;            ///< empty: the broker's
};
struct set_queues {
    std::int32_t queues = 0;
    std::string topic;
};
struct set_move {
    std::uint16_t port = 0;
};
struct set_forget {};
struct set_stale {};
struct check_transactions {};
struct set_ok {};

using change = std::variant<set_latency, set_behaviour, set_refuse, set_gone, set_stall, set_perm, set_queues, set_move, set_forget,
                            set_stale, check_transactions, set_ok>;

inline constexpr std::string_view name_server_subject = "name-server";

struct fault_command {
    std::string subject;          ///< a broker's name or "name-server"
    change what;
};

/// Reads a command. Empty: `out` is filled. Otherwise what was found and what would be right. Whether a broker of that
/// name exists is not looked at.
[[nodiscard]] std::string parse_fault(std::string_view line, fault_command& out);

/// "250us", "800ms", "2s", "1m", "1h", with or without a decimal fraction. False: not a duration.
[[nodiscard]] bool parse_duration(std::string_view text, std::chrono::microseconds& out) noexcept;

/// Splits off the next word; empty at the end. Words are parted by blanks and tabs.
[[nodiscard]] std::string_view next_word(std::string_view& text) noexcept;

}  // namespace shunt::cluster
