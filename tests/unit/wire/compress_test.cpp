// Bodies compressed and inflated, the containers other clients write among them; and what refuses to be one.

#include <unit/wire/captured.hpp>
#include <wire/compress.hpp>
#include <wire/send.hpp>

#include <gtest/gtest.h>

#include <zlib.h>

namespace shunt::wire {
namespace {

constexpr std::size_t most = 1024 * 1024;
constexpr codec all_codecs[] = {codec::zlib, codec::lz4, codec::zstd};

std::string text_of_lines(int n)
{
    std::string text;
    for (int i = 0; i < n; ++i)
        text += "line " + std::to_string(i) + " of a compressible body\n";
    return text;
}

/// Bytes that have no pattern.
std::string noise(std::size_t size)
{
    std::string bytes;
    std::uint64_t state = 1;
    while (bytes.size() < size) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        bytes += static_cast<char>(state >> 56);
    }
    return bytes;
}

TEST(Compress, GivesBackWhatItWasGivenAtEveryLevel)
{
    const std::string body = text_of_lines(300);
    for (const codec c : all_codecs) {
        for (int level = 0; level <= max_level(c); ++level) {
            std::string packed, plain;
            ASSERT_TRUE(compress(c, level, body, packed)) << static_cast<int>(c) << " level " << level;
            EXPECT_LT(packed.size(), body.size());
            ASSERT_EQ(inflate(codec_flag(c), packed, most, plain), inflated::whole);
            EXPECT_EQ(plain, body);
        }
    }
}

TEST(Compress, LeavesWhatWouldNotShrinkAlone)
{
    for (const codec c : all_codecs) {
        std::string packed;
        EXPECT_FALSE(compress(c, 0, "x", packed));
        EXPECT_FALSE(compress(c, 0, "", packed));
        EXPECT_FALSE(compress(c, 0, noise(5000), packed));
    }
}

TEST(Compress, FlagsAreThoseOfTheProtocol)
{
    EXPECT_EQ(codec_flag(codec::zlib), 0x301);
    EXPECT_EQ(codec_flag(codec::lz4), 0x101);
    EXPECT_EQ(codec_flag(codec::zstd), 0x201);
}

TEST(Inflate, ReadsTheContainersOfTheJavaClient)
{
    const std::string body = text_of_lines(300);
    for (const char* name : {"send-zlib.req", "send-lz4.req", "send-zstd.req"}) {
        SCOPED_TRACE(name);
        const auto frame = test::captured_frame(name);
        std::int32_t flag = 0;
        for (const auto& [field_name, value] : frame.fields)
            if (field_name == "f")
                flag = std::stoi(value);
        std::string plain;
        ASSERT_EQ(inflate(flag, std::string_view(frame.bytes).substr(frame.bytes.size() - frame.body_size), most, plain), inflated::whole);
        EXPECT_EQ(plain, body);
    }
}

TEST(Inflate, TakesAFlagWithoutATypeAsZlib)
{
    std::string packed, plain;
    ASSERT_TRUE(compress(codec::zlib, 0, text_of_lines(9), packed));
    EXPECT_EQ(inflate(sys_compressed, packed, most, plain), inflated::whole);
    EXPECT_EQ(plain, text_of_lines(9));
}

TEST(Inflate, RefusesBrokenBytesAndThoseThatAreCutShort)
{
    for (const codec c : all_codecs) {
        std::string packed, plain;
        ASSERT_TRUE(compress(c, 0, text_of_lines(300), packed));
        EXPECT_EQ(inflate(codec_flag(c), "not compressed at all", most, plain), inflated::broken);
        EXPECT_EQ(inflate(codec_flag(c), "", most, plain), inflated::broken);
        EXPECT_EQ(inflate(codec_flag(c), std::string_view(packed).substr(0, packed.size() / 2), most, plain), inflated::broken);
        EXPECT_FALSE(plain_body(codec_flag(c), "not compressed at all", most));
    }
    std::string plain;
    EXPECT_EQ(inflate(0x701, "x", most, plain), inflated::broken) << "a type that is none";
}

TEST(Inflate, StopsAtTheMostThatIsWanted)
{
    const std::string body = text_of_lines(300);
    for (const codec c : all_codecs) {
        std::string packed, plain;
        ASSERT_TRUE(compress(c, 0, body, packed));
        EXPECT_EQ(inflate(codec_flag(c), packed, body.size(), plain), inflated::whole);
        EXPECT_EQ(inflate(codec_flag(c), packed, body.size() - 1, plain), inflated::too_large);
        EXPECT_LE(plain.capacity(), 2 * body.size()) << "no more memory than was allowed, and a little";
    }
}

// A gibibyte of zeros in about a megabyte: what a hostile reply would be.
TEST(Inflate, RefusesAGibibyteWithoutHoldingIt)
{
    std::string bomb;
    z_stream z{};
    ASSERT_EQ(deflateInit(&z, 9), Z_OK);
    std::string zeros(1024 * 1024, '\0'), out(64 * 1024, '\0');
    for (int i = 0; i <= 1024; ++i) {
        z.next_in = reinterpret_cast<Bytef*>(zeros.data());
        z.avail_in = i < 1024 ? static_cast<uInt>(zeros.size()) : 0;
        do {
            z.next_out = reinterpret_cast<Bytef*>(out.data());
            z.avail_out = static_cast<uInt>(out.size());
            deflate(&z, i < 1024 ? Z_NO_FLUSH : Z_FINISH);
            bomb.append(out, 0, out.size() - z.avail_out);
        } while (z.avail_out == 0);
    }
    deflateEnd(&z);
    ASSERT_LT(bomb.size(), 2u * 1024 * 1024);
    std::string plain;
    EXPECT_EQ(inflate(codec_flag(codec::zlib), bomb, 64 * 1024 * 1024, plain), inflated::too_large);
    EXPECT_LE(plain.capacity(), 129u * 1024 * 1024);
}

}  // namespace
}  // namespace shunt::wire
