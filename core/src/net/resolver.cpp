#include <net/resolver.hpp>

#include <boost/asio/ip/address.hpp>

#include <charconv>
#include <utility>

namespace shunt::net {

namespace asio = boost::asio;
using asio::ip::tcp;

std::optional<host_port> split_address(std::string_view address)
{
    const auto colon = address.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == address.size())
        return std::nullopt;
    std::string_view host = address.substr(0, colon);
    const std::string_view port_text = address.substr(colon + 1);
    if (host.front() == '[') {
        if (host.size() < 3 || host.back() != ']')
            return std::nullopt;
        host = host.substr(1, host.size() - 2);
    }
    unsigned port = 0;
    const auto [end, ec] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (ec != std::errc{} || end != port_text.data() + port_text.size() || port == 0 || port > 65535)
        return std::nullopt;
    return host_port{std::string(host), static_cast<std::uint16_t>(port)};
}

struct resolver::state {
    explicit state(const asio::any_io_executor& executor) : system(executor) {}

    struct answer {
        std::vector<tcp::endpoint> endpoints;
        std::int64_t at_ns = 0;
        std::vector<handler> waiting;
    };
    tcp::resolver system;
    std::map<std::string, answer> answers;
};

resolver::resolver(const asio::any_io_executor& executor) : state_(std::make_shared<state>(executor)) {}

resolver::~resolver() { cancel(); }

void resolver::cancel() { state_->system.cancel(); }

void resolver::resolve(const std::string& address, std::int64_t now_ns, handler done)
{
    constexpr std::int64_t fresh_ns = 30'000'000'000;
    const auto parts = split_address(address);
    if (!parts) {
        done({}, "'" + address + "' is not host:port");
        return;
    }
    boost::system::error_code ec;
    if (const auto number = asio::ip::make_address(parts->host, ec); !ec) {
        done({tcp::endpoint(number, parts->port)}, {});
        return;
    }
    state::answer& known = state_->answers[address];
    if (!known.endpoints.empty() && now_ns - known.at_ns < fresh_ns) {
        done(known.endpoints, {});
        return;
    }
    known.waiting.push_back(std::move(done));
    if (known.waiting.size() > 1)
        return;  // a look-up is under way
    state_->system.async_resolve(parts->host, std::to_string(parts->port), tcp::resolver::numeric_service,
                                 [s = state_, address, now_ns](const boost::system::error_code& error, const tcp::resolver::results_type& found) {
                                     state::answer& a = s->answers[address];
                                     if (!error && !found.empty()) {
                                         a.endpoints.clear();
                                         for (const auto& entry : found)
                                             a.endpoints.push_back(entry.endpoint());
                                         a.at_ns = now_ns;
                                     }
                                     const std::string text = a.endpoints.empty() ? "host name not found: " + error.message() : std::string{};
                                     const auto endpoints = a.endpoints;
                                     for (handler& h : std::exchange(a.waiting, {}))
                                         h(endpoints, text);
                                 });
}

}  // namespace shunt::net
