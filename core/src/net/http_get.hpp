// A small text from an HTTP server: how lists of name servers are told.

#pragma once

#include <wire/url.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace shunt::net {

struct fetched {
    bool ok = false;
    std::string text;  ///< the body, else what went wrong
};

class http_fetch {
public:
    virtual ~http_fetch() = default;
    /// `done` is not called any more.
    virtual void cancel() = 0;
};

inline constexpr std::size_t max_fetched = 64 * 1024;

/// Gets what is at `url`; redirections are not followed. `done` is called once on the executor, within `limit`: with the body of an
/// answer 200 of at most max_fetched bytes, or with what went wrong.
std::shared_ptr<http_fetch> http_get(const boost::asio::any_io_executor& executor, const wire::http_url& url, std::chrono::milliseconds limit,
                                     std::function<void(fetched)> done);

}  // namespace shunt::net
