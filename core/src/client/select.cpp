#include <shunt/template.hpp>

#include <shunt/sdk/hash.hpp>

namespace shunt {

selector_function select_by_hash()
{
    return [](std::span<const queue_ref> queues, const message& m, std::uint32_t) -> std::size_t {
        const std::string_view key = m.order_key() ? std::string_view(*m.order_key()) : std::string_view();
        return sdk::abs_mod(sdk::java_hash(key), static_cast<std::uint32_t>(queues.size()));
    };
}

}  // namespace shunt
