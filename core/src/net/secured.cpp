// Connections under TLS: the handshake after the connect, and bytes that are wrapped on their way out and in.

#include <net/connection.hpp>

#include <net/links.hpp>
#include <net/resolver.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

#include <utility>

namespace shunt::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t read_size = 64 * 1024;

errc errc_of(tls::failure f) noexcept
{
    switch (f) {
    case tls::failure::no_tls: return errc::no_tls;
    case tls::failure::expired: return errc::certificate_expired;
    case tls::failure::wrong_name: return errc::certificate_wrong_name;
    case tls::failure::untrusted: return errc::certificate_untrusted;
    case tls::failure::refused: return errc::certificate_refused;
    case tls::failure::none:
    case tls::failure::other: break;
    }
    return errc::tls_failed;
}

std::string words(const std::string& address, const tls::session& s) { return "no TLS with " + address + ": " + s.text(); }

}  // namespace

void connection::secure(const endpoints& all, std::size_t index)
{
    state_ = state::securing;
    in_.clear();
    cipher_in_.clear();
    const auto parts = split_address(address_);
    tls_ = tls::session::client(owner_.certificates, address_, parts ? parts->host : address_);
    shake(all, index);
}

/// Says what the handshake has to say, then listens.
void connection::shake(const endpoints& all, std::size_t index)
{
    auto bytes = std::make_shared<wire::buffer>();
    tls_->take_output(*bytes);
    if (bytes->empty()) {
        hear_handshake(all, index);
        return;
    }
    const auto what = asio::buffer(bytes->data(), bytes->size());
    asio::async_write(socket_, what, [self = shared_from_this(), bytes, all, index, attempt = attempt_](const error_code& ec, std::size_t) {
        if (self->attempt_ != attempt || self->state_ != state::securing)
            return;
        if (!ec) {
            self->hear_handshake(all, index);
            return;
        }
        self->owner_.refresh();
        self->end_tls();
        self->connect(all, index + 1, {"no TLS with " + self->address_ + ": " + ec.message(), errc::tls_failed});
    });
}

void connection::hear_handshake(const endpoints& all, std::size_t index)
{
    char* to = cipher_in_.grab(read_size);
    socket_.async_read_some(asio::buffer(to, read_size), [self = shared_from_this(), all, index, attempt = attempt_](const error_code& ec, std::size_t count) {
        connection& c = *self;
        if (c.attempt_ != attempt || c.state_ != state::securing)
            return;
        c.owner_.refresh();
        if (ec) {
            const bool ended = ec == asio::error::eof || ec == asio::error::connection_reset;
            c.end_tls();
            c.connect(all, index + 1, {"no TLS with " + c.address_ + ": " + (ended ? "it closed the connection; it may not speak it" : ec.message()),
                                       ended ? errc::no_tls : errc::tls_failed});
            return;
        }
        c.cipher_in_.advance(count);
        const tls::session::status s = c.tls_->received(c.cipher_in_.view(), c.in_);
        c.cipher_in_.clear();
        if (s != tls::session::status::more) {
            const failure why{words(c.address_, *c.tls_), errc_of(c.tls_->why())};
            c.end_tls();
            c.connect(all, index + 1, why);
        } else if (c.tls_->up()) {
            c.owner_.counts().tls_handshakes.fetch_add(1, std::memory_order_relaxed);
            c.owner_.counts().tls_resumed.fetch_add(c.tls_->resumed() ? 1 : 0, std::memory_order_relaxed);
            c.connected_now();  // what is left of the handshake goes out with the first write
            c.owner_.turn();
        } else {
            c.shake(all, index);
        }
    });
}

void connection::encrypt(batch& b)
{
    for (const asio::const_buffer& part : b.buffers)
        tls_->write({static_cast<const char*>(part.data()), part.size()});
    tls_->take_output(b.cipher);
    b.buffers.assign(1, asio::const_buffer(b.cipher.data(), b.cipher.size()));
}

void connection::received_cipher(std::size_t count)
{
    cipher_in_.advance(count);
    const std::uint64_t attempt = attempt_;
    const tls::session::status s = tls_->received(cipher_in_.view(), in_);
    cipher_in_.clear();
    if (!in_.empty()) {
        received(0);  // which goes on reading
    } else if (s == tls::session::status::more) {
        flush();
        read();
        return;
    }
    if (s == tls::session::status::more || attempt_ != attempt || state_ != state::up)
        return;
    if (s == tls::session::status::ended) {
        fail(send::ending::dropped, "the peer " + address_ + " closed the connection");
    } else {
        // A server looks at our certificate before it looks at what we ask, but says so after we have asked.
        const bool unheard = last_read_ns_ == 0;
        const std::string text = words(address_, *tls_);
        fail(unheard ? send::ending::refused : send::ending::dropped, text, errc_of(tls_->why()));
    }
    owner_.turn();
}

/// Tells the peer, if it can be told at once.
void connection::end_tls()
{
    if (tls_ == nullptr)
        return;
    tls_->finish();
    if (writing_ == nullptr && tls_->has_output() && socket_.is_open()) {
        wire::buffer last;
        tls_->take_output(last);
        error_code ignored;
        socket_.non_blocking(true, ignored);
        (void)socket_.write_some(asio::buffer(last.data(), last.size()), ignored);
    }
    tls_.reset();
}

}  // namespace shunt::net
