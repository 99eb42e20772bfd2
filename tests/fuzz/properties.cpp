// Property texts: any bytes can be read; what was read is written and read again the same.

#include <fuzz/fuzz.hpp>
#include <wire/properties.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace shunt;

namespace {

std::vector<std::pair<std::string, std::string>> entries(std::string_view encoded)
{
    std::vector<std::pair<std::string, std::string>> out;
    wire::each_property(encoded, [&](std::string_view name, std::string_view value) { out.emplace_back(name, value); });
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string_view text = fuzz::as_text(data, size);
    const auto all = entries(text);
    wire::buffer again;
    for (const auto& [name, value] : all) {
        SHUNT_FUZZ_CHECK(!name.empty() && !value.empty() && wire::property_safe(name));
        SHUNT_FUZZ_CHECK(!wire::find_property(text, name).empty());
        (void)wire::is_reserved_property(name);
        wire::put_property(again, name, value);
    }
    SHUNT_FUZZ_CHECK(entries(again.view()) == all);
    return 0;
}
