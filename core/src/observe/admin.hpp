// The admin endpoint: HTTP on a unix socket or a loopback port, on a thread of its own.
//
// Everything is bounded: connections, the time a request may take to arrive and an answer to be read, headers, bodies. When
// all places are taken, one goes: first of those that have said nothing, then of those that have begun to, then of those that
// were answered and may ask again, then of those that do not read their answer; of each kind whoever was longest at it. What
// is asked is answered by an admin_source, which must not block.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace shunt::observe {

struct admin_request {
    bool post = false;  ///< else GET
    std::string path;   ///< "/policies/3/promote"
    std::map<std::string, std::string, std::less<>> query;
    std::string body;

    /// Empty: it is not there.
    [[nodiscard]] std::string_view get(std::string_view name) const
    {
        const auto it = query.find(name);
        return it == query.end() ? std::string_view{} : std::string_view(it->second);
    }
};

struct admin_answer {
    unsigned status = 200;
    std::string type = "application/json";
    std::string body;
};

/// Calls that come later, on the endpoint's thread; none comes once the endpoint has stopped.
class admin_thread {
public:
    virtual ~admin_thread() = default;
    /// From any thread.
    virtual void after(std::chrono::milliseconds time, std::function<void()> call) = 0;
};

class admin_source {
public:
    virtual ~admin_source() = default;
    /// On the endpoint's thread. `then` is called once, at once or later, on any thread.
    virtual void answer(admin_request request, std::shared_ptr<admin_thread> thread, std::function<void(admin_answer)> then) = 0;
    /// Each few seconds, on the endpoint's thread.
    virtual void tick() = 0;
};

struct admin_settings {
    std::string listen;         ///< "unix:PATH", "127.0.0.1:PORT", "[::1]:PORT"
    std::string token;          ///< empty: none
    unsigned mode = 0600;       ///< of the socket's file

    std::size_t max_connections = 128;
    std::size_t max_header = 16 * 1024, max_body = 1024 * 1024;        ///< bytes
    std::chrono::milliseconds arrive{10'000};  ///< a whole request, from the end of the one before
    std::chrono::milliseconds take{10'000};    ///< a whole answer, until it is read
    std::chrono::milliseconds linger{1'000};   ///< from then on who has not read its answer may have to make room
    std::chrono::milliseconds think{65'000};   ///< an answer that comes later
    std::chrono::milliseconds tick{5'000};
};

struct admin_counts {
    std::size_t connections = 0;
    std::map<unsigned, std::uint64_t> requests;  ///< by status
};

class admin_server {
public:
    /// Listens; nothing is answered yet. Null: `error` says why, in words for people.
    [[nodiscard]] static std::unique_ptr<admin_server> listen(admin_settings settings, std::string& error);
    /// Stops; removes the socket's file.
    ~admin_server();
    admin_server(const admin_server&) = delete;
    admin_server& operator=(const admin_server&) = delete;

    /// `source` must outlive the server.
    void start(admin_source& source);
    /// Where: with the port that was found.
    [[nodiscard]] const std::string& address() const noexcept;
    /// Any thread.
    [[nodiscard]] admin_counts counts() const;

private:
    struct state;
    explicit admin_server(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

}  // namespace shunt::observe
