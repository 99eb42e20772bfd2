// Files watched on the I/O side: tells which may have changed.

#pragma once

#include <config/watch.hpp>
#include <net/links.hpp>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace shunt::client {

/// On the executor of its links, which must outlive stop().
class file_events : public std::enable_shared_from_this<file_events> {
public:
    /// `changed` gets all those at once that are due together.
    file_events(net::links& l, std::function<void(const std::vector<std::string>& files)> changed);
    file_events(const file_events&) = delete;
    file_events& operator=(const file_events&) = delete;

    /// These files, and no others, from now on.
    void watch(const std::vector<std::string>& files);
    /// Nothing is told any more.
    void stop();

private:
    struct hook : net::timer_hook {
        file_events* owner = nullptr;
    };
    void await();
    void look();
    void arm();

    net::links& links_;
    std::function<void(const std::vector<std::string>&)> changed_;
    config::file_watch files_;
    boost::asio::posix::stream_descriptor events_;
    hook timer_;
};

}  // namespace shunt::client
