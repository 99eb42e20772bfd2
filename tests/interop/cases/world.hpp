// What a case needs of brokers, whoever they are: the embedded cluster or a real RocketMQ.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shunt::cases {

/// A message as it lies in a queue.
struct lying {
    std::string broker;
    std::int32_t queue = 0;
    std::int64_t offset = 0;
    std::int32_t flag = 0;
    std::string body;
    std::map<std::string, std::string> properties;

    [[nodiscard]] std::string property(const std::string& name) const
    {
        const auto it = properties.find(name);
        return it == properties.end() ? std::string{} : it->second;
    }
    [[nodiscard]] std::string msg_id() const { return property("UNIQ_KEY"); }
};

/// Topics are created before they are used: a real broker makes one by itself only where the first message came.
class world {
public:
    virtual ~world() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::string name_server() const = 0;
    /// "broker-a", "broker-b": two at least.
    [[nodiscard]] virtual std::size_t brokers() const = 0;
    [[nodiscard]] virtual std::string broker(std::size_t i) const = 0;
    virtual void create_topic(const std::string& topic, int queues = 4, int perm = 6) = 0;
    /// All that lies in a topic, by broker, queue and offset.
    [[nodiscard]] virtual std::vector<lying> messages(const std::string& topic) = 0;
    /// The broker's process ends without a word; what it stored comes back with restart().
    virtual void kill(std::size_t i) = 0;
    virtual void restart(std::size_t i) = 0;
    /// Accepts, answers nothing.
    virtual void hang(std::size_t i) = 0;
    virtual void unhang(std::size_t i) = 0;
    /// The route shows the broker as read-only; and back.
    virtual void read_only(std::size_t i, bool on) = 0;
    /// The topic's queues become fewer or more, on every broker.
    virtual void resize_topic(const std::string& topic, int queues) = 0;
};

[[nodiscard]] std::unique_ptr<world> embedded_world();
/// `version` of the brokers: "5.3.2", "5.5.0".
[[nodiscard]] std::unique_ptr<world> real_world(const std::string& version);

}  // namespace shunt::cases
