#include <wire/message_id.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

std::string uniq_key(const id_origin& origin, std::int64_t ms, std::uint64_t counter)
{
    std::array<char, uniq_key_size_v6> out{};
    return {out.data(), write_uniq_key(origin, ms, counter, out)};
}

const id_origin v4{.address = {10, 0, 0, 5}, .pid = 0x1267, .constant = 0x0a0b0c0d};

TEST(UniqKey, IsAddressPidConstantTimeCounter)
{
    EXPECT_EQ(uniq_key(v4, 100000, 1), "0A00000512670A0B0C0D000186A00001");
}

TEST(UniqKey, HasFiftySixDigitsForIpv6)
{
    id_origin v6 = v4;
    v6.ipv6 = true;
    v6.address = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    EXPECT_EQ(uniq_key(v6, 0x946e0997, 0x9dfc), "FD00000000000000000000000000000212670A0B0C0D946E09979DFC");
}

TEST(UniqKey, ShowsTheLowBitsOnly)
{
    id_origin big = v4;
    big.pid = 0xabcd1267;
    EXPECT_EQ(uniq_key(big, 0x1000186a0, 1), "0A00000512670A0B0C0D000186A00001");
    EXPECT_EQ(uniq_key(v4, -5, 1), "0A00000512670A0B0C0D000000000001");
}

TEST(UniqKey, StaysDifferentWhenTheCounterOverflowsWithinAMillisecond)
{
    EXPECT_EQ(uniq_key(v4, 100000, 0xffff), "0A00000512670A0B0C0D000186A0FFFF");
    EXPECT_EQ(uniq_key(v4, 100000, 0x10000), "0A00000512670A0B0C0E000186A00000");
    EXPECT_NE(uniq_key(v4, 100000, 5), uniq_key(v4, 100000, 5 + 0x10000));
}

// The bytes stand here as people write them down: 127.0.0.1 is 7F 00 00 01, 10911 is 2A 9F.
TEST(OffsetId, IsInNetworkOrder)
{
    const std::uint8_t loopback[] = {127, 0, 0, 1};
    EXPECT_EQ(offset_id(loopback, 10911, 4660), "7F00000100002A9F0000000000001234");
    EXPECT_EQ(offset_id(loopback, 10091, 0), "7F0000010000276B0000000000000000");
    const std::uint8_t one_to_four[] = {1, 2, 3, 4};
    EXPECT_EQ(offset_id(one_to_four, 258, -1), "0102030400000102FFFFFFFFFFFFFFFF");
    const std::uint8_t doc[] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    EXPECT_EQ(offset_id(doc, 10911, 4660), "20010DB800000000000000000000000100002A9F0000000000001234");
}

TEST(OffsetId, IsTakenApart)
{
    const auto v4_id = parse_offset_id("7F0000010000276B0000000000001234");
    ASSERT_TRUE(v4_id);
    EXPECT_EQ(v4_id->address, "127.0.0.1");
    EXPECT_EQ(v4_id->port, 10091u);
    EXPECT_EQ(v4_id->offset, 4660);
    EXPECT_EQ(parse_offset_id("0102030400000102ffffffffffffffff")->address, "1.2.3.4");
    EXPECT_EQ(parse_offset_id("0102030400000102ffffffffffffffff")->offset, -1);
}

std::string v6_text(std::string address)
{
    const auto id = parse_offset_id(address + "00002A9F0000000000001234");
    return id ? id->address : "(bad)";
}

TEST(OffsetId, ShowsIpv6AsPeopleDo)
{
    EXPECT_EQ(v6_text("20010DB8000000000000000000000001"), "2001:db8::1");
    EXPECT_EQ(v6_text("00000000000000000000000000000001"), "::1");
    EXPECT_EQ(v6_text("00000000000000000000000000000000"), "::");
    EXPECT_EQ(v6_text("FE800000000000000000000000000000"), "fe80::");
    EXPECT_EQ(v6_text("20010DB8000000010001000100010001"), "2001:db8:0:1:1:1:1:1") << "one zero group is no gap";
    EXPECT_EQ(v6_text("20010000000000010000000000000001"), "2001:0:0:1::1") << "the longest run is the gap";
    EXPECT_EQ(v6_text("20010000000000010000000010000A0B"), "2001::1:0:0:1000:a0b") << "the first of equal runs";
    EXPECT_EQ(parse_offset_id("20010DB800000000000000000000000100002A9F0000000000001234")->port, 10911u);
}

TEST(OffsetId, IsNothingWithAnotherLengthOrOtherDigits)
{
    for (const auto text : {"", "0", "7F00000100002A9F000000000000123", "7F00000100002A9F00000000000012345",
                            "7F00000100002A9F000000000000123G", "7F00000100002A9F 00000000000123",
                            "7F00000100002A9F0000000000001234,7F00000100002A9F000000"})
        EXPECT_FALSE(parse_offset_id(text)) << text;
}

}  // namespace
}  // namespace shunt::wire
