// Messages as a broker stores them: bodies of pull, query and transaction-check answers.

#pragma once

#include <wire/buffer.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace shunt::wire {

struct host_address {
    std::array<std::uint8_t, 16> address{};
    bool ipv6 = false;
    std::uint32_t port = 0;
};

struct stored_message {
    std::uint32_t body_crc = 0;  ///< of the stored body, as read; encode computes it
    std::int32_t queue_id = 0;
    std::int32_t flag = 0;
    std::int64_t queue_offset = 0;
    std::int64_t commit_log_offset = 0;
    std::int32_t sys_flag = 0;
    std::int64_t born_ms = 0;
    host_address born_host{};
    std::int64_t store_ms = 0;
    host_address store_host{};
    std::int32_t reconsume_times = 0;
    std::int64_t prepared_offset = 0;
    std::string_view body{};        ///< as stored (may be compressed, see sys_flag)
    std::string_view topic{};
    std::string_view properties{};  ///< encoded
};

enum class stored_status : std::uint8_t { message, blank, end, bad };

/// Takes one message off the front of `bytes`. message: `out` is filled with views into them. blank: an end-of-file
/// filler was skipped. end: nothing left. bad: not a stored message; `what` says why, and nothing more can be read.
[[nodiscard]] stored_status read_stored(std::string_view& bytes, stored_message& out, std::string& what);

void put_stored(buffer& out, const stored_message& m);

/// CRC-32 (IEEE) of `body`, top bit cleared, as brokers store it.
[[nodiscard]] std::uint32_t body_crc(std::string_view body) noexcept;

}  // namespace shunt::wire
