#include "raw_client.hpp"

#include <wire/batch.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace shunt::test {

std::string answer::field(const std::string& name) const
{
    const auto it = fields.find(name);
    return it == fields.end() ? std::string{} : it->second;
}

std::string request(std::int32_t code, const fields& ext, std::int32_t opaque, std::string_view body, bool oneway,
                    wire::header_format format, std::int32_t version)
{
    std::vector<wire::field> list;
    for (const auto& [name, value] : ext)
        list.push_back({name, value});
    wire::outgoing head;
    head.code = code;
    head.opaque = opaque;
    head.flag = oneway ? wire::flag_oneway : 0;
    head.version = version;
    head.language = "JAVA";
    head.fields = list;
    wire::buffer out;
    wire::encode(out, format, head, body);
    return std::string(out.view());
}

std::string encoded(const send_request& r)
{
    wire::send_head head;
    head.group = "PG";
    head.topic = r.topic;
    head.queue_id = r.queue;
    head.sys_flag = r.sys_flag;
    head.born_ms = 1'700'000'000'000;
    head.flag = r.flag;
    head.properties = r.properties;
    head.broker = "broker-a";
    head.batch = r.batch;
    wire::buffer out;
    wire::encode_send_head(out, r.format, r.code, r.opaque, r.oneway, head, r.body.size());
    out.put(r.body);
    return std::string(out.view());
}

std::string batch_item(std::string_view body, std::string_view properties, std::int32_t flag)
{
    wire::buffer out;
    wire::put_batch_item(out, {.flag = flag, .body = body, .properties = properties});
    return std::string(out.view());
}

raw_client::raw_client(const std::string& address)
{
    const auto colon = address.rfind(':');
    const auto port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    const bool is_v6 = address.front() == '[';
    if (is_v6) {
        v6.sin6_family = AF_INET6;
        v6.sin6_port = port;
        ::inet_pton(AF_INET6, address.substr(1, colon - 2).c_str(), &v6.sin6_addr);
    } else {
        v4.sin_family = AF_INET;
        v4.sin_port = port;
        ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &v4.sin_addr);
    }
    fd_ = ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* to = is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
    if (::connect(fd_, to, is_v6 ? sizeof v6 : sizeof v4) != 0) {
        refused_ = errno == ECONNREFUSED;
        ::close(fd_);
        fd_ = -1;
    }
}

raw_client::~raw_client()
{
    if (fd_ >= 0)
        ::close(fd_);
}

void raw_client::send(std::string_view bytes)
{
    while (!bytes.empty()) {
        const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0)
            return;  // what a test then misses, it tells
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

bool raw_client::read_some(std::chrono::steady_clock::time_point deadline)
{
    if (fd_ < 0 || closed_ || reset_)
        return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0)
        return false;
    char bytes[65536];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n > 0) {
        in_.append(bytes, static_cast<std::size_t>(n));
        return true;
    }
    (n == 0 ? closed_ : reset_) = true;
    return false;
}

std::optional<answer> raw_client::receive(std::chrono::milliseconds limit)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        const wire::scan_result found = wire::scan(in_);
        if (found.status == wire::scan_status::complete) {
            wire::command head;
            if (!decoder_.decode(found.parts, head))
                return std::nullopt;
            answer a;
            a.code = head.code;
            a.opaque = head.opaque;
            a.flag = head.flag;
            a.version = head.version;
            a.format = found.parts.format;
            a.language = head.language;
            a.remark = head.remark;
            for (const wire::field& f : head.fields)
                a.fields[std::string(f.name)] = f.value;
            a.body = found.parts.body;
            in_.erase(0, found.size);
            return a;
        }
        if (found.status == wire::scan_status::bad || !read_some(deadline))
            return std::nullopt;
    }
}

std::optional<answer> raw_client::ask(std::string_view bytes)
{
    send(bytes);
    return receive();
}

std::string raw_client::rest(std::chrono::milliseconds limit)
{
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (read_some(deadline)) {
    }
    return std::exchange(in_, {});
}

}  // namespace shunt::test
