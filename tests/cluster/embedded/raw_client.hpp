// A client that speaks frames over a plain socket: what it does and gets is exactly what stands in a test.

#pragma once

#include <wire/command.hpp>
#include <wire/frame.hpp>
#include <wire/send.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::test {

/// Time enough for anything on loopback, however busy the machine is. Only a failing test waits that long.
inline constexpr std::chrono::milliseconds patience{20'000};
/// How long a test waits to see that nothing comes.
inline constexpr std::chrono::milliseconds a_moment{100};

/// What came back.
struct answer {
    std::int32_t code = -1;
    std::int32_t opaque = -1;
    std::int32_t flag = 0;
    std::int32_t version = 0;
    wire::header_format format = wire::header_format::json;
    std::string language;
    std::string remark;
    std::map<std::string, std::string> fields;
    std::string body;

    [[nodiscard]] std::string field(const std::string& name) const;
};

using fields = std::map<std::string, std::string>;

/// Encodes a request as Java does.
[[nodiscard]] std::string request(std::int32_t code, const fields& ext, std::int32_t opaque, std::string_view body = {},
                                  bool oneway = false, wire::header_format format = wire::header_format::json,
                                  std::int32_t version = 477);

/// A send to `topic`, queue 0, of a message with a UNIQ_KEY; change what the test is about.
struct send_request {
    std::int32_t code = wire::code::send_message_v2;
    std::int32_t opaque = 1;
    bool oneway = false;
    wire::header_format format = wire::header_format::json;
    std::string topic = "T";
    std::int32_t queue = 0;
    std::int32_t sys_flag = 0;
    std::int32_t flag = 0;
    std::string properties = "UNIQ_KEY\x01" "0A00000512670A0B0C0D000186A00001\x02";
    std::string body = "hello";
    bool batch = false;
};
[[nodiscard]] std::string encoded(const send_request& r);

/// One item of a batch.
[[nodiscard]] std::string batch_item(std::string_view body, std::string_view properties, std::int32_t flag = 0);

class raw_client {
public:
    /// Connects to "127.0.0.1:PORT" or "[::1]:PORT"; connected() says whether it worked.
    explicit raw_client(const std::string& address);
    ~raw_client();
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;

    [[nodiscard]] bool connected() const noexcept { return fd_ >= 0; }
    /// True when the connection was refused, not merely slow.
    [[nodiscard]] bool refused() const noexcept { return refused_; }

    void send(std::string_view bytes);
    /// The next answer, or nothing: closed, or `limit` over. closed() tells which.
    [[nodiscard]] std::optional<answer> receive(std::chrono::milliseconds limit = patience);
    /// Sends, then receives.
    [[nodiscard]] std::optional<answer> ask(std::string_view bytes);
    /// Whatever comes until the other side closes or `limit` is over.
    [[nodiscard]] std::string rest(std::chrono::milliseconds limit = patience);
    /// True once the other side has closed in order, false when it was a reset or nothing happened.
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] bool was_reset() const noexcept { return reset_; }

private:
    /// False: nothing more comes, or `deadline` is over.
    bool read_some(std::chrono::steady_clock::time_point deadline);

    int fd_ = -1;
    bool refused_ = false, closed_ = false, reset_ = false;
    std::string in_;
    wire::command_decoder decoder_;
};

}  // namespace shunt::test
