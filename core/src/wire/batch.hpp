// The body of SEND_BATCH_MESSAGE: items one after another.

#pragma once

#include <wire/buffer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace shunt::wire {

struct batch_item {
    std::int32_t flag = 0;
    std::string_view body{};
    std::string_view properties{};  ///< encoded, at most 32767 bytes: checked by the caller
};

/// Bytes put_batch_item will append.
[[nodiscard]] constexpr std::size_t batch_item_size(const batch_item& item) noexcept
{
    return 22 + item.body.size() + item.properties.size();
}

void put_batch_item(buffer& out, const batch_item& item);

/// Takes one item off the front. False at the end (`what` empty) or when the bytes lie (`what` says how).
[[nodiscard]] bool read_batch_item(std::string_view& bytes, batch_item& out, std::string& what);

}  // namespace shunt::wire
