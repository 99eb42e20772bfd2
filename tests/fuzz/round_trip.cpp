// Headers made from the input, written as JSON and as binary: both must read back to the same command.

#include <fuzz/fuzz.hpp>
#include <wire/command.hpp>

#include <algorithm>

using namespace shunt;

namespace {

// JSON carries no more than UTF-8, and the encoder lets other bytes through as they are; so does the decoder.
void check_same(const wire::outgoing& head, const wire::command& c)
{
    SHUNT_FUZZ_CHECK(c.code == head.code && c.opaque == head.opaque && c.flag == head.flag && c.version == head.version);
    SHUNT_FUZZ_CHECK(c.remark == head.remark);
    std::size_t i = 0;
    for (const wire::field& f : head.fields) {
        if (f.name.empty() || f.value.empty())
            continue;
        SHUNT_FUZZ_CHECK(i < c.fields.size() && c.fields[i].name == f.name && c.fields[i].value == f.value);
        ++i;
    }
    SHUNT_FUZZ_CHECK(i == c.fields.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::pieces in{fuzz::as_text(data, size)};
    wire::outgoing head;
    head.code = in.i32();
    head.opaque = in.i32();
    head.flag = in.i32();
    head.version = static_cast<std::int16_t>(in.i32());
    head.remark = in.text();
    const std::string_view body = in.text();
    std::vector<wire::field> fields;
    while (!in.empty()) {
        const std::string_view name = in.text();  // named first: the order of two calls in one expression is open
        const std::string_view value = in.text();
        fields.push_back({name, value});
    }
    head.fields = fields;
    for (const auto format : {wire::header_format::json, wire::header_format::binary}) {
        wire::buffer out;
        wire::encode(out, format, head, body);
        const wire::scan_result r = wire::scan(out.view());
        SHUNT_FUZZ_CHECK(r.status == wire::scan_status::complete && r.size == out.size());
        SHUNT_FUZZ_CHECK(r.parts.body == body);
        wire::command_decoder decoder;
        wire::command c;
        if (!decoder.decode(r.parts, c)) {
            SHUNT_FUZZ_CHECK(fields.size() > 4096);
            continue;
        }
        check_same(head, c);
        SHUNT_FUZZ_CHECK(c.language == "CPP");
    }
    return 0;
}
