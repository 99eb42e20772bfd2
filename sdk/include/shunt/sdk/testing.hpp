// The test kit: drives a strategy as a host does, through the real C table of a built plugin or of a class, with the clock,
// the dice and the brokers in the test's hand. Headers only, the standard library only, with any test framework.
//
//     #include <shunt/sdk/testing.hpp>
//     namespace kit = shunt::sdk::testing;
//
//     const kit::plugin p{"build/libsticky_queue.so"};          or kit::of<sticky_queue>()
//     kit::route r{"a*4, b*4 @hz-1 weight 2"};
//     kit::selector s{p, {{"run", 3}}};
//     assert(s.picks(r, 4) == "a/0 a/0 a/0 a/1");
//     r.isolate("a");
//     kit::require(kit::never_picks(s, r, "a"));
//     kit::require(kit::traps::selector(p));                    what strategies of other clients got wrong
//
// | part | holds |
// |---|---|
// | route | queues and brokers from a line; verdicts, candidates, load |
// | plugin, of | the built file, or a class |
// | selector, msg | picks; keys, tried brokers, attempts |
// | fault | feedback, probes, verdicts, time as a parameter |
// | world | sends against brokers that do as they are told, both kinds of strategy together |
// | spread, never_picks, stays_put, moves_at_most, recovers_within | assertions that say why not |
// | table, story | many small cases at once |
// | traps | ready-made checks of known mistakes |
// | fuzz | bytes to all of the above |
//
// Builds with -fno-exceptions and -fno-rtti. How to use it: sdk/README.md.

#pragma once

#include <shunt/sdk/testing/assertions.hpp>
#include <shunt/sdk/testing/fault.hpp>
#include <shunt/sdk/testing/finding.hpp>
#include <shunt/sdk/testing/fuzz.hpp>
#include <shunt/sdk/testing/plugin.hpp>
#include <shunt/sdk/testing/route.hpp>
#include <shunt/sdk/testing/selector.hpp>
#include <shunt/sdk/testing/settings.hpp>
#include <shunt/sdk/testing/traps.hpp>
#include <shunt/sdk/testing/world.hpp>
