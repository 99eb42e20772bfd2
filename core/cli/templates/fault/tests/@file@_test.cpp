// What holds of @name@, tried on the built file through the table of functions a host calls.
//
// usage: @file@_test lib@file@.so

#include <shunt/sdk/testing.hpp>

#include <cstdio>

namespace kit = shunt::sdk::testing;

int main(int argc, char** argv)
{
    const kit::plugin p{argc > 1 ? argv[1] : "build/lib@file@.so"};
    const kit::settings given{{"failures", 3}, {"isolation", "10s"}};
    kit::finding all;

    // CHANGE: what must hold of your strategy, told as stories: what happened to a broker, and what it then is.
    all.also(kit::story(p, given, R"(
        1s      b failed
        2s      b failed
        2s      b is available
        3s      b failed
        3s      b is reachable
        12999ms b is reachable
        13s     b is available
        13s     a is available
    )"), "three in a row isolate, for as long as is set");
    all.also(kit::story(p, given, R"(
        1s  b failed
        2s  b failed
        3s  b good
        4s  b failed
        5s  b failed
        5s  b is available
    )"), "a good answer in between counts anew");
    all.also(kit::story(p, given, R"(
        1s  b refuse
        2s  b refuse
        3s  b refuse
        3s  b is cut-off
        14s b is available
        15s b refuse
        15s b is cut-off
        26s b good
        27s b refuse
        27s b is available
    )"), "after an isolation one failure isolates again, and a good answer makes it as new");
    all.also(kit::story(p, given, R"(
        1s  b expired 100ms
        2s  b expired 100ms
        3s  b expired 100ms
        3s  b is available
        4s  b expired 2s
        5s  b expired 2s
        6s  b expired 2s
        6s  b is cut-off
        7s  b left
        7s  b is available
    )"), "a caller's small deadline is not the broker's fault, and who left is forgotten");

    for (const kit::settings& wrong : {kit::settings{{"failures", 0}}, kit::settings{{"isolation", "0s"}}})
        if (kit::fault{p, wrong}.refusal().empty())
            all.also(kit::finding{wrong.begin()->first + " = 0 was taken; it must be refused"});

    // What strategies of other clients got wrong: brokers that never come back, verdicts by index, clocks that jump, and so on.
    all.also(kit::traps::fault(p));

    kit::require(all);
    std::puts("@name@: all of it holds");
}
