// A message, as a program makes it.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shunt {

/// A value: the producer works on its own copy (or what was moved in) and never changes the caller's.
/// Nothing is checked here; a send refuses what a broker would (see errc) before anything reaches the wire.
class message {
public:
    message() = default;
    /// `topic`: 1..127 of [%|a-zA-Z0-9_-]. `body`: 1 byte up to producer_options::max_body; any bytes.
    message(std::string topic, std::string body) : topic_(std::move(topic)), body_(std::move(body)) {}

    [[nodiscard]] const std::string& topic() const noexcept { return topic_; }
    [[nodiscard]] const std::string& body() const noexcept { return body_; }
    message& set_topic(std::string topic) { topic_ = std::move(topic); return *this; }
    message& set_body(std::string body) { body_ = std::move(body); return *this; }

    /// One tag; consumers filter by it.
    message& set_tag(std::string tag) { tag_ = std::move(tag); return *this; }
    [[nodiscard]] const std::string& tag() const noexcept { return tag_; }

    /// A key to find the message by (property KEYS). Several may be added; none may contain a blank.
    message& add_key(std::string_view key)
    {
        if (has_keys_)
            keys_ += ' ';
        keys_ += key;
        has_keys_ = true;
        return *this;
    }
    /// The keys, joined by a blank.
    [[nodiscard]] const std::string& keys() const noexcept { return keys_; }
    [[nodiscard]] bool has_keys() const noexcept { return has_keys_; }

    /// What selectors choose by and lanes keep in order; may be empty, which is a key too. Not written to the message
    /// (unless producer_options::write_order_key).
    message& set_order_key(std::string key) { order_key_ = std::move(key); return *this; }
    [[nodiscard]] const std::optional<std::string>& order_key() const noexcept { return order_key_; }

    /// A property of the application's own. Reserved names are refused by the send.
    message& set_property(std::string name, std::string value)
    {
        for (auto& p : properties_) {
            if (p.first == name) {
                p.second = std::move(value);
                return *this;
            }
        }
        properties_.emplace_back(std::move(name), std::move(value));
        return *this;
    }
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& properties() const noexcept { return properties_; }

    /// 1..18: the broker delivers later (1s 5s 10s 30s 1m … 2h). 0: at once. A level, a delay or a time: one of the three.
    message& set_delay_level(int level) { delay_level_ = level; return *this; }
    [[nodiscard]] int delay_level() const noexcept { return delay_level_; }

    /// Delivered so long after it was stored, by brokers from 5.0 on (older ones deliver at once), to about a second; at
    /// least 1 ms and at most producer_options::max_delay. The receipt has a handle to recall it by where brokers offer that.
    message& set_delay(std::chrono::milliseconds delay) { return set_timer(timer_kind::after, delay); }
    [[nodiscard]] std::optional<std::chrono::milliseconds> delay() const noexcept
    {
        return timer_ == timer_kind::after ? std::optional(timer_ms_) : std::nullopt;
    }
    /// As set_delay, at a time: it must lie ahead.
    message& set_deliver_at(std::chrono::system_clock::time_point time)
    {
        return set_timer(timer_kind::at, std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()));
    }
    [[nodiscard]] std::optional<std::chrono::system_clock::time_point> deliver_at() const noexcept
    {
        return timer_ == timer_kind::at ? std::optional(std::chrono::system_clock::time_point(timer_ms_)) : std::nullopt;
    }
    /// True: it has a level, a delay or a time.
    [[nodiscard]] bool is_delayed() const noexcept { return delay_level_ != 0 || timer_ != timer_kind::none; }

    /// 0 and up: for topics with priorities, from brokers 5.4 on (others ignore it).
    message& set_priority(int priority) { priority_ = priority; has_priority_ = true; return *this; }
    [[nodiscard]] std::optional<int> priority() const noexcept { return has_priority_ ? std::optional(priority_) : std::nullopt; }

    /// False: the broker answers without waiting for its disk or its slaves.
    message& set_wait_store(bool wait) { wait_store_ = wait; return *this; }
    [[nodiscard]] bool wait_store() const noexcept { return wait_store_; }

    /// A number of the application's own, stored as it is.
    message& set_flag(std::int32_t flag) { flag_ = flag; return *this; }
    [[nodiscard]] std::int32_t flag() const noexcept { return flag_; }

private:
    enum class timer_kind : std::uint8_t { none, after, at };
    message& set_timer(timer_kind kind, std::chrono::milliseconds ms)
    {
        timer_ = kind;
        timer_ms_ = ms;
        return *this;
    }

    std::string topic_, body_, tag_, keys_;
    std::optional<std::string> order_key_;
    std::vector<std::pair<std::string, std::string>> properties_;
    std::int32_t flag_ = 0;
    int delay_level_ = 0;
    std::chrono::milliseconds timer_ms_{0};
    int priority_ = 0;
    timer_kind timer_ = timer_kind::none;
    bool has_priority_ = false;
    bool has_keys_ = false;
    bool wait_store_ = true;
};

}  // namespace shunt
