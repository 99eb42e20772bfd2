#include "fake_peer.hpp"

#include <wire/buffer.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <utility>

namespace shunt::test {

std::string heard::field(const std::string& name) const
{
    const auto it = fields.find(name);
    return it == fields.end() ? std::string{} : it->second;
}

std::string answer_to(const heard& r, std::int32_t code, const std::map<std::string, std::string>& fields, std::string_view remark,
                      std::string_view body)
{
    std::vector<wire::field> list;
    for (const auto& [name, value] : fields)
        list.push_back({name, value});
    wire::outgoing head;
    head.code = code;
    head.opaque = r.opaque;
    head.flag = wire::flag_response;
    head.language = "JAVA";
    head.remark = remark;
    head.fields = list;
    wire::buffer out;
    wire::encode(out, wire::header_format::json, head, body);
    return std::string(out.view());
}

std::string stored_answer(const heard& r, std::int64_t offset)
{
    return answer_to(r, 0, {{"msgId", "7F00000100002A9F0000000000000000"}, {"queueId", r.field("e")}, {"queueOffset", std::to_string(offset)}});
}

// ---- one connection ----

void fake_peer::session::write(std::string_view bytes)
{
    const std::lock_guard lock(write_lock_);
    while (open_ && !bytes.empty()) {
        const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0)
            return;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

void fake_peer::session::trickle(std::string_view bytes, std::chrono::microseconds between)
{
    for (const char c : bytes) {
        write({&c, 1});
        if (between.count() != 0)
            pause(between);
    }
}

void fake_peer::session::half_close()
{
    const std::lock_guard lock(write_lock_);
    if (open_)
        ::shutdown(fd_, SHUT_WR);
}

void fake_peer::session::close()
{
    const std::lock_guard lock(write_lock_);
    if (open_)
        ::shutdown(fd_, SHUT_RDWR);  // its thread sees the end and closes
}

void fake_peer::session::reset()
{
    const std::lock_guard lock(write_lock_);
    if (!open_)
        return;
    const linger hard{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    open_ = false;
    ::close(fd_);
    fd_ = -1;
}

void fake_peer::session::pause(std::chrono::microseconds time)
{
    std::unique_lock lock(owner_->lock_);
    const auto until = std::chrono::steady_clock::now() + time;
    owner_->happened_.wait_until(lock, until, [&] { return owner_->stopping_ || std::chrono::steady_clock::now() >= until; });
}

// ---- the server ----

fake_peer::fake_peer(script on_request, std::uint16_t port) : on_request_(std::move(on_request))
{
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener_, 512) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
        ::close(listener_);
        throw std::runtime_error("fake peer: cannot listen at port " + std::to_string(port));
    }
    port_ = ntohs(at.sin_port);
    acceptor_ = std::thread([this] { accept_loop(); });
}

fake_peer::~fake_peer()
{
    {
        const std::lock_guard lock(lock_);
        stopping_ = true;
    }
    happened_.notify_all();
    acceptor_.join();
    for (const auto& s : sessions_)
        s->close();
    for (std::thread& t : threads_)
        t.join();
    if (listener_ >= 0)
        ::close(listener_);
}

void fake_peer::set(script on_request)
{
    const std::lock_guard lock(lock_);
    on_request_ = std::move(on_request);
}

void fake_peer::on_connect(std::function<void(session&)> f)
{
    const std::lock_guard lock(lock_);
    on_connect_ = std::move(f);
}

void fake_peer::read_nothing(bool nothing)
{
    const std::lock_guard lock(lock_);
    read_nothing_ = nothing;
}

void fake_peer::refuse()
{
    std::vector<session*> all;
    {
        const std::lock_guard lock(lock_);
        if (listener_ >= 0) {
            ::shutdown(listener_, SHUT_RDWR);  // at once, though our own thread may be looking at it
            ::close(std::exchange(listener_, -1));
        }
        for (const auto& s : sessions_)
            all.push_back(s.get());
    }
    for (session* s : all)
        s->close();
}

void fake_peer::accept_loop()
{
    for (;;) {
        int listener = -1;
        {
            const std::lock_guard lock(lock_);
            if (stopping_)
                return;
            listener = listener_;
        }
        pollfd p{listener, POLLIN, 0};
        if (listener < 0 || ::poll(&p, 1, 5) <= 0) {
            if (listener < 0)
                ::poll(nullptr, 0, 5);
            continue;
        }
        const std::lock_guard lock(lock_);
        if (listener_ < 0)
            continue;
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        const int yes = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        session& s = *sessions_.emplace_back(std::make_unique<session>());
        s.owner_ = this;
        s.fd_ = fd;
        s.number_ = static_cast<int>(sessions_.size());
        ++open_;
        happened_.notify_all();
        threads_.emplace_back([this, &s] { serve(s); });
    }
}

void fake_peer::serve(session& s)
{
    std::function<void(session&)> greet;
    {
        const std::lock_guard lock(lock_);
        greet = on_connect_;
    }
    if (greet)
        greet(s);
    std::string in;
    wire::command_decoder decoder;
    const int fd = s.fd_;
    for (bool more = true; more;) {
        {
            std::unique_lock lock(lock_);
            if (stopping_)
                break;
            if (read_nothing_) {
                happened_.wait_for(lock, std::chrono::milliseconds(5));
                continue;
            }
        }
        {
            const std::lock_guard lock(s.write_lock_);
            if (!s.open_)
                break;
        }
        pollfd p{fd, POLLIN, 0};
        if (::poll(&p, 1, 5) <= 0)
            continue;
        char bytes[65536];
        const ssize_t n = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n <= 0)
            break;
        in.append(bytes, static_cast<std::size_t>(n));
        for (;;) {
            const wire::scan_result found = wire::scan(in);
            if (found.status == wire::scan_status::need_more)
                break;
            wire::command c;
            if (found.status == wire::scan_status::bad || !decoder.decode(found.parts, c)) {
                more = false;
                break;
            }
            heard h;
            h.connection = s.number_;
            h.code = c.code;
            h.opaque = c.opaque;
            h.oneway = c.is_oneway();
            for (const wire::field& f : c.fields)
                h.fields.emplace(f.name, f.value);
            h.body = found.parts.body;
            in.erase(0, found.size);
            script run;
            {
                const std::lock_guard lock(lock_);
                heard_.push_back(h);
                run = on_request_;
            }
            happened_.notify_all();
            if (run)
                run(s, h);
        }
    }
    {
        const std::lock_guard lock(s.write_lock_);
        if (s.open_) {
            s.open_ = false;
            ::close(s.fd_);
        }
    }
    {
        const std::lock_guard lock(lock_);
        --open_;
    }
    happened_.notify_all();
}

std::vector<heard> fake_peer::all() const
{
    const std::lock_guard lock(lock_);
    return heard_;
}

std::vector<heard> fake_peer::sends() const
{
    std::vector<heard> found = all();
    std::erase_if(found, [](const heard& h) { return !h.is_send(); });
    return found;
}

std::size_t fake_peer::count(std::int32_t code) const
{
    const std::lock_guard lock(lock_);
    std::size_t n = 0;
    for (const heard& h : heard_)
        n += h.code == code ? 1u : 0u;
    return n;
}

int fake_peer::accepted() const
{
    const std::lock_guard lock(lock_);
    return static_cast<int>(sessions_.size());
}

int fake_peer::open() const
{
    const std::lock_guard lock(lock_);
    return open_;
}

bool fake_peer::wait_until(const std::function<bool()>& holds, std::chrono::milliseconds limit) const
{
    const auto until = std::chrono::steady_clock::now() + limit;
    for (;;) {
        if (holds())
            return true;
        std::unique_lock lock(lock_);
        if (std::chrono::steady_clock::now() >= until)
            return false;
        // What `holds` looks at may be elsewhere, so it is asked again from time to time.
        happened_.wait_for(lock, std::chrono::milliseconds(2));
    }
}

// ---- addresses where nothing is ----

namespace {

int bound_socket(std::uint16_t& port)
{
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0)
        throw std::runtime_error("cannot bind to loopback");
    port = ntohs(at.sin_port);
    return fd;
}

}  // namespace

black_hole::black_hole()
{
    fds_.push_back(bound_socket(port_));
    ::listen(fds_.front(), 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(port_);
    // Fill the backlog: one that is not up after a moment shows that it is full.
    for (bool full = false; !full;) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        fds_.push_back(fd);
        (void)::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
        pollfd p{fd, POLLOUT, 0};
        full = ::poll(&p, 1, 30) == 0;
    }
}

black_hole::~black_hole()
{
    for (const int fd : fds_)
        ::close(fd);
}

std::string dead_address()
{
    std::uint16_t port = 0;
    ::close(bound_socket(port));
    return "127.0.0.1:" + std::to_string(port);
}

// ---- routes ----

std::string route_json(const std::vector<routed>& brokers, std::string_view order_conf)
{
    std::string json = "{";
    if (!order_conf.empty())
        json.append("\"orderTopicConf\":\"").append(order_conf).append("\",");
    json += "\"brokerDatas\":[";
    const char* comma = "";
    for (const routed& b : brokers) {
        json += comma + std::string("{\"brokerAddrs\":{\"0\":\"") + b.address + "\"},\"brokerName\":\"" + b.name + "\",\"cluster\":\"C\"}";
        comma = ",";
    }
    json += "],\"filterServerTable\":{},\"queueDatas\":[";
    comma = "";
    for (const routed& b : brokers) {
        json += comma + std::string("{\"brokerName\":\"") + b.name + "\",\"perm\":" + std::to_string(b.perm) +
                ",\"readQueueNums\":" + std::to_string(b.queues) + ",\"topicSysFlag\":0,\"writeQueueNums\":" + std::to_string(b.queues) + "}";
        comma = ",";
    }
    return json + "]}";
}

fake_name_server::fake_name_server(std::map<std::string, std::string> routes) : fake_name_server(std::make_shared<table>())
{
    const std::lock_guard lock(table_->lock);
    table_->routes = std::move(routes);
}

fake_name_server::fake_name_server(std::shared_ptr<table> t)
    : fake_peer([t](session& s, const heard& h) {
          std::string json;
          std::chrono::milliseconds latency{0};
          {
              const std::lock_guard lock(t->lock);
              latency = t->latency;
              if (const auto it = t->routes.find(h.field("topic")); it != t->routes.end())
                  json = it->second;
          }
          if (latency.count() != 0)
              s.pause(latency);
          s.write(json.empty() ? answer_to(h, wire::response::topic_not_exist, {}, "No topic route info") : answer_to(h, 0, {}, {}, json));
      }),
      table_(std::move(t))
{
}

void fake_name_server::set_route(const std::string& topic, std::string json)
{
    const std::lock_guard lock(table_->lock);
    table_->routes[topic] = std::move(json);
}

void fake_name_server::forget(const std::string& topic)
{
    const std::lock_guard lock(table_->lock);
    table_->routes.erase(topic);
}

void fake_name_server::set_latency(std::chrono::milliseconds d)
{
    const std::lock_guard lock(table_->lock);
    table_->latency = d;
}

// ---- scripts ----

fake_peer::script well_behaved()
{
    auto offset = std::make_shared<std::atomic<std::int64_t>>(0);
    return [offset](fake_peer::session& s, const heard& h) {
        if (!h.oneway)
            s.write(h.is_send() ? stored_answer(h, offset->fetch_add(1)) : answer_to(h, 0));
    };
}

fake_peer::script answering(std::int32_t code, std::string remark)
{
    return [code, remark = std::move(remark)](fake_peer::session& s, const heard& h) {
        if (!h.oneway)
            s.write(h.is_send() ? answer_to(h, code, {}, remark) : answer_to(h, 0));
    };
}

fake_peer::script hanging()
{
    return [](fake_peer::session& s, const heard& h) {
        if (!h.is_send() && !h.oneway)
            s.write(answer_to(h, 0));
    };
}

}  // namespace shunt::test
