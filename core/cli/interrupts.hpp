// SIGINT and SIGTERM as something to ask for and to wait for. The first one asks for a clean end; the second one of the
// same kind does what it does to any program: it aborts.

#pragma once

#include <chrono>

namespace shunt::cli {

/// At most one at a time. The handlers stay when it is destroyed.
class interrupts {
public:
    interrupts();
    interrupts(const interrupts&) = delete;
    interrupts& operator=(const interrupts&) = delete;

    [[nodiscard]] bool requested() const noexcept;
    /// As if a signal had come.
    void request() noexcept;
    /// Readable from the first signal on, for good. Nobody reads from it.
    [[nodiscard]] int fd() const noexcept;
    /// True: a signal came before `time`.
    bool wait_until(std::chrono::steady_clock::time_point time) const;
    /// Waits for a signal, as long as it takes.
    void wait() const;
};

}  // namespace shunt::cli
