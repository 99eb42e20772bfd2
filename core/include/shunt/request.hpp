// Request and reply: a message that is answered by whoever consumes it.

#pragma once

#include <shunt/admin.hpp>
#include <shunt/receipt.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt {

class reply_receipt {
public:
    receipt send;                   ///< of the request
    error_code error;               ///< success: `body` is the reply. errc::reply_timeout: stored, but no reply came
    std::string body;               ///< inflated, if it was compressed
    std::vector<std::pair<std::string, std::string>> properties;
    std::string reason;             ///< in words, when there is an error
    std::chrono::nanoseconds latency{0};

    reply_receipt() = default;
    /// Empty: the reply has no such property.
    [[nodiscard]] std::string_view property(std::string_view name) const noexcept
    {
        for (const auto& [own, value] : properties) {
            if (own == name)
                return value;
        }
        return {};
    }
};

/// Answers a request; nothing: no reply is sent. Runs on the producer's callback thread; a throw counts as nothing.
using request_answerer = std::function<std::optional<std::string>(const stored_message& request)>;

}  // namespace shunt
