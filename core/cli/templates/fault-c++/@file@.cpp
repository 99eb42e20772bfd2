// @name@: isolates a broker after so many failures in a row, for a while. After that it is on trial: one more failure
// isolates it again, one good answer makes it as good as new.
//
// A whole fault strategy to start from. CHANGE marks what to make your own.

#include <shunt/sdk/plugin.hpp>

#include <map>

namespace {

namespace sdk = shunt::sdk;
using namespace std::chrono_literals;
using sdk::nanoseconds;

class @class@ {
public:
    static constexpr std::string_view name = "@name@";  // what users write: use = "@name@"
    static constexpr std::string_view summary = "@summary@";  // CHANGE: one line for users

    // CHANGE: what may be set. The host checks files against it and fills in defaults before the constructor runs.
    static constexpr sdk::param params[] = {
        {.name = "failures", .type = sdk::type::integer, .default_text = "3", .unit = "attempts", .min = 1, .max = 1e6,
         .help = "so many failures in a row isolate a broker"},
        {.name = "isolation", .type = sdk::type::duration, .default_text = "\"10s\"", .min = sdk::milliseconds,
         .max = 24 * 3600 * sdk::seconds, .help = "how long, from its last failure on"},
    };

    explicit @class@(const sdk::settings& s)
        : failures_(s.get<std::uint32_t>("failures")), isolation_(s.get<nanoseconds>("isolation"))
    {
    }

    // CHANGE: what an attempt's end says about its broker. True: evaluate again. Time comes with the feedback; there is one
    // instance for a policy and one call at a time, off the way of a send, so it may allocate.
    bool on_feedback(const sdk::feedback& f)
    {
        if (f.kind() == sdk::feedback_kind::left)
            return brokers_.erase(f.broker_id()) > 0;
        // A caller's own small deadline says nothing about the broker.
        if (f.kind() != sdk::feedback_kind::send || (f.result() == sdk::result::expired && f.share() < 500ms))
            return false;
        if (f.good())
            return brokers_.erase(f.broker_id()) > 0;
        broker& b = brokers_[f.broker_id()];
        b.failures = std::min(b.failures + 1, failures_);
        if (b.failures < failures_)
            return false;
        b.until = std::max(b.until, std::min(f.at(), nanoseconds::max() - isolation_) + isolation_);
        b.answers = f.result() == sdk::result::failed;
        return true;
    }

    // CHANGE: which brokers are well now.
    void evaluate(sdk::broker_list brokers, nanoseconds now, sdk::verdicts out) const
    {
        for (std::uint32_t i = 0; i < brokers.size(); ++i) {
            const auto known = brokers_.find(brokers[i].id());
            if (known == brokers_.end() || now >= known->second.until) {
                out.available(i);
                continue;
            }
            if (known->second.answers)
                out.reachable(i);  // taken when nothing is available
            out.changes_at(known->second.until);
        }
    }

private:
    struct broker {
        std::uint32_t failures = 0;                // in a row
        nanoseconds until = nanoseconds::min();    // isolated before this
        bool answers = false;                      // the last failure was an answer
    };

    std::uint32_t failures_;
    nanoseconds isolation_;
    std::map<std::uint32_t, broker> brokers_;  // by id; those that failed since their last good answer
};

}  // namespace

// CHANGE: an id of your own, the version, your licence.
SHUNT_PLUGIN("example.@name@", "0.1.0", "Apache-2.0", @class@);
