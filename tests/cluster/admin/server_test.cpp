// The admin endpoint as a server: who gets in, and what is bounded.

#include "http.hpp"

#include <observe/admin.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace shunt::test {
namespace {

using observe::admin_answer;
using observe::admin_request;
using observe::admin_server;
using observe::admin_settings;

/// Says what it was asked; "/never" is not answered, "/later" from another thread.
class echo final : public observe::admin_source {
public:
    ~echo() override
    {
        for (std::thread& t : threads_)
            t.join();
    }
    void answer(admin_request r, std::shared_ptr<observe::admin_thread>, std::function<void(admin_answer)> then) override
    {
        admin_answer a;
        a.body = (r.post ? "POST " : "GET ") + r.path;
        for (const auto& [name, value] : r.query)
            a.body += " " + name + "=" + value;
        a.body += " " + std::to_string(r.body.size());
        if (r.path == "/large")
            a.body.assign(32 * 1024 * 1024, 'x');
        if (r.path == "/never")
            return;
        if (r.path == "/later")
            threads_.emplace_back([a, then] { then(a); });
        else
            then(a);
    }
    void tick() override { ++ticks; }
    std::atomic<int> ticks{0};

private:
    std::vector<std::thread> threads_;
};

struct situation {
    own_folder folder;
    admin_settings settings;
    echo source;
    std::unique_ptr<admin_server> server;

    situation() { settings.listen = "unix:" + folder.file("s"); }
    void start()
    {
        std::string error;
        server = admin_server::listen(settings, error);
        if (server == nullptr)
            throw std::runtime_error(error);
        server->start(source);
    }
    [[nodiscard]] const std::string& at() const { return server->address(); }
    /// Why not.
    [[nodiscard]] std::string refused() const
    {
        std::string error;
        EXPECT_EQ(admin_server::listen(settings, error), nullptr);
        return error;
    }
};

std::string request(const std::string& line, const std::string& headers = {})
{
    return line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n";
}

TEST(AdminServer, TellsItsSourceWhatWasAsked)
{
    situation s;
    s.start();
    EXPECT_EQ(get(s.at(), "/a").body, "GET /a 0");
    EXPECT_EQ(get(s.at(), "/a%20b?x=1%2F2&y=a+b&z").body, "GET /a b x=1/2 y=a b z= 0");
    EXPECT_EQ(post(s.at(), "/p", "12345").body, "POST /p 5");
    EXPECT_EQ(get(s.at(), "/later").body, "GET /later 0");
    const http_answer head = ask(s.at(), "HEAD", "/a");
    EXPECT_EQ(head.status, 200);
    EXPECT_NE(head.head.find("Content-Length: 8"), std::string::npos) << head.head;
    EXPECT_EQ(head.body, "");
    const http_answer page = get(s.at(), "/");
    EXPECT_NE(page.head.find("text/html"), std::string::npos);
    EXPECT_NE(page.head.find("Content-Security-Policy: default-src 'none'"), std::string::npos);
    EXPECT_NE(page.body.find("<title>"), std::string::npos);
}

TEST(AdminServer, AnswersOneAfterTheOtherOnAConnectionThatStays)
{
    situation s;
    s.start();
    raw_http c(s.at());
    c.write("GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n" + request("GET /2"));
    const std::string all = c.rest();
    EXPECT_NE(all.find("GET /1 0HTTP/1.1 200"), std::string::npos) << all;
    EXPECT_TRUE(all.ends_with("GET /2 0")) << all;
}

TEST(AdminServer, RefusesWhatIsNoRequestInWords)
{
    situation s;
    s.start();
    const auto say = [&](const std::string& bytes) {
        raw_http c(s.at());
        c.write(bytes);
        return taken_apart(c.rest());
    };
    EXPECT_EQ(say("\x16\x03\x01\x02\x00\x01\r\n\r\n").status, 400);
    EXPECT_EQ(say("GET / HTTP/9.9\r\n\r\n").status, 400);
    EXPECT_EQ(say("GET /\r\n\r\n").status, 400);
    EXPECT_EQ(say(request("GET /%zz")).status, 400);
    EXPECT_EQ(say(request("GET /%2")).status, 400);
    EXPECT_EQ(say(request("GET nothing")).status, 400);
    EXPECT_EQ(say(request("GET /", "Content-Length: minus one\r\n")).status, 400);
    const http_answer put = say(request("PUT /a"));
    EXPECT_EQ(put.status, 405);
    EXPECT_NE(put.head.find("Allow: GET, HEAD, POST"), std::string::npos) << put.head;
    EXPECT_EQ(put.json().at("error").as_string(), "GET and HEAD ask, POST changes");
    EXPECT_EQ(get(s.at(), "/a").status, 200);
}

TEST(AdminServer, BoundsHeadersAndBodies)
{
    situation s;
    s.settings.max_header = 2048;
    s.settings.max_body = 10'000;
    s.start();
    const auto say = [&](const std::string& bytes) {
        raw_http c(s.at());
        c.write(bytes);
        return taken_apart(c.rest());
    };
    EXPECT_EQ(say(request("GET /a", "X: " + std::string(4000, 'x') + "\r\n")).status, 431);
    EXPECT_EQ(say(request("GET /" + std::string(4000, 'x'))).status, 431);
    EXPECT_EQ(say(request("POST /a", "Content-Length: 10000\r\n") + std::string(10'000, 'x')).body, "POST /a 10000");
    const http_answer large = say(request("POST /a", "Content-Length: 10001\r\n") + std::string(10'001, 'x'));
    EXPECT_EQ(large.status, 413);
    EXPECT_EQ(large.json().at("error").as_string(), "a body has at most 10000 bytes");
    EXPECT_EQ(say(request("POST /a", "Content-Length: 99999999999999\r\n")).status, 413);
    std::string chunks = request("POST /a", "Transfer-Encoding: chunked\r\n");
    for (int i = 0; i < 11; ++i)
        chunks += "3e8\r\n" + std::string(1000, 'x') + "\r\n";
    EXPECT_EQ(say(chunks + "0\r\n\r\n").status, 413);
}

TEST(AdminServer, EndsWhoTakesTooLongToAsk)
{
    situation s;
    s.settings.arrive = 150ms;
    s.start();
    raw_http silent(s.at()), slow(s.at());
    slow.write("GET /a HT");
    const auto begin = clock::now();
    // A byte now and then changes nothing: the whole request has so long.
    EXPECT_TRUE(eventually([&] { return !slow.write("x"); }));
    EXPECT_EQ(silent.rest(), "");
    EXPECT_LT(clock::now() - begin, 150ms + grace());
    EXPECT_TRUE(eventually([&] { return s.server->counts().connections == 0; }));
    EXPECT_EQ(get(s.at(), "/a").status, 200);
}

TEST(AdminServer, EndsWhoDoesNotReadItsAnswer)
{
    situation s;
    s.settings.take = 150ms;
    s.start();
    raw_http c(s.at());
    c.write(request("GET /large"));
    EXPECT_TRUE(eventually([&] { return s.server->counts().requests[200] == 1 && s.server->counts().connections == 0; }));
    EXPECT_LT(c.rest().size(), 32u * 1024 * 1024);
}

TEST(AdminServer, SaysSoWhenItsSourceDoesNotAnswer)
{
    situation s;
    s.settings.think = 50ms;
    s.start();
    EXPECT_EQ(get(s.at(), "/never").status, 503);
}

TEST(AdminServer, AnswersThoughAThousandOthersAreThere)
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    situation s;
    s.settings.max_connections = 16;
    s.start();
    std::vector<std::unique_ptr<raw_http>> crowd;
    for (int i = 0; i < 1000; ++i) {
        crowd.push_back(std::make_unique<raw_http>(s.at()));
        ASSERT_TRUE(crowd.back()->connected()) << i;
        if (i % 2 == 0)
            crowd.back()->write("GET /slow HT");
        if (i % 100 == 99) {
            ASSERT_EQ(get(s.at(), "/a").body, "GET /a 0");
            EXPECT_LE(s.server->counts().connections, 16u);
        }
    }
    EXPECT_EQ(crowd.front()->rest(), "") << "it made room for others";
    EXPECT_EQ(get(s.at(), "/a").status, 200);
}

// Connections come without end, more than there are places. Who was answered before is answered again on the same connection;
// who has begun to ask can go on; who comes new and asks at once is answered.
TEST(AdminServer, KeepsThoseWhoAskFromBeingPushedOutByThoseWhoDoNot)
{
    situation s;
    s.settings.max_connections = 16;
    s.start();
    raw_http stays(s.at()), begins(s.at());
    const std::string question = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stays.write(question);
    ASSERT_TRUE(eventually([&] { return s.server->counts().requests[200] == 1; }));
    begins.write("POST /p HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\na");
    std::vector<std::unique_ptr<raw_http>> crowd;
    for (std::uint64_t i = 0; i < 400; ++i) {
        crowd.push_back(std::make_unique<raw_http>(s.at()));
        ASSERT_TRUE(crowd.back()->connected()) << i;
        if (i % 40 != 39)
            continue;
        ASSERT_EQ(get(s.at(), "/new").body, "GET /new 0") << i;
        ASSERT_TRUE(stays.write(question)) << i;
        ASSERT_TRUE(eventually([&] { return s.server->counts().requests[200] == 1 + 2 * (i / 40 + 1); })) << i;
    }
    begins.write("bc");
    EXPECT_EQ(taken_apart(begins.rest()).body, "POST /p 3");
    EXPECT_EQ(crowd.front()->rest(), "") << "it made room";
}

TEST(AdminServer, LetsNobodyWithoutATokenPushOutWhoHasOne)
{
    situation s;
    s.settings.token = "0123456789abcdef";
    s.settings.max_connections = 4;
    s.start();
    raw_http stays(s.at());
    const std::string question = "GET /a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n";
    stays.write(question);
    ASSERT_TRUE(eventually([&] { return s.server->counts().requests[200] == 1; }));
    std::vector<std::unique_ptr<raw_http>> crowd;
    for (std::uint64_t i = 0; i < 50; ++i) {  // they ask for what everybody may, and for what they may not, and stay
        crowd.push_back(std::make_unique<raw_http>(s.at()));
        crowd.back()->write(std::string("GET ") + (i % 2 == 0 ? "/healthz" : "/a") + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        ASSERT_TRUE(eventually([&] { return s.server->counts().requests[200] + s.server->counts().requests[401] == i + 2; })) << i;
    }
    ASSERT_TRUE(stays.write(question));
    EXPECT_TRUE(eventually([&] { return s.server->counts().requests[200] == 27; }));
}

TEST(AdminServer, TakesThePlaceOfWhoDoesNotReadItsAnswer)
{
    situation s;
    s.settings.max_connections = 2;
    s.settings.linger = 50ms;
    s.start();
    raw_http a(s.at()), b(s.at());
    a.write(request("GET /large"));
    b.write(request("GET /large"));
    EXPECT_TRUE(eventually([&] { return s.server->counts().requests[200] == 2; }));
    EXPECT_TRUE(eventually([&] { return get(s.at(), "/a").status == 200; }));
}

TEST(AdminServer, TurnsAwayWhomItHasNoRoomForWhileAllOthersAreServed)
{
    situation s;
    s.settings.max_connections = 2;
    s.start();
    raw_http a(s.at()), b(s.at());
    a.write(request("GET /never"));
    b.write(request("GET /never"));
    EXPECT_TRUE(eventually([&] { return get(s.at(), "/a").status == 503; }));
}

TEST(AdminServer, AsksForItsToken)
{
    situation s;
    s.settings.token = "0123456789abcdef";
    s.start();
    for (const char* wrong : {"", "Authorization: Bearer 0123456789abcdeF\r\n", "Authorization: Bearer 0123456789abcdef0\r\n",
                                     "Authorization: Bearer \r\n", "Authorization: 0123456789abcdef\r\n", "Authorization: Basic 0123456789abcdef\r\n"}) {
        const http_answer a = ask(s.at(), "GET", "/a", {}, wrong);
        EXPECT_EQ(a.status, 401) << wrong;
        EXPECT_NE(a.head.find("WWW-Authenticate: Bearer"), std::string::npos);
    }
    EXPECT_EQ(ask(s.at(), "GET", "/a", {}, "Authorization: Bearer 0123456789abcdef\r\n").status, 200);
    EXPECT_EQ(get(s.at(), "/healthz").status, 200) << "who asks whether it lives knows no token";
    EXPECT_EQ(get(s.at(), "/").status, 200) << "the page asks for it";
}

TEST(AdminServer, OnAPortIsForThisMachineAndItsOwnPageAlone)
{
    situation s;
    s.settings.listen = "127.0.0.1:0";
    s.start();
    EXPECT_NE(s.at(), "127.0.0.1:0");
    EXPECT_EQ(get(s.at(), "/a").status, 200);
    const auto with = [&](const std::string& host, const std::string& origin = {}) {
        raw_http c(s.at());
        c.write("GET /a HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" + (origin.empty() ? "" : "Origin: " + origin + "\r\n") + "\r\n");
        return taken_apart(c.rest()).status;
    };
    EXPECT_EQ(with(s.at()), 200);
    EXPECT_EQ(with("[::1]:80"), 200);
    EXPECT_EQ(with("evil.example"), 403);
    EXPECT_EQ(with("127.0.0.1.evil.example:80"), 403);
    EXPECT_EQ(with(s.at(), "http://" + s.at()), 200);
    EXPECT_EQ(with(s.at(), "http://evil.example"), 403);
    EXPECT_EQ(with(s.at(), "null"), 403);
}

TEST(AdminServer, MakesASocketForItsOwnerAndRemovesIt)
{
    situation s;
    const std::string path = s.folder.file("s");
    const mode_t mask = ::umask(0);
    s.start();
    ::umask(mask);
    struct stat f {};
    ASSERT_EQ(::stat(path.c_str(), &f), 0);
    EXPECT_EQ(f.st_mode & 0777u, 0600u);
    s.server.reset();
    EXPECT_NE(::stat(path.c_str(), &f), 0);
    s.settings.mode = 0660;
    ::umask(077);
    s.start();
    ::umask(mask);
    ASSERT_EQ(::stat(path.c_str(), &f), 0);
    EXPECT_EQ(f.st_mode & 0777u, 0660u);
}

TEST(AdminServer, TakesThePlaceOfAProcessThatIsGoneAndOfNoOther)
{
    situation s;
    const std::string path = s.folder.file("s");
    {   // a socket as a process that was killed leaves it
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un a{};
        a.sun_family = AF_UNIX;
        path.copy(a.sun_path, sizeof a.sun_path - 1);
        ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
        ::close(fd);
    }
    s.start();
    EXPECT_EQ(get(s.at(), "/a").status, 200);
    EXPECT_EQ(s.refused(), "admin.listen is 'unix:" + path + "'; a running process answers there; end it, or give each process a path of its own");
    EXPECT_EQ(get(s.at(), "/a").status, 200);
    s.server.reset();
    const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    ::close(file);
    EXPECT_NE(s.refused().find("something that is no socket is there"), std::string::npos) << s.refused();
    EXPECT_TRUE(std::filesystem::exists(path));
    s.settings.listen = "unix:" + s.folder.file("missing/s");
    EXPECT_NE(s.refused().find("missing: No such file or directory"), std::string::npos) << s.refused();
}

TEST(AdminServer, LeavesASocketAloneThatTookThePlaceOfItsOwn)
{
    situation s;
    s.start();
    std::filesystem::remove(s.folder.file("s"));
    situation other;
    other.settings.listen = s.settings.listen;
    other.start();
    s.server.reset();
    EXPECT_EQ(get(other.at(), "/a").status, 200);
}

TEST(AdminServer, CallsItsSourceNowAndThen)
{
    situation s;
    s.settings.tick = 1ms;
    s.start();
    EXPECT_TRUE(eventually([&] { return s.source.ticks > 3; }));
}

}  // namespace
}  // namespace shunt::test
