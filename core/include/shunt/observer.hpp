// Watching sends: spans, audits, statistics. RocketMQ's own message trace (producer_options::trace) is one of these.

#pragma once

#include <shunt/message.hpp>
#include <shunt/receipt.hpp>
#include <shunt/transaction.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shunt {

enum class send_kind : std::uint8_t { normal, oneway, delayed, half, batch, reply };

/// What is told lives as long as the call.
struct observed_attempt {
    const shunt::message& message;  ///< of a batch: what stands for it, see observed_send
    const shunt::attempt& attempt;
    std::size_t number = 1;    ///< 1 is the first
    std::string_view address;  ///< "host:port" of the broker
};

struct observed_send {
    const shunt::message& message;  ///< as it went, properties that observers added included; of a batch: topic and order key only
    const shunt::receipt& receipt;
    send_kind kind = send_kind::normal;
    std::vector<std::string_view> msg_ids;  ///< one; of a batch those of its messages; none if it was refused before it got one
    std::size_t body_bytes = 0;             ///< as they went: compressed, of a batch all of it
    std::string_view address;               ///< "host:port" of the last attempt's broker; empty: no attempt
    std::string_view region;                ///< what the broker says of itself; empty: nothing
    bool broker_traces = true;              ///< false: the broker asks not to trace this

    observed_send(const shunt::message& m, const shunt::receipt& r) : message(m), receipt(r) {}
};

struct observed_end {
    std::string_view topic;
    std::string_view msg_id;   ///< of the half message, and the transaction's id
    std::string_view tag, keys;
    std::string_view address;  ///< "host:port" of the broker
    transaction_end end = transaction_end::unknown;
    bool by_check = false;     ///< the broker had asked
    bool confirmed = false;    ///< the broker answered that it heard
};

/// Told of every send of a producer (producer_options::observers), besides the producer's own ones of trace records.
///
/// Each call is made once and in this order: before(), attempted() for each attempt, after(). For a batch, before() is called
/// with each of its messages and after() once for all.
///
/// before() runs in the thread that sends; attempted() and after() in the producer's I/O thread, after() of a send that was
/// refused before the wire in either. Calls may come from several threads at once. They hold up sends for as long as they
/// take and must not send with the same producer but by its async calls. What a call throws is counted
/// (counters::callbacks_threw) and logged, and the send goes on.
class send_observer {
public:
    virtual ~send_observer() = default;
    /// Before anything is checked. It may change the message: properties it sets travel with it, such as a "traceparent".
    virtual void before(message&) {}
    virtual void attempted(const observed_attempt&) {}
    virtual void after(const observed_send&) {}
    /// A transaction was ended. From any of the producer's threads, or the one that sends.
    virtual void ended(const observed_end&) {}

protected:
    send_observer() = default;
    send_observer(const send_observer&) = default;
    send_observer& operator=(const send_observer&) = default;
};

}  // namespace shunt
