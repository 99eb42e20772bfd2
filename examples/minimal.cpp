// Sends one message and tells where it lies. usage: minimal [shunt.toml]

#include <shunt/producer.hpp>

#include <iostream>

int main(int argc, char** argv)
{
    auto producer = shunt::producer::open(argc > 1 ? argv[1] : "shunt.toml");
    if (!producer)
        return std::cerr << producer.error().text << "\n", 1;
    const auto sent = producer->send(shunt::message("orders", "hello"));
    if (!sent)
        return std::cerr << sent.error().message() << "\n", 1;
    std::cout << "stored on " << sent->broker << " queue " << sent->queue << " at offset " << sent->offset << "\n";
}
