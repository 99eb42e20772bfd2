// Whether bytes are text: well-formed UTF-8, as RFC 3629 has it.

#pragma once

#include <string_view>

namespace shunt::wire {

[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

}  // namespace shunt::wire
