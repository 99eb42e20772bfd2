// What `send` can make of messages besides plain ones: delays, priorities, compression, batches, transactions, requests.

#pragma once

#include "sending.hpp"

#include <shunt/producer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace shunt::cli {

struct send_kinds {
    int delay_level = 0;
    std::optional<std::chrono::milliseconds> delay;
    std::optional<std::chrono::system_clock::time_point> deliver_at;
    std::optional<int> priority;
    std::optional<compression> compress;
    std::size_t batch = 0;  ///< messages of one; 0: none are made
    std::optional<transaction_end> transaction;
    bool request = false;

    /// What cannot be asked for together; empty: it can.
    [[nodiscard]] std::string contradiction(const sending_plan& plan) const;

    void options_of(producer_options& o) const;
    void put_on(message& m) const;
};

/// Adds the options; they must outlive the parsing.
void add_kinds(CLI::App& app, send_kinds& kinds);

/// Sends in the way the kinds ask for, as send_all() does otherwise. `replied` is told each reply to a request.
void send_by_kind(producer& p, const std::string& topic, const send_kinds& kinds, const sending_plan& plan, const sending_hooks& hooks,
                  const interrupts& stop, const std::function<void(std::uint64_t i, const reply_receipt&)>& replied);

}  // namespace shunt::cli
