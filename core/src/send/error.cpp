#include <shunt/error.hpp>
#include <shunt/receipt.hpp>
#include <shunt/transaction.hpp>

#include <string>

namespace shunt {

namespace {

// A code is the errc, and above it the outcome where it is not the errc's usual one.
constexpr int outcome_shift = 12;

outcome usual_outcome(errc e) noexcept
{
    switch (e) {
    case errc::connection_lost:
    case errc::response_timeout:
    case errc::bad_response: return outcome::unknown;
    case errc::broker_error: return outcome::rejected;
    case errc::reply_timeout:
    case errc::bad_reply: return outcome::stored;
    default: return outcome::not_sent;
    }
}

const char* text_of(errc e) noexcept
{
    switch (e) {
    case errc::closed: return "the producer is closed";
    case errc::invalid_topic: return "the topic's name is not one a broker takes";
    case errc::forbidden_topic: return "the topic is the system's own";
    case errc::empty_body: return "the body is empty";
    case errc::body_too_large: return "the body is larger than max_body";
    case errc::properties_too_large: return "the properties are too large";
    case errc::invalid_property: return "a property's name or value cannot be sent";
    case errc::invalid_key: return "a key cannot be sent";
    case errc::invalid_delay: return "the delay is not one a broker takes";
    case errc::unknown_policy: return "no such policy";
    case errc::full: return "too much is in flight";
    case errc::larger_than_limit: return "the message is larger than all that may be in flight";
    case errc::no_queue: return "no writable queue";
    case errc::queue_not_writable: return "the queue named is not there or not writable";
    case errc::selector_failed: return "the caller's selector function failed";
    case errc::no_route: return "no name server knows the topic";
    case errc::route_timeout: return "timed out while looking up the route";
    case errc::expired_waiting: return "timed out before the first attempt";
    case errc::would_deadlock: return "a blocking call on the producer's own I/O thread";
    case errc::invalid_priority: return "the priority is less than 0";
    case errc::not_recallable: return "what was given is no handle of a message that can be recalled";
    case errc::invalid_settings: return "a setting of the question is out of range";
    case errc::not_found: return "there is no such message";
    case errc::invalid_batch: return "the messages cannot be one batch";
    case errc::batch_too_large: return "the batch is larger than max_body";
    case errc::invalid_reply: return "what is answered is no request";
    case errc::absent_payload: return "the payload is absent";
    case errc::reply_timeout: return "the request is stored, but no reply came in time";
    case errc::bad_reply: return "the request is stored, but its reply cannot be inflated";
    case errc::connect_failed: return "the broker refused the connection";
    case errc::connect_timeout: return "timed out while connecting to the broker";
    case errc::connection_lost: return "the connection was lost after the request was written";
    case errc::response_timeout: return "no answer in time";
    case errc::bad_response: return "the broker's answer could not be understood";
    case errc::cancelled: return "the producer closed before the send had ended";
    case errc::tls_failed: return "TLS with the server failed";
    case errc::no_tls: return "the server does not speak TLS";
    case errc::certificate_expired: return "the server's certificate is not valid now";
    case errc::certificate_wrong_name: return "the server's certificate is for others";
    case errc::certificate_untrusted: return "the server's certificate comes from nobody who is trusted";
    case errc::certificate_refused: return "the server refuses our certificate, or that there is none";
    case errc::broker_error: return "the broker did not store the message";
    }
    return "unknown error";
}

class send_category_type final : public boost::system::error_category {
public:
    send_category_type() : error_category(0x9d3fa81c52e67b04ULL) {}
    const char* name() const noexcept override { return "shunt.send"; }
    std::string message(int code) const override
    {
        const auto e = static_cast<errc>(code & ((1 << outcome_shift) - 1));
        const outcome o = outcome_of({code, *this});
        std::string text = text_of(e);
        if (o == outcome::unknown)
            text += "; it may be stored";
        return text;
    }
    bool equivalent(int code, const error_condition& condition) const noexcept override;
};

class outcome_category_type final : public boost::system::error_category {
public:
    outcome_category_type() : error_category(0x9d3fa81c52e67b05ULL) {}
    const char* name() const noexcept override { return "shunt.outcome"; }
    std::string message(int value) const override { return std::string(to_string(static_cast<outcome>(value))); }
    bool equivalent(const error_code& code, int condition) const noexcept override
    {
        return (code.category() == send_category() || !code.failed()) && outcome_of(code) == static_cast<outcome>(condition);
    }
};

const outcome_category_type& outcome_category() noexcept
{
    static const outcome_category_type instance;
    return instance;
}

bool send_category_type::equivalent(int code, const error_condition& condition) const noexcept
{
    if (condition.category() == outcome_category())
        return outcome_of({code, *this}) == static_cast<outcome>(condition.value());
    return error_category::equivalent(code, condition);
}

}  // namespace

std::string_view to_string(outcome o) noexcept
{
    switch (o) {
    case outcome::stored: return "stored";
    case outcome::not_sent: return "not_sent";
    case outcome::unknown: return "unknown";
    case outcome::rejected: return "rejected";
    }
    return "?";
}

std::string_view to_string(transaction_end e) noexcept
{
    switch (e) {
    case transaction_end::unknown: return "unknown";
    case transaction_end::commit: return "commit";
    case transaction_end::rollback: return "rollback";
    }
    return "?";
}

std::string_view to_string(store_status s) noexcept
{
    switch (s) {
    case store_status::ok: return "ok";
    case store_status::flush_disk_timeout: return "flush_disk_timeout";
    case store_status::slave_not_available: return "slave_not_available";
    case store_status::flush_slave_timeout: return "flush_slave_timeout";
    }
    return "?";
}

const boost::system::error_category& send_category() noexcept
{
    static const send_category_type instance;
    return instance;
}

error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), send_category()}; }

error_code make_send_error(errc e, outcome o) noexcept
{
    if (o == usual_outcome(e))
        return make_error_code(e);
    return {static_cast<int>(e) | static_cast<int>(o) << outcome_shift, send_category()};
}

error_condition make_error_condition(outcome o) noexcept { return {static_cast<int>(o), outcome_category()}; }

outcome outcome_of(const error_code& ec) noexcept
{
    if (!ec.failed())
        return outcome::stored;
    if (ec.category() != send_category())
        return outcome::not_sent;
    if (const int o = ec.value() >> outcome_shift; o != 0)
        return static_cast<outcome>(o);
    return usual_outcome(static_cast<errc>(ec.value()));
}

}  // namespace shunt
