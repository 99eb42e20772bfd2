// The same strategy as step.c and step.rs, through the SDK: every build of it answers alike. See builds_test.py.

#include <shunt/sdk/plugin.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

namespace sdk = shunt::sdk;

class step {
public:
    static constexpr std::string_view name = "step";
    static constexpr std::string_view summary = "goes on by so many queues, and further by the key's bytes";
    static constexpr sdk::param params[] = {
        {.name = "step", .type = sdk::type::integer, .default_text = "1", .unit = "queues", .min = 1, .max = 100, .help = "from one to the next"},
    };

    step(const sdk::settings& s, sdk::instance i) : next_(i.start), step_(s.get<std::uint32_t>("step"))
    {
        if (step_ % 7 == 0)
            s.refuse("step is " + std::to_string(step_) + "; it must be no multiple of 7");
    }

    sdk::pick select(sdk::view v, sdk::message m)
    {
        if (m.has_key() && m.key() == "poison") {
#ifdef __cpp_exceptions
            throw std::runtime_error("the key is 'poison'; no queue is right for it");
#else
            return sdk::pick::no_queue();
#endif
        }
        std::uint32_t first = next_;
        next_ += step_;
        for (const char c : m.key())
            first += static_cast<unsigned char>(c);
        first %= v.size();
        for (std::uint32_t i = 0; i < v.size(); ++i) {
            const std::uint32_t q = (first + i) % v.size();
            if (v.candidate(q) && v.available(q) && !m.tried(v.broker_of(q)))
                return {q, i == 0 ? sdk::why::rotation : sdk::why::avoid_isolated};
        }
        return sdk::pick::no_queue();
    }

private:
    std::uint32_t next_, step_;
};

}  // namespace

SHUNT_PLUGIN("shunt.tests.step", "1.0.0", "Apache-2.0", step);
