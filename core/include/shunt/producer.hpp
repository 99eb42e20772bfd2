// The producer: sends messages to the queues that policies choose.

#pragma once

#include <shunt/detail/completion.hpp>
#include <shunt/detail/export.hpp>
#include <shunt/error.hpp>
#include <shunt/message.hpp>
#include <shunt/options.hpp>
#include <shunt/receipt.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

/// Counts since the start. All of them only grow, but for the gauges at the end. `connections_lost`: of those that were up,
/// by the peer's doing or because it stopped answering; not those the producer closes because it needs them no more.
class counters {
public:
    std::uint64_t sends = 0, stored = 0, not_sent = 0, unknown = 0, rejected = 0;
    std::uint64_t attempts = 0, decisions = 0, plugin_errors = 0, selector_abstained = 0;
    std::uint64_t late_answers = 0, bad_frames = 0, connects = 0, connects_failed = 0, connections_lost = 0;
    std::uint64_t route_queries = 0, route_changes = 0, heartbeats = 0, writes = 0, bytes_written = 0;
    std::uint64_t callbacks_threw = 0;
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

    /// The route of a topic, asked for if it is not known. Blocks up to `timeout`.
    [[nodiscard]] SHUNT_EXPORT result<route_info> route(const std::string& topic,
                                                        std::chrono::milliseconds timeout = std::chrono::seconds(3));

    /// Refuses new sends, lets those under way end, at the latest after `deadline`; what is not over then completes with
    /// errc::cancelled. Says goodbye to the brokers, ends the threads. Idempotent; from any thread but a handler's, where
    /// it starts the closing and returns at once. True: everything under way ended by itself.
    SHUNT_EXPORT bool close(std::chrono::milliseconds deadline = std::chrono::seconds(3));

    [[nodiscard]] SHUNT_EXPORT shunt::counters counters() const;
    /// The executor the producer's I/O runs on. A handler bound to it runs on the I/O thread and must not block.
    [[nodiscard]] SHUNT_EXPORT executor_type get_executor() const;
    /// Generation of the policy table in force, from 1.
    [[nodiscard]] SHUNT_EXPORT std::uint64_t generation() const noexcept;
    /// The name server's address of the embedded cluster, or of the first name server.
    [[nodiscard]] SHUNT_EXPORT std::string name_server() const;

private:
    SHUNT_EXPORT explicit producer(std::shared_ptr<client::core> core);
    SHUNT_EXPORT static void start(const std::shared_ptr<client::core>& core, bool oneway, message&& m, send_options&& options,
                                   detail::completion&& done);

    template <typename CompletionToken>
    auto initiate(bool oneway, message m, send_options options, CompletionToken&& token)
    {
        return boost::asio::async_initiate<CompletionToken, void(error_code, receipt)>(
            [core = core_, oneway](auto handler, message msg, send_options opts) {
                start(core, oneway, std::move(msg), std::move(opts), detail::completion(std::move(handler)));
            },
            token, std::move(m), std::move(options));
    }

    std::shared_ptr<client::core> core_;
};

}  // namespace shunt
