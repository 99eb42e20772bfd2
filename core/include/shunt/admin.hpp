// Questions a producer can ask besides sending: about topics, offsets and stored messages.

#pragma once

#include <shunt/error.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt {

/// Why a question was not answered with what was asked for.
struct ask_error {
    error_code code;                ///< closed, no_route, invalid_topic, broker_error, response_timeout, ...
    std::int32_t broker_code = -1;  ///< broker_error: the code that was answered
    std::string text;               ///< what was found and who said it, for people
};

template <typename T>
using asked = boost::system::result<T, ask_error>;

/// For result::value() of a question that failed.
[[noreturn]] inline void throw_exception_from_error(const ask_error& e, const boost::source_location&)
{
    throw boost::system::system_error(e.code, e.text);
}

/// What kind of messages a topic is for, which brokers from 5.0 on keep with it and proxies hold senders to.
enum class topic_kind : std::uint8_t { unspecified, normal, fifo, delay, transaction, priority };

/// A topic to be created, or to be changed to this.
class topic_settings {
public:
    int queues = 4;                              ///< 1..65535, on each broker
    int perm = 6;                                ///< 4 read, 2 write
    topic_kind kind = topic_kind::unspecified;
    bool ordered = false;
    std::vector<std::string> brokers;            ///< by name; none: all there are

    topic_settings() = default;
};

/// A message as it lies at a broker. The body is inflated if it was compressed.
class stored_message {
public:
    std::string topic, broker, msg_id, offset_msg_id, body;
    std::vector<std::pair<std::string, std::string>> properties;  ///< those the broker added included
    std::int32_t queue = 0, flag = 0, sys_flag = 0, reconsume_times = 0;
    std::int64_t offset = 0;                     ///< in its queue
    std::chrono::system_clock::time_point born, stored;
    std::string born_host, store_host;           ///< "address:port"

    stored_message() = default;
    /// Empty: it has no such property.
    [[nodiscard]] std::string_view property(std::string_view name) const noexcept
    {
        for (const auto& [own, value] : properties) {
            if (own == name)
                return value;
        }
        return {};
    }
};

}  // namespace shunt
