// Handles by which messages with a delay can be recalled: URL-safe Base64 of "v1 TOPIC BROKER TIME UNIQUE-KEY".

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::wire {

struct recall_parts {
    std::string topic, broker;
    std::int64_t time_ms = 0;  ///< when it is due
    std::string unique_key;
};

[[nodiscard]] std::string recall_handle(std::string_view topic, std::string_view broker, std::int64_t time_ms, std::string_view unique_key);
/// Nothing: no handle a broker would have given.
[[nodiscard]] std::optional<recall_parts> read_recall_handle(std::string_view handle);

}  // namespace shunt::wire
