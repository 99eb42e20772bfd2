#include <cluster/server.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <utility>

namespace shunt::cluster {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t read_size = 64 * 1024;
/// A client that does not read its answers is not read from beyond this.
constexpr std::size_t max_unwritten = 8 * 1024 * 1024;

std::int64_t wall_clock_ms()
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

class server::connection final : public peer {
public:
    connection(server& owner, tcp::socket socket, const tcp::endpoint& remote)
        : owner_(&owner), socket_(std::move(socket)), security_(owner.secured), undecided_(security_.context != nullptr)
    {
        address_.port = remote.port();
        address_.ipv6 = remote.address().is_v6();
        if (address_.ipv6) {
            const auto bytes = remote.address().to_v6().to_bytes();
            std::copy(bytes.begin(), bytes.end(), address_.address.begin());
            name_ = '[' + remote.address().to_string() + "]:" + std::to_string(remote.port());
        } else {
            const auto bytes = remote.address().to_v4().to_bytes();
            std::copy(bytes.begin(), bytes.end(), address_.address.begin());
            name_ = remote.address().to_string() + ':' + std::to_string(remote.port());
        }
    }

    void start() { read(); }

    /// Reads again, after its server stalled.
    void resume()
    {
        if (!closed_ && !ending_ && !reading_)
            go_on();
    }

    void flush() override
    {
        if (!writing_ && !closed_ && has_output() && !handling_)
            write();
    }

    void later(std::chrono::microseconds delay, std::string bytes, ending then) override
    {
        if (owner_ != nullptr)
            owner_->later(std::chrono::steady_clock::now() + delay, {weak_from_this(), std::move(bytes), then});
    }

    void end(ending how) override
    {
        if (closed_ || how == ending::none)
            return;
        if (how == ending::reset) {
            error_code ignored;
            socket_.set_option(asio::socket_base::linger(true, 0), ignored);
            ending_ = true;
            if (!handling_)
                close();
            return;
        }
        ending_ = true;
        if (!handling_)
            finish_if_written();
    }

    void close() noexcept
    {
        if (closed_)
            return;
        closed_ = true;
        error_code ignored;
        socket_.close(ignored);
        if (owner_ != nullptr) {
            server& owner = *std::exchange(owner_, nullptr);
            const std::shared_ptr<peer> self = shared_from_this();
            owner.handler_.closed(*this);
            owner.state_.tell();
            owner.connections_.erase(std::static_pointer_cast<connection>(self));
        }
    }

private:
    std::shared_ptr<connection> self() { return std::static_pointer_cast<connection>(shared_from_this()); }

    void read()
    {
        if (closed_ || ending_ || reading_ || owner_->stalled_)
            return;
        reading_ = true;
        if (undecided_ || tls_ != nullptr) {
            socket_.async_read_some(asio::buffer(cipher_.grab(read_size), read_size),
                                    [self = self()](const error_code& ec, std::size_t size) { self->on_read(ec, size); });
            return;
        }
        const std::size_t room = std::max(read_size, wanted_ > in_.size() ? wanted_ - in_.size() : 0);
        socket_.async_read_some(asio::buffer(in_.grab(room), room),
                                [self = self()](const error_code& ec, std::size_t size) { self->on_read(ec, size); });
    }

    void on_read(const error_code& ec, std::size_t size)
    {
        reading_ = false;
        if (closed_ || owner_ == nullptr)
            return;
        std::lock_guard lock(owner_->state_.mutex);
        if (ec) {
            close();
            return;
        }
        if (!take(size)) {
            ending_ = true;
            finish_if_written();
            return;
        }
        if (!owner_->stalled_)
            go_on();
    }

    void go_on()
    {
        handle();
        if (closed_)
            return;
        owner_->state_.tell();
        if (ending_)
            finish_if_written();
        else {
            flush();
            if (out_.size() < max_unwritten)
                read();
        }
    }

    [[nodiscard]] bool has_output() const noexcept { return !out_.empty() || (tls_ != nullptr && tls_->has_output()); }

    /// Takes what was read into in_. False: the connection is to end.
    bool take(std::size_t size)
    {
        if (!undecided_ && tls_ == nullptr) {
            in_.advance(size);
            return true;
        }
        cipher_.advance(size);
        if (std::exchange(undecided_, false)) {
            constexpr char handshake = 0x16;  // as real servers tell the two apart
            if (cipher_.view().front() != handshake) {
                in_.put(cipher_.view());
                return !security_.enforced;
            }
            tls_ = tls::session::server(security_.context);
        }
        const tls::session::status s = tls_->received(cipher_.view(), in_);
        cipher_.clear();
        return s == tls::session::status::more;
    }

    void handle()
    {
        handling_ = true;
        const std::int64_t now_ms = wall_clock_ms();
        std::string_view bytes = in_.view();
        bool bad = false;
        wanted_ = 0;
        while (!ending_) {
            const wire::scan_result found = wire::scan(bytes);
            if (found.status == wire::scan_status::complete) {
                owner_->handler_.request(*this, found.parts, now_ms);
                bytes.remove_prefix(found.size);
                continue;
            }
            bad = found.status == wire::scan_status::bad;
            wanted_ = found.size;
            break;
        }
        in_.consume(in_.size() - bytes.size());
        handling_ = false;
        if (bad)
            ending_ = true;  // what was asked before the bad bytes is still answered
    }

    void write()
    {
        writing_ = true;
        std::swap(out_, unwritten_);
        if (tls_ != nullptr) {
            if (!unwritten_.empty())
                tls_->write(unwritten_.view());
            unwritten_.clear();
            tls_->take_output(unwritten_);
        }
        asio::async_write(socket_, asio::buffer(unwritten_.data(), unwritten_.size()),
                          [self = self()](const error_code& ec, std::size_t) { self->on_written(ec); });
    }

    void on_written(const error_code& ec)
    {
        writing_ = false;
        unwritten_.clear();
        if (closed_ || owner_ == nullptr)
            return;
        std::lock_guard lock(owner_->state_.mutex);
        if (ec) {
            close();
            return;
        }
        if (ending_) {
            finish_if_written();
            return;
        }
        flush();
        read();
    }

    void finish_if_written()
    {
        if (writing_ || closed_)
            return;
        if (has_output()) {
            write();
            return;
        }
        close();
    }

    server* owner_;
    tcp::socket socket_;
    const security security_;
    bool undecided_;  // nothing was read yet that tells whether it speaks TLS
    std::unique_ptr<tls::session> tls_;
    wire::buffer cipher_;
    wire::buffer in_, unwritten_;
    std::size_t wanted_ = 0;
    bool reading_ = false, writing_ = false, handling_ = false, ending_ = false, closed_ = false;
};

server::server(asio::io_context& io, service& handler, guard& state)
    : io_(io), handler_(handler), state_(state), acceptor_(io), timer_(io)
{
}

server::~server()
{
    close();
}

error_code server::listen(const tcp::endpoint& at)
{
    error_code ec;
    if (listening_ && at == endpoint_)
        return ec;
    const auto kept = kept_.find(at);
    tcp::acceptor fresh = kept == kept_.end() ? tcp::acceptor(io_) : std::move(kept->second);
    if (kept != kept_.end())
        kept_.erase(kept);
    if (!fresh.is_open()) {
        fresh.open(at.protocol(), ec);
        if (!ec)
            fresh.set_option(asio::socket_base::reuse_address(true), ec);
        if (!ec)
            fresh.bind(at, ec);
    }
    if (!ec)
        fresh.listen(asio::socket_base::max_listen_connections, ec);
    const tcp::endpoint bound = ec ? tcp::endpoint{} : fresh.local_endpoint(ec);
    if (ec)
        return ec;
    if (listening_)
        ec = keep_port();
    close_connections();
    acceptor_ = std::move(fresh);
    endpoint_ = bound;
    listening_ = true;
    accept();
    return ec;
}

error_code server::refuse()
{
    const error_code ec = listening_ ? keep_port() : error_code{};
    close_connections();
    return ec;
}

/// Stops listening. A bound socket that does not listen refuses connections, and no other program can take the port.
error_code server::keep_port()
{
    error_code ec;
    listening_ = false;
    acceptor_.close(ec);
    tcp::acceptor kept(io_);
    kept.open(endpoint_.protocol(), ec);
    if (!ec)
        kept.set_option(asio::socket_base::reuse_address(true), ec);
    if (!ec)
        kept.bind(endpoint_, ec);
    if (!ec)
        kept_.insert_or_assign(endpoint_, std::move(kept));
    return ec;
}

void server::stall(bool on)
{
    if (std::exchange(stalled_, on) == on || on)
        return;
    for (const auto& one : std::set(connections_))  // some may close over it
        one->resume();
}

void server::close() noexcept
{
    error_code ignored;
    listening_ = false;
    acceptor_.close(ignored);
    kept_.clear();
    timer_.cancel();
    late_.clear();
    close_connections();
}

void server::close_connections() noexcept
{
    while (!connections_.empty())
        (*connections_.begin())->close();
}

void server::accept()
{
    acceptor_.async_accept([this](const error_code& ec, tcp::socket socket) {
        if (ec == asio::error::operation_aborted || !listening_)
            return;
        std::lock_guard lock(state_.mutex);
        error_code failed = ec;
        tcp::endpoint remote;
        if (!failed)
            remote = socket.remote_endpoint(failed);
        if (!failed) {
            socket.set_option(tcp::no_delay(true), failed);
            auto fresh = std::make_shared<connection>(*this, std::move(socket), remote);
            connections_.insert(fresh);
            handler_.opened(*fresh);
            state_.tell();
            fresh->start();
        }
        accept();
    });
}

void server::later(std::chrono::steady_clock::time_point due, late_answer answer)
{
    late_.emplace(due, std::move(answer));
    arm();
}

void server::arm()
{
    if (late_.empty() || (armed_ && *armed_ <= late_.begin()->first))
        return;
    armed_ = late_.begin()->first;
    timer_.expires_at(*armed_);
    timer_.async_wait([this](const error_code& ec) {
        if (ec)
            return;
        std::lock_guard lock(state_.mutex);
        armed_.reset();
        std::set<std::shared_ptr<peer>> touched;
        const auto now = std::chrono::steady_clock::now();
        while (!late_.empty() && late_.begin()->first <= now) {
            const late_answer answer = std::move(late_.begin()->second);
            late_.erase(late_.begin());
            if (const auto to = answer.to.lock(); to != nullptr) {
                to->out().put(answer.bytes);
                to->end(answer.then);
                touched.insert(to);
            }
        }
        for (const auto& to : touched)
            to->flush();
        arm();
    });
}

}  // namespace shunt::cluster
