#include "interrupts.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

namespace shunt::cli {

namespace {

// A signal handler sees nothing but globals.
std::atomic<bool> signalled{false};
std::array<int, 2> pipe_ends{-1, -1};

void tell() noexcept
{
    if (signalled.exchange(true))
        return;
    const char byte = 0;
    [[maybe_unused]] const auto written = ::write(pipe_ends[1], &byte, 1);
}

void on_signal(int)
{
    const int before = errno;
    tell();
    errno = before;
}

}  // namespace

interrupts::interrupts()
{
    if (pipe_ends[0] == -1 && ::pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    for (const int signal : {SIGINT, SIGTERM})
        ::sigaction(signal, &action, nullptr);
}

bool interrupts::requested() const noexcept { return signalled.load(std::memory_order_relaxed); }

void interrupts::request() noexcept { tell(); }

int interrupts::fd() const noexcept { return pipe_ends[0]; }

bool interrupts::wait_until(std::chrono::steady_clock::time_point time) const
{
    while (!requested()) {
        const auto left = time - std::chrono::steady_clock::now();
        if (left <= left.zero())
            return false;
        const auto ns = std::min<std::chrono::nanoseconds>(left, std::chrono::hours(1)).count();
        const timespec limit{static_cast<std::time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
        pollfd p{pipe_ends[0], POLLIN, 0};
        (void)::ppoll(&p, 1, &limit, nullptr);
    }
    return true;
}

void interrupts::wait() const
{
    while (!requested()) {
        pollfd p{pipe_ends[0], POLLIN, 0};
        (void)::poll(&p, 1, -1);
    }
}

}  // namespace shunt::cli
