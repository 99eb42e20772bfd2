#include <observe/admin.hpp>

#include <observe/dashboard.hpp>
#include <observe/json.hpp>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace shunt::observe {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using protocol = asio::generic::stream_protocol;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view unix_prefix = "unix:";
constexpr milliseconds pause_without_descriptors{100}, see_off_limit{2000};

std::string system_words(int error) { return std::error_code(error, std::generic_category()).message(); }

admin_answer complaint(unsigned status, std::string_view text)
{
    admin_answer a;
    a.status = status;
    a.body = json().object().member("error", text).end_object().text() + '\n';
    return a;
}

/// Takes as long whatever differs.
bool same_secret(std::string_view given, std::string_view secret) noexcept
{
    unsigned differ = given.size() == secret.size() ? 0 : 1;
    for (std::size_t i = 0; i < secret.size(); ++i) {
        const unsigned char c = i < given.size() ? static_cast<unsigned char>(given[i]) : 0;
        differ |= c ^ static_cast<unsigned>(static_cast<unsigned char>(secret[i]));
    }
    const volatile unsigned result = differ;
    return result == 0;
}

int hex_digit(char c) noexcept
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = static_cast<char>(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// What stands behind a %. False: no two digits.
bool decode(std::string_view text, bool plus_is_blank, std::string& out)
{
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_blank) {
            out += ' ';
        } else if (text[i] != '%') {
            out += text[i];
        } else {
            const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1, low = high >= 0 ? hex_digit(text[i + 2]) : -1;
            if (low < 0)
                return false;
            out += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return true;
}

bool take_target(std::string_view target, admin_request& out)
{
    const std::size_t question = target.find('?');
    if (target.empty() || target.front() != '/' || !decode(target.substr(0, question), false, out.path))
        return false;
    std::string_view rest = question == target.npos ? std::string_view{} : target.substr(question + 1);
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        const std::size_t equals = pair.find('=');
        std::string name, value;
        if (!decode(pair.substr(0, equals), true, name) || (equals != pair.npos && !decode(pair.substr(equals + 1), true, value)))
            return false;
        out.query.insert_or_assign(std::move(name), std::move(value));
    }
    return true;
}

/// Does a browser, or whoever reached the port, mean this machine? Else a page from elsewhere could ask by a name that
/// it lets point here.
bool is_here(std::string_view host) noexcept
{
    const std::size_t end = host.empty() || host.front() != '[' ? host.rfind(':') : host.find(']') + 1;
    const std::string_view name = host.substr(0, end);
    return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

// ---- sockets ----

class descriptor {
public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    ~descriptor()
    {
        if (fd_ >= 0)
            ::close(fd_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_;
};

/// -1: `error` says why. The folder is locked meanwhile, so that of two that start at once one sees the other.
int listen_unix(const std::string& path, unsigned mode, struct stat& file, std::string& error)
{
    const auto wrong = [&](std::string_view what) {
        error = "admin.listen is 'unix:" + path + "'; " + std::string(what);
        return -1;
    };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return wrong("a path has 1 to 107 bytes");
    std::copy(path.begin(), path.end(), address.sun_path);
    const auto* at = reinterpret_cast<const sockaddr*>(&address);
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    const descriptor held(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (held.get() < 0)
        return wrong("folder " + folder + ": " + system_words(errno));
    (void)::flock(held.get(), LOCK_EX);

    struct stat there {};
    if (::lstat(path.c_str(), &there) == 0) {
        if (!S_ISSOCK(there.st_mode))
            return wrong("something that is no socket is there; choose another path, or remove it");
        const descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (::connect(probe.get(), at, sizeof address) == 0 || errno == EAGAIN)
            return wrong("a running process answers there; end it, or give each process a path of its own");
        if (errno != ECONNREFUSED)
            return wrong("a socket is there that cannot be asked: " + system_words(errno));
        if (::unlink(path.c_str()) != 0)  // of a process that is gone
            return wrong("a socket that nobody answers is there and cannot be removed: " + system_words(errno));
    }
    descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // The mode that the file is made with, less what the umask takes; so nobody else gets in before it is set in full.
    if (made.get() < 0 || ::fchmod(made.get(), mode) != 0 || ::bind(made.get(), at, sizeof address) != 0)
        return wrong(system_words(errno));
    if (::chmod(path.c_str(), mode) != 0 || ::listen(made.get(), SOMAXCONN) != 0 || ::lstat(path.c_str(), &file) != 0) {
        const std::string why = system_words(errno);
        (void)::unlink(path.c_str());
        return wrong(why);
    }
    return made.release();
}

/// -1: `error` says why. `where`: with the port that was found.
int listen_port(const std::string& wanted, std::string& where, std::string& error)
{
    const bool six = wanted.front() == '[';
    const std::size_t colon = wanted.rfind(':');
    unsigned port = 0;
    (void)std::from_chars(wanted.data() + colon + 1, wanted.data() + wanted.size(), port);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_addr = in6addr_loopback;
    v6.sin6_port = v4.sin_port;
    sockaddr* at = six ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
    socklen_t size = six ? sizeof v6 : sizeof v4;
    descriptor made(::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    if (made.get() < 0 || ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 || ::bind(made.get(), at, size) != 0 ||
        ::listen(made.get(), SOMAXCONN) != 0 || ::getsockname(made.get(), at, &size) != 0) {
        error = "admin.listen is '" + wanted + "'; " + system_words(errno);
        return -1;
    }
    where = wanted.substr(0, colon + 1) + std::to_string(ntohs(six ? v6.sin6_port : v4.sin_port));
    return made.release();
}

/// The endpoint's thread, for those who may outlive it.
class link final : public admin_thread {
public:
    explicit link(asio::io_context& context) : context_(&context) {}
    void after(milliseconds time, std::function<void()> call) override
    {
        const std::lock_guard lock(lock_);
        if (context_ == nullptr)
            return;
        if (time.count() <= 0) {
            asio::post(*context_, std::move(call));
            return;
        }
        asio::post(*context_, [&context = *context_, time, call = std::move(call)]() mutable {
            auto timer = std::make_shared<asio::steady_timer>(context, time);
            timer->async_wait([timer, call = std::move(call)](const error_code& ec) {
                if (!ec)
                    call();
            });
        });
    }
    void cut()
    {
        const std::lock_guard lock(lock_);
        context_ = nullptr;
    }

private:
    std::mutex lock_;
    asio::io_context* context_;
};

}  // namespace

// ---- one connection ----

struct admin_server::state {
    class session;

    explicit state(admin_settings s) : settings(std::move(s)) {}
    ~state();

    void accept();
    void greet(protocol::socket socket);
    void make_room();
    void tick();
    void count(unsigned status)
    {
        const std::lock_guard lock(counts_lock);
        ++counted.requests[status];
    }

    const admin_settings settings;
    std::string address;
    std::string path;     // of the socket's file; empty: a port
    struct stat file {};  // as we made it
    admin_source* source = nullptr;
    asio::io_context context{1};
    std::shared_ptr<link> thread_link = std::make_shared<link>(context);
    asio::basic_socket_acceptor<protocol> acceptor{context};
    asio::steady_timer tick_timer{context}, pause_timer{context};
    std::list<std::shared_ptr<session>> sessions;
    std::thread thread;
    mutable std::mutex counts_lock;
    admin_counts counted;
};

class admin_server::state::session : public std::enable_shared_from_this<session> {
public:
    session(state& owner, protocol::socket socket) : owner_(owner), stream_(std::move(socket)), think_(owner.context) {}

    void read()
    {
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(owner_.settings.max_header));
        parser_->body_limit(owner_.settings.max_body);
        begins(doing::reading);
        stream_.expires_after(owner_.settings.arrive);
        http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](const error_code& ec, std::size_t) { self->arrived(ec); });
    }
    /// Who makes room first, the lowest: by what it has shown so far, then by how long it has been at it. Nothing: not now.
    [[nodiscard]] std::optional<std::pair<int, steady_clock::time_point>> dispensable(steady_clock::time_point now) const
    {
        enum : int { silent, asking, served, slow };
        switch (doing_) {
        case doing::seeing_off: return {{silent, since_}};
        case doing::reading: return {{served_ ? served : parser_->got_some() ? asking : silent, since_}};
        case doing::writing:
            if (now - since_ > owner_.settings.linger)
                return {{slow, since_}};
            break;
        case doing::thinking: break;
        }
        return std::nullopt;
    }

    void close()
    {
        error_code ignored;
        stream_.socket().shutdown(asio::socket_base::shutdown_both, ignored);
        stream_.close();
    }

private:
    enum class doing : std::uint8_t { reading, thinking, writing, seeing_off };
    void begins(doing what)
    {
        doing_ = what;
        since_ = steady_clock::now();
    }

    void arrived(const error_code& ec)
    {
        begins(doing::thinking);
        if (ec) {
            const bool ours = ec == http::error::header_limit || ec == http::error::buffer_overflow || ec == http::error::body_limit;
            const bool no_http = ec.category() == http::make_error_code(http::error::bad_method).category() && ec != http::error::end_of_stream &&
                                 ec != http::error::partial_message;
            keep_ = false;
            if (ec == http::error::body_limit)
                reply(complaint(413, "a body has at most " + std::to_string(owner_.settings.max_body) + " bytes"));
            else if (ours)
                reply(complaint(431, "the request line and headers have at most " + std::to_string(owner_.settings.max_header) + " bytes"));
            else if (no_http)
                reply(complaint(400, "this is no HTTP request: " + ec.message()));
            else
                end();
            return;
        }
        http::request<http::string_body> request = parser_->release();
        keep_ = request.keep_alive();
        version_ = request.version();
        head_ = request.method() == http::verb::head;
        admin_request asked;
        if (const auto wrong = refusal(request, asked)) {
            reply(*wrong);
            return;
        }
        asked.body = std::move(request.body());
        if (asked.path == "/" && !asked.post) {
            admin_answer page;
            page.type = "text/html; charset=utf-8";
            page.body = dashboard_page;
            reply(std::move(page));
            return;
        }
        const std::uint64_t number = ++asked_;
        think_.expires_after(owner_.settings.think);
        think_.async_wait([self = shared_from_this(), number](const error_code& late) {
            if (!late)
                self->answered(number, complaint(503, "the producer did not answer in time; it may still be done"));
        });
        owner_.source->answer(std::move(asked), owner_.thread_link,
                              [weak = weak_from_this(), to = owner_.thread_link, number](admin_answer a) {
                                  to->after(milliseconds(0), [weak, number, a = std::move(a)] {
                                      if (const auto self = weak.lock())
                                          self->answered(number, a);
                                  });
                              });
    }

    std::optional<admin_answer> refusal(const http::request<http::string_body>& request, admin_request& asked)
    {
        const auto text = [](auto view) { return std::string_view(view.data(), view.size()); };
        if (request.method() != http::verb::get && request.method() != http::verb::head && request.method() != http::verb::post)
            return complaint(405, "GET and HEAD ask, POST changes");
        if (!take_target(text(request.target()), asked))
            return complaint(400, "the request is for a path that cannot be read");
        asked.post = request.method() == http::verb::post;
        const std::string_view host = text(request[http::field::host]), origin = text(request[http::field::origin]);
        if (owner_.path.empty() && !is_here(host))
            return complaint(403, "the request is for another host; on this port it is 127.0.0.1, localhost or [::1]");
        if (!origin.empty() && origin != "http://" + std::string(host))
            return complaint(403, "the request comes from a page of another origin");
        const bool open = asked.path == "/" || asked.path == "/healthz" || asked.path == "/readyz";
        if (owner_.settings.token.empty())
            served_ = true;
        if (owner_.settings.token.empty() || open)
            return std::nullopt;
        constexpr std::string_view bearer = "Bearer ";
        const std::string_view given = text(request[http::field::authorization]);
        if (!given.starts_with(bearer))
            return complaint(401, "this endpoint asks for a token: Authorization: Bearer TOKEN");
        if (!same_secret(given.substr(bearer.size()), owner_.settings.token))
            return complaint(401, "the token is wrong");
        served_ = true;
        return std::nullopt;
    }

    void answered(std::uint64_t number, admin_answer a)
    {
        if (number != asked_ || replied_ == number)
            return;
        replied_ = number;
        think_.cancel();
        reply(std::move(a));
    }

    void reply(admin_answer a)
    {
        owner_.count(a.status);
        response_ = {};
        response_.version(version_);
        response_.result(a.status);
        response_.keep_alive(keep_);
        response_.set(http::field::content_type, a.type);
        response_.set(http::field::cache_control, "no-store");
        response_.set("X-Content-Type-Options", "nosniff");
        response_.set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; "
                                                 "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
        if (a.status == 405)
            response_.set(http::field::allow, "GET, HEAD, POST");
        if (a.status == 401)
            response_.set(http::field::www_authenticate, "Bearer");
        response_.content_length(a.body.size());
        if (!head_)
            response_.body() = std::move(a.body);
        begins(doing::writing);
        stream_.expires_after(owner_.settings.take);
        http::async_write(stream_, response_, [self = shared_from_this()](const error_code& ec, std::size_t) {
            if (ec)
                self->end();
            else if (self->keep_)
                self->read();
            else
                self->see_off();
        });
    }

    /// Who still writes may not have read the answer: a connection that is closed meanwhile would be reset.
    void see_off()
    {
        error_code ignored;
        stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
        begins(doing::seeing_off);
        stream_.expires_after(see_off_limit);
        drop_the_rest(2 * owner_.settings.max_body);
    }

    void drop_the_rest(std::size_t most)
    {
        stream_.async_read_some(asio::buffer(rest_), [self = shared_from_this(), most](const error_code& ec, std::size_t size) {
            if (ec || size >= most)
                self->end();
            else
                self->drop_the_rest(most - size);
        });
    }

    void end()
    {
        const auto self = shared_from_this();
        close();
        owner_.sessions.remove(self);
        const std::lock_guard lock(owner_.counts_lock);
        owner_.counted.connections = owner_.sessions.size();
    }

    state& owner_;
    beast::basic_stream<protocol> stream_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    http::response<http::string_body> response_;
    std::array<char, 4096> rest_;
    asio::steady_timer think_;
    doing doing_ = doing::reading;
    steady_clock::time_point since_{};
    std::uint64_t asked_ = 0, replied_ = 0;
    unsigned version_ = 11;
    bool keep_ = false, head_ = false;
    bool served_ = false;  // it asked for something, and may
};

// ---- all of them ----

admin_server::state::~state()
{
    context.stop();
    if (thread.joinable())
        thread.join();
    thread_link->cut();
    sessions.clear();
    error_code ignored;
    acceptor.close(ignored);
    struct stat now {};
    if (!path.empty() && ::lstat(path.c_str(), &now) == 0 && now.st_dev == file.st_dev && now.st_ino == file.st_ino)
        (void)::unlink(path.c_str());
}

void admin_server::state::accept()
{
    acceptor.async_accept([this](const error_code& ec, protocol::socket socket) {
        if (ec == asio::error::operation_aborted)
            return;
        if (ec) {  // no descriptors are left, for example
            pause_timer.expires_after(pause_without_descriptors);
            pause_timer.async_wait([this](const error_code& stopped) {
                if (!stopped)
                    accept();
            });
            return;
        }
        greet(std::move(socket));
        accept();
    });
}

void admin_server::state::greet(protocol::socket socket)
{
    (void)::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    if (sessions.size() >= settings.max_connections)
        make_room();
    if (sessions.size() >= settings.max_connections) {
        constexpr std::string_view busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        (void)::send(socket.native_handle(), busy.data(), busy.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        count(503);
        return;
    }
    sessions.push_back(std::make_shared<session>(*this, std::move(socket)));
    sessions.back()->read();
    const std::lock_guard lock(counts_lock);
    counted.connections = sessions.size();
}

/// Whoever asked for something that it may ask for goes after all others, and nobody while its request is being answered.
void admin_server::state::make_room()
{
    const auto now = steady_clock::now();
    auto first = sessions.end();
    std::optional<std::pair<int, steady_clock::time_point>> lowest;
    for (auto it = sessions.begin(); it != sessions.end(); ++it) {
        const auto one = (*it)->dispensable(now);
        if (one && (!lowest || *one < *lowest)) {
            first = it;
            lowest = one;
        }
    }
    if (first == sessions.end())
        return;
    (*first)->close();
    sessions.erase(first);
}

void admin_server::state::tick()
{
    tick_timer.expires_after(settings.tick);
    tick_timer.async_wait([this](const error_code& ec) {
        if (ec)
            return;
        source->tick();
        tick();
    });
}

admin_server::admin_server(std::unique_ptr<state> s) : state_(std::move(s)) {}

admin_server::~admin_server() = default;

std::unique_ptr<admin_server> admin_server::listen(admin_settings settings, std::string& error)
{
    auto s = std::make_unique<state>(std::move(settings));
    const std::string& where = s->settings.listen;
    int fd = -1, family = AF_UNIX;
    if (where.starts_with(unix_prefix)) {
        const std::string path = where.substr(unix_prefix.size());
        fd = listen_unix(path, s->settings.mode, s->file, error);
        s->address = where;
        if (fd >= 0)
            s->path = path;
    } else {
        family = where.front() == '[' ? AF_INET6 : AF_INET;
        fd = listen_port(where, s->address, error);
    }
    if (fd < 0)
        return nullptr;
    s->acceptor.assign(protocol(family, 0), fd);
    return std::unique_ptr<admin_server>(new admin_server(std::move(s)));
}

void admin_server::start(admin_source& source)
{
    state_->source = &source;
    state_->accept();
    state_->tick();
    state_->thread = std::thread([s = state_.get()] { s->context.run(); });
}

const std::string& admin_server::address() const noexcept { return state_->address; }

admin_counts admin_server::counts() const
{
    const std::lock_guard lock(state_->counts_lock);
    return state_->counted;
}

}  // namespace shunt::observe
