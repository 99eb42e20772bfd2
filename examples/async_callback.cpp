// Sends many messages at once; a callback hears what came of each. usage: async_callback [shunt.toml]

#include <shunt/producer.hpp>

#include <atomic>
#include <iostream>
#include <latch>
#include <string>

int main(int argc, char** argv)
{
    auto producer = shunt::producer::open(argc > 1 ? argv[1] : "shunt.toml");
    if (!producer)
        return std::cerr << producer.error().text << "\n", 1;

    constexpr int count = 100;
    std::atomic<int> stored{0}, safe_to_repeat{0}, to_look_up{0};
    std::latch all_over(count);
    for (int i = 0; i < count; ++i) {
        // Called exactly once, on a thread of the producer's; a slow callback holds up other callbacks, never the network.
        producer->async_send(shunt::message("orders", "order " + std::to_string(i)), [&](shunt::error_code ec, const shunt::receipt&) {
            if (!ec)
                ++stored;
            else if (ec == shunt::outcome::not_sent)
                ++safe_to_repeat;  // no broker has it
            else
                ++to_look_up;  // a broker may have it, or refused it
            all_over.count_down();
        });
    }
    all_over.wait();
    producer->close();

    std::cout << stored << " stored, " << safe_to_repeat << " not sent, " << to_look_up << " unknown or rejected\n";
    return stored == count ? 0 : 1;
}
