// Sends from a coroutine, with the program's own io_context: one message after another, and no thread waits.
// usage: coroutine [shunt.toml]

#include <shunt/producer.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;

asio::awaitable<void> send_orders(shunt::producer& producer, int& stored)
{
    for (int i = 0; i < 3; ++i) {
        // Named before the co_await: GCC 12 destroys twice what is made inside of one.
        shunt::message order("orders", "order " + std::to_string(i));
        order.set_order_key("customer-7");
        auto sent = co_await producer.async_send(std::move(order), asio::as_tuple(asio::use_awaitable));
        const auto& [ec, receipt] = sent;
        if (ec) {
            std::cerr << "order " << i << ": " << ec.message() << "\n";
            co_return;
        }
        std::cout << "order " << i << " lies on " << receipt.broker << " queue " << receipt.queue << "\n";
        ++stored;
    }
}

int main(int argc, char** argv)
{
    auto producer = shunt::producer::open(argc > 1 ? argv[1] : "shunt.toml");
    if (!producer)
        return std::cerr << producer.error().text << "\n", 1;

    int stored = 0;
    asio::io_context context;
    asio::co_spawn(context, send_orders(*producer, stored), asio::detached);
    context.run();
    producer->close();
    return stored == 3 ? 0 : 1;
}
