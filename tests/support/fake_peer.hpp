// A server that does what a script says: a broker or a name server that misbehaves in ways the embedded cluster does not.
//
// One thread takes connections, one more serves each of them, so a script may wait without holding up others.

#pragma once

#include <wire/command.hpp>
#include <wire/frame.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shunt::test {

/// One request as it came.
struct heard {
    int connection = 0;  ///< counts from 1
    std::int32_t code = 0, opaque = 0;
    bool oneway = false;
    std::map<std::string, std::string> fields;
    std::string body;

    [[nodiscard]] std::string field(const std::string& name) const;
    [[nodiscard]] bool is_send() const noexcept { return code == wire::code::send_message_v2; }
};

/// An answer's bytes.
[[nodiscard]] std::string answer_to(const heard& r, std::int32_t code, const std::map<std::string, std::string>& fields = {},
                                    std::string_view remark = {}, std::string_view body = {});
/// What a broker answers to a send that it stored in the queue that was asked for.
[[nodiscard]] std::string stored_answer(const heard& r, std::int64_t offset = 0);

class fake_peer {
public:
    /// One connection. Lives as long as the peer; may be used from any thread.
    class session {
    public:
        void write(std::string_view bytes);
        /// Writes byte by byte, each by itself.
        void trickle(std::string_view bytes, std::chrono::microseconds pause = {});
        /// No more bytes from us; the other side may go on.
        void half_close();
        void close();
        /// Closes so that the other side sees a reset.
        void reset();
        /// The script's answer takes time; ends early when the peer does.
        void pause(std::chrono::microseconds time);
        [[nodiscard]] int number() const noexcept { return number_; }

    private:
        friend class fake_peer;
        fake_peer* owner_ = nullptr;
        int number_ = 0;
        int fd_ = -1;
        std::mutex write_lock_;
        bool open_ = true;
    };
    using script = std::function<void(session&, const heard&)>;

    /// `on_request`: what to do with each request. `port` 0: any free one.
    explicit fake_peer(script on_request, std::uint16_t port = 0);
    ~fake_peer();
    fake_peer(const fake_peer&) = delete;
    fake_peer& operator=(const fake_peer&) = delete;

    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    /// From now on.
    void set(script on_request);
    /// Called for each new connection before anything is read; null: nothing.
    void on_connect(std::function<void(session&)> f);
    /// Accepts, but reads nothing any more (false: goes on). What the system's buffers take is still taken.
    void read_nothing(bool nothing);
    /// Closes the listening socket and all connections: later connects are refused.
    void refuse();

    [[nodiscard]] std::vector<heard> all() const;
    [[nodiscard]] std::vector<heard> sends() const;
    [[nodiscard]] std::size_t count(std::int32_t code) const;
    [[nodiscard]] int accepted() const;
    [[nodiscard]] int open() const;
    /// Waits until `holds` does; asks whenever something came in, connected or closed.
    [[nodiscard]] bool wait_until(const std::function<bool()>& holds, std::chrono::milliseconds limit) const;

private:
    void accept_loop();
    void serve(session& s);
    void changed();

    int listener_ = -1;
    std::uint16_t port_ = 0;
    mutable std::mutex lock_;
    mutable std::condition_variable happened_;
    script on_request_;
    std::function<void(session&)> on_connect_;
    bool stopping_ = false, read_nothing_ = false;
    int open_ = 0;
    std::vector<heard> heard_;
    std::vector<std::unique_ptr<session>> sessions_;
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

/// An address that swallows connects: its backlog is full and nobody accepts.
class black_hole {
public:
    black_hole();
    ~black_hole();
    black_hole(const black_hole&) = delete;
    black_hole& operator=(const black_hole&) = delete;
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

private:
    std::uint16_t port_ = 0;
    std::vector<int> fds_;
};

/// A port of loopback that nobody listens on.
[[nodiscard]] std::string dead_address();

/// A broker in a route of our own making.
struct routed {
    std::string name;
    std::string address;
    int queues = 4;
    int perm = 6;
};
/// The route as a name server writes it; `order_conf`: the text of an order configuration, if any.
[[nodiscard]] std::string route_json(const std::vector<routed>& brokers, std::string_view order_conf = {});

/// A name server whose routes a test sets: heard questions are answered from a table, others with 17.
class fake_name_server : public fake_peer {
public:
    explicit fake_name_server(std::map<std::string, std::string> routes = {});
    void set_route(const std::string& topic, std::string json);
    void forget(const std::string& topic);
    /// Before each answer.
    void set_latency(std::chrono::milliseconds d);

private:
    struct table {
        std::mutex lock;
        std::map<std::string, std::string> routes;
        std::chrono::milliseconds latency{0};
    };
    explicit fake_name_server(std::shared_ptr<table> t);
    std::shared_ptr<table> table_;
};

/// A script: stores every send, answers everything else with success.
[[nodiscard]] fake_peer::script well_behaved();
/// A script: answers sends with `code`, everything else with success.
[[nodiscard]] fake_peer::script answering(std::int32_t code, std::string remark = {});
/// A script: answers no send; everything else with success.
[[nodiscard]] fake_peer::script hanging();

}  // namespace shunt::test
