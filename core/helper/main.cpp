// shunt-preflight: runs checks of a plugin file and writes down what came of them. Started by shunt itself, never by hand.

#include "allocations.hpp"

#include <plugin/check/child.hpp>

#include <chrono>
#include <cstdint>

int main(int argc, char** argv)
{
    shunt::plugin::check::instruments with;
    with.clock_ns = [] {
        return std::int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count()};
    };
#ifdef SHUNT_SANITIZED
    with.sanitized = true;
#endif
    with.memory = shunt::helper::allocations();
    return shunt::plugin::check::child_main(argc, argv, with);
}
