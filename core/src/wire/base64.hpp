// Base64 (RFC 4648), padded.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shunt::wire {

enum class base64_digits { standard, for_urls };  ///< the last two digits: + / or - _

[[nodiscard]] std::string to_base64(std::string_view bytes, base64_digits digits = base64_digits::standard);

/// Padding may be missing. Nothing: there is a character that is no digit.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text, base64_digits digits = base64_digits::standard);

}  // namespace shunt::wire
