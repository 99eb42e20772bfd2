// Names of topics and groups inside a namespace of the old kind: "NAMESPACE%NAME", with %RETRY% and %DLQ% staying in front.

#pragma once

#include <string>
#include <string_view>

namespace shunt::wire {

/// The name as brokers know it. Names of the system's own, and those that are in the namespace already, stay as they are;
/// an empty namespace changes nothing.
[[nodiscard]] std::string in_namespace(std::string_view space, std::string_view name);
/// The name as programs know it.
[[nodiscard]] std::string without_namespace(std::string_view space, std::string_view name);

}  // namespace shunt::wire
