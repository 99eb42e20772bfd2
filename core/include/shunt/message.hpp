// A message, as a program makes it.

#pragma once

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

    /// 1..18: the broker delivers later (1s 5s 10s 30s 1m … 2h). 0: at once.
    message& set_delay_level(int level) { delay_level_ = level; return *this; }
    [[nodiscard]] int delay_level() const noexcept { return delay_level_; }

    /// False: the broker answers without waiting for its disk or its slaves.
    message& set_wait_store(bool wait) { wait_store_ = wait; return *this; }
    [[nodiscard]] bool wait_store() const noexcept { return wait_store_; }

    /// A number of the application's own, stored as it is.
    message& set_flag(std::int32_t flag) { flag_ = flag; return *this; }
    [[nodiscard]] std::int32_t flag() const noexcept { return flag_; }

private:
    std::string topic_, body_, tag_, keys_;
    std::optional<std::string> order_key_;
    std::vector<std::pair<std::string, std::string>> properties_;
    std::int32_t flag_ = 0;
    int delay_level_ = 0;
    bool has_keys_ = false;
    bool wait_store_ = true;
};

}  // namespace shunt
