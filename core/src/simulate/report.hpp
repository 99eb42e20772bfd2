// Runs as one page that people look at: a file of its own, without anything from the network.

#pragma once

#include <simulate/recording.hpp>

#include <string>
#include <vector>

namespace shunt::simulate {

struct reported_run {
    std::string name;    ///< the file, or the value of a sweep
    std::string policy;  ///< "best-queue + latency-fault"
    summary sum;
    recording series;
};

/// HTML. The numbers stand in it as one JSON object, in the element with the id "data".
[[nodiscard]] std::string report_page(const std::string& title, const std::vector<reported_run>& runs);

}  // namespace shunt::simulate
