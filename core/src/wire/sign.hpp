// Signs requests as brokers with access control check them: HMAC-SHA1 over the values of all fields, sorted by their
// names, and the body. The same rule in ACL 1.0 (4.4 and later) and in 2.0 (5.3 and later).

#pragma once

#include <wire/buffer.hpp>
#include <wire/command.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::wire {

/// HMAC-SHA1 under one key, as Base64.
class signature_key {
public:
    explicit signature_key(std::string_view secret_key);
    ~signature_key();
    signature_key(signature_key&&) noexcept;
    signature_key& operator=(signature_key&&) noexcept;

    /// Of the values of `fields` and the two parts of the body. Sorts `fields`; one called Signature does not count.
    [[nodiscard]] std::string sign(std::vector<field>& fields, std::string_view body, std::string_view body_end = {}) const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Adds AccessKey, SecurityToken and Signature to encoded requests. What is on the wire is what was signed, whatever the
/// request is and whoever encoded it.
class signer {
public:
    /// An empty token: none.
    signer(std::string access_key, std::string_view secret_key, std::string security_token);

    /// Signs the frame that begins at `start` of `out` and is the last one there. `tail`: what of its body is not in `out` yet.
    void sign(buffer& out, std::size_t start, std::string_view tail);

private:
    const std::string access_key_, security_token_;
    const signature_key key_;
    command_decoder decoder_;
    std::vector<field> fields_;
    buffer added_;
};

}  // namespace shunt::wire
