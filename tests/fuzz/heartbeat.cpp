// Heartbeat bodies: any bytes can be read; what was read is written and read again the same.

#include <fuzz/fuzz.hpp>
#include <wire/heartbeat.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    wire::heartbeat first, second;
    std::string what;
    if (!wire::read_heartbeat(fuzz::as_text(data, size), first, what)) {
        SHUNT_FUZZ_CHECK(!what.empty());
        return 0;
    }
    const std::vector<std::string_view> groups{first.producer_groups.begin(), first.producer_groups.end()};
    wire::buffer again;
    wire::put_heartbeat(again, first.client_id, groups);
    SHUNT_FUZZ_CHECK(wire::read_heartbeat(again.view(), second, what));
    SHUNT_FUZZ_CHECK(first.client_id == second.client_id && first.producer_groups == second.producer_groups);
    return 0;
}
