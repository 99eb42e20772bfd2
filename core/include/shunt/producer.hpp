// The producer: sends messages to the queues that policies choose.

#pragma once

#include <shunt/admin.hpp>
#include <shunt/batch.hpp>
#include <shunt/detail/completion.hpp>
#include <shunt/detail/export.hpp>
#include <shunt/error.hpp>
#include <shunt/message.hpp>
#include <shunt/options.hpp>
#include <shunt/receipt.hpp>
#include <shunt/request.hpp>
#include <shunt/room.hpp>
#include <shunt/swap.hpp>
#include <shunt/transaction.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/system_executor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shunt {

namespace client {
class core;
}

/// One queue, as a selector function sees it.
class queue_ref {
public:
    std::string_view broker;
    std::int32_t id = 0;
    bool available = true;  ///< as the policy's fault strategy judges its broker

    queue_ref() = default;
    queue_ref(std::string_view b, std::int32_t i, bool ok = true) : broker(b), id(i), available(ok) {}
};

/// Chooses a queue in-process: an index into `queues` (sorted by broker name, then id; never empty). Called once an
/// attempt, on the thread that decides it; must not block. A throw or an index out of range ends the send `not_sent`
/// with errc::selector_failed.
using selector_function = std::function<std::size_t(std::span<const queue_ref> queues, const message&, std::uint32_t attempt)>;

/// How one send differs from the producer's options.
class send_options {
public:
    std::string policy;                               ///< by name; empty: the binding of the topic decides
    std::optional<std::pair<std::string, int>> queue; ///< broker name, queue id: every attempt goes there
    selector_function select;                         ///< instead of the policy's selector
    std::chrono::milliseconds timeout{0};             ///< 0: the producer's
    std::uint32_t attempts = 0;                       ///< 0: the producer's

    send_options() = default;
};

/// Counts since the start. All of them only grow, but for the gauges at the end. A batch made by hand counts as one send.
/// `connections_lost`: of those that were up, by the peer's doing or because it stopped answering; not those the producer
/// closes because it needs them no more.
class counters {
public:
    std::uint64_t sends = 0, stored = 0, not_sent = 0, unknown = 0, rejected = 0;
    std::uint64_t attempts = 0, decisions = 0, plugin_errors = 0, selector_abstained = 0;
    std::uint64_t late_answers = 0, bad_frames = 0, connects = 0, connects_failed = 0, connections_lost = 0;
    std::uint64_t tls_handshakes = 0, tls_resumed = 0;  ///< of connections; of these, taken up from an earlier one
    std::uint64_t route_queries = 0, route_changes = 0, heartbeats = 0, writes = 0, bytes_written = 0;
    std::uint64_t callbacks_threw = 0;   // observers too
    std::uint64_t trace_dropped = 0;     // trace records that reached no broker
    std::uint64_t in_flight_messages = 0, in_flight_bytes = 0, lanes = 0, connections = 0;  // gauges
    std::string last_plugin_error;  ///< which policy's strategy failed last, and what it said; empty: none did
    std::string route_error;        ///< what is in the way of a route that sends wait for; empty: nothing, or none waits
    std::string record_error;       ///< after close(): why producer_options::record was not written; empty: it was, or is not set

    counters() = default;
};

/// A topic's route as the producer knows it.
class route_info {
public:
    class broker {
    public:
        std::string name, cluster;
        std::vector<std::pair<std::int64_t, std::string>> addresses;  ///< by broker id; 0 is the master
        std::int32_t perm = 0, read_queues = 0, write_queues = 0;
        broker() = default;
    };
    std::string topic;
    bool ordered = false;
    std::vector<std::pair<std::string, std::int32_t>> publish, subscribe;  ///< broker name, queue id
    std::vector<broker> brokers;
    std::chrono::milliseconds age{0};

    route_info() = default;
};

/// Sends messages. Thread-safe: any function from any thread at once, but for move and destruction.
///
/// Owns one I/O thread, or works on the executor it is given (which must be run by somebody, and keep running until
/// close() has ended). One more thread is started by the first async send whose handler has no executor of its own:
/// such handlers run there, so that a slow one never holds up the network.
class producer {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Checks everything, loads the plugins and starts. No name server is asked yet. Errors: everything that is wrong.
    [[nodiscard]] SHUNT_EXPORT static boost::system::result<producer, setup_error> create(producer_options options);
    [[nodiscard]] SHUNT_EXPORT static boost::system::result<producer, setup_error> create(producer_options options, executor_type executor);
    /// The same, from a file.
    [[nodiscard]] SHUNT_EXPORT static boost::system::result<producer, setup_error> open(const std::string& file);
    [[nodiscard]] SHUNT_EXPORT static boost::system::result<producer, setup_error> open(const std::string& file, executor_type executor);

    SHUNT_EXPORT producer(producer&&) noexcept;
    SHUNT_EXPORT producer& operator=(producer&&) noexcept;
    /// Closes with a deadline of 3 s if close() was not called.
    SHUNT_EXPORT ~producer();

    /// Sends and waits for the end of the send; returns by its timeout + 100 ms at the latest. The error tells the
    /// outcome: `ec == outcome::not_sent`. On the producer's own I/O thread: errc::would_deadlock.
    [[nodiscard]] SHUNT_EXPORT result<receipt> send(message m, send_options options = {});
    /// As send(), but hands the receipt over in every case: its `error` and `outcome` say how it went.
    [[nodiscard]] SHUNT_EXPORT receipt deliver(message m, send_options options = {});
    /// Hands the message to the socket; no broker answers. Outcome unknown when written, not_sent when it could not be.
    [[nodiscard]] SHUNT_EXPORT result<receipt> send_oneway(message m, send_options options = {});
    [[nodiscard]] SHUNT_EXPORT receipt deliver_oneway(message m, send_options options = {});

    /// Sends. Completion: void(error_code, receipt), exactly once for every call, close() included. The handler runs on
    /// its associated executor; with none, on the producer's callback thread, where a throw is caught and counted.
    /// Per-operation cancellation is not offered: a send that has begun ends by its timeout.
    template <typename CompletionToken>
    auto async_send(message m, send_options options, CompletionToken&& token)
    {
        return initiate(false, std::move(m), std::move(options), std::forward<CompletionToken>(token));
    }
    template <typename CompletionToken>
    auto async_send(message m, CompletionToken&& token)
    {
        return initiate(false, std::move(m), send_options{}, std::forward<CompletionToken>(token));
    }
    template <typename CompletionToken>
    auto async_send_oneway(message m, send_options options, CompletionToken&& token)
    {
        return initiate(true, std::move(m), std::move(options), std::forward<CompletionToken>(token));
    }

    /// Waits for room in the limits of what may be in flight, for one message of `topic` with a body of `body` bytes, and takes
    /// it: the send that it is handed to neither waits nor is refused as `full`. Those that wait, sends and these, are served in
    /// order of arrival, whatever when_full says. `timeout` 0: the producer's send_timeout; it is not the send's.
    /// Completion: void(error_code, room), exactly once. errc::expired_waiting: the timeout came first; larger_than_limit: there
    /// never will be so much; closed, cancelled: the producer closed; boost::asio::error::operation_aborted: cancelled by the
    /// handler's cancellation slot, of whatever type.
    template <typename CompletionToken>
    auto async_room(std::string topic, std::size_t body, std::chrono::milliseconds timeout, CompletionToken&& token)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, room)>(
            [core = core_](auto handler, std::string name, std::size_t bytes, std::chrono::milliseconds limit) {
                const auto executor = boost::asio::get_associated_executor(handler);
                auto slot = boost::asio::get_associated_cancellation_slot(handler);
                auto held = make_room(core);
                if (slot.is_connected())
                    slot.assign([held](boost::asio::cancellation_type) { cancel_room(held); });
                start_room(core, std::move(name), bytes, limit, held,
                           detail::completion(boost::asio::bind_executor(
                               executor, [h = std::move(handler), held, slot](const error_code& ec, const receipt&) mutable {
                                   if (slot.is_connected())
                                       slot.clear();
                                   std::move(h)(ec, ec.failed() ? room() : room(std::move(held)));
                               })));
            },
            token, std::move(topic), body, timeout);
    }
    /// As async_send(), in room that was waited for. A message that is larger, or of a topic with other limits, gives it back
    /// and goes the way of any other.
    template <typename CompletionToken>
    auto async_send(room place, message m, send_options options, CompletionToken&& token)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, receipt)>(
            [core = core_](auto handler, std::shared_ptr<client::held_room> held, auto&& msg, auto&& opts) {
                start_in_room(core, std::move(held), detail::taken(std::forward<decltype(msg)>(msg)),
                              detail::taken(std::forward<decltype(opts)>(opts)), detail::completion(std::move(handler)));
            },
            token, std::move(place.held_), std::move(m), std::move(options));
    }

    /// Sends messages as one batch: of one topic, one order key, one wait_store, without delays and priorities. What would
    /// be larger than max_body is refused whole; send_options are the batch's. Batches are not compressed. Strategies see
    /// the batch, with the order key as its key and without the properties of its messages.
    [[nodiscard]] SHUNT_EXPORT result<batch_receipt> send_batch(std::vector<message> messages, send_options options = {});
    /// As send_batch(), but hands the receipt over in every case.
    [[nodiscard]] SHUNT_EXPORT batch_receipt deliver_batch(std::vector<message> messages, send_options options = {});
    /// As many batches as it takes, one after another, each with its receipt. Messages that cannot be batched: one
    /// receipt says which is the first of them, and nothing is sent.
    [[nodiscard]] SHUNT_EXPORT std::vector<batch_receipt> deliver_batches(std::vector<message> messages, send_options options = {});
    /// Completion: void(error_code, batch_receipt), as with async_send.
    template <typename CompletionToken>
    auto async_send_batch(std::vector<message> messages, send_options options, CompletionToken&& token)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, batch_receipt)>(
            [core = core_](auto handler, std::vector<message> list, send_options opts) {
                auto parts = std::make_shared<detail::batch_parts>();
                const auto executor = boost::asio::get_associated_executor(handler);
                start_batch(core, std::move(list), std::move(opts), parts,
                            detail::completion(boost::asio::bind_executor(
                                executor, [h = std::move(handler), parts](const error_code& ec, receipt r) mutable {
                                    std::move(h)(ec, batch_receipt(std::move(r), *parts));
                                })));
            },
            token, std::move(messages), std::move(options));
    }

    /// Stores a half message, runs `branch` on this thread, then commits or rolls back as it says and has the broker confirm
    /// that. `options.timeout` is for the half message, and once more for its end. What was not confirmed, or is unknown,
    /// the broker asks about: see answer_checks(). A half message that is not stored with status ok is rolled back, and
    /// the branch does not run.
    [[nodiscard]] SHUNT_EXPORT transaction_receipt send_transaction(message m, const transaction_branch& branch, send_options options = {});
    /// Has brokers' questions about undecided half messages of this group answered by `checker`, in place of the one before;
    /// an empty function: no more. The brokers of `topics` are told of this producer, so that they ask it though it has
    /// sent nothing yet: a restarted program, or another one of the same group.
    SHUNT_EXPORT void answer_checks(const std::vector<std::string>& topics, transaction_checker checker);

    /// Sends a message and waits for whoever consumes it to reply; all in options.timeout. A reply that comes later, or a
    /// second one, is dropped. On the producer's own threads: errc::would_deadlock.
    [[nodiscard]] SHUNT_EXPORT reply_receipt request(message m, send_options options = {});
    /// Completion: void(error_code, reply_receipt), as with async_send.
    template <typename CompletionToken>
    auto async_request(message m, send_options options, CompletionToken&& token)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, reply_receipt)>(
            [core = core_](auto handler, message msg, send_options opts) {
                using executor = boost::asio::associated_executor_t<decltype(handler)>;
                constexpr bool unbound = std::is_same_v<executor, boost::asio::system_executor>;
                auto kept = std::make_shared<decltype(handler)>(std::move(handler));
                auto work = std::make_shared<boost::asio::executor_work_guard<executor>>(boost::asio::get_associated_executor(*kept));
                start_request(core, std::move(msg), std::move(opts), unbound, [kept, work](reply_receipt&& r) {
                    const auto call = [kept](reply_receipt&& got) {
                        const error_code ec = got.error;
                        std::move(*kept)(ec, std::move(got));
                    };
                    if constexpr (unbound)
                        call(std::move(r));
                    else
                        boost::asio::dispatch(work->get_executor(), [call, got = std::move(r)]() mutable { call(std::move(got)); });
                });
            },
            token, std::move(m), std::move(options));
    }
    /// Replies to a request that was consumed, by whatever consumer: `request` needs its properties CLUSTER, CORRELATION_ID
    /// and REPLY_TO_CLIENT, and its broker if that is known. The topic of `m` is not used.
    [[nodiscard]] SHUNT_EXPORT receipt reply(const stored_message& request, message m, send_options options = {});
    /// Answers the requests that come to `topic` from now on, each by `answer`, until the producer closes. For tests, tools
    /// and small services: it reads every queue, those that come later too, and every program that does so answers every request.
    SHUNT_EXPORT void answer_requests(const std::string& topic, request_answerer answer);

    /// The route of a topic, asked for if it is not known. Blocks up to `timeout`.
    [[nodiscard]] SHUNT_EXPORT result<route_info> route(const std::string& topic,
                                                        std::chrono::milliseconds timeout = std::chrono::seconds(3));

    // Questions. Each blocks up to `timeout`; on the producer's own I/O thread: errc::would_deadlock.

    /// Takes a message with a delay back before it is delivered, by the recall_handle of its receipt. What came back: its
    /// id. Brokers from 5.3.2 on with recallMessageEnable offer it; others answer no.
    [[nodiscard]] SHUNT_EXPORT asked<std::string> recall(const std::string& topic, const std::string& handle,
                                            std::chrono::milliseconds timeout = std::chrono::seconds(3));
    /// Creates a topic, or changes it to these settings. What came back: the brokers that have it now.
    [[nodiscard]] SHUNT_EXPORT asked<std::vector<std::string>> create_topic(const std::string& topic, const topic_settings& settings = {},
                                                               std::chrono::milliseconds timeout = std::chrono::seconds(3));
    /// The queue's first offset, and one past its last. An unknown queue's are 0, as brokers have it.
    [[nodiscard]] SHUNT_EXPORT asked<std::int64_t> min_offset(const std::string& topic, const std::string& broker, int queue,
                                                 std::chrono::milliseconds timeout = std::chrono::seconds(3));
    [[nodiscard]] SHUNT_EXPORT asked<std::int64_t> max_offset(const std::string& topic, const std::string& broker, int queue,
                                                 std::chrono::milliseconds timeout = std::chrono::seconds(3));
    /// Offset of the first message stored at `time` or later.
    [[nodiscard]] SHUNT_EXPORT asked<std::int64_t> offset_at(const std::string& topic, const std::string& broker, int queue,
                                                std::chrono::system_clock::time_point time,
                                                std::chrono::milliseconds timeout = std::chrono::seconds(3));
    /// A stored message by its id (msg_id of a receipt, or offset_msg_id). errc::not_found: there is none.
    [[nodiscard]] SHUNT_EXPORT asked<stored_message> view(const std::string& topic, const std::string& id,
                                             std::chrono::milliseconds timeout = std::chrono::seconds(3));
    /// Stored messages with this key among their keys, the oldest first; at most `most` from each broker. Brokers find
    /// a message by its key a moment after it was stored.
    [[nodiscard]] SHUNT_EXPORT asked<std::vector<stored_message>> query(const std::string& topic, const std::string& key, int most = 32,
                                                           std::chrono::milliseconds timeout = std::chrono::seconds(3));

    /// Refuses new sends, lets those under way end, at the latest after `deadline`; what is not over then completes with
    /// errc::cancelled. Says goodbye to the brokers, ends the threads. Idempotent; from any thread but a handler's, where
    /// it starts the closing and returns at once. True: everything under way ended by itself.
    SHUNT_EXPORT bool close(std::chrono::milliseconds deadline = std::chrono::seconds(3));

    /// Brings other policies, and whatever else can change while sends go on, into force; see swap.hpp. Returns at once:
    /// the handle tells how far it is. Whatever is wrong with `wanted` makes it `refused`, with every reason.
    [[nodiscard]] SHUNT_EXPORT swap_handle stage(producer_options wanted, stage_options how = {});
    /// The same, from a file. A file that cannot be read or is wrong: a swap that is `refused`.
    [[nodiscard]] SHUNT_EXPORT swap_handle stage_file(const std::string& file, stage_options how = {});
    /// Stages its own file as that stands now, as `watch = true` does when the file changes. For SIGHUP and the like: call
    /// it from a thread, not from a signal handler. A producer that was not made from a file: `refused`.
    SHUNT_EXPORT swap_handle reload(std::string who = "reload");
    /// The latest swaps, the oldest first; what the producer started with is swap 0.
    [[nodiscard]] SHUNT_EXPORT std::vector<swap_status> swaps() const;
    /// One of them; its id() is 0 and its status empty if it is not known (any more).
    [[nodiscard]] SHUNT_EXPORT swap_handle find_swap(std::uint64_t id) const;
    /// Puts the policies in force that were so before the present ones, under a new generation. Again: the other way.
    /// Empty: done; else why not.
    SHUNT_EXPORT std::string rollback(std::string reason = "asked for");
    /// Consumers have read what was sent so far: keys of ordered topics need not be quiet to move to their new queue.
    SHUNT_EXPORT std::string barrier();

    [[nodiscard]] SHUNT_EXPORT shunt::counters counters() const;
    /// The executor the producer's I/O runs on. A handler bound to it runs on the I/O thread and must not block.
    [[nodiscard]] SHUNT_EXPORT executor_type get_executor() const;
    /// Generation of the policy table in force, from 1.
    [[nodiscard]] SHUNT_EXPORT std::uint64_t generation() const noexcept;
    /// Where the admin endpoint listens, its port found: "unix:/run/app.sock"; empty: there is none (producer_options::admin).
    [[nodiscard]] SHUNT_EXPORT std::string admin_address() const;
    /// The name server's address of the embedded cluster, or of the first name server.
    [[nodiscard]] SHUNT_EXPORT std::string name_server() const;

private:
    SHUNT_EXPORT explicit producer(std::shared_ptr<client::core> core);
    SHUNT_EXPORT static void start(const std::shared_ptr<client::core>& core, bool oneway, message&& m, send_options&& options,
                                   detail::completion&& done);
    SHUNT_EXPORT static std::shared_ptr<client::held_room> make_room(const std::shared_ptr<client::core>& core);
    SHUNT_EXPORT static void start_room(const std::shared_ptr<client::core>& core, std::string&& topic, std::size_t body,
                                        std::chrono::milliseconds timeout, const std::shared_ptr<client::held_room>& held,
                                        detail::completion&& done);
    SHUNT_EXPORT static void cancel_room(const std::shared_ptr<client::held_room>& held);
    SHUNT_EXPORT static void start_in_room(const std::shared_ptr<client::core>& core, std::shared_ptr<client::held_room>&& held, message&& m,
                                           send_options&& options, detail::completion&& done);
    SHUNT_EXPORT static void start_batch(const std::shared_ptr<client::core>& core, std::vector<message>&& messages, send_options&& options,
                                         const std::shared_ptr<detail::batch_parts>& parts, detail::completion&& done);
    SHUNT_EXPORT static void start_request(const std::shared_ptr<client::core>& core, message&& m, send_options&& options,
                                           bool on_callback_thread, std::function<void(reply_receipt&&)> done);

    template <typename CompletionToken>
    auto initiate(bool oneway, message&& m, send_options&& options, CompletionToken&& token)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, receipt)>(
            [core = core_, oneway](auto handler, auto&& msg, auto&& opts) {
                start(core, oneway, detail::taken(std::forward<decltype(msg)>(msg)), detail::taken(std::forward<decltype(opts)>(opts)),
                      detail::completion(std::move(handler)));
            },
            token, std::move(m), std::move(options));
    }

    std::shared_ptr<client::core> core_;
};

}  // namespace shunt
