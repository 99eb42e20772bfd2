// A name server and brokers in this process: real TCP on loopback, the real protocol, messages kept in memory.
//
// For trying out (`[producer] embedded = true`, `shunt cluster`) and for tests. Brokers are called broker-a, broker-b, ...
// An unknown topic is created on every broker when the first message for it comes. What was stored can be read over
// the protocol, or here as a ledger; faults are set by command, see command().

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::cluster {

/// Somebody whom brokers know.
struct account {
    std::string access_key, secret_key;
    std::vector<std::string> topics = {};  ///< that requests may be about; none: all of them
};

/// The access control of brokers: 1.0 refuses with code 1 and an exception's text, 2.0 (5.3 and later) with code 16.
enum class acl_form : std::uint8_t { v1, v2 };

/// TLS at the name server and the brokers: paths of PEM files.
struct tls_settings {
    std::string certificate, key;
    std::string ca = {};      ///< of clients, which must have a certificate then; empty: none is asked for
    bool enforced = true;     ///< false: those who speak plainly are served as well
};

struct options {
    int brokers = 3;                              ///< 1 to 26
    int queues = 4;                               ///< of a topic that is created by its first message
    std::uint16_t port = 0;                       ///< of the name server; 0: any free one. Brokers take free ones always
    std::string host = "127.0.0.1";               ///< an address of this machine, IPv4 or IPv6
    std::string cluster_name = "DefaultCluster";
    bool auto_create = true;                      ///< false: a message for an unknown topic is answered with 17
    bool keep_bodies = true;                      ///< false: bodies are counted, not kept, and read back empty
    bool binary_answers = false;                  ///< answer with binary headers; Java answers with JSON
    std::size_t max_body = 4 * 1024 * 1024;       ///< larger bodies are answered with 13
    std::int32_t version = 477;                   ///< announced in answers: 5.3.2
    std::vector<account> accounts = {};           ///< none: requests need no signature. Name servers never look at it
    acl_form acl = acl_form::v2;
    std::optional<tls_settings> tls = {};
    bool recall = false;                          ///< timed messages can be recalled; brokers refuse it unless told
    std::chrono::milliseconds transaction_timeout{6000};   ///< after so long producers are asked about a half message,
    std::chrono::milliseconds transaction_interval{30000}; ///< then each time after so long,
    int transaction_checks = 15;                  ///< so often; then it is dropped
};

/// A message in the ledger. Properties are what the broker stored: those sent, and for single messages MSG_REGION,
/// TRACE_ON and CLUSTER, which a broker adds.
struct stored_record {
    std::uint64_t sequence = 0;   ///< counts over all brokers: the order in which messages were stored
    std::string broker;
    std::string topic;
    std::int32_t queue = 0;
    std::int64_t offset = 0;
    std::string msg_id;           ///< UNIQ_KEY, else the offset id
    std::string offset_msg_id;
    std::string key;              ///< KEYS
    std::string tag;              ///< TAGS
    std::vector<std::pair<std::string, std::string>> properties;
    std::string body;             ///< as it came: may be compressed, see sys_flag
    std::int32_t flag = 0;
    std::int32_t sys_flag = 0;
    std::int64_t born_ms = 0;
    std::int64_t stored_ms = 0;

    [[nodiscard]] std::string_view property(std::string_view name) const noexcept;
};

/// Bodies that would have more bytes than this stay compressed where they are shown.
inline constexpr std::size_t max_inflated = 64 * 1024 * 1024;

/// One line of JSON as `shunt tail --json` writes it, without a line end. Compressed bodies are inflated.
[[nodiscard]] std::string to_json(const stored_record& record);

/// What a broker (or the name server) has seen since it was started.
struct counters {
    std::uint64_t accepted = 0;                        ///< connections
    std::uint64_t open = 0;                            ///< connections open now
    std::uint64_t requests = 0;                        ///< read, whatever became of them
    std::uint64_t sends = 0;                           ///< of these, send requests
    std::uint64_t stored = 0;                          ///< messages; each item of a batch counts
    std::map<std::int32_t, std::uint64_t> by_code;     ///< requests by request code
};

struct topic_settings {
    int queues = 4;
    int perm = 6;                          ///< 4 read, 2 write
    std::vector<std::string> brokers = {}; ///< none: all of them
    bool order = false;                    ///< also stores an order configuration at the name server
};

/// Owns one thread. Every function may be called from any thread. The destructor closes everything.
class embedded_cluster {
public:
    /// Listens when it returns. Throws std::runtime_error with what was wanted and what is in the way.
    explicit embedded_cluster(options wanted = {});
    ~embedded_cluster();
    embedded_cluster(const embedded_cluster&) = delete;
    embedded_cluster& operator=(const embedded_cluster&) = delete;

    /// "127.0.0.1:PORT"
    [[nodiscard]] std::string name_server() const;
    [[nodiscard]] std::vector<std::string> broker_names() const;
    /// Where the broker listens now ("127.0.0.1:PORT"), whatever the name server says. Empty for an unknown name.
    [[nodiscard]] std::string broker_address(std::string_view broker) const;

    /// Carries out one fault command and returns nothing, or a text that says what was wrong and what would be right.
    /// In force when it returns. The commands:
    ///   BROKER latency D         answers to all requests come D later ("800ms", "2s"); what is stored is stored at once
    ///   BROKER code N [TEXT]     sends are answered N; 0, 10, 11, 12 store, others do not. TEXT: the remark
    ///   BROKER refuse            connections are closed, new ones refused; the route still names the broker
    ///   BROKER hang [stored]     accepts and reads, answers nothing at all; sends are stored only with `stored`
    ///   BROKER drop [stored]     reads a send, then closes its connection
    ///   BROKER half              stores, answers a send with half a frame, then closes
    ///   BROKER close             the next send, and each after it, has its connection reset; nothing is stored
    ///   BROKER garbage           stores, answers a send with bytes that are not RocketMQ
    ///   BROKER twice             stores, answers a send twice
    ///   BROKER stall             reads nothing any more; what came meanwhile is read when it is `ok` again
    ///   BROKER perm N [TOPIC]    the route shows permission N (of all topics: the bits both have), 0 to 7
    ///   BROKER queues N TOPIC    the topic has N queues there; sends to others are answered 29
    ///   BROKER gone              as refuse, and the route no longer names the broker
    ///   BROKER move PORT         listens at another port (0: a free one) and tells the name server
    ///   BROKER check             asks producers about transactions that are not decided (not a fault: once)
    ///   BROKER ok                undoes all of these; listens again where it did at first
    ///   name-server hang | refuse | ok      as for a broker
    ///   name-server forget       knows no broker and no topic any more, until `ok`
    ///   name-server stale        answers the routes of now, whatever becomes of them, until `ok`
    /// latency, one of {code, hang, drop, half, close, garbage, twice}, one of {refuse, gone, move}, stall, perm and queues
    /// hold side by side; of those in braces the last one counts.
    [[nodiscard]] std::optional<std::string> command(std::string_view line);

    /// Creates or changes a topic. Nothing, or what was wrong.
    [[nodiscard]] std::optional<std::string> create_topic(std::string_view topic, const topic_settings& settings = {});

    /// For connections that come from now on. Nothing, or what was wrong: all stays as it was.
    [[nodiscard]] std::optional<std::string> set_tls(const std::optional<tls_settings>& settings);
    /// These accounts, and no others, from now on.
    void set_accounts(std::vector<account> accounts);

    /// What was stored, in the order it was stored; only of `topic` unless that is empty.
    [[nodiscard]] std::vector<stored_record> snapshot(std::string_view topic = {}) const;
    /// Messages by (broker, queue id).
    [[nodiscard]] std::map<std::pair<std::string, std::int32_t>, std::uint64_t> stored_by_queue(std::string_view topic) const;
    /// Messages stored on all brokers.
    [[nodiscard]] std::uint64_t stored() const;
    /// Writes the ledger as lines of JSON, ordered by broker, topic, queue and offset.
    void write_ledger(std::ostream& out) const;

    /// `subject`: a broker's name or "name-server". Zeros for an unknown name.
    [[nodiscard]] counters counts(std::string_view subject) const;

    /// Waits until `holds` does, asking it whenever requests were read, connections came or went, or a command was
    /// carried out. `holds` runs on the caller's thread and may call the functions above. False: `limit` is over.
    [[nodiscard]] bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds limit) const;
    /// Waits until `subject` has read `count` requests with `code` (since it was started).
    [[nodiscard]] bool wait_requests(std::string_view subject, std::int32_t code, std::uint64_t count,
                                     std::chrono::milliseconds limit) const;
    /// Waits until `broker` has read `count` send requests, of whatever kind.
    [[nodiscard]] bool wait_sends(std::string_view broker, std::uint64_t count, std::chrono::milliseconds limit) const;
    /// Waits until `count` messages are stored in all.
    [[nodiscard]] bool wait_stored(std::uint64_t count, std::chrono::milliseconds limit) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace shunt::cluster
