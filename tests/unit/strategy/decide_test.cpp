// One decision: the selector is asked, nothing it says is believed, and a message always has an answer.

#include "strategy_situation.hpp"

#include <limits>
#include <set>

namespace shunt::strategy::test {
namespace {

struct Decide : Strategies {};

using select_function = std::function<shunt_status(const shunt_view&, const shunt_msg&, shunt_pick&)>;

select_function picking(std::uint32_t queue, std::uint32_t why = SHUNT_WHY_PLUGIN)
{
    return [=](const shunt_view&, const shunt_msg&, shunt_pick& p) -> shunt_status {
        p = {queue, why};
        return SHUNT_OK;
    };
}
select_function answering(shunt_status status)
{
    return [=](const shunt_view&, const shunt_msg&, shunt_pick& p) -> shunt_status {
        p = {1, 0};  // must not be taken
        return status;
    };
}

TEST_F(Decide, TakesTheQueueTheSelectorPicksWithItsReason)
{
    situation at;
    selectors()["chooser"].select = picking(6, SHUNT_WHY_KEY);
    const decision d = decide(*at.s, *at.set, {});
    EXPECT_EQ(at.named(d), "b-2");
    EXPECT_EQ(d.because, why::key);
    EXPECT_EQ(to_string(d.because), "key");
    selectors()["chooser"].select = picking(6, 4711);
    EXPECT_EQ(decide(*at.s, *at.set, {}).because, why::plugin) << "a reason nobody knows";
}

struct nonsense_row {
    const char* claim;
    select_function says;
    std::uint64_t errors, abstained;
};

TEST_F(Decide, AnswersByTheFallbackWhatTheSelectorDoesNot)
{
    const nonsense_row rows[] = {
        {"just past the end", picking(12), 1, 0},
        {"no queue at all", picking(SHUNT_NONE), 1, 0},
        {"abstains", answering(SHUNT_ABSTAIN), 0, 1},
        {"unsupported", answering(SHUNT_UNSUPPORTED), 1, 0},
        {"an answer nobody knows", answering(77), 1, 0},
        {"invalid", answering(SHUNT_E_INVALID), 1, 0},
        {"threw", answering(SHUNT_E_EXCEPTION), 1, 0},
        {"a status at the end", answering(std::numeric_limits<shunt_status>::min()), 1, 0},
        {"says nothing", [](const shunt_view&, const shunt_msg&, shunt_pick&) -> shunt_status { return SHUNT_OK; }, 1, 0},
    };
    for (const nonsense_row& row : rows) {
        SCOPED_TRACE(row.claim);
        situation at;
        selectors()["chooser"].select = row.says;
        std::set<std::string> used;
        for (int i = 0; i < 12; ++i) {
            const decision d = decide(*at.s, *at.set, {});
            EXPECT_TRUE(d.picked);
            EXPECT_EQ(to_string(d.because), "fallback");
            used.insert(at.named(d));
        }
        EXPECT_EQ(used.size(), 12u) << "it rotates";
        EXPECT_EQ(at.pol->plugin_errors, 12 * row.errors);
        EXPECT_EQ(at.pol->abstained, 12 * row.abstained);
    }
}

TEST_F(Decide, LeavesARefusalToThePolicy)
{
    situation at;
    selectors()["chooser"].select = answering(SHUNT_NO_QUEUE);
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "refused");
    EXPECT_EQ(at.pol->plugin_errors, 0u);
    const decision any = decide_fallback(*at.s, *at.set, {});
    EXPECT_TRUE(any.picked);
    EXPECT_EQ(any.because, why::fallback);
}

TEST_F(Decide, DoesNotAskWhereNothingIsWritable)
{
    situation at({{"a", 4, 4}, {"b", 0, 6}});
    selectors()["chooser"].select = [](const shunt_view&, const shunt_msg&, shunt_pick&) -> shunt_status {
        ADD_FAILURE() << "asked about an empty view";
        return SHUNT_OK;
    };
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "none");
    EXPECT_EQ(at.named(decide_fallback(*at.s, *at.set, {})), "none");
}

// The fallback came from a list of its own and named brokers that may not be written to.
TEST_F(Decide, FallsBackToWritableQueuesOnly)
{
    situation at({{"a", 4, 6}, {"b", 4, 4}, {"c", 0, 6}, {"d", 4, 6, false}});
    selectors()["chooser"].select = answering(SHUNT_E_INVALID);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(at.named(decide(*at.s, *at.set, {}))[0], 'a');
}

TEST_F(Decide, FallsBackAroundTriedBrokersWhileOthersAreLeft)
{
    situation at;
    selectors()["chooser"].select = answering(SHUNT_E_INVALID);
    const std::uint32_t tried[] = {at.id("a"), at.id("b")};
    question q;
    q.attempt = 3;
    q.tried = tried;
    for (int i = 0; i < 12; ++i)
        EXPECT_EQ(at.named(decide(*at.s, *at.set, q))[0], 'c');
    const std::uint32_t all[] = {at.id("a"), at.id("b"), at.id("c")};
    q.tried = all;
    EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
}

TEST_F(Decide, FallsBackByHealthInTheStatedOrder)
{
    faults()["fault"].evaluate = [](const shunt_broker*, std::uint32_t, std::int64_t, std::uint64_t* available, std::uint64_t* reachable,
                                    std::int64_t*) -> shunt_status {
        *available = 0b001;  // a
        *reachable = 0b010;  // b, and a of itself
        return SHUNT_OK;
    };
    situation at;
    selectors()["chooser"].select = answering(SHUNT_E_INVALID);
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {}))[0], 'a') << "available";
    question q;
    const std::uint32_t a[] = {at.id("a")};
    q.tried = a;
    EXPECT_EQ(at.named(decide(*at.s, *at.set, q))[0], 'b') << "untried and reachable";
    const std::uint32_t ab[] = {at.id("a"), at.id("b")};
    q.tried = ab;
    EXPECT_EQ(at.named(decide(*at.s, *at.set, q))[0], 'c') << "untried";
    const std::uint32_t abc[] = {at.id("a"), at.id("b"), at.id("c")};
    q.tried = abc;
    EXPECT_EQ(at.named(decide(*at.s, *at.set, q))[0], 'a') << "available again";
}

TEST_F(Decide, ShowsTheSelectorTriedBrokersOfTheRouteOnly)
{
    situation at;
    (void)at.book.entry("gone");
    std::vector<std::string> seen;
    selectors()["chooser"].select = [&](const shunt_view& v, const shunt_msg& m, shunt_pick& p) -> shunt_status {
        for (std::uint32_t i = 0; i < m.n_tried; ++i)
            seen.emplace_back(from_str(v.brokers[m.tried[i]].name));
        p.queue_index = 0;
        return SHUNT_OK;
    };
    const std::uint32_t tried[] = {at.id("gone"), at.id("c"), 4711, at.id("a")};
    question q;
    q.tried = tried;
    EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
    EXPECT_EQ(seen, (std::vector<std::string>{"c", "a"}));
    std::vector<std::uint32_t> many(40, at.id("b"));
    q.tried = many;
    EXPECT_TRUE(decide(*at.s, *at.set, q).picked) << "more than there can be is no overflow";
}

TEST_F(Decide, ShowsTheSelectorTheFactsOfTheMessage)
{
    situation at;
    selectors()["chooser"].select = [](const shunt_view& v, const shunt_msg& m, shunt_pick& p) -> shunt_status {
        EXPECT_EQ(m.struct_size, sizeof(shunt_msg));
        EXPECT_EQ(m.flags, SHUNT_MSG_HAS_KEY | SHUNT_MSG_ORDERED);
        EXPECT_EQ(from_str(m.key), "key");
        EXPECT_EQ(m.attempt, 4u);
        EXPECT_EQ(m.body_len, 99u);
        EXPECT_EQ(m.random, 5u);
        EXPECT_EQ(m.now_ns, 123);
        EXPECT_EQ(from_str(v.topic), "T");
        EXPECT_EQ(v.n_queues, 12u);
        EXPECT_EQ(v.n_brokers, 3u);
        EXPECT_EQ(v.candidates, nullptr);
        p.queue_index = 0;
        return SHUNT_OK;
    };
    question q;
    q.has_key = q.ordered = true;
    q.key = "key";
    q.attempt = 4;
    q.body_len = 99;
    q.random = 5;
    q.now_ns = 123;
    EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
}

TEST_F(Decide, GivesHashesOfTheKeyToThoseWhoWantThem)
{
    struct row {
        std::uint32_t wants;
        bool xxh, java;
    };
    for (const row& r : {row{0, false, false}, row{SHUNT_F_WANTS_HASH64, true, false}, row{SHUNT_F_WANTS_JAVA_HASH, false, true}}) {
        selectors()["chooser"].flags = r.wants;
        situation at;
        selectors()["chooser"].select = [&](const shunt_view&, const shunt_msg& m, shunt_pick& p) -> shunt_status {
            EXPECT_EQ(m.hash64, r.xxh ? 0x2d06800538d394c2ULL : 0u) << "XXH3-64 of nothing, seed 0";
            EXPECT_EQ(m.java_hash, 0);
            p.queue_index = 0;
            return SHUNT_OK;
        };
        question q;
        q.has_key = true;
        EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
        selectors()["chooser"].select = [&](const shunt_view&, const shunt_msg& m, shunt_pick& p) -> shunt_status {
            EXPECT_EQ(m.java_hash, r.java ? 97 * 31 + 98 : 0) << "\"ab\".hashCode()";
            p.queue_index = 0;
            return SHUNT_OK;
        };
        q.key = "ab";
        EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
    }
}

/// "KEYS=a b, mine=1": what a plugin is shown of a message's properties.
std::string shown_properties(const shunt_msg& m)
{
    std::string all;
    for (std::uint32_t i = 0; i < m.n_props; ++i)
        all += (i > 0 ? ", " : "") + std::string(from_str(m.props[i].key)) + "=" + std::string(from_str(m.props[i].value));
    return all;
}

/// A selector that writes down the properties it is shown, and what they were when it is asked for them.
select_function noting(std::vector<std::string>& seen)
{
    return [&seen](const shunt_view&, const shunt_msg& m, shunt_pick& p) -> shunt_status {
        seen.push_back(shown_properties(m));
        EXPECT_TRUE(m.props != nullptr || m.n_props == 0);
        p.queue_index = 0;
        return SHUNT_OK;
    };
}

/// With everything an application can set.
message laden()
{
    message m("T", "body");
    m.set_property("tenant", "acme").set_tag("red").add_key("k1").add_key("k2").set_property("region", "eu").set_property("tenant", "hooli");
    m.set_order_key("order").set_delay_level(3).set_wait_store(false).set_flag(7);
    return m;
}

// Plugins that asked for properties were told that there are none.
TEST_F(Decide, ShowsTheSelectorThePropertiesTheApplicationSet)
{
    selectors()["chooser"].flags = SHUNT_F_WANTS_PROPS;
    std::vector<std::string> seen;
    selectors()["chooser"].select = noting(seen);
    situation at;
    const message all = laden(), few = message("T", "x").set_property("\xE8\xAE\xA2", ""), no_text = message("T", "x").add_key("");
    const message none("T", "x");
    for (const message* m : {&all, &few, &none, &no_text, static_cast<const message*>(nullptr), &all}) {
        question q;
        q.properties_of = m;
        EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"KEYS=k1 k2, TAGS=red, tenant=hooli, region=eu", "\xE8\xAE\xA2=", "", "KEYS=", "",
                                              "KEYS=k1 k2, TAGS=red, tenant=hooli, region=eu"}));
}

TEST_F(Decide, ShowsPropertiesToThoseOnlyWhoWantThem)
{
    std::vector<std::string> seen;
    const message m = laden();
    question q;
    q.properties_of = &m;
    for (const std::uint32_t wants : {0u, SHUNT_F_WANTS_HASH64 | SHUNT_F_WANTS_JAVA_HASH}) {
        selectors()["chooser"].flags = wants;
        selectors()["chooser"].select = noting(seen);
        situation at;
        EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
        EXPECT_EQ(at.set->properties.capacity(), 0u) << "nobody pays for what nobody wants";
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"", ""}));
}

TEST_F(Decide, GivesNoMoreThanTheClassDeclaresWhateverTheInstanceWants)
{
    struct row {
        std::uint32_t declared, wanted;
        bool given;
    };
    for (const row& r : {row{SHUNT_F_WANTS_PROPS, SHUNT_F_WANTS_PROPS, true}, row{SHUNT_F_WANTS_PROPS, 0, false},
                         row{0, SHUNT_F_WANTS_PROPS, false}}) {
        std::vector<std::string> seen;
        selectors()["chooser"].flags = r.declared;
        selectors()["chooser"].wants = r.wanted;
        selectors()["chooser"].select = noting(seen);
        situation at;
        const message m = laden();
        question q;
        q.properties_of = &m;
        EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
        ASSERT_EQ(seen.size(), 1u);
        EXPECT_EQ(!seen.front().empty(), r.given) << r.declared << " " << r.wanted;
    }
}

TEST_F(Decide, AllocatesForPropertiesOnlyWhileMessagesHaveMoreThanBefore)
{
    selectors()["chooser"].flags = SHUNT_F_WANTS_PROPS;
    situation at;
    message large("T", "x");
    for (int i = 0; i < 100; ++i)
        large.set_property("name-" + std::to_string(i), "value");
    const message small = laden();
    question q;
    q.properties_of = &large;
    EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
    const shunt_kv* const memory = at.set->properties.data();
    for (const message* m : {&small, static_cast<const message*>(&large), &small}) {
        q.properties_of = m;
        EXPECT_TRUE(decide(*at.s, *at.set, q).picked);
        EXPECT_EQ(at.set->properties.data(), memory);
    }
}

// ---- filters ----

// A filter was given only what the selector behind it wanted.
TEST_F(Decide, GivesAFilterWhatItWantsThoughTheSelectorWantsNothing)
{
    std::vector<std::string> seen;
    std::uint64_t hash = 0;
    selectors()["filter-1"].flags = SHUNT_F_WANTS_PROPS | SHUNT_F_WANTS_HASH64;
    selectors()["filter-1"].filter = [&](const shunt_view&, const shunt_msg& m, std::uint32_t level, std::uint64_t* mask) -> shunt_status {
        if (level > 0)
            return SHUNT_NO_QUEUE;
        seen.push_back(shown_properties(m));
        hash = m.hash64;
        mask[0] = 0b100;
        return SHUNT_OK;
    };
    situation at({{"a"}, {"b"}}, {"filter-1"});
    const message m = laden();
    question q;
    q.has_key = true;
    q.properties_of = &m;
    EXPECT_EQ(at.named(decide(*at.s, *at.set, q)), "a-2");
    EXPECT_EQ(seen, (std::vector<std::string>{"KEYS=k1 k2, TAGS=red, tenant=hooli, region=eu"}));
    EXPECT_EQ(hash, 0x2d06800538d394c2ULL) << "XXH3-64 of nothing, seed 0";
}


/// A filter whose levels are brokers, one each, in the order given.
auto levels(std::vector<std::string> brokers)
{
    return [brokers](const shunt_view& v, const shunt_msg&, std::uint32_t level, std::uint64_t* mask) -> shunt_status {
        if (level >= brokers.size())
            return SHUNT_NO_QUEUE;
        for (std::uint32_t q = 0; q < v.n_queues; ++q)
            if (from_str(v.brokers[v.queues[q].broker].name) == brokers[level])
                mask[q / 64] |= std::uint64_t{1} << (q % 64);
        return SHUNT_OK;
    };
}

TEST_F(Decide, AsksAboutTheFirstLevelOfAFilterThatHasQueues)
{
    selectors()["filter-1"].filter = levels({"nowhere", "b", "a"});
    situation at({{"a"}, {"b"}, {"c"}}, {"filter-1"});
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "b-0");
}

TEST_F(Decide, SaysWhenAFiltersFirstChoiceHadNobody)
{
    const auto why_with = [](std::vector<std::string> first_to_last) {
        selectors()["filter-1"].filter = levels(std::move(first_to_last));
        situation at({{"a"}, {"b"}}, {"filter-1"});
        return decide(*at.s, *at.set, {}).because;
    };
    EXPECT_EQ(why_with({"nowhere", "b"}), why::spill);
    EXPECT_NE(why_with({"a", "b"}), why::spill) << "then it is the chooser's own word";
}

TEST_F(Decide, PutsHealthBeforeTheLevelsOfAFilter)
{
    faults()["fault"].evaluate = [](const shunt_broker*, std::uint32_t, std::int64_t, std::uint64_t* available, std::uint64_t*,
                                    std::int64_t*) -> shunt_status {
        *available = 0b101;  // b is isolated
        return SHUNT_OK;
    };
    selectors()["filter-1"].filter = levels({"b", "c"});
    situation at({{"a"}, {"b"}, {"c"}}, {"filter-1"});
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "c-0") << "the second choice that is well, not the first that is not";
    question q;
    const std::uint32_t tried[] = {at.id("c")};
    q.tried = tried;
    EXPECT_EQ(at.named(decide(*at.s, *at.set, q)), "b-0") << "untried goes before available";
}

TEST_F(Decide, CountsTheLevelsOfTwoFiltersLikeDigits)
{
    selectors()["filter-1"].filter = levels({"a", "b", "c"});
    selectors()["filter-2"].filter = levels({"c", "b"});
    situation at({{"a"}, {"b"}, {"c"}}, {"filter-1", "filter-2"});
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "b-0") << "a fits no level of the second; then b";
}

TEST_F(Decide, GoesOnWithoutAFilterThatIsBroken)
{
    selectors()["filter-1"].filter = [](const shunt_view&, const shunt_msg&, std::uint32_t, std::uint64_t*) -> shunt_status {
        return SHUNT_E_EXCEPTION;
    };
    situation at({{"a"}, {"b"}}, {"filter-1"});
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "a-0");
    EXPECT_GE(at.pol->plugin_errors, 1u);
}

TEST_F(Decide, FallsBackWhenFiltersLeaveNothing)
{
    selectors()["filter-1"].filter = levels({});
    situation at({{"a"}, {"b"}}, {"filter-1"});
    const decision d = decide(*at.s, *at.set, {});
    EXPECT_TRUE(d.picked);
    EXPECT_EQ(d.because, why::fallback);
}

TEST_F(Decide, BelievesNoPickThatTheFiltersForbid)
{
    selectors()["filter-1"].filter = levels({"b"});
    selectors()["chooser"].select = picking(0);  // a-0
    situation at({{"a"}, {"b"}}, {"filter-1"});
    EXPECT_EQ(decide(*at.s, *at.set, {}).because, why::fallback);
    EXPECT_EQ(at.pol->plugin_errors, 1u);
}

// With filters a refusal was taken for "nothing here", and the message went by the fallback all the same.
TEST_F(Decide, LeavesARefusalUnderFiltersToThePolicyToo)
{
    selectors()["filter-1"].filter = levels({"a", "b"});
    selectors()["chooser"].select = answering(SHUNT_NO_QUEUE);
    situation at({{"a"}, {"b"}}, {"filter-1"});
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "refused");
    selectors()["chooser"].select = answering(SHUNT_ABSTAIN);
    EXPECT_EQ(decide(*at.s, *at.set, {}).because, why::fallback);
}

TEST_F(Decide, EndsThoughAFiltersLevelsDoNot)
{
    selectors()["filter-1"].filter = [](const shunt_view&, const shunt_msg&, std::uint32_t, std::uint64_t*) -> shunt_status {
        return SHUNT_OK;  // an empty level, and another, and another
    };
    situation at({{"a"}, {"b"}}, {"filter-1"});
    const decision d = decide(*at.s, *at.set, {});
    EXPECT_TRUE(d.picked);
    EXPECT_EQ(d.because, why::fallback);
    EXPECT_GE(at.pol->plugin_errors, 1u);
}

TEST_F(Decide, CutsOffBitsOfAFilterPastTheLastQueue)
{
    selectors()["filter-1"].filter = [](const shunt_view&, const shunt_msg&, std::uint32_t level, std::uint64_t* mask) -> shunt_status {
        if (level != 0)
            return SHUNT_NO_QUEUE;
        *mask = ~std::uint64_t{0} << 8;  // none of the eight queues
        return SHUNT_OK;
    };
    situation at({{"a"}, {"b"}}, {"filter-1"});
    EXPECT_EQ(decide(*at.s, *at.set, {}).because, why::fallback);
}

TEST_F(Decide, FiltersAsManyQueuesAsThereMayBe)
{
    std::vector<broker_row> rows;
    for (int i = 0; i < 100; ++i)
        rows.push_back({"b" + std::to_string(100 + i), 90});
    selectors()["filter-1"].filter = levels({"b199"});
    situation at(rows, {"filter-1"});
    EXPECT_EQ(at.s->view.n_queues, 9000u);
    EXPECT_EQ(at.named(decide(*at.s, *at.set, {})), "b199-0");
}

}  // namespace
}  // namespace shunt::strategy::test
