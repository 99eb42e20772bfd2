// What the other clients of RocketMQ call their settings, and what they are called here: for hints about keys that stand
// in a configuration by habit, and for the pages of config/migration.

#pragma once

#include <shunt/setting.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shunt::config {

enum class other_client : std::uint8_t { java, spring, cpp, go };
/// "Java client", "Spring starter", "C++ client", "Go client".
[[nodiscard]] std::string_view to_string(other_client) noexcept;

/// How a value of theirs becomes one of ours.
enum class value_form : std::uint8_t {
    none,           ///< not at all, or not to be repeated: credentials
    same,
    milliseconds,   ///< 3000 or "3s": "3s"
    bytes,          ///< 4096: "4KiB"
    retries,        ///< 2 more tries: 3 attempts
    servers,        ///< "a:9876;b:9876": ["a:9876", "b:9876"]
    lower_case,     ///< "ZLIB": "zlib"
    latency_fault,  ///< true: { use = "latency-fault" }
    all_topics,     ///< true: "*"
};

struct other_setting {
    other_client whose;
    std::string_view name;   ///< as their programs write it: "sendMsgTimeout", "setRetryTimes", "WithRetry"
    std::string_view usual;  ///< their default, in words; empty: none
    std::string_view table;  ///< ours: "producer"; empty: there is no such setting, and the note says why
    std::string_view key;
    value_form form = value_form::none;
    std::string_view note = {};  ///< what differs, or what stands in its place
};

/// All that the pages list, in their order.
[[nodiscard]] std::span<const other_setting> other_settings() noexcept;

/// What to say of a key of theirs, and which key of ours ("producer.send_timeout") it is; empty: none.
struct other_meaning {
    std::string hint;
    std::string ours;
};
/// `key` is unknown in [`table`]. However it is written: sendMsgTimeout, send_msg_timeout, send-msg-timeout, "setSendMsgTimeout",
/// "WithSendMsgTimeout", or with dots, as a table of tables.
[[nodiscard]] std::optional<other_meaning> meaning_elsewhere(std::string_view key, const setting& value, std::string_view table);

}  // namespace shunt::config
