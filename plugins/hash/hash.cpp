// The key decides the queue: equal keys go to one queue as long as the number of queues stays. Health is not asked.

#include <shunt/sdk/hash.hpp>
#include <shunt/sdk/keyless.hpp>
#include <shunt/sdk/plugin.hpp>

namespace {

namespace sdk = shunt::sdk;

class hash {
public:
    static constexpr std::string_view name = "hash";
    static constexpr std::string_view summary = "key to queue by hash and remainder, as RocketMQ's clients do";
    static constexpr std::uint32_t may_want = SHUNT_F_WANTS_JAVA_HASH | SHUNT_F_WANTS_HASH64;
    static constexpr sdk::param params[] = {
        {.name = "function", .default_text = "\"java\"", .choices = "java|murmur2|fnv1a|xxh3",
         .help = "java: String.hashCode, as the Java client; fnv1a: as the Go client; a mapping never changes between releases"},
        sdk::keyless_rule::setting,
    };

    hash(const sdk::settings& s, sdk::instance i) : keyless_(s, i)
    {
        const auto f = s.get<std::string_view>("function");
        function_ = f == "murmur2" ? function::murmur2 : f == "fnv1a" ? function::fnv1a : f == "xxh3" ? function::xxh3 : function::java;
    }

    [[nodiscard]] std::uint32_t wants() const noexcept
    {
        return function_ == function::java ? SHUNT_F_WANTS_JAVA_HASH : function_ == function::xxh3 ? SHUNT_F_WANTS_HASH64 : 0u;
    }

    sdk::pick select(sdk::view v, sdk::message m) noexcept
    {
        if (!m.has_key())
            return keyless_.select(v, m);

        const sdk::fitting all{v, m, sdk::tier::any};
        const std::uint32_t n = v.raw().candidates == nullptr ? v.size() : all.count(0, v.size());
        if (n == 0)
            return sdk::pick::no_queue();
        const std::uint32_t nth = index(m, n);
        const std::uint32_t home = v.raw().candidates == nullptr ? nth : all.nth(nth, 0, v.size());
        return m.tried().empty() ? sdk::pick{home, sdk::why::key} : retry(v, m, home);
    }

private:
    enum class function { java, murmur2, fnv1a, xxh3 };

    [[nodiscard]] std::uint32_t index(sdk::message m, std::uint32_t n) const noexcept
    {
        switch (function_) {
        case function::java: return sdk::abs_mod(m.java_hash(), n);
        case function::murmur2: return sdk::murmur2(m.key()) % n;
        case function::fnv1a: return sdk::fnv1a(m.key()) % n;
        case function::xxh3: break;
        }
        return static_cast<std::uint32_t>(m.hash64() % n);
    }

    /// The first queue from the key's own on whose broker is not tried; with all tried the key's own again.
    static sdk::pick retry(sdk::view v, sdk::message m, std::uint32_t home) noexcept
    {
        const sdk::fitting untried{v, m, sdk::tier::untried};
        std::uint32_t q = untried.first(home, v.size());
        if (q == v.size())
            q = untried.first(0, home);
        return {q, q == home ? sdk::why::key : sdk::why::avoid_tried};
    }

    function function_;
    sdk::keyless_rule keyless_;
};

}  // namespace

SHUNT_PLUGIN("shunt.hash", "1.0.0", "Apache-2.0", hash);
