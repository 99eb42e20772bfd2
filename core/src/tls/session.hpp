// TLS over memory: bytes of the network in, what they say out, and the other way round. No sockets.

#pragma once

#include <tls/context.hpp>
#include <wire/buffer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;
struct x509_store_ctx_st;

namespace shunt::tls {

/// Why a session failed, as far as programs tell it apart.
enum class failure : std::uint8_t {
    none,
    no_tls,      ///< the peer speaks something else
    expired,     ///< its certificate is not valid now
    wrong_name,  ///< its certificate is for others
    untrusted,   ///< its certificate comes from nobody we trust
    refused,     ///< it refuses our certificate, or that we have none
    other,
};

/// One connection's. One thread at a time.
class session {
public:
    /// `peer`: "host:port", by which sessions are taken up again; its host is what the certificate must be for, unless the
    /// context has a name. The handshake begins: there is output.
    [[nodiscard]] static std::unique_ptr<session> client(std::shared_ptr<context> c, std::string peer, std::string_view host);
    [[nodiscard]] static std::unique_ptr<session> server(std::shared_ptr<context> c);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    enum class status : std::uint8_t {
        more,    ///< all is well
        ended,   ///< the peer says it writes no more
        failed,  ///< see why() and text(); the output tells the peer
    };
    /// Takes what came from the network, and appends what it says.
    [[nodiscard]] status received(std::string_view bytes, wire::buffer& said);
    /// The handshake is over: write() may be called.
    [[nodiscard]] bool up() const noexcept { return up_; }
    /// It went on where an earlier one with this peer had ended.
    [[nodiscard]] bool resumed() const noexcept;
    void write(std::string_view text);
    /// Tells the peer that nothing more is written.
    void finish();

    [[nodiscard]] bool has_output() const noexcept;
    /// Appends what is to go to the network.
    void take_output(wire::buffer& out);

    [[nodiscard]] failure why() const noexcept { return why_; }
    /// In words, without a full stop: "its certificate expired at Nov 29 10:00:00 2026 GMT".
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    struct free_ssl {
        void operator()(ssl_st* s) const noexcept;
    };
    explicit session(std::shared_ptr<context> c);
    status shake();
    status fail(int result);
    static int judge(int good, x509_store_ctx_st* chain);
    static int keep_session(ssl_st* ssl, ssl_session_st* fresh);

    std::shared_ptr<context> context_;
    std::unique_ptr<ssl_st, free_ssl> ssl_;
    std::string peer_, name_;
    bool up_ = false, first_ = true;
    failure why_ = failure::none;
    std::string text_;
};

}  // namespace shunt::tls
