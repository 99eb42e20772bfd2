// Bad plugins go through the live stage path under traffic: each is refused with a reason, or survived; nobody's send suffers.

#include "swap_situation.hpp"

#include <plugin/registry.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

// What bad plugins lose on purpose is not ours: a plugin is loaded from a copy in a folder of this name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:/shunt-\n"; }

namespace shunt::test {
namespace {

namespace fs = std::filesystem;

class scratch {
public:
    scratch()
    {
        std::string name = testing::TempDir() + "shunt-gallery-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no folder");
        path_ = name;
    }
    ~scratch()
    {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    /// A copy that only we may write, with some bytes more at its end so that it is another file to everybody.
    [[nodiscard]] std::string copy(const std::string& file, const std::string& name, const std::string& more = "") const
    {
        const std::string to = path_ + "/" + name;
        fs::copy_file(file, to, fs::copy_options::overwrite_existing);
        std::ofstream(to, std::ios::binary | std::ios::app) << more;
        ::chmod(to.c_str(), 0755);
        return to;
    }

private:
    std::string path_;
};

// Some plugins race with themselves, which a sanitizer would lay at our door.
#if defined(__SANITIZE_THREAD__)
constexpr int senders_at_once = 1;
#else
constexpr int senders_at_once = 2;
#endif

/// Senders that must not notice anything.
class traffic {
public:
    explicit traffic(producer& p)
    {
        for (int t = 0; t < senders_at_once; ++t)
            threads_.emplace_back([&p, this] {
                while (!over_) {
                    const receipt r = p.deliver(message("T", "x").set_order_key("k" + std::to_string(sent_++ % 97)));
                    if (r.outcome != outcome::stored)
                        ++bad_;
                }
            });
    }
    ~traffic() { stop(); }
    traffic(const traffic&) = delete;
    traffic& operator=(const traffic&) = delete;
    void stop()
    {
        over_ = true;
        for (std::thread& t : threads_)
            if (t.joinable())
                t.join();
    }
    [[nodiscard]] int sent() const { return sent_; }
    [[nodiscard]] int bad() const { return bad_; }

private:
    std::atomic<bool> over_{false};
    std::atomic<int> sent_{0}, bad_{0};
    std::vector<std::thread> threads_;
};

struct situation {
    cluster::embedded_cluster cluster{{.keep_bodies = false}};
    situation() { topic(cluster, "T"); }
    [[nodiscard]] producer_options options() const
    {
        auto o = plainly(with_policy(options_for(cluster), "hash"));
        o.swap.preflight = preflight_rule::staged;
        o.swap.admit = slow_build ? 20s : 4s;
        o.plugins.max_images = 1000;
        return o;
    }
    [[nodiscard]] producer_options with_plugin(const std::string& name, const std::string& file, bool fault = false) const
    {
        auto o = options();
        (fault ? o.policies["default"].fault : o.policies["default"].selector) = {name, {}, {}};
        o.plugins.load[name] = {file, {}, {}};
        return o;
    }
};

std::size_t entries(const char* folder)
{
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder))
        ++n;
    return n;
}

std::size_t mapped_files()
{
    std::ifstream maps("/proc/self/maps");
    std::size_t n = 0;
    for (std::string line; std::getline(maps, line);)
        n += line.find(".so") != std::string::npos ? 1 : 0;
    return n;
}

std::size_t private_copies()
{
    std::size_t n = 0;
    std::error_code ignored;
    for (const char* const variable : {"XDG_RUNTIME_DIR", "TMPDIR", ""}) {
        const char* const folder = *variable == '\0' ? "/tmp" : std::getenv(variable);
        if (folder == nullptr)
            continue;
        for (const auto& entry : fs::directory_iterator(folder, ignored))
            if (entry.path().filename().string().starts_with("shunt-" + std::to_string(::getpid()) + "-"))
                n += entries(entry.path().c_str());
    }
    return n;
}

std::size_t children()
{
    std::size_t n = 0;
    std::error_code ignored;
    for (const auto& thread : fs::directory_iterator("/proc/self/task", ignored)) {
        std::ifstream in(thread.path() / "children");
        for (std::string pid; in >> pid;)
            ++n;
    }
    return n;
}

/// Without the limits of a pre-flight, which sanitizers do not stand, it would come in force, and eat up the machine, stop
/// whoever started this test, or leave processes that hold its output open.
bool is_harmless_unlimited(const std::string& name)
{
    return name != "select_leak" && name != "select_fork_all_the_time" && name != "stops_parent" && name != "leave_process" &&
           name != "hogs_memory";
}

TEST(Gallery, EachIsRefusedWithItsReasonOrSurvived)
{
    situation s;
    scratch folder;
    auto p = started(s.options());
    ASSERT_TRUE(p.send(message("T", "x")));
    traffic senders(p);
    std::map<std::string, std::string> came_to;
    for (const auto& entry : fs::recursive_directory_iterator(in_build("/tests/gallery"))) {
        if (entry.path().extension() != ".so" || entry.path().parent_path().filename() == "elsewhere")
            continue;
        if (slow_build && !is_harmless_unlimited(entry.path().stem().string()))
            continue;
        const std::string file = folder.copy(entry.path(), entry.path().filename());
        plugin::elf_facts facts;
        (void)plugin::inspect_file(file, facts);
        if (facts.strategies.empty())
            facts.strategies.push_back({"gallery", strategy::strategy_kind::selector, file, strategy::strategy_origin::file});
        for (const auto& strategy : facts.strategies) {
            const std::uint64_t before = p.generation();
            swap_handle h = p.stage(s.with_plugin(strategy.name, file, strategy.kind == strategy::strategy_kind::fault));
            ASSERT_TRUE(eventually([&] {
                const auto state = h.status().state;
                return state == swap_state::refused || state == swap_state::in_force;
            })) << file << " " << shown(h.status());
            came_to[entry.path().stem().string()] += std::string(to_string(h.status().state)) + " ";
            if (h.status().state == swap_state::refused) {
                EXPECT_FALSE(h.status().reason.empty()) << file;
                EXPECT_EQ(p.generation(), before) << file;
                continue;
            }
            const int sent = senders.sent();
            EXPECT_TRUE(eventually([&] { return senders.sent() > sent + 20; })) << file;
            EXPECT_EQ(h.rollback(), "") << file;
        }
    }
    senders.stop();
    EXPECT_EQ(senders.bad(), 0);
    EXPECT_GT(senders.sent(), 100);
    EXPECT_GE(came_to.size(), 100u);
    EXPECT_EQ(came_to["good"], "in_force ");
    EXPECT_NE(came_to["libthrows"].find("refused"), std::string::npos) << came_to["libthrows"];
    for (const char* const name : {"no_note", "odd_note", "later_major", "exec_stack", "static_tls", "undefined_symbol", "no_entry",
                                   "null_descriptor", "close_all_files", "hang_at_exit", "sanitized", "no_select", "aborts_in_entry", "aborts_in_create",
                                   "aborts_in_select", "exits_in_create", "exits_in_select", "hangs_in_create", "hangs_in_select",
                                   "aborts_in_feedback", "hangs_in_feedback", "never_initialises", "wrong_magic", "out_of_range",
                                   "huge_texts", "no_number", "bad_select_leaves_view", "bad_no_leaks", "feedback_leak",
                                   "select_write_nowhere", "select_call_nowhere", "select_spin_for_ever"})
        EXPECT_EQ(came_to[name], "refused ") << name;
    if (!slow_build) {  // a sanitizer takes more addresses than any limit allows, and starts processes itself
        for (const char* const name : {"stops_parent", "hogs_memory", "select_leak", "select_recurse_for_ever", "select_fork_all_the_time"})
            EXPECT_EQ(came_to[name], "refused ") << name;
    }
    EXPECT_EQ(children(), 0u);
    expect_quiet(p);
}

TEST(Gallery, TwoHundredRefusedPluginsLeaveNothingBehind)
{
    situation s;
    scratch folder;
    auto p = started(s.options());
    ASSERT_TRUE(p.send(message("T", "x")));
    // By their bytes, by what they do when they are tried out, by how they end there.
    std::vector<std::string> bad{"no_note", "later_major", "exec_stack", "static_tls", "undefined_symbol", "no_entry", "sanitized",
                                 "names_differ", "never_initialises", "out_of_range", "bad_no_leaks", "aborts_in_entry", "aborts_in_create",
                                 "exits_in_select"};
    if (!slow_build)
        bad.emplace_back("leave_process");
    const auto stage = [&](int i) {
        const std::string& name = bad[static_cast<std::size_t>(i) % bad.size()];
        const std::string file = folder.copy(in_build("/tests/gallery/" + name + ".so"), "one.so", std::to_string(i));
        plugin::elf_facts facts;
        (void)plugin::inspect_file(file, facts);
        const std::string strategy = facts.strategies.empty() ? "gallery" : facts.strategies.front().name;
        const swap_handle h = p.stage(s.with_plugin(strategy, file));
        ASSERT_TRUE(h.wait_for(swap_state::refused, patience)) << name << " " << shown(h.status());
    };
    const int kinds = static_cast<int>(bad.size());
    for (int i = 0; i < kinds; ++i)
        stage(i);
    const std::size_t descriptors = entries("/proc/self/fd"), maps = mapped_files(), copies = private_copies();
    for (int i = kinds; i < 200 + kinds; ++i)
        stage(i);
    EXPECT_TRUE(eventually([&] { return entries("/proc/self/fd") <= descriptors; })) << entries("/proc/self/fd") << " " << descriptors;
    EXPECT_EQ(mapped_files(), maps);
    EXPECT_EQ(private_copies(), copies);
    EXPECT_EQ(children(), 0u);
    EXPECT_EQ(p.generation(), 1u);
    ASSERT_TRUE(p.send(message("T", "x")));
}

}  // namespace
}  // namespace shunt::test
