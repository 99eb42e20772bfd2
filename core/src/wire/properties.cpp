#include <wire/properties.hpp>

#include <algorithm>
#include <array>

namespace shunt::wire {
namespace {

// Names Java refuses in putUserProperty, and that of the priority, in byte order.
constexpr auto reserved = std::to_array<std::string_view>({
    "1ST_POP_TIME",
    "ARRIVE_TIME",
    "BORN_TIMESTAMP",
    "BUYER_ID",
    "CLUSTER",
    "CONSUME_START_TIME",
    "CORRECTION_FLAG",
    "CORRELATION_ID",
    "DELAY",
    "DLQ_ORIGIN_MESSAGE_ID",
    "DLQ_ORIGIN_TOPIC",
    "DUP_INFO",
    "EXTEND_UNIQ_INFO",
    "INNER_MULTI_QUEUE_OFFSET",
    "INSTANCE_ID",
    "KEYS",
    "MAX_OFFSET",
    "MAX_RECONSUME_TIMES",
    "MIN_OFFSET",
    "MQ2_FLAG",
    "MSG_REGION",
    "MSG_TYPE",
    "ORIGIN_MESSAGE_ID",
    "PGROUP",
    "POP_CK",
    "POP_CK_OFFSET",
    "PUSH_REPLY_TIME",
    "REAL_QID",
    "REAL_TOPIC",
    "RECONSUME_TIME",
    "REPLY_TO_CLIENT",
    "RETRY_TOPIC",
    "TAGS",
    "TIMER_DELAY_LEVEL",
    "TIMER_DELAY_MS",
    "TIMER_DELAY_SEC",
    "TIMER_DELIVER_MS",
    "TIMER_DEL_UNIQKEY",
    "TIMER_DEQUEUE_MS",
    "TIMER_ENQUEUE_MS",
    "TIMER_OUT_MS",
    "TIMER_ROLL_TIMES",
    "TRACE_ON",
    "TRANSFER_FLAG",
    "TRAN_MSG",
    "TRAN_PREPARED_QUEUE_OFFSET",
    "TTL",
    "UNIQ_KEY",
    "WAIT",
    "_SYS_MSG_PRIORITY_",
    "__BORNHOST",
    "__CRC32#",
});
static_assert(std::is_sorted(reserved.begin(), reserved.end()));

}  // namespace

bool property_safe(std::string_view text) noexcept
{
    return text.find('\x01') == std::string_view::npos && text.find('\x02') == std::string_view::npos;
}

void put_property(buffer& out, std::string_view name, std::string_view value)
{
    const std::size_t size = name.size() + value.size() + 2;
    char* p = out.grab(size);
    if (!name.empty())
        std::memcpy(p, name.data(), name.size());
    p += name.size();
    *p++ = '\x01';
    if (!value.empty())
        std::memcpy(p, value.data(), value.size());
    p[value.size()] = '\x02';
    out.advance(size);
}

std::string_view find_property(std::string_view encoded, std::string_view name) noexcept
{
    std::string_view found;
    each_property(encoded, [&](std::string_view n, std::string_view value) {
        if (n == name)
            found = value;
    });
    return found;
}

std::span<const std::string_view> reserved_properties() noexcept { return reserved; }

bool is_reserved_property(std::string_view name) noexcept
{
    return std::binary_search(reserved.begin(), reserved.end(), name);
}

}  // namespace shunt::wire
