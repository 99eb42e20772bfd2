// What an attempt's end means: for the message, for the next attempt, for the broker's reputation, for the route.

#pragma once

#include <shunt/error.hpp>
#include <shunt/sdk/abi.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shunt::send {

/// How an attempt ended, as far as the network tells.
enum class ending : std::uint8_t {
    answered,      ///< with a code
    refused,       ///< no connection could be made
    unconnected,   ///< its share ran out before there was a connection; not a byte was written
    dropped,       ///< the connection was lost after the request was (in part) written
    expired,       ///< no answer within the attempt's share
    garbled,       ///< an answer came that could not be understood
    written,       ///< one-way: handed to the socket
    cancelled,     ///< the producer closed; before the write
};

struct attempt_result {
    ending how = ending::answered;
    std::int32_t code = 0;      ///< answered only
    std::string_view text{};      ///< the broker's remark
};

struct meaning {
    shunt::outcome outcome = shunt::outcome::stored;
    bool retry = false;                     ///< worth another attempt
    bool refresh_route = false;             ///< what we know of the route may be old: ask for it
    bool await_refresh = false;             ///< another attempt makes sense only with the new route
    bool put_aside = false;                 ///< the broker does not have the topic: pass over its queues of this topic
    std::optional<std::int32_t> feedback{}; ///< SHUNT_FB_*: what it says about the broker; nothing: the message's fault
};

enum class rules : std::uint8_t {
    contract,  ///< as scenario files define it: by the code alone
    live,      ///< as contract, but heeds texts, and codes that ask for a new route
};

/// Codes that are tried again unless an application says otherwise: what Java's client retries.
inline constexpr std::array<std::int32_t, 8> retried_codes{1, 2, 14, 16, 17, 204, 205, 1500};

/// What an application may choose, see producer_options.
struct retry_rules {
    std::span<const std::int32_t> codes = retried_codes;
    bool unknown = true;
    bool flush_late = false;
};

[[nodiscard]] meaning classify(const attempt_result& result, rules r, const retry_rules& retry = {}) noexcept;

/// "stored" in the sense of a receipt: codes 0, 10, 11, 12.
[[nodiscard]] constexpr bool is_stored(std::int32_t code) noexcept { return code == 0 || (code >= 10 && code <= 12); }

/// True where the text of a code 1 or 16 speaks of the message or of the caller, not of the broker: trying elsewhere is
/// pointless and the broker is well.
[[nodiscard]] bool blames_message(std::int32_t code, std::string_view text) noexcept;

}  // namespace shunt::send
