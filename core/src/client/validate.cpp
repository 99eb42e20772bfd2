#include <client/validate.hpp>

#include <wire/properties.hpp>

#include <algorithm>
#include <array>

namespace shunt::client {

namespace {

constexpr std::size_t max_topic = 127, max_retry_topic = 255;

constexpr std::array<std::string_view, 7> forbidden_topics{
    "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "TBW102"};

bool topic_char(char c) noexcept
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '%' || c == '|';
}

std::string quoted(std::string_view text)
{
    constexpr std::size_t shown = 64;
    std::string out = "'";
    for (const char c : text.substr(0, shown)) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            constexpr char digits[] = "0123456789abcdef";
            out += "\\x";
            out += digits[static_cast<unsigned char>(c) >> 4];
            out += digits[c & 15];
        } else {
            out += c;
        }
    }
    return out + (text.size() > shown ? "...'" : "'");
}

}  // namespace

std::optional<refusal> check_topic(std::string_view topic)
{
    if (topic.empty())
        return refusal{errc::invalid_topic, "the topic is empty; it must have 1 to 127 characters of a-z A-Z 0-9 _ - % |"};
    const bool retry = topic.starts_with("%RETRY%") || topic.starts_with("%DLQ%");
    if (topic.size() > (retry ? max_retry_topic : max_topic))
        return refusal{errc::invalid_topic, "topic " + quoted(topic) + " has " + std::to_string(topic.size()) + " bytes; at most " +
                                                std::to_string(retry ? max_retry_topic : max_topic) + " are allowed"};
    if (!std::all_of(topic.begin(), topic.end(), topic_char))
        return refusal{errc::invalid_topic, "topic " + quoted(topic) + " has characters other than a-z A-Z 0-9 _ - % |"};
    if (std::find(forbidden_topics.begin(), forbidden_topics.end(), topic) != forbidden_topics.end())
        return refusal{errc::forbidden_topic, "topic " + quoted(topic) + " belongs to the brokers; applications may not send to it"};
    return std::nullopt;
}

std::optional<refusal> check_message(const message& m, std::size_t max_body)
{
    if (auto bad = check_topic(m.topic()))
        return bad;
    if (m.body().empty())
        return refusal{errc::empty_body, "the body is empty; brokers take 1 byte and more"};
    if (m.body().size() > max_body)
        return refusal{errc::body_too_large, "the body has " + std::to_string(m.body().size()) + " bytes; max_body is " + std::to_string(max_body)};
    if (m.has_keys()) {
        if (!wire::property_safe(m.keys()))
            return refusal{errc::invalid_key, "a key has a byte 0x01 or 0x02, which separate properties on the wire"};
        // Keys are stored joined by a blank, so an empty one is two blanks or one at an end.
        if (m.keys().empty() || m.keys().front() == ' ' || m.keys().back() == ' ' || m.keys().find("  ") != std::string::npos)
            return refusal{errc::invalid_key, "keys " + quoted(m.keys()) + ": a key is empty or begins or ends with a blank"};
    }
    if (!wire::property_safe(m.tag()))
        return refusal{errc::invalid_property, "the tag has a byte 0x01 or 0x02, which separate properties on the wire"};
    if (m.order_key() && !wire::property_safe(*m.order_key()))
        return refusal{errc::invalid_key, "the order key has a byte 0x01 or 0x02, which separate properties on the wire"};
    for (const auto& [name, value] : m.properties()) {
        const auto bad = [&](std::string_view what) {
            return refusal{errc::invalid_property, "property " + quoted(name) + " " + std::string(what)};
        };
        if (name.empty())
            return refusal{errc::invalid_property, "a property has an empty name"};
        if (value.empty())
            return bad("has an empty value, which brokers drop");
        if (!wire::property_safe(name) || !wire::property_safe(value))
            return bad("has a byte 0x01 or 0x02, which separate properties on the wire");
        if (wire::is_reserved_property(name))
            return bad("is a name of RocketMQ's own; choose another");
    }
    if (m.delay_level() < 0 || m.delay_level() > 18)
        return refusal{errc::invalid_delay, "delay level " + std::to_string(m.delay_level()) + "; it must be 1 to 18, or 0 for none"};
    return std::nullopt;
}

}  // namespace shunt::client
