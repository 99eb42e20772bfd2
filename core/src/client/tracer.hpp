// RocketMQ's message trace: an observer that gathers a record of each send and sends them to the trace topic. The I/O side's.

#pragma once

#include <shunt/observer.hpp>
#include <net/timer_wheel.hpp>
#include <wire/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace shunt::client {

class core;

class tracer final : public send_observer {
public:
    explicit tracer(core& owner);
    ~tracer() override;

    void after(const observed_send& s) override;
    void ended(const observed_end& e) override;

    /// Sends what was gathered. False: there was nothing.
    bool flush();
    /// Nothing is gathered any more: what there is is counted as dropped.
    void stop();

private:
    [[nodiscard]] bool traces(std::string_view topic) const;
    [[nodiscard]] bool has_room();
    void add(std::string_view msg_id, std::string_view keys);

    struct flush_hook : net::timer_hook {
        tracer* owner = nullptr;
    };

    core& owner_;
    wire::buffer records_;
    std::set<std::string, std::less<>> keys_;  // of the message that will carry them
    std::size_t gathered_ = 0, under_way_ = 0;  // records
    std::string region_ = "DefaultRegion";      // the last a broker told
    flush_hook timer_;
    bool noted_ = false, stopped_ = false;
};

}  // namespace shunt::client
