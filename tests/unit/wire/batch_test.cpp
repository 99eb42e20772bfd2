#include <unit/wire/captured.hpp>
#include <wire/batch.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

using test::from_hex;
using test::to_hex;

// total 28, magic 0, crc 0, flag -2, body "ab", properties "k=v" with their separators.
const std::string item = from_hex("0000001c 00000000 00000000 fffffffe 00000002 6162 0004 6b017602");

std::string refusal(std::string_view bytes)
{
    batch_item out;
    std::string what;
    EXPECT_FALSE(read_batch_item(bytes, out, what));
    return what;
}

TEST(BatchItem, IsWrittenAsBrokersReadIt)
{
    buffer out;
    put_batch_item(out, {-2, "ab", "k\x01v\x02"});
    EXPECT_EQ(to_hex(out.view()), to_hex(item));
    EXPECT_EQ(out.size(), batch_item_size({-2, "ab", "k\x01v\x02"}));
}

TEST(BatchItem, IsReadWhateverMagicAndCrcSay)
{
    const std::string odd = from_hex("0000001c daa320a7 12345678 fffffffe 00000002 6162 0004 6b017602") + item;
    std::string_view rest = odd;
    batch_item out;
    std::string what;
    ASSERT_TRUE(read_batch_item(rest, out, what)) << what;
    EXPECT_EQ(out.flag, -2);
    EXPECT_EQ(out.body, "ab");
    EXPECT_EQ(out.properties, "k\x01v\x02");
    EXPECT_EQ(rest.size(), item.size());
}

TEST(BatchItem, MayBeEmpty)
{
    buffer bytes;
    put_batch_item(bytes, {});
    std::string_view rest = bytes.view();
    batch_item out;
    std::string what;
    EXPECT_TRUE(read_batch_item(rest, out, what)) << what;
    EXPECT_TRUE(rest.empty());
}

TEST(BatchItem, ReadsItemsUntilTheEnd)
{
    EXPECT_EQ(refusal(""), "") << "the end is no error";
    for (std::size_t size = 1; size < item.size(); ++size)
        EXPECT_NE(refusal(std::string_view{item}.substr(0, size)), "") << size;
}

TEST(BatchItem, IsRefusedWhenItsLengthsLie)
{
    EXPECT_NE(refusal(from_hex("0000001d 00000000 00000000 00000000 00000002 6162 0004 6b017602 00")), "");
    EXPECT_NE(refusal(from_hex("0000001b 00000000 00000000 00000000 00000002 6162 0004 6b017602")), "");
    EXPECT_NE(refusal(from_hex("ffffffff 00000000 00000000 00000000 00000002 6162 0004 6b017602")), "");
    EXPECT_NE(refusal(from_hex("0000001c 00000000 00000000 00000000 7fffffff 6162 0004 6b017602")), "");
    EXPECT_NE(refusal(from_hex("0000001c 00000000 00000000 00000000 80000000 6162 0004 6b017602")), "");
    EXPECT_NE(refusal(from_hex("0000001c 00000000 00000000 00000000 00000002 6162 ffff 6b017602")), "");
}

}  // namespace
}  // namespace shunt::wire
