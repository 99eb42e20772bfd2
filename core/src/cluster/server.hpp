// Serves frames over TCP for one service: one listening port, its connections, answers gathered into few writes.
//
// Everything here runs on the io_context's one thread. The guard is held while the service is called.

#pragma once

#include <cluster/service.hpp>
#include <tls/session.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace shunt::cluster {

/// Guards what the services know against readers on other threads, and tells them when something happened.
struct guard {
    std::mutex mutex;
    std::condition_variable happened;
    std::uint64_t events = 0;
    int waiting = 0;

    /// With the mutex held.
    void tell() noexcept
    {
        ++events;
        if (waiting != 0)
            happened.notify_all();
    }
};

class server {
public:
    using tcp = boost::asio::ip::tcp;

    server(boost::asio::io_context& io, service& handler, guard& state);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Listens at `at` (port 0: a free one). Connections to where it listened before are closed, and that port is kept.
    /// An error leaves everything as it was.
    [[nodiscard]] boost::system::error_code listen(const tcp::endpoint& at);
    /// Closes all connections and refuses new ones, but keeps the port, so that no other program can take it.
    [[nodiscard]] boost::system::error_code refuse();
    [[nodiscard]] bool listening() const noexcept { return listening_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return endpoint_.port(); }
    void close() noexcept;
    /// True: nothing is read any more from any connection, those that come included, until false.
    void stall(bool on);

    struct security {
        std::shared_ptr<tls::context> context;  ///< null: connections are plain
        bool enforced = true;                   ///< plain ones are closed
    };
    security secured;  ///< of connections that come from now on

private:
    class connection;
    struct late_answer {
        std::weak_ptr<peer> to;
        std::string bytes;
        ending then = ending::none;
    };

    [[nodiscard]] boost::system::error_code keep_port();
    void accept();
    void close_connections() noexcept;
    void later(std::chrono::steady_clock::time_point due, late_answer answer);
    void arm();

    boost::asio::io_context& io_;
    service& handler_;
    guard& state_;
    tcp::acceptor acceptor_;
    tcp::endpoint endpoint_;
    bool listening_ = false;
    bool stalled_ = false;
    std::map<tcp::endpoint, tcp::acceptor> kept_;  ///< ports of ours where nobody listens: bound, so that they stay ours
    std::set<std::shared_ptr<connection>> connections_;
    std::multimap<std::chrono::steady_clock::time_point, late_answer> late_;
    boost::asio::steady_timer timer_;
    std::optional<std::chrono::steady_clock::time_point> armed_;
};

}  // namespace shunt::cluster
