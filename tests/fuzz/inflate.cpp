// Compressed bodies: the first byte says as what, the rest is inflated. Never beyond the bound; what was whole survives another round.

#include <fuzz/fuzz.hpp>
#include <wire/compress.hpp>
#include <wire/send.hpp>

using namespace shunt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    constexpr std::size_t most = 256 * 1024;
    if (size == 0)
        return 0;
    const std::string_view body = fuzz::as_text(data + 1, size - 1);
    const std::int32_t flag = wire::sys_compressed | (data[0] & 7) << 8;
    std::string plain;
    const auto how = wire::inflate(flag, body, most, plain);
    SHUNT_FUZZ_CHECK(plain.size() <= most + 1);
    if (how != wire::inflated::whole)
        return 0;
    SHUNT_FUZZ_CHECK(plain.size() <= most);
    for (const wire::codec c : {wire::codec::zlib, wire::codec::lz4, wire::codec::zstd}) {
        std::string packed, again;
        if (!wire::compress(c, 0, plain, packed))
            continue;
        SHUNT_FUZZ_CHECK(packed.size() < plain.size());
        SHUNT_FUZZ_CHECK(wire::inflate(wire::codec_flag(c), packed, most, again) == wire::inflated::whole);
        SHUNT_FUZZ_CHECK(again == plain);
    }
    return 0;
}
