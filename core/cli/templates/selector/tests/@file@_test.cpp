// What holds of @name@, tried on the built file through the table of functions a host calls.
//
// usage: @file@_test lib@file@.so

#include <shunt/sdk/testing.hpp>

#include <cstdio>

namespace kit = shunt::sdk::testing;

int main(int argc, char** argv)
{
    const kit::plugin p{argc > 1 ? argv[1] : "build/lib@file@.so"};
    kit::finding all;

    // CHANGE: what must hold of your strategy. A row: brokers with their queues, and the queues that must be picked, one
    // after the other.
    all.also(kit::table(p, {
        {.route = "a*2, b*2", .picks = "a/0 a/0 a/1 a/1 b/0 b/0 b/1 b/1 a/0", .given = {{"run", 2}}, .because = "a run on each queue"},
        {.route = "a*2, b*2", .picks = "b/1 a/0 a/1", .given = {{"run", 1}}, .start = 3, .because = "begins where it is told"},
        {.route = "a*2 isolated, b*1", .picks = "b/0 b/0 b/0", .given = {{"run", 1}}, .because = "keeps off isolated brokers"},
        {.route = "a*2 isolated", .picks = "a/0 a/1", .given = {{"run", 1}}, .because = "an isolated broker is better than none"},
        {.route = "a*2, b*1", .message = {.tried = {"a"}}, .picks = "b/0 b/0", .given = {{"run", 1}}, .because = "a retry goes elsewhere"},
        {.route = "a*2", .message = {.tried = {"a"}}, .picks = "a/0 a/1", .given = {{"run", 1}}, .because = "until all have been tried"},
    }));

    kit::route r{"a*4, b*4, c*4"};
    kit::selector s{p, {{"run", 10}}};
    all.also(kit::spread(s.count(r, 1200), r), "in the long run");
    (void)s.pick(r);  // a run on a/0 has begun
    r.isolate("a");
    all.also(kit::never_picks(s, r, "a"), "a run ends when its broker is isolated");

    if (kit::selector{p, {{"run", 0}}}.refusal().empty())
        all.also(kit::finding{"run = 0 was taken; it must be refused"});

    // What strategies of other clients got wrong: retries, keys, cursors, routes that change, and so on. With short runs, so
    // that a run is not taken for the home of a key.
    all.also(kit::traps::selector(p, {.settings = {{"run", 2}}}));

    kit::require(all);
    std::puts("@name@: all of it holds");
}
