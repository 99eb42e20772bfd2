// Each trap: a strategy with that flaw steps into it, a sound one does not.

#include <plugin/kit/kit.hpp>

#include <array>

namespace shunt::test {
namespace {

using planted::flaw, planted::isolating;

struct planted_flaw {
    std::string_view trap;
    plugin (*make)();
    std::string_view words;  ///< what the finding tells
};

const planted_flaw selectors[] = {
    {"retries-elsewhere", of<planted::retries_where_it_failed>, "the retry to"},
    {"remembers-all-tried", of<planted::remembers_the_last_only>, "though a broker not tried yet is left"},
    {"survives-extreme-numbers", of<planted::takes_the_abs_of_a_hash>, "picked queue index"},
    {"keeps-topics-apart", of<planted::shares_a_counter>, "with another topic in use"},
    {"returns-to-healthy-brokers", of<planted::never_forgives>, "after it was well again"},
    {"answers-when-all-are-bad", of<planted::gives_up_when_all_are_bad>, "all brokers isolated: no queue, though there are writable ones"},
    {"takes-an-empty-key-for-a-key", of<planted::takes_an_empty_key_for_none>, "an empty key is a key"},
    {"places-keys-alike", of<planted::places_by_broker_id>, "in another with the same queues"},
    {"wraps-its-cursor", of<planted::overflows>, "picked queue index"},
    {"stays-among-candidates", of<planted::ignores_candidates>, "which is not among the candidates"},
    {"leaves-the-view-alone", of<planted::writes_into_the_view>, "select changed the view"},
    {"follows-the-route", of<planted::keeps_an_index>, "after the route changed: picked queue index"},
    {"repeats-itself", of<planted::rolls_its_own_dice>, "all of these come from the host"},
    {"keeps-its-word-to-be-deterministic", of<planted::rotates_and_says_deterministic>, "though the class declares SHUNT_F_DETERMINISTIC"},
    {"answers-every-view", of<planted::has_room_for_64_brokers>, "too many brokers"},
    {"may-be-shared-if-it-says-so", of<planted::says_concurrent_and_is_not>, "called by another thread"},
};

const planted_flaw faults[] = {
    {"comes-back", of<isolating<flaw::never_ends>>, "neither time (valid_until says never) nor a probe (none is asked for) can bring it back"},
    {"comes-back-after-a-long-outage", of<isolating<flaw::grows_without_end>>, "is not available 1h after it was well again"},
    {"knows-brokers-by-id", of<isolating<flaw::by_index>>, "is isolated instead"},
    {"forgets-who-left", of<isolating<flaw::never_forgets>>, "left the route and came again"},
    {"trusts-strangers", of<isolating<flaw::fears_strangers>>, "of 130 brokers that nothing is known of, number 0 is not available"},
    {"blames-nobody-for-small-deadlines", of<isolating<flaw::blames_small_deadlines>>, "200 attempts with 1 ms each"},
    {"says-when-verdicts-change", of<isolating<flaw::says_nothing>>, "but on_feedback answered 0"},
    {"says-when-verdicts-change", of<isolating<flaw::hides_the_end>>, "though evaluate had said it holds for ever"},
    {"survives-odd-times", of<isolating<flaw::fears_odd_times>>, "time must not run backward"},
    {"hands-over-its-state", of<isolating<flaw::hands_over_points_in_time>>, "the verdicts changed when the state was handed over"},
};

template <std::size_t N>
const traps::trap& trap_named(const traps::trap (&all)[N], std::string_view name)
{
    return *std::ranges::find(all, name, &traps::trap::name);
}

template <std::size_t N, std::size_t M>
void expect_caught(const traps::trap (&all)[N], const planted_flaw (&planted)[M])
{
    for (const planted_flaw& one : planted) {
        const finding f = trap_named(all, one.trap).run(one.make(), {});
        EXPECT_FALSE(f) << one.trap;
        EXPECT_TRUE(has(f.why(), one.words)) << one.trap << ": " << f.why();
    }
    for (const traps::trap& t : all)
        EXPECT_TRUE(std::ranges::count(planted, t.name, &planted_flaw::trap) > 0) << t.name << " has no strategy that steps into it";
}

TEST(Traps, CatchSelectorsWithTheFlawTheyAreAbout) { expect_caught(traps::selector_traps, selectors); }
TEST(Traps, CatchFaultStrategiesWithTheFlawTheyAreAbout) { expect_caught(traps::fault_traps, faults); }

TEST(Traps, LetSoundStrategiesPass)
{
    for (const plugin& p : {of<planted::sound>(), of<planted::sound_by_key>()})
        EXPECT_EQ(traps::selector(p).why(), "");
    EXPECT_EQ(traps::fault(of<isolating<flaw::none>>()).why(), "");
}

TEST(Traps, AreToldByNameAllAtOnce)
{
    const finding f = traps::selector(of<planted::retries_where_it_failed>());
    EXPECT_TRUE(has(f.why(), "retries-elsewhere: key") || has(f.why(), "retries-elsewhere: no key")) << f.why();
    EXPECT_TRUE(has(f.why(), "\nremembers-all-tried: ")) << f.why();
}

TEST(Traps, CanBeLeftOutByName)
{
    const plugin p = of<planted::rotates_and_says_deterministic>();
    EXPECT_FALSE(traps::selector(p));
    EXPECT_EQ(traps::selector(p, {.except = {"keeps-its-word-to-be-deterministic"}}).why(), "");
    EXPECT_TRUE(has(thrown_by([&] { (void)traps::selector(p, {.except = {"retries-elswhere"}}); }), "no trap \"retries-elswhere\""));
}

class strict : public planted::sound {
public:
    static constexpr sdk::param params[] = {{.name = "room", .required = true, .help = "where"}};
    using planted::sound::sound;
    sdk::pick select(sdk::view v, sdk::message m) noexcept { return sdk::rotate(v, m, cursor_); }
};

TEST(Traps, SayThatSettingsAreMissing)
{
    const plugin p = of<strict>();
    EXPECT_TRUE(has(traps::retries_elsewhere(p).why(), "room is not set; it must be a string; give the trap the settings it needs"));
    EXPECT_EQ(traps::retries_elsewhere(p, {.settings = {{"room", "hz"}}}).why(), "");
}

}  // namespace
}  // namespace shunt::test
