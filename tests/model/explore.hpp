// Every sequence of events up to a length, put to a machine; what must hold is looked at after each event.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shunt::model {

struct finding {
    std::string wrong;               ///< empty: nothing was
    std::vector<std::size_t> events; ///< that led there: indexes into the alphabet
    std::uint64_t sequences = 0;     ///< looked at

    [[nodiscard]] std::string shown() const
    {
        std::string text = wrong + " after";
        for (const std::size_t e : events)
            text += " " + std::to_string(e);
        return text;
    }
};

/// Walks all sequences of `depth` events of an alphabet of `letters`. A World is made anew for each: `step(letter)` does one
/// event and answers what is wrong now, or nothing. An event that makes no sense in a state is ignored by the world.
/// Ends at the first thing that is wrong.
template <typename World, typename Make>
[[nodiscard]] finding explore(std::size_t letters, std::size_t depth, Make make)
{
    finding f;
    std::vector<std::size_t> sequence(depth, 0);
    for (;;) {
        ++f.sequences;
        World world = make();
        for (std::size_t i = 0; i < depth; ++i) {
            f.wrong = world.step(sequence[i]);
            if (!f.wrong.empty()) {
                f.events.assign(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(i) + 1);
                return f;
            }
        }
        std::size_t at = depth;
        while (at > 0 && ++sequence[at - 1] == letters)
            sequence[--at] = 0;
        if (at == 0)
            return f;
    }
}

}  // namespace shunt::model
