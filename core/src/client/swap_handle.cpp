#include <shunt/swap.hpp>

#include <client/core.hpp>

namespace shunt {

namespace {

constexpr const char* gone = "the producer is gone";

}  // namespace

swap_status swap_handle::status() const
{
    if (record_ == nullptr)
        return {};
    const std::lock_guard lock(record_->lock);
    return record_->status;
}

bool swap_handle::wait_for(swap_state state, std::chrono::milliseconds limit) const
{
    if (record_ == nullptr)
        return false;
    std::unique_lock lock(record_->lock);
    const swap_status& s = record_->status;
    // A step may pass by between two looks.
    const auto was_there = [&] {
        return std::any_of(s.steps.begin(), s.steps.end(), [&](const swap_step& one) { return one.state == state; });
    };
    (void)record_->changed.wait_for(lock, limit, [&] { return s.state == state || was_there() || s.over(); });
    return s.state == state || was_there();
}

bool swap_handle::wait_past(swap_state state, std::chrono::milliseconds limit) const
{
    if (record_ == nullptr)
        return false;
    std::unique_lock lock(record_->lock);
    return record_->changed.wait_for(lock, limit, [&] { return record_->status.state != state; });
}

std::string swap_handle::shadow(double share)
{
    const auto core = core_.lock();
    return core == nullptr ? gone : core->swap_command(client::core::swap_verb::shadow, id_, share, {});
}

std::string swap_handle::canary(double share)
{
    const auto core = core_.lock();
    return core == nullptr ? gone : core->swap_command(client::core::swap_verb::canary, id_, share, {});
}

std::string swap_handle::promote()
{
    const auto core = core_.lock();
    return core == nullptr ? gone : core->swap_command(client::core::swap_verb::promote, id_, 0, {});
}

std::string swap_handle::rollback(std::string reason)
{
    const auto core = core_.lock();
    return core == nullptr ? gone : core->swap_command(client::core::swap_verb::rollback, id_, 0, std::move(reason));
}

}  // namespace shunt
