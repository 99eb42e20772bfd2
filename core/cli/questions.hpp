// Questions to name servers and brokers from a command that reads: routes, offsets, messages.
//
// All on one io_context, which the command's own thread runs.

#pragma once

#include "interrupts.hpp"

#include <net/call.hpp>
#include <net/links.hpp>
#include <route/route.hpp>
#include <shunt/options.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::cli {

struct route_answer {
    enum class kind : std::uint8_t { found, unknown_topic, failed };
    kind what = kind::failed;
    route::topic_route route;
    std::string text;  ///< failed: what each name server said or did
};

class questions {
public:
    questions(const producer_options& options, const interrupts& stop);
    /// Handlers that are still to be called are not.
    ~questions();
    questions(const questions&) = delete;
    questions& operator=(const questions&) = delete;

    /// False, with a complaint of `command`: the credentials cannot be had, and nothing can be asked.
    [[nodiscard]] bool ready(std::string_view command) const;
    /// Asks one name server after another; unknown_topic when all that answered know of no such topic.
    void route(const std::string& topic, std::function<void(route_answer)> done);
    /// Asks one broker. `done` is called once, within a few seconds.
    void ask(const std::string& address, net::question q, std::function<void(const net::reply&)> done);
    void after(std::chrono::milliseconds time, std::function<void()> then);

    /// Carries out what was asked and calls handlers, until end() or an interrupt.
    void run();
    void end();

private:
    struct round;
    void try_next(const std::shared_ptr<round>& r);

    const std::vector<std::string> servers_;
    const wire::header_format format_;
    boost::asio::io_context context_{1};
    boost::asio::posix::stream_descriptor stop_;
    std::shared_ptr<net::links> links_;
    std::string trouble_;
    bool over_ = false;
};

/// What a broker's answer or silence comes to, in one line for people; empty when it answered `success`.
[[nodiscard]] std::string failure_of(const net::reply& r);

}  // namespace shunt::cli
