// Runs as one page that people look at: a file of its own, without anything from the network.

#pragma once

#include <simulate/keys.hpp>
#include <simulate/recording.hpp>
#include <simulate/scenario.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shunt::simulate {

/// What a broker is told to do for a time: "800 ms", "refuses", "hangs", "drops", "code 2".
struct doing {
    std::int64_t from_ms = 0, to_ms = 0;
    std::string what;
};

/// By broker, in order of time; nothing of those that are well. What nothing ends lasts until max_time_ms.
[[nodiscard]] std::multimap<std::string, doing> script_of(const scenario& s);

struct reported_run {
    std::string name;    ///< the file, or the value of a sweep
    std::string policy;  ///< "best-queue + latency-fault"
    summary sum;
    key_watch::counts keys;
    std::multimap<std::string, doing> script;
    recording series;
};

/// HTML. The numbers stand in it as one JSON object, in the element with the id "data".
[[nodiscard]] std::string report_page(const std::string& title, const std::vector<reported_run>& runs);

}  // namespace shunt::simulate
