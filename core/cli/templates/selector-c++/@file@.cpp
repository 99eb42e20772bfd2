// @name@: stays on a queue for a run of messages, then goes on to the next. Batches get fuller, and in the long run every
// queue gets the same.
//
// A whole selector to start from. CHANGE marks what to make your own.

#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

namespace {

namespace sdk = shunt::sdk;

class @class@ {
public:
    static constexpr std::string_view name = "@name@";  // what users write: use = "@name@"
    static constexpr std::string_view summary = "@summary@";  // CHANGE: one line for users

    // CHANGE: what may be set. The host checks files against it and fills in defaults before the constructor runs.
    static constexpr sdk::param params[] = {
        {.name = "run", .type = sdk::type::integer, .default_text = "100", .unit = "messages", .min = 1, .max = 1e6,
         .help = "messages to one queue before it is the next one's turn"},
    };

    @class@(const sdk::settings& s, sdk::instance i) : rotation_(i.start), run_(s.get<std::uint32_t>("run")) {}

    // CHANGE: the decision. It must not wait and had better not allocate: it is called for each attempt of each message.
    // Since it is not const there is an instance for each topic and sending thread, so plain members may remember things.
    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        // An index means the same queue for as long as the route is the same.
        if (left_ > 0 && v.route_gen() == route_ && sdk::fitting{v, m, sdk::tier::untried_available}.has(queue_)) {
            --left_;
            return {queue_, sdk::why::plugin};
        }
        // The next queue, best first: of a broker that is well and that this message has not tried, and so on to any.
        const sdk::pick next = sdk::rotate(v, m, rotation_);
        queue_ = next.queue();
        route_ = v.route_gen();
        left_ = next.found() ? run_ - 1 : 0;
        return next;
    }

private:
    sdk::cursor rotation_;
    std::uint32_t run_;
    std::uint32_t queue_ = 0, left_ = 0;  // where the run is, and how many messages it has left
    std::uint64_t route_ = 0;
};

}  // namespace

// CHANGE: an id of your own, the version, your licence.
SHUNT_PLUGIN("example.@name@", "0.1.0", "Apache-2.0", @class@);
