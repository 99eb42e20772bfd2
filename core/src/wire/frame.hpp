// Finds whole frames in a stream of bytes, and says early what cannot be one.
//
// A frame: i32 length (of what follows), u32 (serialize type << 24 | header length), header, body. Big-endian.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace shunt::wire {

/// How a header is written. Peers choose per frame: a reader accepts both.
enum class header_format : std::uint8_t { json = 0, binary = 1 };

/// Largest frame either side accepts, its 4-byte length field included.
inline constexpr std::size_t max_frame = 16 * 1024 * 1024;

/// One frame's parts. Views into the scanned bytes.
struct frame {
    header_format format = header_format::json;
    std::string_view header;
    std::string_view body;
};

enum class scan_status : std::uint8_t { complete, need_more, bad };

struct scan_result {
    scan_status status = scan_status::need_more;
    std::size_t size = 0;     ///< complete: bytes of the frame. need_more: bytes the frame will have, 0 if not known yet.
    frame parts;              ///< complete only
    std::string what;         ///< bad only: what arrived and what would be right ("not RocketMQ: looks like HTTP", ...)
};

/// Looks at the front of `bytes` for one frame. Never allocates but for `what`; never reads past `bytes`.
/// A bad front is told as soon as it can be known, so that nothing is allocated for a length that lies.
[[nodiscard]] scan_result scan(std::string_view bytes);

}  // namespace shunt::wire
