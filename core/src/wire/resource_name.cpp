#include <wire/resource_name.hpp>

#include <algorithm>
#include <array>

namespace shunt::wire {

namespace {

constexpr std::array<std::string_view, 10> system_topics{
    "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT", "TBW102", "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC", "CHECKPOINT_TOPIC"};

bool is_system(std::string_view name)
{
    return name.starts_with("rmq_sys_") || name.starts_with("CID_RMQ_SYS_") ||
           std::find(system_topics.begin(), system_topics.end(), name) != system_topics.end();
}

/// "%RETRY%", "%DLQ%" or nothing.
std::string_view prefix_of(std::string_view name)
{
    for (const std::string_view prefix : {"%RETRY%", "%DLQ%"}) {
        if (name.starts_with(prefix))
            return prefix;
    }
    return {};
}

bool is_inside(std::string_view space, std::string_view name)
{
    return name.size() > space.size() && name.starts_with(space) && name[space.size()] == '%';
}

}  // namespace

std::string in_namespace(std::string_view space, std::string_view name)
{
    const std::string_view prefix = prefix_of(name);
    const std::string_view own = name.substr(prefix.size());
    if (space.empty() || name.empty() || is_system(name) || is_inside(space, own))
        return std::string(name);
    std::string out(prefix);
    out.append(space).append("%").append(own);
    return out;
}

std::string without_namespace(std::string_view space, std::string_view name)
{
    const std::string_view prefix = prefix_of(name);
    const std::string_view own = name.substr(prefix.size());
    if (space.empty() || !is_inside(space, own))
        return std::string(name);
    return std::string(prefix).append(own.substr(space.size() + 1));
}

}  // namespace shunt::wire
