#include <net/links.hpp>

#include <boost/asio/bind_allocator.hpp>

#include <algorithm>
#include <utility>

namespace shunt::net {

links::links(boost::asio::any_io_executor executor, std::chrono::milliseconds connect_timeout)
    : executor_(std::move(executor)), connect_timeout_(connect_timeout), names_(executor_), now_ns_(monotonic_ns()), wheel_(now_ns_),
      timer_(executor_)
{
}

links::~links() = default;

std::int64_t links::refresh() noexcept
{
    wall_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return now_ns_ = monotonic_ns();
}

connection& links::to(const std::string& address)
{
    auto& c = by_address_[address];
    if (c == nullptr)
        c = std::make_shared<connection>(*this, address);
    return *c;
}

connection* links::find(const std::string& address) noexcept
{
    const auto it = by_address_.find(address);
    return it == by_address_.end() ? nullptr : it->second.get();
}

void links::dirty(connection& c)
{
    if (dirty_.empty() || dirty_.back().get() != &c)
        dirty_.push_back(c.shared_from_this());
}

void links::flush_all()
{
    // A flush may make others dirty: go on until none is.
    while (!dirty_.empty()) {
        auto now = std::exchange(dirty_, std::exchange(spare_, {}));
        for (const auto& c : now)
            c->flush();
        now.clear();
        spare_ = std::move(now);
    }
}

void links::set_timer(timer_hook& hook, std::int64_t deadline_ns)
{
    wheel_.set(hook, deadline_ns);
    if (!advancing_ && wheel_.next_ns() < armed_for_ns_)
        arm();
}

void links::arm()
{
    const std::int64_t next = wheel_.next_ns();
    if (closed_ || next == INT64_MAX) {
        armed_for_ns_ = INT64_MAX;
        return;
    }
    armed_for_ns_ = next;
    timer_.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next)));
    timer_.async_wait(boost::asio::bind_allocator(timer_memory_.get(), [this, keep = lifetime.lock()](const boost::system::error_code& ec) {
        if (!ec)
            timer_fired();
    }));
}

void links::timer_fired()
{
    armed_for_ns_ = INT64_MAX;
    refresh();
    turn();
    if (armed_for_ns_ == INT64_MAX)
        arm();
}

void links::turn()
{
    if (advancing_)
        return;
    if (wheel_.next_ns() <= now_ns_) {
        advancing_ = true;
        wheel_.advance(now_ns_);
        advancing_ = false;
        if (wheel_.next_ns() < armed_for_ns_)
            arm();
    }
    if (on_turn)
        on_turn();
    flush_all();
}

void links::forget(connection& c)
{
    const auto it = by_address_.find(c.address());
    if (it != by_address_.end() && it->second.get() == &c) {
        if (c.pending() != 0)
            retired_.push_back(it->second);
        by_address_.erase(it);
    }
    std::erase_if(retired_, [&](const auto& r) { return r.get() == &c && r->pending() == 0 && !r->connected(); });
}

void links::drop(const std::string& address, std::string_view text)
{
    const auto it = by_address_.find(address);
    if (it == by_address_.end())
        return;
    const auto keep = it->second;
    by_address_.erase(it);
    keep->close(text);
}

void links::close_all(std::string_view text)
{
    closed_ = true;  // what ends now may ask again elsewhere: that is refused
    names_.cancel();
    for (auto& [number, end] : std::exchange(at_close_, {}))
        end();
    for (const auto& [address, c] : std::exchange(by_address_, {}))
        c->close(text);
    for (const auto& c : std::exchange(retired_, {}))
        c->close(text);
    timer_.cancel();
    dirty_.clear();
}

std::uint64_t links::at_close(std::function<void()> end)
{
    at_close_.emplace(++next_at_close_, std::move(end));
    return next_at_close_;
}

std::vector<std::string> links::up() const
{
    std::vector<std::string> all;
    for (const auto& [address, c] : by_address_) {
        if (c->connected())
            all.push_back(address);
    }
    return all;
}

}  // namespace shunt::net
