// What a producer is made from: the same things shunt.toml says, as values. Every default is the file's default.

#pragma once

#include <shunt/setting.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shunt {

class send_observer;

/// A strategy by the name users write, with its settings (without `use`).
struct strategy_options {
    std::string use;
    setting_table settings;
    source_position where;
};

/// What happens to a send when its policy finds no queue for it.
enum class when_no_queue : std::uint8_t {
    wait,  ///< try again when the route or the policy changes, until the deadline (default)
    any,   ///< take any writable queue, by best-queue's rule
    fail,  ///< end at once
};

/// What selectors take as the key.
struct key_source {
    enum class kind : std::uint8_t { order_key, keys, property };
    kind what = kind::order_key;
    std::string property;  ///< with kind::property: its name
};

/// A selector, a fault strategy and the rules around them, under one name.
struct policy_options {
    strategy_options selector{.use = "best-queue", .settings = {}, .where = {}};
    strategy_options fault{.use = "latency-fault", .settings = {}, .where = {}};
    std::vector<strategy_options> filters;
    bool ordered = false;
    key_source key_from;
    shunt::when_no_queue when_no_queue = shunt::when_no_queue::wait;
    source_position where;
};

/// Topics matching `topic` (`*` stands for any run of characters) use `policy`. The first binding that matches wins;
/// a topic that none matches uses the policy "default".
struct binding_options {
    std::string topic;
    std::string policy;
    source_position where;
};

/// What may be in flight of each single topic that matches `topic` (`*` stands for any run of characters), within what may be
/// in flight altogether. The first that matches counts; a topic that none matches has no limits of its own.
struct limit_options {
    std::string topic;
    std::size_t max_in_flight_messages = 0;  ///< 0: only the producer's own limit
    std::size_t max_in_flight_bytes = 0;     ///< as well; not both
    source_position where;
};

/// Facts about a broker that no route carries.
struct broker_options {
    std::string room;
    std::uint32_t weight = 1;  ///< 0..1000000
};

struct plugin_file {
    std::string file;    ///< relative: to the configuration file's folder
    std::string sha256;  ///< lower-case hex, or empty: not pinned
    source_position where;
};

struct plugin_options {
    std::vector<std::string> path;             ///< folders, searched in order; empty: the bundled plugins' folder
    std::map<std::string, plugin_file> load;   ///< by strategy name
    std::size_t max_images = 64;               ///< loaded files kept in the process; more are refused
};

/// What a send does when the limits of messages or bytes in flight are met.
enum class when_full : std::uint8_t {
    wait,     ///< sync: the caller waits, until its deadline. async: as suspend (default)
    refuse,   ///< not_sent at once
    suspend,  ///< async: queued, started when there is room; the deadline runs
};

/// How bodies are compressed. Consumers before 4.9.4 know zlib only.
enum class compression : std::uint8_t { none, zlib, lz4, zstd };

enum class wire_format : std::uint8_t { json, rocketmq };

/// When the code of a plugin file is first run in a process of its own, before it is loaded into this one.
enum class preflight_rule : std::uint8_t {
    staged,  ///< for every swap while the producer runs, not at its start (default)
    always,  ///< at the start as well
    off,     ///< never
};

/// How policies are exchanged while the producer runs.
struct swap_options {
    preflight_rule preflight = preflight_rule::staged;
    std::chrono::milliseconds admit{10'000};         ///< from `admitting` to `created`; longer: refused
    std::chrono::milliseconds decide{3'600'000};     ///< in created, shadow or canary; longer: refused
    std::chrono::milliseconds probation{300'000};    ///< after it was put in force; 0: none
    std::chrono::milliseconds quiet{60'000};         ///< ordered topics: a key moves when it was quiet for so long
    std::uint64_t compare_attempts = 1000;           ///< on each side, before a candidate is found no worse
};

/// An HTTP endpoint from which the producer is looked at, and its policies changed. On a thread of its own.
struct admin_options {
    std::string listen;         ///< "unix:PATH", or "127.0.0.1:PORT" ("[::1]:PORT"; port 0: any that is free); empty: there is none
    std::string token;          ///< who asks must know it; empty: no token. 16 bytes and more of printable ASCII
    std::string mode = "0600";  ///< permissions of the socket's file
    bool verbs = true;          ///< policies may be changed from there; on a port that takes a token
};

/// Who a program is at brokers with access control. Secrets are never logged, and never part of an error.
struct credentials {
    std::string access_key;      ///< brokers with ACL 2.0 call it the user's name
    std::string secret_key;
    std::string security_token;  ///< of temporary credentials; empty: none

    friend bool operator==(const credentials&, const credentials&) = default;
};

/// Where credentials come from: from `keys`, or from one of the sources below; more than one is refused. Without any,
/// requests go unsigned.
struct acl_options {
    credentials keys;
    std::string file;         ///< TOML with access_key, secret_key, security_token; taken over anew whenever it changes
    std::string environment;  ///< P: the variables P_ACCESS_KEY, P_SECRET_KEY and P_SECURITY_TOKEN, read once
    /// Asked once by the caller of create(), then each `refresh` on the I/O thread, where it must not block. If it throws, or
    /// answers without a key or a secret, those from before stay; at the start that is an error.
    std::function<credentials()> provider;
    std::chrono::milliseconds refresh{60000};
};

enum class tls_version : std::uint8_t { v1_2, v1_3 };

/// What must hold of a server's certificate.
enum class tls_verify : std::uint8_t {
    full,   ///< somebody we trust signed it, it is valid now and for the name
    chain,  ///< the same, whatever its name: what Java's client checks when it checks
    none,   ///< nothing: whoever is on the way can read and change all
};

/// TLS to name servers and brokers. Paths are of PEM files, which are taken over anew whenever they change, for
/// connections made from then on.
struct tls_options {
    bool enabled = false;
    std::string ca;            ///< certificates of the authorities that are trusted; empty: those of the system
    std::string certificate;   ///< ours, and what leads up to its authority; empty: none
    std::string key;           ///< its private key
    std::string key_password;  ///< that opens it; empty: none is needed
    std::string server_name;   ///< that certificates must be for; empty: the host or address that is connected to
    tls_version min_version = tls_version::v1_2;
    tls_verify verify = tls_verify::full;
};

struct producer_options {
    std::string group = "shunt";
    std::vector<std::string> name_servers;      ///< "host:port", "[v6]:port"
    /// "http://HOST[:PORT]/PATH" that answers the name servers ("HOST:PORT;HOST:PORT"): asked every 2 minutes, as Java's client
    /// does. Until it has answered for the first time those of name_servers are asked, if there are any.
    std::string name_server_url;
    bool embedded = false;                      ///< a cluster inside this process instead of name_servers
    std::uint32_t embedded_brokers = 3;
    std::uint32_t embedded_queues = 4;

    std::chrono::milliseconds send_timeout{3000};  ///< the whole send: route look-up, waiting and retries included
    std::uint32_t attempts = 3;                    ///< 1..16
    std::chrono::milliseconds retry_backoff{10};   ///< before a broker this send already tried; doubles, full jitter
    std::chrono::milliseconds retry_backoff_max{500};
    std::chrono::milliseconds attempt_timeout{0};  ///< of one attempt at most; 0: its share of the time that is left
    std::vector<std::int32_t> retry_codes{1, 2, 14, 16, 17, 204, 205, 1500};  ///< broker's answers worth another attempt
    bool retry_unknown = true;                     ///< after an attempt that may have stored: another one may store twice
    bool retry_flush_late = false;                 ///< after "stored, but not yet on disk or slave" (10, 11, 12): stores twice

    std::size_t max_in_flight_messages = 65536;
    std::size_t max_in_flight_bytes = 256 * 1024 * 1024;
    shunt::when_full when_full = shunt::when_full::wait;

    std::size_t max_body = 4 * 1024 * 1024;        ///< bytes
    std::size_t max_properties = 32767 - 512;      ///< bytes, encoded: tag, keys and all; brokers add some of their own
    std::chrono::milliseconds max_delay{std::chrono::hours(72)};  ///< of delays and delivery times: what brokers take
    compression compress = compression::none;      ///< bodies of compress_from bytes and more; what would not shrink goes as it is
    int compress_level = 0;                        ///< 1..9 (zlib), 12 (lz4), 22 (zstd); 0: what the algorithm usually does
    std::size_t compress_from = 4096;              ///< bytes
    std::size_t max_inflated = 64 * 1024 * 1024;   ///< bytes: compressed bodies that come in and would have more are refused
    bool auto_batch = false;                       ///< messages for one queue travel together while others are under way to it
    std::chrono::milliseconds batch_linger{10};    ///< so long at most a message waits for others; none while nothing is under way
    std::size_t batch_bytes = 32 * 1024;           ///< of a batch, encoded; larger messages go alone
    std::uint32_t batch_messages = 1024;           ///< of a batch: 1..32768
    bool auto_create_topics = true;                ///< an unknown topic goes by the default topic's route
    std::string default_topic = "TBW102";
    std::uint32_t default_topic_queues = 4;
    bool write_order_key = false;                  ///< the order key also as property __SHARDINGKEY

    std::chrono::milliseconds route_refresh{30000};
    std::chrono::milliseconds heartbeat{30000};
    std::chrono::milliseconds connect_timeout{3000};
    wire_format format = wire_format::json;
    std::string client_id;                         ///< empty: made from address, pid and a random part
    std::string namespace_v1;                      ///< empty: none. Topics and group are "NAMESPACE%NAME" on the wire
    std::string namespace_v2;                      ///< empty: none. Names stay; every request tells it in fields ns and nsd
    std::string unit_name;                         ///< empty: none. Part of the client id
    bool unit_mode = false;                        ///< told with every message
    bool vip_channel = false;                      ///< sends and questions go to the broker's port - 2

    bool watch = false;                            ///< take over changes of the file while running
    /// A file that the run is written to when the producer closes, as a scenario for `shunt simulate`; empty: none. It is of
    /// the first topic something is sent to; with "{topic}" in its name there is one of each topic, of the first 16.
    std::string record;

    /// Topics whose sends are written to RocketMQ's message trace, as a pattern: "*" is any run of characters; empty: none.
    std::string trace;
    std::string trace_topic = "RMQ_SYS_TRACE_TOPIC";
    std::vector<std::shared_ptr<send_observer>> observers;  ///< told of every send, see send_observer; none may be null

    plugin_options plugins;
    std::map<std::string, policy_options, std::less<>> policies;  ///< "default" is there if not given
    std::vector<binding_options> bindings;
    std::vector<limit_options> limits;
    std::map<std::string, broker_options, std::less<>> brokers;

    swap_options swap;
    admin_options admin;
    acl_options acl;
    tls_options tls;
    std::string log_level = "off";                 ///< off | error | warn | info | debug
    std::string file;                              ///< where it was read from; empty: made in code
    /// What the program says in place of its file, as its command line may: called with whatever is read later, be it that
    /// `file` changed, or that a file or a text is staged, so that it stands for as long as the producer does. On any thread,
    /// on several at once; it must not block or throw. create() does not call it.
    std::function<void(producer_options&)> overrides;
};

}  // namespace shunt
