#include "admin_client.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace shunt::cli {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using protocol = asio::generic::stream_protocol;

constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t max_answer = 64 * 1024 * 1024;

protocol::endpoint endpoint_of(const std::string& listen)
{
    if (listen.starts_with(unix_prefix))
        return asio::local::stream_protocol::endpoint(listen.substr(unix_prefix.size()));
    const std::size_t colon = listen.rfind(':');
    std::string host = listen.substr(0, colon);
    if (host.starts_with("["))
        host = host.substr(1, host.size() - 2);
    return asio::ip::tcp::endpoint(asio::ip::make_address(host), static_cast<std::uint16_t>(std::strtoul(listen.c_str() + colon + 1, nullptr, 10)));
}

}  // namespace

std::string encoded(const std::string& text)
{
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
    return out;
}

admin_reply ask_admin(const admin_options& where, bool post, const std::string& target, const std::string& body, std::chrono::milliseconds limit)
{
    const auto fail = [&](const error_code& ec) {
        throw std::runtime_error(ec == beast::error::timeout
                                     ? fmt::format("the producer at {} did not answer in {} ms", where.listen, limit.count())
                                     : fmt::format("no producer answers at {}: {}; is it running, with this [admin]?", where.listen, ec.message()));
    };
    asio::io_context context(1);
    beast::basic_stream<protocol> stream(context);
    error_code failure;
    const protocol::endpoint endpoint = endpoint_of(where.listen);
    stream.socket().open(endpoint.protocol(), failure);
    if (!failure)
        stream.socket().connect(endpoint, failure);  // on this machine: at once
    if (failure)
        fail(failure);
    http::request<http::string_body> request(post ? http::verb::post : http::verb::get, target, 11);
    request.set(http::field::host, where.listen.starts_with(unix_prefix) ? "localhost" : where.listen);
    if (!where.token.empty())
        request.set(http::field::authorization, "Bearer " + where.token);
    request.keep_alive(false);
    if (post) {
        request.body() = body;
        request.prepare_payload();
    }
    beast::flat_buffer buffer;
    http::response_parser<http::string_body> answer;
    answer.body_limit(max_answer);
    stream.expires_after(limit);
    http::async_write(stream, request, [&](const error_code& ec, std::size_t) {
        // One that is refused may be answered before all of it was taken.
        failure = ec;
        http::async_read(stream, buffer, answer, [&](const error_code& read, std::size_t) {
            if (!read || !failure)
                failure = read;
        });
    });
    context.run();
    if (failure)
        fail(failure);
    return {answer.get().result_int(), std::move(answer.get().body())};
}

}  // namespace shunt::cli
