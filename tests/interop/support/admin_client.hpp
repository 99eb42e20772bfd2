// Asks one RocketMQ server, name server or broker, over a blocking connection: what tests need to set up and look around.
//
// It is written against the wire part alone, so that a test's second opinion does not come from the code under test's
// connections.

#pragma once

#include <route/route.hpp>
#include <tls/session.hpp>
#include <wire/command.hpp>
#include <wire/sign.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt::interop {

using fields = std::vector<std::pair<std::string, std::string>>;

struct answer {
    std::int32_t code = 0;
    std::string remark;
    std::map<std::string, std::string> fields;
    std::string body;
};

/// A message as it lies in a queue.
struct stored {
    std::string broker;
    std::int32_t queue = 0;
    std::int64_t offset = 0;
    std::int32_t flag = 0;
    std::int32_t sys_flag = 0;
    std::int64_t born_ms = 0;
    std::int64_t stored_ms = 0;
    std::string body;  ///< as stored: still compressed where sys_flag says so
    std::map<std::string, std::string> properties = {};

    /// UNIQ_KEY: what a producer calls the message id.
    [[nodiscard]] std::string msg_id() const
    {
        const auto found = properties.find("UNIQ_KEY");
        return found == properties.end() ? "" : found->second;
    }
};

struct topic_settings {
    std::int32_t queues = 4;
    std::int32_t perm = 6;  ///< 2 write, 4 read
    bool order = false;
    std::string attributes = {};  ///< "+message.type=FIFO", "+queue.type=BatchCQ"
};

class admin_client {
public:
    /// `address`: "127.0.0.1:9876". Connects at the first call, and anew after a failure.
    explicit admin_client(std::string address, std::chrono::milliseconds limit = std::chrono::seconds(10));
    admin_client(admin_client&& other) noexcept;
    admin_client& operator=(admin_client&&) = delete;
    ~admin_client();

    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    /// What connects from now on does so under TLS.
    void use_tls(std::shared_ptr<tls::context> certificates) { certificates_ = std::move(certificates); }
    [[nodiscard]] bool tls_resumed() const { return tls_ != nullptr && tls_->resumed(); }
    /// What call() sends is signed from now on.
    void sign_as(const std::string& access_key, const std::string& secret_key);

    /// Sends a request in the JSON form and waits for its answer. Throws std::runtime_error when none comes in time.
    answer call(std::int32_t code, const fields& ext = {}, std::string_view body = {});
    /// The same with a whole frame, as it is; `opaque` is what the frame says. For golden frames and wrong ones.
    answer exchange(std::string_view frame, std::int32_t opaque);

    // Below: throws std::runtime_error with the server's words unless it answers success.

    // To brokers.
    void create_topic(const std::string& topic, const topic_settings& settings = {});
    /// Changes settings of the running broker: lines of "key=value".
    void configure(const std::string& lines);
    [[nodiscard]] std::int64_t max_offset(const std::string& topic, std::int32_t queue);
    /// What lies in a queue, oldest first. An unknown topic has nothing.
    [[nodiscard]] std::vector<stored> pull(const std::string& broker, const std::string& topic, std::int32_t queue);

    // To name servers.
    /// The route; nothing when the name server does not know the topic.
    [[nodiscard]] std::optional<route::topic_route> route(const std::string& topic);
    void put_kv(const std::string& space, const std::string& key, const std::string& value);
    /// Fixes the queues of an order topic: "broker-a:4;broker-b:4".
    void put_order_conf(const std::string& topic, const std::string& value) { put_kv("ORDER_TOPIC_CONFIG", topic, value); }
    /// Masters by broker name, as registered now.
    [[nodiscard]] std::map<std::string, std::string> masters();

private:
    void connect();
    void close() noexcept;
    void send(std::string_view bytes);
    /// False: the peer has closed.
    [[nodiscard]] bool receive_some(wire::buffer& in);
    answer receive(std::int32_t opaque);
    answer must(std::int32_t code, const fields& ext = {}, std::string_view body = {});

    std::string address_;
    std::chrono::milliseconds limit_;
    std::chrono::steady_clock::time_point deadline_;
    int fd_ = -1;
    std::int32_t opaque_ = 0;
    std::unique_ptr<wire::signer> signer_;
    std::shared_ptr<tls::context> certificates_;
    std::unique_ptr<tls::session> tls_;
};

}  // namespace shunt::interop
