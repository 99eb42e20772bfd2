// What the pieces of a broker have in common: codes, texts and small readers of its own.

#pragma once

#include <cluster/broker.hpp>

#include <wire/properties.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace shunt::cluster {

namespace code = wire::code;
namespace response = wire::response;
using wire::field;

// Requests that only servers know.
inline constexpr std::int32_t query_consumer_offset = 14, update_consumer_offset = 15, get_broker_config = 26,
                       get_consumer_list = 38, delete_topic_in_broker = 215;

inline constexpr std::array<field, 2> region{field{"TRACE_ON", "true"}, field{"MSG_REGION", "DefaultRegion"}};
inline constexpr std::int32_t sys_transaction_bits = 0xC, sys_commit = 0x8;
inline constexpr std::size_t max_properties = 32767;
inline constexpr std::size_t max_pull_bytes = 256 * 1024;

inline bool is_send(std::int32_t request) noexcept
{
    return request == code::send_message || request == code::send_message_v2 || request == code::send_batch_message ||
           request == code::send_reply_message || request == code::send_reply_message_v2;
}

inline bool is_stored(std::int32_t answer) noexcept
{
    return answer == response::success || answer == response::flush_disk_timeout ||
           answer == response::slave_not_available || answer == response::flush_slave_timeout;
}

inline bool has_prefix(std::string_view text, std::string_view prefix) noexcept
{
    return text.substr(0, prefix.size()) == prefix;
}

struct decimal {
    explicit decimal(std::int64_t v) noexcept
        : size(static_cast<std::size_t>(std::to_chars(digits.data(), digits.data() + digits.size(), v).ptr - digits.data()))
    {
    }
    [[nodiscard]] std::string_view view() const noexcept { return {digits.data(), size}; }
    std::array<char, 20> digits;
    std::size_t size;
};

inline void put_offset_id(std::string& out, std::string_view prefix, std::int64_t offset)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    out += prefix;
    for (int shift = 60; shift >= 0; shift -= 4)
        out += digits[static_cast<std::size_t>(offset >> shift) & 0xF];
}

/// What a broker says when it answers with the code for a reason of its own.
inline std::string usual_remark(std::int32_t answer, std::string_view topic, std::string_view host)
{
    switch (answer) {
    case response::system_error: return "store putMessage return null";
    case response::system_busy:
        return "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 206ms, size of queue: 5";
    case response::message_illegal:
        return "the message is illegal, maybe msg body or properties length not matched. msg body length limit 4194304B, "
               "msg properties length limit 32KB.";
    case response::service_not_available:
        return "service not available now. It may be caused by one of the following reasons: the broker's disk is full "
               "[CL:  0.95 CQ:  0.95 INDEX:  0.95], messages are put to the slave, message store has been shut down, etc.";
    case response::no_permission: return fmt::format("the broker[{}] sending message is forbidden", host);
    case response::topic_not_exist:
        return fmt::format("topic[{}] not exist, apply first please!\nSee "
                           "https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.", topic);
    case response::go_away: return "please go away";
    default: return fmt::format("told to answer {}", answer);
    }
}

inline std::string illegal_message(std::size_t max_body)
{
    return fmt::format("the message is illegal, maybe msg body or properties length not matched. msg body length limit {}B, "
                       "msg properties length limit 32KB.", max_body);
}

inline std::optional<std::int64_t> number(std::string_view text) noexcept
{
    std::int64_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

/// When a message with these timer properties is due (the first that is there counts): `now_ms` when it has none or the
/// time has come. Nothing: not a number, or more than three days away.
inline std::optional<std::int64_t> timer_due(std::string_view delay_s, std::string_view delay_ms, std::string_view deliver_at,
                                             std::int64_t now_ms)
{
    constexpr std::int64_t most_ms = 259'200'000;
    std::optional<std::int64_t> wait;
    if (!delay_s.empty()) {
        wait = number(delay_s);
        if (wait && *wait > most_ms / 1000)
            return std::nullopt;
        if (wait)
            *wait *= 1000;
    } else if (!delay_ms.empty()) {
        wait = number(delay_ms);
    } else if (!deliver_at.empty()) {
        wait = number(deliver_at);
        if (wait)
            *wait -= now_ms;
    } else {
        return now_ms;
    }
    if (!wait || *wait > most_ms)
        return std::nullopt;
    return *wait <= 0 ? now_ms : (now_ms + *wait) / 1000 * 1000;  // to the second below
}

inline constexpr std::array<std::int32_t, 18> delay_seconds{1,   5,   10,  30,  60,  120, 180,  240,  300,
                                                            360, 420, 480, 540, 600, 1200, 1800, 3600, 7200};

inline std::string perm_text(std::int32_t perm)
{
    std::string text;
    text += (perm & 4) != 0 ? 'R' : '-';
    text += (perm & 2) != 0 ? 'W' : '-';
    text += (perm & 1) != 0 ? 'X' : '-';
    return text;
}

/// Whether a subscription such as "*" or "TagA || TagB" takes a message with `tag`.
inline bool takes(std::string_view subscription, std::string_view tag)
{
    if (subscription.empty() || subscription == "*")
        return true;
    while (!subscription.empty()) {
        const auto end = subscription.find("||");
        std::string_view one = subscription.substr(0, end);
        subscription = end == std::string_view::npos ? std::string_view{} : subscription.substr(end + 2);
        const auto first = one.find_first_not_of(' ');
        if (first == std::string_view::npos)
            continue;
        one = one.substr(first, one.find_last_not_of(' ') - first + 1);
        if (one == tag)
            return true;
    }
    return false;
}

}  // namespace shunt::cluster
