#include <interop/support/admin_client.hpp>

#include <wire/buffer.hpp>
#include <wire/frame.hpp>
#include <wire/properties.hpp>
#include <wire/stored_message.hpp>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <regex>
#include <stdexcept>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace shunt::interop {
namespace {

using std::chrono::steady_clock;

// Waits until the socket is ready. False when the deadline came first.
bool ready(int fd, short events, steady_clock::time_point deadline)
{
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd p{.fd = fd, .events = events, .revents = 0};
    return ::poll(&p, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) > 0;
}

sockaddr_in parse(const std::string& address)
{
    const auto colon = address.rfind(':');
    sockaddr_in a{};
    a.sin_family = AF_INET;
    if (colon == std::string::npos || ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &a.sin_addr) != 1)
        throw std::runtime_error("\"" + address + "\": not an IPv4 address with a port");
    a.sin_port = htons(static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1))));
    return a;
}

}  // namespace

admin_client::admin_client(std::string address, std::chrono::milliseconds limit)
    : address_(std::move(address)), limit_(limit)
{
}

admin_client::admin_client(admin_client&& other) noexcept
    : address_(std::move(other.address_)), limit_(other.limit_), fd_(std::exchange(other.fd_, -1)), opaque_(other.opaque_),
      signer_(std::move(other.signer_)), certificates_(std::move(other.certificates_)), tls_(std::move(other.tls_))
{
}

admin_client::~admin_client()
{
    close();
}

void admin_client::sign_as(const std::string& access_key, const std::string& secret_key)
{
    signer_ = std::make_unique<wire::signer>(access_key, secret_key, "");
}

void admin_client::close() noexcept
{
    if (fd_ >= 0)
        ::close(std::exchange(fd_, -1));
    tls_.reset();
}

void admin_client::connect()
{
    if (fd_ >= 0)
        return;
    const sockaddr_in to = parse(address_);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
        error = errno;
        if (error == EINPROGRESS) {
            socklen_t size = sizeof error;
            error = ETIMEDOUT;
            if (ready(fd_, POLLOUT, deadline_))
                ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
        }
    }
    if (error != 0) {
        close();
        throw std::runtime_error(address_ + ": cannot connect: " + std::generic_category().message(error));
    }
    if (certificates_ == nullptr)
        return;
    tls_ = tls::session::client(certificates_, address_, address_.substr(0, address_.rfind(':')));
    wire::buffer ignored;
    while (!tls_->up()) {
        send({});
        if (!receive_some(ignored)) {
            close();
            throw std::runtime_error(address_ + ": the connection was closed when TLS began");
        }
    }
}

void admin_client::send(std::string_view bytes)
{
    wire::buffer wrapped;
    if (tls_ != nullptr) {
        tls_->write(bytes);
        tls_->take_output(wrapped);
        bytes = wrapped.view();
    }
    while (!bytes.empty()) {
        const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        } else if (errno != EAGAIN || !ready(fd_, POLLOUT, deadline_)) {
            close();
            throw std::runtime_error(address_ + ": cannot send a request");
        }
    }
}

bool admin_client::receive_some(wire::buffer& in)
{
    constexpr std::size_t chunk = 65536;
    for (;;) {
        wire::buffer raw;
        wire::buffer& to = tls_ != nullptr ? raw : in;
        const auto got = ::recv(fd_, to.grab(chunk), chunk, 0);
        if (got > 0) {
            to.advance(static_cast<std::size_t>(got));
            if (tls_ != nullptr && tls_->received(raw.view(), in) == tls::session::status::failed) {
                const std::string why = tls_->text();
                close();
                throw std::runtime_error(address_ + ": " + why);
            }
            return true;
        }
        if (got == 0 || errno != EAGAIN)
            return false;
        if (!ready(fd_, POLLIN, deadline_)) {
            close();
            throw std::runtime_error(address_ + ": no answer in " + std::to_string(limit_.count()) + " ms");
        }
    }
}

answer admin_client::call(std::int32_t code, const fields& ext, std::string_view body)
{
    std::vector<wire::field> views;
    for (const auto& [name, value] : ext)
        views.push_back({name, value});
    wire::buffer frame;
    const std::int32_t opaque = ++opaque_;
    wire::outgoing head;
    head.code = code;
    head.opaque = opaque;
    head.fields = views;
    wire::encode(frame, wire::header_format::json, head, body);
    if (signer_ != nullptr)
        signer_->sign(frame, 0, {});
    return exchange(frame.view(), opaque);
}

answer admin_client::exchange(std::string_view frame, std::int32_t opaque)
{
    deadline_ = steady_clock::now() + limit_;
    connect();
    send(frame);
    return receive(opaque);
}

answer admin_client::receive(std::int32_t opaque)
{
    wire::buffer in;
    for (;;) {
        const wire::scan_result scanned = wire::scan(in.view());
        if (scanned.status == wire::scan_status::bad) {
            close();
            throw std::runtime_error(address_ + ": " + scanned.what);
        }
        if (scanned.status == wire::scan_status::complete) {
            wire::command_decoder decoder;
            wire::command head;
            if (!decoder.decode(scanned.parts, head)) {
                close();
                throw std::runtime_error(address_ + ": " + decoder.error());
            }
            if (head.is_response() && head.opaque == opaque) {
                answer a{.code = head.code, .remark = std::string(head.remark), .fields = {}, .body = std::string(scanned.parts.body)};
                for (const wire::field& f : head.fields)
                    a.fields[std::string(f.name)] = f.value;
                return a;
            }
            in.consume(scanned.size);  // a request of the server's own, or the answer to a call that was given up
            continue;
        }
        if (!receive_some(in)) {
            close();
            throw std::runtime_error(address_ + ": the connection was closed before the answer came");
        }
    }
}

answer admin_client::must(std::int32_t code, const fields& ext, std::string_view body)
{
    answer a = call(code, ext, body);
    if (a.code != wire::response::success)
        throw std::runtime_error(address_ + ": request " + std::to_string(code) + " was answered " + std::to_string(a.code) + ": " +
                                 a.remark);
    return a;
}

void admin_client::create_topic(const std::string& topic, const topic_settings& settings)
{
    const std::string queues = std::to_string(settings.queues);
    fields ext{{"topic", topic},         {"defaultTopic", "TBW102"},
               {"readQueueNums", queues}, {"writeQueueNums", queues},
               {"perm", std::to_string(settings.perm)}, {"topicFilterType", "SINGLE_TAG"},
               {"topicSysFlag", "0"},    {"order", settings.order ? "true" : "false"}};
    if (!settings.attributes.empty())
        ext.emplace_back("attributes", settings.attributes);
    must(wire::code::update_and_create_topic, ext);
}

void admin_client::configure(const std::string& lines)
{
    must(wire::code::update_broker_config, {}, lines);
}

std::int64_t admin_client::max_offset(const std::string& topic, std::int32_t queue)
{
    const answer a = must(wire::code::get_max_offset,
                          {{"topic", topic}, {"queueId", std::to_string(queue)}, {"committed", "true"}});
    return std::stoll(a.fields.at("offset"));
}

std::vector<stored> admin_client::pull(const std::string& broker, const std::string& topic, std::int32_t queue)
{
    std::vector<stored> all;
    const std::int64_t end = max_offset(topic, queue);
    std::int64_t next = 0;
    while (next < end) {
        const answer a = call(wire::code::pull_message,
                              {{"consumerGroup", "CG_shunt_tests"},
                               {"topic", topic},
                               {"queueId", std::to_string(queue)},
                               {"queueOffset", std::to_string(next)},
                               {"maxMsgNums", "32"},
                               {"sysFlag", "4"},  // the subscription comes along; do not wait for messages
                               {"commitOffset", "0"},
                               {"suspendTimeoutMillis", "0"},
                               {"subscription", "*"},
                               {"subVersion", "0"},
                               {"expressionType", "TAG"}});
        if (a.code != wire::response::success && a.code != wire::response::pull_offset_moved &&
            a.code != wire::response::pull_retry_immediately)
            throw std::runtime_error(address_ + ": pull of " + topic + "/" + std::to_string(queue) + " at " + std::to_string(next) +
                                     " was answered " + std::to_string(a.code) + ": " + a.remark);
        std::string_view bytes = a.body;
        std::string what;
        wire::stored_message m;
        for (;;) {
            const wire::stored_status status = wire::read_stored(bytes, m, what);
            if (status == wire::stored_status::bad)
                throw std::runtime_error(address_ + ": " + topic + "/" + std::to_string(queue) + ": " + what);
            if (status == wire::stored_status::end)
                break;
            if (status != wire::stored_status::message)
                continue;
            stored s{.broker = broker, .queue = m.queue_id, .offset = m.queue_offset, .flag = m.flag, .sys_flag = m.sys_flag,
                     .born_ms = m.born_ms, .stored_ms = m.store_ms, .body = std::string(m.body), .properties = {}};
            wire::each_property(m.properties, [&](std::string_view name, std::string_view value) {
                s.properties[std::string(name)] = value;
            });
            all.push_back(std::move(s));
        }
        const std::int64_t after = std::stoll(a.fields.at("nextBeginOffset"));
        if (after <= next)
            throw std::runtime_error(address_ + ": pull of " + topic + "/" + std::to_string(queue) + " does not get past " +
                                     std::to_string(next));
        next = after;
    }
    return all;
}

std::optional<route::topic_route> admin_client::route(const std::string& topic)
{
    const answer a = call(wire::code::get_route_by_topic, {{"topic", topic}});
    if (a.code == wire::response::topic_not_exist)
        return std::nullopt;
    if (a.code != wire::response::success)
        throw std::runtime_error(address_ + ": route of \"" + topic + "\": " + std::to_string(a.code) + ": " + a.remark);
    route::parse_result parsed = route::parse_route(topic, a.body);
    if (!parsed.route)
        throw std::runtime_error(address_ + ": route of \"" + topic + "\": " + parsed.error);
    return std::move(parsed.route);
}

void admin_client::put_kv(const std::string& space, const std::string& key, const std::string& value)
{
    must(wire::code::put_kv_config, {{"namespace", space}, {"key", key}, {"value", value}});
}

std::map<std::string, std::string> admin_client::masters()
{
    // The answer has bare integers as keys, which no JSON parser takes; a broker's entry is flat enough to be found as text.
    static const std::regex entry(R"re("brokerAddrs":\{(?:[^}]*,)?"?0"?:"([^"]*)"[^}]*\},"brokerName":"([^"]*)")re");
    const answer a = must(wire::code::get_cluster_info);
    std::map<std::string, std::string> found;
    for (std::sregex_iterator i(a.body.begin(), a.body.end(), entry), end; i != end; ++i)
        found[(*i)[2]] = (*i)[1];
    return found;
}

}  // namespace shunt::interop
