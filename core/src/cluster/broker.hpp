// One broker: answers requests as a real one does, keeps messages, and misbehaves when told to. Pure.

#pragma once

#include <cluster/access.hpp>
#include <cluster/embedded_cluster.hpp>
#include <cluster/fault.hpp>
#include <cluster/service.hpp>
#include <cluster/store.hpp>
#include <wire/send.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::cluster {

class broker;

/// What the name server and the brokers of a cluster have in common.
struct shared_state {
    options settings;
    answer_style style;
    access_control access;
    std::vector<std::unique_ptr<broker>> brokers;
    std::map<std::pair<std::string, std::string>, std::string> kv;  ///< (namespace, key) of the name server
    std::uint64_t sequence = 0;                                     ///< of the message stored last
    std::function<void(std::int64_t)> wake_at;                      ///< asks for broker::due() at a time, in ms since 1970

    [[nodiscard]] broker* find(std::string_view name) const noexcept;
    /// Creates the topic on every broker that does not have it.
    void create_everywhere(const topic_config& config);
};

/// Empty: fine. Otherwise what a broker says of such a topic name.
[[nodiscard]] std::string topic_problem(std::string_view topic);
/// Topics no client may send to.
[[nodiscard]] bool is_forbidden_topic(std::string_view topic) noexcept;
/// Topics nobody may create.
[[nodiscard]] bool is_system_topic(std::string_view topic) noexcept;

inline constexpr std::string_view order_namespace = "ORDER_TOPIC_CONFIG";
inline constexpr std::string_view default_topic = "TBW102";
inline constexpr std::string_view half_topic = "RMQ_SYS_TRANS_HALF_TOPIC";
inline constexpr std::string_view delay_topic = "SCHEDULE_TOPIC_XXXX", timer_topic = "rmq_sys_wheel_timer";

class broker final : public service {
public:
    broker(std::string name, wire::host_address host, std::string host_text, shared_state& cluster);

    void opened(peer& from) override;
    void closed(peer& from) override;
    void request(peer& from, const wire::frame& frame, std::int64_t now_ms) override;

    /// All but those that concern the listening port.
    void apply(const set_latency& latency) { latency_ = latency.value; }
    void apply(const set_behaviour& what) { behaviour_ = what; }
    void apply(const set_perm& perm);
    void apply(const set_queues& queues) { queue_counts_[queues.topic] = queues.queues; }
    void undo_faults();
    /// Asks producers about half messages that are neither committed nor rolled back: all of them, now.
    void check_transactions();
    /// What the time has come for: delivers messages that were held back, asks about transactions.
    void due(std::int64_t now_ms);

    /// The topic's settings with the faults on top.
    [[nodiscard]] topic_config effective(const topic_config& config) const;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const std::string& address() const noexcept { return address_; }  ///< as the name server knows it
    void set_port(std::uint16_t port);
    bool registered = true;  ///< the name server knows it

    [[nodiscard]] store& messages() noexcept { return store_; }
    [[nodiscard]] const store& messages() const noexcept { return store_; }
    [[nodiscard]] const counters& counts() const noexcept { return counts_; }

private:
    struct client {
        std::weak_ptr<peer> connection;
        peer* key = nullptr;
        std::set<std::string, std::less<>> producers, consumers;
    };

    void answer(peer& from, const wire::command& request, std::string_view body, wire::buffer& out, std::int64_t now_ms);
    void misbehave(peer& from, const wire::command& request, std::string_view body, std::int64_t now_ms);
    void refuse_with_code(const wire::command& request, wire::buffer& out) const;

    void send(peer& from, const wire::command& request, std::string_view body, wire::buffer& out, std::int64_t now_ms);
    void send_batch(peer& from, const wire::command& request, const wire::send_head& head, std::string_view body,
                    topic_log& topic, wire::buffer& out, std::int64_t now_ms);
    void reply(peer& from, const wire::command& request, std::string_view body, wire::buffer& out, std::int64_t now_ms);
    topic_log* topic_for(const wire::command& request, const wire::send_head& head, wire::buffer& out);
    void stored_answer(wire::buffer& out, const wire::command& request, std::string_view ids, std::int32_t queue_id,
                       std::int64_t queue_offset, std::string_view unique_key, std::string_view recall_handle = {}) const;
    const record& put(topic_log& topic, const new_message& m);
    const record& hold(std::string_view in, std::int32_t queue, const topic_log& wanted, new_message m, std::int64_t due_ms);
    void deliver(const record& held, std::int64_t now_ms, std::int64_t prepared = -1);
    [[nodiscard]] topic_log& internal(std::string_view topic, std::int32_t queues);
    void recall(const wire::command& request, wire::buffer& out, std::int64_t now_ms);
    void ask_producer(const record& half);
    void wake_at(std::int64_t ms) const;

    void heart_beat(peer& from, const wire::command& request, std::string_view body, wire::buffer& out);
    void unregister(const wire::command& request, wire::buffer& out);
    void end_transaction(const wire::command& request, wire::buffer& out, std::int64_t now_ms);
    void pull(peer& from, const wire::command& request, wire::buffer& out);
    void offset(const wire::command& request, wire::buffer& out);
    void consumer_offset(const wire::command& request, wire::buffer& out);
    void query(const wire::command& request, wire::buffer& out);
    void view(const wire::command& request, wire::buffer& out);
    void create_topic(const wire::command& request, wire::buffer& out);
    void consumers_of(const wire::command& request, wire::buffer& out);

    std::string name_;
    std::string host_text_;
    std::string address_;
    shared_state& cluster_;
    store store_;
    counters counts_;

    std::chrono::microseconds latency_{0};
    set_behaviour behaviour_;
    std::int32_t perm_ = 7;                                          ///< bits all topics may have
    std::map<std::string, std::int32_t, std::less<>> topic_perms_;   ///< faults
    std::map<std::string, std::int32_t, std::less<>> queue_counts_;  ///< faults

    std::map<std::string, client, std::less<>> clients_;
    std::map<std::string, std::int64_t, std::less<>> offsets_;       ///< of consumers: "group topic queue"
    struct check {
        std::int64_t next_ms = 0;
        int asked = 0;
    };
    std::map<std::int64_t, check> undecided_;                        ///< half messages, by commit-log offset
    std::multimap<std::int64_t, const record*> held_;                ///< by the time they are due
    std::uint32_t next_queue_ = 0;                                   ///< where the broker chooses
    std::int32_t next_opaque_ = 1;

    std::string id_prefix_;         ///< address and port in every offset id
    std::string stored_properties_; ///< what a broker adds to single messages
    wire::command_decoder decoder_;
    wire::buffer scratch_;
};

/// Name server of the cluster.
class name_server final : public service {
public:
    explicit name_server(shared_state& cluster) : cluster_(cluster) {}

    void opened(peer& from) override;
    void closed(peer& from) override;
    void request(peer& from, const wire::frame& frame, std::int64_t now_ms) override;

    bool hangs = false;
    bool forgot = false;
    /// From now on answers the routes of now; topics that come later have none.
    void keep_routes();
    void renew_routes() noexcept { kept_.reset(); }
    [[nodiscard]] const counters& counts() const noexcept { return counts_; }

private:
    void route(const wire::command& request, wire::buffer& out) const;
    [[nodiscard]] std::string route_body(std::string_view topic, bool strict) const;
    void brokers(const wire::command& request, wire::buffer& out) const;
    void topics(const wire::command& request, wire::buffer& out) const;
    void kv(const wire::command& request, wire::buffer& out);

    shared_state& cluster_;
    counters counts_;
    wire::command_decoder decoder_;
    std::optional<std::map<std::pair<std::string, bool>, std::string>> kept_;  // by topic and strictness
};

/// Appends `text` as a JSON string, quotes included.
void put_json_string(std::string& out, std::string_view text);

}  // namespace shunt::cluster
