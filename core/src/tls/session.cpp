#include <tls/session.hpp>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace shunt::tls {

namespace {

constexpr std::size_t record_size = 16 * 1024;
constexpr std::size_t max_sessions = 4096;  // that may be taken up again

bool is_address(const std::string& name)
{
    ASN1_OCTET_STRING* const bytes = a2i_IPADDRESS(name.c_str());
    ASN1_OCTET_STRING_free(bytes);
    ERR_clear_error();
    return bytes != nullptr;
}

std::string text_of(BIO* memory)
{
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(memory);
    return text;
}

std::string time_text(const ASN1_TIME* t)
{
    BIO* const memory = BIO_new(BIO_s_mem());
    ASN1_TIME_print(memory, t);
    return text_of(memory);
}

/// The names a certificate is for: "DNS:localhost, IP Address:127.0.0.1", else its subject.
std::string names_of(X509* certificate)
{
    BIO* const memory = BIO_new(BIO_s_mem());
    const int at = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
    if (at >= 0)
        X509V3_EXT_print(memory, X509_get_ext(certificate, at), 0, 0);
    else
        X509_NAME_print_ex(memory, X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE);
    return text_of(memory).substr(0, 200);
}

std::string issuer_of(X509* certificate)
{
    BIO* const memory = BIO_new(BIO_s_mem());
    X509_NAME_print_ex(memory, X509_get_issuer_name(certificate), 0, XN_FLAG_ONELINE);
    return text_of(memory).substr(0, 200);
}

constexpr bool is_about_certificates(int alert) noexcept
{
    return (alert >= 41 && alert <= 46) || alert == 48 || alert == 49 || alert == 116;
}

}  // namespace

void session::free_ssl::operator()(ssl_st* s) const noexcept { SSL_free(s); }

session::session(std::shared_ptr<context> c) : context_(std::move(c)), ssl_(SSL_new(context_->context_.get()))
{
    if (ssl_ == nullptr)
        throw std::bad_alloc();
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
}

session::~session()
{
    // However a connection ended, its session may be taken up again.
    SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

std::unique_ptr<session> session::client(std::shared_ptr<context> c, std::string peer, std::string_view host)
{
    std::unique_ptr<session> made(new session(std::move(c)));
    SSL* const s = made->ssl_.get();
    context& shared = *made->context_;
    made->peer_ = std::move(peer);
    made->name_ = shared.server_name_.empty() ? std::string(host) : shared.server_name_;
    SSL_set_connect_state(s);
    if (shared.verify_ != tls_verify::none)
        SSL_set_verify(s, SSL_VERIFY_PEER, judge);
    const bool address = is_address(made->name_);
    if (!address)
        SSL_set_tlsext_host_name(s, made->name_.c_str());
    if (shared.verify_ == tls_verify::full) {
        X509_VERIFY_PARAM* const wanted = SSL_get0_param(s);
        X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        const int set = address ? X509_VERIFY_PARAM_set1_ip_asc(wanted, made->name_.c_str())
                                : X509_VERIFY_PARAM_set1_host(wanted, made->name_.c_str(), made->name_.size());
        if (set != 1)
            throw std::bad_alloc();
    }
    SSL_CTX_sess_set_new_cb(shared.context_.get(), keep_session);
    if (const auto before = shared.sessions_.find(made->peer_); before != shared.sessions_.end())
        SSL_set_session(s, before->second.get());
    (void)made->shake();
    return made;
}

std::unique_ptr<session> session::server(std::shared_ptr<context> c)
{
    std::unique_ptr<session> made(new session(std::move(c)));
    SSL_set_accept_state(made->ssl_.get());
    return made;
}

bool session::resumed() const noexcept { return SSL_session_reused(ssl_.get()) == 1; }

/// Called for each certificate of a chain: notes what is wrong with it, while it can be seen.
int session::judge(int good, x509_store_ctx_st* chain)
{
    if (good == 1)
        return 1;
    const auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    session& self = *static_cast<session*>(SSL_get_app_data(ssl));
    X509* const bad = X509_STORE_CTX_get_current_cert(chain);
    const int error = X509_STORE_CTX_get_error(chain);
    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        self.why_ = failure::expired;
        self.text_ = fmt::format("its certificate expired at {}", bad != nullptr ? time_text(X509_get0_notAfter(bad)) : "a time before now");
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        self.why_ = failure::expired;
        self.text_ = fmt::format("its certificate is valid from {} on", bad != nullptr ? time_text(X509_get0_notBefore(bad)) : "a later time");
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        self.why_ = failure::wrong_name;
        self.text_ = fmt::format("its certificate is for {}, not for {} (see server_name in [tls])", bad != nullptr ? names_of(bad) : "others", self.name_);
        break;
    default:
        self.why_ = failure::untrusted;
        self.text_ = fmt::format("its certificate, which {} signed, is not trusted: {} (see ca in [tls])",
                                 bad != nullptr ? issuer_of(bad) : "somebody", X509_verify_cert_error_string(error));
    }
    return 0;
}

int session::keep_session(ssl_st* ssl, ssl_session_st* fresh)
{
    const session& self = *static_cast<session*>(SSL_get_app_data(ssl));
    auto& kept = self.context_->sessions_;
    if (kept.size() >= max_sessions)
        kept.clear();
    kept[self.peer_].reset(fresh);
    return 1;  // it is ours now
}

session::status session::received(std::string_view bytes, wire::buffer& said)
{
    if (why_ != failure::none)
        return status::failed;
    if (std::exchange(first_, first_ && bytes.empty()) && !bytes.empty()) {
        constexpr char alert = 0x15, handshake = 0x16;
        if (bytes.front() != handshake && bytes.front() != alert) {
            why_ = failure::no_tls;
            text_ = "it does not speak TLS";
            return status::failed;
        }
    }
    BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    if (!up_) {
        const status s = shake();
        if (s != status::more || !up_)
            return s;
    }
    for (;;) {
        ERR_clear_error();
        char* const to = said.grab(record_size);
        const int count = SSL_read(ssl_.get(), to, static_cast<int>(record_size));
        if (count <= 0)
            return fail(count);
        said.advance(static_cast<std::size_t>(count));
    }
}

session::status session::shake()
{
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl_.get());
    if (done != 1)
        return fail(done);
    up_ = true;
    return status::more;
}

/// What the result of a call that did not do all it might says.
session::status session::fail(int result)
{
    switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return status::more;
    case SSL_ERROR_ZERO_RETURN: return status::ended;
    default: break;
    }
    const unsigned long error = ERR_peek_error();
    ERR_clear_error();
    if (why_ != failure::none)  // the certificate was judged: that is why
        return status::failed;
    const int alert = ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET : 0;
    const char* const words = ERR_reason_error_string(error);
    if (is_about_certificates(alert)) {
        why_ = failure::refused;
        text_ = fmt::format("it refuses {}: {}", SSL_get_certificate(ssl_.get()) != nullptr ? "our certificate" : "us, who have no certificate", words);
    } else {
        why_ = failure::other;
        text_ = fmt::format("TLS failed: {}", words != nullptr ? words : "for no reason that is known");
    }
    return status::failed;
}

void session::write(std::string_view text)
{
    while (!text.empty() && why_ == failure::none) {
        ERR_clear_error();
        const int count = SSL_write(ssl_.get(), text.data(), static_cast<int>(std::min(text.size(), record_size)));
        if (count <= 0) {
            (void)fail(count);
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

void session::finish()
{
    if (up_ && why_ == failure::none)
        (void)SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

bool session::has_output() const noexcept { return BIO_ctrl_pending(SSL_get_wbio(ssl_.get())) != 0; }

void session::take_output(wire::buffer& out)
{
    BIO* const from = SSL_get_wbio(ssl_.get());
    const std::size_t size = BIO_ctrl_pending(from);
    if (size == 0)
        return;
    const int count = BIO_read(from, out.grab(size), static_cast<int>(size));
    out.advance(static_cast<std::size_t>(std::max(count, 0)));
}

}  // namespace shunt::tls
