// Sending as users of Spring's RocketMQTemplate know it: to a destination "topic:tag", with payloads of any type that is
// converted, and with time-out and delay level as arguments. Everything goes through a producer.

#pragma once

#include <shunt/detail/export.hpp>
#include <shunt/producer.hpp>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/json/fwd.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shunt {

/// The queue that Java's SelectMessageQueueByHash takes for the message's order key: abs(hashCode % queues).
[[nodiscard]] SHUNT_EXPORT selector_function select_by_hash();

/// How a payload of a type becomes a message's body: specialize it for a type of your own, with
///     static std::string to_body(const T& payload);
/// Text, bytes (contiguous std::byte or unsigned char) and Boost.JSON's value, object and array are known; of those only
/// JSON needs its library.
template <typename T>
struct payload_converter;

namespace detail {

template <typename T>
concept text_payload = std::convertible_to<const T&, std::string_view> && !std::is_pointer_v<T>;
template <typename T>
concept byte_payload = requires(const T& t) { std::as_bytes(std::span(t)); } && !text_payload<T> && !std::is_pointer_v<T> &&
    sizeof(*std::data(std::declval<const T&>())) == 1;
template <typename T>
concept json_payload = std::same_as<T, boost::json::value> || std::same_as<T, boost::json::object> || std::same_as<T, boost::json::array>;
template <typename T>
concept maybe_payload = requires(const T& t) { static_cast<bool>(t); *t; } && !std::convertible_to<const T&, std::string_view> &&
    !std::is_array_v<T>;

}  // namespace detail

template <detail::text_payload T>
struct payload_converter<T> {
    static std::string to_body(const T& text) { return std::string(std::string_view(text)); }
};
template <detail::byte_payload T>
struct payload_converter<T> {
    static std::string to_body(const T& bytes)
    {
        const auto all = std::as_bytes(std::span(bytes));
        return {reinterpret_cast<const char*>(all.data()), all.size()};
    }
};
template <detail::json_payload T>
struct payload_converter<T> {
    static std::string to_body(const T& json) { return serialize(json); }
};

namespace detail {

/// A message with this payload and nothing else; none: the payload is absent. A message is a payload too: what is set in it
/// stays, but for topic and tag.
template <typename P>
[[nodiscard]] std::optional<message> message_of(const P& payload)
{
    if constexpr (std::same_as<P, std::nullptr_t> || std::same_as<P, std::nullopt_t>) {
        return std::nullopt;
    } else if constexpr (std::same_as<P, message>) {
        return payload.body().empty() ? std::nullopt : std::optional(payload);
    } else if constexpr (std::same_as<std::remove_cv_t<P>, const char*> || std::same_as<std::remove_cv_t<P>, char*>) {
        return payload == nullptr ? std::nullopt : std::optional(message({}, std::string(payload)));
    } else if constexpr (maybe_payload<P>) {
        return payload ? message_of(*payload) : std::nullopt;
    } else {
        return message({}, payload_converter<P>::to_body(payload));
    }
}
template <std::size_t N>
[[nodiscard]] std::optional<message> message_of(const char (&text)[N])
{
    return message({}, std::string(static_cast<const char*>(text)));
}

}  // namespace detail

/// A payload with more than a body: `with_payload(order).add_key("7").set_property("city", "Basel")`. An absent payload stays
/// absent.
template <typename P>
[[nodiscard]] message with_payload(const P& payload)
{
    return detail::message_of(payload).value_or(message());
}

/// A thin layer over a producer, which must outlive it; as thread-safe as that is.
///
/// A destination is "topic", or "topic:tag". A payload is anything with a payload_converter, a message, or a pointer to or an
/// optional of one; where there is none, errc::absent_payload is the answer before anything else is looked at. The reason in
/// every receipt that is not `stored` begins with the destination. `timeout` 0: the producer's.
class message_template {
public:
    using milliseconds = std::chrono::milliseconds;

    /// `orderly_policy`: the policy that the ..._orderly functions use. Empty: select_by_hash() chooses the queue, as in Java;
    /// where the topic's own policy says `ordered`, its lanes keep the order through retries too.
    explicit message_template(producer& sender, std::string orderly_policy = {})
        : producer_(&sender), orderly_policy_(std::move(orderly_policy))
    {
    }

    template <typename P>
    [[nodiscard]] receipt sync_send(std::string_view destination, const P& payload, milliseconds timeout = {}, int delay_level = 0)
    {
        return finished(made(destination, payload, delay_level), with(timeout));
    }
    /// Messages of one hash key go to one queue.
    template <typename P>
    [[nodiscard]] receipt sync_send_orderly(std::string_view destination, const P& payload, std::string hash_key,
                                            milliseconds timeout = {}, int delay_level = 0)
    {
        return finished(keyed(made(destination, payload, delay_level), std::move(hash_key)), orderly(timeout));
    }
    /// Delivered so long after it was stored; see message::set_delay.
    template <typename P>
    [[nodiscard]] receipt sync_send_delayed(std::string_view destination, const P& payload, milliseconds delay, milliseconds timeout = {})
    {
        attempt_at a = made(destination, payload, 0);
        a.what.set_delay(delay);
        return finished(std::move(a), with(timeout));
    }
    /// Delivered at a time; see message::set_deliver_at.
    template <typename P>
    [[nodiscard]] receipt sync_send_deliver_at(std::string_view destination, const P& payload, std::chrono::system_clock::time_point time,
                                               milliseconds timeout = {})
    {
        attempt_at a = made(destination, payload, 0);
        a.what.set_deliver_at(time);
        return finished(std::move(a), with(timeout));
    }
    /// All in one batch, as producer::deliver_batch. `payloads`: any range. One that is absent refuses them all.
    template <typename Range>
    [[nodiscard]] batch_receipt sync_send_batch(std::string_view destination, const Range& payloads, milliseconds timeout = {})
    {
        std::vector<message> list;
        std::optional<receipt> refused;
        for (const auto& payload : payloads) {
            attempt_at a = made(destination, payload, 0);
            if (a.wrong && (!refused || (refused->error != errc::absent_payload && *a.wrong == errc::absent_payload))) {
                refused = a.refused();
                refused->reason += "; it is number " + std::to_string(list.size()) + " of the batch, from 0";
            }
            list.push_back(std::move(a.what));
        }
        if (refused) {
            batch_receipt none;
            none.send = *std::move(refused);
            return none;
        }
        batch_receipt r = producer_->deliver_batch(std::move(list), with(timeout));
        name(r.send, destination);
        return r;
    }

    /// Completion: void(error_code, receipt), as producer::async_send: a callback, a future, a coroutine.
    template <typename P, typename CompletionToken>
    auto async_send(std::string_view destination, const P& payload, CompletionToken&& token, milliseconds timeout = {}, int delay_level = 0)
    {
        return initiated(made(destination, payload, delay_level), with(timeout), std::forward<CompletionToken>(token));
    }
    template <typename P, typename CompletionToken>
    auto async_send_orderly(std::string_view destination, const P& payload, std::string hash_key, CompletionToken&& token,
                            milliseconds timeout = {}, int delay_level = 0)
    {
        return initiated(keyed(made(destination, payload, delay_level), std::move(hash_key)), orderly(timeout),
                         std::forward<CompletionToken>(token));
    }

    /// Ends `unknown` when it was written: nobody answers.
    template <typename P>
    receipt send_one_way(std::string_view destination, const P& payload)
    {
        return finished_one_way(made(destination, payload, 0), {});
    }
    template <typename P>
    receipt send_one_way_orderly(std::string_view destination, const P& payload, std::string hash_key)
    {
        return finished_one_way(keyed(made(destination, payload, 0), std::move(hash_key)), orderly({}));
    }

    /// See producer::send_transaction and producer::answer_checks.
    template <typename P>
    [[nodiscard]] transaction_receipt send_message_in_transaction(std::string_view destination, const P& payload,
                                                                  const transaction_branch& branch, milliseconds timeout = {})
    {
        attempt_at a = made(destination, payload, 0);
        transaction_receipt t;
        if (a.wrong) {
            t.half = a.refused();
            t.reason = t.half.reason;
            return t;
        }
        t = producer_->send_transaction(std::move(a.what), branch, with(timeout));
        name(t.half, destination);
        if (!t.reason.empty())
            t.reason = in_front(destination) + t.reason;
        return t;
    }
    /// Sends, and waits for the reply of whoever consumes it; see producer::request.
    template <typename P>
    [[nodiscard]] reply_receipt send_and_receive(std::string_view destination, const P& payload, milliseconds timeout = {})
    {
        attempt_at a = made(destination, payload, 0);
        reply_receipt r;
        if (a.wrong) {
            r.send = a.refused();
            r.error = r.send.error;
            r.reason = r.send.reason;
            return r;
        }
        r = producer_->request(std::move(a.what), with(timeout));
        name(r.send, destination);
        if (r.error)
            r.reason = in_front(destination) + (r.reason.empty() ? r.error.message() : r.reason);
        return r;
    }

    [[nodiscard]] producer& sender() const noexcept { return *producer_; }

private:
    /// What is to be sent, or why it will not be.
    struct attempt_at {
        std::string destination;
        message what;
        std::optional<errc> wrong;
        std::string reason;

        [[nodiscard]] receipt refused() const
        {
            receipt r;
            r.error = make_send_error(*wrong, outcome::not_sent);
            r.reason = in_front(destination) + reason;
            return r;
        }
    };

    template <typename P>
    static attempt_at made(std::string_view destination, const P& payload, int delay_level)
    {
        attempt_at a;
        a.destination = destination;
        auto found = detail::message_of(payload);
        const std::size_t colon = destination.find(':');
        if (!found) {
            a.wrong = errc::absent_payload;
            a.reason = "the payload is absent; there must be something to send";
        } else if (colon == 0 || destination.empty()) {
            a.wrong = errc::invalid_topic;
            a.reason = "it names no topic; write \"topic\" or \"topic:tag\"";
        } else if (colon + 1 == destination.size()) {
            a.wrong = errc::invalid_topic;
            a.reason = "no tag follows the colon; without a tag it is \"" + std::string(destination.substr(0, colon)) + "\"";
        } else {
            a.what = *std::move(found);
            a.what.set_topic(std::string(destination.substr(0, colon)));
            if (colon != destination.npos)
                a.what.set_tag(std::string(destination.substr(colon + 1)));
            if (delay_level != 0)
                a.what.set_delay_level(delay_level);
        }
        return a;
    }
    static attempt_at keyed(attempt_at a, std::string hash_key)
    {
        a.what.set_order_key(std::move(hash_key));
        return a;
    }
    static send_options with(milliseconds timeout)
    {
        send_options options;
        options.timeout = timeout;
        return options;
    }
    [[nodiscard]] send_options orderly(milliseconds timeout) const
    {
        send_options options = with(timeout);
        if (orderly_policy_.empty())
            options.select = select_by_hash();
        else
            options.policy = orderly_policy_;
        return options;
    }
    static std::string in_front(std::string_view destination) { return "destination \"" + std::string(destination) + "\": "; }
    static void name(receipt& r, std::string_view destination)
    {
        if (r.error)
            r.reason = in_front(destination) + (r.reason.empty() ? r.error.message() : r.reason);
    }

    [[nodiscard]] receipt finished(attempt_at a, send_options options)
    {
        if (a.wrong)
            return a.refused();
        receipt r = producer_->deliver(std::move(a.what), std::move(options));
        name(r, a.destination);
        return r;
    }
    [[nodiscard]] receipt finished_one_way(attempt_at a, send_options options)
    {
        if (a.wrong)
            return a.refused();
        receipt r = producer_->deliver_oneway(std::move(a.what), std::move(options));
        name(r, a.destination);
        return r;
    }
    template <typename CompletionToken>
    auto initiated(attempt_at a, send_options options, CompletionToken&& token)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, receipt)>(
            [to = producer_](auto handler, attempt_at what, send_options opts) {
                const auto executor = boost::asio::get_associated_executor(handler);
                // What is refused here has no topic, and so ends at once; its words are put in the place of the producer's.
                message m = std::move(what.what);
                to->async_send(std::move(m), std::move(opts),
                               boost::asio::bind_executor(
                                   executor, [h = std::move(handler), about = std::move(what)](const error_code&, receipt r) mutable {
                                       if (about.wrong)
                                           r = about.refused();
                                       else
                                           name(r, about.destination);
                                       const error_code ec = r.error;
                                       std::move(h)(ec, std::move(r));
                                   }));
            },
            token, std::move(a), std::move(options));
    }

    producer* producer_;
    std::string orderly_policy_;
};

}  // namespace shunt
