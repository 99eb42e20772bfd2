#include <net/probe.hpp>

#include <net/resolver.hpp>
#include <tls/session.hpp>
#include <wire/buffer.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <memory>
#include <utility>

namespace shunt::net {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t read_size = 16 * 1024;

struct trial : std::enable_shared_from_this<trial> {
    trial(links& l, std::string to, std::function<void(bool)> d)
        : owner(l), keep(l.lifetime.lock()), address(std::move(to)), socket(l.executor()), limit(l.executor()), done(std::move(d))
    {
    }

    void connected()
    {
        if (owner.certificates == nullptr)
            return end(true);
        const auto parts = split_address(address);
        tls = tls::session::client(owner.certificates, address, parts ? parts->host : address);
        shake();
    }
    /// Says what the handshake has to say, then listens.
    void shake()
    {
        out.clear();
        tls->take_output(out);
        if (out.empty())
            return hear();
        boost::asio::async_write(socket, boost::asio::buffer(out.data(), out.size()), [t = shared_from_this()](const error_code& ec, std::size_t) {
            if (t->done)
                ec ? t->end(false) : t->hear();
        });
    }
    void hear()
    {
        char* to = in.grab(read_size);
        socket.async_read_some(boost::asio::buffer(to, read_size), [t = shared_from_this()](const error_code& ec, std::size_t count) {
            if (!t->done)
                return;
            if (ec)
                return t->end(false);
            t->in.advance(count);
            const auto s = t->tls->received(t->in.view(), t->said);
            t->in.clear();
            if (s != tls::session::status::more)
                t->end(false);
            else if (t->tls->up())
                t->end(true);
            else
                t->shake();
        });
    }
    void end(bool reached)
    {
        if (!done)
            return;
        owner.not_at_close(number);
        limit.cancel();
        error_code ignored;
        if (tls != nullptr && socket.is_open()) {  // the end of the handshake, and that nothing more comes: if it goes out at once
            tls->finish();
            out.clear();
            tls->take_output(out);
            socket.non_blocking(true, ignored);
            (void)socket.write_some(boost::asio::buffer(out.data(), out.size()), ignored);
        }
        socket.close(ignored);
        owner.refresh();
        std::exchange(done, {})(reached);
    }
    links& owner;
    std::shared_ptr<void> keep;
    std::string address;
    tcp::socket socket;
    boost::asio::steady_timer limit;
    std::function<void(bool)> done;
    std::uint64_t number = 0;
    std::unique_ptr<tls::session> tls;  // null: plain
    wire::buffer out, in, said;
};

}  // namespace

void probe(links& l, const std::string& address, std::chrono::milliseconds limit, std::function<void(bool reached)> done)
{
    if (l.closed()) {
        done(false);
        return;
    }
    auto t = std::make_shared<trial>(l, address, std::move(done));
    t->number = l.at_close([t] { t->end(false); });
    t->limit.expires_after(limit);
    t->limit.async_wait([t](const error_code& ec) {
        if (!ec)
            t->end(false);
    });
    l.names().resolve(address, l.now_ns(), [t](const auto& endpoints, const std::string&) {
        if (!t->done)
            return;
        if (endpoints.empty()) {
            t->end(false);
            return;
        }
        t->socket.async_connect(endpoints.front(), [t](const error_code& ec) {
            if (t->done)
                ec ? t->end(false) : t->connected();
        });
    });
}

}  // namespace shunt::net
