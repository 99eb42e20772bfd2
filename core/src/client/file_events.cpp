#include <client/file_events.hpp>

#include <unistd.h>

#include <utility>

namespace shunt::client {

file_events::file_events(net::links& l, std::function<void(const std::vector<std::string>&)> changed)
    : links_(l), changed_(std::move(changed)), events_(l.executor())
{
    if (files_.descriptor() >= 0)  // Asio waits at a copy of its own
        events_.assign(::dup(files_.descriptor()));
    timer_.owner = this;
    timer_.expired = [](net::timer_hook& h) {
        const auto self = static_cast<hook&>(h).owner->shared_from_this();
        self->look();
    };
}

void file_events::watch(const std::vector<std::string>& files)
{
    const bool first = files_.next_ns() == INT64_MAX;
    files_.watch(files, links_.now_ns());
    arm();
    if (first)
        await();
}

void file_events::stop()
{
    links_.clear_timer(timer_);
    changed_ = nullptr;
    boost::system::error_code ignored;
    events_.close(ignored);
}

void file_events::await()
{
    if (!events_.is_open())
        return;
    events_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this(), keep = links_.lifetime.lock()](const boost::system::error_code& ec) {
                           if (ec || self->changed_ == nullptr)
                               return;
                           self->links_.refresh();
                           self->files_.readable(self->links_.now_ns());
                           self->look();
                           self->await();
                       });
}

void file_events::look()
{
    if (const auto due = files_.due(links_.now_ns()); !due.empty() && changed_ != nullptr) {
        const auto changed = changed_;  // it may stop us
        changed(due);
    }
    if (changed_ != nullptr)
        arm();
}

void file_events::arm()
{
    if (const std::int64_t next = files_.next_ns(); next != INT64_MAX)
        links_.set_timer(timer_, next);
}

}  // namespace shunt::client
