// "host:port" in all its forms.

#include <net/resolver.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace shunt::net {
namespace {

struct good_row {
    const char* text;
    const char* host;
    std::uint16_t port;
};

TEST(SplitAddress, TakesHostsNumbersAndBracketedV6)
{
    const good_row rows[] = {
        {"127.0.0.1:9876", "127.0.0.1", 9876}, {"ns.test:1", "ns.test", 1},        {"h:65535", "h", 65535},
        {"[::1]:9876", "::1", 9876},           {"[fe80::1%eth0]:80", "fe80::1%eth0", 80},
        {"::1:9876", "::1", 9876},             // without brackets the last colon counts: what Java writes
    };
    for (const good_row& row : rows) {
        const auto parts = split_address(row.text);
        ASSERT_TRUE(parts) << row.text;
        EXPECT_EQ(parts->host, row.host) << row.text;
        EXPECT_EQ(parts->port, row.port) << row.text;
    }
}

TEST(SplitAddress, RefusesWhatIsNotOne)
{
    for (const char* text : {"", ":", "host", "host:", ":9876", "host:0", "host:65536", "host:-1", "host:+1", "host:99999999999999999999",
                             "host:98 76", "host: 9876", "host:9876 ", "host:0x10", "[::1:9876", "[]:9876", "[::1]", "[:9876"})
        EXPECT_FALSE(split_address(text)) << text;
}

}  // namespace
}  // namespace shunt::net
