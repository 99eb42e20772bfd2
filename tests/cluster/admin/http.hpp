// The plainest HTTP client: bytes out, bytes in, with a deadline.

#pragma once

#include <support/producer_situation.hpp>

#include <boost/json.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace shunt::test {

/// A connection to "unix:PATH" or "127.0.0.1:PORT".
class raw_http {
public:
    explicit raw_http(const std::string& where)
    {
        if (where.starts_with("unix:")) {
            fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            sockaddr_un a{};
            a.sun_family = AF_UNIX;
            where.copy(a.sun_path, sizeof a.sun_path - 1, 5);
            connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0;
        } else {
            fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            sockaddr_in a{};
            a.sin_family = AF_INET;
            a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            a.sin_port = htons(static_cast<std::uint16_t>(std::atoi(where.c_str() + where.rfind(':') + 1)));
            connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0;
        }
    }
    ~raw_http() { ::close(fd_); }
    raw_http(const raw_http&) = delete;
    raw_http& operator=(const raw_http&) = delete;

    [[nodiscard]] bool connected() const noexcept { return connected_; }
    /// False: the other side takes no more.
    bool write(std::string_view bytes)
    {
        while (!bytes.empty()) {
            const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0)
                return false;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }
    /// All bytes up to the end of the connection.
    std::string rest(std::chrono::milliseconds limit = patience)
    {
        std::string all;
        const auto until = clock::now() + limit;
        for (;;) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
            pollfd p{fd_, POLLIN, 0};
            if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) == 0)
                throw std::runtime_error("the connection did not end; it said: " + all.substr(0, 500));
            char bytes[65536];
            const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
            if (n <= 0)
                return all;
            all.append(bytes, static_cast<std::size_t>(n));
        }
    }

private:
    int fd_ = -1;
    bool connected_ = false;
};

struct http_answer {
    int status = 0;
    std::string head, body;

    [[nodiscard]] boost::json::value json() const
    {
        boost::system::error_code ec;
        boost::json::value v = boost::json::parse(body, ec);
        EXPECT_FALSE(ec) << body;
        return v;
    }
};

inline http_answer taken_apart(const std::string& all)
{
    http_answer a;
    const std::size_t end = all.find("\r\n\r\n");
    a.head = all.substr(0, end);
    if (all.starts_with("HTTP/1.1 "))
        a.status = std::atoi(all.c_str() + 9);
    if (end != all.npos)
        a.body = all.substr(end + 4);
    return a;
}

/// One request, one answer.
inline http_answer ask(const std::string& where, const std::string& method, const std::string& target, const std::string& body = {},
                       const std::string& headers = {})
{
    raw_http c(where);
    if (!c.connected())
        throw std::runtime_error("nobody listens at " + where);
    c.write(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers +
            (method == "POST" ? "Content-Length: " + std::to_string(body.size()) + "\r\n" : "") + "\r\n" + body);
    return taken_apart(c.rest());
}
inline http_answer get(const std::string& where, const std::string& target) { return ask(where, "GET", target); }
inline http_answer post(const std::string& where, const std::string& target, const std::string& body = {}) { return ask(where, "POST", target, body); }

/// A folder of the test's own.
class own_folder {
public:
    own_folder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "shunt-admin-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder can be made");
        path = name;
    }
    ~own_folder() { std::filesystem::remove_all(path); }
    own_folder(const own_folder&) = delete;
    own_folder& operator=(const own_folder&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
    std::filesystem::path path;
};

}  // namespace shunt::test
