// Message properties: name U+0001 value U+0002, concatenated. There is no escaping, so both bytes are refused.

#pragma once

#include <wire/buffer.hpp>

#include <span>
#include <string_view>

namespace shunt::wire {

/// Largest encoded size a broker stores, its own additions included.
inline constexpr std::size_t most_properties = 32767;
/// Largest encoded size a message may have unless said otherwise: the broker's own additions are left room for.
inline constexpr std::size_t max_properties = most_properties - 512;

/// True when `text` can stand in a property (non-empty is the caller's rule): no U+0001, no U+0002.
[[nodiscard]] bool property_safe(std::string_view text) noexcept;

void put_property(buffer& out, std::string_view name, std::string_view value);

/// Calls f(name, value) for each entry. Rules as Java's decoder: a missing last separator is fine; an item without
/// U+0001, without a name or with an empty value is skipped. Never fails.
template <typename F>
void each_property(std::string_view encoded, F&& f)
{
    while (!encoded.empty()) {
        const auto end = encoded.find('\x02');
        const std::string_view item = encoded.substr(0, end);
        encoded = end == std::string_view::npos ? std::string_view{} : encoded.substr(end + 1);
        const auto split = item.find('\x01');
        if (split == std::string_view::npos || split == 0 || split + 1 == item.size())
            continue;
        f(item.substr(0, split), item.substr(split + 1));
    }
}

/// The value of `name` (the last one where it occurs twice), or empty.
[[nodiscard]] std::string_view find_property(std::string_view encoded, std::string_view name) noexcept;

/// True for names an application may not set itself (Java refuses the same ones).
[[nodiscard]] bool is_reserved_property(std::string_view name) noexcept;
/// All of them, in byte order.
[[nodiscard]] std::span<const std::string_view> reserved_properties() noexcept;

}  // namespace shunt::wire
