// Each check is seen to fail: on a plugin that is wrong in just its way, with words that say what was found.

#include <plugin/check/checking.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shunt::plugin::check::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

struct row {
    std::string check, file;
    verdict result;
    std::string words;

    friend void PrintTo(const row& r, std::ostream* out) { *out << r.check; }
};

const std::vector<row>& rows()
{
    using enum verdict;
    static const std::vector<row> all{
        // the file
        {"elf-file", "forbids_loading", failed, "forbids to be loaded"},
        {"permissions", "world_writable", failed, "can be written by everyone"},
        {"note", "no_note", failed, "has no SHUNT note"},
        {"executable-stack", "exec_stack", failed, "executable stack"},
        {"writable-code", "writable_code", failed, "both writable and executable"},
        {"text-relocations", "text_relocations", failed, "relocations in its code"},
        {"static-tls", "static_tls", failed, "static model"},
        {"entry-exported", "no_entry", failed, "does not export shunt_plugin_entry_v1"},
        {"sanitizer", "sanitized", failed, "MemorySanitizer"},
        {"dependencies", "needs_library", failed, "libshunt_gallery_dependency.so"},
        {"one-export", "own_symbols_1", failed, "gallery_same_name"},
        {"unique-symbols", "own_symbols_1", failed, "calls"},
        {"search-path", "finds_library", failed, "a folder of one machine"},
        {"imports-time", "imports_time", failed, "imports time"},
        {"imports-random", "imports_random", failed, "imports rand"},
        {"imports-network", "imports_network", failed, "imports socket"},
        {"imports-threads", "imports_threads", failed, "imports pthread_create"},
        {"imports-signals", "imports_signals", failed, "imports signal"},
        {"imports-processes", "imports_processes", failed, "imports system"},
        {"imports-waiting", "imports_waiting", failed, "imports sleep"},
        {"imports-locale", "imports_locale", failed, "imports setlocale"},
        {"imports-environment", "imports_environment", failed, "imports setenv"},
        {"imports-loader", "imports_loader", failed, "imports dlopen"},
        {"imports-files", "imports_files", warned, "imports open"},
        {"imports-output", "imports_output", warned, "imports puts"},
        {"imports-thread-exit", "imports_thread_exit", warned, "imports pthread_key_create"},
        // the code
        {"symbols-found", "undefined_symbol", failed, "which nothing defines"},
        {"loads", "dies_at_load", crashed, "killed by signal 6 (Aborted), in load"},
        {"entry-answers", "null_descriptor", failed, "its entry refuses this host"},
        {"descriptor", "wrong_magic", failed, "begins with 0x000000000000002a"},
        {"strategy-names", "bad_name", failed, "Bad_Name"},
        {"parameters", "bad_parameter", failed, "its default is 17"},
        {"note-agrees", "names_differ", failed, "its note names selector:promised"},
        {"descriptor-stable", "unstable_descriptor", failed, "another descriptor each time"},
        {"other-hosts", "refuses_later_hosts", failed, "refuses a host of ABI 1.9"},
        {"texts", "odd_texts", failed, "must be one line"},
        // create and destroy
        {"create-plain", "never_initialises", failed, "gave no instance"},
        {"settings-edges", "bad_settings_edges", failed, "no text through set_error"},
        {"create-repeat", "bad_create_repeat", failed, "1,000 instances left"},
        {"create-many", "bad_create_many", failed, "instances share something"},
        {"start-values", "bad_start_values", failed, "picked queue index 42949"},
        // selecting
        {"select-range", "out_of_range", failed, "picked queue index 4000000000 of 1 queues"},
        {"select-why", "bad_select_why", failed, "gave the reason 99"},
        {"select-one-queue", "bad_select_one_queue", failed, "abstained, where one queue was there"},
        {"select-many-queues", "bad_select_many_queues", failed, "picked queue index 4096 of 4096"},
        {"select-isolated", "bad_select_isolated", failed, "no queue while every broker is isolated"},
        {"select-all-tried", "bad_select_all_tried", failed, "no queue when all 1 brokers were tried"},
        {"select-avoids-tried", "bad_select_avoids_tried", failed, "which this send tried before"},
        {"select-keys", "bad_select_keys", crashed, "in select"},
        {"select-properties", "bad_select_properties", crashed, "in select"},
        {"select-repeats", "bad_select_repeats", failed, "two instances that were told the same"},
        {"select-same-key", "bad_select_same_key", failed, "though it is declared deterministic"},
        {"select-empty-key", "bad_select_empty_key", failed, "the empty key is a key"},
        {"select-candidates", "bad_select_candidates", failed, "none of the candidates"},
        {"select-health", "bad_select_health", warned, "go to an isolated broker"},
        {"select-leaves-view", "bad_select_leaves_view", failed, "wrote into the view"},
        {"select-route-changes", "bad_select_route_changes", failed, "after the route changed"},
        {"select-extremes", "bad_select_extremes", crashed, "in select"},
        {"select-longer-structs", "bad_select_longer_structs", failed, "step by broker_stride"},
        {"select-threads-shared", "bad_select_threads_shared", failed, "8 threads on one instance"},
        {"select-threads-own", "bad_select_threads_own", failed, "8 threads, each with an instance of its own"},
        {"select-allocates", "bad_select_allocates", warned, "allocate"},
        {"select-time", "bad_select_time", warned, "median"},
        {"filter-levels", "bad_filter_levels", failed, "no end of them"},
        {"wants-subset", "bad_wants_subset", failed, "does not declare"},
        // fault strategies
        {"fault-fresh", "bad_fault_fresh", failed, "told nothing about"},
        {"fault-masks", "bad_fault_masks", failed, "set bit 1 of the masks of 1 brokers"},
        {"fault-one-for-one", "bad_fault_one_for_one", failed, "of which nothing is known"},
        {"fault-says-changed", "bad_fault_says_changed", failed, "answered 0 (nothing changed)"},
        {"fault-valid-until", "bad_fault_valid_until", failed, "it is another one after"},
        {"fault-recovers", "bad_fault_recovers", failed, "still isolated after 24 hours"},
        {"fault-time", "bad_fault_time", failed, "time goes backward"},
        {"fault-extremes", "bad_fault_extremes", crashed, "in on_feedback"},
        {"fault-unknown-broker", "bad_fault_unknown_broker", failed, "no such broker"},
        {"fault-forgets", "bad_fault_forgets", failed, "is to be forgotten"},
        {"fault-probes", "bad_fault_probes", failed, "of which it was never told"},
        {"fault-longer-structs", "bad_fault_longer_structs", failed, "step by the strides"},
        // state
        {"state-both", "bad_state_both", failed, "has export_state and no import_state"},
        {"state-round-trip", "bad_state_round_trip", failed, "is not what it gives"},
        {"state-other-schema", "bad_state_other_schema", failed, "to state of schema 2"},
        {"state-garbage", "bad_state_garbage", failed, "decides otherwise than before"},
        {"state-truncated", "bad_state_truncated", failed, "last byte cut off"},
        {"state-writer-fails", "bad_state_writer_fails", failed, "though the writer refused"},
        // manners
        {"exceptions-stay", "bad_exceptions_stay", failed, "an exception left select: lost the thread"},
        {"out-of-memory", "bad_out_of_memory", sanitized ? skipped : crashed, sanitized ? "without sanitizers" : "in create"},
        {"quick", "bad_quick", warned, "making an instance takes"},
        {"silent", "bad_silent", failed, "bytes to stdout or stderr"},
        {"no-threads", "bad_no_threads", failed, "threads are left"},
        {"no-descriptors", "bad_no_descriptors", failed, "are left open"},
        {"no-signals", "bad_no_signals", failed, "a signal's handler"},
        {"no-locale", "bad_no_locale", failed, "C.UTF-8"},
        {"no-environment", "bad_no_environment", failed, "others than before"},
        {"no-files", "bad_no_files", failed, "\"picks.log\""},
        {"no-leaks", "bad_no_leaks", failed, "bytes more with each decision"},
        {"unload", "bad_unload", crashed, "in unload"},
    };
    return all;
}

class Gallery : public testing::TestWithParam<row> {};

TEST_P(Gallery, ShowsTheCheckFail)
{
    const run_result r = check_file(gallery_file(GetParam().file), {GetParam().check});

    ASSERT_EQ(r.trouble, "");
    bool seen = false;
    for (const result& one : r.results) {
        if (one.what.result == verdict::skipped && GetParam().result != verdict::skipped)
            continue;
        seen = true;
        EXPECT_EQ(one.what.result, GetParam().result) << one.what.detail;
        EXPECT_NE(one.what.detail.find(GetParam().words), std::string::npos) << one.what.detail;
    }
    EXPECT_TRUE(seen) << "it was skipped: " << (r.results.empty() ? "" : r.results.front().what.detail);
}

INSTANTIATE_TEST_SUITE_P(Of, Gallery, testing::ValuesIn(rows()), [](const auto& one) {
    std::string name = one.param.check;
    for (char& c : name)
        c = c == '-' ? '_' : c;
    return name;
});

TEST(Checks, EachHasAPluginOnWhichItFails)
{
    std::set<std::string> shown;
    for (const row& r : rows())
        shown.insert(r.check);
    std::set<std::string> names;
    for (const rule& r : rules()) {
        EXPECT_TRUE(shown.contains(std::string(r.name))) << r.name << " is never seen to fail";
        EXPECT_TRUE(names.insert(std::string(r.name)).second) << r.name << " is there twice";
        EXPECT_FALSE(r.reason.empty() || r.explanation.empty()) << r.name;
        EXPECT_EQ(r.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos) << r.name;
    }
    EXPECT_EQ(shown, names);
}

TEST(Checks, HaveNothingToSayAgainstWhatTheBadOnesAreMadeOf)
{
    for (const char* const name : {"good", "parameters", "bad_nothing", "bad_nothing_by_key", "bad_nothing_with_state", "bad_fault_nothing"}) {
        const run_result r = check_file(gallery_file(name));
        // `good` picks the first queue whatever happens; it is there for other tests.
        if (std::string_view(name) == "good" || std::string_view(name) == "parameters")
            EXPECT_EQ(complaints(check_file(gallery_file(name), {"elf-file", "note", "loads", "descriptor", "descriptor-stable", "other-hosts", "texts",
                                                                 "parameters", "create-plain", "create-repeat", "settings-edges", "select-range", "unload"}),
                                 true), "") << name;
        else
            EXPECT_EQ(complaints(r, true), "") << name;
    }
}

// by-property wants them only where it is told whose.
TEST(Checks, ShowPropertiesToThoseWhoWantThem)
{
    const auto checked = [](std::vector<std::string> settings) {
        run_options o;
        o.file = shunt::test::in_build("/tests/gallery/sdk/libby_property.so");
        o.helper = helper();
        o.settings = std::move(settings);
        const run_result r = run(o, {});
        EXPECT_EQ(complaints(r), "");
        for (const result& one : r.results)
            if (one.of->name == "select-properties")
                return one.what.result;
        return verdict::crashed;
    };
    EXPECT_EQ(checked({"property=\"region\""}), verdict::passed);
    EXPECT_EQ(checked({}), verdict::skipped);
}

TEST(Checks, SayWhatTheyHadNothingToLookAt)
{
    const run_result r = check_file(gallery_file("bad_fault_nothing"), {"select-range"});
    ASSERT_EQ(r.results.size(), 1u);
    EXPECT_EQ(r.results[0].what.result, verdict::skipped);
    EXPECT_EQ(r.results[0].what.detail, "no selector in the file");
}

TEST(Checks, AreTheSameForTheSameSeed)
{
    run_options o;
    o.file = gallery_file("bad_select_route_changes");
    o.only = {"select-route-changes"};
    o.helper = helper();
    o.seed = 7;
    const std::string once = complaints(run(o, {}));
    EXPECT_NE(once, "");
    EXPECT_EQ(complaints(run(o, {})), once);
}

}  // namespace
}  // namespace shunt::plugin::check::test
