// The order configuration of a topic: "broker-a:4;broker-b:4" fixes which queues there are.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shunt::route {

struct order_conf {
    struct part {
        std::string_view broker;  ///< a view into the text
        std::int32_t queues = 0;
    };
    std::vector<part> parts;  ///< by broker name, each once
    std::string warning;      ///< one sentence about all that was skipped or cut; empty when all was well
};

[[nodiscard]] order_conf read_order_conf(std::string_view text);

}  // namespace shunt::route
