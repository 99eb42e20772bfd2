#include <wire/sign.hpp>

#include <wire/base64.hpp>
#include <wire/bytes.hpp>
#include <wire/field_writers.hpp>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace shunt::wire {

namespace {

constexpr std::size_t sha1_size = 20;
constexpr std::string_view signature_name = "Signature";

void check(int done)
{
    if (done != 1)
        throw std::bad_alloc();  // HMAC-SHA1 of memory fails for no other reason
}

const unsigned char* bytes(std::string_view text) noexcept { return reinterpret_cast<const unsigned char*>(text.data()); }

template <typename Writer>
void put_fields(buffer& out, std::span<const field> fields)
{
    for (const field& f : fields) {
        char* const from = out.grab(Writer::room(f.name.size(), f.value.size()));
        Writer w{from};
        w.any(f.name, f.value);
        out.advance(static_cast<std::size_t>(w.p - from));
    }
}

/// Moves what is behind `at` and puts `what` there.
void insert(buffer& out, std::size_t at, std::string_view what)
{
    out.grab(what.size());
    std::memmove(out.data() + at + what.size(), out.data() + at, out.size() - at);
    std::memcpy(out.data() + at, what.data(), what.size());
    out.advance(what.size());
}

}  // namespace

struct signature_key::state {
    EVP_MAC* mac = nullptr;
    EVP_MAC_CTX* context = nullptr;
    ~state()
    {
        EVP_MAC_CTX_free(context);
        EVP_MAC_free(mac);
    }
};

signature_key::signature_key(std::string_view secret_key) : state_(std::make_unique<state>())
{
    state_->mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
    check(state_->mac != nullptr ? 1 : 0);
    state_->context = EVP_MAC_CTX_new(state_->mac);
    check(state_->context != nullptr ? 1 : 0);
    char digest[] = "SHA1";
    const std::array<OSSL_PARAM, 2> parameters{OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
    check(EVP_MAC_init(state_->context, bytes(secret_key), secret_key.size(), parameters.data()));
}

signature_key::~signature_key() = default;
signature_key::signature_key(signature_key&&) noexcept = default;
signature_key& signature_key::operator=(signature_key&&) noexcept = default;

std::string signature_key::sign(std::vector<field>& fields, std::string_view body, std::string_view body_end) const
{
    std::sort(fields.begin(), fields.end(), [](const field& a, const field& b) { return a.name < b.name; });
    check(EVP_MAC_init(state_->context, nullptr, 0, nullptr));  // the same key again
    for (const field& f : fields) {
        if (f.name != signature_name)
            check(EVP_MAC_update(state_->context, bytes(f.value), f.value.size()));
    }
    check(EVP_MAC_update(state_->context, bytes(body), body.size()));
    check(EVP_MAC_update(state_->context, bytes(body_end), body_end.size()));
    std::array<unsigned char, sha1_size> sum;
    std::size_t size = 0;
    check(EVP_MAC_final(state_->context, sum.data(), &size, sum.size()));
    return to_base64({reinterpret_cast<const char*>(sum.data()), size});
}

signer::signer(std::string access_key, std::string_view secret_key, std::string security_token)
    : access_key_(std::move(access_key)), security_token_(std::move(security_token)), key_(secret_key)
{
}

void signer::sign(buffer& out, std::size_t start, std::string_view tail)
{
    constexpr std::size_t before_header = 8;
    const char* const from = out.data() + start;
    const std::uint32_t size = load_u32(from), word = load_u32(from + 4);
    frame f;
    f.format = static_cast<header_format>(word >> 24);
    f.header = {from + before_header, word & 0xffffff};
    command head;
    if (!decoder_.decode(f, head))
        return;  // we wrote it: it can be read
    const std::string_view body = out.view().substr(start + before_header + f.header.size());
    fields_.assign(head.fields.begin(), head.fields.end());
    std::array<field, 3> more{field{"AccessKey", access_key_}, field{"SecurityToken", security_token_}, field{}};
    std::size_t count = security_token_.empty() ? 1 : 2;
    fields_.insert(fields_.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(count));
    const std::string signature = key_.sign(fields_, body, tail);
    more[count++] = {signature_name, signature};

    const std::span<const field> adding{more.data(), count};
    added_.clear();
    const std::size_t header = start + before_header, header_end = header + f.header.size();
    if (f.format == header_format::json) {
        constexpr std::string_view opening = "\"extFields\":{";
        const std::size_t at = header + f.header.find(opening) + opening.size();
        put_fields<json_field_writer>(added_, adding);
        if (out.view()[at] == '}')
            added_.truncate(added_.size() - 1);  // no field follows the comma
        insert(out, at, added_.view());
    } else {
        constexpr std::size_t before_remark = 17;  // code to the remark's size
        const std::size_t fields_at = header + before_remark + head.remark.size();
        put_fields<binary_field_writer>(added_, adding);
        const auto fields_size = load_u32(out.data() + fields_at) + static_cast<std::uint32_t>(added_.size());
        insert(out, header_end, added_.view());
        out.patch_u32(fields_at, fields_size);
    }
    const auto longer = static_cast<std::uint32_t>(added_.size());
    out.patch_u32(start, size + longer);
    out.patch_u32(start + 4, word + longer);
}

}  // namespace shunt::wire
