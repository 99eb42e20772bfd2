// Bytes to the admin endpoint, over its socket: each connection gets whole answers or an end, and the next one is served.

#include <fuzz/fuzz.hpp>
#include <observe/admin.hpp>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>

using namespace shunt;

namespace {

/// Answers with what it was asked, so that all of it is used.
class echo final : public observe::admin_source {
public:
    void answer(observe::admin_request request, std::shared_ptr<observe::admin_thread>, std::function<void(observe::admin_answer)> then) override
    {
        observe::admin_answer a;
        a.type = "text/plain";
        a.body = request.path + request.body;
        for (const auto& [name, value] : request.query)
            a.body += name + value;
        then(std::move(a));
    }
    void tick() override {}
};

struct endpoint {
    endpoint()
    {
        path = "/tmp/shunt-fuzz-" + std::to_string(::getpid());
        observe::admin_settings s;
        s.listen = "unix:" + path;
        s.max_header = 1024;
        s.max_body = 1024;
        std::string error;
        server = observe::admin_server::listen(s, error);
        SHUNT_FUZZ_CHECK(server != nullptr);
        server->start(source);
    }
    std::string path;
    echo source;
    std::unique_ptr<observe::admin_server> server;
};

/// Everything that comes back to these bytes.
std::string ask(const std::string& path, std::string_view bytes)
{
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    path.copy(a.sun_path, sizeof a.sun_path - 1);
    SHUNT_FUZZ_CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0);
    const timeval patience{30, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (!bytes.empty()) {
        const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)  // the fuzzer's own clock
            continue;
        if (n <= 0)
            break;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    ::shutdown(fd, SHUT_WR);
    std::string all;
    for (char part[4096];;) {
        const auto n = ::recv(fd, part, sizeof part, 0);
        if (n < 0 && errno == EINTR)
            continue;
        SHUNT_FUZZ_CHECK(n >= 0 || errno != EAGAIN);  // it hangs
        if (n <= 0)
            break;
        all.append(part, static_cast<std::size_t>(n));
    }
    ::close(fd);
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static endpoint* const e = new endpoint;  // its thread goes on until the process ends
    const std::string got = ask(e->path, fuzz::as_text(data, size));
    SHUNT_FUZZ_CHECK(got.empty() || got.starts_with("HTTP/1."));
    static int n = 0;
    if (++n % 16 == 0)
        SHUNT_FUZZ_CHECK(ask(e->path, "GET /well HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ends_with("/well"));
    return 0;
}
