// RocketMQ's default selector: goes round the queues, past brokers that are isolated or that this send already tried.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

namespace {

namespace sdk = shunt::sdk;

class best_queue {
public:
    static constexpr std::string_view name = "best-queue";
    static constexpr std::string_view summary = "rotation over the queues of healthy brokers, RocketMQ's default";

    best_queue(sdk::settings, sdk::instance i) noexcept : cursor_(i.start) {}

    sdk::pick select(sdk::view v, sdk::message m) noexcept { return sdk::rotate(v, m, cursor_); }

private:
    sdk::cursor cursor_;
};

}  // namespace

SHUNT_PLUGIN("shunt.best-queue", "1.0.0", "Apache-2.0", best_queue);
