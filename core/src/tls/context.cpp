#include <tls/context.hpp>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace shunt::tls {

namespace {

/// Never asks a terminal, as OpenSSL would.
int give_password(char* to, int size, int, void* password)
{
    const auto& text = *static_cast<const std::string*>(password);
    if (text.empty() || text.size() > static_cast<std::size_t>(size))
        return -1;
    std::memcpy(to, text.data(), text.size());
    return static_cast<int>(text.size());
}

/// Empty: the file can be read.
std::string why_unreadable(const std::string& file)
{
    errno = 0;
    std::FILE* opened = std::fopen(file.c_str(), "rbe");
    if (opened == nullptr)
        return std::generic_category().message(errno);
    char first = 0;
    const bool read = std::fread(&first, 1, 1, opened) == 1;
    const int error = std::ferror(opened) != 0 ? errno : 0;
    std::fclose(opened);
    return read ? "" : error != 0 ? std::generic_category().message(error) : "it is empty";
}

class reader {
public:
    reader(SSL_CTX* context, std::vector<problem>& problems) : context_(context), problems_(problems) {}

    void certificate_and_key(const std::string& certificate, const std::string& key, const std::string& password)
    {
        ERR_clear_error();
        const bool has_certificate = readable("certificate", certificate) &&
                                     taken(SSL_CTX_use_certificate_chain_file(context_, certificate.c_str()), "certificate", certificate,
                                           "a PEM file with our certificate first");
        SSL_CTX_set_default_passwd_cb(context_, give_password);
        SSL_CTX_set_default_passwd_cb_userdata(context_, const_cast<std::string*>(&password));
        const bool has_key = readable("key", key) && taken(SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM), "key", key,
                                                          has_certificate && key_is_of_another(key, password)
                                                              ? fmt::format("the private key of the certificate in '{}'", certificate)
                                                          : password.empty() ? "a PEM file with a private key that needs no password"
                                                                             : "a PEM file with a private key that key_password opens");
        SSL_CTX_set_default_passwd_cb_userdata(context_, nullptr);
        if (has_certificate && has_key)
            taken(SSL_CTX_check_private_key(context_), "key", key, fmt::format("the private key of the certificate in '{}'", certificate));
    }

    void authorities(const std::string& file)
    {
        if (readable("ca", file))
            taken(SSL_CTX_load_verify_file(context_, file.c_str()), "ca", file, "a PEM file with certificates of authorities");
    }

private:
    bool readable(const char* key, const std::string& file)
    {
        const std::string why = why_unreadable(file);
        if (!why.empty())
            problems_.push_back({key, fmt::format("'{}', which cannot be read: {}", file, why), "a file that can be read"});
        return why.empty();
    }
    bool taken(int done, const char* key, const std::string& file, std::string expected)
    {
        if (done != 1)
            problems_.push_back({key, fmt::format("'{}'", file), std::move(expected)});
        ERR_clear_error();
        return done == 1;
    }
    static bool key_is_of_another(const std::string& file, const std::string& password)
    {
        std::FILE* in = std::fopen(file.c_str(), "rbe");
        if (in == nullptr)
            return false;
        EVP_PKEY* key = PEM_read_PrivateKey(in, nullptr, give_password, const_cast<std::string*>(&password));
        std::fclose(in);
        EVP_PKEY_free(key);
        return key != nullptr;
    }

    SSL_CTX* context_;
    std::vector<problem>& problems_;
};

}  // namespace

void context::free_context::operator()(ssl_ctx_st* c) const noexcept { SSL_CTX_free(c); }
void context::free_session::operator()(ssl_session_st* s) const noexcept { SSL_SESSION_free(s); }

context::context() : context_(SSL_CTX_new(TLS_method()))
{
    if (context_ == nullptr)
        throw std::bad_alloc();
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

context::~context() = default;

std::shared_ptr<context> context::client(const tls_options& options, std::vector<problem>& problems)
{
    std::shared_ptr<context> made(new context());
    SSL_CTX* const c = made->context_.get();
    const std::size_t before = problems.size();
    made->server_name_ = options.server_name;
    made->verify_ = options.verify;
    if (options.min_version == tls_version::v1_3)
        SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION);
    reader files(c, problems);
    if (options.ca.empty())
        SSL_CTX_set_default_verify_paths(c);
    else
        files.authorities(options.ca);
    if (!options.certificate.empty())
        files.certificate_and_key(options.certificate, options.key, options.key_password);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    ERR_clear_error();
    return problems.size() == before ? made : nullptr;
}

std::shared_ptr<context> context::server(const server_settings& settings, std::vector<problem>& problems)
{
    std::shared_ptr<context> made(new context());
    SSL_CTX* const c = made->context_.get();
    const std::size_t before = problems.size();
    reader files(c, problems);
    files.certificate_and_key(settings.certificate, settings.key, "");
    if (!settings.ca.empty()) {
        files.authorities(settings.ca);
        SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    constexpr unsigned char id[] = "shunt";
    SSL_CTX_set_session_id_context(c, id, sizeof id - 1);
    ERR_clear_error();
    return problems.size() == before ? made : nullptr;
}

}  // namespace shunt::tls
