#include <send/classify.hpp>

#include <algorithm>

namespace shunt::send {

namespace {

bool any_in(std::string_view text, std::initializer_list<std::string_view> words) noexcept
{
    return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

}  // namespace

// The texts are those of real brokers, 4.x to 5.5.
bool blames_message(std::int32_t code, std::string_view text) noexcept
{
    if (code == 1)
        return any_in(text, {"NullPointerException", "NumberFormatException", "IllegalArgumentException", "BufferUnderflowException",
                             "message body size exceeded", "AclException", "accurate timer message is not enabled",
                             "The specified topic", "request queueId", "queueId["});
    if (code == 16)
        return any_in(text, {"cannot be null", "is not found", "check signature failed", "has no permission to access",
                             "Sending message to topic", "sending transaction message is forbidden", "AclException"});
    return false;
}

meaning classify(const attempt_result& result, rules r, const retry_rules& retry) noexcept
{
    meaning m;
    switch (result.how) {
    case ending::refused:
        m.outcome = outcome::not_sent;
        m.retry = true;
        m.refresh_route = true;
        m.feedback = SHUNT_FB_UNREACHABLE;
        return m;
    case ending::unconnected:
        m.outcome = outcome::not_sent;
        m.retry = true;
        m.refresh_route = true;
        m.feedback = SHUNT_FB_EXPIRED;
        return m;
    case ending::dropped:
    case ending::garbled:
        m.outcome = outcome::unknown;
        m.retry = retry.unknown;
        m.refresh_route = true;
        m.feedback = SHUNT_FB_FAILED;
        return m;
    case ending::expired:
        m.outcome = outcome::unknown;
        m.retry = retry.unknown;
        m.refresh_route = true;
        m.feedback = SHUNT_FB_EXPIRED;
        return m;
    case ending::written:
        m.outcome = outcome::unknown;
        return m;
    case ending::cancelled:
        m.outcome = outcome::not_sent;
        return m;
    case ending::answered: break;
    }

    const std::int32_t code = result.code;
    if (is_stored(code)) {
        m.outcome = outcome::stored;
        m.feedback = SHUNT_FB_GOOD;
        m.retry = code != 0 && retry.flush_late;
        return m;
    }
    m.outcome = outcome::rejected;
    m.retry = std::find(retry.codes.begin(), retry.codes.end(), code) != retry.codes.end();
    if (code == 1 || code == 2 || code == 14)
        m.feedback = SHUNT_FB_FAILED;
    if (r == rules::contract)
        return m;

    if (blames_message(code, result.text)) {
        m.retry = false;
        m.feedback.reset();
    }
    if (code == 17) {
        m.refresh_route = true;
        m.put_aside = true;
    }
    // 29: the queue is not there; 501: it moved; 4.x brokers say the first with code 1.
    const bool stale_queue = (code == 29 && result.text.find("queueId") != std::string_view::npos) || code == 501 ||
                             (code == 1 && any_in(result.text, {"request queueId", "queueId["}));
    if (stale_queue) {
        m.retry = true;
        m.refresh_route = true;
        m.await_refresh = true;
    }
    return m;
}

}  // namespace shunt::send
