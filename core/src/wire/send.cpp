#include <wire/bytes.hpp>
#include <wire/field_writers.hpp>
#include <wire/send.hpp>

namespace shunt::wire {
namespace {

// SEND_MESSAGE and SEND_REPLY_MESSAGE spell their fields out; all others use one letter a field.
struct long_names {
    static constexpr field_name group = "producerGroup", topic = "topic", default_topic = "defaultTopic",
                                      default_topic_queues = "defaultTopicQueueNums", queue_id = "queueId",
                                      sys_flag = "sysFlag", born = "bornTimestamp", flag = "flag",
                                      properties = "properties", reconsume = "reconsumeTimes", unit_mode = "unitMode",
                                      batch = "batch", broker = "bname";
};
struct short_names {
    static constexpr field_name group = "a", topic = "b", default_topic = "c", default_topic_queues = "d",
                                      queue_id = "e", sys_flag = "f", born = "g", flag = "h", properties = "i",
                                      reconsume = "j", unit_mode = "k", batch = "m", broker = "n";
};

bool has_long_names(std::int32_t code) noexcept
{
    return code == code::send_message || code == code::send_reply_message;
}

template <typename Names, typename Writer>
char* put_fields(char* p, const send_head& h) noexcept
{
    Writer w{p};
    w.template text<Names::group>(h.group);
    w.template text<Names::topic>(h.topic);
    w.template text<Names::default_topic>(h.default_topic);
    w.template number<Names::default_topic_queues>(h.default_topic_queues);
    w.template number<Names::queue_id>(h.queue_id);
    w.template number<Names::sys_flag>(h.sys_flag);
    w.template number<Names::born>(h.born_ms);
    w.template number<Names::flag>(h.flag);
    if (!h.properties.empty())
        w.template text<Names::properties>(h.properties);
    w.template number<Names::reconsume>(0);
    w.template boolean<Names::unit_mode>(h.unit_mode);
    w.template boolean<Names::batch>(h.batch);
    if (!h.broker.empty())
        w.template text<Names::broker>(h.broker);
    for (const field& f : h.extra) {
        if (!f.name.empty() && !f.value.empty())
            w.any(f.name, f.value);
    }
    return w.p;
}

template <typename Writer>
char* put_fields(char* p, std::int32_t code, const send_head& h) noexcept
{
    return has_long_names(code) ? put_fields<long_names, Writer>(p, h) : put_fields<short_names, Writer>(p, h);
}

char* put_json_header(char* p, std::int32_t code, std::int32_t opaque, bool oneway, const send_head& h) noexcept
{
    p = put_literal(p, "{\"code\":");
    p = put_decimal(p, code);
    p = put_literal(p, ",\"extFields\":{");
    p = put_fields<json_field_writer>(p, code, h) - 1;
    p = put_literal(p, oneway ? "},\"flag\":2,\"language\":\"CPP\",\"opaque\":" : "},\"flag\":0,\"language\":\"CPP\",\"opaque\":");
    p = put_decimal(p, opaque);
    static_assert(our_version == 479);
    return put_literal(p, ",\"version\":479}");
}

char* put_binary_header(char* p, std::int32_t code, std::int32_t opaque, bool oneway, const send_head& h) noexcept
{
    constexpr char cpp = 1;
    p = store_u16(p, static_cast<std::uint16_t>(code));
    *p++ = cpp;
    p = store_u16(p, our_version);
    p = store_u32(p, static_cast<std::uint32_t>(opaque));
    p = store_u32(p, static_cast<std::uint32_t>(oneway ? flag_oneway : 0));
    p = store_u32(p, 0);
    char* const end = put_fields<binary_field_writer>(p + 4, code, h);
    store_u32(p, static_cast<std::uint32_t>(end - (p + 4)));
    return end;
}

bool read_i32(std::string_view text, std::int32_t& out) noexcept
{
    std::int64_t v;
    if (!read_decimal(text, v) || v < INT32_MIN || v > INT32_MAX)
        return false;
    out = static_cast<std::int32_t>(v);
    return true;
}

template <typename Names>
bool read_send_fields(const command& request, send_head& out, std::string_view& what) noexcept
{
    enum : unsigned { topic = 1, queue_id = 2, sys_flag = 4, born = 8, flag = 16, required = 31 };
    unsigned seen = 0;
    for (const field& f : request.fields) {
        const auto number = [&](std::int32_t& v, unsigned bit) {
            seen |= bit;
            return read_i32(f.value, v);
        };
        bool good = true;
        if (f.name == Names::group.view()) {
            out.group = f.value;
        } else if (f.name == Names::topic.view()) {
            out.topic = f.value;
            seen |= topic;
        } else if (f.name == Names::default_topic.view()) {
            out.default_topic = f.value;
        } else if (f.name == Names::default_topic_queues.view()) {
            good = number(out.default_topic_queues, 0);
        } else if (f.name == Names::queue_id.view()) {
            good = number(out.queue_id, queue_id);
        } else if (f.name == Names::sys_flag.view()) {
            good = number(out.sys_flag, sys_flag);
        } else if (f.name == Names::born.view()) {
            good = read_decimal(f.value, out.born_ms);
            seen |= born;
        } else if (f.name == Names::flag.view()) {
            good = number(out.flag, flag);
        } else if (f.name == Names::properties.view()) {
            out.properties = f.value;
        } else if (f.name == Names::unit_mode.view()) {
            out.unit_mode = f.value == "true";
        } else if (f.name == Names::batch.view()) {
            out.batch = f.value == "true";
        } else if (f.name == Names::broker.view()) {
            out.broker = f.value;
        }
        if (!good) {
            what = f.name;
            return false;
        }
    }
    const auto missing = required & ~seen;
    if (missing == 0)
        return true;
    what = (missing & topic) != 0      ? Names::topic.view()
           : (missing & queue_id) != 0 ? Names::queue_id.view()
           : (missing & sys_flag) != 0 ? Names::sys_flag.view()
           : (missing & born) != 0     ? Names::born.view()
                                       : Names::flag.view();
    return false;
}

}  // namespace

void encode_send_head(buffer& out, header_format format, std::int32_t code, std::int32_t opaque, bool oneway,
                      const send_head& head, std::size_t body_size)
{
    // Names, numbers and punctuation take at most 420 bytes; texts at most six times their size.
    constexpr std::size_t fixed_room = 512;
    std::size_t room = fixed_room + 6 * (head.group.size() + head.topic.size() + head.default_topic.size() +
                                         head.properties.size() + head.broker.size());
    for (const field& f : head.extra)
        room += json_field_writer::room(f.name.size(), f.value.size());
    char* const start = out.grab(room);
    char* const header = start + 8;
    const bool json = format == header_format::json;
    char* const end = json ? put_json_header(header, code, opaque, oneway, head)
                           : put_binary_header(header, code, opaque, oneway, head);
    const auto header_size = static_cast<std::uint32_t>(end - header);
    store_u32(start, static_cast<std::uint32_t>(4 + header_size + body_size));
    store_u32(start + 4, header_size | (json ? 0u : 1u << 24));
    out.advance(8 + header_size);
}

bool read_send_answer(const command& answer, send_answer& out) noexcept
{
    out = {};
    bool id = false, queue = false, offset = false;
    for (const field& f : answer.fields) {
        // The lengths of the names differ but for one pair, so most fields are told apart without comparing text.
        switch (f.name.size()) {
        case 5:
            if (is(f.name, "msgId")) {
                out.offset_msg_id = f.value;
                id = true;
            }
            break;
        case 7:
            if (is(f.name, "queueId"))
                queue = read_i32(f.value, out.queue_id);
            break;
        case 11:
            if (is(f.name, "queueOffset"))
                offset = read_decimal(f.value, out.queue_offset);
            else if (is(f.name, "batchUniqId"))
                out.batch_uniq_id = f.value;
            break;
        case 12:
            if (is(f.name, "recallHandle"))
                out.recall_handle = f.value;
            break;
        case 13:
            if (is(f.name, "transactionId"))
                out.transaction_id = f.value;
            break;
        default: break;
        }
    }
    return id && queue && offset;
}

bool read_send_head(const command& request, send_head& out, std::string_view& what) noexcept
{
    out = {};
    return has_long_names(request.code) ? read_send_fields<long_names>(request, out, what)
                                        : read_send_fields<short_names>(request, out, what);
}

}  // namespace shunt::wire
