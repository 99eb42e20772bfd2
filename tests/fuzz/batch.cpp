// Batch bodies: read item by item; each item is written again to the same bytes, but for magic and checksum.

#include <fuzz/fuzz.hpp>
#include <wire/batch.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::string_view rest = fuzz::as_text(data, size);
    for (;;) {
        const std::string_view before = rest;
        wire::batch_item item;
        std::string what;
        if (!wire::read_batch_item(rest, item, what)) {
            SHUNT_FUZZ_CHECK(what.empty() == before.empty());
            SHUNT_FUZZ_CHECK(rest == before);
            return 0;
        }
        const std::string_view taken = before.substr(0, before.size() - rest.size());
        wire::buffer again;
        wire::put_batch_item(again, item);
        SHUNT_FUZZ_CHECK(again.size() == wire::batch_item_size(item));
        SHUNT_FUZZ_CHECK(again.view().substr(0, 4) == taken.substr(0, 4));
        SHUNT_FUZZ_CHECK(again.view().substr(12) == taken.substr(12));
    }
}
