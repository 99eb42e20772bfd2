// Host names to addresses, asynchronously. A failed look-up keeps the last good answer.

#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::net {

struct host_port {
    std::string host;  ///< without brackets
    std::uint16_t port = 0;
};

/// "host:port", "1.2.3.4:port", "[v6]:port": split at the last ':'. Nothing: not one.
[[nodiscard]] std::optional<host_port> split_address(std::string_view address);

class resolver {
public:
    explicit resolver(const boost::asio::any_io_executor& executor);
    ~resolver();

    using handler = std::function<void(const std::vector<boost::asio::ip::tcp::endpoint>&, std::string error)>;
    /// Numbers are answered at once, before this returns. Names are looked up again when the last answer is older than
    /// 30 s; a failure answers the last good addresses if there are any.
    void resolve(const std::string& address, std::int64_t now_ns, handler done);
    void cancel();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace shunt::net
