// Names and addresses as RocketMQ and shunt take them: what is one, and what to say of text that is none.

#pragma once

#include <config/value.hpp>

#include <string>
#include <string_view>

namespace shunt::config {

/// A topic: 1 to 127 of A-Z a-z 0-9 _ - % |.
[[nodiscard]] bool is_topic(std::string_view) noexcept;
/// A topic in which '*' may stand for any run of characters.
[[nodiscard]] bool is_topic_pattern(std::string_view) noexcept;
/// The topic is one of the pattern's.
[[nodiscard]] bool matches_pattern(std::string_view topic, std::string_view pattern) noexcept;
/// A producer group: 1 to 120 of the same characters, and not Java's DEFAULT_PRODUCER.
[[nodiscard]] bool is_group(std::string_view) noexcept;
/// "host:port" or "[v6]:port".
[[nodiscard]] bool is_address(std::string_view) noexcept;
/// A strategy's name: a-z 0-9 -.
[[nodiscard]] bool is_strategy_name(std::string_view) noexcept;
/// A policy's name: 1 to 64 of A-Z a-z 0-9 _ - .
[[nodiscard]] bool is_policy_name(std::string_view) noexcept;
/// A broker's or a room's name: 1 to 255 characters, no blank at either end, none that cannot be printed.
[[nodiscard]] bool is_plain_name(std::string_view) noexcept;
[[nodiscard]] bool is_room(std::string_view) noexcept;  ///< a plain name, or empty: none
[[nodiscard]] bool is_client_id(std::string_view) noexcept;
[[nodiscard]] bool is_server_name(std::string_view) noexcept;  ///< a name or an address, without a port; empty: none
[[nodiscard]] bool is_access_key(std::string_view) noexcept;  ///< empty: none
[[nodiscard]] bool is_variable(std::string_view) noexcept;  ///< the name of one in the environment; empty: none
[[nodiscard]] bool is_namespace(std::string_view) noexcept;  ///< or a unit's name; empty: none
[[nodiscard]] bool is_path(std::string_view) noexcept;  ///< not empty, no NUL, at most 4095 bytes
[[nodiscard]] bool is_sha256(std::string_view) noexcept;
/// Where the admin endpoint listens: "unix:PATH" (at most 107 bytes), "127.0.0.1:PORT", "[::1]:PORT"; or empty.
[[nodiscard]] bool is_listen(std::string_view) noexcept;
inline constexpr std::string_view unix_prefix = "unix:";
inline constexpr std::size_t max_socket_path = 107;

[[nodiscard]] bool is_name_server_url(std::string_view url);  ///< empty: none

[[nodiscard]] plain_text topic_rule();
[[nodiscard]] plain_text topic_pattern_rule();
[[nodiscard]] plain_text group_rule();
[[nodiscard]] plain_text address_rule();
[[nodiscard]] plain_text strategy_name_rule();
[[nodiscard]] plain_text policy_name_rule();
[[nodiscard]] plain_text broker_name_rule();
[[nodiscard]] plain_text room_rule();
[[nodiscard]] plain_text client_id_rule();
[[nodiscard]] plain_text server_name_rule();
[[nodiscard]] plain_text access_key_rule();
[[nodiscard]] secret_text secret_rule();  ///< a secret or a password; empty: none
[[nodiscard]] secret_text security_token_rule();  ///< of temporary credentials; empty: none
[[nodiscard]] plain_text variable_rule();
[[nodiscard]] plain_text namespace_rule();  ///< of a namespace or a unit; empty: none
[[nodiscard]] plain_text path_rule();
[[nodiscard]] plain_text sha256_rule();
[[nodiscard]] plain_text listen_rule();
[[nodiscard]] plain_text token_rule();  ///< 16 to 256 bytes of printable ASCII; empty: none
[[nodiscard]] plain_text mode_rule();   ///< "0600": who may read and write

}  // namespace shunt::config
