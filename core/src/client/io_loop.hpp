// The event loop of a producer that runs its I/O itself, and how senders wake it without asking the heap.

#pragma once

#include <net/handler_memory.hpp>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace shunt::client {

class io_loop {
public:
    template <typename Function>
    void post(Function&& what)
    {
        boost::asio::post(context.get_executor(), boost::asio::bind_allocator(memory_.get(), std::forward<Function>(what)));
    }

private:
    net::handler_memory<112, 4> memory_;  // what waits in the context lies in it

public:
    boost::asio::io_context context{1};
};

}  // namespace shunt::client
