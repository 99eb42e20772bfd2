#include <wire/bytes.hpp>
#include <wire/frame.hpp>

#include <algorithm>

namespace shunt::wire {
namespace {

// Bytes other protocols begin with. A frame begins with a zero byte, since it is at most 16 MiB long.
struct foreign {
    std::string_view bytes;
    std::string_view name;
};

constexpr foreign known_foreign[] = {
    {"HTTP/", "an HTTP answer"},
    {"PRI * HTTP/2", "HTTP/2"},
    {"GET ", "an HTTP request"},
    {"POST ", "an HTTP request"},
    {"PUT ", "an HTTP request"},
    {"HEAD ", "an HTTP request"},
    {"OPTIONS ", "an HTTP request"},
    {"CONNECT ", "an HTTP request"},
    {"<!DOCTYPE", "HTML"},
    {"<html", "HTML"},
    {"SSH-", "SSH"},
    {"PROXY ", "the PROXY protocol"},
    {"\r\n\r\n", "the PROXY protocol, version 2"},
    {"220", "a mail or FTP server"},
    {"-ERR", "Redis"},
    {"-NOAUTH", "Redis"},
    {"AMQP", "AMQP"},
    {"\x16\x03", "TLS"},
    {"\x15\x03", "TLS (an alert)"},
    {"\x03\x00", "RDP"},
};

// One byte tells little; only TLS is known by its first.
std::string_view name_of_foreign(std::string_view bytes)
{
    if (bytes.size() < 2 && bytes[0] != '\x16')
        return {};
    for (const foreign& f : known_foreign) {
        const std::size_t size = std::min(bytes.size(), f.bytes.size());
        if (bytes.substr(0, size) == f.bytes.substr(0, size))
            return f.name;
    }
    return {};
}

std::string quoted_start(std::string_view bytes)
{
    bytes = bytes.substr(0, 16);
    const bool text = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
    std::string out;
    if (text)
        return out.append("\"").append(bytes).append("\"");
    for (const char c : bytes) {
        if (!out.empty())
            out += ' ';
        out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
        out += "0123456789abcdef"[c & 0xf];
    }
    return out;
}

scan_result bad(std::string what)
{
    scan_result r;
    r.status = scan_status::bad;
    r.what = std::move(what);
    return r;
}

// For bytes whose length field is beyond any limit, or will be once it is complete.
scan_result too_large(std::string_view bytes)
{
    std::string what;
    if (const auto name = name_of_foreign(bytes); !name.empty()) {
        what.append("not RocketMQ: looks like ").append(name);
    } else {
        what = "not RocketMQ, or a frame too large: its length ";
        if (bytes.size() < 4)
            what += "is over " + std::to_string(max_frame - 4) + " bytes";
        else if (const std::uint32_t length = load_u32(bytes.data()); length > INT32_MAX)
            what += "is negative";
        else
            what += "is " + std::to_string(length) + " bytes, at most " + std::to_string(max_frame - 4) + " are accepted";
    }
    return bad(what.append("; the bytes begin with ").append(quoted_start(bytes)));
}

// The first frame an HTTP/2 server sends: SETTINGS (4) on stream 0. Read as ours it is a header of no bytes.
bool looks_like_http2_settings(std::string_view bytes)
{
    return bytes.size() >= 9 && bytes[3] == 4 && bytes.substr(5, 4) == std::string_view{"\0\0\0\0", 4};
}

}  // namespace

scan_result scan(std::string_view bytes)
{
    scan_result r;
    if (bytes.empty())
        return r;
    // A frame of at most 16 MiB has a length below 2^24, so one byte is enough to tell most strangers.
    if (bytes[0] != 0)
        return too_large(bytes);
    if (bytes.size() < 4)
        return r;
    const std::size_t length = load_u32(bytes.data());
    if (length == 0)
        return bad("not RocketMQ: the frame length is 0; a frame holds at least its header");
    if (length < 4)
        return bad("broken frame: its length is " + std::to_string(length) + "; it must be at least 4 and the header");
    if (length > max_frame - 4)
        return bad("frame too large: its length is " + std::to_string(length) + " bytes; at most " +
                   std::to_string(max_frame - 4) + " are accepted");
    r.size = length + 4;
    if (bytes.size() < 5)
        return r;
    const auto type = static_cast<unsigned char>(bytes[4]);
    if (type > 1) {
        if (looks_like_http2_settings(bytes))
            return bad("not RocketMQ: looks like HTTP/2");
        return bad("broken frame: its serialize type is " + std::to_string(type) + "; it must be 0 (JSON) or 1 (binary)");
    }
    if (bytes.size() < 8)
        return r;
    const std::size_t header = load_u32(bytes.data() + 4) & 0xffffff;
    if (header > length - 4)
        return bad("broken frame: its header length is " + std::to_string(header) + ", but only " +
                   std::to_string(length - 4) + " bytes follow in the frame");
    if (header == 0) {
        if (looks_like_http2_settings(bytes))
            return bad("not RocketMQ: looks like HTTP/2");
        return bad("broken frame: its header length is 0; a header has at least 2 bytes");
    }
    if (bytes.size() < r.size)
        return r;
    r.status = scan_status::complete;
    r.parts.format = type == 0 ? header_format::json : header_format::binary;
    r.parts.header = bytes.substr(8, header);
    r.parts.body = bytes.substr(8 + header, length - 4 - header);
    return r;
}

}  // namespace shunt::wire
