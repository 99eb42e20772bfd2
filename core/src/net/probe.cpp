#include <net/probe.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <utility>

namespace shunt::net {

namespace {

using boost::asio::ip::tcp;

struct trial : std::enable_shared_from_this<trial> {
    trial(links& l, std::function<void(bool)> d) : owner(l), keep(l.lifetime.lock()), socket(l.executor()), limit(l.executor()), done(std::move(d)) {}

    void end(bool reached)
    {
        if (!done)
            return;
        owner.not_at_close(number);
        limit.cancel();
        boost::system::error_code ignored;
        socket.close(ignored);
        owner.refresh();
        std::exchange(done, {})(reached);
    }
    links& owner;
    std::shared_ptr<void> keep;
    tcp::socket socket;
    boost::asio::steady_timer limit;
    std::function<void(bool)> done;
    std::uint64_t number = 0;
};

}  // namespace

void probe(links& l, const std::string& address, std::chrono::milliseconds limit, std::function<void(bool reached)> done)
{
    if (l.closed()) {
        done(false);
        return;
    }
    auto t = std::make_shared<trial>(l, std::move(done));
    t->number = l.at_close([t] { t->end(false); });
    t->limit.expires_after(limit);
    t->limit.async_wait([t](const boost::system::error_code& ec) {
        if (!ec)
            t->end(false);
    });
    l.names().resolve(address, l.now_ns(), [t](const auto& endpoints, const std::string&) {
        if (!t->done)
            return;
        if (endpoints.empty()) {
            t->end(false);
            return;
        }
        t->socket.async_connect(endpoints.front(), [t](const boost::system::error_code& ec) { t->end(!ec); });
    });
}

}  // namespace shunt::net
