#include <wire/compress.hpp>

#include <wire/send.hpp>

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

namespace shunt::wire {

namespace {

constexpr std::size_t first_step = 16 * 1024;

// Room for more of what is inflated: grows with what came, one byte beyond `most` at most. False: `most` is reached.
bool grow(std::string& out, std::size_t used, std::size_t most)
{
    if (used > most)
        return false;
    out.resize(std::min(std::max(used * 2, first_step), most + 1));
    return true;
}

// ---- zlib ----

bool zlib_compress(int level, std::string_view body, std::string& out)
{
    uLongf size = static_cast<uLongf>(out.size());
    return compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(body.data()),
                     static_cast<uLong>(body.size()), level == 0 ? 5 : level) == Z_OK &&
           (out.resize(size), true);
}

inflated zlib_inflate(std::string_view body, std::size_t most, std::string& out)
{
    z_stream z{};
    if (inflateInit(&z) != Z_OK)
        return inflated::broken;
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
    z.avail_in = static_cast<uInt>(body.size());
    std::size_t used = 0;
    int status = Z_OK;
    bool room = true;
    while (status == Z_OK && (room = grow(out, used, most))) {
        z.next_out = reinterpret_cast<Bytef*>(out.data() + used);
        z.avail_out = static_cast<uInt>(out.size() - used);
        status = ::inflate(&z, Z_NO_FLUSH);
        used = out.size() - z.avail_out;
    }
    inflateEnd(&z);
    out.resize(used);
    if (!room || used > most)
        return inflated::too_large;
    return status == Z_STREAM_END ? inflated::whole : inflated::broken;
}

// ---- lz4 ----

bool lz4_compress(int level, std::string_view body, std::string& out)
{
    LZ4F_preferences_t wanted{};  // as the Java client writes them: independent blocks of 4 MiB, no checksums
    wanted.frameInfo.blockSizeID = LZ4F_max4MB;
    wanted.frameInfo.blockMode = LZ4F_blockIndependent;
    wanted.compressionLevel = level;
    const std::size_t bound = LZ4F_compressFrameBound(body.size(), &wanted);
    out.resize(bound);
    const std::size_t size = LZ4F_compressFrame(out.data(), out.size(), body.data(), body.size(), &wanted);
    if (LZ4F_isError(size) != 0 || size >= body.size())
        return false;
    out.resize(size);
    return true;
}

inflated lz4_inflate(std::string_view body, std::size_t most, std::string& out)
{
    LZ4F_dctx* made = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) != 0)
        return inflated::broken;
    const std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)> context(made, LZ4F_freeDecompressionContext);
    std::size_t used = 0, hint = 1;
    while (hint != 0) {
        if (!grow(out, used, most))
            return inflated::too_large;
        std::size_t taken = body.size(), given = out.size() - used;
        hint = LZ4F_decompress(context.get(), out.data() + used, &given, body.data(), &taken, nullptr);
        if (LZ4F_isError(hint) != 0 || (taken == 0 && given == 0))
            return inflated::broken;
        used += given;
        body.remove_prefix(taken);
    }
    out.resize(used);
    return used > most ? inflated::too_large : inflated::whole;
}

// ---- zstd ----

bool zstd_compress(int level, std::string_view body, std::string& out)
{
    thread_local const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
    if (context == nullptr)
        return false;
    const std::size_t size = ZSTD_compressCCtx(context.get(), out.data(), out.size(), body.data(), body.size(), level == 0 ? 3 : level);
    if (ZSTD_isError(size) != 0)
        return false;
    out.resize(size);
    return true;
}

inflated zstd_inflate(std::string_view body, std::size_t most, std::string& out)
{
    const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
    if (context == nullptr)
        return inflated::broken;
    ZSTD_inBuffer in{body.data(), body.size(), 0};
    std::size_t used = 0, hint = 1;
    while (hint != 0) {
        if (!grow(out, used, most))
            return inflated::too_large;
        ZSTD_outBuffer to{out.data() + used, out.size() - used, 0};
        const std::size_t before = in.pos;
        hint = ZSTD_decompressStream(context.get(), &to, &in);
        if (ZSTD_isError(hint) != 0 || (to.pos == 0 && in.pos == before))
            return inflated::broken;
        used += to.pos;
    }
    out.resize(used);
    return used > most ? inflated::too_large : inflated::whole;
}

}  // namespace

std::int32_t codec_flag(codec c) noexcept
{
    return sys_compressed | (c == codec::lz4 ? sys_lz4 : c == codec::zstd ? sys_zstd : sys_zlib);
}

int max_level(codec c) noexcept { return c == codec::lz4 ? 12 : c == codec::zstd ? ZSTD_maxCLevel() : 9; }

bool compress(codec c, int level, std::string_view body, std::string& out)
{
    if (body.size() < 2)
        return false;
    out.resize(body.size() - 1);  // what does not fit is not smaller
    switch (c) {
    case codec::zlib: return zlib_compress(level, body, out);
    case codec::lz4: return lz4_compress(level, body, out);
    case codec::zstd: return zstd_compress(level, body, out);
    }
    return false;
}

inflated inflate(std::int32_t sys_flag, std::string_view body, std::size_t most, std::string& out)
{
    out.clear();
    switch (sys_flag & (sys_lz4 | sys_zstd | 0x400)) {
    case 0:
    case sys_zlib: return zlib_inflate(body, most, out);
    case sys_lz4: return lz4_inflate(body, most, out);
    case sys_zstd: return zstd_inflate(body, most, out);
    default: return inflated::broken;
    }
}

std::optional<std::string> plain_body(std::int32_t sys_flag, std::string_view body, std::size_t most)
{
    if ((sys_flag & sys_compressed) == 0)
        return std::string(body);
    std::string out;
    if (inflate(sys_flag, body, most, out) != inflated::whole)
        return std::nullopt;
    return out;
}

}  // namespace shunt::wire
