// Route answers: any text can be read; what comes out keeps the promises a route makes.

#include <fuzz/fuzz.hpp>
#include <route/route.hpp>

#include <algorithm>

using namespace shunt;

namespace {

void check_queues(const route::topic_route& r, const std::vector<route::queue>& queues)
{
    SHUNT_FUZZ_CHECK(queues.size() <= route::max_queues);
    for (const route::queue& q : queues)
        SHUNT_FUZZ_CHECK(q.broker < r.brokers.size() && q.queue_id >= 0 && q.queue_id < route::max_queues_per_broker);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const route::parse_result result = route::parse_route("T", fuzz::as_text(data, size));
    SHUNT_FUZZ_CHECK(result.route.has_value() == result.error.empty());
    if (!result.route)
        return 0;
    const route::topic_route& r = *result.route;
    const auto by_name = [](const route::broker& a, const route::broker& b) { return a.name < b.name; };
    SHUNT_FUZZ_CHECK(std::is_sorted(r.brokers.begin(), r.brokers.end(), by_name));
    SHUNT_FUZZ_CHECK(r.warnings.size() <= 17);
    check_queues(r, r.publish);
    check_queues(r, r.subscribe);
    for (const route::broker& b : r.brokers)
        SHUNT_FUZZ_CHECK(r.find(b.name) == &b);

    route::topic_route again = r;
    std::reverse(again.brokers.begin(), again.brokers.end());
    route::finish(again);
    SHUNT_FUZZ_CHECK(again.same_as(r));
    SHUNT_FUZZ_CHECK(route::describe_changes(r, again).empty());
    const route::topic_route small = route::from_template("U", r, 4);
    SHUNT_FUZZ_CHECK(small.publish.size() <= 4 * small.brokers.size());
    (void)route::describe_changes(r, small);
    return 0;
}
