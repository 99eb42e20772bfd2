// tenant-pin through the C table of the built file, as every host sees it. No framework: what does not hold is printed and ends
// the program.

#include <shunt/sdk/testing.hpp>

#include <map>
#include <string>

namespace {

namespace kit = shunt::sdk::testing;
using namespace std::chrono_literals;

const kit::plugin tenant_pin{PLUGIN};
constexpr auto five = "a*2, b*1, c*1, d*1, e*1";
const kit::settings pins{{"pins", {"acme=a", "acme=b", "initech=b", "gone=z"}}};

void tenants_stay_on_their_brokers_and_others_off()
{
    kit::require(kit::table(tenant_pin, {
        {.route = five, .message = {.key = "acme/order-1"}, .picks = "a/0 a/1 b/0 a/0", .given = pins},
        {.route = five, .message = {.key = "initech"}, .picks = "b/0 b/0", .given = pins, .because = "a key without a separator is all tenant"},
        {.route = five, .message = {.key = "hooli/1"}, .picks = "c/0 d/0 e/0 c/0", .given = pins},
        {.route = five, .picks = "c/0 d/0 e/0", .given = pins, .because = "no key, no tenant"},
        {.route = five, .message = {.key = ""}, .picks = "c/0", .given = pins, .because = "nobody is called nothing"},
        {.route = five, .message = {.key = "gone/1"}, .picks = "c/0", .given = pins, .because = "its broker is not in the route"},
        {.route = "a*1, b*1, c*1", .message = {.key = "hooli/1"}, .picks = "a/0 b/0 c/0",
         .given = {{"pins", {"acme=a"}}, {"others", "anywhere"}}},
        {.route = "a*1, b*1", .message = {.key = "hooli/1"}, .picks = "a/0 b/0", .given = {{"pins", {"x=a", "y=b"}}},
         .because = "no broker is left for others: any"},
        {.route = "a*1, b*1", .message = {.key = "ac:me"}, .picks = "b/0", .given = {{"pins", {"ac=b"}}, {"separator", ":"}}},
        {.route = "a*1, b*1", .message = {.key = "ac/me"}, .picks = "b/0", .given = {{"pins", {"ac/me=b"}}, {"separator", ""}}},
    }));
}

void tenants_spill_when_their_brokers_are_isolated_or_tried()
{
    const kit::msg acme{.key = "acme/1"};
    kit::selector s{tenant_pin, pins};
    kit::route r{five};
    r.isolate("a");
    kit::require(kit::spread(s.count(r, 10, acme), {{"b/0", 1}}));
    r.isolate("b");
    kit::require(kit::spread(kit::by_broker(s.count(r, 300, acme)), {{"c", 1}, {"d", 1}, {"e", 1}}));
    r.isolate("a", "b", "c", "d", "e");
    kit::require(kit::spread(kit::by_broker(s.count(r, 300, acme)), {{"a", 2}, {"b", 1}}));  // all alike: home
    r.all_well();
    kit::require(kit::never_picks(s, r, "c", 100, acme));  // and back home

    kit::require(kit::table(tenant_pin, {
        {.route = five, .message = {.key = "acme/1", .tried = {"a"}}, .picks = "b/0 b/0", .given = pins},
        {.route = five, .message = {.key = "acme/1", .tried = {"a", "b"}}, .picks = "c/0 d/0", .given = pins},
        {.route = five, .message = {.key = "initech/1", .tried = {"b", "c", "d", "e"}}, .picks = "a/0", .given = pins},
    }));
}

void a_tenant_is_served_while_its_broker_is_away()
{
    kit::route r{"a*2, b*2, c*2"};
    kit::selector s{tenant_pin, {{"pins", {"acme=b"}}}};
    kit::world w{r, s};
    w.at(1s, "b refuse");
    w.at(2s, "b ok");
    w.run({.sends = 300, .every = 10ms, .key = "acme/{i}"});
    kit::require(kit::all_stored(w));
    kit::require(kit::recovers_within(w, "b", 0s));
    kit::require(kit::spread(kit::by_broker(w.first_attempts(2s)), {{"b", 1}}));
}

void settings_that_make_no_sense_are_refused()
{
    const auto refusal = [](const kit::settings& given) { return kit::selector{tenant_pin, given}.refusal(); };
    const std::map<std::string, std::string> wrong{{"acme", "pins has \"acme\"; each must have the form TENANT=BROKER"},
                                                   {"=a", "pins has \"=a\"; each must have the form TENANT=BROKER"},
                                                   {"acme=", "pins has \"acme=\"; each must have the form TENANT=BROKER"}};
    for (const auto& [pin, words] : wrong)
        kit::require(refusal({{"pins", {pin}}}) == words ? kit::finding{} : kit::finding{refusal({{"pins", {pin}}})});
    kit::require(refusal({}).starts_with("pins is not set") ? kit::finding{} : kit::finding{refusal({})});
}

void it_steps_into_no_trap()
{
    const kit::traps::options o{.settings = {{"pins", {"acme=a", "initech=b"}}}, .route = "a*4, b*4, c*4, d*4", .keys = {"acme/1", "acme/2", "initech/1"}};
    kit::require(kit::traps::selector(tenant_pin, o));
    kit::require(kit::fuzz::at_random(kit::fuzz::selector, tenant_pin, o, 500));
}

}  // namespace

int main()
{
    tenants_stay_on_their_brokers_and_others_off();
    tenants_spill_when_their_brokers_are_isolated_or_tried();
    a_tenant_is_served_while_its_broker_is_away();
    settings_that_make_no_sense_are_refused();
    it_steps_into_no_trap();
}
