// One broker's memory: topics, their queues, and the messages in them. Pure: no sockets, no clock, no locks.
//
// Messages lie one after another in large blocks and never move, so that storing one costs a copy and no allocation.

#pragma once

#include <wire/buffer.hpp>
#include <wire/stored_message.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::cluster {

struct topic_config {
    std::string name;
    std::int32_t read_queues = 4;
    std::int32_t write_queues = 4;
    std::int32_t perm = 6;
    bool order = false;
    std::int32_t sys_flag = 0;
};

struct topic_log;

/// A stored message; its topic's name is not repeated, properties and body follow it in memory.
struct record {
    std::uint64_t sequence = 0;
    std::int64_t commit_log_offset = 0;
    std::int64_t queue_offset = 0;
    std::int64_t born_ms = 0;
    std::int64_t stored_ms = 0;
    std::int64_t prepared_offset = 0;
    const topic_log* topic = nullptr;
    std::int32_t queue_id = 0;
    std::int32_t flag = 0;
    std::int32_t sys_flag = 0;
    std::int32_t reconsume_times = 0;
    wire::host_address born_host;
    std::uint32_t properties_size = 0;
    std::uint32_t body_size = 0;

    [[nodiscard]] std::string_view properties() const noexcept
    {
        return {reinterpret_cast<const char*>(this + 1), properties_size};
    }
    [[nodiscard]] std::string_view body() const noexcept
    {
        return {reinterpret_cast<const char*>(this + 1) + properties_size, body_size};
    }
};

struct topic_log {
    topic_config config;
    std::vector<std::vector<const record*>> queues;  ///< as many as were ever written to
};

/// What to store. Properties come in two parts, so that what the broker adds need not be copied together first.
struct new_message {
    std::int32_t queue_id = 0;
    std::int32_t flag = 0;
    std::int32_t sys_flag = 0;
    std::int32_t reconsume_times = 0;
    std::int64_t born_ms = 0;
    std::int64_t stored_ms = 0;
    std::int64_t prepared_offset = 0;
    wire::host_address born_host;
    std::string_view properties;
    std::string_view more_properties;
    std::string_view body;
};

class store {
public:
    store(wire::host_address host, bool keep_bodies) : host_(host), keep_bodies_(keep_bodies) {}

    [[nodiscard]] topic_log* find(std::string_view topic) noexcept;
    [[nodiscard]] const topic_log* find(std::string_view topic) const noexcept;
    /// Creates the topic, or changes its settings; messages stay.
    topic_log& put_topic(const topic_config& config);
    /// False when there is no such topic.
    bool erase_topic(std::string_view topic);
    [[nodiscard]] const std::map<std::string, std::unique_ptr<topic_log>, std::less<>>& topics() const noexcept { return topics_; }

    const record& append(topic_log& topic, const new_message& m, std::uint64_t sequence);

    /// In the order of storing.
    [[nodiscard]] const std::vector<const record*>& log() const noexcept { return log_; }
    [[nodiscard]] const record* at(const topic_log& topic, std::int32_t queue_id, std::int64_t offset) const noexcept;
    [[nodiscard]] std::int64_t end(const topic_log& topic, std::int32_t queue_id) const noexcept;
    [[nodiscard]] const record* by_commit_log_offset(std::int64_t offset) const noexcept;
    /// First offset in the queue stored at `ms` or later; its end when there is none.
    [[nodiscard]] std::int64_t offset_at(const topic_log& topic, std::int32_t queue_id, std::int64_t ms) const noexcept;

    /// Appends the message as a broker hands it out.
    void encode(wire::buffer& out, const record& r) const;

    [[nodiscard]] const wire::host_address& host() const noexcept { return host_; }
    void set_port(std::uint16_t port) noexcept { host_.port = port; }

private:
    char* allocate(std::size_t size);

    wire::host_address host_;
    bool keep_bodies_;
    std::map<std::string, std::unique_ptr<topic_log>, std::less<>> topics_;
    topic_log* last_ = nullptr;   ///< found last: most messages go where the one before went
    std::vector<const record*> log_;
    std::int64_t commit_log_end_ = 0;
    std::vector<std::unique_ptr<char[]>> blocks_;
    char* block_ = nullptr;
    std::size_t block_left_ = 0;
};

}  // namespace shunt::cluster
