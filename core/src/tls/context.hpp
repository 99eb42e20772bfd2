// What connections under TLS have in common: whom to trust, who we are, and the sessions that can be taken up again.

#pragma once

#include <shunt/options.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

struct ssl_ctx_st;
struct ssl_session_st;

namespace shunt::tls {

/// A setting that cannot be used: "ca", what was found, what would be right.
struct problem {
    std::string key, found, expected;
};

/// The serving side's settings: paths of PEM files.
struct server_settings {
    std::string certificate, key;
    std::string ca;  ///< of clients, which must have a certificate then; empty: none is asked for
};

/// One thread at a time. Files are read when it is made, and not again.
class context {
public:
    /// Null: problems were appended. Neither shows a password.
    [[nodiscard]] static std::shared_ptr<context> client(const tls_options& options, std::vector<problem>& problems);
    [[nodiscard]] static std::shared_ptr<context> server(const server_settings& settings, std::vector<problem>& problems);
    ~context();
    context(const context&) = delete;
    context& operator=(const context&) = delete;

private:
    friend class session;
    struct free_context {
        void operator()(ssl_ctx_st* c) const noexcept;
    };
    struct free_session {
        void operator()(ssl_session_st* s) const noexcept;
    };
    context();

    std::unique_ptr<ssl_ctx_st, free_context> context_;
    std::string server_name_;
    tls_verify verify_ = tls_verify::full;
    std::map<std::string, std::unique_ptr<ssl_session_st, free_session>, std::less<>> sessions_;  // by peer, the latest
};

}  // namespace shunt::tls
