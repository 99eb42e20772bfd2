// The keys of a configuration that are plain values: each with its rule and what it is, once for the reader, for
// `shunt config show`, for the comparison of two configurations and for the schema.

#pragma once

#include <config/names.hpp>
#include <config/value.hpp>

#include <shunt/options.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace shunt::config {

inline constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

/// Which topics are traced.
[[nodiscard]] inline bool is_trace(std::string_view pattern) noexcept { return pattern.empty() || is_topic_pattern(pattern); }
inline constexpr plain_text trace_rule{is_trace, "topics, such as \"orders-*\" or \"*\" for all; or empty: none", nullptr, "^[%|a-zA-Z0-9_*-]{0,127}$"};

/// Who tells the name servers.
inline constexpr plain_text name_server_url_rule{is_name_server_url, "http://HOST[:PORT]/PATH; or empty: none", nullptr, "^(http://[!-~]{1,2000})?$"};

/// Where a recorded run is written to.
[[nodiscard]] inline bool is_record(std::string_view path) noexcept { return path.empty() || is_path(path); }
inline constexpr plain_text record_rule{is_record, "a file to write to, of at most 4095 bytes; or empty: none", nullptr, "^.{0,4095}$"};

/// A file that is read, or none.
[[nodiscard]] inline bool is_optional_path(std::string_view path) noexcept { return path.empty() || is_path(path); }
inline constexpr plain_text optional_path_rule{is_optional_path, "a path of at most 4095 bytes; or empty: none", nullptr, "^.{0,4095}$"};

inline constexpr whole_number messages_rule{1, 16'777'216};  // max_in_flight_messages
inline constexpr byte_size bytes_rule{1, 1024 * GiB};       // max_in_flight_bytes

/// Every key of [producer] but name_servers, in the order of config/shunt.toml: f(key, rule, member, what it is).
template <typename F>
void each_producer_key(F f)
{
    using std::chrono::hours;
    using std::chrono::milliseconds;
    using std::chrono::minutes;
    using o = producer_options;
    f("group", group_rule(), &o::group, "the producer group brokers see");
    f("name_server_url", name_server_url_rule, &o::name_server_url,
      "where the name servers are told, HOST:PORT;HOST:PORT: asked every 2 minutes; until it answers, name_servers are asked");
    f("embedded", flag{}, &o::embedded, "a cluster inside this process, for trying out, instead of name_servers");
    // broker-a to broker-z
    f("embedded_brokers", whole_number{1, 26}, &o::embedded_brokers, "its brokers, called broker-a, broker-b, ...");
    f("embedded_queues", whole_number{1, 65535}, &o::embedded_queues, "queues of a topic on each of them");
    f("send_timeout", duration{milliseconds(1), hours(24)}, &o::send_timeout, "a whole send: route look-up, waiting and retries included");
    f("attempts", whole_number{1, 16}, &o::attempts, "tries in that time; each has its share of what is left");
    f("retry_backoff", duration{milliseconds(0), hours(1)}, &o::retry_backoff,
      "pause before a broker this send already tried; none before another one");
    f("retry_backoff_max", duration{milliseconds(0), hours(1)}, &o::retry_backoff_max,
      "the pause doubles up to this, and is drawn at random below it");
    f("attempt_timeout", duration{milliseconds(0), hours(24)}, &o::attempt_timeout, "of one attempt at most; 0ms: its share of the time that is left");
    f("retry_codes", code_list{}, &o::retry_codes, "answers of brokers that are worth another attempt");
    f("retry_unknown", flag{}, &o::retry_unknown,
      "go on after an attempt that may have stored the message, which may store it twice; false: end as unknown");
    f("retry_flush_late", flag{}, &o::retry_flush_late,
      "go on when it is stored, but not yet on disk or slave (10, 11, 12), which stores it twice; false: end as stored");
    f("max_in_flight_messages", messages_rule, &o::max_in_flight_messages, "messages on their way at once");
    f("max_in_flight_bytes", bytes_rule, &o::max_in_flight_bytes, "bytes of messages on their way at once");
    f("when_full", enumerated<when_full>{{{"wait", "refuse", "suspend"}}}, &o::when_full,
      "when that is met: wait until there is room or the deadline comes; refuse; suspend: as wait, but an async send never holds up its caller");
    // a frame holds 16 MiB, the header included
    f("max_body", byte_size{1, 15 * MiB}, &o::max_body, "larger bodies are refused before they are sent, as brokers would");
    f("max_properties", byte_size{64, 32767}, &o::max_properties, "tag, keys and properties of a message together");
    f("max_delay", duration{milliseconds(1), hours(24 * 366 * 10)}, &o::max_delay,
      "delays and delivery times beyond it are refused, as brokers would");
    f("write_order_key", flag{}, &o::write_order_key, "write the order key into the message, as property __SHARDINGKEY");
    f("compress", enumerated<compression>{{{"none", "zlib", "lz4", "zstd"}}}, &o::compress,
      "compress bodies; those that would not shrink go as they are. Consumers before 4.9.4 know zlib only");
    f("compress_level", whole_number{0, 22}, &o::compress_level, "1 to 9 (zlib), 12 (lz4), 22 (zstd); 0: what the algorithm usually does");
    f("compress_from", byte_size{1, 15 * MiB}, &o::compress_from, "smaller bodies go as they are");
    f("max_inflated", byte_size{1, 1 * GiB}, &o::max_inflated, "replies and messages read back that would be larger are refused");
    f("auto_batch", flag{}, &o::auto_batch, "messages for one queue travel together while others are under way to it");
    f("batch_linger", duration{milliseconds(0), minutes(1)}, &o::batch_linger,
      "a message waits at most so long for others, and not at all while nothing is under way");
    f("batch_bytes", byte_size{64, 15 * MiB}, &o::batch_bytes, "of a batch, encoded; larger messages go alone");
    f("batch_messages", whole_number{1, 32768}, &o::batch_messages, "of a batch");
    f("auto_create_topics", flag{}, &o::auto_create_topics,
      "topics the name servers do not know go by the route of the default topic, and are made by the broker");
    f("default_topic", topic_rule(), &o::default_topic, "its name");
    f("default_topic_queues", whole_number{1, 65535}, &o::default_topic_queues, "queues asked for on each broker");
    f("route_refresh", duration{milliseconds(10), hours(24)}, &o::route_refresh, "how often routes are asked for again");
    // brokers forget a client after 120 s
    f("heartbeat", duration{milliseconds(10), minutes(2)}, &o::heartbeat,
      "how often brokers hear of this client; they forget it after 120 s");
    f("connect_timeout", duration{milliseconds(1), hours(1)}, &o::connect_timeout, "of one connection");
    f("format", enumerated<wire_format>{{{"json", "rocketmq"}}}, &o::format, "headers on the wire; rocketmq is shorter, and binary");
    f("client_id", client_id_rule(), &o::client_id, "empty: made from address, process and a random part");
    f("namespace_v1", namespace_rule(), &o::namespace_v1, "the old kind: topics and the group are NAMESPACE%NAME at the brokers");
    f("namespace_v2", namespace_rule(), &o::namespace_v2, "the new kind: names stay, every request tells it; for proxies and clouds");
    f("unit_name", namespace_rule(), &o::unit_name, "part of the client id");
    f("unit_mode", flag{}, &o::unit_mode, "told with every message");
    f("vip_channel", flag{}, &o::vip_channel, "sends and questions go to the broker's second port, which is its port - 2");
    f("watch", flag{}, &o::watch, "take over changes of this file while running");
    f("record", record_rule, &o::record,
      "a file that the run is written to at its end, for shunt simulate; with {topic} in its name one for each topic");
    f("trace", trace_rule, &o::trace, "topics whose sends are written to RocketMQ's message trace; empty: none");
    f("trace_topic", topic_rule(), &o::trace_topic, "where those records go");
}

/// [acl] and a file of credentials: f(key, rule, member, what it is).
template <typename F>
void each_credential_key(F f)
{
    f("access_key", access_key_rule(), &credentials::access_key, "who we are: an access key, or a user's name");
    f("secret_key", secret_rule(), &credentials::secret_key, "what requests are signed with");
    f("security_token", security_token_rule(), &credentials::security_token, "of temporary credentials; empty: none");
}

/// The other keys of [acl]. `file` is relative to the configuration's folder.
template <typename F>
void each_acl_key(F f)
{
    f("file", optional_path_rule, &acl_options::file,
      "a TOML file with these three keys instead; whenever it changes it is taken over; empty: none");
    f("environment", variable_rule(), &acl_options::environment,
      "P: the variables P_ACCESS_KEY, P_SECRET_KEY and P_SECURITY_TOKEN instead; empty: none");
}

/// [tls]. Paths are relative to the configuration's folder.
template <typename F>
void each_tls_key(F f)
{
    using o = tls_options;
    f("enabled", flag{}, &o::enabled, "name servers and brokers are spoken to under TLS, all of them");
    f("ca", optional_path_rule, &o::ca, "a PEM file with the authorities that are trusted; empty: those of the system");
    f("certificate", optional_path_rule, &o::certificate, "a PEM file with our certificate and what leads up to its authority; empty: none");
    f("key", optional_path_rule, &o::key, "a PEM file with its private key");
    f("key_password", secret_rule(), &o::key_password, "that opens it; empty: none is needed");
    f("server_name", server_name_rule(), &o::server_name, "the name certificates must be for; empty: the host or address that is connected to");
    f("min_version", enumerated<tls_version>{{{"1.2", "1.3"}}}, &o::min_version, "older ones are refused");
    f("verify", enumerated<tls_verify>{{{"full", "chain", "none"}}}, &o::verify,
      "full: the certificate is right and for the name | chain: for whatever name | none: nothing is looked at, anybody may listen in");
}

/// Every key of [swap].
template <typename F>
void each_swap_key(F f)
{
    using std::chrono::hours;
    using std::chrono::milliseconds;
    using o = swap_options;
    f("preflight", enumerated<preflight_rule>{{{"staged", "always", "off"}}}, &o::preflight,
      "run a plugin file's code in a process of its own first: for exchanges; also at the start; not at all");
    f("admit", duration{milliseconds(100), hours(1)}, &o::admit, "checking, loading and making may take so long");
    f("decide", duration{milliseconds(100), hours(24 * 30)}, &o::decide,
      "a candidate that is neither put in force nor taken back by then is dropped");
    f("probation", duration{milliseconds(0), hours(24)}, &o::probation,
      "so long the new policies go back by themselves if they do worse; 0ms: not at all");
    f("quiet", duration{milliseconds(0), hours(24)}, &o::quiet,
      "ordered topics: a key moves to another queue when it was quiet for so long; more than the slowest consumer lags");
    f("compare_attempts", whole_number{100, 1'000'000'000}, &o::compare_attempts,
      "attempts on each side before a candidate is found no worse");
}

/// Every key of [admin].
template <typename F>
void each_admin_key(F f)
{
    using o = admin_options;
    f("listen", listen_rule(), &o::listen, "where it is asked from; empty: nowhere");
    f("token", secret_text{token_rule()}, &o::token, "what is asked must bring along, as Authorization: Bearer TOKEN");
    f("mode", mode_rule(), &o::mode, "permissions of the socket's file");
    f("verbs", flag{}, &o::verbs, "policies may be changed from there; on a port that takes a token");
}

[[nodiscard]] inline const choice& log_level_rule()
{
    static const choice rule{{"off", "error", "warn", "info", "debug"}};
    return rule;
}

inline constexpr whole_number weight_rule{0, 1'000'000};    // [[brokers]] weight
inline constexpr whole_number max_images_rule{1, 1024};     // [plugins] max_images

/// A policy's when_no_queue.
[[nodiscard]] inline const enumerated<shunt::when_no_queue>& no_queue_rule()
{
    static const enumerated<shunt::when_no_queue> rule{{{"wait", "any", "fail"}}};
    return rule;
}
/// A policy's key_from.
[[nodiscard]] plain_text key_source_rule();

}  // namespace shunt::config
