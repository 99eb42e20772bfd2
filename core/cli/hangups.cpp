#include "hangups.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace shunt::cli {

hangups::hangups()
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &only, nullptr);
    signals_ = ::signalfd(-1, &only, SFD_CLOEXEC | SFD_NONBLOCK);
    end_ = ::eventfd(0, EFD_CLOEXEC);
    if (signals_ < 0 || end_ < 0)
        throw std::system_error(errno, std::generic_category(), "signalfd");
}

hangups::~hangups()
{
    stop();
    ::close(signals_);
    ::close(end_);
}

void hangups::start(std::function<void()> heard)
{
    thread_ = std::thread([this, heard = std::move(heard)] {
        std::array<pollfd, 2> both{{{signals_, POLLIN, 0}, {end_, POLLIN, 0}}};
        for (;;) {
            (void)::poll(both.data(), both.size(), -1);
            if ((both[1].revents & POLLIN) != 0)
                return;
            signalfd_siginfo one{};
            bool any = false;
            while (::read(signals_, &one, sizeof one) == sizeof one)
                any = true;
            if (any)
                heard();
        }
    });
}

void hangups::stop()
{
    if (!thread_.joinable())
        return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(end_, &one, sizeof one);
    thread_.join();
}

}  // namespace shunt::cli
