#include <client/validate.hpp>

#include <wire/properties.hpp>
#include <wire/utf8.hpp>

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

/// What text of a message may not have; null: it is fine.
const char* text_fault(std::string_view text) noexcept
{
    if (text.empty())
        return nullptr;
    if (!wire::property_safe(text))
        return "a byte 0x01 or 0x02, which separate properties on the wire";
    if (!wire::is_utf8(text))
        return "bytes that are no UTF-8; put them into the body, or encode them";
    return nullptr;
}

std::string reserved_list()
{
    std::string list;
    for (const std::string_view name : wire::reserved_properties())
        list.append(list.empty() ? "" : ", ").append(name);
    return list;
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
        if (const char* bad = text_fault(m.keys()))
            return refusal{errc::invalid_key, std::string("a key has ") + bad};
        // Keys are stored joined by a blank, so an empty one is two blanks or one at an end.
        if (m.keys().empty() || m.keys().front() == ' ' || m.keys().back() == ' ' || m.keys().find("  ") != std::string::npos)
            return refusal{errc::invalid_key, "keys " + quoted(m.keys()) + ": a key is empty or begins or ends with a blank"};
    }
    if (const char* bad = text_fault(m.tag()))
        return refusal{errc::invalid_property, std::string("the tag has ") + bad};
    if (m.order_key()) {
        if (const char* bad = text_fault(*m.order_key()))
            return refusal{errc::invalid_key, std::string("the order key has ") + bad};
    }
    for (const auto& [name, value] : m.properties()) {
        const auto bad = [&key = name](const std::string& what) {
            return refusal{errc::invalid_property, "property " + quoted(key) + " " + what};
        };
        if (name.empty())
            return refusal{errc::invalid_property, "a property has an empty name"};
        if (value.empty())
            return bad("has an empty value, which brokers drop");
        if (const char* fault = text_fault(name))
            return bad(std::string("has in its name ") + fault);
        if (const char* fault = text_fault(value))
            return bad(std::string("has ") + fault);
        if (wire::is_reserved_property(name))
            return bad("is a name of RocketMQ's own; choose another. Its own are " + reserved_list());
    }
    if (m.priority() && *m.priority() < 0)
        return refusal{errc::invalid_priority, "priority " + std::to_string(*m.priority()) + "; it must be 0 or more"};
    return std::nullopt;
}

std::optional<refusal> check_delay(const message& m, std::chrono::milliseconds max_delay, std::int64_t now_ms)
{
    const auto bad = [](std::string text) { return refusal{errc::invalid_delay, std::move(text)}; };
    const auto delay = m.delay();
    const auto at = m.deliver_at();
    if (m.delay_level() != 0 && (delay || at))
        return bad("a delay level and a delay or a time; a message has one of them at most");
    if (m.delay_level() < 0 || m.delay_level() > 18)
        return bad("delay level " + std::to_string(m.delay_level()) + "; it must be 1 to 18, or 0 for none");
    const std::string most = std::to_string(max_delay.count()) + " ms (max_delay)";
    if (delay && (delay->count() < 1 || *delay > max_delay))
        return bad("a delay of " + std::to_string(delay->count()) + " ms; it must be 1 ms to " + most);
    if (at) {
        using std::chrono::milliseconds;
        const std::int64_t at_ms = std::chrono::duration_cast<milliseconds>(at->time_since_epoch()).count();
        if (at_ms <= now_ms)
            return bad("its time to be delivered was " + std::to_string(now_ms - at_ms) + " ms ago; it must lie ahead");
        if (at_ms - now_ms > max_delay.count())
            return bad("its time to be delivered is " + std::to_string(at_ms - now_ms) + " ms ahead; at most " + most + " are allowed");
    }
    return std::nullopt;
}

}  // namespace shunt::client
