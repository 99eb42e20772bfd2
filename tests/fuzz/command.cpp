// Bytes from a peer: scanned for frames, each header decoded, in both forms, and answered as sends are.

#include <fuzz/fuzz.hpp>
#include <wire/send.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static wire::command_decoder decoder;  // kept, as a connection keeps its own
    std::string_view bytes = fuzz::as_text(data, size);
    const auto decode = [](const wire::frame& f) {
        wire::command c;
        if (!decoder.decode(f, c)) {
            SHUNT_FUZZ_CHECK(!decoder.error().empty());
            SHUNT_FUZZ_CHECK(c.fields.empty());
            return;
        }
        std::size_t total = c.remark.size() + c.language.size();
        for (const wire::field& field : c.fields) {
            total += field.name.size() + field.value.size();
            SHUNT_FUZZ_CHECK(c.find(field.name).has_value());
        }
        // Escapes shrink and views overlap nothing: what was read is never more than what was there.
        SHUNT_FUZZ_CHECK(total <= f.header.size() + 8);
        wire::send_answer answer;
        wire::send_head head;
        std::string_view what;
        (void)wire::read_send_answer(c, answer);
        if (!wire::read_send_head(c, head, what))
            SHUNT_FUZZ_CHECK(!what.empty());
    };
    decode({wire::header_format::json, bytes, {}});
    decode({wire::header_format::binary, bytes, {}});
    for (;;) {
        const wire::scan_result r = wire::scan(bytes);
        SHUNT_FUZZ_CHECK((r.status == wire::scan_status::bad) == !r.what.empty());
        if (r.status != wire::scan_status::complete) {
            SHUNT_FUZZ_CHECK(r.size == 0 || r.size > bytes.size());
            return 0;
        }
        SHUNT_FUZZ_CHECK(r.size <= bytes.size() && r.size == 8 + r.parts.header.size() + r.parts.body.size());
        decode(r.parts);
        bytes.remove_prefix(r.size);
    }
}
