// Bodies of pull answers: read to the end; what was read is written again to the same bytes, but for its checksum.

#include <fuzz/fuzz.hpp>
#include <wire/stored_message.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string_view rest = fuzz::as_text(data, size);
    for (;;) {
        const std::string_view before = rest;
        wire::stored_message m;
        std::string what;
        const wire::stored_status status = wire::read_stored(rest, m, what);
        if (status == wire::stored_status::end || status == wire::stored_status::bad) {
            SHUNT_FUZZ_CHECK((status == wire::stored_status::bad) == !what.empty());
            SHUNT_FUZZ_CHECK(rest == before);
            return 0;
        }
        const std::string_view taken = before.substr(0, before.size() - rest.size());
        SHUNT_FUZZ_CHECK(!taken.empty());
        if (status == wire::stored_status::blank)
            continue;
        wire::buffer again;
        wire::put_stored(again, m);
        const bool same_form = (m.topic.size() > 127) == (static_cast<unsigned char>(taken[7]) == 0xab);
        if (same_form) {
            SHUNT_FUZZ_CHECK(again.view().substr(0, 8) == taken.substr(0, 8));
            SHUNT_FUZZ_CHECK(again.view().substr(12) == taken.substr(12));
        }
    }
}
