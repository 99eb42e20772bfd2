// Trace bodies: any bytes can be read, and are all there; what is written from the input reads back.

#include <fuzz/fuzz.hpp>
#include <wire/trace.hpp>

#include <string>
#include <vector>

using namespace shunt;

namespace {

std::vector<std::vector<std::string>> records(std::string_view body)
{
    std::vector<std::vector<std::string>> all;
    wire::each_trace(body, [&](const std::vector<std::string_view>& fields) { all.emplace_back(fields.begin(), fields.end()); });
    return all;
}

/// As far as a field can be written: up to a separator.
std::string_view field(fuzz::pieces& in)
{
    const std::string_view text = in.text();
    return text.substr(0, text.find_first_of(std::string_view("\x01\x02", 2)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view body = fuzz::as_text(data, size);
    const auto all = records(body);
    std::string again;
    for (const auto& fields : all) {
        SHUNT_FUZZ_CHECK(!fields.empty());
        for (std::size_t i = 0; i < fields.size(); ++i)
            again += (i == 0 ? "" : "\x01") + fields[i];
        again += '\x02';
    }
    SHUNT_FUZZ_CHECK(records(again) == all);

    fuzz::pieces in{body};
    wire::trace_send s;
    s.time_ms = in.i32();
    s.region = field(in);
    s.group = field(in);
    s.topic = field(in);
    s.msg_id = field(in);
    s.tag = field(in);
    s.keys = field(in);
    s.address = field(in);
    s.body_bytes = static_cast<std::size_t>(in.byte());
    s.type = static_cast<wire::trace_type>(in.byte() % 5);
    s.stored = in.byte() % 2 == 0;
    wire::trace_end e;
    e.region = s.region;
    e.topic = s.topic;
    e.msg_id = s.msg_id;
    e.state = "COMMIT_MESSAGE";
    wire::buffer out;
    wire::put_trace(out, s);
    wire::put_trace(out, e);
    const auto read = records(out.view());
    SHUNT_FUZZ_CHECK(read.size() == 2);
    SHUNT_FUZZ_CHECK(read[0].size() > 6 && read[0][0] == "Pub" && read[0][1] == std::to_string(s.time_ms));
    SHUNT_FUZZ_CHECK(read[0][2] == s.region && read[0][3] == s.group && read[0][4] == s.topic && read[0][5] == s.msg_id);
    SHUNT_FUZZ_CHECK(read[1].size() > 6 && read[1][0] == "EndTransaction");
    return 0;
}
