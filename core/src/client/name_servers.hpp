// Asks the name servers: one after another until one answers, all of them before a topic counts as unknown. One that
// takes its time is not given up: the next one is asked beside it.

#pragma once

#include <net/call.hpp>
#include <net/links.hpp>
#include <shunt/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace shunt::client {

/// What is wrong with certificates does not mend itself in the time of a send.
[[nodiscard]] bool is_certificate_fault(errc e) noexcept;

struct route_answer {
    enum class kind : std::uint8_t { found, unknown_topic, failed };
    kind what = kind::failed;
    std::string body;  ///< found: what was asked for, a route as JSON
    std::string text;  ///< failed: what went wrong, of each that was asked
    errc why = errc::route_timeout;  ///< failed: of TLS, if every one failed by that
};

/// On the executor of its links.
class name_servers {
public:
    name_servers(net::links& l, std::vector<std::string> addresses, wire::header_format format, std::uint64_t seed);

    ~name_servers();

    /// Asks for the route of `topic`; `done` is called once, at `deadline_ns` at the latest. Begins with the server that
    /// answered last. `wanted_ns`: when somebody needs the answer. The time until then is shared out: one that has not
    /// answered in its share has the next one asked as well, so that there is an answer in time though one hangs.
    void route(const std::string& topic, std::int64_t deadline_ns, std::int64_t wanted_ns, std::function<void(const route_answer&)> done);

    /// The same with any question; the answer's body is handed over.
    void ask(net::question q, std::int64_t deadline_ns, std::int64_t wanted_ns, std::function<void(const route_answer&)> done);

    [[nodiscard]] const std::vector<std::string>& addresses() const noexcept { return *addresses_; }
    /// From now on these are asked. What is under way with others still counts when it is answered; their connections end
    /// when it was. Questions that came while there were none are asked now.
    void replace(std::vector<std::string> addresses);
    /// Why there is none; told to those that ask.
    void none_because(std::string text) { why_none_ = std::move(text); }
    [[nodiscard]] const std::string& why_none() const noexcept { return why_none_; }

private:
    struct round;
    void begin(const std::shared_ptr<round>& r);
    void try_next(const std::shared_ptr<round>& r);
    void pass_over(const std::string& address);
    void end(const std::shared_ptr<round>& r, route_answer a);

    net::links& links_;
    std::shared_ptr<const std::vector<std::string>> addresses_;
    wire::header_format format_;
    const std::uint64_t seed_;
    std::size_t preferred_ = 0;
    std::vector<std::weak_ptr<round>> waiting_;  // for the first address
    std::string why_none_ = "no name server is known";
    std::map<std::string, int> silent_;  // time-outs in a row
};

}  // namespace shunt::client
