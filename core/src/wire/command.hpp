// Commands: what a frame's header says, in both header formats.

#pragma once

#include <wire/buffer.hpp>
#include <wire/frame.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::wire {

/// Version we announce: 5.3.3. A server that shuts down gracefully then answers go_away (1500), which we heed.
inline constexpr std::int32_t our_version = 479;
inline constexpr std::int32_t flag_response = 1;
inline constexpr std::int32_t flag_oneway = 2;

namespace code {  // request codes
inline constexpr std::int32_t send_message = 10, pull_message = 11, query_message = 12, update_and_create_topic = 17,
    update_broker_config = 25, get_broker_runtime_info = 28, search_offset_by_timestamp = 29, get_max_offset = 30,
    get_min_offset = 31, view_message_by_id = 33, heart_beat = 34, unregister_client = 35, end_transaction = 37,
    check_transaction_state = 39, put_kv_config = 100, get_route_by_topic = 105, get_cluster_info = 106,
    send_message_v2 = 310, send_batch_message = 320, send_reply_message = 324, send_reply_message_v2 = 325,
    push_reply_message = 326, recall_message = 370;
}
namespace response {  // response codes
inline constexpr std::int32_t success = 0, system_error = 1, system_busy = 2, request_code_not_supported = 3,
    flush_disk_timeout = 10, slave_not_available = 11, flush_slave_timeout = 12, message_illegal = 13,
    service_not_available = 14, no_permission = 16, topic_not_exist = 17, pull_not_found = 19,
    pull_retry_immediately = 20, pull_offset_moved = 21, query_not_found = 22, invalid_parameter = 29,
    no_buyer_id = 204, not_in_current_unit = 205, flow_control = 215, not_leader_for_queue = 501,
    illegal_operation = 604, go_away = 1500;
}

struct field {
    std::string_view name{};
    std::string_view value{};
};

/// A decoded header. Views stay valid until the decoder's next decode() and while the frame's bytes do.
struct command {
    std::int32_t code = 0;
    std::int32_t opaque = 0;
    std::int32_t flag = 0;
    std::int32_t version = 0;
    std::string_view language;          ///< "JAVA", ...; empty when absent or unknown
    std::string_view remark{};
    std::span<const field> fields;      ///< extFields, in the order on the wire; of doubles the last wins

    [[nodiscard]] bool is_response() const noexcept { return (flag & flag_response) != 0; }
    [[nodiscard]] bool is_oneway() const noexcept { return (flag & flag_oneway) != 0; }
    /// The value of `name`, or nothing when it is absent.
    [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
    /// Absent or not a whole decimal number that fits: nothing.
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const noexcept;
};

/// Decodes headers; keeps scratch memory between calls so that the steady state allocates nothing.
class command_decoder {
public:
    /// False: the header cannot be understood; error() says where and what. JSON: unknown members are skipped,
    /// null and missing members are defaults, field values may be numbers or booleans. Nesting is bounded.
    [[nodiscard]] bool decode(const frame& f, command& out);
    [[nodiscard]] const std::string& error() const noexcept { return error_; }

private:
    [[nodiscard]] bool decode_json(std::string_view header, command& out);
    [[nodiscard]] bool decode_binary(std::string_view header, command& out);

    std::vector<field> fields_;
    std::string scratch_;  ///< values that had to be unescaped; reserved up front, so that views into it stay
    std::string error_;
};

/// A header to be written. `fields` with an empty value are left out (an empty value reads as absent in the binary form).
struct outgoing {
    std::int32_t code = 0;
    std::int32_t opaque = 0;
    std::int32_t flag = 0;
    std::int32_t version = our_version;
    std::string_view language = "CPP";
    std::string_view remark{};
    std::span<const field> fields{};
};

/// Appends a whole frame to `out`. The binary form cannot express codes above 32767: json is used for them.
void encode(buffer& out, header_format format, const outgoing& head, std::string_view body);

}  // namespace shunt::wire
