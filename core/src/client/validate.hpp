// What is refused before the wire: messages no broker would take.

#pragma once

#include <shunt/error.hpp>
#include <shunt/message.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::client {

struct refusal {
    errc why;
    std::string text;  ///< what was found and what would be right
};

[[nodiscard]] std::optional<refusal> check_topic(std::string_view topic);
/// All but the encoded size of the properties, and delays.
[[nodiscard]] std::optional<refusal> check_message(const message& m, std::size_t max_body);
/// Of a message that is_delayed().
[[nodiscard]] std::optional<refusal> check_delay(const message& m, std::chrono::milliseconds max_delay, std::int64_t now_ms);

}  // namespace shunt::client
