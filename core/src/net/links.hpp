// The connections of one producer, by address, and what they share: clock, timers, resolver, counters.

#pragma once

#include <net/connection.hpp>
#include <net/resolver.hpp>
#include <net/timer_wheel.hpp>
#include <wire/sign.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::net {

[[nodiscard]] inline std::int64_t monotonic_ns() noexcept
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct link_counters {
    std::atomic<std::uint64_t> late_answers{0}, bad_frames{0}, connects{0}, connects_failed{0}, connections_lost{0}, writes{0},
        bytes_written{0}, connections{0}, tls_handshakes{0}, tls_resumed{0};
};

/// All on one executor, one call at a time (a strand, or an io_context with one thread).
class links {
public:
    links(boost::asio::any_io_executor executor, std::chrono::milliseconds connect_timeout);
    ~links();
    links(const links&) = delete;
    links& operator=(const links&) = delete;

    [[nodiscard]] const boost::asio::any_io_executor& executor() const noexcept { return executor_; }
    [[nodiscard]] std::chrono::milliseconds connect_timeout() const noexcept { return connect_timeout_; }
    [[nodiscard]] link_counters& counts() noexcept { return counts_; }
    [[nodiscard]] resolver& names() noexcept { return names_; }

    /// The connection to `address` ("host:port"), made if there is none; it need not be up.
    connection& to(const std::string& address);
    [[nodiscard]] connection* find(const std::string& address) noexcept;
    /// Remembers that `c` has something to write; flush_all() writes.
    void dirty(connection& c);
    void flush_all();

    /// Times as of this turn of the loop; refresh() reads the clocks.
    [[nodiscard]] std::int64_t now_ns() const noexcept { return now_ns_; }
    [[nodiscard]] std::int64_t wall_ms() const noexcept { return wall_ms_; }
    std::int64_t refresh() noexcept;
    void set_timer(timer_hook& hook, std::int64_t deadline_ns);
    void clear_timer(timer_hook& hook) noexcept { wheel_.clear(hook); }

    /// Fields that every question tells besides its own. Views of what outlives the links.
    std::vector<wire::field> extra;
    /// Signs every request; null: they go unsigned. May be exchanged between two turns.
    std::unique_ptr<wire::signer> signer;
    /// Of connections that are made from now on; null: they are plain.
    std::shared_ptr<tls::context> certificates;
    /// Whoever owns the links; handlers that are still to run keep it alive.
    std::weak_ptr<void> lifetime;
    /// A connection came up, or ended (why).
    std::function<void(connection&)> on_up;
    std::function<void(const std::string& address, std::string_view why)> on_down;
    /// Called after all answers of one read, and after timers: the moment to go on with what they began.
    std::function<void()> on_turn;
    /// A request of the peer's own (transaction check, ...). True: handled.
    std::function<bool(connection&, const wire::command&, std::string_view body)> on_request;
    /// One line for the log.
    std::function<void(std::string_view)> on_warning;

    /// Closes the connection to `address`, now; what is under way fails with `text`.
    void drop(const std::string& address, std::string_view text);
    void close_all(std::string_view text);
    /// What is to be ended with the links: called once by close_all(), unless taken back with the number.
    [[nodiscard]] std::uint64_t at_close(std::function<void()> end);
    void not_at_close(std::uint64_t number) { at_close_.erase(number); }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] std::size_t size() const noexcept { return by_address_.size(); }
    /// Addresses of all connections that are up.
    [[nodiscard]] std::vector<std::string> up() const;

private:
    friend class connection;
    void forget(connection& c);  // it is retired or gone: a new one is made when needed
    void turn();
    void arm();
    void timer_fired();

    boost::asio::any_io_executor executor_;
    std::chrono::milliseconds connect_timeout_;
    link_counters counts_;
    resolver names_;
    std::int64_t now_ns_ = 0, wall_ms_ = 0;
    timer_wheel wheel_;
    handler_memory<192, 4> timer_memory_;  // an old wait may still be on its way when the next begins
    boost::asio::steady_timer timer_;
    std::int64_t armed_for_ns_ = INT64_MAX;
    bool advancing_ = false;
    bool closed_ = false;
    std::map<std::string, std::shared_ptr<connection>, std::less<>> by_address_;
    std::vector<std::shared_ptr<connection>> retired_;
    std::vector<std::shared_ptr<connection>> dirty_, spare_;  // spare: empty, for its memory
    std::map<std::uint64_t, std::function<void()>> at_close_;
    std::uint64_t next_at_close_ = 0;
};

}  // namespace shunt::net
