// Compressed bodies, in the containers that other clients write and read: RFC 1950 streams, LZ4 frames, Zstandard frames.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::wire {

enum class codec : std::uint8_t { zlib, lz4, zstd };

/// The bits of sysFlag that tell of a body compressed so.
[[nodiscard]] std::int32_t codec_flag(codec c) noexcept;
/// Levels are 1 to this; 0 stands for what the codec usually does (zlib 5, lz4 its fast way, zstd 3).
[[nodiscard]] int max_level(codec c) noexcept;

/// False: the result would not be smaller (`out` is then of no use).
[[nodiscard]] bool compress(codec c, int level, std::string_view body, std::string& out);

enum class inflated : std::uint8_t {
    whole,
    broken,     ///< not what the flag says
    too_large,  ///< it would have more than `most` bytes
};
/// Undoes what `sys_flag` tells of. Never holds more than `most` bytes, and a little.
[[nodiscard]] inflated inflate(std::int32_t sys_flag, std::string_view body, std::size_t most, std::string& out);

/// The body as it was before it was compressed, if it was. Nothing: it cannot be inflated, or not to `most` bytes.
[[nodiscard]] std::optional<std::string> plain_body(std::int32_t sys_flag, std::string_view body, std::size_t most);

}  // namespace shunt::wire
