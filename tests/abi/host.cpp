// The least of a host: asks a build of the strategy `step` through its C table, and prints what it answers. Built with any
// version of abi.h. See builds_test.py.

#include <support/strategy_driver.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

using namespace shunt::test;

int main(int argc, char** argv)
try {
    if (argc != 2)
        throw std::runtime_error("usage: host FOLDER");
    const plugin file{argv[1], "step"};
    topic t{"a*4 b*4 c*5"};
    selector s{file, {{"step", 5}}, {.start = 2147483647}};
    const auto ask = [&](const char* what, const msg& m) {
        const selector::answer a = s.ask(t, m);
        std::printf("%s: %d %u %u\n", what, a.status, a.status == SHUNT_OK ? a.pick.queue_index : 0, a.status == SHUNT_OK ? a.pick.why : 0);
    };
    for (int i = 0; i < 20; ++i)
        ask("all well", {});
    t.isolate({"b"});
    for (int i = 0; i < 20; ++i)
        ask("b isolated, a tried", {.tried = {"a"}});
    t.all_well();
    for (const char* key : {"", "order-17", "\xE8\xAE\xA2\xE5\x8D\x95", "order-18"})
        ask("key", {.key = key});
    std::printf("poison: %s\n", s.pick(t, {.key = "poison"}).c_str());
    t.only({"b-1", "c-3"});
    for (int i = 0; i < 10; ++i)
        ask("candidates b-1 and c-3", {});
    ask("all tried", {.tried = {"b", "c"}});
    selector refused{file, {{"step", 14}}};
    std::printf("refused: %d %s\n", refused.status(), refused.refusal().c_str());
} catch (const std::exception& e) {
    std::printf("failed: %s\n", e.what());
    return 1;
}
