#include <wire/frame.hpp>

#include <gtest/gtest.h>

namespace shunt::wire {
namespace {

using namespace std::string_view_literals;

// A whole frame: length 10, type 0, header "{}", body "body".
constexpr auto small = "\x00\x00\x00\x0a\x00\x00\x00\x02{}body"sv;

TEST(Frame, IsTakenApart)
{
    const scan_result r = scan(small);

    ASSERT_EQ(r.status, scan_status::complete) << r.what;
    EXPECT_EQ(r.size, 14u);
    EXPECT_EQ(r.parts.format, header_format::json);
    EXPECT_EQ(r.parts.header, "{}");
    EXPECT_EQ(r.parts.body, "body");
}

TEST(Frame, IsTakenOffTheFrontOfALongerStream)
{
    const std::string two = std::string{small} + std::string{small};

    const scan_result r = scan(two);

    ASSERT_EQ(r.status, scan_status::complete);
    EXPECT_EQ(r.size, 14u);
    EXPECT_EQ(r.parts.body, "body");
}

TEST(Frame, KnowsItsSizeAsSoonAsItsLengthIsThere)
{
    for (std::size_t size = 0; size < small.size(); ++size) {
        const scan_result r = scan(small.substr(0, size));
        EXPECT_EQ(r.status, scan_status::need_more) << size;
        EXPECT_EQ(r.size, size < 4 ? 0u : 14u) << size;
    }
}

TEST(Frame, MayHaveNoBody)
{
    const scan_result r = scan("\x00\x00\x00\x06\x00\x00\x00\x02{}"sv);

    ASSERT_EQ(r.status, scan_status::complete);
    EXPECT_TRUE(r.parts.body.empty());
}

TEST(Frame, OfExactlySixteenMebibytesIsTheLargest)
{
    EXPECT_EQ(scan("\x00\xff\xff\xfc\x00\x00\x00\x02"sv).status, scan_status::need_more);
    EXPECT_EQ(scan("\x00\xff\xff\xfc\x00\x00\x00\x02"sv).size, max_frame);
    EXPECT_EQ(scan("\x00\xff\xff\xfd"sv).status, scan_status::bad) << "one byte more";
}

struct broken {
    std::string_view bytes;
    std::string_view says;
};

void PrintTo(const broken& b, std::ostream* out) { *out << testing::PrintToString(std::string{b.bytes}); }

class BrokenFrame : public testing::TestWithParam<broken> {};

TEST_P(BrokenFrame, IsRefusedWithWhatItLooksLike)
{
    const scan_result r = scan(GetParam().bytes);

    EXPECT_EQ(r.status, scan_status::bad);
    EXPECT_NE(r.what.find(GetParam().says), std::string::npos) << r.what;
}

INSTANTIATE_TEST_SUITE_P(
    Foreign, BrokenFrame,
    testing::Values(broken{"HTTP/1.1 400 Bad Request\r\n"sv, "not RocketMQ: looks like an HTTP answer"},
                    broken{"HT"sv, "not RocketMQ: looks like an HTTP answer"},
                    broken{"GET / HTTP/1.1\r\n"sv, "looks like an HTTP request"},
                    broken{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"sv, "looks like HTTP/2"},
                    broken{"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03"sv, "looks like HTTP/2"},
                    broken{"\x00\x00\x00\x04\x01\x00\x00\x00\x00"sv, "looks like HTTP/2"},
                    broken{"\x16\x03\x01\x02\x00"sv, "not RocketMQ: looks like TLS"}, broken{"\x16"sv, "looks like TLS"},
                    broken{"\x15\x03\x03\x00\x02"sv, "looks like TLS"}, broken{"SSH-2.0-OpenSSH_9.2"sv, "looks like SSH"},
                    broken{"\x03\x00\x00\x2f"sv, "looks like RDP"}, broken{"-ERR unknown"sv, "looks like Redis"},
                    broken{"PROXY TCP4 "sv, "looks like the PROXY protocol"}));

INSTANTIATE_TEST_SUITE_P(
    Lying, BrokenFrame,
    testing::Values(broken{"\x00\x00\x00\x00"sv, "length is 0"}, broken{"\x80\x00\x00\x00"sv, "negative"},
                    broken{"\x00\x00\x00\x03"sv, "its length is 3"}, broken{"\x01\x00\x00\x01"sv, "16777217"},
                    broken{"\x01"sv, "over 16777212 bytes"}, broken{"\x7f\xff\xff\xff"sv, "2147483647"},
                    broken{"\x00\x00\x00\x14\x00\x00\x00\x1e"sv, "header length is 30"},
                    broken{"\x00\x00\x00\x0a\x00\x00\x00\x07"sv, "header length is 7"},
                    broken{"\x00\x00\x00\x0a\x00\x00\x00\x00"sv, "header length is 0"},
                    broken{"\x00\x00\x00\x0a\x02"sv, "serialize type is 2"},
                    broken{"\x00\x00\x00\x0a\xff"sv, "serialize type is 255"}));

TEST(Frame, ShowsForeignBytesAsTextOrAsNumbers)
{
    EXPECT_NE(scan("HTTP/1.1 200 OK").what.find("\"HTTP/1.1 200 OK\""), std::string::npos);
    EXPECT_NE(scan("\x16\x03\x01\x02"sv).what.find("16 03 01 02"), std::string::npos);
}

TEST(Frame, NeverQuotesMoreThanTheFirstSixteenBytes)
{
    const scan_result r = scan("HTTP/1.1 200 OK secret");

    EXPECT_EQ(r.what.find("secret"), std::string::npos) << r.what;
}

TEST(Frame, NeverReadsBehindItsBytes)
{
    // Each prefix in memory of exactly its size: a sanitizer sees one byte too many.
    for (std::size_t size = 0; size <= small.size(); ++size) {
        const auto copy = std::make_unique<char[]>(size);
        std::copy_n(small.begin(), size, copy.get());
        (void)scan({copy.get(), size});
    }
}

}  // namespace
}  // namespace shunt::wire
