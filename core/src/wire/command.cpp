#include <wire/bytes.hpp>
#include <wire/command.hpp>
#include <wire/field_writers.hpp>
#include <wire/json_reader.hpp>

namespace shunt::wire {
namespace {

// By their code on the wire.
constexpr std::string_view languages[] = {"JAVA", "CPP",  "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY",
                                          "OTHER", "HTTP", "GO",     "PHP",    "OMS",    "RUST",   "NODE_JS"};
constexpr std::uint8_t language_other = 7;

// Headers of real peers have a dozen fields. The bound keeps a hostile one from filling the memory with views.
constexpr std::size_t max_fields = 4096;

// Scratch memory kept between headers; what one huge header needed beyond it is given back.
constexpr std::size_t kept_scratch = 64 * 1024;

std::string_view known_language(std::string_view name) noexcept
{
    for (const auto l : languages) {
        if (l == name)
            return l;
    }
    return {};
}

std::uint8_t language_code(std::string_view name) noexcept
{
    for (std::size_t i = 0; i < std::size(languages); ++i) {
        if (languages[i] == name)
            return static_cast<std::uint8_t>(i);
    }
    return language_other;
}

using kind = json_reader::kind;

bool read_i32(json_reader& json, std::int32_t& out)
{
    if (json.plain_number(out))
        return true;
    kind was;
    std::string_view text;
    if (!json.value(text, was))
        return false;
    if (was == kind::null)
        return true;
    std::int64_t v;
    if ((was != kind::number && was != kind::text) || !read_decimal(text, v) || v < INT32_MIN || v > INT32_MAX)
        return json.fail("code, opaque, flag and version must be whole 32-bit numbers");
    out = static_cast<std::int32_t>(v);
    return true;
}

bool read_text(json_reader& json, std::string_view& out)
{
    kind was;
    if (!json.value(out, was))
        return false;
    if (was == kind::null)
        out = {};
    return true;
}

bool read_fields(json_reader& json, std::vector<field>& fields)
{
    fields.clear();
    kind was;
    field f;
    if (json.peek() == kind::null)
        return json.value(f.value, was);
    if (!json.enter('{'))
        return false;
    for (;;) {
        if (!json.plain_member(f.name, f.value)) {
            if (!json.next_member(f.name))
                break;
            if (!json.value(f.value, was))
                return false;
            if (was == kind::null)
                continue;
        }
        if (fields.size() == max_fields)
            return json.fail("a header may have at most 4096 fields");
        fields.push_back(f);
    }
    return !json.failed();
}

bool fits_binary(const outgoing& head) noexcept
{
    const auto i16 = [](std::int32_t v) { return v >= INT16_MIN && v <= INT16_MAX; };
    if (!i16(head.code) || !i16(head.version))
        return false;
    for (const field& f : head.fields) {
        if (f.name.size() > INT16_MAX)
            return false;
    }
    return true;
}

template <typename Writer>
void put_fields(Writer& w, std::span<const field> fields) noexcept
{
    for (const field& f : fields) {
        if (!f.value.empty() && !f.name.empty())
            w.any(f.name, f.value);
    }
}

template <typename Writer>
std::size_t fields_room(std::span<const field> fields) noexcept
{
    std::size_t room = 0;
    for (const field& f : fields)
        room += Writer::room(f.name.size(), f.value.size());
    return room;
}

char* put_json_header(char* p, const outgoing& head) noexcept
{
    p = put_literal(p, "{\"code\":");
    p = put_decimal(p, head.code);
    p = put_literal(p, ",\"extFields\":{");
    json_field_writer w{p};
    put_fields(w, head.fields);
    p = w.p == p ? p : w.p - 1;
    p = put_literal(p, "},\"flag\":");
    p = put_decimal(p, head.flag);
    p = put_literal(p, ",\"language\":\"");
    p = put_json_text(p, head.language);
    p = put_literal(p, "\",\"opaque\":");
    p = put_decimal(p, head.opaque);
    if (!head.remark.empty()) {
        p = put_literal(p, ",\"remark\":\"");
        p = put_json_text(p, head.remark);
        p = put_literal(p, "\"");
    }
    p = put_literal(p, ",\"version\":");
    p = put_decimal(p, head.version);
    return put_literal(p, "}");
}

char* put_binary_header(char* p, const outgoing& head) noexcept
{
    p = store_u16(p, static_cast<std::uint16_t>(head.code));
    *p++ = static_cast<char>(language_code(head.language));
    p = store_u16(p, static_cast<std::uint16_t>(head.version));
    p = store_u32(p, static_cast<std::uint32_t>(head.opaque));
    p = store_u32(p, static_cast<std::uint32_t>(head.flag));
    p = store_u32(p, static_cast<std::uint32_t>(head.remark.size()));
    p = put_literal(p, head.remark);
    binary_field_writer w{p + 4};
    put_fields(w, head.fields);
    store_u32(p, static_cast<std::uint32_t>(w.p - (p + 4)));
    return w.p;
}

}  // namespace

std::optional<std::string_view> command::find(std::string_view name) const noexcept
{
    for (auto f = fields.rbegin(); f != fields.rend(); ++f) {
        if (f->name == name)
            return f->value;
    }
    return std::nullopt;
}

std::optional<std::int64_t> command::number(std::string_view name) const noexcept
{
    std::int64_t v;
    if (const auto text = find(name); text && read_decimal(*text, v))
        return v;
    return std::nullopt;
}

bool command_decoder::decode(const frame& f, command& out)
{
    out = {};
    fields_.clear();
    scratch_.clear();
    if (scratch_.capacity() > kept_scratch && f.header.size() <= kept_scratch)
        scratch_.shrink_to_fit();
    const bool good = f.format == header_format::json ? decode_json(f.header, out) : decode_binary(f.header, out);
    if (!good) {
        out = {};
        return false;
    }
    out.fields = fields_;
    return true;
}

bool command_decoder::decode_json(std::string_view header, command& out)
{
    json_reader json{header, scratch_};
    const auto read_member = [&](std::string_view name) {
        std::string_view ignored;
        switch (name.empty() ? '\0' : name.front()) {
        case 'c': return is(name, "code") ? read_i32(json, out.code) : json.value(ignored);
        case 'e': return is(name, "extFields") ? read_fields(json, fields_) : json.value(ignored);
        case 'f': return is(name, "flag") ? read_i32(json, out.flag) : json.value(ignored);
        case 'l': return is(name, "language") ? read_text(json, out.language) : json.value(ignored);
        case 'o': return is(name, "opaque") ? read_i32(json, out.opaque) : json.value(ignored);
        case 'r': return is(name, "remark") ? read_text(json, out.remark) : json.value(ignored);
        case 'v': return is(name, "version") ? read_i32(json, out.version) : json.value(ignored);
        default: return json.value(ignored);
        }
    };
    bool good = json.enter('{');
    for (std::string_view name; good && json.next_member(name);)
        good = read_member(name);
    if (!good || !json.finish()) {
        error_ = "JSON header, " + json.error();
        return false;
    }
    out.language = known_language(out.language);
    return true;
}

bool command_decoder::decode_binary(std::string_view header, command& out)
{
    byte_reader bytes{header};
    out.code = bytes.i16();
    const std::uint8_t language = bytes.u8();
    out.language = language < std::size(languages) ? languages[language] : std::string_view{};
    out.version = bytes.i16();
    out.opaque = bytes.i32();
    out.flag = bytes.i32();
    out.remark = bytes.take(bytes.i32());
    const std::int32_t fields_size = bytes.i32();
    if (!bytes.ok()) {
        error_ = "binary header: it has " + std::to_string(header.size()) + " bytes; its fixed part and remark need more";
        return false;
    }
    if (fields_size < 0 || static_cast<std::size_t>(fields_size) != bytes.left()) {
        error_ = "binary header: its fields claim " + std::to_string(fields_size) + " bytes, but " +
                 std::to_string(bytes.left()) + " follow";
        return false;
    }
    while (bytes.left() != 0) {
        field f;
        f.name = bytes.take(bytes.i16());
        f.value = bytes.take(bytes.i32());
        if (!bytes.ok()) {
            error_ = "binary header: field " + std::to_string(fields_.size() + 1) + " is longer than the header";
            return false;
        }
        if (f.name.empty() || f.value.empty())  // how the binary form says "absent"
            continue;
        if (fields_.size() == max_fields) {
            error_ = "binary header: a header may have at most 4096 fields";
            return false;
        }
        fields_.push_back(f);
    }
    return true;
}

void encode(buffer& out, header_format format, const outgoing& head, std::string_view body)
{
    const bool json = format == header_format::json || !fits_binary(head);
    const std::size_t room = 200 + (json ? json_text_room(head.remark.size()) + json_text_room(head.language.size()) +
                                               fields_room<json_field_writer>(head.fields)
                                         : head.remark.size() + fields_room<binary_field_writer>(head.fields));
    char* const start = out.grab(room + body.size());
    char* const header = start + 8;
    char* const end = json ? put_json_header(header, head) : put_binary_header(header, head);
    const auto header_size = static_cast<std::uint32_t>(end - header);
    store_u32(start, static_cast<std::uint32_t>(4 + header_size + body.size()));
    store_u32(start + 4, header_size | (json ? 0u : 1u << 24));
    put_literal(end, body);
    out.advance(8 + header_size + body.size());
}

}  // namespace shunt::wire
