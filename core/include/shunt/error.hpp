// Errors of sends and of building a producer, and what may be concluded from them.

#pragma once

#include <shunt/detail/export.hpp>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace shunt {

using boost::system::error_code;
using boost::system::error_condition;

/// What is known about a message after its send. An error_code compares equal to its outcome:
///     if (ec == shunt::outcome::not_sent) ...
enum class outcome : std::uint8_t {
    stored = 1,    ///< a broker confirmed it ("stored, flush late" included)
    not_sent,      ///< certainly not stored: sending again cannot duplicate
    unknown,       ///< it may be stored: sending again may duplicate. One-way sends end like this when written
    rejected,      ///< a broker answered that it did not store it
};

/// "stored", "not_sent", "unknown", "rejected".
[[nodiscard]] SHUNT_EXPORT std::string_view to_string(outcome o) noexcept;

/// Why a send did not end `stored`. One condition each.
enum class errc : int {
    // refused before the wire: outcome not_sent
    closed = 1,               ///< the producer is closed or closing
    invalid_topic,            ///< empty, too long, or characters a broker refuses
    forbidden_topic,          ///< a system topic
    empty_body,
    body_too_large,           ///< more than max_body
    properties_too_large,
    invalid_property,         ///< reserved name, empty name or value, or a separator byte inside
    invalid_key,              ///< a message key with a separator byte or a blank
    invalid_delay,            ///< delay level not 1..18; a delay or a time out of bounds; more than one of them
    unknown_policy,           ///< the named policy is not in the table
    full,                     ///< the limits in flight were met
    larger_than_limit,        ///< the message alone exceeds max_in_flight_bytes, or its topic's
    no_queue,                 ///< nothing writable, or the selector refused
    queue_not_writable,       ///< the queue the caller named is not there or not writable
    selector_failed,          ///< the caller's own function threw
    no_route,                 ///< no name server knows the topic
    route_timeout,            ///< the deadline passed while the route was looked up
    expired_waiting,          ///< the deadline passed before the first attempt: in a lane, for room, for a queue
    would_deadlock,           ///< a blocking call on the producer's own I/O thread
    invalid_priority,         ///< less than 0
    not_recallable,           ///< no handle a broker would have given
    invalid_settings,         ///< of a topic or a question: out of range
    not_found,                ///< no message with this id
    invalid_batch,            ///< empty, or messages that cannot travel together
    batch_too_large,          ///< more than max_body, encoded
    invalid_reply,            ///< what is answered is no request
    absent_payload,           ///< a message_template was given no payload
    // the attempts' own
    connect_failed = 100,     ///< not_sent
    connect_timeout,          ///< not_sent
    connection_lost,          ///< unknown: after the request was (at least in part) written
    response_timeout,         ///< unknown
    bad_response,             ///< unknown: the answer could not be understood
    cancelled,                ///< close() met its deadline: not_sent or unknown, see the receipt
    reply_timeout,            ///< stored: the request is, but no reply came in time
    bad_reply,                ///< stored: a reply came, but cannot be inflated
    // of TLS with a broker, or with each of the name servers: not_sent
    tls_failed,               ///< for no reason of its own below
    no_tls,                   ///< the server does not speak TLS
    certificate_expired,      ///< the server's is not valid now
    certificate_wrong_name,   ///< the server's is for others
    certificate_untrusted,    ///< nobody we trust signed the server's
    certificate_refused,      ///< the server refuses ours, or that there is none
    broker_error = 200,       ///< rejected: see the receipt for code and text
};

/// Makes `errc` usable as an error_code.
[[nodiscard]] SHUNT_EXPORT error_code make_error_code(errc e) noexcept;
[[nodiscard]] SHUNT_EXPORT error_condition make_error_condition(outcome o) noexcept;
[[nodiscard]] SHUNT_EXPORT const boost::system::error_category& send_category() noexcept;

/// The error of a send as code and outcome in one: `errc` and what it means here (cancelled and connection_lost can
/// mean not_sent or unknown).
[[nodiscard]] SHUNT_EXPORT error_code make_send_error(errc e, outcome o) noexcept;
/// The outcome that an error of send_category stands for; success is `stored`.
[[nodiscard]] SHUNT_EXPORT outcome outcome_of(const error_code& ec) noexcept;

/// Building a producer failed: all that is wrong, ready to be printed, one problem a line.
struct setup_error {
    std::string text;
};

template <typename T>
using result = boost::system::result<T>;

}  // namespace shunt

namespace boost::system {
template <>
struct is_error_code_enum<shunt::errc> : std::true_type {};
template <>
struct is_error_condition_enum<shunt::outcome> : std::true_type {};
}  // namespace boost::system
