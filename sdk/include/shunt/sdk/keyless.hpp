// What a selector by key does with a message that has none. An empty key is a key.

#pragma once

#include <shunt/sdk/draw.hpp>
#include <shunt/sdk/plugin.hpp>
#include <shunt/sdk/tiers.hpp>

#include <string_view>

namespace shunt::sdk {

class keyless_rule {
public:
    static constexpr param setting{.name = "keyless", .default_text = "\"rotate\"", .choices = "rotate|random|fail",
                                   .help = "a message without a key: rotate, as best-queue does; random; or fail: no queue"};

    keyless_rule(const settings& s, instance i) : cursor_(i.start)
    {
        const auto rule = s.get<std::string_view>(setting.name);
        fails_ = rule == "fail";
        draws_ = rule == "random";
    }

    [[nodiscard]] pick select(view v, message m) noexcept
    {
        if (fails_)
            return pick::no_queue();
        return draws_ ? draw(v, m) : rotate(v, m, cursor_);
    }

private:
    cursor cursor_;
    bool fails_ = false;
    bool draws_ = false;
};

}  // namespace shunt::sdk
