#include <net/http_get.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <utility>

namespace shunt::net {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

class fetch final : public http_fetch, public std::enable_shared_from_this<fetch> {
public:
    fetch(const asio::any_io_executor& executor, const wire::http_url& url, std::function<void(fetched)> done)
        : resolver_(executor), stream_(executor), where_(url.host + ":" + url.port), done_(std::move(done))
    {
        const bool v6 = url.host.find(':') != std::string::npos;
        request_.method(http::verb::get);
        request_.target(url.target);
        request_.version(11);
        request_.set(http::field::host, (v6 ? "[" + url.host + "]" : url.host) + ":" + url.port);
        request_.set(http::field::user_agent, "shunt");
        request_.keep_alive(false);
        parser_.body_limit(max_fetched);
    }

    void begin(const wire::http_url& url, std::chrono::milliseconds limit)
    {
        stream_.expires_after(limit);
        resolver_.async_resolve(url.host, url.port, [self = shared_from_this()](const error_code& ec, const auto& found) {
            if (ec)
                return self->end("cannot be resolved", ec);
            self->stream_.async_connect(found, [self](const error_code& why, const auto&) {
                if (why)
                    return self->end("cannot be connected to", why);
                http::async_write(self->stream_, self->request_, [self](const error_code& broken, std::size_t) {
                    if (broken)
                        return self->end("was lost", broken);
                    http::async_read(self->stream_, self->buffer_, self->parser_, [self](const error_code& bad, std::size_t) {
                        if (bad)
                            return self->end("does not answer properly", bad);
                        self->answered();
                    });
                });
            });
        });
    }

    void cancel() override
    {
        done_ = nullptr;
        resolver_.cancel();
        stream_.cancel();
    }

private:
    void end(const char* what, const error_code& ec)
    {
        const bool late = ec == beast::error::timeout;
        tell({false, where_ + " " + (late ? "does not answer in time" : std::string(what) + ": " + ec.message())});
    }

    void answered()
    {
        if (parser_.get().result() != http::status::ok)
            return tell({false, where_ + " answered " + std::to_string(parser_.get().result_int())});
        tell({true, std::move(parser_.get().body())});
    }

    void tell(fetched f)
    {
        if (const auto done = std::exchange(done_, nullptr))
            done(std::move(f));
    }

    asio::ip::tcp::resolver resolver_;
    beast::tcp_stream stream_;
    const std::string where_;
    std::function<void(fetched)> done_;
    http::request<http::empty_body> request_;
    beast::flat_buffer buffer_{max_fetched + 16 * 1024};
    http::response_parser<http::string_body> parser_;
};

}  // namespace

std::shared_ptr<http_fetch> http_get(const asio::any_io_executor& executor, const wire::http_url& url, std::chrono::milliseconds limit,
                                     std::function<void(fetched)> done)
{
    auto made = std::make_shared<fetch>(executor, url, std::move(done));
    made->begin(url, limit);
    return made;
}

}  // namespace shunt::net
