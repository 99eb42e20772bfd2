// SIGHUP as a wish to read the configuration again, heard on a thread of its own.

#pragma once

#include <functional>
#include <thread>

namespace shunt::cli {

class hangups {
public:
    /// From here on SIGHUP does nothing by itself, in this thread and those started later: make it before them.
    hangups();
    /// As stop().
    ~hangups();
    hangups(const hangups&) = delete;
    hangups& operator=(const hangups&) = delete;

    /// `heard` is called on a thread of its own for each SIGHUP; several that come at once may be one.
    void start(std::function<void()> heard);
    /// No call runs or comes any more.
    void stop();

private:
    int signals_ = -1, end_ = -1;
    std::thread thread_;
};

}  // namespace shunt::cli
