// Send requests and their answers: the hot path, so both are written and read without allocating.

#pragma once

#include <wire/buffer.hpp>
#include <wire/command.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace shunt::wire {

/// sysFlag bits a producer sets.
inline constexpr std::int32_t sys_compressed = 0x1, sys_prepared = 0x4, sys_lz4 = 0x100, sys_zstd = 0x200, sys_zlib = 0x300;

/// The header fields of SEND_MESSAGE_V2 and its relatives. Views are read during the call only.
struct send_head {
    std::string_view group{};
    std::string_view topic{};
    std::string_view default_topic = "TBW102";
    std::int32_t default_topic_queues = 4;
    std::int32_t queue_id = 0;
    std::int32_t sys_flag = 0;
    std::int64_t born_ms = 0;
    std::int32_t flag = 0;
    std::string_view properties{};  ///< encoded, see properties.hpp
    std::string_view broker{};      ///< broker name: proxies route by it
    bool batch = false;
    bool unit_mode = false;
    std::span<const field> extra{};  ///< further extFields (credentials, namespace), written last; not read back
};

/// Appends frame length, header and room for a body: everything but the body itself, which must follow with exactly
/// `body_size` bytes (so that large bodies can be gathered from where they lie). `code`: send_message (long names),
/// send_message_v2, send_batch_message, send_reply_message_v2.
void encode_send_head(buffer& out, header_format format, std::int32_t code, std::int32_t opaque, bool oneway,
                      const send_head& head, std::size_t body_size);

/// What a stored answer carries. Views into the command.
struct send_answer {
    std::string_view offset_msg_id;  ///< comma-joined for a batch
    std::int32_t queue_id = -1;
    std::int64_t queue_offset = -1;
    std::string_view transaction_id;
    std::string_view recall_handle;
    std::string_view batch_uniq_id;
};

/// Reads the fields of codes 0, 10, 11, 12. False: msgId, queueId or queueOffset is missing or not a number.
[[nodiscard]] bool read_send_answer(const command& answer, send_answer& out) noexcept;

/// Server side (embedded cluster, tests): reads long or one-letter names, by the request's code. False: a field is bad,
/// or one is missing that brokers insist on (topic, queue id, sysFlag, born time, flag); `what` names it as on the wire.
[[nodiscard]] bool read_send_head(const command& request, send_head& out, std::string_view& what) noexcept;

}  // namespace shunt::wire
