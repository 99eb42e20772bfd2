// Names that receipts show: kept as long as the process lives, for a receipt may outlive its producer.

#pragma once

#include <string_view>

namespace shunt::client {

/// The same text, for ever. For names of brokers and policies, of which there are few. Thread-safe.
[[nodiscard]] std::string_view keep_name(std::string_view text);

}  // namespace shunt::client
