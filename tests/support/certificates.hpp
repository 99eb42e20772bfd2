// Certificates for tests, made by the program openssl when they are needed: an authority, and what it signs.

#pragma once

#include <filesystem>
#include <string>

namespace shunt::test {

struct key_pair {
    std::string certificate, key;  ///< PEM files; the key is PKCS#8, as Java wants it
};

/// Files lie in a folder of its own, which goes away with it. Throws std::runtime_error with openssl's words.
class authority {
public:
    explicit authority(const std::string& name);
    ~authority();
    authority(const authority&) = delete;
    authority& operator=(const authority&) = delete;

    /// Its own certificate: what those who trust it are given.
    [[nodiscard]] std::string certificate() const { return file("ca.crt"); }
    /// For `names`: "IP:127.0.0.1,DNS:localhost". `from_days`, `to_days`: when it is valid, from today.
    key_pair sign(const std::string& name, const std::string& names = "IP:127.0.0.1,DNS:localhost", int from_days = -1, int to_days = 2);
    /// A file with the same key under a password.
    [[nodiscard]] std::string locked(const key_pair& of, const std::string& password) const;
    [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

private:
    void openssl(const std::string& arguments) const;
    std::filesystem::path folder_;
};

}  // namespace shunt::test
