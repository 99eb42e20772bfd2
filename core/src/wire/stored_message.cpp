#include <wire/bytes.hpp>
#include <wire/stored_message.hpp>

#include <zlib.h>

namespace shunt::wire {
namespace {

constexpr std::uint32_t magic_v1 = 0xdaa320a7, magic_v2 = 0xdaa320ab, magic_blank = 0xcbd43194;
constexpr std::int32_t born_is_ipv6 = 0x10, store_is_ipv6 = 0x20;
constexpr std::size_t longest_v1_topic = 127;

host_address read_host(byte_reader& in, bool ipv6) noexcept
{
    host_address host;
    host.ipv6 = ipv6;
    const std::string_view bytes = in.take(ipv6 ? 16 : 4);
    if (!bytes.empty())
        std::memcpy(host.address.data(), bytes.data(), bytes.size());
    host.port = in.u32();
    return host;
}

void put_host(buffer& out, const host_address& host)
{
    out.put({reinterpret_cast<const char*>(host.address.data()), host.ipv6 ? std::size_t{16} : std::size_t{4}});
    out.put_u32(host.port);
}

stored_status bad(std::string& what, std::string text)
{
    what = "stored message: " + std::move(text);
    return stored_status::bad;
}

}  // namespace

stored_status read_stored(std::string_view& bytes, stored_message& out, std::string& what)
{
    if (bytes.empty())
        return stored_status::end;
    byte_reader head{bytes};
    const std::int32_t size = head.i32();
    const std::uint32_t magic = head.u32();
    if (!head.ok())
        return bad(what, "only " + std::to_string(bytes.size()) + " bytes are left; its size and magic take 8");
    if (magic != magic_v1 && magic != magic_v2 && magic != magic_blank)
        return bad(what, "its magic is " + std::to_string(magic) + ", none that brokers write");
    if (size < 8 || static_cast<std::size_t>(size) > bytes.size())
        return bad(what, "it claims " + std::to_string(size) + " bytes, but " + std::to_string(bytes.size()) + " are left");
    const std::string_view whole = bytes.substr(0, static_cast<std::size_t>(size));
    if (magic == magic_blank) {
        bytes.remove_prefix(whole.size());
        return stored_status::blank;
    }

    byte_reader in{whole.substr(8)};
    stored_message m;
    m.body_crc = in.u32();
    m.queue_id = in.i32();
    m.flag = in.i32();
    m.queue_offset = in.i64();
    m.commit_log_offset = in.i64();
    m.sys_flag = in.i32();
    m.born_ms = in.i64();
    m.born_host = read_host(in, (m.sys_flag & born_is_ipv6) != 0);
    m.store_ms = in.i64();
    m.store_host = read_host(in, (m.sys_flag & store_is_ipv6) != 0);
    m.reconsume_times = in.i32();
    m.prepared_offset = in.i64();
    m.body = in.take(in.i32());
    m.topic = in.take(magic == magic_v1 ? in.u8() : in.i16());
    m.properties = in.take(in.i16());
    if (!in.ok())
        return bad(what, "its parts are longer than the " + std::to_string(size) + " bytes it claims");
    if (in.left() != 0)
        return bad(what, "it claims " + std::to_string(size) + " bytes, but its parts leave " + std::to_string(in.left()));
    bytes.remove_prefix(whole.size());
    out = m;
    return stored_status::message;
}

void put_stored(buffer& out, const stored_message& m)
{
    const bool long_topic = m.topic.size() > longest_v1_topic;
    const std::int32_t sys_flag = (m.sys_flag & ~(born_is_ipv6 | store_is_ipv6)) | (m.born_host.ipv6 ? born_is_ipv6 : 0) |
                                  (m.store_host.ipv6 ? store_is_ipv6 : 0);
    const std::size_t start = out.size();
    out.put_u32(0);
    out.put_u32(long_topic ? magic_v2 : magic_v1);
    out.put_u32(body_crc(m.body));
    out.put_u32(static_cast<std::uint32_t>(m.queue_id));
    out.put_u32(static_cast<std::uint32_t>(m.flag));
    out.put_u64(static_cast<std::uint64_t>(m.queue_offset));
    out.put_u64(static_cast<std::uint64_t>(m.commit_log_offset));
    out.put_u32(static_cast<std::uint32_t>(sys_flag));
    out.put_u64(static_cast<std::uint64_t>(m.born_ms));
    put_host(out, m.born_host);
    out.put_u64(static_cast<std::uint64_t>(m.store_ms));
    put_host(out, m.store_host);
    out.put_u32(static_cast<std::uint32_t>(m.reconsume_times));
    out.put_u64(static_cast<std::uint64_t>(m.prepared_offset));
    out.put_u32(static_cast<std::uint32_t>(m.body.size()));
    out.put(m.body);
    if (long_topic)
        out.put_u16(static_cast<std::uint16_t>(m.topic.size()));
    else
        out.put(static_cast<char>(m.topic.size()));
    out.put(m.topic);
    out.put_u16(static_cast<std::uint16_t>(m.properties.size()));
    out.put(m.properties);
    out.patch_u32(start, static_cast<std::uint32_t>(out.size() - start));
}

std::uint32_t body_crc(std::string_view body) noexcept
{
    const auto* bytes = reinterpret_cast<const Bytef*>(body.data());
    return static_cast<std::uint32_t>(crc32_z(0, body.empty() ? nullptr : bytes, body.size())) & 0x7fffffff;
}

}  // namespace shunt::wire
