#include <unit/wire/captured.hpp>
#include <unit/wire/worked_frames.hpp>
#include <wire/stored_message.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

using test::from_hex;

const std::string worked_message = from_hex(worked::stored);

std::string put(const stored_message& m)
{
    buffer out;
    put_stored(out, m);
    return std::string{out.view()};
}

stored_status read(std::string_view bytes, std::string& what)
{
    stored_message m;
    return read_stored(bytes, m, what);
}

TEST(StoredMessage, WithIpv6HostsIsTwelveBytesLongerForEach)
{
    stored_message m;
    m.topic = "T";
    m.body = "b";
    m.born_host = {.address = {0x20, 0x01, 0x0d, 0xb8}, .ipv6 = true, .port = 258};
    m.store_host = {.address = {0xfd}, .ipv6 = true, .port = 1};
    m.sys_flag = 1;
    const std::string both = put(m);
    EXPECT_EQ(both.size(), 91u + 24 + 1 + 1);
    EXPECT_EQ(test::to_hex(both.substr(36, 4)), "00000031") << "bits 0x10 and 0x20 say so; the others stay";
    EXPECT_EQ(test::to_hex(both.substr(48, 20)), "20010db8000000000000000000000000" "00000102");

    std::string_view rest = both;
    stored_message got;
    std::string what;
    ASSERT_EQ(read_stored(rest, got, what), stored_status::message) << what;
    EXPECT_TRUE(got.born_host.ipv6);
    EXPECT_EQ(got.born_host.address[1], 1);
    EXPECT_EQ(got.born_host.port, 258u);
    EXPECT_TRUE(got.store_host.ipv6);
    EXPECT_EQ(got.body, "b");
}

TEST(StoredMessage, OfALongTopicHasATwoByteLength)
{
    const std::string topic(200, 't');
    stored_message m;
    m.topic = topic;
    const std::string bytes = put(m);
    EXPECT_EQ(test::to_hex(bytes.substr(4, 4)), "daa320ab");
    EXPECT_EQ(test::to_hex(bytes.substr(88, 2)), "00c8");
    std::string_view rest = bytes;
    stored_message got;
    std::string what;
    ASSERT_EQ(read_stored(rest, got, what), stored_status::message) << what;
    EXPECT_EQ(got.topic, topic);
    m.topic = std::string_view{topic}.substr(0, 127);
    EXPECT_EQ(test::to_hex(put(m).substr(4, 4)), "daa320a7");
    m.topic = std::string_view{topic}.substr(0, 128);
    EXPECT_EQ(test::to_hex(put(m).substr(4, 4)), "daa320ab");
}

TEST(StoredMessage, ManyAreReadOneByOneAndFillersAreTold)
{
    const std::string bytes = worked_message + from_hex("0000000c cbd43194 ffffffff") + worked_message;
    std::string_view rest = bytes;
    stored_message m;
    std::string what;
    EXPECT_EQ(read_stored(rest, m, what), stored_status::message);
    EXPECT_EQ(read_stored(rest, m, what), stored_status::blank);
    EXPECT_EQ(read_stored(rest, m, what), stored_status::message);
    EXPECT_EQ(m.body, "hello");
    EXPECT_EQ(read_stored(rest, m, what), stored_status::end);
}

TEST(StoredMessage, IsRefusedWhereverItIsCut)
{
    std::string what;
    for (std::size_t size = 1; size < worked_message.size(); ++size) {
        const auto copy = std::make_unique<char[]>(size);
        std::copy_n(worked_message.begin(), size, copy.get());
        EXPECT_EQ(read({copy.get(), size}, what), stored_status::bad) << size;
        EXPECT_TRUE(what.starts_with("stored message: "));
    }
}

TEST(StoredMessage, IsRefusedWhenItsLengthsLie)
{
    const auto with = [](std::size_t at, std::string_view hex) {
        std::string out = worked_message;
        const std::string bytes = from_hex(hex);
        out.replace(at, bytes.size(), bytes);
        return out;
    };
    std::string what;
    ASSERT_EQ(read(worked_message, what), stored_status::message);
    const std::size_t size = 0, magic = 4, body = 84, topic = 93, properties = 103;
    EXPECT_EQ(read(with(size, "0000009c"), what), stored_status::bad);
    EXPECT_EQ(read(with(size, "0000009e") + "x", what), stored_status::bad) << "one byte belongs to nothing";
    EXPECT_EQ(read(with(size, "ffffffff"), what), stored_status::bad);
    EXPECT_EQ(read(with(size, "00000000"), what), stored_status::bad);
    EXPECT_EQ(read(with(magic, "daa320a8"), what), stored_status::bad);
    EXPECT_EQ(read(with(body, "7fffffff"), what), stored_status::bad);
    EXPECT_EQ(read(with(body, "80000000"), what), stored_status::bad);
    EXPECT_EQ(read(with(topic, "ff"), what), stored_status::bad);
    EXPECT_EQ(read(with(properties, "ffff"), what), stored_status::bad);
    EXPECT_EQ(read(with(properties, "0033"), what), stored_status::bad);
    EXPECT_EQ(read(from_hex("00000007 cbd43194"), what), stored_status::bad) << "a filler smaller than its own head";
}

TEST(BodyCrc, IsTheIeeeOneWithoutItsTopBit)
{
    EXPECT_EQ(body_crc("hello"), 0x3610a686u);
    EXPECT_EQ(body_crc("123456789"), 0xcbf43926u & 0x7fffffffu);
    EXPECT_EQ(body_crc(""), 0u);
}

}  // namespace
}  // namespace shunt::wire
