// Send headers made from the input: written in both forms, read back the same.

#include <fuzz/fuzz.hpp>
#include <wire/send.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static constexpr std::int32_t codes[] = {wire::code::send_message, wire::code::send_message_v2,
                                             wire::code::send_batch_message, wire::code::send_reply_message,
                                             wire::code::send_reply_message_v2};
    fuzz::pieces in{fuzz::as_text(data, size)};
    const std::int32_t code = codes[in.byte() % 5];
    wire::send_head h;
    h.batch = in.byte() % 2 != 0;
    h.unit_mode = in.byte() % 2 != 0;
    h.queue_id = in.i32();
    h.sys_flag = in.i32();
    h.flag = in.i32();
    h.default_topic_queues = in.i32();
    h.born_ms = std::int64_t{in.i32()} << 32 | static_cast<std::uint32_t>(in.i32());
    h.group = in.text();
    h.topic = in.text();
    h.default_topic = in.text();
    h.broker = in.text();
    h.properties = in.rest();
    if (h.topic.empty())
        h.topic = "t";  // an empty one reads as absent in the binary form
    for (const auto format : {wire::header_format::json, wire::header_format::binary}) {
        wire::buffer out;
        wire::encode_send_head(out, format, code, h.queue_id, h.batch, h, 0);
        const wire::scan_result r = wire::scan(out.view());
        SHUNT_FUZZ_CHECK(r.status == wire::scan_status::complete && r.size == out.size() && r.parts.format == format);
        wire::command_decoder decoder;
        wire::command c;
        SHUNT_FUZZ_CHECK(decoder.decode(r.parts, c));
        SHUNT_FUZZ_CHECK(c.code == code && c.opaque == h.queue_id && c.is_oneway() == h.batch);
        wire::send_head got;
        std::string_view what;
        SHUNT_FUZZ_CHECK(wire::read_send_head(c, got, what));
        SHUNT_FUZZ_CHECK(got.group == h.group && got.topic == h.topic && got.broker == h.broker);
        SHUNT_FUZZ_CHECK(got.properties == h.properties);
        SHUNT_FUZZ_CHECK(h.default_topic.empty() || got.default_topic == h.default_topic);
        SHUNT_FUZZ_CHECK(got.queue_id == h.queue_id && got.sys_flag == h.sys_flag && got.flag == h.flag);
        SHUNT_FUZZ_CHECK(got.default_topic_queues == h.default_topic_queues && got.born_ms == h.born_ms);
        SHUNT_FUZZ_CHECK(got.batch == h.batch && got.unit_mode == h.unit_mode);
    }
    return 0;
}
