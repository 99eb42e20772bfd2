// What is refused before the wire: messages no broker would take.

#pragma once

#include <shunt/error.hpp>
#include <shunt/message.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::client {

struct refusal {
    errc why;
    std::string text;  ///< what was found and what would be right
};

[[nodiscard]] std::optional<refusal> check_topic(std::string_view topic);
/// All but the encoded size of the properties.
[[nodiscard]] std::optional<refusal> check_message(const message& m, std::size_t max_body);

}  // namespace shunt::client
